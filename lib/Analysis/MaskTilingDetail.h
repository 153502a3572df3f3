//===- MaskTilingDetail.h - the ways of analysing a mask --------*- C++ -*-===//
//
// Private to the mask analysis. All ways fill the same table, exactly: from the
// rows of positions, from sets of tiles, or by splitting blocks of tiles.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_LIB_ANALYSIS_MASKTILINGDETAIL_H
#define HEDDLE_LIB_ANALYSIS_MASKTILINGDETAIL_H

#include "QuasiAffine.h"
#include "heddle/Analysis/MaskTiling.h"

#include <chrono>

namespace heddle::detail {

/// The lengths and tile sizes of one analysis.
struct TileGrid {
  int64_t queryLength, keyLength;
  int64_t queryTile, keyTile;
  int64_t numQueryTiles() const {
    return (queryLength + queryTile - 1) / queryTile;
  }
  int64_t numKeyTiles() const { return (keyLength + keyTile - 1) / keyTile; }
};

/// Whether `mask` (may be null) holds an affine_set anywhere.
bool hasAffineSet(MaskAttr mask);

/// Fills one entry per query tile from the visible key ranges of each query.
void tileByRows(MaskAttr mask, const TileGrid &grid,
                llvm::SmallVectorImpl<TileIntervals> &perQueryTile);

/// How an analysis by sets ended.
enum class SetOutcome { Done, TimedOut, Unsupported };

/// A union of conjunctions over positions (i, j).
using PositionSets = llvm::SmallVector<QuasiAffine, 4>;

/// The positions that `mask` (may be null) sees and those it hides;
/// conjunctions without a position in the grid are left out.
SetOutcome positionSets(MaskAttr mask, const TileGrid &grid,
                        std::chrono::steady_clock::time_point deadline,
                        PositionSets &visible, PositionSets &hidden);

/// Whether `tileByElimination` is quick on `set`; on others it may not end in
/// any useful time. They are difference sets with few and small divisors.
bool canEliminate(const QuasiAffine &set);

/// Fills one entry per query tile by eliminating the positions, which leaves
/// sets of (query tile, key tile).
SetOutcome
tileByElimination(const PositionSets &visible, const PositionSets &hidden,
                  const TileGrid &grid,
                  std::chrono::steady_clock::time_point deadline,
                  llvm::SmallVectorImpl<TileIntervals> &perQueryTile);

/// Fills one entry per query tile by splitting blocks of tiles until no
/// position of a block is visible, none is hidden, or it is a single tile.
SetOutcome tileByBlocks(const PositionSets &visible, const PositionSets &hidden,
                        const TileGrid &grid,
                        std::chrono::steady_clock::time_point deadline,
                        llvm::SmallVectorImpl<TileIntervals> &perQueryTile);

/// Collects the kinds of the tiles of a row, given in order.
class IntervalBuilder {
public:
  void add(int64_t begin, int64_t end, TileKind kind) {
    if (kind == TileKind::Empty || begin >= end)
      return;
    if (!intervals.empty() && intervals.back().end == begin &&
        intervals.back().kind == kind)
      intervals.back().end = end;
    else
      intervals.push_back({begin, end, kind});
  }
  TileIntervals take() { return std::move(intervals); }

private:
  TileIntervals intervals;
};

} // namespace heddle::detail

#endif // HEDDLE_LIB_ANALYSIS_MASKTILINGDETAIL_H
