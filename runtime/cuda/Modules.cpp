//===- Modules.cpp - loaded images and their kernels ----------------------===//

#include "Modules.h"

#include <algorithm>

namespace heddle {
using namespace cuda;

/// Dynamic shared memory that every launch may have without being asked for.
static constexpr int64_t kDefaultSharedBytes = 48 * 1024;

/// The driver's log as one line.
static std::string oneLine(const std::string &log) {
  std::string text;
  size_t begin = 0;
  while (begin < log.size()) {
    size_t end = std::min(log.find('\n', begin), log.size());
    std::string line = log.substr(begin, end - begin);
    line.erase(line.find_last_not_of(" \t\r") + 1);
    if (!line.empty())
      text += (text.empty() ? "" : "; ") + line;
    begin = end + 1;
  }
  return text;
}

Status LoadedModule::load(std::shared_ptr<const DeviceContext> context,
                          const GpuImage &image,
                          std::shared_ptr<LoadedModule> &out) {
  const Driver &driver = context->driver();
  std::vector<uint8_t> bytes = image.bytes;
  bytes.push_back(0); // PTX is a C string
  std::vector<char> errors(16384);
  int options[] = {kJitErrorLogBuffer, kJitErrorLogBufferSizeBytes};
  void *values[] = {errors.data(), reinterpret_cast<void *>(errors.size() - 1)};
  std::shared_ptr<LoadedModule> loaded(new LoadedModule);
  Result result = driver.cuModuleLoadDataEx(&loaded->module, bytes.data(), 2,
                                            options, values);
  if (result != kSuccess) {
    loaded->module = nullptr;
    const CudaDeviceInfo &device = context->info();
    std::string message =
        driver
            .check(result, "cuModuleLoadDataEx",
                   std::string("of ") + gpuImageKindName(image.kind) + " for " +
                       image.target + " on " + device.name + " (sm_" +
                       std::to_string(device.sm) + ")")
            .message;
    if (result == kErrorUnsupportedPtxVersion)
      message += "; the code has PTX ISA " + ptxVersionText(image.ptxVersion) +
                 ", the driver is for CUDA " +
                 cudaVersionText(driver.version()) +
                 "; update the driver or recompile with a lower --ptx-version";
    if (std::string log = oneLine(errors.data()); !log.empty())
      message += "; log: " + log;
    return Status::error(message);
  }
  loaded->context = std::move(context);
  out = std::move(loaded);
  return {};
}

LoadedModule::~LoadedModule() {
  if (!module)
    return;
  ContextScope scope(*context);
  if (scope.status().ok())
    context->driver().cuModuleUnload(module);
}

Status LoadedModule::kernel(const GpuKernel &k, const std::string &name,
                            Kernel &out) const {
  const Driver &driver = context->driver();
  const CudaDeviceInfo &device = context->info();
  std::string what = "of kernel '" + name + "'";
  if (Status s = driver.check(
          driver.cuModuleGetFunction(&out, module, k.symbol.c_str()),
          "cuModuleGetFunction", what + " (" + k.symbol + ")");
      !s)
    return s;
  int maxThreads = 0, staticShared = 0;
  if (Status s = driver.check(
          driver.cuFuncGetAttribute(&maxThreads, kMaxThreadsPerBlock, out),
          "cuFuncGetAttribute", what);
      !s)
    return s;
  if (Status s = driver.check(
          driver.cuFuncGetAttribute(&staticShared, kSharedSizeBytes, out),
          "cuFuncGetAttribute", what);
      !s)
    return s;
  int64_t threads = int64_t(k.block[0]) * k.block[1] * k.block[2];
  if (threads > maxThreads)
    return Status::error("kernel '" + name + "' has blocks of " +
                         std::to_string(threads) + " threads, its code on " +
                         device.name + " allows " + std::to_string(maxThreads) +
                         "; recompile with a smaller tile");
  if (k.sharedBytes + staticShared > device.maxSharedBytes)
    return Status::error("kernel '" + name + "' needs " +
                         std::to_string(k.sharedBytes + staticShared) +
                         " bytes of shared memory in a block, " + device.name +
                         " (sm_" + std::to_string(device.sm) + ") has " +
                         std::to_string(device.maxSharedBytes) +
                         "; recompile for this chip");
  if (k.sharedBytes + staticShared <= kDefaultSharedBytes)
    return {};
  // Another session may have asked the same kernel for more.
  int already = 0;
  if (Status s = driver.check(
          driver.cuFuncGetAttribute(&already, kMaxDynamicSharedSizeBytes, out),
          "cuFuncGetAttribute", what);
      !s)
    return s;
  if (already >= k.sharedBytes)
    return {};
  return driver.check(
      driver.cuFuncSetAttribute(out, kMaxDynamicSharedSizeBytes,
                                static_cast<int>(k.sharedBytes)),
      "cuFuncSetAttribute",
      what + " to " + std::to_string(k.sharedBytes) +
          " bytes of dynamic shared memory");
}

Status CudaModuleCache::Impl::find(std::shared_ptr<const DeviceContext> context,
                                   const GpuImage &image,
                                   std::shared_ptr<LoadedModule> &out) {
  // Loading compiles PTX: two threads that want one image wait for one module.
  std::lock_guard<std::mutex> lock(mutex);
  for (auto it = modules.begin(); it != modules.end();)
    it = it->second.expired() ? modules.erase(it) : std::next(it);
  Key key(context->handle(), image.bytes);
  auto found = modules.find(key);
  if (found != modules.end())
    if (std::shared_ptr<LoadedModule> module = found->second.lock()) {
      out = std::move(module);
      return {};
    }
  if (Status s = LoadedModule::load(std::move(context), image, out); !s)
    return s;
  modules[std::move(key)] = out;
  return {};
}

CudaModuleCache::CudaModuleCache() : impl(new Impl) {}
CudaModuleCache::~CudaModuleCache() = default;

} // namespace heddle
