//===- Rounding.h - round a double to a narrower format ---------*- C++ -*-===//
//
// Round to nearest even, straight from f64 (never twice through f32), with
// gradual underflow and overflow to infinity.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_REFERENCE_ROUNDING_H
#define HEDDLE_RUNTIME_REFERENCE_ROUNDING_H

#include <cmath>
#include <cstdint>
#include <cstring>

namespace heddle::reference {

/// Formats that values are rounded to; TF32 has the range of f32 and 10
/// mantissa bits.
enum class Rounding : uint8_t { None, F32, TF32, BF16, F16 };

/// Rounds to `Mantissa` stored bits; the smallest normal number is
/// 2^`MinExponent` and the largest exponent is `MaxExponent`.
template <int Mantissa, int MinExponent, int MaxExponent>
inline double roundToFormat(double value) {
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
  // Adding just under half a unit, plus the last kept bit, rounds to even; a
  // carry runs into the exponent, which is what is wanted.
  bits += (uint64_t(1) << (drop - 1)) - 1 + ((bits >> drop) & 1);
  bits &= ~((uint64_t(1) << drop) - 1);
  double rounded;
  std::memcpy(&rounded, &bits, sizeof(bits));
  if (std::fabs(rounded) >= std::ldexp(1.0, MaxExponent + 1))
    return std::copysign(HUGE_VAL, value);
  return rounded;
}

inline double roundTo(Rounding format, double value) {
  switch (format) {
  case Rounding::None:
    return value;
  case Rounding::F32:
    return static_cast<double>(static_cast<float>(value));
  case Rounding::TF32:
    return roundToFormat<10, -126, 127>(value);
  case Rounding::BF16:
    return roundToFormat<7, -126, 127>(value);
  case Rounding::F16:
    return roundToFormat<10, -14, 15>(value);
  }
  return value;
}

} // namespace heddle::reference

#endif // HEDDLE_RUNTIME_REFERENCE_ROUNDING_H
