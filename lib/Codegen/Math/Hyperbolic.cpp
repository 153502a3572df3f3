//===- Hyperbolic.cpp - hyperbolic and error functions --------------------===//

#include "F64.h"

using namespace mlir;
using namespace heddle;

namespace {
constexpr double kLn2 = 0.6931471805599453;
/// Above 2^28 the root of x^2 + 1 is x, and x^2 may overflow.
constexpr double kLarge = 268435456.0;

/// erf(x) / x - 1 in x^2 for |x| <= 1, error 2e-17.
constexpr double kErf[] = {
    5.957176147748911e-11,   -1.1372848856791674e-09, 1.4659775274047436e-08,
    -1.6350312701054695e-07, 1.6461000484121368e-06,  -1.4925595266831182e-05,
    0.0001205533111164271,   -0.000854832698083379,   0.0052239776248180145,
    -0.026866170645076792,   0.11283791670954879,     -0.3761263890318375,
    0.1283791670955126};
/// Chebyshev series, lowest first, of (1 + 2 x) e^(x^2) erfc(x) in
/// (x - 3.75) / (x + 3.75), mapped from [-11/19, 1] to [-1, 1], for x >= 1
/// (Shepherd and Laframboise, Math. Comp. 36, 1981); error 1e-18.
constexpr double kErfc[] = {
    1.2106872773008206,      -0.08592115036905977,    -0.001316611047523112,
    0.007577581026022293,    -0.003529875553975596,   0.0011055219531986061,
    -0.00026826451575623345, 5.1542162930288275e-05,  -7.565850752530285e-06,
    7.340029721098589e-07,   -1.4079912353537698e-08, -9.439232591525426e-09,
    1.5550897405742194e-09,  -2.5977911663572465e-11, -2.6787776729321602e-11,
    3.285193680578411e-12,   2.63290125163602e-13,    -9.461059761454507e-14,
    8.615179472629326e-16,   2.219993859331999e-15,   -1.4635225327043098e-16,
    -5.0320363239336334e-17, 5.950388066196566e-18};
} // namespace

Value f64::sinh(F64 &e, Value x) {
  Value a = e.abs(x);
  Value t = expm1(e, e.clamp(a, 0, 700));
  Value small = e.mul(e.c(0.5), e.add(t, e.div(t, e.add(t, e.c(1)))));
  // e^a may overflow where half of it does not.
  Value h = exp(e, e.mul(e.c(0.5), a));
  Value large = e.mul(e.mul(e.c(0.5), h), h);
  return e.copySign(e.select(e.gt(a, e.c(22)), large, small), x);
}

Value f64::cosh(F64 &e, Value x) {
  Value a = e.abs(x);
  Value t = exp(e, e.clamp(a, 0, 700));
  Value small = e.add(e.mul(e.c(0.5), t), e.div(e.c(0.5), t));
  Value h = exp(e, e.mul(e.c(0.5), a));
  Value large = e.mul(e.mul(e.c(0.5), h), h);
  return e.select(e.gt(a, e.c(22)), large, small);
}

Value f64::tanh(F64 &e, Value x) {
  // Beyond 20 the result rounds to 1.
  Value a = e.clamp(e.abs(x), 0, 20);
  Value t = expm1(e, e.add(a, a));
  return e.copySign(e.div(t, e.add(t, e.c(2))), x);
}

Value f64::asinh(F64 &e, Value x) {
  Value a = e.abs(x);
  Value root = e.sqrt(e.fma(a, a, e.c(1)));
  Value small = log1p(e, e.add(a, e.div(e.mul(a, a), e.add(e.c(1), root))));
  Value large = e.add(log(e, a), e.c(kLn2));
  return e.copySign(e.select(e.gt(a, e.c(kLarge)), large, small), x);
}

Value f64::acosh(F64 &e, Value x) {
  Value t = e.sub(x, e.c(1));
  Value small = log1p(e, e.add(t, e.sqrt(e.fma(t, t, e.add(t, t)))));
  Value large = e.add(log(e, x), e.c(kLn2));
  Value y = e.select(e.gt(x, e.c(kLarge)), large, small);
  return e.select(e.lt(x, e.c(1)), e.c(F64::nan), y);
}

Value f64::atanh(F64 &e, Value x) {
  Value a = e.abs(x);
  Value y = log1p(e, e.div(e.add(a, a), e.sub(e.c(1), a)));
  y = e.mul(e.c(0.5), y);
  y = e.select(e.eq(a, e.c(1)), e.c(F64::inf), y);
  return e.copySign(e.select(e.gt(a, e.c(1)), e.c(F64::nan), y), x);
}

/// erfc(a) for a >= 1.
static Value erfcTail(F64 &e, Value a) {
  // erfc(28) is below the least number.
  a = e.clamp(a, 1, 28);
  Value u = e.div(e.sub(a, e.c(3.75)), e.add(a, e.c(3.75)));
  // w = (2 u - (1 + low)) / (1 - low), low = -11/19; Clenshaw's sum in 2 w.
  Value w = e.fma(u, e.c(38.0 / 30.0), e.c(-8.0 / 30.0));
  Value twice = e.add(w, w);
  Value later = e.c(0), sum = e.c(kErfc[std::size(kErfc) - 1]);
  for (size_t i = std::size(kErfc) - 2; i > 0; --i) {
    Value next = e.fma(twice, sum, e.sub(e.c(kErfc[i]), later));
    later = sum;
    sum = next;
  }
  Value g = e.fma(w, sum, e.sub(e.c(kErfc[0]), later));
  Value square = e.mul(a, a);
  Value decay = f64::exp(e, e.neg(square), e.neg(e.fma(a, a, e.neg(square))));
  return e.mul(decay, e.div(g, e.fma(e.c(2), a, e.c(1))));
}

static Value erfNearZero(F64 &e, Value x) {
  return e.fma(x, e.polynomial(e.mul(x, x), kErf), x);
}

Value f64::erf(F64 &e, Value x) {
  Value a = e.abs(x);
  Value large = e.sub(e.c(1), erfcTail(e, a));
  return e.copySign(e.select(e.ge(a, e.c(1)), large, erfNearZero(e, a)), x);
}

Value f64::erfc(F64 &e, Value x) {
  Value a = e.abs(x);
  Value tail = erfcTail(e, a);
  tail = e.select(e.lt(x, e.c(0)), e.sub(e.c(2), tail), tail);
  Value near = e.sub(e.c(1), erfNearZero(e, x));
  return e.select(e.ge(a, e.c(1)), tail, near);
}
