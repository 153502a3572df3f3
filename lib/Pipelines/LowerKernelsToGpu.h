//===- LowerKernelsToGpu.h - the GPU stages on all kernels ------*- C++ -*-===//

#ifndef HEDDLE_LIB_PIPELINES_LOWERKERNELSTOGPU_H
#define HEDDLE_LIB_PIPELINES_LOWERKERNELSTOGPU_H

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

namespace heddle {

/// Contract T to contract G, and that to contract N, on a module with one
/// kernel.
void addGpuPasses(mlir::OpPassManager &kernel);
void addNvvmPasses(mlir::OpPassManager &kernel);

/// Runs these on each kernel's module. Kernels that they refuse are listed in
/// one error, each with the reason, so that a user sees at once what stands
/// between a model and a GPU.
std::unique_ptr<mlir::Pass> createLowerKernelsToGpuPass(bool gpu, bool nvvm);
void registerLowerKernelsToGpuPass();

} // namespace heddle

#endif // HEDDLE_LIB_PIPELINES_LOWERKERNELSTOGPU_H
