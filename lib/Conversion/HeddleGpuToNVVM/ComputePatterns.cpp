//===- ComputePatterns.cpp - products, reductions, layouts ----------------===//

#include "LaneCode.h"

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
// Products
//===----------------------------------------------------------------------===//

namespace {
struct DotPattern : OpConversionPattern<DotOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(DotOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (op.getKind() == DotKind::Fma)
      return fma(op, adaptor, rewriter);
    return mma(op, adaptor, rewriter);
  }

private:
  /// Registers of thread 0 that make up the fragment at (row, col), packed to 32
  /// bits each.
  static SmallVector<Value> fragment(OpBuilder &b, Location loc, Value v,
                                     const Layout &layout, const Layout &one,
                                     int64_t row, int64_t col) {
    SmallVector<int64_t> regs;
    for (const Coordinates &c : one.registerCoordinates())
      regs.push_back(*layout.registerOf({row + c[0], col + c[1]}, 0, 0));
    Type element = cast<VectorType>(v.getType()).getElementType();
    int64_t pack = 32 / element.getIntOrFloatBitWidth();
    SmallVector<Value> packed;
    for (size_t i = 0; i < regs.size(); i += pack) {
      Value part = pick(b, loc, v, ArrayRef<int64_t>(regs).slice(i, pack));
      // f16 operands are pairs; bf16 and tf32 travel as i32.
      if (!element.isF16())
        part = LLVM::BitcastOp::create(
            b, loc, b.getI32Type(),
            pack == 1 ? extract(b, loc, part, 0) : part);
      packed.push_back(part);
    }
    return packed;
  }

  static LogicalResult mma(DotOp op, OpAdaptor adaptor,
                           ConversionPatternRewriter &rewriter) {
    if (!op.getSkipZeros()) {
      rewriter.replaceOp(op, mmaProduct(op, rewriter, adaptor.getA(),
                                        adaptor.getB(),
                                        adaptor.getAccumulator()));
      return success();
    }
    rewriter.replaceOp(op, mmaProduct(op, rewriter, adaptor.getA(),
                                      adaptor.getB(), adaptor.getAccumulator(),
                                      /*special=*/true));
    return success();
  }

  /// Words of 16-bit pairs of b apart: the finite elements, and 1 where b is +inf
  /// or NaN, and where it is -inf or NaN. Integer arithmetic on both halves.
  static std::array<SmallVector<Value>, 3> splitSpecial(OpBuilder &b,
                                                        Location loc,
                                                        ArrayRef<Value> words,
                                                        Type element) {
    bool isBf16 = element.isBF16();
    uint32_t exponent = isBf16 ? 0x7f807f80u : 0x7c007c00u;
    uint32_t mantissa = isBf16 ? 0x007f007fu : 0x03ff03ffu;
    uint32_t step = isBf16 ? 0x00800080u : 0x04000400u;
    uint32_t one = isBf16 ? 0x3f803f80u : 0x3c003c00u;
    int mantissaBits = isBf16 ? 7 : 10;
    ThreadCode code(b, loc);
    Type i32 = b.getI32Type();
    auto constant = [&](uint32_t x) { return code.i32(static_cast<int32_t>(x)); };
    auto land = [&](Value x, Value y) -> Value {
      return arith::AndIOp::create(b, loc, x, y);
    };
    auto lor = [&](Value x, Value y) -> Value {
      return arith::OrIOp::create(b, loc, x, y);
    };
    auto lnot = [&](Value x) -> Value {
      return arith::XOrIOp::create(b, loc, x, constant(0xffffffffu));
    };
    // Halves whose bit `bit` is set, as masks.
    auto spread = [&](Value x, int bit) -> Value {
      Value v = land(arith::ShRUIOp::create(b, loc, x, code.i32(bit)),
                     constant(0x00010001u));
      return arith::MulIOp::create(b, loc, v, constant(0xffffu));
    };
    std::array<SmallVector<Value>, 3> parts;
    for (Value word : words) {
      Type was = word.getType();
      Value w = was == i32 ? word
                           : LLVM::BitcastOp::create(b, loc, i32, word).getResult();
      Value special = spread(
          arith::AddIOp::create(b, loc, land(w, constant(exponent)),
                                constant(step)),
          15);
      Value nan = spread(arith::AddIOp::create(b, loc, land(w, constant(mantissa)),
                                               constant(mantissa)),
                         mantissaBits);
      Value negative = spread(w, 15);
      Value finite = land(w, lnot(special));
      Value plus = land(land(special, lor(lnot(negative), nan)), constant(one));
      Value minus = land(land(special, lor(negative, nan)), constant(one));
      std::array<Value, 3> values{finite, plus, minus};
      for (auto [part, v] : llvm::zip(parts, values))
        part.push_back(was == i32
                           ? v
                           : LLVM::BitcastOp::create(b, loc, was, v).getResult());
    }
    return parts;
  }

