//===- HeddleGpuToNVVM.h - from contract G to contract N --------*- C++ -*-===//

#ifndef HEDDLE_CONVERSION_HEDDLEGPUTONVVM_HEDDLEGPUTONVVM_H
#define HEDDLE_CONVERSION_HEDDLEGPUTONVVM_HEDDLEGPUTONVVM_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Pass/Pass.h"

namespace heddle {

#define GEN_PASS_DECL
#include "heddle/Conversion/HeddleGpuToNVVM/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "heddle/Conversion/HeddleGpuToNVVM/Passes.h.inc"

} // namespace heddle

#endif // HEDDLE_CONVERSION_HEDDLEGPUTONVVM_HEDDLEGPUTONVVM_H
