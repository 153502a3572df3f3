//===- FakeWork.cpp - modules, launches, graphs of the fake driver --------===//

#include "FakeState.h"

#include <algorithm>
#include <cstring>
#include <sstream>

using namespace heddle;
using namespace heddle::cuda;
using namespace heddle::fake;

#define FAKE_LOCK std::lock_guard<std::recursive_mutex> lock(state().mutex)
#define FAKE_ENTER(...)                                                        \
  FAKE_LOCK;                                                                   \
  if (Result result = enter(__VA_ARGS__); result != kSuccess)                  \
  return result

/// Takes a handle out of the living; reports one that is not among them.
template <typename Handle>
static Result destroy(const char *name, Handle *handle) {
  FAKE_LOCK;
  state().calls.push_back(name);
  if (contextStack().empty())
    return misuse(std::string(name) + " without a context", kInvalidContext);
  if (!state().handles.erase(handle))
    return misuse(std::string(name) + " of an unknown handle", kInvalidHandle);
  delete handle;
  return kSuccess;
}

template <typename Handle>
static bool alive(Handle *handle) {
  return handle && state().handles.count(handle);
}

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

/// "sm_80" to 80.
static int archOf(const std::string &target) {
  return std::atoi(target.c_str() + 3);
}

static Result loadPtx(const std::string &text, int sm, ModuleHandle &module,
                      std::string &log) {
  std::istringstream lines(text);
  std::string word, entry;
  int version = 0, arch = 0;
  while (lines >> word) {
    if (word == ".version") {
      int major = 0, minor = 0;
      char dot;
      lines >> major >> dot >> minor;
      version = 10 * major + minor;
    } else if (word == ".target") {
      lines >> word;
      arch = archOf(word);
    } else if (word == ".entry") {
      lines >> word;
      entry = word.substr(0, word.find('('));
      module.kernels[entry] = 0;
    } else if (word == ".param" && !entry.empty()) {
      ++module.kernels[entry];
    } else if (word[0] == '{') {
      entry.clear();
    }
  }
  if (static_cast<uint32_t>(version) >
      newestPtxOfCuda(state().config.driverVersion))
    return kUnsupportedPtx;
  if (text.find("oops") != std::string::npos || !version || !arch) {
    log = "ptxas application ptx input, line 4; fatal   : Parsing error near "
          "'oops': syntax error\nptxas fatal   : Ptx assembly aborted due to "
          "errors\n";
    return kInvalidPtx;
  }
  return arch <= sm ? kSuccess : kNoBinaryForGpu;
}

static Result loadCubin(const std::string &text, int sm, ModuleHandle &module) {
  std::istringstream words(text);
  std::string word;
  words >> word >> word;
  int arch = archOf(word);
  while (words >> word)
    module.kernels[word] = 0;
  return arch / 10 == sm / 10 && arch <= sm ? kSuccess : kNoBinaryForGpu;
}

