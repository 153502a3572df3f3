//===- Support.h - what the reference device can evaluate -------*- C++ -*-===//

#ifndef HEDDLE_RUNTIME_REFERENCE_SUPPORT_H
#define HEDDLE_RUNTIME_REFERENCE_SUPPORT_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace heddle::reference {

/// Checks every op of `function` and of the functions it calls. Emits one error
/// with a note per unsupported op.
llvm::LogicalResult checkSupported(mlir::func::FuncOp function);
/// The same for a single op.
llvm::LogicalResult checkSupported(mlir::Operation *op);

} // namespace heddle::reference

#endif // HEDDLE_RUNTIME_REFERENCE_SUPPORT_H
