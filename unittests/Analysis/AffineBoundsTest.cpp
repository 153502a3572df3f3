//===- AffineBoundsTest.cpp - closed forms against the tables -------------===//

#include "MaskTestSupport.h"

#include <random>

using namespace heddle;

namespace {
class AffineBoundsTest : public MaskTest {
protected:
  static std::optional<AffineTileBounds>
  ofQueryTiles(const MaskTiling &tiling) {
    return findAffineBounds(tiling.perQueryTile, tiling.queryTile,
                            tiling.keyTile);
  }
  static std::optional<AffineTileBounds> ofKeyTiles(const MaskTiling &tiling) {
    return findAffineBounds(tiling.perKeyTile, tiling.keyTile,
                            tiling.queryTile);
  }

  /// The closed form of `tiles` stands for exactly those tiles.
  static void expectReproduces(const AffineTileBounds &bounds,
                               llvm::ArrayRef<TileIntervals> tiles) {
    for (size_t t = 0; t < tiles.size(); ++t)
      EXPECT_EQ(bounds.at(t), tiles[t]) << "tile " << t;
  }
};
} // namespace

TEST_F(AffineBoundsTest, CausalIsALineInBothDirections) {
  MaskTiling tiling = analyze(parseMask("causal"), 1536, 1536, 192, 128);
  std::optional<AffineTileBounds> query = ofQueryTiles(tiling);
  ASSERT_TRUE(query);
  expectReproduces(*query, tiling.perQueryTile);
  // Full tiles end at floor(192 t / 128), visible ones at ceil(192 (t+1) /
  // 128).
  for (int64_t t = 0; t < 8; ++t) {
    EXPECT_EQ(query->begin.at(t), 0);
    EXPECT_EQ(query->fullBegin.at(t), 0);
    EXPECT_EQ(query->fullEnd.at(t), 192 * t / 128);
    EXPECT_EQ(query->end.at(t), (192 * (t + 1) + 127) / 128);
  }
  EXPECT_EQ(query->fullEnd.coefficient, 3);
  EXPECT_EQ(query->fullEnd.divisor, 2);
  EXPECT_FALSE(query->hasLeadingPartial(8));
  EXPECT_TRUE(query->hasTrailingPartial(8));

  std::optional<AffineTileBounds> key = ofKeyTiles(tiling);
  ASSERT_TRUE(key);
  expectReproduces(*key, tiling.perKeyTile);
  EXPECT_TRUE(key->hasLeadingPartial(12));
}

TEST_F(AffineBoundsTest, FullMasksHaveNoPartialRun) {
  MaskTiling tiling = analyze({}, 100, 70, 16, 16);
  std::optional<AffineTileBounds> bounds = ofQueryTiles(tiling);
  ASSERT_TRUE(bounds);
  expectReproduces(*bounds, tiling.perQueryTile);
  EXPECT_FALSE(bounds->hasLeadingPartial(7));
  EXPECT_FALSE(bounds->hasTrailingPartial(7));
}

TEST_F(AffineBoundsTest, HolesAndStepsAreNoLines) {
  MaskTiling hole =
      analyze(parseMask("union<window<8, 0>, prefix<8>>"), 128, 128, 8, 8);
  EXPECT_FALSE(ofQueryTiles(hole));
  // Two tiles per block: begins 0 0 4 4 8 8 are a staircase, not a line.
  MaskTiling steps = analyze(parseMask("block_diagonal<32>"), 128, 128, 16, 8);
  EXPECT_FALSE(ofQueryTiles(steps));
}

TEST_F(AffineBoundsTest, TilesWithoutAnythingAreInTheForm) {
  // Queries before the first visible one, and after the last.
  for (const char *terms :
       {"causal_lower_right", "window<40, -20>", "window<-20, 40>"}) {
    MaskTiling tiling = analyze(parseMask(terms), 128, 64, 8, 4);
    std::optional<AffineTileBounds> bounds = ofQueryTiles(tiling);
    ASSERT_TRUE(bounds) << terms;
    expectReproduces(*bounds, tiling.perQueryTile);
  }
  // A mask that hides all.
  MaskTiling nothing = analyze(parseMask("prefix<0>"), 64, 64, 8, 8);
  std::optional<AffineTileBounds> bounds = ofQueryTiles(nothing);
  ASSERT_TRUE(bounds);
  expectReproduces(*bounds, nothing.perQueryTile);
  EXPECT_TRUE(findAffineBounds({}, 8, 8));
}

TEST_F(AffineBoundsTest, WindowsOfWholeTilesAlwaysHaveOne) {
  std::mt19937 engine(7);
  auto number = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(engine() %
                                      static_cast<uint64_t>(high - low + 1));
  };
  for (int n = 0; n < 500; ++n) {
    int64_t queryTile = number(1, 12), keyTile = number(1, 12);
    int64_t queryLength = queryTile * number(1, 20);
    int64_t keyLength = keyTile * number(1, 20);
    std::string terms = "window<" + std::to_string(number(-60, 200)) + ", " +
                        std::to_string(number(-60, 200)) + ">";
    SCOPED_TRACE(terms + " positions " + std::to_string(queryLength) + "x" +
                 std::to_string(keyLength) + " tiles " +
                 std::to_string(queryTile) + "x" + std::to_string(keyTile));
    MaskTiling tiling =
        analyze(parseMask(terms), queryLength, keyLength, queryTile, keyTile);
    std::optional<AffineTileBounds> query = ofQueryTiles(tiling);
    ASSERT_TRUE(query);
    expectReproduces(*query, tiling.perQueryTile);
    std::optional<AffineTileBounds> key = ofKeyTiles(tiling);
    ASSERT_TRUE(key);
    expectReproduces(*key, tiling.perKeyTile);
  }
}

TEST_F(AffineBoundsTest, WhatIsFoundIsTheTable) {
  std::mt19937 engine(8);
  auto number = [&](int64_t high) {
    return static_cast<int64_t>(engine() % static_cast<uint64_t>(high));
  };
  int found = 0, all = 0;
  for (int n = 0; n < 600; ++n) {
    std::string terms = "union<window<" + std::to_string(number(60)) + ", " +
                        std::to_string(number(40) - 20) +
                        ">, intersection<prefix<" + std::to_string(number(50)) +
                        ">, block_diagonal<" + std::to_string(1 + number(90)) +
                        ">>>";
    MaskTiling tiling = analyze(parseMask(terms), 1 + number(90),
                                1 + number(90), 1 + number(20), 1 + number(20));
    ++all;
    if (std::optional<AffineTileBounds> bounds = ofQueryTiles(tiling)) {
      ++found;
      SCOPED_TRACE(terms);
      expectReproduces(*bounds, tiling.perQueryTile);
    }
  }
  EXPECT_GT(found, all / 10);
  EXPECT_LT(found, all);
}

TEST_F(AffineBoundsTest, LongTablesAreQuickToFit) {
  MaskTiling tiling =
      analyze(parseMask("window<4095, 0>"), 131072, 131072, 96, 64);
  std::optional<AffineTileBounds> bounds = ofQueryTiles(tiling);
  ASSERT_TRUE(bounds);
  EXPECT_EQ(bounds->begin.coefficient, 3);
  EXPECT_EQ(bounds->begin.divisor, 2);
}
