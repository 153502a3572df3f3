//===- Random.cpp - seeded values for host tensors ------------------------===//
//
// Compiled with -ffp-contract=off: a fused multiply-add would round elsewhere
// and change values between machines. Only + - * / and sqrt are used, which
// IEEE 754 defines to the bit.
//
//===----------------------------------------------------------------------===//

#include "heddle/Runtime/Random.h"

#include "heddle/Runtime/CpuDevice.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <system_error>
#include <thread>

namespace heddle {

uint64_t randomBits(uint64_t seed, uint64_t index) {
  // The seed is mixed first, so that neighbouring seeds share no sequence.
  auto mix = [](uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  };
  const uint64_t golden = 0x9e3779b97f4a7c15ull;
  return mix(mix(seed + golden) + (index + 1) * golden);
}

/// In [0, 1), a multiple of 2^-53.
static double toUnit(uint64_t bits) {
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

/// The natural logarithm of x in (0, 1], from ln((1+s)/(1-s)) =
/// 2(s + s^3/3 + s^5/5 + ...) after scaling to [sqrt(1/2), sqrt(2)), where s^2
/// stays below 0.0295; relative error about 1e-16.
static double naturalLog(double x) {
  uint64_t bits;
  std::memcpy(&bits, &x, 8);
  int exponent = static_cast<int>(bits >> 52) - 1023;
  bits = (bits & 0x000fffffffffffffull) | 0x3ff0000000000000ull;
  double m;
  std::memcpy(&m, &bits, 8);
  if (m > 1.4142135623730951) {
    m *= 0.5;
    ++exponent;
  }
  double s = (m - 1.0) / (m + 1.0);
  double z = s * s;
  double sum = 1.0 / 21.0;
  for (int k = 19; k >= 1; k -= 2)
    sum = sum * z + 1.0 / k;
  return 2.0 * s * sum + exponent * 0.69314718055994531;
}

/// Sine and cosine of 2 pi t for t in [0, 1): Taylor series on [-pi/4, pi/4]
/// and a turn by quarters.
static void sinCosTurn(double t, double &sine, double &cosine) {
  double quarters = t * 4.0;
  int64_t k = static_cast<int64_t>(std::floor(quarters + 0.5));
  double x = (quarters - static_cast<double>(k)) * 1.5707963267948966;
  double z = x * x;
  double s = 1.0, c = 1.0;
  for (int i = 16; i >= 2; i -= 2)
    s = 1.0 - s * z * (1.0 / (i * (i + 1)));
  for (int i = 17; i >= 1; i -= 2)
    c = 1.0 - c * z * (1.0 / (i * (i + 1)));
  s *= x;
  switch (k & 3) {
  case 0:
    sine = s, cosine = c;
    break;
  case 1:
    sine = c, cosine = -s;
    break;
  case 2:
    sine = -s, cosine = -c;
    break;
  default:
    sine = -c, cosine = s;
    break;
  }
}

/// Two independent standard normal values, the elements 2 pair and 2 pair + 1.
static void normalPair(uint64_t seed, uint64_t pair, double out[2]) {
  // 1 - u lies in (0, 1].
  double u = 1.0 - toUnit(randomBits(seed, 2 * pair));
  double radius = std::sqrt(-2.0 * naturalLog(u));
  double sine, cosine;
  sinCosTurn(toUnit(randomBits(seed, 2 * pair + 1)), sine, cosine);
  out[0] = radius * cosine;
  out[1] = radius * sine;
}

static uint16_t bfloatBits(float f) {
  uint32_t bits;
  std::memcpy(&bits, &f, 4);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/// Normal half values by arithmetic on the bits, the rest by the slow way.
static uint16_t halfBits(float f) {
  uint32_t bits;
  std::memcpy(&bits, &f, 4);
  uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude < 0x38800000 || magnitude >= 0x477fe000) {
    uint16_t half;
    storeElement(&half, DType::F16, 0, f);
    return half;
  }
  uint32_t rounded = magnitude - 0x38000000 + 0xfff + (magnitude >> 13 & 1);
  return static_cast<uint16_t>(bits >> 16 & 0x8000) |
         static_cast<uint16_t>(rounded >> 13);
}

static void storeFloat(void *data, DType type, int64_t i, double value) {
  float f = static_cast<float>(value);
  switch (type) {
  case DType::F32:
    static_cast<float *>(data)[i] = f;
    break;
  case DType::BF16:
    static_cast<uint16_t *>(data)[i] = bfloatBits(f);
    break;
  case DType::F16:
    static_cast<uint16_t *>(data)[i] = halfBits(f);
    break;
  default:
    static_cast<double *>(data)[i] = value;
    break;
  }
}

/// Elements from `begin` (even) to `end`.
static void fillRange(void *data, DType type, int64_t begin, int64_t end,
                      const RandomFill &fill) {
  switch (type) {
  case DType::I1:
    for (int64_t i = begin; i < end; ++i)
      static_cast<uint8_t *>(data)[i] = randomBits(fill.seed, i) >> 63;
    return;
  case DType::I8:
  case DType::I16:
  case DType::I32:
  case DType::I64: {
    uint64_t low = static_cast<uint64_t>(fill.integerLow);
    uint64_t span = fill.integerHigh > fill.integerLow
                        ? static_cast<uint64_t>(fill.integerHigh) - low
                        : 1;
    int64_t width = byteWidth(type);
    for (int64_t i = begin; i < end; ++i) {
      // The upper half of a 128-bit product is uniform without a division.
      uint64_t value =
          low +
          static_cast<uint64_t>(
              static_cast<unsigned __int128>(randomBits(fill.seed, i)) * span >>
              64);
      std::memcpy(static_cast<uint8_t *>(data) + i * width, &value, width);
    }
    return;
  }
  default:
    break;
  }
  if (fill.distribution == RandomFill::Distribution::Uniform) {
    double span = fill.b - fill.a;
    for (int64_t i = begin; i < end; ++i)
      storeFloat(data, type, i,
                 fill.a + span * toUnit(randomBits(fill.seed, i)));
    return;
  }
  for (int64_t i = begin; i < end; i += 2) {
    double pair[2];
    normalPair(fill.seed, static_cast<uint64_t>(i) / 2, pair);
    storeFloat(data, type, i, fill.a + fill.b * pair[0]);
    if (i + 1 < end)
      storeFloat(data, type, i + 1, fill.a + fill.b * pair[1]);
  }
}

void fillRandom(void *data, DType type, int64_t n, const RandomFill &fill) {
  int64_t threads = fill.threads > 0 ? fill.threads : cpuThreads();
  threads = std::max<int64_t>(1, std::min(threads, n >> 16));
  std::vector<std::thread> workers;
  // Even bounds keep the pairs whole.
  auto bound = [&](int64_t t) {
    return t == threads ? n : n / threads * t / 2 * 2;
  };
  for (int64_t t = 1; t < threads; ++t) {
    auto part = [&, t] { fillRange(data, type, bound(t), bound(t + 1), fill); };
    try {
      workers.emplace_back(part);
    } catch (const std::system_error &) {
      part(); // no more threads: slower, with the same values
    }
  }
  fillRange(data, type, 0, bound(1), fill);
  for (std::thread &w : workers)
    w.join();
}

void fillRandom(HostTensor &tensor, const RandomFill &fill) {
  fillRandom(tensor.bytes.data(), tensor.type.dtype, tensor.type.numElements(),
             fill);
}

} // namespace heddle
