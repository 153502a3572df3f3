//===- F32Precision.h - how products of f32 are formed ----------*- C++ -*-===//

#ifndef HEDDLE_LIB_PIPELINES_F32PRECISION_H
#define HEDDLE_LIB_PIPELINES_F32PRECISION_H

#include "mlir/Pass/Pass.h"

namespace heddle {

/// On public functions of a model: what its products of f32 were compiled for.
/// Kept in the source of a bundle, for whoever judges the results.
constexpr llvm::StringLiteral kFunctionPrecision = "heddle.f32_precision";

/// Marks attention ops, kernels and public functions of a module for TF32.
std::unique_ptr<mlir::Pass> createAllowTf32Pass();
void registerAllowTf32Pass();

} // namespace heddle

#endif // HEDDLE_LIB_PIPELINES_F32PRECISION_H
