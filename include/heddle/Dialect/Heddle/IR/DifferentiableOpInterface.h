//===- DifferentiableOpInterface.h - reverse-mode rules of ops --*- C++ -*-===//

#ifndef HEDDLE_DIALECT_HEDDLE_IR_DIFFERENTIABLEOPINTERFACE_H
#define HEDDLE_DIALECT_HEDDLE_IR_DIFFERENTIABLEOPINTERFACE_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"
#include "llvm/ADT/BitVector.h"

#include "heddle/Dialect/Heddle/IR/DifferentiableOpInterface.h.inc"

#endif // HEDDLE_DIALECT_HEDDLE_IR_DIFFERENTIABLEOPINTERFACE_H
