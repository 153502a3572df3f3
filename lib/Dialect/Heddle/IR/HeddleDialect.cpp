//===- HeddleDialect.cpp - registration of the heddle dialect -------------===//

#include "heddle/Dialect/Heddle/IR/Heddle.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace heddle;

#include "heddle/Dialect/Heddle/IR/HeddleDialect.cpp.inc"
#include "heddle/Dialect/Heddle/IR/HeddleEnums.cpp.inc"

void HeddleDialect::initialize() {
  registerAttributes();
  addOperations<
#define GET_OP_LIST
#include "heddle/Dialect/Heddle/IR/HeddleOps.cpp.inc"
      >();
}
