//===- HeddleGpuOps.td - every op of the heddle_gpu dialect ---------------===//

#ifndef HEDDLE_GPU_OPS_TD
#define HEDDLE_GPU_OPS_TD

include "heddle/Dialect/HeddleGpu/IR/HeddleGpuComputeOps.td"
include "heddle/Dialect/HeddleGpu/IR/HeddleGpuMemoryOps.td"

#endif // HEDDLE_GPU_OPS_TD
