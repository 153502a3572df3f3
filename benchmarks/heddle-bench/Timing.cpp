//===- Timing.cpp - how a call is timed -----------------------------------===//

#include "Timing.h"

#include <algorithm>

namespace heddle::bench {

void Timing::store(Row &row) const {
  row["inner"] = inner;
  row["median_ms"] = median * 1e3;
  row["q1_ms"] = q1 * 1e3;
  row["q3_ms"] = q3 * 1e3;
}

double quantile(const std::vector<double> &sorted, double q) {
  double position = q * static_cast<double>(sorted.size() - 1);
  size_t below = static_cast<size_t>(position);
  size_t above = std::min(below + 1, sorted.size() - 1);
  double weight = position - static_cast<double>(below);
  return sorted[below] * (1.0 - weight) + sorted[above] * weight;
}

Timing timeCalls(const std::function<bool()> &call, int warmup, int repeats,
                 const std::function<bool()> &finish) {
  Timing timing;
  timing.inner = 0;
  double estimate = 1e9;
  for (int i = 0; i < std::max(warmup, 1); ++i) {
    Stopwatch watch;
    if (!call() || (finish && !finish()))
      return timing;
    estimate = std::min(estimate, watch.seconds());
  }
  int inner =
      static_cast<int>(std::clamp(0.05 / std::max(estimate, 1e-9), 1.0, 200.0));
  std::vector<double> samples;
  for (int i = 0; i < std::max(repeats, 1); ++i) {
    Stopwatch watch;
    for (int j = 0; j < inner; ++j)
      if (!call())
        return timing;
    if (finish && !finish())
      return timing;
    samples.push_back(watch.seconds() / inner);
  }
  std::sort(samples.begin(), samples.end());
  timing.inner = inner;
  timing.median = quantile(samples, 0.5);
  timing.q1 = quantile(samples, 0.25);
  timing.q3 = quantile(samples, 0.75);
  timing.best = samples.front();
  return timing;
}

} // namespace heddle::bench
