//===- MaskTilingTest.cpp - tables of masks with known answers ------------===//

#include "MaskTestSupport.h"

#include "mlir/IR/Diagnostics.h"

#include <chrono>

using namespace heddle;

namespace {
class MaskTilingTest : public MaskTest {
protected:
  /// Compares every way of analysing `terms` with brute force.
  void expectExact(const std::string &terms, int64_t queryLength,
                   int64_t keyLength, int64_t queryTile, int64_t keyTile) {
    SCOPED_TRACE(terms);
    MaskAttr mask = parseMask(terms);
    MaskTiling wanted =
        VisiblePairs(mask, queryLength, keyLength).tile(queryTile, keyTile);
    for (int way = 0; way < 4; ++way) {
      MaskTilingOptions options;
      options.forceEnumeration = way == 1;
      options.forceSets = way == 2;
      options.forceBlocks = way == 3;
      MaskTiling found =
          analyze(mask, queryLength, keyLength, queryTile, keyTile, options);
      EXPECT_EQ(found.perQueryTile, wanted.perQueryTile) << "way " << way;
      EXPECT_EQ(found.perKeyTile, wanted.perKeyTile) << "way " << way;
    }
  }

  /// The diagnostics of `body`, one per line.
  template <typename Body>
  std::string diagnosticsOf(Body body) {
    std::string text;
    mlir::ScopedDiagnosticHandler handler(&context,
                                          [&](mlir::Diagnostic &diagnostic) {
                                            text += diagnostic.str() + "\n";
                                            return mlir::success();
                                          });
    body();
    return text;
  }
};
} // namespace

static TileInterval partial(int64_t begin, int64_t end) {
  return {begin, end, TileKind::Partial};
}
static TileInterval full(int64_t begin, int64_t end) {
  return {begin, end, TileKind::Full};
}

TEST_F(MaskTilingTest, NoMaskIsFull) {
  MaskTiling tiling = analyze({}, 10, 7, 4, 4);
  for (const TileIntervals &row : tiling.perQueryTile)
    EXPECT_EQ(row, TileIntervals({full(0, 2)}));
  for (const TileIntervals &column : tiling.perKeyTile)
    EXPECT_EQ(column, TileIntervals({full(0, 3)}));
  EXPECT_EQ(tiling.perQueryTile.size(), 3u);
  EXPECT_EQ(tiling.perKeyTile.size(), 2u);
}

TEST_F(MaskTilingTest, LastTilesOfOddBlocks) {
  MaskTilingOptions ways[4];
  ways[1].forceEnumeration = true;
  ways[2].forceSets = true;
  ways[3].forceBlocks = true;
  for (const MaskTilingOptions &options : ways) {
    MaskTiling tiling =
        analyze(parseMask("block_diagonal<96>"), 600, 600, 128, 64, options);
    std::vector<int64_t> last;
    for (const TileIntervals &row : tiling.perQueryTile)
      last.push_back(row.back().end - 1);
    EXPECT_EQ(last, std::vector<int64_t>({2, 4, 5, 8, 9}));
  }
  expectExact("block_diagonal<96>", 600, 600, 128, 64);
}

TEST_F(MaskTilingTest, CausalKinds) {
  MaskTiling tiling = analyze(parseMask("causal"), 10, 10, 4, 2);
  ASSERT_EQ(tiling.perQueryTile.size(), 3u);
  EXPECT_EQ(tiling.perQueryTile[0], TileIntervals({partial(0, 2)}));
  EXPECT_EQ(tiling.perQueryTile[1], TileIntervals({full(0, 2), partial(2, 4)}));
  EXPECT_EQ(tiling.perQueryTile[2], TileIntervals({full(0, 4), partial(4, 5)}));
  ASSERT_EQ(tiling.perKeyTile.size(), 5u);
  EXPECT_EQ(tiling.perKeyTile[4], TileIntervals({partial(2, 3)}));
}

TEST_F(MaskTilingTest, CausalWithUnequalLengths) {
  // The first queries see nothing, so their tile has no interval at all.
  MaskTiling tiling = analyze(parseMask("causal_lower_right"), 10, 4, 3, 2);
  EXPECT_TRUE(tiling.perQueryTile[0].empty());
  EXPECT_TRUE(tiling.perQueryTile[1].empty());
  EXPECT_EQ(tiling.perQueryTile[3], TileIntervals({full(0, 2)}));
  for (const char *mask : {"causal_lower_right", "causal_upper_left"}) {
    expectExact(mask, 37, 91, 16, 8);
    expectExact(mask, 91, 37, 16, 8);
  }
}

TEST_F(MaskTilingTest, WindowsWithNegativeBounds) {
  expectExact("window<-3, 17>", 61, 53, 8, 8);
  expectExact("window<17, -3>", 61, 53, 8, 8);
  expectExact("window<-9, -9>", 61, 53, 8, 8); // ends cross: nothing
  expectExact("window<0, 0>", 61, 53, 8, 5);
}

