//===- KernelModules.h - hand-written kernels as programs -------*- C++ -*-===//

#ifndef HEDDLE_LIB_PIPELINES_KERNELMODULES_H
#define HEDDLE_LIB_PIPELINES_KERNELMODULES_H

#include "heddle/Runtime/Program.h"

#include "mlir/IR/BuiltinOps.h"

namespace heddle {

/// Whether a module holds kernels (a gpu.module somewhere) and no model.
bool isKernelModule(mlir::ModuleOp module);

/// Makes each gpu.module a module of its own, as isolated kernels are, and a
/// function of one launch out of each kernel in it. A gpu.func of contract G
/// takes its buffers as arguments; those that it stores to are results. An
/// llvm.func of contract N says what its pointers are in `heddle.signature`, a
/// function type, arguments ahead of results. Both have `heddle.grid`. Emits an
/// error and fails where a kernel cannot be described so.
llvm::LogicalResult readKernelModule(mlir::ModuleOp module, Program &program);

} // namespace heddle

#endif // HEDDLE_LIB_PIPELINES_KERNELMODULES_H
