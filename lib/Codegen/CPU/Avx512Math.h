//===- Avx512Math.h - functions with instructions of their own --*- C++ -*-===//
//
// Private to lib/Codegen/CPU.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_LIB_CODEGEN_CPU_AVX512MATH_H
#define HEDDLE_LIB_CODEGEN_CPU_AVX512MATH_H

#include "mlir/IR/Builders.h"

namespace heddle::cpu {

/// 2^x of a vector of f32 with 16 lanes, or 16 times a power of two, as
/// emitExp2 in error and range, by VREDUCEPS and VSCALEFPS (Intel SDM volume 2;
/// AVX512DQ): half the instructions.
mlir::Value emitExp2Avx512(mlir::OpBuilder &b, mlir::Location loc,
                           mlir::Value x);

} // namespace heddle::cpu

#endif // HEDDLE_LIB_CODEGEN_CPU_AVX512MATH_H
