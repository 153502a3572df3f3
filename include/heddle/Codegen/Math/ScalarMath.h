//===- ScalarMath.h - math functions of f64 without a library ---*- C++ -*-===//
//
// A GPU has no libm, and contract N has no libdevice: functions become
// arithmetic, bit operations and, where arguments are huge, a branch. f32 and
// narrower values are computed as f64 and rounded once.
//
// Bounds in units in the last place of f64, measured over normal results by
// unittests/Codegen/ScalarMathTest.cpp against long double:
//
//   exp exp2 expm1 log log2 log10 log1p cbrt sin cos asin acos atan erf   2
//   tan sinh cosh tanh asinh acosh atanh atan2                            4
//   erfc powf fpowi                                                       8
//   remf is exact
//
// NaN, infinities, signed zeros and arguments outside a function's domain give
// what IEEE 754 and C say. sin, cos and tan hold for every argument (reduction
// of Payne and Hanek, "Radian reduction for trigonometric functions", 1983).
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_CODEGEN_MATH_SCALARMATH_H
#define HEDDLE_CODEGEN_MATH_SCALARMATH_H

#include "mlir/IR/Builders.h"

namespace mlir {
class RewriterBase;
} // namespace mlir

namespace heddle {

/// Emits a function on scalars of f64.
using ScalarFunction = llvm::SmallVector<mlir::Value> (*)(mlir::OpBuilder &b,
                                                          mlir::Location loc,
                                                          mlir::ValueRange);

/// The function that an op of math or arith computes, null where it has none
/// here. The second operand of math.fpowi counts as f64.
ScalarFunction findScalarFunction(mlir::Operation *op);

/// Replaces an op, on scalars or vectors of floats, by its function; vectors
/// are taken apart. Fails where there is no such function.
llvm::LogicalResult expandScalarMath(mlir::Operation *op,
                                     mlir::RewriterBase &rewriter);

} // namespace heddle

#endif // HEDDLE_CODEGEN_MATH_SCALARMATH_H
