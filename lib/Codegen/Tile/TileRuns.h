//===- TileRuns.h - loops over the tiles that a mask leaves -----*- C++ -*-===//

#ifndef HEDDLE_LIB_CODEGEN_TILE_TILERUNS_H
#define HEDDLE_LIB_CODEGEN_TILE_TILERUNS_H

#include "heddle/Analysis/MaskTiling.h"
#include "heddle/Codegen/Tile/TileBuilder.h"

namespace heddle {

/// The tiles of one axis (inner) that a tile of the other axis (outer) visits.
struct TileRuns {
  llvm::ArrayRef<TileIntervals> perTile; // of the outer axis
  int64_t outerTile, innerTile;          // sizes in positions
  int64_t innerLength;                   // positions of the inner axis
  /// Every tile needs the mask: it depends on operands.
  bool allMixed = false;
};

/// Emits loops over the inner tiles of one kind for tile `outer`. A ragged last
/// tile is mixed, because its absent positions need the mask. `body` takes the
/// number of the inner tile and the carried tiles, and returns the new ones.
/// Bounds are plain where they are the same for all outer tiles, in closed form
/// where they are clamped lines, else they come from a table.
llvm::SmallVector<mlir::Value>
forTiles(TileBuilder &t, const TileRuns &runs, mlir::Value outer, TileKind kind,
         llvm::SmallVector<mlir::Value> state,
         llvm::function_ref<llvm::SmallVector<mlir::Value>(
             mlir::Value, llvm::ArrayRef<mlir::Value>)>
             body);

/// A loop over [begin, end) that carries tiles.
llvm::SmallVector<mlir::Value>
forRange(TileBuilder &t, mlir::Value begin, mlir::Value end,
         llvm::SmallVector<mlir::Value> state,
         llvm::function_ref<llvm::SmallVector<mlir::Value>(
             mlir::Value, llvm::ArrayRef<mlir::Value>)>
             body);

/// Whether the pair (i, j) is in the set, as i1. Positions are i32, which
/// vector units compare twice as fast as index, or index where `needsIndex`.
mlir::Value emitMaskTerm(mlir::OpBuilder &b, mlir::Location loc, MaskAttr mask,
                         mlir::Value i, mlir::Value j, int64_t queryLength,
                         int64_t keyLength);
/// Whether positions have to be index: affine sets divide and take remainders.
bool needsIndex(MaskAttr mask);

} // namespace heddle

#endif // HEDDLE_LIB_CODEGEN_TILE_TILERUNS_H