extern "C" {

HEDDLE_FAKE_EXPORT Result cuModuleLoadDataEx(Module *module, const void *image,
                                             unsigned numOptions, int *options,
                                             void **values) {
  FAKE_ENTER("cuModuleLoadDataEx");
  std::string text = static_cast<const char *>(image), log;
  int ordinal = contextStack().back()->ordinal;
  int sm = state().config.sm[ordinal];
  auto loaded = std::make_unique<ModuleHandle>();
  loaded->ordinal = ordinal;
  Result result = text.compare(0, 6, "CUBIN ") == 0
                      ? loadCubin(text, sm, *loaded)
                      : loadPtx(text, sm, *loaded, log);
  char *buffer = nullptr;
  size_t size = 0;
  for (unsigned i = 0; i < numOptions; ++i) {
    if (options[i] == kJitErrorLogBuffer)
      buffer = static_cast<char *>(values[i]);
    if (options[i] == kJitErrorLogBufferSizeBytes)
      size = reinterpret_cast<size_t>(values[i]);
  }
  if (buffer && size)
    std::strncpy(buffer, log.c_str(), size);
  if (result != kSuccess)
    return result;
  *module = loaded.release();
  state().handles.insert(*module);
  return kSuccess;
}

HEDDLE_FAKE_EXPORT Result cuModuleUnload(Module module) {
  return destroy("cuModuleUnload", module);
}

HEDDLE_FAKE_EXPORT Result cuModuleGetFunction(Kernel *kernel, Module module,
                                              const char *name) {
  FAKE_ENTER("cuModuleGetFunction");
  if (!alive(module))
    return misuse("a function of an unloaded module", kInvalidHandle);
  if (!module->kernels.count(name))
    return kNotFound;
  std::unique_ptr<KernelHandle> &found = module->functions[name];
  if (!found)
    found.reset(new KernelHandle{name, module->kernels[name]});
  *kernel = found.get();
  return kSuccess;
}

static KernelLimits limitsOf(Kernel kernel) {
  auto found = state().config.limits.find(kernel->name);
  return found == state().config.limits.end() ? KernelLimits() : found->second;
}

HEDDLE_FAKE_EXPORT Result cuFuncGetAttribute(int *value, int attribute,
                                             Kernel kernel) {
  FAKE_ENTER("cuFuncGetAttribute");
  switch (attribute) {
  case kMaxThreadsPerBlock:
    *value = limitsOf(kernel).maxThreads;
    return kSuccess;
  case kSharedSizeBytes:
    *value = limitsOf(kernel).staticShared;
    return kSuccess;
  case kMaxDynamicSharedSizeBytes:
    *value = kernel->maxDynamicShared;
    return kSuccess;
  }
  return kInvalidValue;
}

HEDDLE_FAKE_EXPORT Result cuFuncSetAttribute(Kernel kernel, int attribute,
                                             int value) {
  FAKE_ENTER("cuFuncSetAttribute");
  if (attribute != kMaxDynamicSharedSizeBytes ||
      value + limitsOf(kernel).staticShared > state().config.maxSharedBytes)
    return kInvalidValue;
  kernel->maxDynamicShared = value;
  return kSuccess;
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

HEDDLE_FAKE_EXPORT Result cuLaunchKernel(Kernel kernel, unsigned gridX,
                                         unsigned gridY, unsigned gridZ,
                                         unsigned blockX, unsigned blockY,
                                         unsigned blockZ, unsigned sharedBytes,
                                         Stream stream, void **params,
                                         void **extra) {
  FAKE_ENTER("cuLaunchKernel");
  auto found = state().kernels.find(kernel->name);
  RegisteredKernel host{kernel->numParams, [](const Launch &) {}};
  if (found != state().kernels.end())
    host = found->second;
  else if (!state().config.skipUnknown)
    return kInvalidValue;
  uint64_t threads = uint64_t(blockX) * blockY * blockZ;
  if (extra || !gridX || !gridY || !gridZ || gridY > 65535 || gridZ > 65535 ||
      !threads ||
      threads > static_cast<uint64_t>(limitsOf(kernel).maxThreads) ||
      static_cast<int>(sharedBytes) > kernel->maxDynamicShared)
    return kInvalidValue;
  // Parameters are read by the call.
  std::vector<uint64_t> values;
  for (size_t i = 0; i < host.numParams; ++i)
    values.push_back(*static_cast<uint64_t *>(params[i]));
  Launch launch = {kernel->name,
                   {gridX, gridY, gridZ},
                   {blockX, blockY, blockZ},
                   sharedBytes,
                   nullptr};
  return submit(stream, "kernel " + kernel->name,
                [=, function = host.run]() mutable -> Result {
                  state().executed.push_back("kernel " + launch.kernel);
                  if (state().config.failingKernel == launch.kernel)
                    return kLaunchFailed;
                  std::vector<void *> pointers;
                  for (uint64_t &value : values)
                    pointers.push_back(&value);
                  launch.params = pointers.data();
                  function(launch);
                  return kSuccess;
                });
}

//===----------------------------------------------------------------------===//
// Streams, graphs, events
//===----------------------------------------------------------------------===//

HEDDLE_FAKE_EXPORT Result cuStreamCreate(Stream *stream, unsigned flags) {
  FAKE_ENTER("cuStreamCreate");
  if (flags > kStreamNonBlocking)
    return kInvalidValue;
  *stream = new StreamHandle{contextStack().back()->ordinal};
  state().handles.insert(*stream);
  return kSuccess;
}

HEDDLE_FAKE_EXPORT Result cuStreamDestroy_v2(Stream stream) {
  return destroy("cuStreamDestroy", stream);
}

HEDDLE_FAKE_EXPORT Result cuStreamSynchronize(Stream stream) {
  FAKE_ENTER("cuStreamSynchronize");
  if (!alive(stream))
    return misuse("wait for an unknown stream", kInvalidHandle);
  return stream->capturing ? kCaptureUnsupported : kSuccess;
}

HEDDLE_FAKE_EXPORT Result cuStreamBeginCapture_v2(Stream stream, int mode) {
  FAKE_ENTER("cuStreamBeginCapture");
  if (!alive(stream) || stream->capturing || mode < 0 || mode > 2)
    return misuse("capture of a stream that cannot", kInvalidHandle);
  stream->capturing = true;
  return kSuccess;
}

HEDDLE_FAKE_EXPORT Result cuStreamEndCapture(Stream stream, Graph *graph) {
  FAKE_LOCK;
  state().calls.push_back("cuStreamEndCapture");
  if (!alive(stream) || !stream->capturing)
    return misuse("end of a capture that is none", kInvalidHandle);
  stream->capturing = false;
  if (state().config.fail.count("cuStreamEndCapture")) {
    stream->captured.clear();
    return state().config.fail["cuStreamEndCapture"];
  }
  *graph = new GraphHandle{std::move(stream->captured)};
  stream->captured.clear();
  state().handles.insert(*graph);
  return kSuccess;
}

HEDDLE_FAKE_EXPORT Result cuGraphInstantiateWithFlags(
    GraphExec *exec, Graph graph, unsigned long long flags) {
  FAKE_ENTER("cuGraphInstantiateWithFlags");
  if (!alive(graph) || flags)
    return kInvalidValue;
  *exec = new GraphExecHandle{graph->work};
  state().handles.insert(*exec);
  return kSuccess;
}

HEDDLE_FAKE_EXPORT Result cuGraphExecUpdate_v2(GraphExec exec, Graph graph,
                                               GraphUpdateInfo *info) {
  FAKE_ENTER("cuGraphExecUpdate");
  if (!alive(exec) || !alive(graph))
    return misuse("update of an unknown graph", kInvalidHandle);
  bool same =
      std::equal(exec->work.begin(), exec->work.end(), graph->work.begin(),
                 graph->work.end(),
                 [](const Work &x, const Work &y) { return x.kind == y.kind; });
  info->result = same ? 0 : 2; // CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED
  if (!same)
    return kGraphUpdateFailure;
  exec->work = graph->work;
  return kSuccess;
}

HEDDLE_FAKE_EXPORT Result cuGraphLaunch(GraphExec exec, Stream stream) {
  FAKE_ENTER("cuGraphLaunch");
  if (!alive(exec))
    return misuse("launch of an unknown graph", kInvalidHandle);
  for (Work &work : exec->work)
    if (Result result = submit(stream, work.kind, work.run); result != kSuccess)
      return result;
  return kSuccess;
}

HEDDLE_FAKE_EXPORT Result cuGraphExecDestroy(GraphExec exec) {
  return destroy("cuGraphExecDestroy", exec);
}

HEDDLE_FAKE_EXPORT Result cuGraphDestroy(Graph graph) {
  return destroy("cuGraphDestroy", graph);
}

HEDDLE_FAKE_EXPORT Result cuEventCreate(Event *event, unsigned) {
  FAKE_ENTER("cuEventCreate");
  *event = new EventHandle;
  state().handles.insert(*event);
  return kSuccess;
}

HEDDLE_FAKE_EXPORT Result cuEventRecord(Event event, Stream stream) {
  FAKE_ENTER("cuEventRecord");
  if (!alive(event) || !alive(stream))
    return misuse("record of an unknown event", kInvalidHandle);
  event->recordedAt = state().workDone;
  return kSuccess;
}

/// A millisecond for each piece of work between the two.
HEDDLE_FAKE_EXPORT Result cuEventElapsedTime(float *milliseconds, Event start,
                                             Event stop) {
  FAKE_ENTER("cuEventElapsedTime");
  if (!alive(start) || !alive(stop) || start->recordedAt < 0 ||
      stop->recordedAt < start->recordedAt)
    return misuse("time between events that are not recorded", kInvalidHandle);
  *milliseconds = static_cast<float>(stop->recordedAt - start->recordedAt);
  return kSuccess;
}

HEDDLE_FAKE_EXPORT Result cuEventDestroy_v2(Event event) {
  return destroy("cuEventDestroy", event);
}

} // extern "C"
