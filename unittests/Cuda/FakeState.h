//===- FakeState.h - the state of the fake CUDA driver ----------*- C++ -*-===//

#ifndef HEDDLE_UNITTESTS_CUDA_FAKESTATE_H
#define HEDDLE_UNITTESTS_CUDA_FAKESTATE_H

#include "FakeDriver.h"
#include "cuda/DriverApi.h"

#include <memory>
#include <mutex>

namespace heddle::cuda {

struct ContextHandle {
  int ordinal;
};
struct ModuleHandle {
  int ordinal;
  std::map<std::string, size_t> kernels; // and their parameters
  std::map<std::string, std::unique_ptr<KernelHandle>> functions;
};
struct KernelHandle {
  std::string name;
  size_t numParams = 0; // that its PTX declares
  int maxDynamicShared = 48 * 1024;
};
/// Work of a stream, run at once or when its graph is launched.
struct Work {
  std::string kind;
  std::function<Result()> run;
};
struct GraphHandle {
  std::vector<Work> work;
};
struct GraphExecHandle {
  std::vector<Work> work;
};
struct StreamHandle {
  int ordinal;
  bool capturing = false;
  std::vector<Work> captured = {};
};
struct EventHandle {
  int64_t recordedAt = -1; // in work done by then
};

} // namespace heddle::cuda

namespace heddle::fake {

using namespace heddle::cuda;

/// The driver's error codes that the fake returns.
enum : Result {
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNotInitialized = 3,
  kNoDevice = 100,
  kInvalidDevice = 101,
  kInvalidContext = 201,
  kNoBinaryForGpu = 209,
  kInvalidPtx = 218,
  kUnsupportedPtx = 222,
  kInvalidHandle = 400,
  kNotFound = 500,
  kIllegalAddress = 700,
  kLaunchFailed = 719,
  kCaptureUnsupported = 900,
  kGraphUpdateFailure = 910,
};

struct RegisteredKernel {
  size_t numParams;
  HostKernel run;
};

struct Allocation {
  int ordinal;
  size_t size;
};

struct State {
  std::recursive_mutex mutex;
  Config config;
  std::map<std::string, RegisteredKernel> kernels;
  std::vector<std::string> calls, executed, misuses;
  std::map<Address, Allocation> memory; // by start
  std::set<void *> handles;             // everything that may be destroyed
  std::map<int, int> retained;          // primary contexts
  std::vector<std::unique_ptr<ContextHandle>> contexts; // by ordinal
  std::vector<std::unique_ptr<StreamHandle>> callerStreams;
  bool initialized = false;
  Result sticky = kSuccess; // of the context after a failed kernel
  int64_t workDone = 0;
};

State &state();
/// The contexts that are current in this thread, innermost last.
std::vector<Context> &contextStack();

/// Records a call; what it has to return if it fails before it starts.
Result enter(const char *name, bool needsContext = true);
ContextHandle *contextOf(int ordinal);
/// Whether [at, at + size) lies in one allocation.
bool inMemory(Address at, size_t size);
Result misuse(const std::string &what, Result result);
void addDefaultKernels(std::map<std::string, RegisteredKernel> &kernels);

/// Runs work now, or adds it to the graph that the stream captures.
Result submit(Stream stream, std::string kind, std::function<Result()> run);

} // namespace heddle::fake

#endif // HEDDLE_UNITTESTS_CUDA_FAKESTATE_H
