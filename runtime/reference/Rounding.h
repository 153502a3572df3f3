//===- Rounding.h - round a double to a narrower format ---------*- C++ -*-===//
//
// Round to nearest even, straight from f64 (never twice through f32), with
// gradual underflow and overflow to infinity. Or, to learn how large errors of
// rounding are, stochastically: up or down with the probability that makes the
// expected result the value (Forsythe, 1959), which has twice the variance of
// rounding to nearest.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_REFERENCE_ROUNDING_H
#define HEDDLE_RUNTIME_REFERENCE_ROUNDING_H

#include <cmath>
#include <cstdint>
#include <cstring>

namespace heddle::reference {

/// How values are rounded.
struct Rounding {
  /// TF32 has the range of f32 and 10 mantissa bits.
  enum Format : uint8_t { None, F32, TF32, BF16, F16 };
  Format format = None;
  /// 0: to nearest even; else stochastically, each number another draw. Equal
  /// values are rounded alike.
  uint32_t draw = 0;

  Rounding(Format format = None, uint32_t draw = 0)
      : format(format), draw(draw) {}
  bool isNone() const { return format == None; }
};

/// A mixed up word of `bits` and `draw` (the finaliser of SplitMix64: Steele,
/// Lea, Flood, 2014).
inline uint64_t drawBits(uint64_t bits, uint32_t draw) {
  uint64_t word = bits + draw * 0x9e3779b97f4a7c15u;
  word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9u;
  word = (word ^ (word >> 27)) * 0x94d049bb133111ebu;
  return word ^ (word >> 31);
}

/// Rounds to `Mantissa` stored bits; the smallest normal number is
/// 2^`MinExponent` and the largest exponent is `MaxExponent`. Numbers below the
/// normal ones are always rounded to nearest.
template <int Mantissa, int MinExponent, int MaxExponent>
inline double roundToFormat(double value, uint32_t draw = 0) {
  double magnitude = std::fabs(value);
  if (!(magnitude < HUGE_VAL)) // NaN or infinity
    return value;
  // Below the smallest normal number the quantum is fixed.
  if (magnitude < std::ldexp(1.0, MinExponent)) {
    double scaled = std::nearbyint(std::ldexp(value, Mantissa - MinExponent));
    return std::copysign(std::ldexp(scaled, MinExponent - Mantissa), value);
  }
  uint64_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  constexpr int drop = 52 - Mantissa;
  constexpr uint64_t dropped = (uint64_t(1) << drop) - 1;
  // Adding just under half a unit, plus the last kept bit, rounds to even; a
  // carry runs into the exponent, which is what is wanted. Adding any part of a
  // unit rounds up as often as what is dropped is large.
  bits += draw ? drawBits(bits, draw) & dropped
               : (dropped >> 1) + ((bits >> drop) & 1);
  bits &= ~dropped;
  double rounded;
  std::memcpy(&rounded, &bits, sizeof(bits));
  if (std::fabs(rounded) >= std::ldexp(1.0, MaxExponent + 1))
    return std::copysign(HUGE_VAL, value);
  return rounded;
}

inline double roundTo(Rounding rounding, double value) {
  switch (rounding.format) {
  case Rounding::None:
    return value;
  case Rounding::F32:
    return static_cast<double>(static_cast<float>(value));
  case Rounding::TF32:
    return roundToFormat<10, -126, 127>(value, rounding.draw);
  case Rounding::BF16:
    return roundToFormat<7, -126, 127>(value, rounding.draw);
  case Rounding::F16:
    return roundToFormat<10, -14, 15>(value, rounding.draw);
  }
  return value;
}

} // namespace heddle::reference

#endif // HEDDLE_RUNTIME_REFERENCE_ROUNDING_H
