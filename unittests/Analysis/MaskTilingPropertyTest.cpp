//===- MaskTilingPropertyTest.cpp - random masks against brute force ------===//

#include "MaskTestSupport.h"

#include <chrono>
#include <random>

using namespace heddle;

namespace {
/// Random masks as text, so that a failure names its mask.
class RandomMasks {
public:
  explicit RandomMasks(unsigned seed) : engine(seed) {}

  int64_t number(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(
                     engine() % static_cast<uint64_t>(high - low + 1));
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
    std::string inner = "(" + affineExpr(depth - 1) + ") " +
                        ops[number(0, 2)] + " " + std::to_string(number(1, 9));
    return sum + " + " + std::to_string(number(-4, 4)) + " * (" + inner + ")";
  }

  std::string affineSet() {
    std::string constraints;
    for (int64_t c = 0, e = number(1, 3); c < e; ++c)
      constraints += (c ? ", " : "") + affineExpr(number(0, 2)) +
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
    int tables = 0, gaveUp = 0;
    double slowestSeconds = 0;
    std::string slowest;
  };

  /// Compares every table of `count` random masks with brute force.
  Counts check(unsigned seed, int count, int64_t maxLength, bool affine,
               MaskTilingOptions options) {
    RandomMasks random(seed);
    Counts counts;
    context.getDiagEngine().registerHandler(
        [](mlir::Diagnostic &) { return mlir::success(); });
    for (int n = 0; n < count && !HasFailure(); ++n) {
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
                     std::to_string(queryTile) + "x" +
                     std::to_string(keyTile));
        auto start = std::chrono::steady_clock::now();
        MaskTiling found = analyze(mask, queryLength, keyLength, queryTile,
                                   keyTile, options);
        double seconds = std::chrono::duration<double>(
                             std::chrono::steady_clock::now() - start)
                             .count();
        if (seconds > counts.slowestSeconds) {
          counts.slowestSeconds = seconds;
          counts.slowest = text;
        }
        MaskTiling wanted = pairs.tile(queryTile, keyTile);
        EXPECT_EQ(found.perQueryTile, wanted.perQueryTile);
        EXPECT_EQ(found.perKeyTile, wanted.perKeyTile);
        ++counts.tables;
        counts.gaveUp += found.enumerated;
      }
    }
    RecordProperty("slowest", counts.slowest);
    RecordProperty("slowestSeconds", std::to_string(counts.slowestSeconds));
    RecordProperty("gaveUp", counts.gaveUp);
    if (getenv("DBG")) printf("tables %d gaveUp %d slowest %f %s\n", counts.tables, counts.gaveUp, counts.slowestSeconds, counts.slowest.c_str());
    return counts;
  }
};
} // namespace

TEST_F(MaskTilingProperty, RowsOfPlainTermsAreExact) {
  Counts counts = check(/*seed=*/1, /*count=*/2000, /*maxLength=*/60,
                        /*affine=*/false, {});
  EXPECT_EQ(counts.gaveUp, 0);
}

TEST_F(MaskTilingProperty, EnumeratedAffineSetsAreExact) {
  MaskTilingOptions options;
  options.forceEnumeration = true;
  check(/*seed=*/2, /*count=*/1500, /*maxLength=*/40, /*affine=*/true, options);
}

TEST_F(MaskTilingProperty, SetsOfPlainTermsAreExact) {
  MaskTilingOptions options;
  options.forceSets = true;
  Counts counts = check(/*seed=*/3, /*count=*/300, /*maxLength=*/60,
                        /*affine=*/false, options);
  EXPECT_EQ(counts.gaveUp, 0);
}

TEST_F(MaskTilingProperty, SetsOfAffineSetsAreExact) {
  MaskTilingOptions options;
  options.forceSets = true;
  options.timeCapSeconds = 0.2;
  Counts counts = check(/*seed=*/4, /*count=*/300, /*maxLength=*/40,
                        /*affine=*/true, options);
  // The sets are what is tested here, so most must not have been enumerated.
  EXPECT_LT(counts.gaveUp, counts.tables / 4);
}
