//===- Modules.h - loaded images and their kernels --------------*- C++ -*-===//

#ifndef HEDDLE_RUNTIME_CUDA_MODULES_H
#define HEDDLE_RUNTIME_CUDA_MODULES_H

#include "DeviceContext.h"

#include <map>
#include <mutex>

namespace heddle::cuda {

/// An image in a context; unloaded at the end.
class LoadedModule {
public:
  /// The context has to be current. An error holds the driver's JIT log.
  static Status load(std::shared_ptr<const DeviceContext> context,
                     const GpuImage &image, std::shared_ptr<LoadedModule> &out);
  ~LoadedModule();

  /// The kernel `k`, checked against what the device and the compiled code
  /// allow, ready for its dynamic shared memory. `name` is for errors.
  Status kernel(const GpuKernel &k, const std::string &name, Kernel &out) const;

private:
  LoadedModule() = default;
  std::shared_ptr<const DeviceContext> context;
  Module module = nullptr;
};

} // namespace heddle::cuda

namespace heddle {

struct CudaModuleCache::Impl {
  /// The module of `image` in `context`, which has to be current.
  Status find(std::shared_ptr<const cuda::DeviceContext> context,
              const GpuImage &image, std::shared_ptr<cuda::LoadedModule> &out);

private:
  using Key = std::pair<cuda::Context, std::vector<uint8_t>>;
  std::mutex mutex;
  std::map<Key, std::weak_ptr<cuda::LoadedModule>> modules;
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_CUDA_MODULES_H
