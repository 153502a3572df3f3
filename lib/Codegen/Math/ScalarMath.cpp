//===- ScalarMath.cpp - math ops by functions of f64 ----------------------===//

#include "heddle/Codegen/Math/ScalarMath.h"
#include "F64.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace heddle;

/// The remainder with the sign of the dividend: long division, one bit of the
/// quotient at a time.
static Value remainder(F64 &e, Value x, Value y) {
  Value ax = e.bits(e.abs(x)), ay = e.bits(e.abs(y));
  constexpr int64_t kMantissa = 0xfffffffffffff;
  auto exponentOf = [&](Value v) {
    Value field = e.shr(v, e.i(52));
    return e.select(e.icmp(arith::CmpIPredicate::eq, field, e.i(0)), e.i(1),
                    field);
  };
  auto mantissaOf = [&](Value v) {
    Value m = e.iand(v, e.i(kMantissa));
    Value subnormal = e.icmp(arith::CmpIPredicate::ule, v, e.i(kMantissa));
    return e.select(subnormal, m, e.ior(m, e.i(kMantissa + 1)));
  };
  Value ex = exponentOf(ax), ey = exponentOf(ay);
  // No quotient of the loop is of a number below it, or of 0.
  Value my = mantissaOf(ay);
  my = e.select(e.icmp(arith::CmpIPredicate::eq, my, e.i(0)), e.i(1), my);
  Value r = arith::RemUIOp::create(e.b, e.loc, mantissaOf(ax), my);
  Type index = e.b.getIndexType();
  Value steps = arith::MaxSIOp::create(e.b, e.loc, e.isub(ex, ey), e.i(0));
  auto bound = [&](Value v) -> Value {
    return arith::IndexCastOp::create(e.b, e.loc, index, v);
  };
  auto loop = scf::ForOp::create(
      e.b, e.loc, bound(e.i(0)), bound(steps), bound(e.i(1)), r,
      [&](OpBuilder &, Location, Value, ValueRange carried) {
        Value twice = e.shl(carried[0], e.i(1));
        Value fits = e.icmp(arith::CmpIPredicate::uge, twice, my);
        scf::YieldOp::create(e.b, e.loc,
                             e.select(fits, e.isub(twice, my), twice));
      });
  Value result = e.scale(e.toFloat(loop.getResult(0)), e.isub(ey, e.i(1075)));
  result = e.copySign(result, x);
  Value smaller = e.icmp(arith::CmpIPredicate::ult, ax, ay);
  result = e.select(smaller, x, result);
  Value undefined =
      e.either(e.eq(y, e.c(0)),
               e.either(e.unordered(x, y), e.eq(e.abs(x), e.c(F64::inf))));
  return e.select(undefined, e.c(F64::nan), result);
}

template <Value (*Function)(F64 &, Value)>
static SmallVector<Value> unary(OpBuilder &b, Location loc, ValueRange x) {
  F64 e(b, loc);
  return {Function(e, x[0])};
}
template <Value (*Function)(F64 &, Value, Value)>
static SmallVector<Value> binary(OpBuilder &b, Location loc, ValueRange x) {
  F64 e(b, loc);
  return {Function(e, x[0], x[1])};
}
static Value expAlone(F64 &e, Value x) { return f64::exp(e, x); }
static Value rsqrt(F64 &e, Value x) { return e.div(e.c(1), e.sqrt(x)); }
static SmallVector<Value> sincos(OpBuilder &b, Location loc, ValueRange x) {
  F64 e(b, loc);
  auto [sin, cos] = f64::sincos(e, x[0]);
  return {sin, cos};
}

