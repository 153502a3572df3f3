//===- DriverApi.h - the CUDA driver library, found at run time -*- C++ -*-===//
//
// Heddle is built without CUDA: the driver's types and functions are declared
// here by its documented ABI ("CUDA Driver API" reference manual) and looked up
// in libcuda.so.1 when a CUDA device is asked for.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_CUDA_DRIVERAPI_H
#define HEDDLE_RUNTIME_CUDA_DRIVERAPI_H

#include "heddle/Runtime/Program.h"

#include <cstddef>
#include <memory>

namespace heddle::cuda {

using Result = int;       // CUresult
using Device = int;       // CUdevice
using Address = uint64_t; // CUdeviceptr
using Context = struct ContextHandle *;
using Stream = struct StreamHandle *;
using Event = struct EventHandle *;
using Module = struct ModuleHandle *;
using Kernel = struct KernelHandle *; // CUfunction
using Graph = struct GraphHandle *;
using GraphExec = struct GraphExecHandle *;

// Enumerators that are used, by the manual's names and numbers.
enum : Result {
  kSuccess = 0,
  kErrorInvalidValue = 1,
  kErrorOutOfMemory = 2,
  kErrorNoBinaryForGpu = 209,
  kErrorUnsupportedPtxVersion = 222,
};
enum DeviceAttribute : int {
  kMultiprocessorCount = 16,
  kComputeCapabilityMajor = 75,
  kComputeCapabilityMinor = 76,
  kMaxSharedMemoryPerBlockOptin = 97,
};
enum FunctionAttribute : int {
  kMaxThreadsPerBlock = 0,
  kSharedSizeBytes = 1,
  kMaxDynamicSharedSizeBytes = 8,
};
enum PointerAttribute : int { kPointerDeviceOrdinal = 9 };
enum JitOption : int {
  kJitInfoLogBuffer = 3,
  kJitInfoLogBufferSizeBytes = 4,
  kJitErrorLogBuffer = 5,
  kJitErrorLogBufferSizeBytes = 6,
};
enum CaptureMode : int { kCaptureThreadLocal = 1 };
enum StreamFlags : unsigned { kStreamNonBlocking = 1 };

/// CUgraphExecUpdateResultInfo.
struct GraphUpdateInfo {
  int result;
  void *errorNode, *errorFromNode;
};

// name, the release that brought this form of it (as cuGetProcAddress counts
// them), what the library exports it as, parameters.
#define HEDDLE_CUDA_FUNCTIONS(X)                                               \
  X(cuInit, 2000, "cuInit", (unsigned flags))                                  \
  X(cuGetErrorName, 6000, "cuGetErrorName", (Result, const char **))           \
  X(cuGetErrorString, 6000, "cuGetErrorString", (Result, const char **))       \
  X(cuDeviceGetCount, 2000, "cuDeviceGetCount", (int *))                       \
  X(cuDeviceGet, 2000, "cuDeviceGet", (Device *, int ordinal))                 \
  X(cuDeviceGetName, 2000, "cuDeviceGetName", (char *, int length, Device))    \
  X(cuDeviceGetAttribute, 2000, "cuDeviceGetAttribute", (int *, int, Device))  \
  X(cuDeviceTotalMem, 3020, "cuDeviceTotalMem_v2", (size_t *, Device))         \
  X(cuDevicePrimaryCtxRetain, 7000, "cuDevicePrimaryCtxRetain",                \
    (Context *, Device))                                                       \
  X(cuDevicePrimaryCtxRelease, 11000, "cuDevicePrimaryCtxRelease_v2",          \
    (Device))                                                                  \
  X(cuCtxPushCurrent, 4000, "cuCtxPushCurrent_v2", (Context))                  \
  X(cuCtxPopCurrent, 4000, "cuCtxPopCurrent_v2", (Context *))                  \
  X(cuCtxGetDevice, 2000, "cuCtxGetDevice", (Device *))                        \
  X(cuMemGetInfo, 3020, "cuMemGetInfo_v2", (size_t *, size_t *))               \
  X(cuMemAlloc, 3020, "cuMemAlloc_v2", (Address *, size_t))                    \
  X(cuMemFree, 3020, "cuMemFree_v2", (Address))                                \
  X(cuMemcpyHtoD, 3020, "cuMemcpyHtoD_v2", (Address, const void *, size_t))    \
  X(cuMemcpyHtoDAsync, 3020, "cuMemcpyHtoDAsync_v2",                           \
    (Address, const void *, size_t, Stream))                                   \
  X(cuMemcpyDtoHAsync, 3020, "cuMemcpyDtoHAsync_v2",                           \
    (void *, Address, size_t, Stream))                                         \
  X(cuMemcpyDtoDAsync, 3020, "cuMemcpyDtoDAsync_v2",                           \
    (Address, Address, size_t, Stream))                                        \
  X(cuMemsetD8Async, 3020, "cuMemsetD8Async",                                  \
    (Address, unsigned char, size_t, Stream))                                  \
  X(cuMemsetD16Async, 3020, "cuMemsetD16Async",                                \
    (Address, unsigned short, size_t, Stream))                                 \
  X(cuMemsetD32Async, 3020, "cuMemsetD32Async",                                \
    (Address, unsigned, size_t, Stream))                                       \
  X(cuMemsetD2D32Async, 3020, "cuMemsetD2D32Async",                            \
    (Address, size_t pitch, unsigned, size_t width, size_t height, Stream))    \
  X(cuPointerGetAttribute, 4000, "cuPointerGetAttribute",                      \
    (void *, int, Address))                                                    \
  X(cuModuleLoadDataEx, 2010, "cuModuleLoadDataEx",                            \
    (Module *, const void *, unsigned, int *, void **))                        \
  X(cuModuleUnload, 2000, "cuModuleUnload", (Module))                          \
  X(cuModuleGetFunction, 2000, "cuModuleGetFunction",                          \
    (Kernel *, Module, const char *))                                          \
  X(cuFuncGetAttribute, 2020, "cuFuncGetAttribute", (int *, int, Kernel))      \
  X(cuFuncSetAttribute, 9000, "cuFuncSetAttribute", (Kernel, int, int))        \
  X(cuLaunchKernel, 4000, "cuLaunchKernel",                                    \
    (Kernel, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX,  \
     unsigned blockY, unsigned blockZ, unsigned sharedBytes, Stream,           \
     void **params, void **extra))                                             \
  X(cuStreamCreate, 2000, "cuStreamCreate", (Stream *, unsigned flags))        \
  X(cuStreamDestroy, 4000, "cuStreamDestroy_v2", (Stream))                     \
  X(cuStreamSynchronize, 2000, "cuStreamSynchronize", (Stream))                \
  X(cuStreamBeginCapture, 10010, "cuStreamBeginCapture_v2", (Stream, int))     \
  X(cuStreamEndCapture, 10000, "cuStreamEndCapture", (Stream, Graph *))        \
  X(cuGraphInstantiateWithFlags, 11040, "cuGraphInstantiateWithFlags",         \
    (GraphExec *, Graph, unsigned long long flags))                            \
  X(cuGraphLaunch, 10000, "cuGraphLaunch", (GraphExec, Stream))                \
  X(cuGraphExecDestroy, 10000, "cuGraphExecDestroy", (GraphExec))              \
  X(cuGraphDestroy, 10000, "cuGraphDestroy", (Graph))                          \
  X(cuEventCreate, 2000, "cuEventCreate", (Event *, unsigned flags))           \
  X(cuEventRecord, 2000, "cuEventRecord", (Event, Stream))                     \
  X(cuEventElapsedTime, 2000, "cuEventElapsedTime", (float *, Event, Event))   \
  X(cuEventDestroy, 4000, "cuEventDestroy_v2", (Event))

/// The library's functions. `cuGraphExecUpdate` is null before CUDA 12.0.
struct Functions {
#define HEDDLE_CUDA_MEMBER(name, version, exported, params)                    \
  Result(*name) params = nullptr;
  HEDDLE_CUDA_FUNCTIONS(HEDDLE_CUDA_MEMBER)
#undef HEDDLE_CUDA_MEMBER
  Result (*cuGraphExecUpdate)(GraphExec, Graph, GraphUpdateInfo *) = nullptr;
};

/// The loaded and initialised driver library.
class Driver : public Functions {
public:
  /// Opens `path` (empty: the environment's HEDDLE_CUDA_DRIVER, else
  /// libcuda.so.1). Fails where there is no library, where it is too old or
  /// incomplete, and where cuInit does.
  static Status load(const std::string &path,
                     std::shared_ptr<const Driver> &out);
  ~Driver();
  Driver(const Driver &) = delete;
  Driver &operator=(const Driver &) = delete;

  /// 12040 is CUDA 12.4.
  int version() const { return cudaVersion; }
  /// "<call> <what>: <error name> (<the driver's words>)" unless `result` is
  /// success.
  Status check(Result result, const char *call,
               const std::string &what = "") const;

private:
  Driver() = default;
  Status resolve(const std::string &path);

  void *library = nullptr;
  int cudaVersion = 0;
};

/// "12.5 MiB".
std::string mebibytes(int64_t bytes);

} // namespace heddle::cuda

#endif // HEDDLE_RUNTIME_CUDA_DRIVERAPI_H
