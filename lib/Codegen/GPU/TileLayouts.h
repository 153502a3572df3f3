//===- TileLayouts.h - a layout for every tile of a kernel ------*- C++ -*-===//

#ifndef HEDDLE_LIB_CODEGEN_GPU_TILELAYOUTS_H
#define HEDDLE_LIB_CODEGEN_GPU_TILELAYOUTS_H

#include "heddle/Dialect/HeddleGpu/IR/Fragments.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/MapVector.h"

#include <deque>

namespace heddle {

/// A product of tiles: 3 loops, the last of which is summed.
bool isTileContraction(mlir::linalg::GenericOp op);

/// Iteration dims of each tile dim of an operand of an elementwise op or a
/// reduction: {0, 1}, {0}, {1} or {}.
llvm::SmallVector<int64_t> operandDims(mlir::linalg::GenericOp op,
                                       mlir::OpOperand &operand);

/// Chooses layouts: those of products' accumulators first, then of what is
/// computed from and for them, then blocked ones for the rest.
class TileLayouts {
public:
  /// With `tf32` products of f32 are formed by the matrix unit.
  TileLayouts(mlir::scf::ForallOp grid, int64_t warps, bool tf32);

  /// Fails with an error at a product that no layout fits.
  llvm::LogicalResult run();

  heddle_gpu::ProductKind kindOf(mlir::linalg::GenericOp contraction);
  /// The layout of a tile.
  const heddle_gpu::Layout &of(mlir::Value v);
  /// A layout in which rows stay inside a warp.
  heddle_gpu::Layout rowsLayout(mlir::RankedTensorType type);

private:
  llvm::LogicalResult assignAccumulator(mlir::linalg::GenericOp op);
  void assign(mlir::Value v, const heddle_gpu::Layout &layout);
  void propagate();
  void toUsers(mlir::Value v, const heddle_gpu::Layout &layout);
  void toDefinition(mlir::Value v, const heddle_gpu::Layout &layout);

  mlir::scf::ForallOp grid;
  int64_t warps;
  bool tf32;
  bool byRows = false; // warps split products along their rows only
  llvm::DenseMap<mlir::Value, heddle_gpu::Layout> layouts;
  std::deque<mlir::Value> work;
};

/// The accumulator of a product by fused multiply-adds, its rows among warpsM
/// warps and its columns among warpsN.
heddle_gpu::Layout fmaAccumulator(int64_t rows, int64_t cols, int64_t warpsM,
                                  int64_t warpsN);

} // namespace heddle

#endif // HEDDLE_LIB_CODEGEN_GPU_TILELAYOUTS_H
