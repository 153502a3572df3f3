//===- ThreadPool.h - persistent workers for blocks of a launch -*- C++ -*-===//
//
// A launch hands out its blocks through one atomic counter, so that fast
// threads take more of them. Workers join a launch if they are awake in time;
// the calling thread works too and never waits for one that sleeps. Idle
// workers spin briefly, then sleep.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_CPU_THREADPOOL_H
#define HEDDLE_RUNTIME_CPU_THREADPOOL_H

#include "heddle/Runtime/Program.h"

#include <atomic>
#include <memory>
#include <thread>
#include <type_traits>
#include <vector>

namespace heddle {

class ThreadPool {
public:
  /// Starts `threads` - 1 workers; the caller of parallelFor is the last one.
  static Status create(int threads, std::unique_ptr<ThreadPool> &out);
  ~ThreadPool();
  ThreadPool(const ThreadPool &) = delete;
  ThreadPool &operator=(const ThreadPool &) = delete;

  int size() const { return static_cast<int>(workers.size()) + 1; }

  /// Calls fn(block, thread) for every block from 0 to numBlocks - 1, in any
  /// order, with thread from 0 to size() - 1; returns when all are done. No
  /// allocation. One caller at a time; fn must not throw or call back.
  template <typename Fn>
  void parallelFor(int64_t numBlocks, const Fn &fn) {
    run(
        numBlocks,
        [](const void *context, int64_t block, int thread) {
          (*static_cast<const Fn *>(context))(block, thread);
        },
        &fn);
  }

private:
  using BlockFn = void (*)(const void *context, int64_t block, int thread);

  ThreadPool() = default;
  void run(int64_t numBlocks, BlockFn fn, const void *context);
  void work(int thread);
  void workerMain(int thread);
  uint32_t awaitLaunch(uint32_t lastEpoch);

  std::vector<std::thread> workers;

  // The launch; written only while the gate is shut and nobody is inside.
  BlockFn function = nullptr;
  const void *context = nullptr;
  int64_t numBlocks = 0;
  int64_t chunk = 1;

  // Each on its own cache line: workers hammer `next`, sleepers watch `gate`.
  alignas(64) std::atomic<int64_t> next{0};
  // Bits 0-11: threads inside the launch, bit 12: open, bits 13-31: epoch.
  alignas(64) std::atomic<uint32_t> gate{0};
  alignas(64) std::atomic<int> sleepers{0};
  std::atomic<bool> callerWaits{false};
  std::atomic<bool> stopping{false};
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_CPU_THREADPOOL_H
