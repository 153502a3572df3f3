//===- RowsBuilder.h - tiles of values that are made row by row -*- C++ -*-===//
//
// Shared by the parts of the builder of matmul, mlp, rows and elementwise
// kernels: RowsTile.cpp opens the grid and asks for tiles of the results,
// RowsGeneric.cpp makes those of elementwise ops and reductions, RowsProducts.cpp
// those of contractions.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_LIB_CODEGEN_TILE_ROWSBUILDER_H
#define HEDDLE_LIB_CODEGEN_TILE_ROWSBUILDER_H

#include "heddle/Codegen/Tile/RowsAnalysis.h"
#include "heddle/Codegen/Tile/TileBuilder.h"

#include <optional>
#include <tuple>

namespace heddle {

/// A range of one axis of a graph value, and the tile axis that it becomes:
/// 0 rows, 1 columns, -1 none.
struct TileDim {
  AxisRange range;
  int axis = -1;

  static TileDim point(mlir::Value index, int64_t extent) {
    return {AxisRange::point(index, extent), -1};
  }
  static TileDim tile(mlir::Value offset, int64_t size, int64_t extent,
                      int axis) {
    return {AxisRange::tile(offset, size, extent), axis};
  }
  bool sameAs(const TileDim &o) const {
    return axis == o.axis && range.offset == o.range.offset &&
           range.size == o.range.size;
  }
};
using TileDims = llvm::SmallVector<TileDim, 4>;

class RowsBuilder {
public:
  RowsBuilder(mlir::func::FuncOp kernel, const TileTarget &target,
              mlir::OpBuilder &b)
      : kernel(kernel), target(target), t(b, kernel.getLoc()), b(b),
        loc(kernel.getLoc()) {}
  void build(llvm::ArrayRef<mlir::Value> roots, const RowsShape &shape);

private:
  /// A tile of v, emitted once for equal `dims`.
  mlir::Value get(mlir::Value v, const TileDims &dims);
  mlir::Value leaf(mlir::Value buffer, const TileDims &dims);
  std::optional<double> constantFill(mlir::Value v);
  llvm::SmallVector<int64_t> tileShape(const TileDims &dims);
  /// A range of all columns of a row.
  TileDim whole(int64_t length) const;
  /// The dims of an operand, from those of the iteration space.
  TileDims project(mlir::OpOperand &operand, llvm::ArrayRef<TileDim> loops);
  /// A loop round `body`, which gets the iteration and the value so far; tiles
  /// that it makes leave with it.
  mlir::Value loop(int64_t trips, mlir::Value start,
                   llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)>
                       body);

  mlir::Value generic(mlir::linalg::GenericOp op, const TileDims &dims);
  mlir::Value elementwise(mlir::linalg::GenericOp op, const TileDims &dims,
                          llvm::ArrayRef<TileDim> loops);
  mlir::Value reduceTile(mlir::linalg::GenericOp op,
                         llvm::ArrayRef<TileDim> loops, mlir::Value init);
  mlir::Value termsInside(
      mlir::linalg::GenericOp op, llvm::ArrayRef<TileDim> loops,
      llvm::ArrayRef<mlir::Value> inputs,
      llvm::ArrayRef<llvm::SmallVector<int64_t>> dims,
      llvm::ArrayRef<bool> isRead);
  mlir::Value reduceInner(mlir::linalg::GenericOp op,
                          llvm::ArrayRef<TileDim> loops, mlir::Value init);
  /// Emits ahead of a loop everything below `v` that does not depend on the
  /// loop: `unknown[i]` says that axis i of v gets a range that only the loop
  /// knows.
  void prefetch(mlir::Value v, const TileDims &dims,
                llvm::ArrayRef<bool> unknown);

  mlir::Value contraction(mlir::linalg::GenericOp op, const TileDims &dims);
  mlir::Value convert(mlir::Value tile, mlir::Type to);
  mlir::Value depthStep(mlir::linalg::GenericOp op, const RowsContraction &c,
                        llvm::ArrayRef<TileDim> loops, mlir::Value offset,
                        int64_t size, mlir::Value acc, bool ragged);
  mlir::Value depthLoop(mlir::linalg::GenericOp op, const RowsContraction &c,
                        llvm::ArrayRef<TileDim> loops, mlir::Value acc);

  mlir::func::FuncOp kernel;
  TileTarget target;
  TileBuilder t;
  mlir::OpBuilder &b;
  mlir::Location loc;
  RowsShape shape;
  /// Tiles already emitted; entries made inside a loop leave with it.
  llvm::SmallVector<std::tuple<mlir::Value, TileDims, mlir::Value>> made;
};

} // namespace heddle

#endif // HEDDLE_LIB_CODEGEN_TILE_ROWSBUILDER_H
