//===- Access.h - where a loop point reads or writes ------------*- C++ -*-===//

#ifndef HEDDLE_RUNTIME_REFERENCE_ACCESS_H
#define HEDDLE_RUNTIME_REFERENCE_ACCESS_H

#include "TensorValue.h"

#include "mlir/IR/AffineMap.h"

namespace heddle::reference {

/// An indexing map on one tensor. Linear maps (sums of multiples of loop
/// indices, which covers convolutions) become one stride per loop; the rest
/// (floordiv, mod) is evaluated point by point.
struct Access {
  bool linear = true;
  int64_t base = 0;
  Shape strides; // elements per step of each loop; when linear
  mlir::AffineMap map;
  Shape shape, tensorStrides;

  /// The access of `map` to a tensor of `shape`.
  static Access get(mlir::AffineMap map, llvm::ArrayRef<int64_t> shape);
  /// The access to a splat: every point reads element 0.
  static Access splat(unsigned numLoops);

  /// Element offset of a loop point, or -1 outside the tensor.
  int64_t offset(llvm::ArrayRef<int64_t> point) const;
  /// Whether every point of the loops is inside the tensor. Exact for linear
  /// maps; true for others, which check each point.
  bool inBounds(llvm::ArrayRef<int64_t> loops) const;
};

/// The value of an affine expression of dims at a point.
int64_t evaluateExpr(mlir::AffineExpr expr, llvm::ArrayRef<int64_t> point);

} // namespace heddle::reference

#endif // HEDDLE_RUNTIME_REFERENCE_ACCESS_H
