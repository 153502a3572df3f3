//===- Trigonometric.cpp - circular functions and their inverses ----------===//

#include "F64.h"

using namespace mlir;
using namespace heddle;

namespace {
/// pi / 2 in three parts.
constexpr double kHalfPi = 1.5707963267948966,
                 kHalfPiTail = 6.123233995736766e-17,
                 kHalfPiRest = -1.4973849048591698e-33;
constexpr double kTwoOverPi = 0.6366197723675814;
/// Up to here the quotient by pi / 2 is exact to what three parts give.
constexpr double kMediumAngle = 1048576.0;

/// (sin r - r) / r^3 in r^2, |r| <= pi / 4, error 2e-17.
constexpr double kSin[] = {1.5917988979397435e-10, -2.5051129896450185e-08,
                           2.7557316093198404e-06, -0.00019841269836740532,
                           0.008333333333330936,   -0.16666666666666666};
/// (cos r - 1 + r^2 / 2) / r^4 in r^2, |r| <= pi / 4, error 9e-19.
constexpr double kCos[] = {-1.138254464534925e-11, 2.087614504941318e-09,
                           -2.755731726587808e-07, 2.48015872987544e-05,
                           -0.0013888888888887389, 0.041666666666666664};
/// (atan t - t) / t^3 in t^2, |t| <= tan(pi / 8), error 8e-18.
constexpr double kAtan[] = {
    -0.01917627151752634, 0.0392311556198723,   -0.050854323376990765,
    0.05858145587628202,  -0.06664511064599371, 0.07692183163650894,
    -0.09090904576954117, 0.11111111015227572,  -0.14285714284666184,
    0.19999999999995519,  -0.3333333333333333};
/// (asin x - x) / x^3 in x^2, |x| <= 1/2, error 6e-18.
constexpr double kAsin[] = {
    0.028757851367421566, -0.014851887071247204, 0.01740087944269402,
    0.005457506718640358, 0.01032281435018578,   0.011479177415184906,
    0.013971212973552933, 0.017352392720869973,  0.02237217294214989,
    0.030381944138531247, 0.04464285714635543,   0.07499999999998433,
    0.16666666666666669};
/// The bits of 2 / pi, behind 64 zeros.
constexpr uint64_t kTwoOverPiBits[] = {0,
                                       0xa2f9836e4e441529,
                                       0xfc2757d1f534ddc0,
                                       0xdb6295993c439041,
                                       0xfe5163abdebbc561,
                                       0xb7246e3a424dd2e0,
                                       0x06492eea09d1921c,
                                       0xfe1deb1cb129a73e,
                                       0xe88235f52ebb4484,
                                       0xe99c7026b45f7e41,
                                       0x3991d639835339f4,
                                       0x9c845f8bbdf9283b,
                                       0x1ff897ffde05980f,
                                       0xef2f118b5a0a6d1f,
                                       0x6d367ecf27cb09b7,
                                       0x4f463f669e5fea2d,
                                       0x7527bac7ebe5f17b,
                                       0x3d0739f78a5292ea,
                                       0x6bfb5fb11f8d5d08,
                                       0x56033046fc7b6bab};

/// x = quadrant * pi / 2 + rest, |rest| <= pi / 4 (a little more).
struct Angle {
  Value quadrant, rest; // i64 of which two bits count, f64
};
} // namespace

/// For |x| < kMediumAngle.
static Angle reduceMedium(F64 &e, Value x) {
  auto [number, quadrant] = e.nearest(e.mul(x, e.c(kTwoOverPi)));
  // The first difference is exact: both sides are multiples of 2^-52.
  Value r = e.fma(number, e.c(-kHalfPi), x);
  r = e.fma(number, e.c(-kHalfPiTail), r);
  return {quadrant, e.fma(number, e.c(-kHalfPiRest), r)};
}

