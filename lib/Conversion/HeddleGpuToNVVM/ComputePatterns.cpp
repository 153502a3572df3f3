//===- ComputePatterns.cpp - reductions, layouts --------------------------===//

#include "Combination.h"
#include "LaneCode.h"
#include "ProductPatterns.h"

#include "heddle/Dialect/HeddleGpu/IR/Fragments.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

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
      if (basis[axis] != 0 && !partial)
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
          next.push_back(combine(rewriter, loc, op.getKind(), op.getCombine(),
                                 level[i], level[i + 1]));
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
        sum = combine(rewriter, loc, op.getKind(), op.getCombine(), sum, other);
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
    rewriter.replaceOp(op,
                       pick(rewriter, op.getLoc(), adaptor.getInput(), regs));
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
    rewriter.replaceOp(op,
                       pick(rewriter, op.getLoc(), adaptor.getInput(), regs));
    return success();
  }
};
} // namespace

void heddle_gpu::populateComputePatterns(const LaneTypes &types,
                                         RewritePatternSet &patterns) {
  populateProductPatterns(types, patterns);
  populateScanPatterns(types, patterns);
  patterns.add<ReducePattern, BroadcastPattern, TransPattern>(
      types, patterns.getContext());
}
