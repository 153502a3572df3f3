//===- DeviceSession.h - a loaded function on one device --------*- C++ -*-===//

#ifndef HEDDLE_RUNTIME_CUDA_DEVICESESSION_H
#define HEDDLE_RUNTIME_CUDA_DEVICESESSION_H

#include "CommandStream.h"
#include "GraphCache.h"
#include "Modules.h"

namespace heddle::cuda {

/// Everything that a function holds on a device: image, arena, constants,
/// pointer tables, streams, graphs. The context has to be current in all calls.
class DeviceSession {
public:
  DeviceSession(const Function &function, const CudaOptions &options,
                std::shared_ptr<const DeviceContext> context)
      : f(function), options(options), context(std::move(context)),
        driver(this->context->driver()), graphs(driver) {}
  ~DeviceSession();

  /// Compares the plan with the free memory, takes all of it, loads the image.
  Status prepare(CudaModuleCache &modules);

  /// Adds one run on the addresses of arguments and results (numBases; the last
  /// two are ours) to the stream.
  Status enqueue(std::vector<Address> &bases);
  Status synchronize();
  /// Runs as `timing` says and takes times with events.
  Status time(std::vector<Address> &bases, CudaTiming &timing);
  /// The mean of `runs` runs between two events.
  Status timeRuns(std::vector<Address> &bases, int runs, float &milliseconds);

  /// The buffers of runs on host memory: one per argument and result, taken
  /// once.
  Status takeHostBuffers();
  Status upload(const void *const *args);
  Status download(void *const *results);
  std::vector<Address> hostBases() const;

  const CudaDeviceInfo &device() const { return context->info(); }
  Status checkPointers(const std::vector<Address> &bases) const;
  std::string imageName() const;
  int64_t bytes() const;
  bool ownsStream() const { return options.stream == nullptr; }
  const GraphCache &graphCache() const { return graphs; }

private:
  Status loadKernels(CudaModuleCache &modules);
  Status createStreams();
  Status fillWithPoison(const std::vector<Address> &bases);
  Status uploadTables(const std::vector<Address> &bases);
  CommandStream commandStream(const std::vector<Address> &bases, Stream s,
                              bool waitForEach) const {
    return CommandStream(driver, f, bases, kernels, image, tables.address(), s,
                         waitForEach);
  }

  const Function &f;
  const CudaOptions &options;
  std::shared_ptr<const DeviceContext> context;
  const Driver &driver;

  const GpuImage *image = nullptr;
  std::shared_ptr<LoadedModule> module;
  std::vector<Kernel> kernels;
  DeviceMemory arena, constants, tables;
  /// The bases that the tables on the device are for.
  std::vector<Address> tableBases;
  Stream stream = nullptr, captureStream = nullptr;
  Event start = nullptr, stop = nullptr;
  CommandTotals totals;
  GraphCache graphs;
  std::vector<DeviceMemory> hostBuffers; // arguments, then results
};

} // namespace heddle::cuda

#endif // HEDDLE_RUNTIME_CUDA_DEVICESESSION_H
