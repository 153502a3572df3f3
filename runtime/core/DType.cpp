//===- DType.cpp - conversions between element types and double -----------===//

#include "heddle/Runtime/DType.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace heddle {

/// Rounds a double to a binary float of `mantissa` stored bits whose exponent
/// field has `exponent` bits, to nearest even, and returns its encoding.
static uint64_t encodeSmallFloat(double value, int exponentBits,
                                 int mantissaBits) {
  const int bias = (1 << (exponentBits - 1)) - 1;
  const uint64_t sign = std::signbit(value) ? 1 : 0;
  const uint64_t maxExponent = (1ull << exponentBits) - 1;
  const uint64_t signField = sign << (exponentBits + mantissaBits);
  if (std::isnan(value))
    return signField | (maxExponent << mantissaBits) |
           (1ull << (mantissaBits - 1));
  double magnitude = std::fabs(value);
  if (std::isinf(magnitude))
    return signField | (maxExponent << mantissaBits);
  if (magnitude == 0.0)
    return signField;
  int exponent;
  std::frexp(magnitude, &exponent); // magnitude in [2^(e-1), 2^e)
  int unbiased = exponent - 1;
  if (unbiased < 1 - bias)
    unbiased = 1 - bias; // subnormal: fixed quantum
  // nearbyint rounds half to even in the default rounding mode.
  double scaled =
      std::nearbyint(std::ldexp(magnitude, mantissaBits - unbiased));
  if (scaled >= std::ldexp(1.0, mantissaBits + 1)) {
    scaled *= 0.5;
    ++unbiased;
  }
  uint64_t mantissa = static_cast<uint64_t>(scaled);
  uint64_t biased = static_cast<uint64_t>(int64_t(unbiased) + bias);
  if (mantissa < (1ull << mantissaBits))
    biased = 0; // subnormal
  if (biased >= maxExponent)
    return signField | (maxExponent << mantissaBits);
  return signField | (biased << mantissaBits) |
         (mantissa & ((1ull << mantissaBits) - 1));
}

static double decodeSmallFloat(uint64_t bits, int exponentBits,
                               int mantissaBits) {
  const int bias = (1 << (exponentBits - 1)) - 1;
  const uint64_t maxExponent = (1ull << exponentBits) - 1;
  uint64_t mantissa = bits & ((1ull << mantissaBits) - 1);
  uint64_t exponent = (bits >> mantissaBits) & maxExponent;
  double sign = (bits >> (exponentBits + mantissaBits)) & 1 ? -1.0 : 1.0;
  if (exponent == maxExponent)
    return mantissa ? std::numeric_limits<double>::quiet_NaN()
                    : sign * std::numeric_limits<double>::infinity();
  if (exponent == 0)
    return sign *
           std::ldexp(static_cast<double>(mantissa), 1 - bias - mantissaBits);
  return sign *
         std::ldexp(static_cast<double>(mantissa | (1ull << mantissaBits)),
                    static_cast<int>(exponent) - bias - mantissaBits);
}

template <typename T>
static T readAt(const void *data, int64_t i) {
  T value;
  std::memcpy(&value, static_cast<const char *>(data) + i * sizeof(T),
              sizeof(T));
  return value;
}

template <typename T>
static void writeAt(void *data, int64_t i, T value) {
  std::memcpy(static_cast<char *>(data) + i * sizeof(T), &value, sizeof(T));
}

double loadElement(const void *data, DType type, int64_t i) {
  switch (type) {
  case DType::F32:
    return readAt<float>(data, i);
  case DType::F64:
    return readAt<double>(data, i);
  case DType::F16:
    return decodeSmallFloat(readAt<uint16_t>(data, i), 5, 10);
  case DType::BF16:
    return decodeSmallFloat(readAt<uint16_t>(data, i), 8, 7);
  case DType::I1:
    return readAt<uint8_t>(data, i) != 0;
  case DType::I8:
    return readAt<int8_t>(data, i);
  case DType::I16:
    return readAt<int16_t>(data, i);
  case DType::I32:
    return readAt<int32_t>(data, i);
  case DType::I64:
    return static_cast<double>(readAt<int64_t>(data, i));
  }
  return 0;
}

void storeElement(void *data, DType type, int64_t i, double value) {
  switch (type) {
  case DType::F32:
    return writeAt<float>(data, i, static_cast<float>(value));
  case DType::F64:
    return writeAt<double>(data, i, value);
  case DType::F16:
    return writeAt<uint16_t>(
        data, i, static_cast<uint16_t>(encodeSmallFloat(value, 5, 10)));
  case DType::BF16:
    return writeAt<uint16_t>(
        data, i, static_cast<uint16_t>(encodeSmallFloat(value, 8, 7)));
  case DType::I1:
    return writeAt<uint8_t>(data, i, value != 0);
  case DType::I8:
    return writeAt<int8_t>(data, i, static_cast<int8_t>(value));
  case DType::I16:
    return writeAt<int16_t>(data, i, static_cast<int16_t>(value));
  case DType::I32:
    return writeAt<int32_t>(data, i, static_cast<int32_t>(value));
  case DType::I64:
    return writeAt<int64_t>(data, i, static_cast<int64_t>(value));
  }
}

int64_t loadInteger(const void *data, DType type, int64_t i) {
  return type == DType::I64 ? readAt<int64_t>(data, i)
                            : static_cast<int64_t>(loadElement(data, type, i));
}

void storeInteger(void *data, DType type, int64_t i, int64_t value) {
  switch (type) {
  case DType::I8:
    return writeAt<int8_t>(data, i, static_cast<int8_t>(value));
  case DType::I16:
    return writeAt<int16_t>(data, i, static_cast<int16_t>(value));
  case DType::I32:
    return writeAt<int32_t>(data, i, static_cast<int32_t>(value));
  case DType::I64:
    return writeAt<int64_t>(data, i, value);
  default:
    return storeElement(data, type, i, static_cast<double>(value));
  }
}

} // namespace heddle
