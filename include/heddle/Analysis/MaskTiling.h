//===- MaskTiling.h - which tiles of a mask are empty or full ---*- C++ -*-===//
//
// Static masks are integer sets over (query, key) positions. For tiles of the
// score matrix this analysis tells, per query tile and per key tile, which
// tiles of the other axis hold nothing, are wholly visible, or are mixed.
// Pure functions; the sets are handled with MLIR's Presburger library.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_ANALYSIS_MASKTILING_H
#define HEDDLE_ANALYSIS_MASKTILING_H

#include "heddle/Dialect/Heddle/IR/Heddle.h"

#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <optional>

namespace heddle {

enum class TileKind : uint8_t { Empty, Partial, Full };

/// Tiles [begin, end) of the other axis, all of one kind.
struct TileInterval {
  int64_t begin;
  int64_t end;
  TileKind kind;
  bool operator==(const TileInterval &o) const {
    return begin == o.begin && end == o.end && kind == o.kind;
  }
};

/// Sorted, disjoint, maximal intervals; empty ones are left out.
using TileIntervals = llvm::SmallVector<TileInterval, 4>;

/// How a table was found; all ways are exact.
enum class TilingMethod : uint8_t {
  Rows,        ///< the visible key ranges of every query
  Elimination, ///< sets of tiles, the positions eliminated from them
  Blocks       ///< blocks of tiles, split until uniform
};

/// The tiling of one mask at one tile size.
struct MaskTiling {
  int64_t queryLength, keyLength; // Sq, Sk
  int64_t queryTile, keyTile;     // tile sizes in positions
  /// perQueryTile[t]: intervals of key tiles for query tile t.
  llvm::SmallVector<TileIntervals> perQueryTile;
  /// perKeyTile[t]: intervals of query tiles for key tile t.
  llvm::SmallVector<TileIntervals> perKeyTile;
  TilingMethod method = TilingMethod::Rows;
  /// Whether rows were enumerated because the set analysis gave up (or
  /// enumeration was forced).
  bool enumerated = false;
};

struct MaskTilingOptions {
  /// Seconds after which the symbolic analysis gives up and enumerates.
  double timeCapSeconds = 1.0;
  /// Enumerate at once; for tests.
  bool forceEnumeration = false;
  /// Analyse symbolically also where the rows of the mask are simple enough to
  /// be read directly; for tests.
  bool forceSets = false;
  /// As forceSets, and split blocks of tiles also where the positions could be
  /// eliminated; for tests.
  bool forceBlocks = false;
};

/// Analyses `mask` (null: everything visible). Positions beyond Sq or Sk do not
/// exist: a ragged last tile is full when all of its existing pairs are
/// visible. Masks without an affine_set are read row by row; others are
/// analysed as sets, and row by row with a remark at `loc` when the time cap
/// was hit. A tile size below 1 or a negative length is an error at `loc`, with
/// an empty tiling.
MaskTiling analyzeMask(MaskAttr mask, int64_t queryLength, int64_t keyLength,
                       int64_t queryTile, int64_t keyTile, mlir::Location loc,
                       const MaskTilingOptions &options = {});

/// clamp((coefficient * t + offset) floordiv divisor, lower, upper) of a tile
/// number t; divisor > 0.
struct AffineTileBound {
  int64_t coefficient = 0;
  int64_t offset = 0;
  int64_t divisor = 1;
  int64_t lower = 0;
  int64_t upper = 0;
  int64_t at(int64_t t) const;
};

/// Loop bounds, in tiles of the other axis, of tile t:
///
///   vb = begin(t), ve = max(end(t), vb)                      visible
///   fb = clamp(fullBegin(t), vb, ve), fe = clamp(fullEnd(t), fb, ve)  full
///
/// [vb, fb) and [fe, ve) are partial, [fb, fe) is full, all else is empty. Any
/// of the three may be empty.
struct AffineTileBounds {
  AffineTileBound begin, end, fullBegin, fullEnd;
  /// The intervals of tile t that the bounds stand for.
  TileIntervals at(int64_t t) const;
  /// Whether some tile in [0, numTiles) has a partial run before (after) its
  /// full one. A run of a tile without full ones counts as after.
  bool hasLeadingPartial(int64_t numTiles) const;
  bool hasTrailingPartial(int64_t numTiles) const;
};

/// Finds bounds that reproduce `tiles` (perQueryTile or perKeyTile of a
/// MaskTiling) exactly, or returns nullopt: where a tile has a hole or two full
/// runs, or where a bound is no clamped line. Slopes found are the simplest
/// fractions that fit. `tile` and `otherTile` are the sizes, in positions, of
/// the tiles numbered by `tiles` and of those in its intervals (both at least
/// 1): they give the slope of the diagonal, which windows with scattered full
/// tiles need.
std::optional<AffineTileBounds>
findAffineBounds(llvm::ArrayRef<TileIntervals> tiles, int64_t tile,
                 int64_t otherTile);

} // namespace heddle

#endif // HEDDLE_ANALYSIS_MASKTILING_H
