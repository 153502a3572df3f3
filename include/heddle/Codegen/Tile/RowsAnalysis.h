//===- RowsAnalysis.h - what can be made row by row -------------*- C++ -*-===//
//
// Shared by fusion (which ops may go into one kernel, which input a kernel may
// write over) and the rows tile builder (which axes become rows and columns).
// Pure functions on graph ops.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_CODEGEN_TILE_ROWSANALYSIS_H
#define HEDDLE_CODEGEN_TILE_ROWSANALYSIS_H

#include "heddle/Codegen/Tile/TileBuilder.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

#include <optional>

namespace heddle {

/// Loop numbers of a contraction out[.., m, .., n] += left[.., m, k] *
/// right[k, n]; further parallel loops are batch axes or leading rows, further
/// reduction loops go round the one over k.
struct RowsContraction {
  unsigned m, n, k;
  llvm::SmallVector<unsigned, 2> outer;
};

/// Where elements of an operand's axis lie: at the position of loop `dim`, or of
/// `dim` in part number `part`, each `partSize` long; `offset` further on.
struct OperandAxis {
  unsigned dim = 0;
  int part = -1; // a loop
  int64_t partSize = 0, offset = 0;

  bool isPlain() const { return part < 0 && offset == 0; }
};

/// Reads one result of an operand's map; nullopt where it has another form.
std::optional<OperandAxis> matchOperandAxis(mlir::AffineExpr e,
                                            unsigned numDims);

/// Longest row that stays on chip between its reduction and what reads it again.
constexpr int64_t kMaxRowLength = 8192;

/// The reduction loop that becomes columns of tiles; others go round it.
unsigned innerReduction(mlir::linalg::GenericOp op);

/// The op of the body that joins the value so far (the last block argument) and
/// the next one, if it is associative and a constant is neutral to it; else
/// null.
mlir::Operation *matchCombiner(mlir::linalg::GenericOp op);

/// Matches linalg.generic with a multiply-add body (extensions allowed), one
/// loop that only the right operand and the result have, and the left operand
/// first.
std::optional<RowsContraction> matchRowsContraction(mlir::linalg::GenericOp op);
bool isRowsContraction(mlir::linalg::GenericOp op);

/// A generic with one result, projected-permutation maps, an elementwise body
/// without index access. A reduction may read parts of an axis (OperandAxis).
bool isRowsGeneric(mlir::linalg::GenericOp op);

/// Whether a contraction / a row reduction lies between v and the kernel's
/// inputs.
bool hasContraction(mlir::Value v);
bool hasReductionOver(mlir::Value v);

/// Axes of the result that become rows and columns (-1: none) and tile sizes.
struct RowsShape {
  int64_t row = -1, col = -1;
  int64_t rowTile = 1, colTile = 1;
  int64_t depthTile = 256;  // of a contraction's reduction axis
  int64_t hiddenTile = 128; // of the hidden axis between two contractions
  int64_t reduceTile = 0;   // columns at a time of what is reduced; 0: all
  /// Rows that are whole have a power of two of columns; those beyond the end
  /// are left out of reductions.
  bool padColumns = false;
  bool colsInside = false;  // one block makes all columns of its rows
  int64_t warps = 0;        // of a block on a GPU; 0: the default
  int64_t stages = 0;       // of copies on a GPU; 0: the default
};

/// Chooses for a kernel with result `root`; nullopt where some op cannot be
/// tiled. Values for which `isInput` holds end the walk; by default those that
/// are read from buffers or are block arguments.
std::optional<RowsShape> chooseRowsShape(mlir::Value root,
                                         const TileTarget &target);

/// Whether a kernel with result `root` may write over `input`, a value that it
/// reads: each block must read of it only what that block writes.
bool mayWriteOver(mlir::Value root, mlir::Value input, const TileTarget &target);

/// Whether result `root` of a kernel of elementwise results of one shape may
/// write over `input`: every result must read of it only the element that it
/// makes itself.
bool mayWriteOver(llvm::ArrayRef<mlir::Value> roots, mlir::Value root,
                  mlir::Value input, const TileTarget &target);

} // namespace heddle

#endif // HEDDLE_CODEGEN_TILE_ROWSANALYSIS_H
