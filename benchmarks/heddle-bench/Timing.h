//===- Timing.h - how a call is timed ---------------------------*- C++ -*-===//
//
// A sample is `inner` back-to-back calls, inner = clamp(50 ms / estimate, 1,
// 200), where the estimate is the fastest warm-up call. Reported are median and
// quartiles of elapsed / inner over the samples.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_BENCH_TIMING_H
#define HEDDLE_BENCH_TIMING_H

#include "Row.h"

#include <chrono>
#include <functional>

namespace heddle::bench {

class Stopwatch {
public:
  double seconds() const {
    return std::chrono::duration<double>(Clock::now() - start).count();
  }

private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start = Clock::now();
};

struct Timing {
  int inner = 1;
  double median = 0, q1 = 0, q3 = 0, best = 0; // seconds per call
  /// Writes inner, median_ms, q1_ms and q3_ms.
  void store(Row &row) const;
};

/// Quantile `q` in [0, 1] of sorted values, linear between neighbours.
double quantile(const std::vector<double> &sorted, double q);

/// Times `call`; at least one warm-up call is made. Stops early, with an inner
/// of 0, when a call returns false. Where calls go on after they return,
/// `finish` waits for them: at the end of each warm-up call and sample.
Timing timeCalls(const std::function<bool()> &call, int warmup, int repeats,
                 const std::function<bool()> &finish = {});

} // namespace heddle::bench

#endif // HEDDLE_BENCH_TIMING_H
