//===- CommandList.h - a planned function as runtime data -------*- C++ -*-===//

#ifndef HEDDLE_TARGET_COMMANDLIST_H
#define HEDDLE_TARGET_COMMANDLIST_H

#include "heddle/Runtime/Program.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"

namespace heddle {

/// Writes an entry function of contract K as signature, commands, constants and
/// plan. Kernels are listed by name with family, FLOPs and bytes; what code
/// generation adds to them comes later. Launches get buffers that begin at
/// multiples of `launchAlignment` bytes: slices that do not are copied.
llvm::LogicalResult writeCommands(mlir::func::FuncOp entry,
                                  const mlir::SymbolTable &symbols,
                                  Function &function,
                                  int64_t launchAlignment = 1);

/// What kernels of a GPU need of their buffers: accesses have up to 16 bytes.
constexpr int64_t kGpuBufferAlignment = 16;

/// The runtime's element type, or failure with an error at `loc`.
llvm::FailureOr<TensorType> runtimeType(mlir::Type type, mlir::Location loc);

} // namespace heddle

#endif // HEDDLE_TARGET_COMMANDLIST_H
