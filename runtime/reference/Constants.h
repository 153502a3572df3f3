//===- Constants.h - attributes to values -----------------------*- C++ -*-===//

#ifndef HEDDLE_RUNTIME_REFERENCE_CONSTANTS_H
#define HEDDLE_RUNTIME_REFERENCE_CONSTANTS_H

#include "TensorValue.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace heddle::reference {

/// The value of a scalar, splat, dense or dense_resource constant. Emits an
/// error at the op for any other attribute.
llvm::FailureOr<TensorValue> evaluateConstant(mlir::arith::ConstantOp op);

} // namespace heddle::reference

#endif // HEDDLE_RUNTIME_REFERENCE_CONSTANTS_H
