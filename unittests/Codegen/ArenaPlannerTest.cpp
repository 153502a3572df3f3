//===- ArenaPlannerTest.cpp - no two live buffers overlap -----------------===//

#include "heddle/Analysis/ArenaPlanner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
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

static bool liveTogether(const ArenaItem &x, const ArenaItem &y) {
  return x.begin <= y.end && y.begin <= x.end;
}

TEST(ArenaPlanner, BorrowedRegionsHoldOnlyWhatFitsWhileTheyAreFree) {
  std::mt19937 random(11);
  auto below = [&](int64_t n) { return static_cast<int64_t>(random() % n); };
  for (int round = 0; round < 300; ++round) {
    std::vector<ArenaItem> items(1 + below(30));
    for (ArenaItem &item : items) {
      item.size = 1 + below(3000);
      item.begin = below(30);
      item.end = item.begin + below(10);
    }
    std::vector<BorrowedRegion> regions(1 + below(3));
    for (BorrowedRegion &region : regions) {
      region.size = 1 + below(6000);
      int64_t at = below(30);
      region.busy.push_back({at, at + below(20)});
    }
    std::vector<ArenaItem> alone = items;
    int64_t without = planArena(alone).bytes;
    EXPECT_LE(planArena(items, 64, regions).bytes, without);
    for (size_t i = 0; i < items.size(); ++i) {
      const ArenaItem &x = items[i];
      if (x.region >= 0) {
        const BorrowedRegion &region = regions[x.region];
        EXPECT_LE(x.offset + x.size, region.size);
        for (auto [first, last] : region.busy)
          EXPECT_TRUE(x.end < first || last < x.begin);
      }
      for (size_t j = 0; j < i; ++j) {
        const ArenaItem &y = items[j];
        if (x.region == y.region && liveTogether(x, y))
          EXPECT_TRUE(x.offset + x.size <= y.offset ||
                      y.offset + y.size <= x.offset)
              << "round " << round;
      }
    }
  }
}

TEST(ArenaPlanner, ItemInAnUnwrittenResultNeedsNoArena) {
  std::vector<ArenaItem> items{{1024, 0, 3}};
  EXPECT_EQ(planArena(items, 64, {{1024, {{4, 5}}}}).bytes, 0);
  EXPECT_EQ(items[0].region, 0);
  EXPECT_EQ(planArena(items, 64, {{1024, {{3, 5}}}}).bytes, 1024);
  EXPECT_EQ(items[0].region, -1);
}

/// The smallest arena: some order of placement at lowest gaps reaches it.
static int64_t smallestArena(const std::vector<ArenaItem> &items) {
  std::vector<size_t> order(items.size());
  std::iota(order.begin(), order.end(), 0);
  int64_t best = INT64_MAX;
  do {
    std::vector<size_t> placed;
    std::vector<int64_t> at(items.size());
    int64_t bytes = 0;
    for (size_t i : order) {
      std::sort(placed.begin(), placed.end(),
                [&](size_t x, size_t y) { return at[x] < at[y]; });
      for (size_t j : placed)
        if (liveTogether(items[i], items[j]) &&
            at[j] < at[i] + items[i].size)
          at[i] = std::max(at[i], at[j] + items[j].size);
      bytes = std::max(bytes, at[i] + items[i].size);
      placed.push_back(i);
    }
    best = std::min(best, bytes);
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}

TEST(ArenaPlanner, SearchFindsTheOptimumThatGreedyOrdersMiss) {
  std::mt19937 random(3);
  auto below = [&](int64_t n) { return static_cast<int64_t>(random() % n); };
  int missed = 0;
  for (int round = 0; round < 150; ++round) {
    std::vector<ArenaItem> items(7);
    for (ArenaItem &item : items) {
      item.size = 64 * (1 + below(8));
      item.begin = below(7);
      item.end = item.begin + below(4);
    }
    int64_t optimum = smallestArena(items);
    missed += planArena(items, 64, {}, /*searchSteps=*/0).bytes > optimum;
    EXPECT_EQ(planArena(items).bytes, optimum) << "round " << round;
  }
  EXPECT_GT(missed, 0);
}