  /// accumulator + left * right by mma.sync; layouts are the op's. With
  /// `special` zeros of left skip what right holds, and products of indicators
  /// tell which sums see an infinity or a NaN.
  static Value mmaProduct(DotOp op, OpBuilder &b, Value left, Value right,
                          Value result, bool special = false) {
    Location loc = op.getLoc();
    ProductKind kind = toProductKind(op.getKind());
    ProductShape shape = productShape(kind);
    const Layout &la = getLayout(op.getA().getType());
    const Layout &lb = getLayout(op.getB().getType());
    const Layout &lc = getLayout(op.getAccumulator().getType());
    Layout fa = mmaFragment(kind, Operand::A), fb = mmaFragment(kind, Operand::B),
           fc = mmaFragment(kind, Operand::C);
    Type element =
        cast<RankedTensorType>(op.getA().getType()).getElementType();
    int64_t depth = la.shape()[1];
    // Origins of the fragments of warp 0.
    SmallVector<int64_t> rows, cols;
    for (const Coordinates &c : lc.registerCoordinates()) {
      if (c[0] % shape.m == 0 && !llvm::is_contained(rows, c[0]))
        rows.push_back(c[0]);
      if (c[1] % shape.n == 0 && !llvm::is_contained(cols, c[1]))
        cols.push_back(c[1]);
    }
    struct Accumulator {
      SmallVector<int64_t> regs;
      SmallVector<Value> values;
    };
    auto accumulatorAt = [&](int64_t m, int64_t n) {
      Accumulator acc;
      for (const Coordinates &c : fc.registerCoordinates()) {
        acc.regs.push_back(*lc.registerOf({m + c[0], n + c[1]}, 0, 0));
        acc.values.push_back(extract(b, loc, result, acc.regs.back()));
      }
      return acc;
    };
    auto leftAt = [&](int64_t m, int64_t k) {
      return fragment(b, loc, left, la, fa, m, k);
    };
    auto rightAt = [&](int64_t k, int64_t n) {
      return fragment(b, loc, right, lb, fb, k, n);
    };
    auto keep = [&](const Accumulator &acc) {
      for (auto [value, reg] : llvm::zip(acc.values, acc.regs))
        result = vector::InsertOp::create(b, loc, value, result, reg);
    };
    if (!special) {
      // Depth outermost: consecutive products have different accumulators.
      SmallVector<SmallVector<Accumulator>> acc(rows.size());
      for (auto [i, m] : llvm::enumerate(rows))
        for (int64_t n : cols)
          acc[i].push_back(accumulatorAt(m, n));
      for (int64_t k = 0; k < depth; k += shape.k) {
        SmallVector<SmallVector<Value>> as;
        for (int64_t m : rows)
          as.push_back(leftAt(m, k));
        for (auto [j, n] : llvm::enumerate(cols)) {
          SmallVector<Value> bs = rightAt(k, n);
          for (size_t i = 0; i < rows.size(); ++i)
            multiply(b, loc, shape, element, as[i], bs, acc[i][j].values);
        }
      }
      for (auto &row : acc)
        for (const Accumulator &a : row)
          keep(a);
      return result;
    }
    // One column of fragments at a time: this rarely runs and must not cost
    // registers.
    const double inf = std::numeric_limits<double>::infinity();
    auto number = [&](double x) -> Value {
      return arith::ConstantOp::create(
          b, loc, b.getF32FloatAttr(static_cast<float>(x)));
    };
    for (int64_t n : cols)
      for (int64_t m : rows) {
        Accumulator acc = accumulatorAt(m, n);
        SmallVector<Value> plus(4, number(0)), minus(4, number(0));
        for (int64_t k = 0; k < depth; k += shape.k) {
          SmallVector<Value> as = leftAt(m, k);
          auto parts = splitSpecial(b, loc, rightAt(k, n), element);
          multiply(b, loc, shape, element, as, parts[0], acc.values);
          multiply(b, loc, shape, element, as, parts[1], plus);
          multiply(b, loc, shape, element, as, parts[2], minus);
        }
        for (auto [value, p, q] : llvm::zip(acc.values, plus, minus))
          for (bool positive : {true, false}) {
            Value count = positive ? p : q;
            double add = positive ? inf : -inf;
            // Weights are not negative; a NaN among them counts.
            Value seen = arith::CmpFOp::create(
                b, loc, arith::CmpFPredicate::UNE, count, number(0));
            Value term = arith::SelectOp::create(b, loc, seen, number(add),
                                                 number(0));
            value = arith::AddFOp::create(b, loc, value, term);
          }
        keep(acc);
      }
    return result;
  }

