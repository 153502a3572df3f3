//===- ArenaPlannerTest.cpp - no two live buffers overlap -----------------===//

#include "heddle/Analysis/ArenaPlanner.h"

#include <gtest/gtest.h>

#include <random>

using namespace heddle;

static int64_t alignUp(int64_t n) { return (n + 63) / 64 * 64; }

TEST(ArenaPlanner, RandomLifetimesNeverOverlap) {
  std::mt19937 random(7);
  auto below = [&](int64_t n) { return static_cast<int64_t>(random() % n); };
  for (int round = 0; round < 500; ++round) {
    std::vector<ArenaItem> items(1 + below(40));
    for (ArenaItem &item : items) {
      item.size = below(5) == 0 ? 0 : 1 + below(5000);
      item.begin = below(30);
      item.end = item.begin + below(10);
    }
    ArenaResult result = planArena(items);
    EXPECT_GE(result.bytes, result.maxLive);
    for (size_t i = 0; i < items.size(); ++i) {
      const ArenaItem &x = items[i];
      ASSERT_GE(x.offset, 0);
      EXPECT_EQ(x.offset % 64, 0);
      EXPECT_LE(x.offset + alignUp(x.size), result.bytes);
      for (size_t j = 0; j < i; ++j) {
        const ArenaItem &y = items[j];
        bool together = x.begin <= y.end && y.begin <= x.end;
        bool overlap =
            x.offset < y.offset + y.size && y.offset < x.offset + x.size;
        EXPECT_FALSE(together && overlap) << "round " << round;
      }
    }
  }
}

TEST(ArenaPlanner, MaxLiveIsTheLargestSumOfOneStep) {
  std::vector<ArenaItem> items{{64, 0, 1}, {128, 1, 2}, {64, 2, 3}};
  ArenaResult result = planArena(items);
  EXPECT_EQ(result.maxLive, 192);
  EXPECT_EQ(result.bytes, 192);
}

TEST(ArenaPlanner, ChainOfEqualBuffersUsesTwo) {
  std::vector<ArenaItem> items;
  for (int64_t i = 0; i < 20; ++i)
    items.push_back({1024, i, i + 1});
  EXPECT_EQ(planArena(items).bytes, 2048);
}

TEST(ArenaPlanner, NothingNeedsNothing) {
  std::vector<ArenaItem> items;
  EXPECT_EQ(planArena(items).bytes, 0);
}
