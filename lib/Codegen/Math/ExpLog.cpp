//===- ExpLog.cpp - exponentials, logarithms and powers -------------------===//

#include "F64.h"

using namespace mlir;
using namespace heddle;

// Coefficients here and in the files beside this one: interpolation at
// Chebyshev nodes in 60 digits, then rounded; the errors are those of the
// rounded ones, relative to the whole function.
namespace {
constexpr double kLog2e = 1.4426950408889634, kLog10e = 0.4342944819032518;
/// ln 2 in two parts: of 53 bits, and of 42 bits, so that its multiples by an
/// exponent are exact.
constexpr double kLn2 = 0.6931471805599453, kLn2Tail = 2.3190468138462996e-17;
constexpr double kLn2High = 0.6931471805598903, kLn2Low = 5.497923018708371e-14;
constexpr double kSqrtHalf = 0.7071067811865476;

/// (e^r - 1 - r) / r^2 for |r| <= ln 2 / 2, error 9e-19.
constexpr double kExpm1[] = {2.0914679376583935e-09,
                             2.510520637395701e-08,
                             2.7557273661348637e-07,
                             2.7557255425746435e-06,
                             2.4801587325533363e-05,
                             0.00019841269874800493,
                             0.0013888888888883752,
                             0.008333333333326141,
                             0.04166666666666667,
                             0.1666666666666667,
                             0.5};
/// (log((1 + s) / (1 - s)) - 2 s) / s^3 in s^2, |s| <= 0.1716, error 5e-18.
constexpr double kLog[] = {0.1461703754879165,  0.1533167403016786,
                           0.18182890556695602, 0.2222221111514416,
                           0.2857142862609589,  0.3999999999989924,
                           0.666666666666667};

/// x = exponent * ln 2 + rest, |rest| <= ln 2 / 2.
struct Reduced {
  Value exponent, power; // f64 and i64
  Value rest;
};
} // namespace

static Reduced reduce(F64 &e, Value x, Value tail) {
  Reduced r;
  std::tie(r.exponent, r.power) = e.nearest(e.mul(x, e.c(kLog2e)));
  r.rest = e.fma(r.exponent, e.c(-kLn2), x);
  r.rest = e.fma(r.exponent, e.c(-kLn2Tail), r.rest);
  if (tail)
    r.rest = e.add(r.rest, tail);
  return r;
}

/// e^r - 1 for |r| <= ln 2 / 2.
static Value expm1OfRest(F64 &e, Value r) {
  return e.fma(e.mul(r, r), e.polynomial(r, kExpm1), r);
}

Value f64::exp(F64 &e, Value x, Value tail) {
  // Beyond, the result is 0 or infinite.
  Reduced r = reduce(e, e.clamp(x, -746, 710), tail);
  return e.scale(e.add(e.c(1), expm1OfRest(e, r.rest)), r.power);
}

Value f64::exp2(F64 &e, Value x) {
  x = e.clamp(x, -1076, 1025);
  auto [exponent, power] = e.nearest(x);
  Value r = e.mul(e.sub(x, exponent), e.c(kLn2));
  return e.scale(e.add(e.c(1), expm1OfRest(e, r)), power);
}

Value f64::expm1(F64 &e, Value x) {
  Reduced r = reduce(e, e.clamp(x, -50, 50), {});
  Value scale = e.powerOfTwo(r.power);
  Value y = e.fma(scale, expm1OfRest(e, r.rest), e.sub(scale, e.c(1)));
  // Above 50 the 1 is below half a unit; zeros keep their sign.
  y = e.select(e.gt(x, e.c(40)), exp(e, x), y);
  return e.select(e.eq(x, e.c(0)), x, y);
}

namespace {
/// x = 2^exponent * (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)), for x > 0.
struct Mantissa {
  Value exponent, f; // f64
};
} // namespace

static Mantissa mantissaOf(F64 &e, Value x) {
  Value subnormal = e.lt(x, e.c(2.2250738585072014e-308));
  Value scaled = e.select(subnormal, e.mul(x, e.c(18014398509481984.0)), x);
  Value sqrtHalf = e.bits(e.c(kSqrtHalf));
  Value h = e.iadd(e.bits(scaled), e.isub(e.bits(e.c(1)), sqrtHalf));
  Value exponent = e.isub(e.sar(h, e.i(52)), e.i(1023));
  exponent = e.isub(exponent, e.select(subnormal, e.i(54), e.i(0)));
  Value m = e.iadd(e.iand(h, e.i(0xfffffffffffff)), sqrtHalf);
  return {e.toFloat(exponent), e.sub(e.fromBits(m), e.c(1))};
}

/// What logarithms are of 0, infinity, NaN and negative numbers.
static Value withEnds(F64 &e, Value x, Value y) {
  y = e.select(e.eq(x, e.c(F64::inf)), x, y);
  y = e.select(e.eq(x, e.c(0)), e.c(-F64::inf), y);
  y = e.select(e.lt(x, e.c(0)), e.c(F64::nan), y);
  return e.select(e.unordered(x, x), x, y);
}

