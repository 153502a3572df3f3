//===- ThreadPool.cpp - persistent workers for blocks of a launch ---------===//
//
// The gate is one word: a launch opens it under a new epoch, a worker enters by
// compare-and-swap while it is open, the caller shuts it when the blocks have
// run out and waits until everyone inside has left. A worker that comes too
// late finds it shut and has cost nothing. Sleeping is a futex on the same
// word, so a change between the last look and the sleep is never missed.
//
//===----------------------------------------------------------------------===//

#include "ThreadPool.h"

#include <algorithm>
#include <chrono>
#include <climits>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <system_error>
#include <unistd.h>

namespace heddle {

namespace {
constexpr uint32_t kInsideMask = (1u << 12) - 1;
constexpr uint32_t kOpen = 1u << 12;
constexpr uint32_t kEpoch = 1u << 13;
constexpr uint32_t kEpochMask = ~(kEpoch - 1);
constexpr int kMaxThreads = kInsideMask - 1;

// Waiters on the gate by kind, as futex bit sets.
constexpr uint32_t kWorkerBit = 1, kCallerBit = 2;

/// How long to spin before sleeping. Waking a sleeper costs some 5 us of the
/// caller and up to 50 us until it runs; launches of one program follow each
/// other faster than this.
constexpr std::chrono::microseconds kSpinTime(50);
} // namespace

static void pauseCpu() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

static void futexWait(std::atomic<uint32_t> &word, uint32_t expected,
                      uint32_t bits) {
  syscall(SYS_futex, reinterpret_cast<uint32_t *>(&word),
          FUTEX_WAIT_BITSET_PRIVATE, expected, nullptr, nullptr, bits);
}

static void futexWake(std::atomic<uint32_t> &word, int count, uint32_t bits) {
  syscall(SYS_futex, reinterpret_cast<uint32_t *>(&word),
          FUTEX_WAKE_BITSET_PRIVATE, count, nullptr, nullptr, bits);
}

/// Spins until `done` or the spin time is over; whether it was done.
template <typename Fn>
static bool spinUntil(const Fn &done) {
  auto end = std::chrono::steady_clock::now() + kSpinTime;
  do {
    for (int i = 0; i < 64; ++i) {
      if (done())
        return true;
      pauseCpu();
    }
  } while (std::chrono::steady_clock::now() < end);
  return done();
}

Status ThreadPool::create(int threads, std::unique_ptr<ThreadPool> &out) {
  if (threads < 1 || threads > kMaxThreads)
    return Status::error("expected 1 to " + std::to_string(kMaxThreads) +
                         " threads, got " + std::to_string(threads));
  std::unique_ptr<ThreadPool> pool(new ThreadPool);
  try {
    pool->workers.reserve(threads - 1);
    for (int i = 1; i < threads; ++i)
      pool->workers.emplace_back([p = pool.get(), i] { p->workerMain(i); });
  } catch (const std::system_error &) {
    return Status::error("cannot start thread " +
                         std::to_string(pool->workers.size() + 1) + " of " +
                         std::to_string(threads) + "; ask for fewer threads");
  }
  out = std::move(pool);
  return {};
}

ThreadPool::~ThreadPool() {
  stopping.store(true);
  gate.fetch_add(kEpoch);
  futexWake(gate, INT_MAX, kWorkerBit);
  for (std::thread &worker : workers)
    worker.join();
}

void ThreadPool::work(int thread) {
  while (true) {
    int64_t begin = next.fetch_add(chunk, std::memory_order_relaxed);
    if (begin >= numBlocks)
      return;
    int64_t end = std::min(begin + chunk, numBlocks);
    for (int64_t block = begin; block < end; ++block)
      function(context, block, thread);
  }
}

void ThreadPool::run(int64_t blocks, BlockFn fn, const void *ctx) {
  if (workers.empty() || blocks <= 1) {
    for (int64_t block = 0; block < blocks; ++block)
      fn(ctx, block, 0);
    return;
  }
  function = fn;
  context = ctx;
  numBlocks = blocks;
  // Chunks keep the counter cheap when there are very many small blocks; the
  // last ones are then at most 1/64 of a thread's share.
  chunk = std::max<int64_t>(1, blocks / (int64_t(64) * size()));
  next.store(0, std::memory_order_relaxed);
  uint32_t closed = gate.load(std::memory_order_relaxed);
  gate.store(((closed & kEpochMask) + kEpoch) | kOpen);
  int asleep = sleepers.load();
  if (asleep > 0) {
    int64_t useful = std::min<int64_t>(blocks - 1, asleep);
    futexWake(gate, static_cast<int>(useful), kWorkerBit);
  }
  work(0);
  gate.fetch_and(~kOpen);
  auto empty = [&] {
    return (gate.load(std::memory_order_acquire) & kInsideMask) == 0;
  };
  if (spinUntil(empty))
    return;
  callerWaits.store(true);
  while (true) {
    uint32_t now = gate.load();
    if ((now & kInsideMask) == 0)
      break;
    futexWait(gate, now, kCallerBit);
  }
  callerWaits.store(false);
}

/// Waits for a launch after `lastEpoch` to open or for the end of the pool.
uint32_t ThreadPool::awaitLaunch(uint32_t lastEpoch) {
  auto ready = [&](uint32_t now) {
    return ((now & kOpen) && (now & kEpochMask) != lastEpoch) ||
           stopping.load(std::memory_order_relaxed);
  };
  uint32_t now = 0;
  if (spinUntil([&] { return ready(now = gate.load()); }))
    return now;
  sleepers.fetch_add(1);
  while (!ready(now = gate.load()))
    futexWait(gate, now, kWorkerBit);
  sleepers.fetch_sub(1);
  return now;
}

void ThreadPool::workerMain(int thread) {
  uint32_t lastEpoch = 0;
  while (true) {
    uint32_t now = awaitLaunch(lastEpoch);
    if (stopping.load())
      return;
    if (!gate.compare_exchange_strong(now, now + 1))
      continue; // someone else entered or the gate was shut: look again
    lastEpoch = now & kEpochMask;
    work(thread);
    uint32_t before = gate.fetch_sub(1);
    if ((before & kInsideMask) == 1 && !(before & kOpen) && callerWaits.load())
      futexWake(gate, 1, kCallerBit);
  }
}

} // namespace heddle
