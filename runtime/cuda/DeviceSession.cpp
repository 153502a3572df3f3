//===- DeviceSession.cpp - a loaded function on one device ----------------===//

#include "DeviceSession.h"

#include <algorithm>

namespace heddle::cuda {

/// Longer lists are added to the stream command by command: a graph of them
/// takes more time and memory than it saves.
static constexpr int64_t kMaxGraphCommands = 1 << 16;
/// A table beyond this is no plan but a mistake.
static constexpr int64_t kMaxTableEntries = 1 << 27;
/// All bits set: a NaN in every float type, -1 in every integer type.
static constexpr uint8_t kPoison = 0xff;

DeviceSession::~DeviceSession() {
  for (Event event : {start, stop})
    if (event)
      driver.cuEventDestroy(event);
  // Runs on the caller's stream may still use our memory.
  if (stream)
    driver.cuStreamSynchronize(stream);
  if (captureStream)
    driver.cuStreamDestroy(captureStream);
  if (stream && ownsStream())
    driver.cuStreamDestroy(stream);
}

std::string DeviceSession::imageName() const {
  if (!image)
    return "";
  return std::string(gpuImageKindName(image->kind)) + " for " + image->target;
}

int64_t DeviceSession::bytes() const {
  int64_t sum = arena.size() + constants.size() + tables.size();
  for (const DeviceMemory &buffer : hostBuffers)
    sum += buffer.size();
  return sum;
}

Status DeviceSession::createStreams() {
  if (ownsStream()) {
    if (Status s =
            driver.check(driver.cuStreamCreate(&stream, kStreamNonBlocking),
                         "cuStreamCreate");
        !s)
      return s;
  } else {
    stream = static_cast<Stream>(options.stream);
  }
  // The caller's stream is left out of captures: it may hold other work.
  return driver.check(driver.cuStreamCreate(&captureStream, kStreamNonBlocking),
                      "cuStreamCreate");
}

Status DeviceSession::loadKernels(CudaModuleCache &modules) {
  if (!image)
    return {};
  if (Status s = modules.impl->find(context, *image, module); !s)
    return s;
  kernels.resize(f.kernels.size());
  for (size_t i = 0; i < kernels.size(); ++i)
    if (Status s =
            module->kernel(image->kernels[i], f.kernels[i].name, kernels[i]);
        !s)
      return s;
  return {};
}

Status DeviceSession::prepare(CudaModuleCache &modules) {
  if (Status s = chooseCudaImage(f, device().sm, driver.version(), image); !s)
    return s;
  totals = countCommands(f.commands);
  if (totals.tableEntries > kMaxTableEntries)
    return Status::error("function '" + f.name + "' needs pointer tables of " +
                         std::to_string(totals.tableEntries) +
                         " entries, more than can be meant; recompile with "
                         "heddle-compile");
  int64_t arenaBytes = f.plan.arenaBytes, tableBytes = 8 * totals.tableEntries;
  int64_t constantBytes = static_cast<int64_t>(f.constants.size());
  if (Status s =
          checkDeviceMemory(driver, arenaBytes + constantBytes + tableBytes,
                            "the plan of function '" + f.name + "'");
      !s)
    return s;
  if (Status s = loadKernels(modules); !s)
    return s;
  if (Status s = arena.allocate(driver, arenaBytes, "the arena"); !s)
    return s;
  if (Status s = constants.allocate(driver, constantBytes, "the constants"); !s)
    return s;
  if (Status s = tables.allocate(driver, tableBytes, "pointer tables"); !s)
    return s;
  if (constantBytes)
    if (Status s = driver.check(driver.cuMemcpyHtoD(constants.address(),
                                                    f.constants.data(),
                                                    f.constants.size()),
                                "cuMemcpyHtoD", "of the constants");
        !s)
      return s;
  return createStreams();
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

/// The bytes of argument or result `i`, counted over both.
static const NamedTensorType &valueAt(const Function &f, size_t i) {
  size_t numArgs = f.arguments.size();
  return i < numArgs ? f.arguments[i] : f.results[i - numArgs];
}

static std::string valueName(const Function &f, size_t i) {
  size_t numArgs = f.arguments.size();
  std::string name = i < numArgs ? "argument " + std::to_string(i)
                                 : "result " + std::to_string(i - numArgs);
  const std::string &own = valueAt(f, i).name;
  return own.empty() ? name : name + " '" + own + "'";
}

/// Kernels access up to 16 bytes at once.
static constexpr Address kBufferAlignment = 16;

/// A launch on a pointer of the host or of another device would end the
/// context, so new pointers are asked where they belong.
Status DeviceSession::checkPointers(const std::vector<Address> &bases) const {
  for (size_t i = 0; i + 2 < bases.size(); ++i) {
    if (!bases[i])
      continue;
    if (!f.kernels.empty() && bases[i] % kBufferAlignment != 0)
      return Status::error("expected " + valueName(f, i) + " at a multiple of " +
                           std::to_string(kBufferAlignment) +
                           " bytes, as accesses of the kernels need; pass an "
                           "aligned buffer");
    int ordinal = -1;
    Result result =
        driver.cuPointerGetAttribute(&ordinal, kPointerDeviceOrdinal, bases[i]);
    if (result == kErrorInvalidValue)
      return Status::error("expected device memory for " + valueName(f, i) +
                           ", got a pointer that the driver does not know; "
                           "pass device memory, or host memory to runHost");
    if (result != kSuccess)
      return driver.check(result, "cuPointerGetAttribute",
                          "of " + valueName(f, i));
    if (ordinal != device().ordinal)
      return Status::error("expected " + valueName(f, i) + " on device " +
                           std::to_string(device().ordinal) +
                           " where the session is, got memory of device " +
                           std::to_string(ordinal) +
                           "; create a session for each device");
  }
  return {};
}

Status DeviceSession::fillWithPoison(const std::vector<Address> &bases) {
  if (Status s = enqueueFill(driver, arena.address(), arena.size(), kPoison, 1,
                             stream, "of the arena");
      !s)
    return s;
  size_t numArgs = f.arguments.size();
  for (size_t i = numArgs; i + 2 < bases.size(); ++i) {
    Address begin = bases[i], end = begin + valueAt(f, i).type.byteSize();
    bool holdsArgument = false;
    for (size_t a = 0; a < numArgs; ++a) {
      Address argEnd = bases[a] + f.arguments[a].type.byteSize();
      holdsArgument |= bases[a] && bases[a] < end && begin < argEnd;
    }
    if (holdsArgument)
      continue;
    if (Status s = enqueueFill(driver, begin, static_cast<int64_t>(end - begin),
                               kPoison, 1, stream, "of " + valueName(f, i));
        !s)
      return s;
  }
  return {};
}

Status DeviceSession::uploadTables(const std::vector<Address> &bases) {
  if (!tables.size() || tableBases == bases)
    return {};
  std::vector<Address> contents =
      commandStream(bases, stream, false).tableContents();
  // From pageable memory: the driver has read it when the call returns.
  if (Status s = driver.check(
          driver.cuMemcpyHtoDAsync(tables.address(), contents.data(),
                                   8 * contents.size(), stream),
          "cuMemcpyHtoDAsync", "of pointer tables");
      !s)
    return s;
  tableBases = bases;
  return {};
}

Status DeviceSession::enqueue(std::vector<Address> &bases) {
  bases[bases.size() - 2] = arena.address();
  bases[bases.size() - 1] = constants.address();
  if (options.poison)
    if (Status s = fillWithPoison(bases); !s)
      return s;
  bool direct = !options.graphs || options.checkLaunches ||
                totals.commands > kMaxGraphCommands;
  if (direct) {
    if (Status s = uploadTables(bases); !s)
      return s;
    return commandStream(bases, stream, options.checkLaunches).enqueue();
  }
  GraphExec exec = graphs.find(bases);
  if (!exec)
    if (Status s = graphs.capture(
            bases, captureStream,
            [&] {
              return commandStream(bases, captureStream, false).enqueue();
            },
            exec);
        !s)
      return s;
  if (Status s = uploadTables(bases); !s)
    return s;
  return driver.check(driver.cuGraphLaunch(exec, stream), "cuGraphLaunch",
                      "of function '" + f.name + "'");
}

Status DeviceSession::synchronize() {
  Result result = driver.cuStreamSynchronize(stream);
  if (result == kSuccess)
    return {};
  std::string names;
  for (const KernelInfo &k : f.kernels)
    names += (names.empty() ? "" : ", ") + k.name;
  return Status::error(
      driver
          .check(result, "cuStreamSynchronize",
                 "after function '" + f.name + "' with kernels " +
                     (names.empty() ? "none" : names))
          .message +
      (options.checkLaunches || names.empty()
           ? ""
           : "; run with launches checked (heddle-run --check-launches) to "
             "learn which"));
}

Status DeviceSession::time(std::vector<Address> &bases, CudaTiming &timing) {
  for (Event *event : {&start, &stop})
    if (!*event)
      if (Status s =
              driver.check(driver.cuEventCreate(event, 0), "cuEventCreate");
          !s)
        return s;
  timing.milliseconds.clear();
  for (int i = 0; i < timing.warmup; ++i)
    if (Status s = enqueue(bases); !s)
      return s;
  float one = 0;
  if (timing.inner < 1) {
    if (Status s = timeRuns(bases, 1, one); !s)
      return s;
    constexpr float kSampleMs = 50, kMost = 200;
    timing.inner = static_cast<int>(
        std::clamp(kSampleMs / std::max(one, 1e-4f), 1.0f, kMost));
  }
  for (int i = 0; i < timing.repeats; ++i) {
    if (Status s = timeRuns(bases, timing.inner, one); !s)
      return s;
    timing.milliseconds.push_back(one);
  }
  return synchronize();
}

Status DeviceSession::timeRuns(std::vector<Address> &bases, int runs,
                               float &milliseconds) {
  if (Status s =
          driver.check(driver.cuEventRecord(start, stream), "cuEventRecord");
      !s)
    return s;
  for (int i = 0; i < runs; ++i)
    if (Status s = enqueue(bases); !s)
      return s;
  if (Status s =
          driver.check(driver.cuEventRecord(stop, stream), "cuEventRecord");
      !s)
    return s;
  if (Status s = synchronize(); !s)
    return s;
  Status s =
      driver.check(driver.cuEventElapsedTime(&milliseconds, start, stop),
                   "cuEventElapsedTime");
  milliseconds /= static_cast<float>(runs);
  return s;
}

//===----------------------------------------------------------------------===//
// Host memory
//===----------------------------------------------------------------------===//

/// Whether argument or result `i` needs device memory of its own.
static bool needsBuffer(const Function &f, size_t i) {
  const NamedTensorType &value = valueAt(f, i);
  return i < f.arguments.size() ? value.used || value.donated : value.alias < 0;
}

Status DeviceSession::takeHostBuffers() {
  size_t n = numBases(f) - 2;
  if (hostBuffers.size() == n)
    return {};
  int64_t sum = 0;
  for (size_t i = 0; i < n; ++i)
    sum += needsBuffer(f, i) ? valueAt(f, i).type.byteSize() : 0;
  if (Status s = checkDeviceMemory(
          driver, sum, "arguments and results of function '" + f.name + "'");
      !s)
    return s;
  std::vector<DeviceMemory> buffers(n);
  for (size_t i = 0; i < n; ++i)
    if (needsBuffer(f, i))
      if (Status s = buffers[i].allocate(driver, valueAt(f, i).type.byteSize(),
                                         valueName(f, i));
          !s)
        return s;
  hostBuffers = std::move(buffers);
  return {};
}

std::vector<Address> DeviceSession::hostBases() const {
  std::vector<Address> bases(numBases(f));
  size_t numArgs = f.arguments.size();
  for (size_t i = 0; i < hostBuffers.size(); ++i) {
    int32_t alias = i < numArgs ? -1 : f.results[i - numArgs].alias;
    bases[i] = hostBuffers[alias < 0 ? i : alias].address();
  }
  return bases;
}

Status DeviceSession::upload(const void *const *args) {
  for (size_t i = 0; i < f.arguments.size(); ++i) {
    const DeviceMemory &buffer = hostBuffers[i];
    if (!buffer.size() || !args[i])
      continue;
    if (Status s = driver.check(driver.cuMemcpyHtoDAsync(
                                    buffer.address(), args[i],
                                    static_cast<size_t>(buffer.size()), stream),
                                "cuMemcpyHtoDAsync", "of " + valueName(f, i));
        !s)
      return s;
  }
  return {};
}

Status DeviceSession::download(void *const *results) {
  std::vector<Address> bases = hostBases();
  for (size_t i = 0; i < f.results.size(); ++i) {
    size_t size = static_cast<size_t>(f.results[i].type.byteSize());
    size_t value = f.arguments.size() + i;
    if (!size)
      continue;
    if (Status s = driver.check(
            driver.cuMemcpyDtoHAsync(results[i], bases[value], size, stream),
            "cuMemcpyDtoHAsync", "of " + valueName(f, value));
        !s)
      return s;
  }
  return synchronize();
}

} // namespace heddle::cuda
