//===- PtxObject.h - PTX from a GPU module ----------------------*- C++ -*-===//

#ifndef HEDDLE_TARGET_PTXOBJECT_H
#define HEDDLE_TARGET_PTXOBJECT_H

#include "heddle/Target/GpuTarget.h"

#include "mlir/IR/Operation.h"

#include <string>

namespace heddle {

struct PtxOptions {
  /// PTX ISA of the text; 80 is 8.0. 0: defaultPtx. Down to the first version with
  /// the target (GpuTarget::minPtxVersion): kernels hold nothing newer, except for
  /// instructions that only later targets have.
  uint32_t ptxVersion = 0;
  bool lineInfo = false; // .loc directives, for profilers
  int optLevel = 3;      // of LLVM, 0 to 3
  /// Path of libdevice.10.bc; empty: nvvm/libdevice in CUDA_HOME, CUDA_PATH or
  /// /usr/local/cuda.
  std::string libdevice;
};

/// 8.0 (CUDA 12.0), or the first version with the target.
uint32_t defaultPtx(const GpuTarget &target);

/// The PTX ISA version that `options` ask for on `target`. On failure `error`
/// says what the target needs or LLVM cannot emit.
llvm::LogicalResult resolvePtxVersion(const GpuTarget &target,
                                      const PtxOptions &options,
                                      uint32_t &ptxVersion, std::string &error);

/// Emits PTX for contract N: `module` is a gpu.module or a builtin module that
/// holds llvm.func with ops of llvm and nvvm; those with the attribute
/// nvvm.kernel become entries. It is not changed. Functions named __nv_* are
/// taken from libdevice. Emits a diagnostic and fails where there is no kernel,
/// where libdevice is needed and missing, and where LLVM fails.
llvm::LogicalResult emitPtx(mlir::Operation *module, const GpuTarget &target,
                            const PtxOptions &options, std::string &ptx);

} // namespace heddle

#endif // HEDDLE_TARGET_PTXOBJECT_H