/// Any finite |x| >= 2^20: x = m * 2^E, and of 2 / pi only the 192 bits count
/// that make neither a multiple of 4 nor less than an error of the result.
static Angle reduceLarge(F64 &e, Value x) {
  Value bits = e.bits(e.abs(x));
  Value m = e.ior(e.iand(bits, e.i(0xfffffffffffff)), e.i(1ll << 52));
  Value skip = e.isub(e.shr(bits, e.i(52)), e.i(1075 - 62)); // E - 2 + 64
  // Words from number skip / 64 on, by one bit of the number at a time.
  SmallVector<Value> words;
  for (uint64_t w : kTwoOverPiBits)
    words.push_back(e.i(static_cast<int64_t>(w)));
  for (int step : {16, 8, 4, 2, 1}) {
    Value move = e.any(skip, 64 * step);
    SmallVector<Value> next;
    for (int i = 0; i < 4 + step - 1; ++i) {
      size_t from = i + step;
      next.push_back(from < words.size() ? e.select(move, words[from], words[i])
                                         : words[i]);
    }
    words = next;
  }
  Value shift = e.iand(skip, e.i(63)), back = e.isub(e.i(63), shift);
  auto word = [&](int i) {
    return e.ior(e.shl(words[i], shift),
                 e.shr(e.shr(words[i + 1], e.i(1)), back));
  };
  // The lowest 192 bits of m * (w0, w1, w2): a quadrant in the upper two.
  auto p2 = arith::MulUIExtendedOp::create(e.b, e.loc, m, word(2));
  auto p1 = arith::MulUIExtendedOp::create(e.b, e.loc, m, word(1));
  Value p0 = arith::MulIOp::create(e.b, e.loc, m, word(0));
  Value middle = e.iadd(p1.getLow(), p2.getHigh());
  Value carry = arith::ExtUIOp::create(
      e.b, e.loc, e.b.getI64Type(),
      e.icmp(arith::CmpIPredicate::ult, middle, p1.getLow()));
  Value top = e.iadd(e.iadd(p0, p1.getHigh()), carry);
  // The fraction as a signed number: above a half it belongs to the next one.
  Value fraction = e.ior(e.shl(top, e.i(2)), e.shr(middle, e.i(62)));
  Value below = arith::UIToFPOp::create(e.b, e.loc, e.b.getF64Type(),
                                        e.shl(middle, e.i(2)));
  Value quadrant = e.iadd(e.shr(top, e.i(62)), e.shr(fraction, e.i(63)));
  Value rest =
      e.fma(below, e.c(0x1p-128), e.mul(e.toFloat(fraction), e.c(0x1p-64)));
  rest = e.mul(rest, e.c(kHalfPi));
  Value negative = e.isNegative(x);
  return {e.select(negative, e.isub(e.i(0), quadrant), quadrant),
          e.select(negative, e.neg(rest), rest)};
}

static Angle reduce(F64 &e, Value x) {
  Value isMedium = e.lt(e.abs(x), e.c(kMediumAngle));
  Type i64 = e.b.getI64Type(), f64 = e.b.getF64Type();
  auto branch = scf::IfOp::create(e.b, e.loc, TypeRange{i64, f64}, isMedium,
                                  /*withElseRegion=*/true);
  {
    OpBuilder::InsertionGuard guard(e.b);
    e.b.setInsertionPointToStart(branch.thenBlock());
    Angle medium = reduceMedium(e, x);
    scf::YieldOp::create(e.b, e.loc, ValueRange{medium.quadrant, medium.rest});
    e.b.setInsertionPointToStart(branch.elseBlock());
    Angle large = reduceLarge(e, x);
    Value finite = e.lt(e.abs(x), e.c(F64::inf));
    Value rest = e.select(finite, large.rest, e.c(F64::nan));
    scf::YieldOp::create(e.b, e.loc, ValueRange{large.quadrant, rest});
  }
  return {branch.getResult(0), branch.getResult(1)};
}

namespace {
struct SinCos {
  Value sin, cos;
};
} // namespace

/// Of the rest alone.
static SinCos sincosOfRest(F64 &e, Value r) {
  Value z = e.mul(r, r);
  Value sin = e.fma(e.mul(r, z), e.polynomial(z, kSin), r);
  Value cos = e.fma(z, e.fma(z, e.polynomial(z, kCos), e.c(-0.5)), e.c(1));
  return {sin, cos};
}

static SinCos sincosOf(F64 &e, Value x) {
  Angle angle = reduce(e, x);
  SinCos rest = sincosOfRest(e, angle.rest);
  Value odd = e.any(angle.quadrant, 1);
  Value sin = e.select(odd, rest.cos, rest.sin);
  Value cos = e.select(odd, rest.sin, rest.cos);
  sin = e.select(e.any(angle.quadrant, 2), e.neg(sin), sin);
  cos = e.select(e.any(e.iadd(angle.quadrant, e.i(1)), 2), e.neg(cos), cos);
  return {e.select(e.eq(x, e.c(0)), x, sin), cos};
}

