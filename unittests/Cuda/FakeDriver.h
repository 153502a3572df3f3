//===- FakeDriver.h - a CUDA driver library over host memory ----*- C++ -*-===//
//
// A shared library with the entry points of libcuda.so.1 that Heddle uses.
// Device memory is host memory, kernels are host functions found by name, calls
// are recorded, and failures can be asked for. It checks what the real driver
// checks: a current context, bounds of copies and fills, alignment, limits of a
// launch, handles that are not used after they were destroyed.
//
// Images are texts. PTX needs lines ".version 8.0" and ".target sm_80" and its
// kernels as ".entry name("; a cubin is "CUBIN sm_80" and the names after it.
// "axpy", "through_scratch" and "sum_table" are registered from the start.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_UNITTESTS_CUDA_FAKEDRIVER_H
#define HEDDLE_UNITTESTS_CUDA_FAKEDRIVER_H

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#define HEDDLE_FAKE_EXPORT __attribute__((visibility("default")))

namespace heddle::fake {

/// A launch as a host kernel sees it; params point to 8 bytes each.
struct Launch {
  std::string kernel;
  std::array<unsigned, 3> grid, block;
  unsigned sharedBytes;
  void **params;

  template <typename T>
  T param(size_t i) const {
    return *static_cast<T *>(params[i]);
  }
};
using HostKernel = std::function<void(const Launch &)>;

struct KernelLimits {
  int maxThreads = 1024;
  int staticShared = 0;
};

/// What the machine is like and which calls fail. Programs that are run on the
/// fake say it in the environment: HEDDLE_FAKE_CUDA is a list of sm=90,
/// driver=12040 (CUDA 12.4), total=BYTES, shared=BYTES and skip=1, joined by
/// commas.
struct Config {
  int driverVersion = 12040;
  std::vector<int> sm = {80}; // a device each
  int64_t totalBytes = int64_t(1) << 30;
  int64_t reservedBytes = 0; // not free, beside what was allocated
  int maxSharedBytes = 166912;
  int initResult = 0;              // of cuInit
  std::set<std::string> missing;   // functions that the library lacks
  std::map<std::string, int> fail; // call -> result, from now on
  bool skipUnknown = false; // kernels of PTX without a host function do nothing
  std::string failingKernel; // its launch ends in CUDA_ERROR_LAUNCH_FAILED
  std::map<std::string, KernelLimits> limits; // by kernel
};

/// Everything back to the start; live handles become invalid.
HEDDLE_FAKE_EXPORT void reset();
HEDDLE_FAKE_EXPORT Config &config();
HEDDLE_FAKE_EXPORT void registerKernel(const std::string &name,
                                       size_t numParams, HostKernel kernel);

/// Names of the calls since the start or clearCalls, in order.
HEDDLE_FAKE_EXPORT std::vector<std::string> calls();
HEDDLE_FAKE_EXPORT int64_t numCalls(const std::string &name);
HEDDLE_FAKE_EXPORT void clearCalls();
/// What the device has executed: "kernel axpy", "copy 16", "fill 16".
HEDDLE_FAKE_EXPORT std::vector<std::string> executed();

/// Device memory in use; handles that exist (streams, modules, graphs, events,
/// retained contexts).
HEDDLE_FAKE_EXPORT int64_t allocatedBytes();
HEDDLE_FAKE_EXPORT int64_t liveHandles();
/// Misuse that the real driver would leave undefined: a pop without a push, a
/// handle that was destroyed, memory of no allocation.
HEDDLE_FAKE_EXPORT std::vector<std::string> misuses();
/// Contexts that the calling thread has pushed and not popped.
HEDDLE_FAKE_EXPORT int contextDepth();

/// A context and a stream as a caller of its own has them, and device memory.
HEDDLE_FAKE_EXPORT void *callerContext(int ordinal);
HEDDLE_FAKE_EXPORT void *callerStream(int ordinal);
HEDDLE_FAKE_EXPORT void *allocate(int ordinal, int64_t bytes);
HEDDLE_FAKE_EXPORT void release(void *memory);

} // namespace heddle::fake

#endif // HEDDLE_UNITTESTS_CUDA_FAKEDRIVER_H
