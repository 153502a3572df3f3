//===- VectorMath.cpp - vector expansions of math functions ---------------===//

#include "heddle/Codegen/Math/VectorMath.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace {
/// Short spellings for f32 vector arithmetic.
struct Emit {
  OpBuilder &b;
  Location loc;
  VectorType type; // of f32

  Emit(OpBuilder &b, Location loc, Value like)
      : b(b), loc(loc), type(cast<VectorType>(like.getType())) {}

  Value splat(double v) {
    return arith::ConstantOp::create(
        b, loc, DenseElementsAttr::get(type, b.getF32FloatAttr(v).getValue()));
  }
  VectorType intType() { return type.clone(b.getI32Type()); }
  Value splatInt(int32_t v) {
    return arith::ConstantOp::create(
        b, loc, DenseElementsAttr::get(intType(), b.getI32IntegerAttr(v)));
  }
  Value add(Value x, Value y) { return arith::AddFOp::create(b, loc, x, y); }
  Value sub(Value x, Value y) { return arith::SubFOp::create(b, loc, x, y); }
  Value mul(Value x, Value y) { return arith::MulFOp::create(b, loc, x, y); }
  Value div(Value x, Value y) { return arith::DivFOp::create(b, loc, x, y); }
  Value fma(Value x, Value y, Value z) {
    return math::FmaOp::create(b, loc, x, y, z);
  }
  Value select(arith::CmpFPredicate p, Value x, Value y, Value t, Value f) {
    return arith::SelectOp::create(
        b, loc, arith::CmpFOp::create(b, loc, p, x, y), t, f);
  }
  /// min and max that keep a NaN in x.
  Value min(Value x, Value y) {
    return select(arith::CmpFPredicate::OGT, x, y, y, x);
  }
  Value max(Value x, Value y) {
    return select(arith::CmpFPredicate::OLT, x, y, y, x);
  }
  /// Horner's scheme; coefficients from the highest power down.
  Value polynomial(Value x, ArrayRef<double> coefficients) {
    Value r = splat(coefficients.front());
    for (double c : coefficients.drop_front())
      r = fma(r, x, splat(c));
    return r;
  }
  Value abs(Value x) { return math::AbsFOp::create(b, loc, x); }
};

/// 2^f for |f| <= 0.5: minimax for the relative error, degree 6, found by
/// Remez exchange in double precision (relative error 1.9e-9 before rounding).
/// Twice that polynomial: the factor 2 is taken back by scaleByPowerOfTwo.
constexpr double kTwiceExp2Poly[] = {
    0.0003069162399878496, 0.0026799862438319586, 0.019236977914258928,
    0.11100657553931434,   0.48045293781268084,   1.3862944114745342,
    2.0000000011083326};
/// Adding this rounds a float below 2^22 to an integer, which then stands in
/// the low mantissa bits.
constexpr double kRound = 12582912.0; // 1.5 * 2^23
} // namespace

/// f = x - n is exact for |x| < 2^22, so 2^x = 2^(n-1) * (2 * 2^f). One is
/// taken off n so that the factor of the largest floats, whose n is 128, is
/// finite.
static Value scaleByPowerOfTwo(Emit &e, Value p, Value rounded) {
  Value bits = arith::BitcastOp::create(e.b, e.loc, e.intType(), rounded);
  Value shift = e.splatInt(23);
  Value exponent = arith::ShLIOp::create(e.b, e.loc, bits, shift);
  Value one = e.splatInt(0x3f000000); // bias less one
  Value factor = arith::BitcastOp::create(
      e.b, e.loc, e.type,
      arith::AddIOp::create(e.b, e.loc, exponent, one).getResult());
  return e.mul(p, factor);
}

Value heddle::emitExp2(OpBuilder &b, Location loc, Value x) {
  Emit e(b, loc, x);
  // n = -126 gives exponent field 0, so the factor is exactly 0; at 128 the
  // product overflows to infinity.
  x = e.max(e.min(x, e.splat(128.0)), e.splat(-126.0));
  Value rounded = e.add(x, e.splat(kRound));
  Value n = e.sub(rounded, e.splat(kRound));
  Value f = e.sub(x, n);
  return scaleByPowerOfTwo(e, e.polynomial(f, kTwiceExp2Poly), rounded);
}

Value heddle::emitExp(OpBuilder &b, Location loc, Value x) {
  Emit e(b, loc, x);
  constexpr double kLog2e = 1.4426950408889634;
  // ln 2 in two parts; n * kHigh is exact for |n| <= 256.
  constexpr double kHigh = 0.693359375, kLow = -2.12194440054690583e-4;
  x = e.max(e.min(x, e.splat(88.8)), e.splat(-87.33));
  Value rounded = e.fma(x, e.splat(kLog2e), e.splat(kRound));
  Value n = e.sub(rounded, e.splat(kRound));
  Value r = e.fma(n, e.splat(-kHigh), x);
  r = e.fma(n, e.splat(-kLow), r);
  // The reduced argument is scaled once more to share the 2^f polynomial; its
  // rounding is relative to a number below 0.5.
  Value f = e.mul(r, e.splat(kLog2e));
  return scaleByPowerOfTwo(e, e.polynomial(f, kTwiceExp2Poly), rounded);
}

