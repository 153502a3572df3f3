//===- DriverApi.cpp - the CUDA driver library, found at run time ---------===//

#include "DriverApi.h"

#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>

namespace heddle::cuda {

/// The first release with every function that is needed
/// (cuGraphInstantiateWithFlags).
static constexpr int kOldestCuda = 11040;

std::string mebibytes(int64_t bytes) {
  char text[40];
  std::snprintf(text, sizeof text, "%.1f MiB",
                static_cast<double>(bytes) / (1 << 20));
  return text;
}

Driver::~Driver() {
  if (library)
    dlclose(library);
}

Status Driver::check(Result result, const char *call,
                     const std::string &what) const {
  if (result == kSuccess)
    return {};
  std::string text = call;
  if (!what.empty())
    text += ' ' + what;
  const char *name = nullptr, *meaning = nullptr;
  if (cuGetErrorName && cuGetErrorName(result, &name) == kSuccess && name)
    text += std::string(": ") + name;
  else
    text += ": CUDA error " + std::to_string(result);
  if (cuGetErrorString && cuGetErrorString(result, &meaning) == kSuccess &&
      meaning)
    text += " (" + std::string(meaning) + ")";
  return Status::error(text);
}

namespace {

/// Looks functions up by name and release. A symbol of the library is bound to
/// one form of a function for ever; cuGetProcAddress also knows forms that a
/// later driver exports under another name.
class Lookup {
public:
  explicit Lookup(void *library) : library(library) {
    v2 = reinterpret_cast<decltype(v2)>(dlsym(library, "cuGetProcAddress_v2"));
    v1 = reinterpret_cast<decltype(v1)>(dlsym(library, "cuGetProcAddress"));
  }

  void *find(const char *name, int version, const char *exported) const {
    void *function = nullptr;
    int found = 0; // CUdriverProcAddressQueryResult
    if (v2)
      return v2(name, &function, version, 0, &found) == kSuccess ? function
                                                                 : nullptr;
    if (v1)
      return v1(name, &function, version, 0) == kSuccess ? function : nullptr;
    return dlsym(library, exported);
  }

private:
  void *library;
  Result (*v1)(const char *, void **, int, uint64_t) = nullptr;
  Result (*v2)(const char *, void **, int, uint64_t, int *) = nullptr;
};

} // namespace

Status Driver::resolve(const std::string &path) {
  // The version first: an old driver lacks functions, and its age is the cause.
  auto getVersion =
      reinterpret_cast<Result (*)(int *)>(dlsym(library, "cuDriverGetVersion"));
  if (!getVersion || getVersion(&cudaVersion) != kSuccess)
    return Status::error("expected the NVIDIA driver library, got '" + path +
                         "' without a working cuDriverGetVersion; point "
                         "HEDDLE_CUDA_DRIVER to libcuda.so.1 of the driver");
  if (cudaVersion < kOldestCuda)
    return Status::error("expected an NVIDIA driver for CUDA " +
                         cudaVersionText(kOldestCuda) +
                         " or later, got one for CUDA " +
                         cudaVersionText(cudaVersion) + "; update the driver");
  Lookup lookup(library);
  const char *missing = nullptr;
#define HEDDLE_CUDA_FIND(name, version, exported, params)                      \
  name =                                                                       \
      reinterpret_cast<decltype(name)>(lookup.find(#name, version, exported)); \
  if (!name)                                                                   \
    missing = #name;
  HEDDLE_CUDA_FUNCTIONS(HEDDLE_CUDA_FIND)
#undef HEDDLE_CUDA_FIND
  if (missing)
    return Status::error("expected the function " + std::string(missing) +
                         " in the NVIDIA driver library '" + path +
                         "' for CUDA " + cudaVersionText(cudaVersion) +
                         ", found none; reinstall the driver");
  if (cudaVersion >= 12000)
    cuGraphExecUpdate = reinterpret_cast<decltype(cuGraphExecUpdate)>(
        lookup.find("cuGraphExecUpdate", 12000, "cuGraphExecUpdate_v2"));
  return {};
}

Status Driver::load(const std::string &path,
                    std::shared_ptr<const Driver> &out) {
  std::string name = path;
  if (name.empty())
    if (const char *variable = std::getenv("HEDDLE_CUDA_DRIVER"))
      name = variable;
  if (name.empty())
    name = "libcuda.so.1";
  std::shared_ptr<Driver> driver(new Driver);
  driver->library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!driver->library) {
    const char *reason = dlerror();
    return Status::error("expected the NVIDIA driver library " + name +
                         ", found none (" + (reason ? reason : "no reason") +
                         "); install the NVIDIA driver, or use --device=cpu "
                         "with a bundle for the CPU");
  }
  if (Status s = driver->resolve(name); !s)
    return s;
  if (Status s = driver->check(driver->cuInit(0), "cuInit"); !s)
    return s;
  out = std::move(driver);
  return {};
}

} // namespace heddle::cuda
