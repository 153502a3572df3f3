//===- ComputePatterns.cpp - reductions, layouts --------------------------===//

#include "LaneCode.h"
#include "ProductPatterns.h"

#include "heddle/Dialect/HeddleGpu/IR/Fragments.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace heddle_gpu;

/// The registers of `v` in the given order, repetitions allowed.
static Value pick(OpBuilder &b, Location loc, Value v, ArrayRef<int64_t> regs) {
  return vector::ShuffleOp::create(b, loc, v, v, regs);
}

static Value extract(OpBuilder &b, Location loc, Value v, int64_t reg) {
  return vector::ExtractOp::create(b, loc, v, reg);
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

namespace {
/// x combined with y, by the op's kind or region.
SmallVector<Value> combine(ReduceOp op, OpBuilder &b, ValueRange x,
                           ValueRange y) {
  Location loc = op.getLoc();
  if (!op.getKind()) {
    IRMapping mapping;
    Block &body = op.getCombine().front();
    SmallVector<Value> both(x);
    llvm::append_range(both, y);
    mapping.map(body.getArguments(), both);
    for (Operation &inner : body.without_terminator())
      b.clone(inner, mapping);
    SmallVector<Value> results;
    for (Value v : body.getTerminator()->getOperands())
      results.push_back(mapping.lookupOrDefault(v));
    return results;
  }
  Value p = x[0], q = y[0];
  bool isFloat = isa<FloatType>(p.getType());
  switch (*op.getKind()) {
  case CombineKind::Add:
    return {isFloat ? arith::AddFOp::create(b, loc, p, q).getResult()
                    : arith::AddIOp::create(b, loc, p, q).getResult()};
  case CombineKind::Mul:
    return {isFloat ? arith::MulFOp::create(b, loc, p, q).getResult()
                    : arith::MulIOp::create(b, loc, p, q).getResult()};
  case CombineKind::Max:
    return {isFloat ? arith::MaximumFOp::create(b, loc, p, q).getResult()
                    : arith::MaxSIOp::create(b, loc, p, q).getResult()};
  case CombineKind::Min:
    return {isFloat ? arith::MinimumFOp::create(b, loc, p, q).getResult()
                    : arith::MinSIOp::create(b, loc, p, q).getResult()};
  }
  return {};
}

/// The value of the lane whose number differs in `bit`.
Value exchange(OpBuilder &b, Location loc, Value v, int64_t bit) {
  ThreadCode code(b, loc);
  Type type = v.getType(), i32 = b.getI32Type();
  unsigned width = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  auto shuffle = [&](Value x) -> Value {
    return NVVM::ShflOp::create(b, loc, x.getType(), code.i32(-1), x,
                                code.i32(bit), code.i32(31), NVVM::ShflKind::bfly,
                                UnitAttr());
  };
  if (type.isF32() || type == i32)
    return shuffle(v);
  Type whole = b.getIntegerType(width);
  Value bits = type.isIndex()
                   ? arith::IndexCastOp::create(b, loc, whole, v).getResult()
               : isa<FloatType>(type)
                   ? arith::BitcastOp::create(b, loc, whole, v).getResult()
                   : v;
  if (width < 32) {
    bits = shuffle(arith::ExtUIOp::create(b, loc, i32, bits));
    bits = arith::TruncIOp::create(b, loc, whole, bits);
  } else {
    Value high = arith::ShRUIOp::create(
        b, loc, bits,
        arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(32)));
    Value low = shuffle(arith::TruncIOp::create(b, loc, i32, bits));
    high = shuffle(arith::TruncIOp::create(b, loc, i32, high));
    low = arith::ExtUIOp::create(b, loc, whole, low);
    high = arith::ShLIOp::create(
        b, loc, arith::ExtUIOp::create(b, loc, whole, high),
        arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(32)));
    bits = arith::OrIOp::create(b, loc, low, high);
  }
  if (type.isIndex())
    return arith::IndexCastOp::create(b, loc, type, bits);
  return isa<FloatType>(type)
             ? arith::BitcastOp::create(b, loc, type, bits).getResult()
             : bits;
}

