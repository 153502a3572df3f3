//===- HeddleNvvmDialect.cpp - registration of heddle_nvvm ----------------===//

#include "heddle/Dialect/HeddleNvvm/IR/HeddleNvvm.h"

#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace heddle::nvvm;

#include "heddle/Dialect/HeddleNvvm/IR/HeddleNvvmDialect.cpp.inc"
#include "heddle/Dialect/HeddleNvvm/IR/HeddleNvvmInterfaces.cpp.inc"

#define GET_OP_CLASSES
#include "heddle/Dialect/HeddleNvvm/IR/HeddleNvvmOps.cpp.inc"

void HeddleNvvmDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "heddle/Dialect/HeddleNvvm/IR/HeddleNvvmOps.cpp.inc"
      >();
}
