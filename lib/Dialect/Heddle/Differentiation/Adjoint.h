//===- Adjoint.h - gradients of structured ops ------------------*- C++ -*-===//

#ifndef HEDDLE_LIB_DIALECT_HEDDLE_DIFFERENTIATION_ADJOINT_H
#define HEDDLE_LIB_DIALECT_HEDDLE_DIFFERENTIATION_ADJOINT_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace heddle {

/// A value that a loop nest reads at `map` of its loops.
struct LoopOperand {
  mlir::Value value;
  mlir::AffineMap map;
};

/// A generic op under construction: operands, a body whose arguments are their
/// elements and the accumulator last, and what it writes.
struct LoopNest {
  mlir::SmallVector<LoopOperand> inputs;
  mlir::SmallVector<int64_t> sizes; // of the loops
  std::unique_ptr<mlir::Block> body = std::make_unique<mlir::Block>();
  mlir::AffineMap outMap; // a projected permutation when it is created

  mlir::BlockArgument element(unsigned input) {
    return body->getArgument(input);
  }
};

/// Removes ops of a body that nothing but `wanted` needs.
void eraseDead(mlir::Block &body, mlir::Value wanted);
/// The same, and then inputs that nobody reads.
void removeUnused(LoopNest &nest, mlir::Value contribution);

/// What is added up over `nest` for the element that `outMap` names. Removes
/// what the body does not need, orders loops as the result has its axes, and
/// adds over loops that the result lacks.
mlir::Value createSum(mlir::OpBuilder &builder, mlir::Location loc,
                      LoopNest &nest, mlir::Value contribution);

/// Rewrites `nest`, which writes at positions `outMap` that are not all plain
/// loops, so that each element of the output gathers its contributions: where
/// the forward op reads x[s*o + d*k], a loop over the elements i of x takes the
/// place of o, and operands that o indexes are spread with stride s and padded
/// with zeros, read at i - d*k (docs/differentiation.md). `outShape` is the
/// shape of x. Fails where the result would count a padded position.
llvm::LogicalResult gatherWindows(mlir::OpBuilder &builder, mlir::Location loc,
                                  LoopNest &nest,
                                  llvm::ArrayRef<int64_t> outShape,
                                  mlir::Value contribution);

/// The gradient of `operand` of `op`, given cotangents of its results (null:
/// zero), of which at least one is there. Null where it is zero. Emits an error
/// at the op where there is none.
mlir::FailureOr<mlir::Value>
differentiateGeneric(mlir::OpBuilder &builder, mlir::linalg::GenericOp op,
                     llvm::ArrayRef<mlir::Value> cotangents,
                     mlir::OpOperand &operand);

/// An elementwise or reducing generic for rules written by hand: `maps` index
/// the inputs, `outMap` the result of `shape` and `element`; the body yields
/// what is stored or, with reductions, added.
mlir::Value
buildGeneric(mlir::OpBuilder &builder, mlir::Location loc,
             llvm::ArrayRef<LoopOperand> inputs, llvm::ArrayRef<int64_t> sizes,
             mlir::AffineMap outMap,
             llvm::function_ref<mlir::Value(mlir::OpBuilder &,
                                            mlir::Block::BlockArgListType)>
                 body);

/// The sum of all elements, of rank 0 and in the type of `value`.
mlir::Value sumAll(mlir::OpBuilder &builder, mlir::Location loc,
                   mlir::Value value);

} // namespace heddle

#endif // HEDDLE_LIB_DIALECT_HEDDLE_DIFFERENTIATION_ADJOINT_H
