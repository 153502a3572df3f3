//===- CpuObject.h - LLVM IR, assembly and objects for a CPU ----*- C++ -*-===//

#ifndef HEDDLE_TARGET_CPUOBJECT_H
#define HEDDLE_TARGET_CPUOBJECT_H

#include "heddle/Codegen/CPU/CpuTarget.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

#include <cstdint>
#include <string>
#include <vector>

namespace heddle {

/// What to make of a module in the LLVM dialect.
enum class CpuOutput { LLVMText, Assembly, Object };

/// Translates, optimises and emits a module, or the modules of its kernels linked
/// together. The object is a relocatable ELF file of
/// position-independent code. Emits an error and fails where LLVM does.
llvm::LogicalResult emitCpu(mlir::ModuleOp module, const CpuTarget &target,
                            CpuOutput output, std::vector<uint8_t> &bytes);

/// One relocatable object per nested module (one kernel each), compiled in
/// parallel on the context's threads; by the module's name.
llvm::LogicalResult
emitCpuObjects(mlir::ModuleOp module, const CpuTarget &target,
               llvm::StringMap<std::vector<uint8_t>> &objects);

} // namespace heddle

#endif // HEDDLE_TARGET_CPUOBJECT_H
