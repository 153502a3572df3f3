//===- MaskTilingPropertyTest.cpp - random masks against brute force ------===//

#include "MaskTestSupport.h"

#include <random>

using namespace heddle;

namespace {
/// Random masks as text, so that a failure names its mask.
class RandomMasks {
public:
  explicit RandomMasks(unsigned seed) : engine(seed) {}

  int64_t number(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(engine() %
                                      static_cast<uint64_t>(high - low + 1));
  }

  std::string plainTerm(int64_t length) {
    switch (number(0, 5)) {
    case 0:
      return "causal_upper_left";
    case 1:
      return "causal_lower_right";
    case 2:
      return "prefix<" + std::to_string(number(0, length + 4)) + ">";
    case 3:
      return "block_diagonal<" + std::to_string(number(1, length + 2)) + ">";
    default:
      return "window<" + std::to_string(number(-length, length)) + ", " +
             std::to_string(number(-length, length)) + ">";
    }
  }

  std::string affineExpr(int depth) {
    std::string sum = std::to_string(number(-3, 3)) + " * i + " +
                      std::to_string(number(-3, 3)) + " * j + " +
                      std::to_string(number(-12, 12));
    if (depth == 0)
      return sum;
    const char *ops[] = {"mod", "floordiv", "ceildiv"};
    std::string inner = "(" + affineExpr(depth - 1) + ") " + ops[number(0, 2)] +
                        " " + std::to_string(number(1, 9));
    return sum + " + " + std::to_string(number(-4, 4)) + " * (" + inner + ")";
  }

  /// The forms that sparse attention patterns are written in.
  std::string patternExpr() {
    auto position = [&] { return std::string(number(0, 1) ? "i" : "j"); };
    std::string a = position(), b = position();
    std::string size = std::to_string(number(1, 17));
    std::string offset = std::to_string(number(-20, 20));
    std::string sign = number(0, 1) ? "" : "-";
    switch (number(0, 5)) {
    case 0:
      return sign + a + " + " + b + " * -1 + " + offset;
    case 1:
      return sign + "(" + a + " mod " + size + ") + " + offset;
    case 2:
      return sign + "((i - j) mod " + size + ") + " + offset;
    case 3:
      return sign + "(" + a + " floordiv " + size + ") * " + size + " - " +
             sign + b + " + " + offset;
    case 4:
      return "(" + a + " floordiv " + size + ") - (" + b + " floordiv " +
             std::to_string(number(1, 17)) + ")";
    default:
      return sign + a + " + " + offset;
    }
  }

  std::string affineSet() {
    std::string constraints;
    bool isPattern = number(0, 1);
    for (int64_t c = 0, e = number(1, 3); c < e; ++c)
      constraints += (c ? ", " : "") +
                     (isPattern ? patternExpr() : affineExpr(number(0, 2))) +
                     (number(0, 4) == 0 ? " == 0" : " >= 0");
    return "affine_set<\"(i, j) : (" + constraints + ")\">";
  }

  std::string mask(int64_t length, int depth, bool affine) {
    if (depth == 0 || number(0, 2) == 0)
      return affine && number(0, 2) != 0 ? affineSet() : plainTerm(length);
    std::string result = number(0, 1) ? "union<" : "intersection<";
    for (int64_t t = 0, e = number(1, 3); t < e; ++t)
      result += (t ? ", " : "") + mask(length, depth - 1, affine);
    return result + ">";
  }

private:
  std::mt19937 engine;
};

class MaskTilingProperty : public MaskTest {
protected:
  struct Counts {
    int tables = 0, enumerated = 0;
    int byMethod[3] = {0, 0, 0};
    int of(TilingMethod method) const {
      return byMethod[static_cast<int>(method)];
    }
  };