/// f - log(1 + f), from s = f / (2 + f): log(1 + f) = f - s (f - s^2 L(s^2)).
static Value logDeficit(F64 &e, Value f) {
  Value s = e.div(f, e.add(f, e.c(2)));
  Value z = e.mul(s, s);
  return e.mul(s, e.sub(f, e.mul(z, e.polynomial(z, kLog))));
}

Value f64::log(F64 &e, Value x) {
  Mantissa m = mantissaOf(e, x);
  Value deficit = e.fma(m.exponent, e.c(-kLn2Low), logDeficit(e, m.f));
  Value y = e.fma(m.exponent, e.c(kLn2High), e.sub(m.f, deficit));
  return withEnds(e, x, y);
}

/// log of the mantissa times a factor, plus the exponent times another.
static Value logTo(F64 &e, Value x, double perNat, double perBit) {
  Mantissa m = mantissaOf(e, x);
  Value nats = e.sub(m.f, logDeficit(e, m.f));
  Value y = e.fma(m.exponent, e.c(perBit), e.mul(nats, e.c(perNat)));
  return withEnds(e, x, y);
}

Value f64::log2(F64 &e, Value x) { return logTo(e, x, kLog2e, 1); }
Value f64::log10(F64 &e, Value x) {
  return logTo(e, x, kLog10e, 0.30102999566398120);
}

Value f64::log1p(F64 &e, Value x) {
  Value u = e.add(e.c(1), x);
  // What the sum has rounded away changes the logarithm by its share.
  Value lost = e.div(e.sub(x, e.sub(u, e.c(1))), u);
  Value y = log(e, u);
  Value normal = e.both(e.gt(u, e.c(0)), e.lt(u, e.c(F64::inf)));
  y = e.select(normal, e.add(y, lost), y);
  return e.select(e.eq(x, e.c(0)), x, y);
}

Value f64::pow(F64 &e, Value x, Value y) {
  Value a = e.abs(x);
  // log a = high + low to 2^-60, so that y log a has an absolute error below
  // that of the result.
  Mantissa m = mantissaOf(e, a);
  Value den = e.add(m.f, e.c(2));
  Value denLow = e.sub(m.f, e.sub(den, e.c(2)));
  Value s = e.div(m.f, den);
  Value left = e.fma(e.neg(s), den, m.f);
  Value sLow = e.div(e.fma(e.neg(s), denLow, left), den);
  Value z = e.mul(s, s);
  Value twoS = e.add(s, s);
  Value part = e.mul(m.exponent, e.c(kLn2High));
  Value high = e.add(part, twoS);
  Value low = e.sub(twoS, e.sub(high, part));
  low = e.add(low, e.fma(m.exponent, e.c(kLn2Low), e.add(sLow, sLow)));
  low = e.fma(e.mul(s, z), e.polynomial(z, kLog), low);
  high = withEnds(e, a, high);
  Value product = e.mul(y, high);
  Value tail = e.fma(y, low, e.fma(y, high, e.neg(product)));
  // An infinite or overflowing product has no tail.
  tail = e.select(e.lt(e.abs(product), e.c(1000)), tail, e.c(0));
  Value r = f64::exp(e, product, tail);
  r = e.select(e.both(e.eq(a, e.c(1)), e.eq(y, y)), e.c(1), r);
  // The sign, by whether y is an integer and odd.
  Value magnitude = e.abs(y);
  Value large = e.ge(magnitude, e.c(9007199254740992.0));
  Value whole = math::FloorOp::create(e.b, e.loc, magnitude);
  Value isInteger = e.either(large, e.eq(whole, magnitude));
  Value number = arith::FPToSIOp::create(
      e.b, e.loc, e.b.getI64Type(),
      e.select(large, e.c(0), e.select(e.eq(y, y), whole, e.c(0))));
  Value isOdd = e.both(e.both(isInteger, e.no(large)), e.any(number, 1));
  r = e.select(e.both(e.isNegative(x), isOdd), e.neg(r), r);
  Value outside =
      e.both(e.both(e.lt(x, e.c(0)), e.no(isInteger)), e.gt(x, e.c(-F64::inf)));
  r = e.select(outside, e.c(F64::nan), r);
  Value one = e.either(e.eq(y, e.c(0)), e.eq(x, e.c(1)));
  return e.select(one, e.c(1), r);
}

Value f64::cbrt(F64 &e, Value x) {
  // Tiny numbers by 2^54, whose root is 2^18.
  Value a = e.abs(x);
  Value tiny = e.lt(a, e.c(1e-290));
  a = e.select(tiny, e.mul(a, e.c(18014398509481984.0)), a);
  Value y = exp(e, e.mul(log(e, a), e.c(1.0 / 3)));
  // One step of Newton from an error of some units.
  Value y2 = e.mul(y, y);
  Value residual = e.fma(y2, y, e.neg(a));
  residual = e.fma(e.fma(y, y, e.neg(y2)), y, residual);
  y = e.sub(y, e.div(residual, e.mul(e.c(3), y2)));
  y = e.select(tiny, e.mul(y, e.c(1.0 / 262144)), y);
  // 0, infinity and NaN are their own roots.
  Value usual = e.both(e.gt(e.abs(x), e.c(0)), e.lt(e.abs(x), e.c(F64::inf)));
  return e.select(usual, e.copySign(y, x), x);
}
