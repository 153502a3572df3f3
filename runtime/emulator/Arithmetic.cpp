//===- Arithmetic.cpp - approximate functions and conversions -------------===//
//
// Results are those of the correctly rounded function, within the bounds that
// the PTX ISA states for the approximate instructions; subnormal inputs and
// results are flushed where the instruction does. tanh.approx keeps only 2^-11
// of relative accuracy on hardware, so its result is rounded to 11 bits: what
// depends on more shows here too.
//
//===----------------------------------------------------------------------===//

#include "Functions.h"
#include "Machine.h"
#include "Numbers.h"

using namespace heddle::emulator;

void Machine::addBlockRuns() {
  for (size_t i = 0; i < blockRuns.size(); ++i) {
    auto held = [&](BlockCount kind) {
      return blockRuns[i] * plan.table->blocks[i][static_cast<size_t>(kind)];
    };
    counters.f32FmaOps += held(BlockCount::F32Fma);
    counters.f32AddMulOps += held(BlockCount::F32AddMul);
    counters.f32OtherOps += held(BlockCount::F32Other);
    counters.f32Flops +=
        2 * held(BlockCount::F32Fma) + held(BlockCount::F32AddMul);
    counters.f64Ops += held(BlockCount::F64);
    counters.f16Ops += held(BlockCount::F16);
    counters.integerOps += held(BlockCount::Integer);
    counters.conversionOps += held(BlockCount::Conversion);
    counters.controlOps += held(BlockCount::Control);
    blockRuns[i] = 0;
  }
}

static void countSpecial(Thread *t) {
  ++t->machine->counters.specialFunctionOps;
}

/// Nearest value with `bits` bits of significand.
static float roundTo(double v, int bits) {
  int exponent;
  double fraction = std::frexp(v, &exponent);
  return static_cast<float>(
      std::ldexp(std::nearbyint(std::ldexp(fraction, bits)), exponent - bits));
}

template <typename Convert>
static uint32_t pack(Thread *t, float high, float low, uint32_t flags,
                     uint32_t maxFinite, Convert convert) {
  ++t->machine->counters.conversionOps;
  bool towardZero = (flags & 255) == static_cast<uint32_t>(Rounding::Zero);
  bool relu = flags & 256, saturate = flags & 512;
  auto one = [&](float f) {
    if (relu && f < 0)
      f = 0.0f;
    uint32_t bits = convert(f, towardZero);
    // The only value above the largest finite one that is not NaN.
    if (saturate && (bits & 0x7fff) == maxFinite + 1)
      bits = (bits & 0x8000) | maxFinite;
    return bits;
  };
  return one(high) << 16 | one(low);
}

extern "C" {
void heddle_emu_count(Thread *t, uint32_t block) {
  ++t->machine->blockRuns[block];
}

float heddle_emu_ex2_approx_ftz_f32(Thread *t, float x) {
  countSpecial(t);
  return flushed(
      static_cast<float>(std::exp2(static_cast<double>(flushed(x)))));
}

float heddle_emu_lg2_approx_ftz_f32(Thread *t, float x) {
  countSpecial(t);
  x = flushed(x);
  if (x == 0)
    return -INFINITY;
  return flushed(static_cast<float>(std::log2(static_cast<double>(x))));
}

float heddle_emu_rcp_approx_ftz_f32(Thread *t, float x) {
  countSpecial(t);
  x = flushed(x);
  return flushed(1.0f / x);
}

float heddle_emu_rsqrt_approx_ftz_f32(Thread *t, float x) {
  countSpecial(t);
  x = flushed(x);
  if (x == 0)
    return 1.0f / x;
  return static_cast<float>(1.0 / std::sqrt(static_cast<double>(x)));
}

float heddle_emu_tanh_approx_f32(Thread *t, float x) {
  countSpecial(t);
  if (x == 0 || x != x)
    return x;
  return roundTo(std::tanh(static_cast<double>(x)), 11);
}

uint32_t heddle_emu_cvt_bf16x2_f32(Thread *t, float high, float low,
                                   uint32_t flags) {
  return pack(t, high, low, flags, 0x7f7f, floatToBf16);
}

uint32_t heddle_emu_cvt_f16x2_f32(Thread *t, float high, float low,
                                  uint32_t flags) {
  return pack(t, high, low, flags, 0x7bff, floatToF16);
}

uint32_t heddle_emu_cvt_tf32_f32(Thread *t, float x, uint32_t flags) {
  ++t->machine->counters.conversionOps;
  if ((flags & 256) && x < 0)
    x = 0.0f;
  uint32_t bits = asBits(x);
  if (x != x)
    return 0x7fffffff;
  if ((bits & 0x7fffffff) == 0x7f800000)
    return bits;
  switch (static_cast<Rounding>(flags & 255)) {
  case Rounding::Nearest:
    bits += 0xfff + (bits >> 13 & 1);
    break;
  case Rounding::NearestAway:
    bits += 0x1000;
    break;
  case Rounding::Zero:
    break;
  }
  bits &= 0xffffe000;
  if ((flags & 512) && (bits & 0x7fffffff) == 0x7f800000)
    bits = (bits & 0x80000000) | 0x7f7fe000;
  return bits;
}

/// PTX ISA, "prmt"; modes as numbered by nvvm's permute_mode.
uint32_t heddle_emu_prmt(Thread *, uint32_t mode, uint32_t selector,
                         uint32_t low, uint32_t high) {
  uint64_t bytes = static_cast<uint64_t>(high) << 32 | low;
  auto byte = [&](uint32_t i) {
    return static_cast<uint32_t>(bytes >> (i & 7) * 8 & 0xff);
  };
  uint32_t result = 0, s = selector & 3;
  for (uint32_t i = 0; i < 4; ++i) {
    uint32_t b = 0;
    switch (mode) {
    case 0: {
      uint32_t nibble = selector >> 4 * i & 15;
      b = byte(nibble & 7);
      if (nibble & 8) // replicate the sign
        b = b & 0x80 ? 0xff : 0;
      break;
    }
    case 1:
      b = byte(s + i);
      break; // forward 4 extract
    case 2:
      b = byte(s - i);
      break; // backward 4 extract
    case 3:
      b = byte(s);
      break; // replicate 8
    case 4:
      b = byte(i > s ? i : s);
      break; // edge clamp left
    case 5:
      b = byte(i < s ? i : s);
      break; // edge clamp right
    case 6:
      b = byte((s & 1) * 2 + (i & 1));
      break; // replicate 16
    default:
      break;
    }
    result |= b << 8 * i;
  }
  return result;
}
}
