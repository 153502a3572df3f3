//===- Values.cpp - seeded values of arguments ----------------------------===//

#include "Values.h"

#include <algorithm>
#include <cmath>
#include <thread>

namespace heddle::bench {

/// The finalizer of SplitMix64 (Steele, Lea, Flood 2014).
static uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

/// Two normal values by Box and Muller from one counter.
static void normalPair(uint64_t key, uint64_t counter, float (&out)[2]) {
  uint64_t bits = mix(key ^ mix(counter));
  float u = (static_cast<float>(bits >> 40) + 0.5f) * 0x1p-24f;
  float v = static_cast<float>((bits >> 8) & 0xffffff) * 0x1p-24f;
  float radius = std::sqrt(-2.0f * std::log(u));
  float angle = 6.2831853f * v;
  out[0] = radius * std::cos(angle);
  out[1] = radius * std::sin(angle);
}

static bool endsWith(const std::string &text, const std::string &suffix) {
  return text.size() >= suffix.size() &&
         text.compare(text.size() - suffix.size(), suffix.size(), suffix) == 0;
}

HostTensor makeValues(const NamedTensorType &argument, uint64_t seed,
                      uint64_t position, int threads) {
  HostTensor tensor(argument.type);
  float offset = 0.0f, factor = 1.0f;
  if (endsWith(argument.name, ".kernel"))
    factor = 1.0f / std::sqrt(static_cast<float>(argument.type.shape.front()));
  else if (endsWith(argument.name, ".bias"))
    factor = 0.02f;
  else if (endsWith(argument.name, ".scale")) {
    offset = 1.0f;
    factor = 0.02f;
  }

  uint64_t key = mix(seed * 0x100000001b3ull + position);
  int64_t total = tensor.type.numElements();
  auto fill = [&](int64_t begin, int64_t end) {
    float pair[2];
    for (int64_t i = begin; i < end; i += 2) {
      normalPair(key, static_cast<uint64_t>(i), pair);
      for (int64_t j = i; j < std::min(i + 2, end); ++j)
        storeElement(tensor.bytes.data(), tensor.type.dtype, j,
                     offset + factor * pair[j - i]);
    }
  };
  int64_t chunk = (total / std::max(threads, 1) + 2) & ~int64_t(1);
  std::vector<std::thread> workers;
  for (int64_t begin = chunk; begin < total; begin += chunk)
    workers.emplace_back(fill, begin, std::min(begin + chunk, total));
  fill(0, std::min(chunk, total));
  for (std::thread &worker : workers)
    worker.join();
  return tensor;
}

} // namespace heddle::bench