ScalarFunction heddle::findScalarFunction(Operation *op) {
  if (isa<math::ExpOp>(op))
    return unary<expAlone>;
  if (isa<math::Exp2Op>(op))
    return unary<f64::exp2>;
  if (isa<math::ExpM1Op>(op))
    return unary<f64::expm1>;
  if (isa<math::LogOp>(op))
    return unary<f64::log>;
  if (isa<math::Log2Op>(op))
    return unary<f64::log2>;
  if (isa<math::Log10Op>(op))
    return unary<f64::log10>;
  if (isa<math::Log1pOp>(op))
    return unary<f64::log1p>;
  if (isa<math::CbrtOp>(op))
    return unary<f64::cbrt>;
  if (isa<math::RsqrtOp>(op))
    return unary<rsqrt>;
  if (isa<math::SinhOp>(op))
    return unary<f64::sinh>;
  if (isa<math::CoshOp>(op))
    return unary<f64::cosh>;
  if (isa<math::TanhOp>(op))
    return unary<f64::tanh>;
  if (isa<math::AsinhOp>(op))
    return unary<f64::asinh>;
  if (isa<math::AcoshOp>(op))
    return unary<f64::acosh>;
  if (isa<math::AtanhOp>(op))
    return unary<f64::atanh>;
  if (isa<math::ErfOp>(op))
    return unary<f64::erf>;
  if (isa<math::ErfcOp>(op))
    return unary<f64::erfc>;
  if (isa<math::SinOp>(op))
    return unary<f64::sin>;
  if (isa<math::CosOp>(op))
    return unary<f64::cos>;
  if (isa<math::SincosOp>(op))
    return sincos;
  if (isa<math::TanOp>(op))
    return unary<f64::tan>;
  if (isa<math::AsinOp>(op))
    return unary<f64::asin>;
  if (isa<math::AcosOp>(op))
    return unary<f64::acos>;
  if (isa<math::AtanOp>(op))
    return unary<f64::atan>;
  if (isa<math::Atan2Op>(op))
    return binary<f64::atan2>;
  if (isa<arith::RemFOp>(op))
    return binary<remainder>;
  if (isa<math::PowFOp, math::FPowIOp>(op))
    return binary<f64::pow>;
  return nullptr;
}

/// Float or integer scalars as f64, and back.
static Value asF64(OpBuilder &b, Location loc, Value v) {
  Type f64 = b.getF64Type();
  if (v.getType() == f64)
    return v;
  if (isa<FloatType>(v.getType()))
    return arith::ExtFOp::create(b, loc, f64, v);
  return arith::SIToFPOp::create(b, loc, f64, v);
}
static Value fromF64(OpBuilder &b, Location loc, Value v, Type type) {
  if (v.getType() == type)
    return v;
  return arith::TruncFOp::create(b, loc, type, v);
}

LogicalResult heddle::expandScalarMath(Operation *op, RewriterBase &rewriter) {
  ScalarFunction function = findScalarFunction(op);
  if (!function)
    return rewriter.notifyMatchFailure(op, "has no function of f64");
  auto type = op->getResult(0).getType();
  Type element = getElementTypeOrSelf(type);
  if (!isa<FloatType>(element) || element.getIntOrFloatBitWidth() > 64)
    return rewriter.notifyMatchFailure(op, "needs floats of at most 64 bits");
  Location loc = op->getLoc();
  auto vector = dyn_cast<VectorType>(type);
  if (vector && vector.getRank() != 1)
    return rewriter.notifyMatchFailure(op, "needs a vector of rank 1");
  SmallVector<SmallVector<Value>> parts(op->getNumResults());
  for (int64_t i = 0, n = vector ? vector.getNumElements() : 1; i < n; ++i) {
    SmallVector<Value> operands;
    for (Value v : op->getOperands()) {
      if (vector)
        v = vector::ExtractOp::create(rewriter, loc, v, i);
      operands.push_back(asF64(rewriter, loc, v));
    }
    for (auto [part, v] : llvm::zip(parts, function(rewriter, loc, operands)))
      part.push_back(fromF64(rewriter, loc, v, element));
  }
  SmallVector<Value> results;
  for (ArrayRef<Value> part : parts)
    results.push_back(
        vector ? vector::FromElementsOp::create(rewriter, loc, vector, part)
                     .getResult()
               : part.front());
  rewriter.replaceOp(op, results);
  return success();
}
