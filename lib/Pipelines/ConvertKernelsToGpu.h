//===- ConvertKernelsToGpu.h - all kernels of a program to contract G -----===//

#ifndef HEDDLE_LIB_PIPELINES_CONVERTKERNELSTOGPU_H
#define HEDDLE_LIB_PIPELINES_CONVERTKERNELSTOGPU_H

#include "mlir/Pass/Pass.h"

namespace heddle {

/// Runs convert-tile-to-gpu on each kernel's module. Kernels that it refuses are
/// listed in one error, each with the reason, so that a user sees at once what
/// stands between a model and a GPU.
std::unique_ptr<mlir::Pass> createConvertKernelsToGpuPass();
void registerConvertKernelsToGpuPass();

} // namespace heddle

#endif // HEDDLE_LIB_PIPELINES_CONVERTKERNELSTOGPU_H