struct ReducePattern : OpConversionPattern<ReduceOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(ReduceOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    const Layout &in = getLayout(op.getInputs()[0].getType());
    unsigned axis = op.getAxis();
    bool partial = op.getPartial();
    Layout out = getLayout(op.getResult(0).getType());
    for (const Layout::Basis &basis : in.getWarp())
      if (basis[axis] != 0)
        return op.emitOpError("expected an axis inside one warp; run "
                              "heddle-gpu-expand-shared first");
    // Registers of each result register, in order along the axis.
    auto coordinates = in.registerCoordinates();
    SmallVector<SmallVector<int64_t>> groups(out.numRegisters());
    for (auto [r, c] : llvm::enumerate(coordinates)) {
      if (r & in.redundantBits().reg)
        continue;
      Coordinates rest(c);
      if (partial)
        rest[axis] = 0;
      else
        rest.erase(rest.begin() + axis);
      if (std::optional<int64_t> o = out.registerOf(rest, 0, 0))
        groups[*o].push_back(r);
    }
    SmallVector<SmallVector<Value>> results(op.getNumResults());
    for (ArrayRef<int64_t> group : groups) {
      auto at = [&](int64_t reg) {
        SmallVector<Value> v;
        for (Value input : adaptor.getInputs())
          v.push_back(extract(rewriter, loc, input, reg));
        return v;
      };
      // A tree: the chain of additions is as long as its depth.
      SmallVector<SmallVector<Value>> level;
      for (int64_t reg : group)
        level.push_back(at(reg));
      while (level.size() > 1) {
        SmallVector<SmallVector<Value>> next;
        for (size_t i = 0; i + 1 < level.size(); i += 2)
          next.push_back(combine(op, rewriter, level[i], level[i + 1]));
        if (level.size() % 2)
          next.push_back(level.back());
        level = std::move(next);
      }
      SmallVector<Value> sum = level[0];
      for (auto [i, basis] : llvm::enumerate(in.getLane())) {
        if (basis[axis] == 0 || partial)
          continue;
        SmallVector<Value> other;
        for (Value v : sum)
          other.push_back(exchange(rewriter, loc, v, int64_t(1) << i));
        sum = combine(op, rewriter, sum, other);
      }
      for (auto [result, v] : llvm::zip(results, sum))
        result.push_back(v);
    }
    SmallVector<Value> vectors;
    for (auto [result, type] : llvm::zip(results, op.getResultTypes()))
      vectors.push_back(vector::FromElementsOp::create(
          rewriter, loc,
          cast<VectorType>(getTypeConverter()->convertType(type)), result));
    rewriter.replaceOp(op, vectors);
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Layouts
//===----------------------------------------------------------------------===//

struct BroadcastPattern : OpConversionPattern<BroadcastOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(BroadcastOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    const Layout &in = getLayout(op.getInput().getType());
    const Layout &out = getLayout(op.getType());
    SmallVector<int64_t> regs;
    for (const Coordinates &c : out.registerCoordinates()) {
      Coordinates rest;
      for (auto [d, x] : llvm::enumerate(c))
        if (!llvm::is_contained(op.getDims(), static_cast<int64_t>(d)))
          rest.push_back(x);
      std::optional<int64_t> reg = in.registerOf(rest, 0, 0);
      if (!reg)
        return rewriter.notifyMatchFailure(op, "needs its input in the thread");
      regs.push_back(*reg);
    }
    rewriter.replaceOp(
        op, pick(rewriter, op.getLoc(), adaptor.getInput(), regs));
    return success();
  }
};

struct TransPattern : OpConversionPattern<TransOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(TransOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    const Layout &in = getLayout(op.getInput().getType());
    SmallVector<int64_t> regs;
    for (const Coordinates &c : getLayout(op.getType()).registerCoordinates()) {
      Coordinates from(c.size());
      for (auto [i, p] : llvm::enumerate(op.getPermutation()))
        from[p] = c[i];
      regs.push_back(*in.registerOf(from, 0, 0));
    }
    rewriter.replaceOp(
        op, pick(rewriter, op.getLoc(), adaptor.getInput(), regs));
    return success();
  }
};
} // namespace

void heddle_gpu::populateComputePatterns(const LaneTypes &types,
                                         RewritePatternSet &patterns) {
  populateProductPatterns(types, patterns);
  patterns.add<ReducePattern, BroadcastPattern, TransPattern>(
      types, patterns.getContext());
}
