//===- MaskTilingSets.cpp - tiles from Presburger sets --------------------===//
//
// The visible pairs of positions form a set V; the existing pairs that are not
// visible its complement. A tile (t, u) is not empty when some (i, j) of V lies
// in it, and not full when some (i, j) of the complement does. The positions
// are existential variables that the library eliminates exactly: it writes the
// set of tiles with floor divisions of t and u only, by a symbolic
// lexicographic minimum. (Fourier-Motzkin elimination would be rational, hence
// wrong.) The kinds along a query tile are then read off these divisions.
//
// The library cannot be interrupted, so its work is cut into steps, one
// conjunction at a time, and a step is not begun after the deadline.
//
//===----------------------------------------------------------------------===//

#include "MaskTilingDetail.h"

#include "mlir/Analysis/Presburger/PresburgerRelation.h"

#include <algorithm>

using namespace heddle;
using namespace heddle::detail;
using namespace mlir::presburger;
using llvm::SmallVector;
using Clock = std::chrono::steady_clock;

namespace {
class SetAnalysis {
public:
  SetAnalysis(const TileGrid &grid, Clock::time_point deadline)
      : grid(grid), deadline(deadline) {}

  SetOutcome run(MaskAttr mask,
                 llvm::SmallVectorImpl<TileIntervals> &perQueryTile);

private:
  using Sets = SmallVector<QuasiAffine, 4>;

  std::optional<PresburgerSet> visibleSet(MaskAttr mask);
  std::optional<PresburgerSet> subtract(PresburgerSet from,
                                        const PresburgerSet &what);
  bool tilesOf(const PresburgerSet &positions, Sets &tiles);

  /// Whether one more step may begin, on `size` conjunctions.
  bool mayGoOn(unsigned size) {
    if (Clock::now() >= deadline)
      outcome = SetOutcome::TimedOut;
    else if (size > kMaxConjunctions)
      outcome = SetOutcome::Unsupported;
    return outcome == SetOutcome::Done;
  }

  /// Sets with more conjunctions than this cost more than the rows do.
  static constexpr unsigned kMaxConjunctions = 256;

  const TileGrid &grid;
  Clock::time_point deadline;
  SetOutcome outcome = SetOutcome::Done;
};
} // namespace

/// The positions that exist.
static PresburgerSet allPositions(const TileGrid &grid) {
  IntegerPolyhedron box(PresburgerSpace::getSetSpace(2));
  box.addInequality({1, 0, 0});
  box.addInequality({-1, 0, grid.queryLength - 1});
  box.addInequality({0, 1, 0});
  box.addInequality({0, -1, grid.keyLength - 1});
  return PresburgerSet(box);
}

/// The set of a term without children.
static std::optional<IntegerPolyhedron> leafSet(MaskAttr mask,
                                                const TileGrid &grid) {
  int64_t far = grid.queryLength + grid.keyLength;
  llvm::ArrayRef<int64_t> values = mask.getValues();
  QuasiAffine set;
  switch (mask.getKind()) {
  case MaskKind::Causal:
  case MaskKind::CausalUpperLeft:
    set.addConstraint({1, -1, 0}, /*isEquality=*/false);
    break;
  case MaskKind::CausalLowerRight:
    set.addConstraint({1, -1, grid.keyLength - grid.queryLength}, false);
    break;
  case MaskKind::Window:
    set.addConstraint({-1, 1, std::clamp(values[0], -far, far)}, false);
    set.addConstraint({1, -1, std::clamp(values[1], -far, far)}, false);
    break;
  case MaskKind::Prefix:
    set.addConstraint({0, -1, std::min(values[0], far) - 1}, false);
    break;
  case MaskKind::BlockDiagonal: {
    int64_t size = std::min(values[0], far);
    unsigned block = set.addDivision({1, 0, 0}, size);
    QuasiAffine::Row first(block + 1, 0), last(block + 1, 0);
    first[1] = 1; // j - size * block >= 0
    first[block] = -size;
    last[1] = -1; // size * block + size - 1 - j >= 0
    last[2] = size - 1;
    last[block] = size;
    set.addConstraint(first, false);
    set.addConstraint(last, false);
    break;
  }
  default: {
    std::optional<QuasiAffine> affine =
        QuasiAffine::fromIntegerSet(mask.getSet());
    if (!affine || !affine->fitsIn64Bits(grid.queryLength, grid.keyLength))
      return std::nullopt;
    set = std::move(*affine);
    break;
  }
  }
  return set.toPolyhedron();
}

