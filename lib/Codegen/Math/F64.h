//===- F64.h - short spellings for f64 arithmetic ---------------*- C++ -*-===//

#ifndef HEDDLE_LIB_CODEGEN_MATH_F64_H
#define HEDDLE_LIB_CODEGEN_MATH_F64_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"

#include <limits>

namespace heddle {

/// Emits arithmetic on scalars of f64 and i64.
class F64 {
public:
  using Value = mlir::Value;
  F64(mlir::OpBuilder &b, mlir::Location loc) : b(b), loc(loc) {}

  static constexpr double inf = std::numeric_limits<double>::infinity();
  static constexpr double nan = std::numeric_limits<double>::quiet_NaN();

  Value c(double v) {
    return mlir::arith::ConstantOp::create(b, loc, b.getF64FloatAttr(v));
  }
  Value add(Value x, Value y) { return emit<mlir::arith::AddFOp>(x, y); }
  Value sub(Value x, Value y) { return emit<mlir::arith::SubFOp>(x, y); }
  Value mul(Value x, Value y) { return emit<mlir::arith::MulFOp>(x, y); }
  Value div(Value x, Value y) { return emit<mlir::arith::DivFOp>(x, y); }
  Value fma(Value x, Value y, Value z) {
    return mlir::math::FmaOp::create(b, loc, x, y, z);
  }
  Value neg(Value x) { return mlir::arith::NegFOp::create(b, loc, x); }
  Value abs(Value x) { return mlir::math::AbsFOp::create(b, loc, x); }
  Value sqrt(Value x) { return mlir::math::SqrtOp::create(b, loc, x); }
  Value copySign(Value x, Value sign) {
    return mlir::math::CopySignOp::create(b, loc, x, sign);
  }
  /// Horner's scheme; coefficients from the highest power down.
  Value polynomial(Value x, llvm::ArrayRef<double> coefficients) {
    Value r = c(coefficients.front());
    for (double k : coefficients.drop_front())
      r = fma(r, x, c(k));
    return r;
  }

  // Ordered comparisons: false of a NaN.
  Value lt(Value x, Value y) {
    return cmp(mlir::arith::CmpFPredicate::OLT, x, y);
  }
  Value gt(Value x, Value y) {
    return cmp(mlir::arith::CmpFPredicate::OGT, x, y);
  }
  Value ge(Value x, Value y) {
    return cmp(mlir::arith::CmpFPredicate::OGE, x, y);
  }
  Value eq(Value x, Value y) {
    return cmp(mlir::arith::CmpFPredicate::OEQ, x, y);
  }
  Value unordered(Value x, Value y) {
    return cmp(mlir::arith::CmpFPredicate::UNO, x, y);
  }
  Value select(Value condition, Value x, Value y) {
    return mlir::arith::SelectOp::create(b, loc, condition, x, y);
  }
  /// x in [low, high]; a NaN stays.
  Value clamp(Value x, double low, double high) {
    x = select(gt(x, c(high)), c(high), x);
    return select(lt(x, c(low)), c(low), x);
  }

  Value i(int64_t v) {
    return mlir::arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(v));
  }
  Value iadd(Value x, Value y) { return emit<mlir::arith::AddIOp>(x, y); }
  Value isub(Value x, Value y) { return emit<mlir::arith::SubIOp>(x, y); }
  Value iand(Value x, Value y) { return emit<mlir::arith::AndIOp>(x, y); }
  Value ior(Value x, Value y) { return emit<mlir::arith::OrIOp>(x, y); }
  Value shl(Value x, Value y) { return emit<mlir::arith::ShLIOp>(x, y); }
  Value shr(Value x, Value y) { return emit<mlir::arith::ShRUIOp>(x, y); }
  Value sar(Value x, Value y) { return emit<mlir::arith::ShRSIOp>(x, y); }
  Value icmp(mlir::arith::CmpIPredicate p, Value x, Value y) {
    return mlir::arith::CmpIOp::create(b, loc, p, x, y);
  }
  /// Whether a bit of the mask is set.
  Value any(Value x, int64_t mask) {
    return icmp(mlir::arith::CmpIPredicate::ne, iand(x, i(mask)), i(0));
  }
  Value both(Value x, Value y) { return emit<mlir::arith::AndIOp>(x, y); }
  Value either(Value x, Value y) { return emit<mlir::arith::OrIOp>(x, y); }
  Value no(Value x) {
    return emit<mlir::arith::XOrIOp>(
        x, mlir::arith::ConstantIntOp::create(b, loc, 1, 1));
  }
  Value bits(Value x) {
    return mlir::arith::BitcastOp::create(b, loc, b.getI64Type(), x);
  }
  Value fromBits(Value x) {
    return mlir::arith::BitcastOp::create(b, loc, b.getF64Type(), x);
  }
  Value toFloat(Value x) {
    return mlir::arith::SIToFPOp::create(b, loc, b.getF64Type(), x);
  }
  Value isNegative(Value x) {
    return icmp(mlir::arith::CmpIPredicate::slt, bits(x), i(0));
  }

  /// The integer next to x, |x| < 2^51, as f64 and as i64. Adding 1.5 * 2^52
  /// leaves it in the low bits of the mantissa.
  std::pair<Value, Value> nearest(Value x) {
    constexpr double kRound = 6755399441055744.0;
    Value shifted = add(x, c(kRound));
    return {sub(shifted, c(kRound)), isub(bits(shifted), bits(c(kRound)))};
  }
  /// x * 2^n for n in [-2000, 2000], rounded once.
  Value scale(Value x, Value n) {
    Value half = sar(n, i(1));
    return mul(mul(x, powerOfTwo(half)), powerOfTwo(isub(n, half)));
  }
  /// 2^n for n in [-1022, 1023].
  Value powerOfTwo(Value n) { return fromBits(shl(iadd(n, i(1023)), i(52))); }

  mlir::OpBuilder &b;
  mlir::Location loc;

private:
  template <typename Op>
  Value emit(Value x, Value y) {
    return Op::create(b, loc, x, y);
  }
  Value cmp(mlir::arith::CmpFPredicate p, Value x, Value y) {
    return mlir::arith::CmpFOp::create(b, loc, p, x, y);
  }
};

// The functions, by file.
namespace f64 {
using mlir::Value;
// ExpLog.cpp
/// e^(x + tail), |tail| far below |x|; null: none.
Value exp(F64 &e, Value x, Value tail = {});
Value exp2(F64 &e, Value x);
Value expm1(F64 &e, Value x);
Value log(F64 &e, Value x);
Value log2(F64 &e, Value x);
Value log10(F64 &e, Value x);
Value log1p(F64 &e, Value x);
Value pow(F64 &e, Value x, Value y);
Value cbrt(F64 &e, Value x);
// Hyperbolic.cpp
Value sinh(F64 &e, Value x);
Value cosh(F64 &e, Value x);
Value tanh(F64 &e, Value x);
Value asinh(F64 &e, Value x);
Value acosh(F64 &e, Value x);
Value atanh(F64 &e, Value x);
Value erf(F64 &e, Value x);
Value erfc(F64 &e, Value x);
// Trigonometric.cpp
Value sin(F64 &e, Value x);
Value cos(F64 &e, Value x);
std::pair<Value, Value> sincos(F64 &e, Value x);
Value tan(F64 &e, Value x);
Value asin(F64 &e, Value x);
Value acos(F64 &e, Value x);
Value atan(F64 &e, Value x);
Value atan2(F64 &e, Value y, Value x);
} // namespace f64

} // namespace heddle

#endif // HEDDLE_LIB_CODEGEN_MATH_F64_H
