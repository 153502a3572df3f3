//===- ExternalSymbols.cpp - what kernels may call ------------------------===//
//
// A fixed table: memory and math functions of the C library, and the
// conversions of 16-bit floats that LLVM calls where the CPU has no instruction
// for them. No allocation, no I/O.
//
//===----------------------------------------------------------------------===//

#include "ObjectCode.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace heddle {

// The 16-bit values travel in the low bits of an SSE register, as the x86-64
// calling convention asks; a float parameter is the same register.

static float lowBits(uint16_t bits) {
  uint32_t word = bits;
  float f;
  std::memcpy(&f, &word, 4);
  return f;
}

static float convertToHalf(double value) {
  uint16_t bits;
  storeElement(&bits, DType::F16, 0, value);
  return lowBits(bits);
}
static float convertToBfloat(double value) {
  uint16_t bits;
  storeElement(&bits, DType::BF16, 0, value);
  return lowBits(bits);
}

static float truncateFloatToHalf(float v) { return convertToHalf(v); }
static float truncateDoubleToHalf(double v) { return convertToHalf(v); }
static float truncateFloatToBfloat(float v) { return convertToBfloat(v); }
static float truncateDoubleToBfloat(double v) { return convertToBfloat(v); }
static float extendHalfToFloat(float v) {
  uint16_t bits;
  std::memcpy(&bits, &v, 2);
  return static_cast<float>(loadElement(&bits, DType::F16, 0));
}

namespace {
struct Entry {
  const char *name;
  void *address;
};
} // namespace

#define HEDDLE_FUNCTION(name)                                                  \
  { #name, reinterpret_cast < void *>(&::name) }
#define HEDDLE_UNARY(name)                                                     \
  {#name, reinterpret_cast<void *>(static_cast<double (*)(double)>(&::name))}, \
  {                                                                            \
#name "f", reinterpret_cast < void *>(&::name##f)                          \
  }
#define HEDDLE_BINARY(name)                                                    \
  {#name, reinterpret_cast<void *>(                                            \
              static_cast<double (*)(double, double)>(&::name))},              \
  {                                                                            \
#name "f", reinterpret_cast < void *>(&::name##f)                          \
  }

static const Entry kEntries[] = {
    {"memcpy", reinterpret_cast<void *>(&std::memcpy)},
    {"memmove", reinterpret_cast<void *>(&std::memmove)},
    {"memset", reinterpret_cast<void *>(&std::memset)},
    {"memcmp", reinterpret_cast<void *>(&std::memcmp)},
    HEDDLE_UNARY(exp),
    HEDDLE_UNARY(exp2),
    HEDDLE_UNARY(expm1),
    HEDDLE_UNARY(log),
    HEDDLE_UNARY(log2),
    HEDDLE_UNARY(log10),
    HEDDLE_UNARY(log1p),
    HEDDLE_UNARY(sin),
    HEDDLE_UNARY(cos),
    HEDDLE_UNARY(tan),
    HEDDLE_UNARY(asin),
    HEDDLE_UNARY(acos),
    HEDDLE_UNARY(atan),
    HEDDLE_UNARY(sinh),
    HEDDLE_UNARY(cosh),
    HEDDLE_UNARY(tanh),
    HEDDLE_UNARY(asinh),
    HEDDLE_UNARY(acosh),
    HEDDLE_UNARY(atanh),
    HEDDLE_UNARY(erf),
    HEDDLE_UNARY(erfc),
    HEDDLE_UNARY(sqrt),
    HEDDLE_UNARY(cbrt),
    HEDDLE_UNARY(fabs),
    HEDDLE_UNARY(floor),
    HEDDLE_UNARY(ceil),
    HEDDLE_UNARY(trunc),
    HEDDLE_UNARY(round),
    HEDDLE_UNARY(rint),
    HEDDLE_UNARY(nearbyint),
#ifdef __USE_GNU
    HEDDLE_UNARY(roundeven),
    HEDDLE_FUNCTION(sincos),
    HEDDLE_FUNCTION(sincosf),
#endif
    HEDDLE_BINARY(pow),
    HEDDLE_BINARY(fmod),
    HEDDLE_BINARY(atan2),
    HEDDLE_BINARY(hypot),
    HEDDLE_BINARY(fmin),
    HEDDLE_BINARY(fmax),
    HEDDLE_BINARY(copysign),
    HEDDLE_FUNCTION(fmaf),
    {"fma", reinterpret_cast<void *>(
                static_cast<double (*)(double, double, double)>(&::fma))},
    HEDDLE_FUNCTION(ldexpf),
    {"ldexp",
     reinterpret_cast<void *>(static_cast<double (*)(double, int)>(&::ldexp))},
    {"__truncsfhf2", reinterpret_cast<void *>(&truncateFloatToHalf)},
    {"__truncdfhf2", reinterpret_cast<void *>(&truncateDoubleToHalf)},
    {"__truncsfbf2", reinterpret_cast<void *>(&truncateFloatToBfloat)},
    {"__truncdfbf2", reinterpret_cast<void *>(&truncateDoubleToBfloat)},
    {"__extendhfsf2", reinterpret_cast<void *>(&extendHalfToFloat)},
};

void *lookupExternalSymbol(const std::string &name) {
  for (const Entry &e : kEntries)
    if (name == e.name)
      return e.address;
  return nullptr;
}

} // namespace heddle
