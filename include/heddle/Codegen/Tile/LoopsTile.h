//===- LoopsTile.h - kernels of one op as plain loops -----------*- C++ -*-===//

#ifndef HEDDLE_CODEGEN_TILE_LOOPSTILE_H
#define HEDDLE_CODEGEN_TILE_LOOPSTILE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace heddle {

/// Rewrites the one op of a kernel of family `loops` onto the kernel's buffers:
/// linalg and memref ops, run as one block. Emits an error and fails for an op
/// that has no such form.
llvm::LogicalResult buildLoopsKernel(mlir::func::FuncOp kernel);

} // namespace heddle

#endif // HEDDLE_CODEGEN_TILE_LOOPSTILE_H
