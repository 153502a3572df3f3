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

static bool startsWith(const std::string &text, const std::string &prefix) {
  return text.compare(0, prefix.size(), prefix) == 0;
}

namespace {
/// How one argument's values come from a normal one.
struct Rule {
  enum Kind {
    Normal,      // offset + factor * normal
    Ones,        // 1
    LogRow,      // log(1 + row)
    TimeStep,    // softplus^-1 of 1e-3 .. 0.1
    LogDecay,    // log(-log r), r in 0.5 .. 0.99
    LogPhase,    // log of 0 .. 6.28
    Column,      // -(1 + column)
    Uniform,     // offset + factor * (0 .. 1)
    SecondMoment // of Adam
  } kind = Normal;
  float offset = 0.0f, factor = 1.0f;
};
} // namespace

static Rule ruleFor(const NamedTensorType &argument) {
  const std::string &name = argument.name;
  const std::vector<int64_t> &shape = argument.type.shape;
  if (startsWith(name, "mu."))
    return {Rule::Normal, 0.0f,
            endsWith(name, ".attn.key.bias") ? 1e-3f : 1e-6f};
  if (startsWith(name, "nu."))
    return {Rule::SecondMoment};
  if (startsWith(name, "velocity."))
    return {Rule::Normal, 0.0f, 1e-3f};
  if (name == "count" || name == "seed")
    return {Rule::Normal, 10.0f, 0.0f};
  if (name == "t")
    return {Rule::Uniform};
  if (name == "delta")
    return {Rule::Normal, -3.0f, 0.5f};
  if (name == "a")
    return {Rule::Column};
  // As large as the states that a selective scan of these operands makes.
  if (name == "initial_state" && shape.size() == 3)
    return {Rule::Normal, 0.0f, 0.1f};
  if (name == "decay")
    return {Rule::Uniform, 0.5f, 0.499f};
  if (name == "decay_real" || name == "decay_imag")
    return {Rule::Uniform, -0.7f, 1.4f};
  // What ssd reads grows with the key width and with the positions that are not
  // forgotten: queries are small, or its gates saturate and gradients in f32
  // lose most of their digits.
  bool isQuery = endsWith(name, ".cell.query.kernel") ||
                 endsWith(name, ".cell.query.bias");
  float scale = isQuery ? 1.0f / static_cast<float>(shape.back()) : 1.0f;
  if (endsWith(name, ".kernel")) {
    float fanIn = static_cast<float>(shape.front());
    float part = endsWith(name, ".alpha.kernel") ? 0.05f : scale;
    return {Rule::Normal, 0.0f, part / std::sqrt(fanIn)};
  }
  if (endsWith(name, ".alpha.bias"))
    return {Rule::Normal, -0.05f, 0.02f};
  if (endsWith(name, ".dt.bias"))
    return {Rule::TimeStep};
  if (endsWith(name, ".bias"))
    return {Rule::Normal, 0.0f, 0.02f * scale};
  if (endsWith(name, ".scale"))
    return {Rule::Normal, 1.0f, 0.02f};
  if (endsWith(name, ".a_log"))
    return {Rule::LogRow};
  if (endsWith(name, ".skip"))
    return {Rule::Ones};
  if (endsWith(name, ".nu"))
    return {Rule::LogDecay};
  if (endsWith(name, ".theta"))
    return {Rule::LogPhase};
  if (endsWith(name, ".gamma"))
    return {Rule::Normal, -0.8f, 0.02f};
  return {};
}

/// The value of element `i` from a normal one; `rowSize` elements are a row.
static float valueOf(const Rule &rule, float normal, int64_t i,
                     int64_t rowSize) {
  // The distribution function makes a normal value uniform in (0, 1).
  auto uniform = [&] { return 0.5f * std::erfc(-normal * 0.70710678f); };
  switch (rule.kind) {
  case Rule::Normal:
    return rule.offset + rule.factor * normal;
  case Rule::Ones:
    return 1.0f;
  case Rule::LogRow:
    return std::log(1.0f + static_cast<float>(i / rowSize));
  case Rule::TimeStep: {
    float step = std::exp(std::log(1e-3f) + uniform() * std::log(100.0f));
    return step + std::log(-std::expm1(-step));
  }
  case Rule::LogDecay:
    return std::log(-std::log(0.5f + 0.49f * uniform()));
  case Rule::LogPhase:
    return std::log(std::max(6.28f * uniform(), 1e-3f));
  case Rule::Column:
    return -1.0f - static_cast<float>(i % rowSize);
  case Rule::Uniform:
    return rule.offset + rule.factor * uniform();
  case Rule::SecondMoment: {
    float root = 0.01f * (0.5f + std::fabs(normal));
    return root * root;
  }
  }
  return normal;
}

HostTensor makeValues(const NamedTensorType &argument, uint64_t seed,
                      uint64_t position, int threads) {
  HostTensor tensor(argument.type);
  Rule rule = ruleFor(argument);
  int64_t rowSize = 1;
  for (size_t d = 1; d < tensor.type.shape.size(); ++d)
    rowSize *= tensor.type.shape[d];

  uint64_t key = mix(seed * 0x100000001b3ull + position);
  int64_t total = tensor.type.numElements();
  auto fill = [&](int64_t begin, int64_t end) {
    float pair[2];
    for (int64_t i = begin; i < end; i += 2) {
      normalPair(key, static_cast<uint64_t>(i), pair);
      for (int64_t j = i; j < std::min(i + 2, end); ++j)
        storeElement(tensor.bytes.data(), tensor.type.dtype, j,
                     valueOf(rule, pair[j - i], j, rowSize));
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