Value heddle::emitTanh(OpBuilder &b, Location loc, Value x) {
  Emit e(b, loc, x);
  Value magnitude = e.abs(x);
  // Beyond 9.1 the result rounds to 1.
  Value a = e.min(magnitude, e.splat(9.1));
  // Large: 1 - 2 / (exp(2a) + 1). Small: a + a^3 q(a^2), q minimax on
  // [0, 0.625^2].
  Value t = emitExp(b, loc, e.add(a, a));
  Value large =
      e.sub(e.splat(1.0), e.div(e.splat(2.0), e.add(t, e.splat(1.0))));
  Value a2 = e.mul(a, a);
  Value q = e.polynomial(a2, {-0.006113234239203288, 0.021010118717883,
                              -0.05385408059446154, 0.13332794663260417,
                              -0.3333332925287317});
  Value small = e.fma(e.mul(a2, a), q, a);
  Value r =
      e.select(arith::CmpFPredicate::ULT, a, e.splat(0.625), small, large);
  return math::CopySignOp::create(b, loc, r, x);
}

Value heddle::emitErf(OpBuilder &b, Location loc, Value x) {
  Emit e(b, loc, x);
  // Abramowitz and Stegun 7.1.26 form, 1 - (a1 t + ... + a5 t^5) exp(-x^2).
  Value a = e.min(e.abs(x), e.splat(6.0));
  Value t = e.div(e.splat(1.0), e.fma(a, e.splat(0.3275911), e.splat(1.0)));
  Value p = e.polynomial(
      t, {1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592});
  Value decay = emitExp(b, loc, e.sub(e.splat(0.0), e.mul(a, a)));
  Value large = e.sub(e.splat(1.0), e.mul(e.mul(p, t), decay));
  // Near 0 the difference cancels: minimax polynomial of erf(a)/a in a^2.
  Value a2 = e.mul(a, a);
  Value s = e.polynomial(a2, {0.004717990096889104, -0.026757184281808934,
                              0.11282822810067361, -0.3761260857285113,
                              1.1283791655673454});
  Value small = e.mul(a, s);
  Value r = e.select(arith::CmpFPredicate::ULT, a, e.splat(0.5), small, large);
  return math::CopySignOp::create(b, loc, r, x);
}

/// sin(x + quarters * pi / 2), the argument reduced in three parts of pi / 2
/// (Cody and Waite, "Software Manual for the Elementary Functions", 1980):
/// products with the quotient are fused, so that only what is left rounds.
static Value emitTurned(OpBuilder &b, Location loc, Value x, int quarters) {
  Emit e(b, loc, x);
  Value rounded = e.fma(x, e.splat(0.6366197723675814), e.splat(kRound));
  Value n = e.sub(rounded, e.splat(kRound));
  Value r = e.fma(n, e.splat(-1.57079637050628662109375), x);
  r = e.fma(n, e.splat(4.37113900018624283e-8), r);
  r = e.fma(n, e.splat(1.71512449e-15), r);
  Value square = e.mul(r, r);
  // Minimax on [0, (pi / 4)^2].
  Value s = e.polynomial(square,
                         {-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1});
  Value sine = e.fma(e.mul(square, r), s, r);
  Value c = e.polynomial(square, {2.443315711809948e-5, -1.388731625493765e-3,
                                  4.166664568298827e-2});
  Value cosine = e.fma(e.mul(square, square), c,
                       e.fma(square, e.splat(-0.5), e.splat(1.0)));
  Value bits = arith::BitcastOp::create(b, loc, e.intType(), rounded);
  Value turn = arith::AddIOp::create(b, loc, bits, e.splatInt(quarters));
  auto isSet = [&](int32_t bit) -> Value {
    Value masked = arith::AndIOp::create(b, loc, turn, e.splatInt(bit));
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, masked,
                                 e.splatInt(0));
  };
  Value value = arith::SelectOp::create(b, loc, isSet(1), cosine, sine);
  Value negative = arith::NegFOp::create(b, loc, value);
  return arith::SelectOp::create(b, loc, isSet(2), negative, value);
}

Value heddle::emitSin(OpBuilder &b, Location loc, Value x) {
  return emitTurned(b, loc, x, 0);
}

Value heddle::emitCos(OpBuilder &b, Location loc, Value x) {
  return emitTurned(b, loc, x, 1);
}