  static void multiply(OpBuilder &b, Location loc, const ProductShape &shape,
                       Type element, ArrayRef<Value> as, ArrayRef<Value> bs,
                       MutableArrayRef<Value> cs) {
    NVVM::MMATypes type = element.isBF16()  ? NVVM::MMATypes::bf16
                          : element.isF16() ? NVVM::MMATypes::f16
                                            : NVVM::MMATypes::tf32;
    Type f32 = b.getF32Type();
    auto quad = LLVM::LLVMStructType::getLiteral(b.getContext(),
                                                 {f32, f32, f32, f32});
    Value d = NVVM::MmaOp::create(
        b, loc, quad, as, bs, ValueRange(cs),
        ArrayRef<int64_t>{shape.m, shape.n, shape.k}, std::nullopt, std::nullopt,
        std::array<NVVM::MMATypes, 2>{type, type},
        std::array<NVVM::MMALayout, 2>{NVVM::MMALayout::row,
                                       NVVM::MMALayout::col});
    for (int64_t j = 0; j < 4; ++j)
      cs[j] = LLVM::ExtractValueOp::create(b, loc, d, j);
  }

  static Value multiplyAdd(DotOp op, OpBuilder &b, Value x, Value y, Value acc) {
    Location loc = op.getLoc();
    Value sum = math::FmaOp::create(b, loc, x, y, acc);
    if (!op.getSkipZeros())
      return sum;
    Value zero = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(0.0f));
    Value present = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNE, x,
                                          zero);
    return arith::SelectOp::create(b, loc, present, sum, acc);
  }

  /// acc[m, n] += a[m, k] * b[k, n], k ascending.
  static LogicalResult fma(DotOp op, OpAdaptor adaptor,
                           ConversionPatternRewriter &rewriter) {
    Location loc = op.getLoc();
    const Layout &la = getLayout(op.getA().getType());
    const Layout &lb = getLayout(op.getB().getType());
    const Layout &lc = getLayout(op.getAccumulator().getType());
    Type f32 = rewriter.getF32Type();
    auto widened = [&](Value v) -> Value {
      auto type = cast<VectorType>(v.getType());
      if (type.getElementType().isF32())
        return v;
      return arith::ExtFOp::create(rewriter, loc, type.clone(f32), v);
    };
    Value a = widened(adaptor.getA()), b = widened(adaptor.getB());
    DenseMap<int64_t, Value> as, bs;
    auto scalar = [&](DenseMap<int64_t, Value> &made, Value v, int64_t reg) {
      Value &s = made[reg];
      if (!s)
        s = extract(rewriter, loc, v, reg);
      return s;
    };
    auto coordinates = lc.registerCoordinates();
    SmallVector<Value> acc;
    for (size_t r = 0; r < coordinates.size(); ++r)
      acc.push_back(extract(rewriter, loc, adaptor.getAccumulator(), r));
    for (int64_t k = 0; k < la.shape()[1]; ++k)
      for (auto [r, c] : llvm::enumerate(coordinates))
        acc[r] = multiplyAdd(
            op, rewriter, scalar(as, a, *la.registerOf({c[0], k}, 0, 0)),
            scalar(bs, b, *lb.registerOf({k, c[1]}, 0, 0)), acc[r]);
    rewriter.replaceOp(op, vector::FromElementsOp::create(
                               rewriter, loc, adaptor.getAccumulator().getType(),
                               acc));
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

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
    Layout out = in.slice(op.getAxis());
    unsigned axis = op.getAxis();
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
        if (basis[axis] == 0)
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
  patterns.add<DotPattern, ReducePattern, BroadcastPattern, TransPattern>(
      types, patterns.getContext());
}
