//===- Numbers.h - 16-bit floats and tf32 in f32 ----------------*- C++ -*-===//

#ifndef HEDDLE_RUNTIME_EMULATOR_NUMBERS_H
#define HEDDLE_RUNTIME_EMULATOR_NUMBERS_H

#include <cmath>
#include <cstdint>
#include <cstring>

namespace heddle::emulator {

inline float asFloat(uint32_t bits) {
  float f;
  std::memcpy(&f, &bits, 4);
  return f;
}
inline uint32_t asBits(float f) {
  uint32_t bits;
  std::memcpy(&bits, &f, 4);
  return bits;
}

inline float bf16ToFloat(uint32_t bits) { return asFloat(bits << 16); }

/// Exact. The multiplication moves the exponent and normalises subnormals.
inline float f16ToFloat(uint32_t bits) {
  uint32_t magnitude = (bits & 0x7fff) << 13;
  float f = asFloat(magnitude) * 0x1p112f;
  if (magnitude >= 0x0f800000) // infinity and NaN
    f = asFloat(magnitude | 0x7f800000);
  return asFloat(asBits(f) | (bits & 0x8000) << 16);
}

/// Operands of tf32 products: the hardware ignores the low 13 bits.
inline float tf32ToFloat(uint32_t bits) { return asFloat(bits & 0xffffe000); }

/// Nearest even, or toward zero. NaN becomes the canonical 0x7fff.
inline uint32_t floatToBf16(float f, bool towardZero = false) {
  uint32_t bits = asBits(f);
  if (std::isnan(f))
    return 0x7fff;
  if (!towardZero)
    bits += 0x7fff + (bits >> 16 & 1);
  return bits >> 16;
}

inline uint32_t floatToF16(float f, bool towardZero = false) {
  uint32_t bits = asBits(f), sign = bits >> 16 & 0x8000;
  bits &= 0x7fffffff;
  if (bits > 0x7f800000)
    return 0x7fff;
  if (bits == 0x7f800000)
    return sign | 0x7c00;
  int32_t exponent = static_cast<int32_t>(bits >> 23) - 127;
  uint32_t mantissa = (bits & 0x7fffff) | 0x800000;
  // The significand has 11 bits from 2^-14 on, fewer below.
  int32_t drop = exponent >= -14 ? 13 : 13 + (-14 - exponent);
  if (drop > 25)
    return sign;
  uint32_t kept = mantissa >> drop, rest = mantissa & ((1u << drop) - 1);
  uint32_t half = 1u << (drop - 1);
  if (!towardZero && (rest > half || (rest == half && (kept & 1))))
    ++kept;
  // A carry out of the significand grows the exponent by itself.
  uint32_t result = exponent >= -14
                        ? (static_cast<uint32_t>(exponent + 14) << 10) + kept
                        : kept;
  if (result >= 0x7c00)
    return sign | (towardZero ? 0x7bffu : 0x7c00u);
  return sign | result;
}

/// Subnormal values become zeros of the same sign.
inline float flushed(float f) {
  uint32_t bits = asBits(f);
  return (bits & 0x7f800000) ? f : asFloat(bits & 0x80000000);
}

} // namespace heddle::emulator

#endif // HEDDLE_RUNTIME_EMULATOR_NUMBERS_H
