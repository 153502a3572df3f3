//===- MaskTilingDetail.h - the two ways of analysing a mask ----*- C++ -*-===//
//
// Private to the mask analysis. Both ways fill the same table, exactly: one
// works on the rows of positions, the other on sets of tiles.
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

/// Why `tileBySets` gave up.
enum class SetOutcome { Done, TimedOut, Unsupported };

/// Fills one entry per query tile from sets of (query tile, key tile), found
/// with the Presburger library. Leaves `perQueryTile` unchanged when it gives
/// up: after `deadline`, or where a set is beyond what it handles.
SetOutcome tileBySets(MaskAttr mask, const TileGrid &grid,
                      std::chrono::steady_clock::time_point deadline,
                      llvm::SmallVectorImpl<TileIntervals> &perQueryTile);

} // namespace heddle::detail

#endif // HEDDLE_LIB_ANALYSIS_MASKTILINGDETAIL_H
