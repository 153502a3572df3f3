//===- VerifyTile.h - checks that verifiers share ---------------*- C++ -*-===//

#ifndef HEDDLE_LIB_DIALECT_HEDDLEGPU_IR_VERIFYTILE_H
#define HEDDLE_LIB_DIALECT_HEDDLEGPU_IR_VERIFYTILE_H

#include "heddle/Dialect/HeddleGpu/IR/HeddleGpu.h"

namespace heddle_gpu {

/// Checks that `type` is a tile: a tensor with a layout.
inline llvm::LogicalResult verifyTile(mlir::Operation *op, llvm::StringRef what,
                                      mlir::Type type) {
  if (getLayoutAttr(type))
    return mlir::success();
  return op->emitOpError() << "expected " << what
                           << " with a layout (#heddle_gpu.layout), got "
                           << type;
}

inline llvm::LogicalResult
verifyElementTypes(mlir::Operation *op, mlir::Type wanted, mlir::Type got) {
  if (wanted == got)
    return mlir::success();
  return op->emitOpError() << "expected one element type, got " << wanted
                           << " and " << got;
}

} // namespace heddle_gpu

#endif // HEDDLE_LIB_DIALECT_HEDDLEGPU_IR_VERIFYTILE_H
