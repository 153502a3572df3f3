//===- VectorMath.h - vector expansions of math functions -------*- C++ -*-===//
//
// f32 functions on vectors of any length, built from adds, multiplies and
// selects, without a library call and without fast-math flags. NaN in gives NaN
// out. Bounds were measured over all floats of the stated range by
// unittests/Codegen/VectorMathTest.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_CODEGEN_MATH_VECTORMATH_H
#define HEDDLE_CODEGEN_MATH_VECTORMATH_H

#include "mlir/IR/Builders.h"

namespace heddle {

/// 2^x. Error at most 2 ulp for x in [-125, 128); results below 2^-125.5 are 0,
/// results above the largest float inf.
mlir::Value emitExp2(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x);
/// e^x. Error at most 3 ulp for x in [-86, 88.7]; 0 and inf beyond as exp2.
mlir::Value emitExp(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x);
/// tanh(x). Error at most 5 ulp.
mlir::Value emitTanh(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x);
/// erf(x). Absolute error at most 3e-7.
mlir::Value emitErf(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x);

/// sin(x) and cos(x). Error at most 2 ulp or 1e-7 for |x| <= 1000, the larger;
/// beyond it grows with x.
mlir::Value emitSin(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x);
mlir::Value emitCos(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x);

} // namespace heddle

#endif // HEDDLE_CODEGEN_MATH_VECTORMATH_H
