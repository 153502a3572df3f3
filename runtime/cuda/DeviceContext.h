//===- DeviceContext.h - a device and the context for it --------*- C++ -*-===//

#ifndef HEDDLE_RUNTIME_CUDA_DEVICECONTEXT_H
#define HEDDLE_RUNTIME_CUDA_DEVICECONTEXT_H

#include "DriverApi.h"
#include "heddle/Runtime/CudaDevice.h"

namespace heddle::cuda {

/// What the driver says of device `ordinal`.
Status describeDevice(const Driver &driver, int ordinal, CudaDeviceInfo &info);

/// A context of the caller, or the primary one of a device, which is retained
/// as long as this lives.
class DeviceContext {
public:
  /// `context` may be null; `ordinal` may be -1 where it is not. Fails if both
  /// are given and do not fit, and for a device that does not exist.
  static Status open(std::shared_ptr<const Driver> driver, int ordinal,
                     void *context, std::shared_ptr<DeviceContext> &out);
  ~DeviceContext();
  DeviceContext(const DeviceContext &) = delete;
  DeviceContext &operator=(const DeviceContext &) = delete;

  const Driver &driver() const { return *api; }
  Context handle() const { return context; }
  const CudaDeviceInfo &info() const { return device; }

private:
  DeviceContext() = default;

  std::shared_ptr<const Driver> api;
  CudaDeviceInfo device;
  Context context = nullptr;
  Device retained = -1;
};

/// Makes a context current for the calling thread, and the one before at the
/// end.
class ContextScope {
public:
  explicit ContextScope(const DeviceContext &context)
      : driver(context.driver()),
        result(driver.cuCtxPushCurrent(context.handle())) {}
  ~ContextScope() {
    Context popped;
    if (result == kSuccess)
      driver.cuCtxPopCurrent(&popped);
  }
  ContextScope(const ContextScope &) = delete;
  ContextScope &operator=(const ContextScope &) = delete;
  Status status() const { return driver.check(result, "cuCtxPushCurrent"); }

private:
  const Driver &driver;
  Result result;
};

/// Device memory, freed at the end; its context has to be current then.
class DeviceMemory {
public:
  DeviceMemory() = default;
  ~DeviceMemory();
  DeviceMemory(DeviceMemory &&other) noexcept;
  DeviceMemory &operator=(DeviceMemory &&) = delete;

  /// Nothing is taken for 0 bytes. `what` is for the error.
  Status allocate(const Driver &driver, int64_t bytes, const std::string &what);
  Address address() const { return memory; }
  int64_t size() const { return bytes; }

private:
  const Driver *driver = nullptr;
  Address memory = 0;
  int64_t bytes = 0;
};

/// Fails if `bytes` are more than the current context's device has free.
Status checkDeviceMemory(const Driver &driver, int64_t bytes,
                         const std::string &what);

} // namespace heddle::cuda

#endif // HEDDLE_RUNTIME_CUDA_DEVICECONTEXT_H
