//===- LoopsToGpu.h - kernels of plain loops on a GPU -----------*- C++ -*-===//

#ifndef HEDDLE_LIB_CODEGEN_GPU_LOOPSTOGPU_H
#define HEDDLE_LIB_CODEGEN_GPU_LOOPSTOGPU_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace heddle {

/// Replaces a kernel of family `loops`, whose grid is (blocks, threads), by a
/// gpu.module of its name: each thread runs the loops on scalars in registers.
/// Positions have 64 bits, as an element's number does not fit 32. Emits an
/// error and fails for a kernel that was built for a CPU.
llvm::LogicalResult lowerLoopsToGpu(mlir::func::FuncOp kernel);

} // namespace heddle

#endif // HEDDLE_LIB_CODEGEN_GPU_LOOPSTOGPU_H
