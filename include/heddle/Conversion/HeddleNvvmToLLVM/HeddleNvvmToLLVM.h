//===- HeddleNvvmToLLVM.h - heddle_nvvm for a device ------------*- C++ -*-===//

#ifndef HEDDLE_CONVERSION_HEDDLENVVMTOLLVM_HEDDLENVVMTOLLVM_H
#define HEDDLE_CONVERSION_HEDDLENVVMTOLLVM_HEDDLENVVMTOLLVM_H

#include "mlir/Pass/Pass.h"

namespace heddle {

#define GEN_PASS_DECL
#include "heddle/Conversion/HeddleNvvmToLLVM/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "heddle/Conversion/HeddleNvvmToLLVM/Passes.h.inc"

} // namespace heddle

#endif // HEDDLE_CONVERSION_HEDDLENVVMTOLLVM_HEDDLENVVMTOLLVM_H
