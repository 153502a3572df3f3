//===- DeviceContext.cpp - a device and the context for it ----------------===//

#include "DeviceContext.h"

#include <cstdio>

namespace heddle {
using namespace cuda;

Status cuda::describeDevice(const Driver &driver, int ordinal,
                            CudaDeviceInfo &info) {
  int count = 0;
  if (Status s =
          driver.check(driver.cuDeviceGetCount(&count), "cuDeviceGetCount");
      !s)
    return s;
  if (ordinal < 0 || ordinal >= count)
    return Status::error("expected a CUDA device from 0 to " +
                         std::to_string(count - 1) + ", got " +
                         std::to_string(ordinal) +
                         "; heddle-run --list-devices lists them");
  std::string what = "of device " + std::to_string(ordinal);
  Device device = 0;
  char name[256] = {};
  size_t total = 0;
  int major = 0, minor = 0, shared = 0;
  if (Status s = driver.check(driver.cuDeviceGet(&device, ordinal),
                              "cuDeviceGet", what);
      !s)
    return s;
  if (Status s =
          driver.check(driver.cuDeviceGetName(name, sizeof name - 1, device),
                       "cuDeviceGetName", what);
      !s)
    return s;
  if (Status s = driver.check(driver.cuDeviceTotalMem(&total, device),
                              "cuDeviceTotalMem", what);
      !s)
    return s;
  const std::pair<int, int *> attributes[] = {
      {kComputeCapabilityMajor, &major},
      {kComputeCapabilityMinor, &minor},
      {kMultiprocessorCount, &info.multiprocessors},
      {kMaxSharedMemoryPerBlockOptin, &shared}};
  for (auto [attribute, value] : attributes)
    if (Status s =
            driver.check(driver.cuDeviceGetAttribute(value, attribute, device),
                         "cuDeviceGetAttribute", what);
        !s)
      return s;
  info.ordinal = ordinal;
  info.name = name;
  info.sm = 10 * major + minor;
  info.maxSharedBytes = shared;
  info.totalBytes = static_cast<int64_t>(total);
  return {};
}

DeviceContext::~DeviceContext() {
  if (retained >= 0)
    api->cuDevicePrimaryCtxRelease(retained);
}

/// The ordinal of the device that a context of the caller belongs to.
static Status ordinalOf(const Driver &driver, Context context, int &ordinal) {
  if (Status s = driver.check(driver.cuCtxPushCurrent(context),
                              "cuCtxPushCurrent", "of the caller's context");
      !s)
    return s;
  Device device = -1;
  Result result = driver.cuCtxGetDevice(&device);
  driver.cuCtxPopCurrent(&context);
  if (Status s = driver.check(result, "cuCtxGetDevice"); !s)
    return s;
  int count = 0;
  if (Status s =
          driver.check(driver.cuDeviceGetCount(&count), "cuDeviceGetCount");
      !s)
    return s;
  for (ordinal = 0; ordinal < count; ++ordinal) {
    Device candidate = -1;
    if (driver.cuDeviceGet(&candidate, ordinal) == kSuccess &&
        candidate == device)
      return {};
  }
  return Status::error(
      "expected the caller's context to belong to one of the " +
      std::to_string(count) + " CUDA devices, got device " +
      std::to_string(device));
}

Status DeviceContext::open(std::shared_ptr<const Driver> driver, int ordinal,
                           void *context, std::shared_ptr<DeviceContext> &out) {
  std::shared_ptr<DeviceContext> opened(new DeviceContext);
  opened->api = std::move(driver);
  const Driver &api = *opened->api;
  opened->context = static_cast<Context>(context);
  if (context) {
    int owner = -1;
    if (Status s = ordinalOf(api, opened->context, owner); !s)
      return s;
    if (ordinal >= 0 && ordinal != owner)
      return Status::error("expected a context of device " +
                           std::to_string(ordinal) + ", got one of device " +
                           std::to_string(owner));
    ordinal = owner;
  }
  if (Status s = describeDevice(api, ordinal, opened->device); !s)
    return s;
  if (!context) {
    Device device = 0;
    if (Status s = api.check(api.cuDeviceGet(&device, ordinal), "cuDeviceGet");
        !s)
      return s;
    if (Status s = api.check(
            api.cuDevicePrimaryCtxRetain(&opened->context, device),
            "cuDevicePrimaryCtxRetain", "of device " + std::to_string(ordinal));
        !s)
      return s;
    opened->retained = device;
  }
  out = std::move(opened);
  return {};
}

DeviceMemory::~DeviceMemory() {
  if (memory)
    driver->cuMemFree(memory);
}

DeviceMemory::DeviceMemory(DeviceMemory &&other) noexcept
    : driver(other.driver), memory(other.memory), bytes(other.bytes) {
  other.memory = 0;
}

Status DeviceMemory::allocate(const Driver &api, int64_t size,
                              const std::string &what) {
  if (size == 0)
    return {};
  driver = &api;
  bytes = size;
  return api.check(api.cuMemAlloc(&memory, static_cast<size_t>(size)),
                   "cuMemAlloc", "of " + mebibytes(size) + " for " + what);
}

Status cuda::checkDeviceMemory(const Driver &driver, int64_t bytes,
                               const std::string &what) {
  size_t free = 0, total = 0;
  if (Status s =
          driver.check(driver.cuMemGetInfo(&free, &total), "cuMemGetInfo");
      !s)
    return s;
  if (bytes <= static_cast<int64_t>(free))
    return {};
  return Status::error(what + " needs " + mebibytes(bytes) +
                       ", the device has " +
                       mebibytes(static_cast<int64_t>(free)) + " free of " +
                       mebibytes(static_cast<int64_t>(total)) +
                       "; free memory on it, use a smaller batch or another "
                       "device");
}

Status listCudaDevices(std::vector<CudaDeviceInfo> &devices,
                       const std::string &path) {
  std::shared_ptr<const Driver> driver;
  if (Status s = Driver::load(path, driver); !s)
    return s;
  int count = 0;
  if (Status s =
          driver->check(driver->cuDeviceGetCount(&count), "cuDeviceGetCount");
      !s)
    return s;
  std::vector<CudaDeviceInfo> found(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i)
    if (Status s = describeDevice(*driver, i, found[i]); !s)
      return s;
  devices = std::move(found);
  return {};
}

std::string describeCudaDevice(const CudaDeviceInfo &device) {
  char gib[32];
  std::snprintf(gib, sizeof gib, "%.1f GiB",
                static_cast<double>(device.totalBytes) / (1 << 30));
  return device.name + " (sm_" + std::to_string(device.sm) + "), " +
         std::to_string(device.multiprocessors) + " multiprocessors, " + gib;
}

} // namespace heddle
