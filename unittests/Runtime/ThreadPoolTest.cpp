//===- ThreadPoolTest.cpp - every block once, no burning of time ----------===//

#include "cpu/ThreadPool.h"
#include "heddle/Runtime/CpuDevice.h"

#include "gtest/gtest.h"

#include <chrono>
#include <ctime>
#include <thread>

using namespace heddle;

namespace {

std::unique_ptr<ThreadPool> makePool(int threads) {
  std::unique_ptr<ThreadPool> pool;
  Status s = ThreadPool::create(threads, pool);
  EXPECT_TRUE(s.ok()) << s.message;
  return pool;
}

/// CPU seconds of the whole process.
double cpuSeconds() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

} // namespace

TEST(ThreadPool, RunsEveryBlockOnce) {
  for (int threads : {1, 2, 3, 8}) {
    std::unique_ptr<ThreadPool> pool = makePool(threads);
    ASSERT_EQ(pool->size(), threads);
    for (int64_t blocks : {0, 1, 2, 3, 17, 1000, 100000}) {
      std::vector<std::atomic<int>> hits(blocks);
      std::atomic<bool> validThread{true};
      pool->parallelFor(blocks, [&](int64_t block, int thread) {
        hits[block].fetch_add(1);
        if (thread < 0 || thread >= threads)
          validThread = false;
      });
      for (int64_t b = 0; b < blocks; ++b)
        ASSERT_EQ(hits[b].load(), 1) << threads << " threads, block " << b;
      EXPECT_TRUE(validThread.load());
    }
  }
}

TEST(ThreadPool, SurvivesManySmallLaunches) {
  std::unique_ptr<ThreadPool> pool = makePool(4);
  std::atomic<int64_t> sum{0};
  const int rounds = 20000;
  for (int i = 0; i < rounds; ++i)
    pool->parallelFor(3, [&](int64_t block, int) { sum += block + 1; });
  EXPECT_EQ(sum.load(), rounds * 6);
}

TEST(ThreadPool, WakesWorkersThatSleep) {
  std::unique_ptr<ThreadPool> pool = makePool(3);
  for (int round = 0; round < 5; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5)); // all asleep
    std::atomic<int> entered{0};
    std::atomic<int> together{0};
    // Blocks wait for each other, so they need three threads at once.
    pool->parallelFor(3, [&](int64_t, int) {
      entered.fetch_add(1);
      auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
      while (entered.load() < 3 && std::chrono::steady_clock::now() < end)
        std::this_thread::yield();
      together += entered.load() == 3;
    });
    ASSERT_EQ(together.load(), 3);
  }
}

TEST(ThreadPool, WritesAreVisibleAfterTheLaunch) {
  std::unique_ptr<ThreadPool> pool = makePool(4);
  std::vector<int64_t> data(4096);
  for (int64_t round = 1; round < 200; ++round) {
    pool->parallelFor(static_cast<int64_t>(data.size()),
                      [&](int64_t block, int) { data[block] += block; });
    for (size_t i = 0; i < data.size(); ++i)
      ASSERT_EQ(data[i], static_cast<int64_t>(i) * round);
  }
}

TEST(ThreadPool, SleepsWhenIdle) {
  std::unique_ptr<ThreadPool> pool = makePool(8);
  pool->parallelFor(100, [](int64_t, int) {});
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  double before = cpuSeconds();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  // Seven workers that spin would take 300 ms of each core.
  EXPECT_LT(cpuSeconds() - before, 0.05);
}

TEST(ThreadPool, RefusesImpossibleSizes) {
  std::unique_ptr<ThreadPool> pool;
  EXPECT_NE(ThreadPool::create(0, pool).message.find("got 0"),
            std::string::npos);
  EXPECT_NE(ThreadPool::create(1 << 20, pool).message.find("threads, got"),
            std::string::npos);
}

TEST(CpuInfo, DescribesThisMachine) {
  EXPECT_GE(cpuThreads(), 1);
  EXPECT_NE(cpuName().find("(x86-64"), std::string::npos);
  EXPECT_TRUE(cpuHasFeature("sse2"));
  EXPECT_FALSE(cpuHasFeature("no-such-feature"));
}
