//===- Passes.h - passes on the heddle_gpu dialect --------------*- C++ -*-===//

#ifndef HEDDLE_DIALECT_HEDDLEGPU_TRANSFORMS_PASSES_H
#define HEDDLE_DIALECT_HEDDLEGPU_TRANSFORMS_PASSES_H

#include "heddle/Dialect/HeddleGpu/IR/HeddleGpu.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Pass/Pass.h"

namespace heddle_gpu {

#define GEN_PASS_DECL
#include "heddle/Dialect/HeddleGpu/Transforms/Passes.h.inc"

/// The patterns of heddle-gpu-remove-conversions. Each application lowers the
/// sum of the conversions' costs or moves a conversion out of a loop, so that
/// they end.
void populateRemoveConversionsPatterns(mlir::RewritePatternSet &patterns);

/// Registers every pass of this header with MLIR's global registry:
/// registerHeddleGpuPasses().
#define GEN_PASS_REGISTRATION
#include "heddle/Dialect/HeddleGpu/Transforms/Passes.h.inc"

} // namespace heddle_gpu

#endif // HEDDLE_DIALECT_HEDDLEGPU_TRANSFORMS_PASSES_H
