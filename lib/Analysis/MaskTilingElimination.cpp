//===- MaskTilingElimination.cpp - tiles as sets of their own -------------===//
//
// A tile (t, u) is not empty when some (i, j) of the visible set lies in it,
// and not full when some (i, j) of the hidden set does. The positions are
// existential variables that the Presburger library eliminates exactly: it
// writes the set of tiles with floor divisions of t and u only, by a symbolic
// lexicographic minimum. (Fourier-Motzkin elimination would be rational, hence
// wrong; so are, in LLVM 22, `IntegerRelation::simplify` on equalities without
// a unit coefficient and the lexicographic maximum with divisions.) The kinds
// along a query tile are then read off these divisions, at no cost per
// position.
//
//===----------------------------------------------------------------------===//

#include "MaskTilingDetail.h"

#include "mlir/Analysis/Presburger/PresburgerRelation.h"

using namespace heddle;
using namespace heddle::detail;
using namespace mlir::presburger;
using llvm::ArrayRef;
using llvm::SmallVector;
using Clock = std::chrono::steady_clock;

/// More divisions than this in one conjunction can take seconds, and the time
/// grows with the cube of the divisor: 2 ms for blocks of 97, 40 ms for 509, 3
/// s for 2003.
static constexpr unsigned kMaxDivisions = 3;
static constexpr int64_t kMaxDivisor = 256;

bool heddle::detail::canEliminate(const QuasiAffine &set) {
  return set.getNumDivisions() <= kMaxDivisions &&
         set.getLargestDivisor() <= kMaxDivisor && set.isDifferenceSet();
}

/// Appends to `tiles` conjunctions over (query tile, key tile) whose union
/// holds the tiles with a position of `positions`.
static SetOutcome eliminatePositions(const PositionSets &positions,
                                     const TileGrid &grid,
                                     Clock::time_point deadline,
                                     SmallVectorImpl<QuasiAffine> &tiles) {
  for (const QuasiAffine &position : positions) {
    if (Clock::now() >= deadline)
      return SetOutcome::TimedOut;
    IntegerRelation tile =
        position.toPolyhedron(grid.queryLength, grid.keyLength);
    // Dimensions (t, u, i, j) with T t <= i < T (t + 1), likewise for j and u.
    tile.insertVar(VarKind::SetDim, 0, 2);
    auto addTileBounds = [&](unsigned tileDim, unsigned positionDim,
                             int64_t size) {
      SmallVector<int64_t, 8> row(tile.getNumCols(), 0);
      row[positionDim] = 1;
      row[tileDim] = -size;
      tile.addInequality(row);
      row[positionDim] = -1;
      row[tileDim] = size;
      row.back() = size - 1;
      tile.addInequality(row);
    };
    addTileBounds(0, 2, grid.queryTile);
    addTileBounds(1, 3, grid.keyTile);
    tile.convertVarKind(VarKind::SetDim, 2, 4, VarKind::Local);
    PresburgerRelation eliminated = tile.computeReprWithOnlyDivLocals();
    for (const IntegerRelation &conjunction : eliminated.getAllDisjuncts()) {
      std::optional<QuasiAffine> set = QuasiAffine::fromPolyhedron(conjunction);
      if (!set || !set->fitsIn64Bits(grid.numQueryTiles(), grid.numKeyTiles()))
        return SetOutcome::Unsupported;
      tiles.push_back(std::move(*set));
    }
  }
  return SetOutcome::Done;
}

/// The key tiles of query tile `tile` in the union of `sets`.
static Ranges unionRow(ArrayRef<QuasiAffine> sets, int64_t tile,
                       int64_t numKeyTiles) {
  Ranges result, next;
  for (const QuasiAffine &set : sets) {
    next.clear();
    set.ranges(tile, 0, numKeyTiles, next);
    if (!next.empty())
      result = unite(result, next);
  }
  return result;
}

SetOutcome heddle::detail::tileByElimination(
    const PositionSets &visible, const PositionSets &hidden,
    const TileGrid &grid, Clock::time_point deadline,
    llvm::SmallVectorImpl<TileIntervals> &perQueryTile) {
  SmallVector<QuasiAffine, 8> notEmpty, notFull;
  SetOutcome outcome = eliminatePositions(visible, grid, deadline, notEmpty);
  if (outcome == SetOutcome::Done)
    outcome = eliminatePositions(hidden, grid, deadline, notFull);
  if (outcome != SetOutcome::Done)
    return outcome;

  SmallVector<TileIntervals> result;
  int64_t numKeyTiles = grid.numKeyTiles();
  for (int64_t tile = 0, e = grid.numQueryTiles(); tile < e; ++tile) {
    if (Clock::now() >= deadline)
      return SetOutcome::TimedOut;
    Ranges touched = unionRow(notEmpty, tile, numKeyTiles);
    Ranges partial = intersect(touched, unionRow(notFull, tile, numKeyTiles));
    Ranges full = intersect(touched, complement(partial, 0, numKeyTiles));
    TileIntervals &row = result.emplace_back();
    for (const Range &range : partial)
      row.push_back({range.begin, range.end, TileKind::Partial});
    for (const Range &range : full)
      row.push_back({range.begin, range.end, TileKind::Full});
    llvm::sort(row, [](const TileInterval &a, const TileInterval &b) {
      return a.begin < b.begin;
    });
  }
  perQueryTile = std::move(result);
  return SetOutcome::Done;
}
