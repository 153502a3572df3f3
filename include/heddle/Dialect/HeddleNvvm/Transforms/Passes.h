//===- Passes.h - passes on contract N --------------------------*- C++ -*-===//

#ifndef HEDDLE_DIALECT_HEDDLENVVM_TRANSFORMS_PASSES_H
#define HEDDLE_DIALECT_HEDDLENVVM_TRANSFORMS_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace heddle::nvvm {

#define GEN_PASS_DECL
#include "heddle/Dialect/HeddleNvvm/Transforms/Passes.h.inc"

/// Name of contract N's dynamic shared memory: an external llvm.mlir.global in
/// address space 3.
inline constexpr llvm::StringLiteral kDynamicSharedName = "heddle_shared";

/// The rules of heddle-verify-nvvm on a builtin module or a gpu.module. Emits an
/// error for each op that breaks one. With `allowLibdevice` callees may be
/// declared functions called __nv_*.
llvm::LogicalResult verifyNvvm(mlir::Operation *module,
                               bool allowLibdevice = false);

/// Whether the function is a kernel: nvvm.kernel or gpu.kernel.
bool isKernel(mlir::Operation *function);

/// What is wrong with how `kernel` (a gpu.func, or an llvm.func of contract N) is
/// launched, or "": `block` is its known block size, empty where there is none.
std::string findLaunchProblem(mlir::Operation *kernel,
                              llvm::ArrayRef<int32_t> block);

#define GEN_PASS_REGISTRATION
#include "heddle/Dialect/HeddleNvvm/Transforms/Passes.h.inc"

} // namespace heddle::nvvm

#endif // HEDDLE_DIALECT_HEDDLENVVM_TRANSFORMS_PASSES_H