/// The existing positions that `mask` sees.
std::optional<PresburgerSet> SetAnalysis::visibleSet(MaskAttr mask) {
  if (!mask)
    return allPositions(grid);
  bool isUnion = mask.getKind() == MaskKind::Union;
  if (!isUnion && mask.getKind() != MaskKind::Intersection) {
    std::optional<IntegerPolyhedron> leaf = leafSet(mask, grid);
    if (!leaf) {
      outcome = SetOutcome::Unsupported;
      return std::nullopt;
    }
    return allPositions(grid).intersect(PresburgerSet(*leaf));
  }
  std::optional<PresburgerSet> result;
  for (MaskAttr term : mask.getTerms()) {
    std::optional<PresburgerSet> next = visibleSet(term);
    if (!next)
      return std::nullopt;
    if (!result) {
      result = std::move(next);
      continue;
    }
    unsigned size = isUnion
                        ? result->getNumDisjuncts() + next->getNumDisjuncts()
                        : result->getNumDisjuncts() * next->getNumDisjuncts();
    if (!mayGoOn(size))
      return std::nullopt;
    result = isUnion ? result->unionSet(*next) : result->intersect(*next);
  }
  return result;
}

/// `from` without `what`, one conjunction at a time.
std::optional<PresburgerSet> SetAnalysis::subtract(PresburgerSet from,
                                                   const PresburgerSet &what) {
  for (const IntegerRelation &conjunction : what.getAllDisjuncts()) {
    PresburgerSet next = PresburgerSet::getEmpty(from.getSpace());
    for (const IntegerRelation &part : from.getAllDisjuncts()) {
      if (!mayGoOn(next.getNumDisjuncts()))
        return std::nullopt;
      next.unionInPlace(
          PresburgerRelation(part).subtract(PresburgerRelation(conjunction)));
    }
    from = std::move(next);
  }
  return from;
}

/// Adds to `tiles` conjunctions over (query tile, key tile) whose union holds
/// the tiles with a position of `positions`.
bool SetAnalysis::tilesOf(const PresburgerSet &positions, Sets &tiles) {
  for (IntegerRelation tile : positions.getAllDisjuncts()) {
    if (!mayGoOn(tiles.size()))
      return false;
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
    tile.simplify();
    PresburgerRelation eliminated = tile.computeReprWithOnlyDivLocals();
    for (const IntegerRelation &conjunction : eliminated.getAllDisjuncts()) {
      std::optional<QuasiAffine> set = QuasiAffine::fromPolyhedron(conjunction);
      if (!set ||
          !set->fitsIn64Bits(grid.numQueryTiles(), grid.numKeyTiles())) {
        outcome = SetOutcome::Unsupported;
        return false;
      }
      tiles.push_back(std::move(*set));
    }
  }
  return true;
}

/// The key tiles of query tile `tile` in the union of `sets`.
static Ranges unionRow(llvm::ArrayRef<QuasiAffine> sets, int64_t tile,
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

SetOutcome
SetAnalysis::run(MaskAttr mask,
                 llvm::SmallVectorImpl<TileIntervals> &perQueryTile) {
  std::optional<PresburgerSet> visible = visibleSet(mask);
  if (!visible)
    return outcome;
  std::optional<PresburgerSet> hidden = subtract(allPositions(grid), *visible);
  if (!hidden)
    return outcome;
  Sets notEmpty, notFull;
  if (!tilesOf(*visible, notEmpty) || !tilesOf(*hidden, notFull))
    return outcome;

  SmallVector<TileIntervals> result;
  int64_t numKeyTiles = grid.numKeyTiles();
  for (int64_t tile = 0, e = grid.numQueryTiles(); tile < e; ++tile) {
    if (!mayGoOn(0))
      return outcome;
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

SetOutcome
heddle::detail::tileBySets(MaskAttr mask, const TileGrid &grid,
                           std::chrono::steady_clock::time_point deadline,
                           llvm::SmallVectorImpl<TileIntervals> &perQueryTile) {
  return SetAnalysis(grid, deadline).run(mask, perQueryTile);
}
