//===- TileBuilder.h - emits the ops of a tile program (contract T) -------===//
//
// A tile program is an scf.forall over the grid whose body works on static
// tensors, the tiles. Loads are tensor.extract_slice of a kernel argument,
// padded to the static tile size where the slice is ragged; stores are
// heddle.tile_store. See docs/architecture.md for the closed op list.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_CODEGEN_TILE_TILEBUILDER_H
#define HEDDLE_CODEGEN_TILE_TILEBUILDER_H

#include "heddle/Dialect/Heddle/IR/Heddle.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace heddle {

/// Where a tile lies along one axis of a buffer: a single position, or `size`
/// positions from `offset` on of an axis that is `extent` long.
struct AxisRange {
  mlir::Value offset;    // index; null stands for 0
  int64_t size = 1;      // of the tile
  int64_t extent = 1;    // of the buffer's axis
  bool isPoint = true;   // the tile has no axis for this one
  /// offset % size == 0 is known and size divides extent: never ragged.
  bool aligned = true;

  static AxisRange point(mlir::Value index, int64_t extent) {
    return {index, 1, extent, true, true};
  }
  static AxisRange tile(mlir::Value offset, int64_t size, int64_t extent) {
    return {offset, size, extent, false, extent % size == 0};
  }
};

/// Which left elements of a product mark an absent pair, one that contributes
/// nothing whatever the right element holds (a NaN there must not reach the sum).
enum class Guard { None, Negative, Zero };

/// Emits tile ops at a location through a builder that the caller positions.
class TileBuilder {
public:
  TileBuilder(mlir::OpBuilder &builder, mlir::Location loc)
      : b(builder), loc(loc) {}

  using BodyFn = llvm::function_ref<mlir::Value(mlir::OpBuilder &,
                                                mlir::ValueRange)>;

  mlir::Value index(int64_t value);
  mlir::Value constant(mlir::Type type, double value);
  /// a * scale + add on index values.
  mlir::Value mulAdd(mlir::Value a, int64_t scale, int64_t add = 0);

  /// A tile of `buffer` (a memref); axes in buffer order. Elements beyond the
  /// buffer's end are `pad`.
  mlir::Value load(mlir::Value buffer, llvm::ArrayRef<AxisRange> ranges,
                   double pad = 0.0);
  /// A splat tile.
  mlir::Value fill(llvm::ArrayRef<int64_t> shape, mlir::Type element,
                   double value);
  mlir::Value transpose(mlir::Value tile);

  /// An elementwise generic over a (rows, cols) or (rows) tile. `dims[i]` lists
  /// the iteration dims that input i has: {0, 1}, {0}, {1} or {}.
  mlir::Value elementwise(llvm::ArrayRef<mlir::Value> inputs,
                          llvm::ArrayRef<llvm::SmallVector<int64_t>> dims,
                          llvm::ArrayRef<int64_t> shape, mlir::Type element,
                          BodyFn body);
  /// Reduces the columns of a (rows, cols) tile into `init` (rows).
  mlir::Value reduceCols(mlir::Value tile, mlir::Value init, BodyFn combine);
  /// acc[r, c] += a[r, k] * b[k, c], or b[c, k] with `transposedB`.
  mlir::Value contract(mlir::Value a, mlir::Value bTile, mlir::Value acc,
                       bool transposedB, Guard guard = Guard::None);

  /// Stores a tile; ranges as in load. Elements beyond the end are dropped.
  void store(mlir::Value tile, mlir::Value buffer,
             llvm::ArrayRef<AxisRange> ranges);

  mlir::OpBuilder &b;
  mlir::Location loc;

private:
  llvm::DenseMap<mlir::Value, mlir::Value> tensorOf; // memref -> to_tensor
};

/// Tile sizes that a CPU (or later a GPU chip) wants.
struct TileTarget {
  int64_t lanes = 32;      // rows are tiled in multiples of this
  int64_t l2Bytes = 1 << 20; // cache of one core
  int64_t threads = 2;     // workers the grid should feed
  /// Threads that share a block of a loop kernel; 1 on a CPU.
  int64_t blockThreads = 1;
  /// Products take operands of 16 bits as they are in memory; else tiles are
  /// widened to f32 when they are loaded.
  bool matrixUnits = false;
  int64_t queryTile = 0, keyTile = 0; // of attention; 0: chosen by the builder
};

/// Builds the tile program of a kernel in place: reads the graph ops in the
/// kernel's body and replaces them. The kernel's arguments are memrefs, inputs
/// before outputs. Emits an error and fails where it cannot.
llvm::LogicalResult buildAttentionTile(mlir::func::FuncOp kernel,
                                       const TileTarget &target);
llvm::LogicalResult buildAttentionGradTile(mlir::func::FuncOp kernel,
                                           const TileTarget &target);
llvm::LogicalResult buildRowsTile(mlir::func::FuncOp kernel,
                                  const TileTarget &target);
llvm::LogicalResult buildScanTile(mlir::func::FuncOp kernel,
                                  const TileTarget &target);

/// Blocks that share the channels of a batch entry in the gradient of a
/// selective scan, each with its own part of the sums over channels.
int64_t selectiveScanParts(SelectiveScanGradOp op, const TileTarget &target);

} // namespace heddle

#endif // HEDDLE_CODEGEN_TILE_TILEBUILDER_H