Value f64::sin(F64 &e, Value x) { return sincosOf(e, x).sin; }
Value f64::cos(F64 &e, Value x) { return sincosOf(e, x).cos; }
std::pair<Value, Value> f64::sincos(F64 &e, Value x) {
  SinCos both = sincosOf(e, x);
  return {both.sin, both.cos};
}

Value f64::tan(F64 &e, Value x) {
  Angle angle = reduce(e, x);
  SinCos rest = sincosOfRest(e, angle.rest);
  Value odd = e.any(angle.quadrant, 1);
  Value y = e.div(e.select(odd, e.neg(rest.cos), rest.sin),
                  e.select(odd, rest.sin, rest.cos));
  return e.select(e.eq(x, e.c(0)), x, y);
}

/// x + x^3 P(x^2) for |x| <= 1/2.
static Value asinOfSmall(F64 &e, Value x, Value square) {
  return e.fma(e.mul(x, square), e.polynomial(square, kAsin), x);
}

namespace {
/// asin(|x|) is `part` for small |x|, else pi / 2 - 2 part.
struct ArcSine {
  Value part, isLarge;
};
} // namespace

static ArcSine arcSine(F64 &e, Value x) {
  Value a = e.abs(x);
  Value isLarge = e.gt(a, e.c(0.5));
  Value square =
      e.select(isLarge, e.mul(e.sub(e.c(1), a), e.c(0.5)), e.mul(a, a));
  // Of |x| > 1 the root is NaN.
  Value s = e.select(isLarge, e.sqrt(square), a);
  return {asinOfSmall(e, s, square), isLarge};
}

Value f64::asin(F64 &e, Value x) {
  ArcSine s = arcSine(e, x);
  Value twice = e.add(s.part, s.part);
  Value large = e.add(e.sub(e.c(kHalfPi), twice), e.c(kHalfPiTail));
  return e.copySign(e.select(s.isLarge, large, s.part), x);
}

Value f64::acos(F64 &e, Value x) {
  ArcSine s = arcSine(e, x);
  Value twice = e.add(s.part, s.part);
  Value negative = e.isNegative(x);
  Value other = e.sub(e.c(2 * kHalfPi), e.sub(twice, e.c(2 * kHalfPiTail)));
  Value large = e.select(negative, other, twice);
  Value part = e.select(negative, e.neg(s.part), s.part);
  Value small = e.sub(e.c(kHalfPi), e.sub(part, e.c(kHalfPiTail)));
  return e.select(s.isLarge, large, small);
}

/// atan(t) for t in [0, 1].
static Value atanToOne(F64 &e, Value t) {
  Value isLarge = e.gt(t, e.c(0.41421356237309503)); // tan(pi / 8)
  Value u = e.select(isLarge, e.div(e.sub(t, e.c(1)), e.add(t, e.c(1))), t);
  Value z = e.mul(u, u);
  Value part = e.fma(e.mul(u, z), e.polynomial(z, kAtan), u);
  Value large = e.add(e.c(kHalfPi / 2), e.add(part, e.c(kHalfPiTail / 2)));
  return e.select(isLarge, large, part);
}

/// pi / 2 - y
static Value complement(F64 &e, Value y) {
  return e.sub(e.c(kHalfPi), e.sub(y, e.c(kHalfPiTail)));
}

Value f64::atan(F64 &e, Value x) {
  Value a = e.abs(x);
  Value isLarge = e.gt(a, e.c(1));
  Value y = atanToOne(e, e.select(isLarge, e.div(e.c(1), a), a));
  return e.copySign(e.select(isLarge, complement(e, y), y), x);
}

Value f64::atan2(F64 &e, Value y, Value x) {
  Value a = e.abs(y), b = e.abs(x);
  Value steep = e.gt(a, b);
  Value t = e.div(e.select(steep, b, a), e.select(steep, a, b));
  // 0 / 0 counts as 0, infinity / infinity as 1.
  t = e.select(e.eq(a, b), e.c(1), t);
  t = e.select(e.eq(a, e.c(0)), e.c(0), t);
  Value angle = atanToOne(e, t);
  angle = e.select(steep, complement(e, angle), angle);
  Value mirrored = e.sub(e.c(2 * kHalfPi), e.sub(angle, e.c(2 * kHalfPiTail)));
  angle = e.select(e.isNegative(x), mirrored, angle);
  angle = e.copySign(angle, y);
  return e.select(e.unordered(x, y), e.c(F64::nan), angle);
}
