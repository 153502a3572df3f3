//===- CudaDevice.h - runs a compiled function on an NVIDIA GPU -*- C++ -*-===//
//
// Part of the runtime: no LLVM header here, and no CUDA header either. The
// driver library is opened at run time; contexts and streams of the caller are
// passed as the pointers that CUcontext and CUstream are.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_CUDADEVICE_H
#define HEDDLE_RUNTIME_CUDADEVICE_H

#include "heddle/Runtime/Program.h"

#include <memory>

namespace heddle {

/// Loaded images, shared by the executables that are given the same cache; an
/// image is unloaded with the last of them. May be used from several threads.
class CudaModuleCache {
public:
  CudaModuleCache();
  ~CudaModuleCache();
  struct Impl;
  const std::unique_ptr<Impl> impl;
};

/// Options of a CUDA session.
struct CudaOptions {
  /// Ordinal of the device. -1: the device of `context`; without one, the
  /// device that holds the buffers of the first run (0 for host pointers).
  int device = -1;
  void *context = nullptr; // CUcontext; null: the device's primary context
  /// CUstream to which runs are added without waiting for them. Null: a stream
  /// of the session's own, and a run returns when its results are there. Goes
  /// with its context; both have to outlive the session.
  void *stream = nullptr;
  bool poison = false; // fill arena and results with NaN before each run
  bool graphs = true;  // capture the command list into a CUDA graph
  /// Wait after every command, without a graph, so that a failure names its
  /// kernel.
  bool checkLaunches = false;
  std::string driver; // path of the driver library; empty: the environment's
                      // HEDDLE_CUDA_DRIVER, else libcuda.so.1
  std::shared_ptr<CudaModuleCache> modules; // null: one of the session's own
};

/// Asks for times of whole runs, taken with events on the device.
struct CudaTiming {
  int warmup = 1;
  int repeats = 0;
  /// Runs between two events, one after the other; a sample is their mean. 0: as
  /// many as take 50 ms, from 1 to 200, and what that was on return.
  int inner = 1;
  std::vector<float> milliseconds; // out: one per repeat
};

/// A loaded function with its arena on a device. Calls from several threads
/// wait for each other.
class CudaExecutable {
public:
  /// Chooses the image for the device: a cubin of its architecture, else PTX of
  /// the newest target up to it, else a cubin of an earlier minor version.
  /// Compares the plan with the free memory of the device (the message has
  /// both), then takes all memory and loads the image. Where the device is left
  /// to the buffers all of this happens in the first run.
  static Status load(const Function &function, const Program &program,
                     const CudaOptions &options,
                     std::unique_ptr<CudaExecutable> &out);
  ~CudaExecutable();

  /// Runs the command list on buffers in device memory. `args` and `results`
  /// hold one pointer per argument and result; unused arguments may be null. A
  /// result with an `alias` takes the pointer of that argument. The first run
  /// with new pointers captures a graph, later ones launch it; a few graphs are
  /// kept. With `timing` it runs warmup + repeats times.
  Status run(void *const *args, void *const *results,
             CudaTiming *timing = nullptr);

  /// The same on buffers in host memory: uploads the arguments, runs, downloads
  /// the results and waits. Device buffers are taken in the first call and
  /// kept. Donated arguments themselves are not changed.
  Status runHost(const void *const *args, void *const *results,
                 CudaTiming *timing = nullptr);

  /// Waits for the runs that were added to the caller's stream.
  Status synchronize();

  /// The function that was loaded; what the device holds (constants, the bytes
  /// of images) is empty in it.
  const Function &function() const;
  /// Ordinal of the device, or -1 as long as it is left to the buffers.
  int device() const;
  /// "cubin for sm_90a", or "" as long as it is not chosen.
  std::string image() const;
  /// Bytes that the session holds on the device: arena, constants, pointer
  /// tables, and the buffers of runHost.
  int64_t deviceBytes() const;
  /// Graphs captured so far, and how many of these updated an older one.
  int64_t graphsCaptured() const;
  int64_t graphsUpdated() const;

private:
  CudaExecutable();
  struct Impl;
  std::unique_ptr<Impl> impl;
};

/// A CUDA device of this machine.
struct CudaDeviceInfo {
  int ordinal = 0;
  std::string name; // "NVIDIA A100-SXM4-40GB"
  int sm = 0;       // 80 is compute capability 8.0
  int multiprocessors = 0;
  int64_t maxSharedBytes = 0; // dynamic shared memory of a block, at most
  int64_t totalBytes = 0;
};
/// All of them; fails without a working driver. `driver` as in CudaOptions.
Status listCudaDevices(std::vector<CudaDeviceInfo> &devices,
                       const std::string &driver = "");
/// "NVIDIA A100-SXM4-40GB (sm_80), 108 multiprocessors, 40.0 GiB".
std::string describeCudaDevice(const CudaDeviceInfo &device);

/// The image of `function` for a device of architecture `sm` and a driver for
/// CUDA `cudaVersion` (12040 is 12.4), by the rule of CudaExecutable::load.
/// Null for a function without kernels. The error lists what there is.
Status chooseCudaImage(const Function &function, int sm, int cudaVersion,
                       const GpuImage *&image);

} // namespace heddle

#endif // HEDDLE_RUNTIME_CUDADEVICE_H
