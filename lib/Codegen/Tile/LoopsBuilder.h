//===- LoopsBuilder.h - loops of one op over its result ---------*- C++ -*-===//
//
// Shared by the parts of the builder of loop kernels. On a CPU blocks share an
// axis of the result and loop over the rest. On a GPU the grid has a second
// dimension, the threads of a block, and the threads share the elements:
// neighbouring threads take neighbouring elements, in steps of the grid.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_LIB_CODEGEN_TILE_LOOPSBUILDER_H
#define HEDDLE_LIB_CODEGEN_TILE_LOOPSBUILDER_H

#include "LoopsBody.h"
#include "heddle/Codegen/Tile/KernelBody.h"
#include "heddle/Codegen/Tile/TileBuilder.h"
#include "heddle/Dialect/Heddle/IR/Heddle.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/SmallBitVector.h"

namespace heddle {

/// A box of the result: positions offset + i * stride for i < size, per axis.
struct Box {
  llvm::SmallVector<int64_t> offsets, sizes, strides;

  static Box whole(llvm::ArrayRef<int64_t> shape) {
    return {llvm::SmallVector<int64_t>(shape.size(), 0),
            llvm::SmallVector<int64_t>(shape),
            llvm::SmallVector<int64_t>(shape.size(), 1)};
  }
};

/// Emits the loops of one op into a grid of blocks.
class LoopsBuilder {
public:
  LoopsBuilder(mlir::func::FuncOp kernel, mlir::Operation *op,
               const TileTarget &target)
      : kernel(kernel), op(op), target(target), b(kernel.getContext()),
        loc(op->getLoc()) {}
  mlir::LogicalResult build();

private:
  using Positions = mlir::ValueRange;

  mlir::LogicalResult generic(mlir::linalg::GenericOp generic);
  mlir::LogicalResult reduceInto(mlir::linalg::GenericOp generic);
  mlir::LogicalResult meetInElements(mlir::linalg::GenericOp generic,
                                     mlir::AffineMap map);
  mlir::LogicalResult inOrder(mlir::linalg::GenericOp generic);
  mlir::LogicalResult generate(mlir::tensor::GenerateOp generate);
  mlir::LogicalResult pad(mlir::tensor::PadOp pad);
  mlir::LogicalResult extractSlice(mlir::tensor::ExtractSliceOp slice);
  mlir::LogicalResult insertSlice(mlir::tensor::InsertSliceOp insert);
  mlir::LogicalResult concat(mlir::tensor::ConcatOp concat);
  mlir::LogicalResult gather(GatherOp gather);
  mlir::LogicalResult scatterAdd(ScatterAddOp scatter);
  void scatterByElement(ScatterAddOp scatter);
  void scatterByBlock(ScatterAddOp scatter);
  mlir::LogicalResult randomBits(RandomBitsOp random);

  /// Opens the grid for a result of `extents` whose elements take `points`
  /// steps in all; at least `minBlocks` blocks on a CPU.
  void openGrid(llvm::ArrayRef<int64_t> extents, int64_t points,
                int64_t minBlocks = 1);
  /// A grid of one block, with one thread.
  void openSingle();
  void makeGrid(llvm::ArrayRef<int64_t> sizes);
  /// Loops over what this block (or thread) has of a box; `body` gets i of each
  /// axis.
  void overBox(const Box &box, llvm::function_ref<void(Positions)> body);
  /// The same, with values that depend on the first `leading` axes alone made
  /// by `prefix`, outside of the loops over the others where there are such.
  void
  overBox(const Box &box, unsigned leading,
          llvm::function_ref<llvm::SmallVector<mlir::Value>(Positions)> prefix,
          llvm::function_ref<void(Positions, mlir::ValueRange)> body);
  /// Plain loops, all of them, around `body`.
  void nest(llvm::ArrayRef<int64_t> extents,
            llvm::function_ref<void(Positions)> body);
  /// Plain loops that carry values; `body` returns the next ones.
  llvm::SmallVector<mlir::Value>
  nest(llvm::ArrayRef<int64_t> extents, mlir::ValueRange start,
       llvm::function_ref<llvm::SmallVector<mlir::Value>(Positions,
                                                         mlir::ValueRange)>
           body);
  /// Positions in a row-major `shape` of element number `linear` (index).
  llvm::SmallVector<mlir::Value> positionsOf(mlir::Value linear,
                                             llvm::ArrayRef<int64_t> shape);

  mlir::LogicalResult write(mlir::Value source, mlir::Value dest,
                            const Box &box,
                            const llvm::SmallBitVector &dropped = {});
  llvm::FailureOr<llvm::SmallVector<mlir::Value>>
  body(mlir::linalg::GenericOp generic, Positions loops,
       mlir::ValueRange accumulators);
  /// An element in the type it is computed with. Nothing may depend on those of
  /// tensor.empty, so that zero does for them.
  mlir::Value element(mlir::Value tensor, Positions position);
  /// Whether a tensor is in memory, a splat or empty.
  bool isReadable(mlir::Value tensor);
  llvm::SmallVector<mlir::Value> at(mlir::AffineMap map, Positions loops);
  /// The row of `numRows` > 0 that an element of an index tensor names, as
  /// index, and whether there is one (null: always).
  std::pair<mlir::Value, mlir::Value> rowAt(mlir::Value indices,
                                            Positions position, int64_t numRows,
                                            IndexMode mode);

  mlir::Value index(int64_t value) {
    return mlir::arith::ConstantIndexOp::create(b, loc, value);
  }
  llvm::SmallVector<mlir::Value> indices(llvm::ArrayRef<int64_t> values) {
    return llvm::map_to_vector(values, [&](int64_t v) { return index(v); });
  }
  /// i1
  mlir::Value compare(mlir::arith::CmpIPredicate p, mlir::Value x,
                      mlir::Value y) {
    return mlir::arith::CmpIOp::create(b, loc, p, x, y);
  }
  mlir::Value both(mlir::Value x, mlir::Value y) {
    if (!x || !y)
      return x ? x : y;
    return mlir::arith::AndIOp::create(b, loc, x, y);
  }
  bool isGpu() const { return target.blockThreads > 1; }

  mlir::func::FuncOp kernel;
  mlir::Operation *op;
  const TileTarget &target;
  mlir::OpBuilder b;
  mlir::Location loc;
  // On a CPU: the axis that blocks share (-1: one block), the positions of one
  // block along it and this block's.
  int64_t sharedAxis = -1, chunk = 1;
  mlir::Value begin, end;
  // On a GPU: this thread's first element and the distance to its next one.
  mlir::Value first;
  int64_t step = 0;
};

} // namespace heddle

#endif // HEDDLE_LIB_CODEGEN_TILE_LOOPSBUILDER_H
