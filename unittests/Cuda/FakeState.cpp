//===- FakeState.cpp - the state of the fake CUDA driver ------------------===//

#include "FakeState.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <sstream>

namespace heddle::fake {

/// The defaults, and what HEDDLE_FAKE_CUDA changes of them.
static Config configured() {
  Config config;
  const char *text = std::getenv("HEDDLE_FAKE_CUDA");
  std::istringstream entries(text ? text : "");
  for (std::string entry; std::getline(entries, entry, ',');) {
    size_t equal = entry.find('=');
    std::string key = entry.substr(0, equal);
    int64_t value =
        equal == std::string::npos ? 0 : std::atoll(entry.c_str() + equal + 1);
    if (key == "sm")
      config.sm = {static_cast<int>(value)};
    else if (key == "driver")
      config.driverVersion = static_cast<int>(value);
    else if (key == "total")
      config.totalBytes = value;
    else if (key == "shared")
      config.maxSharedBytes = static_cast<int>(value);
    else if (key == "skip")
      config.skipUnknown = value != 0;
  }
  return config;
}

State &state() {
  static State *state = [] {
    State *s = new State;
    s->config = configured();
    addDefaultKernels(s->kernels);
    return s;
  }();
  return *state;
}

std::vector<Context> &contextStack() {
  thread_local std::vector<Context> stack;
  return stack;
}

using Lock = std::lock_guard<std::recursive_mutex>;

Result misuse(const std::string &what, Result result) {
  state().misuses.push_back(what);
  return result;
}

Result enter(const char *name, bool needsContext) {
  State &s = state();
  s.calls.push_back(name);
  auto failure = s.config.fail.find(name);
  if (failure != s.config.fail.end())
    return failure->second;
  if (!s.initialized)
    return misuse(std::string(name) + " before cuInit", kNotInitialized);
  if (needsContext && contextStack().empty())
    return misuse(std::string(name) + " without a context", kInvalidContext);
  return needsContext ? s.sticky : kSuccess;
}

ContextHandle *contextOf(int ordinal) {
  State &s = state();
  while (static_cast<int>(s.contexts.size()) <= ordinal)
    s.contexts.emplace_back(
        new ContextHandle{static_cast<int>(s.contexts.size())});
  return s.contexts[ordinal].get();
}

bool inMemory(Address at, size_t size) {
  auto &memory = state().memory;
  auto next = memory.upper_bound(at);
  if (next == memory.begin())
    return false;
  auto &[begin, allocation] = *std::prev(next);
  return at - begin <= allocation.size &&
         size <= allocation.size - (at - begin);
}

Result submit(Stream stream, std::string kind, std::function<Result()> run) {
  State &s = state();
  if (!stream || !s.handles.count(stream))
    return misuse(kind + " on an unknown stream", kInvalidHandle);
  if (stream->ordinal != contextStack().back()->ordinal)
    return misuse(kind + " on a stream of another context", kInvalidHandle);
  if (stream->capturing) {
    stream->captured.push_back({std::move(kind), std::move(run)});
    return kSuccess;
  }
  ++s.workDone;
  // As on a device, work fails when it runs, and the next wait says so.
  if (Result result = run(); result != kSuccess && s.sticky == kSuccess)
    s.sticky = result;
  return kSuccess;
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

void addDefaultKernels(std::map<std::string, RegisteredKernel> &kernels) {
  // y[i] = a * x[i] + y[i]; a (f64 bits), n, x, y.
  kernels["axpy"] = {4, [](const Launch &l) {
                       double a = l.param<double>(0);
                       const float *x = l.param<const float *>(2);
                       float *y = l.param<float *>(3);
                       for (int64_t i = 0; i < l.param<int64_t>(1); ++i)
                         y[i] = static_cast<float>(a) * x[i] + y[i];
                     }};
  // Copies 16 floats per block; x, y.
  kernels["through_scratch"] = {
      2, [](const Launch &l) {
        std::memcpy(l.param<void *>(1), l.param<void *>(0), l.grid[0] * 64);
      }};
  // y[i] = sum of table[t][i]; table, number of entries, n, y.
  kernels["sum_table"] = {4, [](const Launch &l) {
                            auto table = l.param<const float *const *>(0);
                            float *y = l.param<float *>(3);
                            for (int64_t i = 0; i < l.param<int64_t>(2); ++i) {
                              y[i] = 0;
                              for (int64_t t = 0; t < l.param<int64_t>(1); ++t)
                                y[i] += table[t][i];
                            }
                          }};
}

//===----------------------------------------------------------------------===//
// Control
//===----------------------------------------------------------------------===//

void reset() {
  State &s = state();
  Lock lock(s.mutex);
  for (auto &[address, allocation] : s.memory)
    std::free(reinterpret_cast<void *>(address));
  s.config = configured();
  s.kernels.clear();
  addDefaultKernels(s.kernels);
  s.calls.clear();
  s.executed.clear();
  s.misuses.clear();
  s.memory.clear();
  s.handles.clear();
  s.retained.clear();
  s.callerStreams.clear();
  s.initialized = false;
  s.sticky = kSuccess;
  contextStack().clear();
}

Config &config() { return state().config; }

void registerKernel(const std::string &name, size_t numParams,
                    HostKernel kernel) {
  Lock lock(state().mutex);
  state().kernels[name] = {numParams, std::move(kernel)};
}

std::vector<std::string> calls() {
  Lock lock(state().mutex);
  return state().calls;
}

int64_t numCalls(const std::string &name) {
  Lock lock(state().mutex);
  return std::count(state().calls.begin(), state().calls.end(), name);
}

void clearCalls() {
  Lock lock(state().mutex);
  state().calls.clear();
  state().executed.clear();
}

std::vector<std::string> executed() {
  Lock lock(state().mutex);
  return state().executed;
}

int64_t allocatedBytes() {
  Lock lock(state().mutex);
  int64_t sum = 0;
  for (auto &[address, allocation] : state().memory)
    sum += static_cast<int64_t>(allocation.size);
  return sum;
}

int64_t liveHandles() {
  State &s = state();
  Lock lock(s.mutex);
  int64_t sum = static_cast<int64_t>(s.handles.size()) -
                static_cast<int64_t>(s.callerStreams.size());
  for (auto &[ordinal, count] : s.retained)
    sum += count;
  return sum;
}

std::vector<std::string> misuses() {
  Lock lock(state().mutex);
  return state().misuses;
}

int contextDepth() { return static_cast<int>(contextStack().size()); }

void *callerContext(int ordinal) {
  Lock lock(state().mutex);
  return contextOf(ordinal);
}

void *callerStream(int ordinal) {
  State &s = state();
  Lock lock(s.mutex);
  s.callerStreams.emplace_back(new StreamHandle{ordinal});
  s.handles.insert(s.callerStreams.back().get());
  return s.callerStreams.back().get();
}

void *allocate(int ordinal, int64_t bytes) {
  State &s = state();
  Lock lock(s.mutex);
  size_t size = static_cast<size_t>(std::max<int64_t>(bytes, 1));
  void *memory = std::aligned_alloc(256, (size + 255) / 256 * 256);
  std::memset(memory, 0xcd, size);
  s.memory[reinterpret_cast<Address>(memory)] = {ordinal,
                                                 static_cast<size_t>(bytes)};
  return memory;
}

void release(void *memory) {
  State &s = state();
  Lock lock(s.mutex);
  if (s.memory.erase(reinterpret_cast<Address>(memory)))
    std::free(memory);
}

} // namespace heddle::fake
