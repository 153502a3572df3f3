//===- Parallel.h - splits a loop over worker threads -----------*- C++ -*-===//

#ifndef HEDDLE_RUNTIME_REFERENCE_PARALLEL_H
#define HEDDLE_RUNTIME_REFERENCE_PARALLEL_H

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace heddle::reference {

/// Number of workers: `requested`, or every core when it is 0.
inline int workerCount(int requested) {
  if (requested > 0)
    return requested;
  return std::max(1u, std::thread::hardware_concurrency());
}

/// Calls `body(begin, end)` on disjoint ranges of at most `grain` indices that
/// cover [0, count), from up to `threads` workers, in any order.
template <typename Body>
void parallelFor(int threads, int64_t count, int64_t grain, const Body &body) {
  if (count <= 0)
    return;
  grain = std::max<int64_t>(grain, 1);
  int64_t numRanges = (count + grain - 1) / grain;
  std::atomic<int64_t> next{0};
  auto work = [&] {
    for (int64_t r; (r = next.fetch_add(1)) < numRanges;)
      body(r * grain, std::min(count, (r + 1) * grain));
  };
  int64_t numWorkers = std::min<int64_t>(threads, numRanges);
  std::vector<std::thread> workers;
  for (int64_t w = 1; w < numWorkers; ++w)
    workers.emplace_back(work);
  work();
  for (std::thread &worker : workers)
    worker.join();
}

} // namespace heddle::reference

#endif // HEDDLE_RUNTIME_REFERENCE_PARALLEL_H
