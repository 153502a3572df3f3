//===- MaskTilingRows.cpp - tiles from the rows of a mask -----------------===//
//
// Every term sees, from one query, a short list of key ranges: one range for
// causal, window, prefix and block_diagonal, one per piece for an affine set.
// Unions and intersections of such lists are exact, and a tile is empty (full)
// when no (every) row of it touches (covers) it.
//
//===----------------------------------------------------------------------===//

#include "MaskTilingDetail.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <memory>

using namespace heddle;
using namespace heddle::detail;

bool heddle::detail::hasAffineSet(MaskAttr mask) {
  if (!mask)
    return false;
  return mask.getKind() == MaskKind::AffineSet ||
         llvm::any_of(mask.getTerms(), hasAffineSet);
}

namespace {
/// Evaluates the rows of one mask.
class RowEvaluator {
public:
  RowEvaluator(MaskAttr mask, const TileGrid &grid);

  /// Appends the keys in [begin, end) that query `i` sees.
  void ranges(int64_t i, int64_t begin, int64_t end, Ranges &out) const;

private:
  MaskAttr mask;
  int64_t queryLength, keyLength;
  MaskKind kind;
  /// The bounds of a term: below and above i, or a size.
  int64_t lower = 0, upper = 0;
  std::optional<QuasiAffine> set;
  std::vector<RowEvaluator> terms;
};
} // namespace

RowEvaluator::RowEvaluator(MaskAttr mask, const TileGrid &grid)
    : mask(mask), queryLength(grid.queryLength), keyLength(grid.keyLength),
      kind(mask.getKind()) {
  // No distance between positions exceeds this, so clamping bounds to it keeps
  // their meaning and avoids overflow.
  int64_t far = queryLength + keyLength;
  llvm::ArrayRef<int64_t> values = mask.getValues();
  switch (kind) {
  case MaskKind::Causal:
  case MaskKind::CausalUpperLeft:
    kind = MaskKind::Window;
    lower = far;
    break;
  case MaskKind::CausalLowerRight:
    kind = MaskKind::Window;
    lower = far;
    upper = keyLength - queryLength;
    break;
  case MaskKind::Window:
    lower = std::clamp(values[0], -far, far);
    upper = std::clamp(values[1], -far, far);
    break;
  case MaskKind::Prefix:
    upper = std::min(values[0], keyLength);
    break;
  case MaskKind::BlockDiagonal:
    upper = std::min(values[0], far);
    break;
  case MaskKind::AffineSet:
    set = QuasiAffine::fromIntegerSet(mask.getSet());
    if (set && !set->fitsIn64Bits(queryLength, keyLength))
      set.reset();
    break;
  case MaskKind::Union:
  case MaskKind::Intersection:
    for (MaskAttr term : mask.getTerms())
      terms.emplace_back(term, grid);
    break;
  }
}

void RowEvaluator::ranges(int64_t i, int64_t begin, int64_t end,
                          Ranges &out) const {
  auto append = [&](int64_t first, int64_t last) {
    appendRange(out, {std::max(first, begin), std::min(last, end)});
  };
  switch (kind) {
  case MaskKind::Prefix:
    return append(0, upper);
  case MaskKind::BlockDiagonal:
    return append(i / upper * upper, i / upper * upper + upper);
  case MaskKind::AffineSet:
    if (set)
      return set->ranges(i, begin, end, out);
    // Not quasi-affine in 64 bits: the definition itself.
    for (int64_t j = begin; j < end; ++j)
      if (mask.contains(i, j, queryLength, keyLength))
        append(j, j + 1);
    return;
  case MaskKind::Union:
  case MaskKind::Intersection: {
    Ranges all, next;
    terms.front().ranges(i, begin, end, all);
    for (const RowEvaluator &term : llvm::drop_begin(terms)) {
      next.clear();
      term.ranges(i, begin, end, next);
      all = kind == MaskKind::Union ? unite(all, next) : intersect(all, next);
    }
    for (const Range &range : all)
      appendRange(out, range);
    return;
  }
  default: // the causal kinds are windows
    return append(i - lower, i + upper + 1);
  }
}

