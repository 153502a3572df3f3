//===- KnownAttributes.h - no attribute that an op lacks --------*- C++ -*-===//
//
// MLIR keeps any attribute that an op does not define as a discardable one, so
// that a misspelt name changes what a model computes without a word. Names with
// a dialect's prefix ("tool.note") are anyone's to add.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_DIALECT_HEDDLE_IR_KNOWNATTRIBUTES_H
#define HEDDLE_DIALECT_HEDDLE_IR_KNOWNATTRIBUTES_H

#include "mlir/IR/OpDefinition.h"

namespace heddle {

/// Fails, with the nearest name, where `op` has an attribute without a prefix
/// that it does not define.
llvm::LogicalResult verifyKnownAttributes(mlir::Operation *op);

/// The trait of all heddle ops.
template <typename ConcreteType>
class KnownAttributes
    : public mlir::OpTrait::TraitBase<ConcreteType, KnownAttributes> {
public:
  static llvm::LogicalResult verifyTrait(mlir::Operation *op) {
    return verifyKnownAttributes(op);
  }
};

} // namespace heddle

#endif // HEDDLE_DIALECT_HEDDLE_IR_KNOWNATTRIBUTES_H
