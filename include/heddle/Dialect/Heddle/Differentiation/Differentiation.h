//===- Differentiation.h - reverse mode on contract M -----------*- C++ -*-===//
//
// The rules of ops (DifferentiableOpInterface) and the sweep that chains them.
// docs/differentiation.md says what is differentiated and how.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_DIALECT_HEDDLE_DIFFERENTIATION_DIFFERENTIATION_H
#define HEDDLE_DIALECT_HEDDLE_DIFFERENTIATION_DIFFERENTIATION_H

#include "mlir/IR/Builders.h"

namespace heddle {

/// Adds the rules of all ops of contract M as external models. They create ops
/// of arith, heddle, linalg, math and tensor, which the caller loads.
void registerDifferentiation(mlir::DialectRegistry &registry);

/// The float values of `block` that depend on `inputs`, these included.
llvm::DenseSet<mlir::Value> activeValues(mlir::Block &block,
                                         mlir::ValueRange inputs);

/// Reverse sweep over the ops of `block`: from cotangents of some of its values
/// to gradients of others.
///
/// `outputs` and `inputs` are values defined in the block or its arguments;
/// `cotangents` has the cotangent of each output, null where it is zero. The
/// code is written at `builder`, which all values of the block dominate.
/// `gradients` gets one value per input, null where it is zero. Only ops
/// between an input and an output with a cotangent are differentiated. Fails
/// with an error at the op that cannot be; its notes are the path to the
/// output.
llvm::LogicalResult
differentiateBlock(mlir::OpBuilder &builder, mlir::Block &block,
                   mlir::ValueRange inputs, mlir::ValueRange outputs,
                   llvm::ArrayRef<mlir::Value> cotangents,
                   llvm::SmallVectorImpl<mlir::Value> &gradients);

//===----------------------------------------------------------------------===//
// What rules are written with. Types are float scalars or static tensors.
//===----------------------------------------------------------------------===//

/// f32 for 16-bit floats, else `element`: what sums are formed in.
mlir::Type accumulatorOf(mlir::Type element);
/// `type` with another element type.
mlir::Type withElement(mlir::Type type, mlir::Type element);

/// A tensor (or scalar) of `type` with all elements `value`.
mlir::Value constantLike(mlir::OpBuilder &builder, mlir::Location loc,
                         mlir::Type type, double value);
mlir::Value zeros(mlir::OpBuilder &builder, mlir::Location loc,
                  mlir::Type type);

/// The op that casts each element where `value` was made by a cast of floats and
/// nothing else, on tensors or in the body of an elementwise generic; null where
/// it was not. `source` is what the cast read.
mlir::Operation *definingCast(mlir::Value value, mlir::Value &source);
/// What a rounding to fewer bits read (arith.truncf), and what a widening did
/// (arith.extf); null where `value` was made by something else.
mlir::Value roundedFrom(mlir::Value value);
mlir::Value widenedFrom(mlir::Value value);

/// Converts elements between float types.
mlir::Value castElements(mlir::OpBuilder &builder, mlir::Location loc,
                         mlir::Value value, mlir::Type element);
/// The same for a cotangent: one that a rule has rounded is taken from before
/// the rounding, so that weight gradients of cast parameters stay f32. Not for
/// values of the forward pass, whose wider form would have to be kept.
mlir::Value castCotangent(mlir::OpBuilder &builder, mlir::Location loc,
                          mlir::Value cotangent, mlir::Type element);

/// The sum of values of one type, formed in the accumulator type from
/// contributions before they were rounded, and rounded once. Null entries are
/// zero; null if all are.
mlir::Value addContributions(mlir::OpBuilder &builder, mlir::Location loc,
                             llvm::ArrayRef<mlir::Value> values);

} // namespace heddle

#endif // HEDDLE_DIALECT_HEDDLE_DIFFERENTIATION_DIFFERENTIATION_H
