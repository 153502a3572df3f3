//===- MaskTestSupport.h - masks and brute force for the tests --*- C++ -*-===//

#ifndef HEDDLE_UNITTESTS_ANALYSIS_MASKTESTSUPPORT_H
#define HEDDLE_UNITTESTS_ANALYSIS_MASKTESTSUPPORT_H

#include "heddle/Analysis/MaskTiling.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/MLIRContext.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace heddle {

inline void PrintTo(const TileInterval &interval, std::ostream *os) {
  *os << "[" << interval.begin << ", " << interval.end << ") kind "
      << static_cast<int>(interval.kind);
}

inline bool operator==(const AffineTileBound &a, const AffineTileBound &b) {
  return a.coefficient == b.coefficient && a.offset == b.offset &&
         a.divisor == b.divisor && a.lower == b.lower && a.upper == b.upper;
}

/// A context with the dialect, and masks from text.
class MaskTest : public ::testing::Test {
protected:
  MaskTest() { context.loadDialect<HeddleDialect>(); }

  /// `terms` as between the brackets of #heddle.mask<...>.
  MaskAttr parseMask(const std::string &terms) {
    auto mask = llvm::dyn_cast_or_null<MaskAttr>(
        mlir::parseAttribute("#heddle.mask<" + terms + ">", &context));
    EXPECT_TRUE(mask) << terms;
    return mask;
  }

  MaskTiling analyze(MaskAttr mask, int64_t queryLength, int64_t keyLength,
                     int64_t queryTile, int64_t keyTile,
                     const MaskTilingOptions &options = {}) {
    return analyzeMask(mask, queryLength, keyLength, queryTile, keyTile,
                       mlir::UnknownLoc::get(&context), options);
  }

  mlir::MLIRContext context;
};

/// Which pairs are visible, one entry per pair, by the definition of the mask.
struct VisiblePairs {
  int64_t queryLength, keyLength;
  std::vector<char> visible;

  VisiblePairs(MaskAttr mask, int64_t queryLength, int64_t keyLength)
      : queryLength(queryLength), keyLength(keyLength) {
    for (int64_t i = 0; i < queryLength; ++i)
      for (int64_t j = 0; j < keyLength; ++j)
        visible.push_back(!mask || mask.contains(i, j, queryLength, keyLength));
  }

  TileKind kindOf(int64_t queryTile, int64_t keyTile, int64_t t,
                  int64_t u) const {
    bool any = false, all = true;
    for (int64_t i = t * queryTile, ie = std::min(i + queryTile, queryLength);
         i < ie; ++i)
      for (int64_t j = u * keyTile, je = std::min(j + keyTile, keyLength);
           j < je; ++j) {
        bool isVisible = visible[i * keyLength + j];
        any |= isVisible;
        all &= isVisible;
      }
    return !any ? TileKind::Empty : all ? TileKind::Full : TileKind::Partial;
  }

  /// The table as it has to be: both directions from the pairs themselves.
  MaskTiling tile(int64_t queryTile, int64_t keyTile) const {
    MaskTiling result{queryLength, keyLength, queryTile, keyTile, {}, {}};
    int64_t numQueryTiles = (queryLength + queryTile - 1) / queryTile;
    int64_t numKeyTiles = (keyLength + keyTile - 1) / keyTile;
    auto add = [](TileIntervals &row, int64_t tile, TileKind kind) {
      if (kind == TileKind::Empty)
        return;
      if (!row.empty() && row.back().end == tile && row.back().kind == kind)
        ++row.back().end;
      else
        row.push_back({tile, tile + 1, kind});
    };
    result.perQueryTile.resize(numQueryTiles);
    result.perKeyTile.resize(numKeyTiles);
    for (int64_t t = 0; t < numQueryTiles; ++t)
      for (int64_t u = 0; u < numKeyTiles; ++u) {
        TileKind kind = kindOf(queryTile, keyTile, t, u);
        add(result.perQueryTile[t], u, kind);
        add(result.perKeyTile[u], t, kind);
      }
    return result;
  }
};

} // namespace heddle

#endif // HEDDLE_UNITTESTS_ANALYSIS_MASKTESTSUPPORT_H