namespace {
/// What is known of the key tiles of one query tile after some of its rows.
class TileRow {
public:
  explicit TileRow(const TileGrid &grid)
      : grid(grid), numTiles(grid.numKeyTiles()),
        touchedChange(numTiles + 1, 0), coveredChange(numTiles + 1, 0),
        partial(numTiles, false) {}

  void start() {
    std::fill(touchedChange.begin(), touchedChange.end(), 0);
    std::fill(coveredChange.begin(), coveredChange.end(), 0);
    std::fill(partial.begin(), partial.end(), false);
    undecided.assign(1, {0, numTiles});
    rows = 0;
  }

  /// Key tiles whose kind further rows can change.
  llvm::ArrayRef<Range> getUndecided() const { return undecided; }

  /// Adds the visible ranges of one row within the undecided tiles.
  void add(const Ranges &visible) {
    ++rows;
    for (const Range &range : visible) {
      int64_t first = range.begin / grid.keyTile;
      int64_t last = (range.end - 1) / grid.keyTile + 1;
      ++touchedChange[first];
      --touchedChange[last];
      bool reachesEnd =
          range.end == last * grid.keyTile || range.end == grid.keyLength;
      int64_t coveredBegin = first + (range.begin % grid.keyTile != 0);
      int64_t coveredEnd = reachesEnd ? last : last - 1;
      if (coveredBegin < coveredEnd) {
        ++coveredChange[coveredBegin];
        --coveredChange[coveredEnd];
      }
    }
  }

  /// Takes the tiles that are partial by now out of the undecided ones.
  void refresh() {
    undecided.clear();
    forEachTile([&](int64_t tile, TileKind kind) {
      partial[tile] = kind == TileKind::Partial;
      if (!partial[tile])
        appendRange(undecided, {tile, tile + 1});
    });
  }

  TileIntervals finish() const {
    IntervalBuilder result;
    forEachTile(
        [&](int64_t tile, TileKind kind) { result.add(tile, tile + 1, kind); });
    return result.take();
  }

private:
  template <typename Callback>
  void forEachTile(Callback callback) const {
    int64_t touched = 0, covered = 0;
    for (int64_t tile = 0; tile < numTiles; ++tile) {
      touched += touchedChange[tile];
      covered += coveredChange[tile];
      if (partial[tile])
        callback(tile, TileKind::Partial);
      else if (touched == 0)
        callback(tile, TileKind::Empty);
      else
        callback(tile, covered == rows ? TileKind::Full : TileKind::Partial);
    }
  }

  const TileGrid &grid;
  int64_t numTiles;
  /// Differences along the key tiles of the number of ranges that touch a tile
  /// and of rows that cover it. Ranges of a row do not touch one another, so a
  /// row covers a tile at most once.
  std::vector<int64_t> touchedChange, coveredChange;
  std::vector<char> partial;
  Ranges undecided;
  int64_t rows = 0;
};
} // namespace

void heddle::detail::tileByRows(
    MaskAttr mask, const TileGrid &grid,
    llvm::SmallVectorImpl<TileIntervals> &perQueryTile) {
  perQueryTile.clear();
  if (!mask) {
    TileIntervals all;
    if (grid.keyLength > 0)
      all.push_back({0, grid.numKeyTiles(), TileKind::Full});
    perQueryTile.assign(grid.numQueryTiles(), all);
    return;
  }
  // Rows with more ranges than this are worth a look for decided tiles.
  constexpr size_t kManyRanges = 16;
  RowEvaluator evaluator(mask, grid);
  TileRow tiles(grid);
  Ranges visible;
  for (int64_t begin = 0; begin < grid.queryLength; begin += grid.queryTile) {
    int64_t end = std::min(begin + grid.queryTile, grid.queryLength);
    tiles.start();
    for (int64_t i = begin; i < end && !tiles.getUndecided().empty(); ++i) {
      visible.clear();
      for (const Range &range : tiles.getUndecided())
        evaluator.ranges(i, range.begin * grid.keyTile,
                         std::min(range.end * grid.keyTile, grid.keyLength),
                         visible);
      tiles.add(visible);
      if (visible.size() > kManyRanges && llvm::isPowerOf2_64(i - begin + 1))
        tiles.refresh();
    }
    perQueryTile.push_back(tiles.finish());
  }
}
