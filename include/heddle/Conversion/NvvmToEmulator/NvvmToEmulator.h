//===- NvvmToEmulator.h - kernels for the emulator --------------*- C++ -*-===//

#ifndef HEDDLE_CONVERSION_NVVMTOEMULATOR_NVVMTOEMULATOR_H
#define HEDDLE_CONVERSION_NVVMTOEMULATOR_NVVMTOEMULATOR_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace heddle {

/// Name of contract N's dynamic shared memory: an external llvm.mlir.global in
/// address space 3.
inline constexpr llvm::StringLiteral kDynamicSharedName = "heddle_shared";

#define GEN_PASS_DECL
#include "heddle/Conversion/NvvmToEmulator/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "heddle/Conversion/NvvmToEmulator/Passes.h.inc"

} // namespace heddle

#endif // HEDDLE_CONVERSION_NVVMTOEMULATOR_NVVMTOEMULATOR_H