  /// Compares every table of `count` random masks with brute force.
  Counts check(unsigned seed, int count, int64_t maxLength, bool affine,
               MaskTilingOptions options) {
    RandomMasks random(seed);
    Counts counts;
    context.getDiagEngine().registerHandler(
        [](mlir::Diagnostic &) { return mlir::success(); });
    for (int n = 0; n < count; ++n) {
      int64_t queryLength = random.number(1, maxLength);
      int64_t keyLength = random.number(1, maxLength);
      std::string text = random.mask(maxLength, 2, affine);
      MaskAttr mask = parseMask(text);
      VisiblePairs pairs(mask, queryLength, keyLength);
      for (int tiling = 0; tiling < 2; ++tiling) {
        int64_t queryTile = random.number(1, queryLength + 3);
        int64_t keyTile = random.number(1, keyLength + 3);
        SCOPED_TRACE(text + " positions " + std::to_string(queryLength) + "x" +
                     std::to_string(keyLength) + " tiles " +
                     std::to_string(queryTile) + "x" + std::to_string(keyTile));
        MaskTiling found =
            analyze(mask, queryLength, keyLength, queryTile, keyTile, options);
        MaskTiling wanted = pairs.tile(queryTile, keyTile);
        EXPECT_EQ(found.perQueryTile, wanted.perQueryTile);
        EXPECT_EQ(found.perKeyTile, wanted.perKeyTile);
        ++counts.tables;
        counts.enumerated += found.enumerated;
        ++counts.byMethod[static_cast<int>(found.method)];
      }
    }
    for (int method = 0; method < 3; ++method)
      RecordProperty("method" + std::to_string(method),
                     counts.byMethod[method]);
    return counts;
  }
};
} // namespace

TEST_F(MaskTilingProperty, RowsOfPlainTermsAreExact) {
  Counts counts = check(/*seed=*/1, /*count=*/2000, /*maxLength=*/60,
                        /*affine=*/false, {});
  EXPECT_EQ(counts.of(TilingMethod::Rows), counts.tables);
  EXPECT_EQ(counts.enumerated, 0);
}

TEST_F(MaskTilingProperty, EnumeratedAffineSetsAreExact) {
  MaskTilingOptions options;
  options.forceEnumeration = true;
  Counts counts = check(/*seed=*/2, /*count=*/2000, /*maxLength=*/40,
                        /*affine=*/true, options);
  EXPECT_EQ(counts.enumerated, counts.tables);
}

TEST_F(MaskTilingProperty, SetsOfPlainTermsAreExact) {
  MaskTilingOptions options;
  options.forceSets = true;
  Counts counts = check(/*seed=*/3, /*count=*/800, /*maxLength=*/60,
                        /*affine=*/false, options);
  EXPECT_EQ(counts.enumerated, 0);
  EXPECT_GT(counts.of(TilingMethod::Elimination), counts.tables / 2);
}

TEST_F(MaskTilingProperty, BlocksOfPlainTermsAreExact) {
  MaskTilingOptions options;
  options.forceBlocks = true;
  Counts counts = check(/*seed=*/4, /*count=*/500, /*maxLength=*/60,
                        /*affine=*/false, options);
  EXPECT_EQ(counts.of(TilingMethod::Blocks), counts.tables);
}

TEST_F(MaskTilingProperty, SetsOfAffineSetsAreExact) {
  Counts counts = check(/*seed=*/5, /*count=*/1200, /*maxLength=*/40,
                        /*affine=*/true, {});
  EXPECT_LT(counts.enumerated, counts.tables / 20);
  EXPECT_GT(counts.of(TilingMethod::Elimination), counts.tables / 10);
  EXPECT_GT(counts.of(TilingMethod::Blocks), counts.tables / 10);
}

TEST_F(MaskTilingProperty, BlocksOfAffineSetsAreExact) {
  MaskTilingOptions options;
  options.forceBlocks = true;
  Counts counts = check(/*seed=*/6, /*count=*/500, /*maxLength=*/40,
                        /*affine=*/true, options);
  EXPECT_LT(counts.enumerated, counts.tables / 20);
}