TEST_F(MaskTilingTest, RaggedTilesAreFullWhenTheirPairsAre) {
  MaskTiling tiling = analyze(parseMask("prefix<5>"), 6, 5, 4, 4);
  for (const TileIntervals &row : tiling.perQueryTile)
    EXPECT_EQ(row, TileIntervals({full(0, 2)}));
}

TEST_F(MaskTilingTest, TilesOfOneAndTilesBeyondTheLengths) {
  expectExact("union<window<2, 1>, block_diagonal<5>>", 13, 11, 1, 1);
  expectExact("intersection<causal_lower_right, prefix<6>>", 13, 11, 100, 64);
  expectExact("causal", 1, 1, 128, 128);
  EXPECT_TRUE(analyze(parseMask("causal"), 0, 0, 8, 8).perQueryTile.empty());
}

TEST_F(MaskTilingTest, BoundedModIsNoDivision) {
  // 7 <= x mod 13 has the shape of the bounds that make x floordiv 13.
  expectExact("affine_set<\"(i, j) : ((i - j) mod 13 - 7 >= 0)\">", 36, 30, 9,
              4);
  expectExact("union<window<12, 0>, affine_set<\"(i, j) : (j mod 32 - 28 >= 0, "
              "i - j >= 0)\">>",
              200, 200, 16, 16);
}

TEST_F(MaskTilingTest, EqualitiesWithoutUnitCoefficients) {
  expectExact("affine_set<\"(i, j) : (4 * ((2 * i + j) floordiv 3) - 5 * (i "
              "floordiv 5) - 3 * j + 4 == 0)\">",
              38, 29, 20, 3);
}

TEST_F(MaskTilingTest, HolesAndNestedTerms) {
  expectExact(
      "union<window<16, 0>, prefix<9>, intersection<block_diagonal<33>, "
      "union<causal_lower_right, window<-40, 60>>>>",
      150, 131, 16, 8);
  expectExact(
      "affine_set<\"(i, j) : ((i floordiv 6) mod 3 - (j floordiv 4) mod "
      "2 == 0, i + 9 - j >= 0)\">",
      90, 77, 12, 8);
}

TEST_F(MaskTilingTest, FarBounds) {
  expectExact("window<1099511627776, -3>", 40, 40, 8, 8);
  expectExact("block_diagonal<1099511627776>", 40, 40, 8, 8);
  // Beyond 64 bits in the library's form: the definition is evaluated.
  std::string remark = diagnosticsOf([&] {
    expectExact("affine_set<\"(i, j) : (1000000000000000000 * i - "
                "900000000000000000 * j >= 0)\">",
                9, 9, 4, 4);
  });
  EXPECT_NE(remark.find("the set analysis does not handle"), std::string::npos);
}

TEST_F(MaskTilingTest, TimeCapEnumeratesWithARemark) {
  MaskAttr mask = parseMask("affine_set<\"(i, j) : (i - j >= 0)\">");
  MaskTilingOptions options;
  options.timeCapSeconds = 0;
  MaskTiling tiling;
  std::string remark =
      diagnosticsOf([&] { tiling = analyze(mask, 100, 100, 16, 16, options); });
  EXPECT_NE(remark.find("took longer than"), std::string::npos) << remark;
  EXPECT_TRUE(tiling.enumerated);
  EXPECT_EQ(tiling.method, TilingMethod::Rows);
  EXPECT_EQ(tiling.perQueryTile,
            VisiblePairs(mask, 100, 100).tile(16, 16).perQueryTile);
}

TEST_F(MaskTilingTest, BadSizesAreAnError) {
  std::string error = diagnosticsOf(
      [&] { EXPECT_TRUE(analyze({}, 10, 10, 0, 4).perQueryTile.empty()); });
  EXPECT_EQ(error, "expected tiles of at least 1 position and lengths of at "
                   "least 0, got tiles 0x4 and lengths 10x10; pass static "
                   "sizes\n");
}

TEST_F(MaskTilingTest, LongSequencesAreQuick) {
  // Milliseconds each; the limit leaves room for slow and busy machines.
  for (const char *terms :
       {"causal", "window<1024, 0>", "block_diagonal<1000>",
        "union<causal, prefix<512>>",
        "intersection<causal, union<window<512, 0>, block_diagonal<1000>>>",
        "affine_set<\"(i, j) : (i - j >= 0)\">"}) {
    auto start = std::chrono::steady_clock::now();
    MaskTiling tiling = analyze(parseMask(terms), 131072, 131072, 128, 128);
    std::chrono::duration<double> seconds =
        std::chrono::steady_clock::now() - start;
    EXPECT_LT(seconds.count(), 2.0) << terms;
    EXPECT_EQ(tiling.perQueryTile.size(), 1024u);
    EXPECT_FALSE(tiling.enumerated);
  }
}
