//===- HeddleNvvm.h - instructions that the nvvm dialect lacks --*- C++ -*-===//
//
// HeddleNvvmOps.td is the documentation (see docs/dialect/HeddleNvvm.md).
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_DIALECT_HEDDLENVVM_IR_HEDDLENVVM_H
#define HEDDLE_DIALECT_HEDDLENVVM_IR_HEDDLENVVM_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "heddle/Dialect/HeddleNvvm/IR/HeddleNvvmDialect.h.inc"
#include "heddle/Dialect/HeddleNvvm/IR/HeddleNvvmInterfaces.h.inc"
#define GET_OP_CLASSES
#include "heddle/Dialect/HeddleNvvm/IR/HeddleNvvmOps.h.inc"

#endif // HEDDLE_DIALECT_HEDDLENVVM_IR_HEDDLENVVM_H
