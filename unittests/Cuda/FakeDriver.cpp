//===- FakeDriver.cpp - the entry points of the fake CUDA driver ----------===//

#include "FakeState.h"

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

using namespace heddle;
using namespace heddle::cuda;
using namespace heddle::fake;

/// The recursive lock of every entry point.
#define FAKE_LOCK std::lock_guard<std::recursive_mutex> lock(state().mutex)
#define FAKE_ENTER(...)                                                        \
  FAKE_LOCK;                                                                   \
  if (Result result = enter(__VA_ARGS__); result != kSuccess)                  \
  return result

static bool validDevice(Device device) {
  return device >= 0 && static_cast<size_t>(device) < state().config.sm.size();
}

extern "C" {

//===----------------------------------------------------------------------===//
// Library and devices
//===----------------------------------------------------------------------===//

HEDDLE_FAKE_EXPORT Result cuInit(unsigned) {
  FAKE_LOCK;
  state().calls.push_back("cuInit");
  if (state().config.initResult)
    return state().config.initResult;
  if (state().config.fail.count("cuInit"))
    return state().config.fail["cuInit"];
  state().initialized = true;
  return kSuccess;
}

HEDDLE_FAKE_EXPORT Result cuDriverGetVersion(int *version) {
  FAKE_LOCK;
  *version = state().config.driverVersion;
  return kSuccess;
}

static const std::pair<Result, std::pair<const char *, const char *>>
    kErrors[] = {
        {kInvalidValue, {"CUDA_ERROR_INVALID_VALUE", "invalid argument"}},
        {kOutOfMemory, {"CUDA_ERROR_OUT_OF_MEMORY", "out of memory"}},
        {kNoDevice,
         {"CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"}},
        {kInvalidContext,
         {"CUDA_ERROR_INVALID_CONTEXT", "invalid device context"}},
        {kNoBinaryForGpu,
         {"CUDA_ERROR_NO_BINARY_FOR_GPU",
          "no kernel image is available for execution on the device"}},
        {kInvalidPtx,
         {"CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"}},
        {kUnsupportedPtx,
         {"CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
          "the provided PTX was compiled with an unsupported toolchain"}},
        {kInvalidHandle,
         {"CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"}},
        {kNotFound, {"CUDA_ERROR_NOT_FOUND", "named symbol not found"}},
        {kIllegalAddress,
         {"CUDA_ERROR_ILLEGAL_ADDRESS",
          "an illegal memory access was encountered"}},
        {kLaunchFailed,
         {"CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"}},
};

HEDDLE_FAKE_EXPORT Result cuGetErrorName(Result error, const char **name) {
  for (auto &[code, texts] : kErrors)
    if (code == error) {
      *name = texts.first;
      return kSuccess;
    }
  return kInvalidValue;
}

HEDDLE_FAKE_EXPORT Result cuGetErrorString(Result error, const char **text) {
  for (auto &[code, texts] : kErrors)
    if (code == error) {
      *text = texts.second;
      return kSuccess;
    }
  return kInvalidValue;
}

HEDDLE_FAKE_EXPORT Result cuDeviceGetCount(int *count) {
  FAKE_ENTER("cuDeviceGetCount", false);
  *count = static_cast<int>(state().config.sm.size());
  return kSuccess;
}

HEDDLE_FAKE_EXPORT Result cuDeviceGet(Device *device, int ordinal) {
  FAKE_ENTER("cuDeviceGet", false);
  *device = ordinal;
  return validDevice(ordinal) ? kSuccess : kInvalidDevice;
}

HEDDLE_FAKE_EXPORT Result cuDeviceGetName(char *name, int length,
                                          Device device) {
  FAKE_ENTER("cuDeviceGetName", false);
  std::string text = "Fake GPU " + std::to_string(device);
  std::strncpy(name, text.c_str(), length);
  return kSuccess;
}

HEDDLE_FAKE_EXPORT Result cuDeviceGetAttribute(int *value, int attribute,
                                               Device device) {
  FAKE_ENTER("cuDeviceGetAttribute", false);
  if (!validDevice(device))
    return kInvalidDevice;
  switch (attribute) {
  case kMultiprocessorCount:
    *value = 108;
    return kSuccess;
  case kComputeCapabilityMajor:
    *value = state().config.sm[device] / 10;
    return kSuccess;
  case kComputeCapabilityMinor:
    *value = state().config.sm[device] % 10;
    return kSuccess;
  case kMaxSharedMemoryPerBlockOptin:
    *value = state().config.maxSharedBytes;
    return kSuccess;
  }
  return kInvalidValue;
}

HEDDLE_FAKE_EXPORT Result cuDeviceTotalMem_v2(size_t *bytes, Device) {
  FAKE_ENTER("cuDeviceTotalMem", false);
  *bytes = state().config.totalBytes;
  return kSuccess;
}

//===----------------------------------------------------------------------===//
// Contexts
//===----------------------------------------------------------------------===//

HEDDLE_FAKE_EXPORT Result cuDevicePrimaryCtxRetain(Context *context,
                                                   Device device) {
  FAKE_ENTER("cuDevicePrimaryCtxRetain", false);
  if (!validDevice(device))
    return kInvalidDevice;
  *context = contextOf(device);
  ++state().retained[device];
  return kSuccess;
}

HEDDLE_FAKE_EXPORT Result cuDevicePrimaryCtxRelease_v2(Device device) {
  FAKE_ENTER("cuDevicePrimaryCtxRelease", false);
  if (state().retained[device]-- <= 0)
    return misuse("release of a context that is not retained", kInvalidContext);
  return kSuccess;
}

HEDDLE_FAKE_EXPORT Result cuCtxPushCurrent_v2(Context context) {
  FAKE_ENTER("cuCtxPushCurrent", false);
  if (!context)
    return kInvalidContext;
  contextStack().push_back(context);
  return kSuccess;
}

HEDDLE_FAKE_EXPORT Result cuCtxPopCurrent_v2(Context *context) {
  FAKE_LOCK;
  state().calls.push_back("cuCtxPopCurrent");
  if (contextStack().empty())
    return misuse("pop without a push", kInvalidContext);
  *context = contextStack().back();
  contextStack().pop_back();
  return kSuccess;
}

HEDDLE_FAKE_EXPORT Result cuCtxGetDevice(Device *device) {
  FAKE_ENTER("cuCtxGetDevice");
  *device = contextStack().back()->ordinal;
  return kSuccess;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

static int64_t freeBytes() {
  const Config &config = state().config;
  return config.totalBytes - config.reservedBytes - allocatedBytes();
}

HEDDLE_FAKE_EXPORT Result cuMemGetInfo_v2(size_t *free, size_t *total) {
  FAKE_ENTER("cuMemGetInfo");
  *free = static_cast<size_t>(freeBytes());
  *total = static_cast<size_t>(state().config.totalBytes);
  return kSuccess;
}

HEDDLE_FAKE_EXPORT Result cuMemAlloc_v2(Address *address, size_t size) {
  FAKE_ENTER("cuMemAlloc");
  if (size == 0)
    return kInvalidValue;
  if (static_cast<int64_t>(size) > freeBytes())
    return kOutOfMemory;
  *address = reinterpret_cast<Address>(
      allocate(contextStack().back()->ordinal, static_cast<int64_t>(size)));
  return kSuccess;
}

HEDDLE_FAKE_EXPORT Result cuMemFree_v2(Address address) {
  FAKE_LOCK;
  state().calls.push_back("cuMemFree");
  if (contextStack().empty())
    return misuse("cuMemFree without a context", kInvalidContext);
  if (!state().memory.count(address))
    return misuse("cuMemFree of what is not allocated", kInvalidValue);
  release(reinterpret_cast<void *>(address));
  return kSuccess;
}

HEDDLE_FAKE_EXPORT Result cuPointerGetAttribute(void *data, int attribute,
                                                Address address) {
  FAKE_ENTER("cuPointerGetAttribute", false);
  auto &memory = state().memory;
  auto next = memory.upper_bound(address);
  if (attribute != kPointerDeviceOrdinal || !inMemory(address, 0))
    return kInvalidValue;
  *static_cast<int *>(data) = std::prev(next)->second.ordinal;
  return kSuccess;
}

static Result copyBytes(Address dest, Address source, size_t size) {
  std::memcpy(reinterpret_cast<void *>(dest),
              reinterpret_cast<const void *>(source), size);
  return kSuccess;
}

HEDDLE_FAKE_EXPORT Result cuMemcpyHtoD_v2(Address dest, const void *source,
                                          size_t size) {
  FAKE_ENTER("cuMemcpyHtoD");
  if (!inMemory(dest, size))
    return kInvalidValue;
  return copyBytes(dest, reinterpret_cast<Address>(source), size);
}

HEDDLE_FAKE_EXPORT Result cuMemcpyHtoDAsync_v2(Address dest, const void *source,
                                               size_t size, Stream stream) {
  FAKE_ENTER("cuMemcpyHtoDAsync");
  if (!inMemory(dest, size))
    return kInvalidValue;
  if (stream && stream->capturing)
    return misuse("capture of a copy from pageable memory",
                  kCaptureUnsupported);
  return submit(stream, "upload", [=] {
    return copyBytes(dest, reinterpret_cast<Address>(source), size);
  });
}

HEDDLE_FAKE_EXPORT Result cuMemcpyDtoHAsync_v2(void *dest, Address source,
                                               size_t size, Stream stream) {
  FAKE_ENTER("cuMemcpyDtoHAsync");
  if (!inMemory(source, size))
    return kInvalidValue;
  return submit(stream, "download", [=] {
    return copyBytes(reinterpret_cast<Address>(dest), source, size);
  });
}

HEDDLE_FAKE_EXPORT Result cuMemcpyDtoDAsync_v2(Address dest, Address source,
                                               size_t size, Stream stream) {
  FAKE_ENTER("cuMemcpyDtoDAsync");
  if (!inMemory(dest, size) || !inMemory(source, size))
    return kInvalidValue;
  if (dest < source + size && source < dest + size)
    return misuse("copy between overlapping places", kInvalidValue);
  return submit(stream, "copy", [=] {
    state().executed.push_back("copy " + std::to_string(size));
    return copyBytes(dest, source, size);
  });
}

static Result fillElements(const char *name, Address dest, size_t pitch,
                           uint32_t value, size_t width, size_t n,
                           Stream stream) {
  FAKE_ENTER(name);
  if (n && (dest % width || pitch % width ||
            !inMemory(dest, pitch * (n - 1) + width)))
    return kInvalidValue;
  return submit(stream, "fill", [=] {
    state().executed.push_back("fill " + std::to_string(n * width));
    for (size_t i = 0; i < n; ++i)
      std::memcpy(reinterpret_cast<void *>(dest + i * pitch), &value, width);
    return kSuccess;
  });
}

HEDDLE_FAKE_EXPORT Result cuMemsetD8Async(Address dest, unsigned char value,
                                          size_t n, Stream stream) {
  return fillElements("cuMemsetD8Async", dest, 1, value, 1, n, stream);
}
HEDDLE_FAKE_EXPORT Result cuMemsetD16Async(Address dest, unsigned short value,
                                           size_t n, Stream stream) {
  return fillElements("cuMemsetD16Async", dest, 2, value, 2, n, stream);
}
HEDDLE_FAKE_EXPORT Result cuMemsetD32Async(Address dest, unsigned value,
                                           size_t n, Stream stream) {
  return fillElements("cuMemsetD32Async", dest, 4, value, 4, n, stream);
}
HEDDLE_FAKE_EXPORT Result cuMemsetD2D32Async(Address dest, size_t pitch,
                                             unsigned value, size_t width,
                                             size_t height, Stream stream) {
  if (width != 1)
    return kInvalidValue;
  return fillElements("cuMemsetD2D32Async", dest, pitch, value, 4, height,
                      stream);
}

} // extern "C"

#ifndef HEDDLE_FAKE_NO_PROC_ADDRESS

/// The function by the name that the library exports it as.
static void *exportedAs(const std::string &name) {
  static void *self = [] {
    Dl_info info;
    dladdr(reinterpret_cast<void *>(&cuInit), &info);
    return dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  }();
#define FAKE_EXPORTED(base, version, exported, params)                         \
  if (name == #base)                                                           \
    return dlsym(self, exported);
  HEDDLE_CUDA_FUNCTIONS(FAKE_EXPORTED)
#undef FAKE_EXPORTED
  if (name == "cuGraphExecUpdate")
    return dlsym(self, "cuGraphExecUpdate_v2");
  return nullptr;
}

extern "C" HEDDLE_FAKE_EXPORT Result cuGetProcAddress_v2(const char *name,
                                                         void **function, int,
                                                         uint64_t, int *found) {
  FAKE_LOCK;
  *found = 1; // CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND
  *function = nullptr;
  if (!state().config.missing.count(name))
    *function = exportedAs(name);
  if (!*function)
    return kNotFound;
  *found = 0;
  return kSuccess;
}

#endif
