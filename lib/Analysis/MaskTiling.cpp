//===- MaskTiling.cpp - which tiles of a mask are empty or full -----------===//

#include "heddle/Analysis/MaskTiling.h"
#include "MaskTilingDetail.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>

using namespace heddle;
using namespace heddle::detail;

/// The intervals of the other axis. A sweep over the rows keeps, per column,
/// where its current run began; work happens only where two neighbouring rows
/// differ, so it is linear in the number of intervals and of their changes.
static llvm::SmallVector<TileIntervals>
transpose(llvm::ArrayRef<TileIntervals> rows, int64_t numColumns) {
  llvm::SmallVector<TileIntervals> columns(numColumns);
  struct Run {
    int64_t begin = 0;
    TileKind kind = TileKind::Empty;
  };
  std::vector<Run> runs(numColumns);
  auto change = [&](int64_t column, int64_t row, TileKind kind) {
    Run &run = runs[column];
    if (run.kind == kind)
      return;
    if (run.kind != TileKind::Empty)
      columns[column].push_back({run.begin, row, run.kind});
    run = {row, kind};
  };
  const TileIntervals none;
  const TileIntervals *previous = &none;
  for (int64_t row = 0, e = rows.size(); row <= e; ++row) {
    const TileIntervals &current = row < e ? rows[row] : none;
    // Walks both lists over segments on which both kinds are constant.
    const TileInterval *a = previous->begin(), *b = current.begin();
    for (int64_t column = 0; column < numColumns;) {
      auto segment = [&](const TileInterval *&at, const TileInterval *end,
                         int64_t &limit) {
        while (at != end && at->end <= column)
          ++at;
        if (at == end)
          return TileKind::Empty;
        limit = std::min(limit, at->begin > column ? at->begin : at->end);
        return at->begin > column ? TileKind::Empty : at->kind;
      };
      int64_t limit = numColumns;
      TileKind before = segment(a, previous->end(), limit);
      TileKind after = segment(b, current.end(), limit);
      for (int64_t c = column; before != after && c < limit; ++c)
        change(c, row, after);
      column = limit;
    }
    previous = &current;
  }
  return columns;
}

static SetOutcome tileBySets(MaskAttr mask, const TileGrid &grid,
                             std::chrono::steady_clock::time_point deadline,
                             bool forceBlocks, MaskTiling &tiling) {
  PositionSets visible, hidden;
  SetOutcome outcome = positionSets(mask, grid, deadline, visible, hidden);
  if (outcome != SetOutcome::Done)
    return outcome;
  if (!forceBlocks && llvm::all_of(visible, canEliminate) &&
      llvm::all_of(hidden, canEliminate)) {
    tiling.method = TilingMethod::Elimination;
    outcome =
        tileByElimination(visible, hidden, grid, deadline, tiling.perQueryTile);
    if (outcome != SetOutcome::Unsupported)
      return outcome;
  }
  tiling.method = TilingMethod::Blocks;
  return tileByBlocks(visible, hidden, grid, deadline, tiling.perQueryTile);
}

MaskTiling heddle::analyzeMask(MaskAttr mask, int64_t queryLength,
                               int64_t keyLength, int64_t queryTile,
                               int64_t keyTile, mlir::Location loc,
                               const MaskTilingOptions &options) {
  MaskTiling tiling{queryLength, keyLength, queryTile, keyTile, {}, {}};
  if (queryTile < 1 || keyTile < 1 || queryLength < 0 || keyLength < 0) {
    mlir::emitError(loc) << "expected tiles of at least 1 position and lengths "
                            "of at least 0, got tiles "
                         << queryTile << "x" << keyTile << " and lengths "
                         << queryLength << "x" << keyLength
                         << "; pass static sizes";
    return tiling;
  }
  // A tile longer than the axis is that axis.
  TileGrid grid{queryLength, keyLength,
                std::min(queryTile, std::max<int64_t>(queryLength, 1)),
                std::min(keyTile, std::max<int64_t>(keyLength, 1))};
  bool bySets =
      !options.forceEnumeration &&
      (options.forceSets || options.forceBlocks || hasAffineSet(mask));
  SetOutcome outcome = SetOutcome::Unsupported;
  if (bySets) {
    auto cap = std::chrono::duration_cast<std::chrono::steady_clock::duration>(
        std::chrono::duration<double>(
            std::clamp(options.timeCapSeconds, 0.0, 1e6)));
    outcome = tileBySets(mask, grid, std::chrono::steady_clock::now() + cap,
                         options.forceBlocks, tiling);
    if (outcome == SetOutcome::TimedOut)
      mlir::emitRemark(loc)
          << "the set analysis of " << mask << " took longer than "
          << llvm::formatv("{0:f3}", options.timeCapSeconds).str()
          << " s; its tiles are enumerated row by row, which is exact too";
    else if (outcome == SetOutcome::Unsupported)
      mlir::emitRemark(loc)
          << "the set analysis does not handle " << mask
          << "; its tiles are enumerated row by row, which is exact too";
  }
  if (outcome != SetOutcome::Done) {
    tiling.method = TilingMethod::Rows;
    tileByRows(mask, grid, tiling.perQueryTile);
  }
  tiling.enumerated =
      options.forceEnumeration || (bySets && outcome != SetOutcome::Done);
  tiling.perKeyTile = transpose(tiling.perQueryTile, grid.numKeyTiles());
  return tiling;
}
