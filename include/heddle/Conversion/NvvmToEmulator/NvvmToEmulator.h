//===- NvvmToEmulator.h - kernels for the emulator --------------*- C++ -*-===//

#ifndef HEDDLE_CONVERSION_NVVMTOEMULATOR_NVVMTOEMULATOR_H
#define HEDDLE_CONVERSION_NVVMTOEMULATOR_NVVMTOEMULATOR_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace heddle {

#define GEN_PASS_DECL
#include "heddle/Conversion/NvvmToEmulator/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "heddle/Conversion/NvvmToEmulator/Passes.h.inc"

} // namespace heddle

#endif // HEDDLE_CONVERSION_NVVMTOEMULATOR_NVVMTOEMULATOR_H
