//===- EmulatorObject.h - objects for the emulator --------------*- C++ -*-===//

#ifndef HEDDLE_TARGET_EMULATOROBJECT_H
#define HEDDLE_TARGET_EMULATOROBJECT_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinOps.h"

#include <cstdint>
#include <vector>

namespace heddle {

/// Makes an object that EmulatorModule::load takes out of the kernels of
/// contract N (docs/emulator.md) in `module` or in its gpu.module. The IR stays
/// as it is. Emits errors at the ops that the contract forbids.
llvm::LogicalResult emitEmulatorObject(mlir::ModuleOp module,
                                       std::vector<uint8_t> &object);
llvm::LogicalResult emitEmulatorObject(mlir::gpu::GPUModuleOp module,
                                       std::vector<uint8_t> &object);

} // namespace heddle

#endif // HEDDLE_TARGET_EMULATOROBJECT_H
