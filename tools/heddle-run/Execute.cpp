//===- Execute.cpp - one function on one device ---------------------------===//

#include "Execute.h"

#include "heddle/Runtime/CpuDevice.h"
#include "heddle/Runtime/CudaDevice.h"
#include "heddle/Runtime/EmulatorDevice.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>

using namespace heddle;
using namespace heddle::run;

static bool endsWith(const std::string &text, const std::string &suffix) {
  return text.size() >= suffix.size() &&
         text.compare(text.size() - suffix.size(), suffix.size(), suffix) == 0;
}

/// The bytes of a file or of standard input.
static Status readBytes(const std::string &path, std::string &bytes) {
  FILE *file = path == "-" ? stdin : std::fopen(path.c_str(), "rb");
  bool ok = file != nullptr;
  char block[1 << 16];
  for (size_t n; ok && (n = std::fread(block, 1, sizeof block, file)) > 0;)
    bytes.append(block, n);
  ok = ok && !std::ferror(file);
  int error = errno;
  if (file && file != stdin)
    std::fclose(file);
  if (ok)
    return {};
  return Status::error("cannot read '" + path + "': " + std::strerror(error) +
                       "; expected MODEL.heddle or MODEL.mlir");
}

/// The GPU that a graph is compiled for.
static Status chooseTarget(const Options &options, CompileRequest &request) {
  request.emulator = options.device == DeviceKind::Emulator;
  request.target = options.target;
  request.tf32 = options.tf32;
  if (!request.target.empty())
    return {};
  std::vector<CudaDeviceInfo> devices;
  if (Status s = listCudaDevices(devices); !s.ok())
    return s;
  size_t ordinal = static_cast<size_t>(options.deviceOrdinal);
  if (ordinal >= devices.size())
    return Status::error("expected a CUDA device from 0 to " +
                         std::to_string(devices.size()) + ", exclusive, got " +
                         std::to_string(ordinal));
  request.target = targetOfArchitecture(devices[ordinal].sm);
  if (request.target.empty())
    return Status::error("expected a device of sm_80 or newer, got " +
                         describeCudaDevice(devices[ordinal]));
  return {};
}

Status heddle::run::loadModel(const Options &options, Program &program) {
  std::string bytes;
  if (Status s = readBytes(options.model, bytes); !s.ok())
    return s;
  auto *data = reinterpret_cast<const uint8_t *>(bytes.data());
  bool isGraph = endsWith(options.model, ".mlir") ||
                 endsWith(options.model, ".mlirbc") ||
                 (options.model == "-" && bytes.compare(0, 6, "HEDDLE") != 0);
  if (!isGraph) {
    Status status = deserializeProgram(data, bytes.size(), program);
    if (!status.ok())
      return Status::error("'" + options.model + "': " + status.message);
    return {};
  }
  std::string name = options.model == "-" ? "<stdin>" : options.model;
  if (options.device == DeviceKind::Reference)
    return importModel(bytes, name, program);
  CompileRequest request;
  request.entry = options.function;
  request.tile = options.tile;
  request.scanChunks = options.scanChunks;
  if (options.device != DeviceKind::Cpu)
    if (Status s = chooseTarget(options, request); !s.ok())
      return s;
  return compileModel(bytes, name, request, program);
}

double Timing::quantile(double q) const {
  std::vector<double> sorted = samples;
  std::sort(sorted.begin(), sorted.end());
  double position = q * static_cast<double>(sorted.size() - 1);
  size_t low = static_cast<size_t>(position);
  size_t high = std::min(low + 1, sorted.size() - 1);
  double part = position - static_cast<double>(low);
  return sorted[low] * (1 - part) + sorted[high] * part;
}

std::string Timing::str() const {
  char text[160];
  std::snprintf(text, sizeof text,
                "median %.4g ms, quartiles %.4g to %.4g ms, %zu runs",
                quantile(0.5), quantile(0.25), quantile(0.75), samples.size());
  return text;
}

/// Runs `once` as often as asked; the last call's results stay.
template <typename Once>
static Status repeat(const Options &options, Timing &timing, Once once) {
  using Clock = std::chrono::steady_clock;
  // Without timing, or without a warmup, the first run is the only one needed.
  int untimed = options.repeats ? options.warmup : 1;
  for (int i = 0; i < untimed; ++i)
    if (Status s = once(); !s.ok())
      return s;
  auto sample = [&](int runs, double &milliseconds) -> Status {
    Clock::time_point start = Clock::now();
    for (int i = 0; i < runs; ++i)
      if (Status s = once(); !s.ok())
        return s;
    std::chrono::duration<double, std::milli> elapsed = Clock::now() - start;
    milliseconds = elapsed.count() / runs;
    return {};
  };
  double one = 0;
  timing.inner = options.inner;
  if (options.repeats && timing.inner == 0) {
    if (Status s = sample(1, one); !s.ok())
      return s;
    timing.inner =
        static_cast<int>(std::clamp(50 / std::max(one, 1e-4), 1.0, 200.0));
  }
  for (int i = 0; i < options.repeats; ++i) {
    if (Status s = sample(timing.inner, one); !s.ok())
      return s;
    timing.samples.push_back(one);
  }
  return {};
}

static bool takesDonations(const Function &function) {
  return std::any_of(function.arguments.begin(), function.arguments.end(),
                     [](const auto &argument) { return argument.donated; });
}

namespace {
/// Host memory of a run: copies of donated arguments, which are overwritten,
/// and results full of NaN.
class HostBuffers {
public:
  HostBuffers(const Function &function, std::vector<HostTensor> &arguments,
              std::vector<HostTensor> &results)
      : function(function), results(results), donated(arguments.size()) {
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (function.arguments[i].donated)
        donated[i] = arguments[i];
      args.push_back(function.arguments[i].donated ? donated[i].bytes.data()
                                                   : arguments[i].bytes.data());
    }
    for (const NamedTensorType &result : function.results) {
      results.emplace_back(result.type);
      // 0xff is NaN in every floating-point type.
      std::fill(results.back().bytes.begin(), results.back().bytes.end(), 0xff);
    }
    for (size_t i = 0; i < results.size(); ++i)
      outs.push_back(function.results[i].alias >= 0
                         ? args[function.results[i].alias]
                         : results[i].bytes.data());
  }

  /// Runs `once` as often as asked; the results are those of the arguments
  /// given.
  template <typename Once>
  Status run(const Options &options, Timing &timing,
             const std::vector<HostTensor> &arguments, Once once) {
    Status status = repeat(options, timing, once);
    if (!status.ok() || options.repeats == 0 || !takesDonations(function))
      return status;
    // Every run before started from what the last one had left.
    for (size_t i = 0; i < donated.size(); ++i)
      if (function.arguments[i].donated)
        std::copy(arguments[i].bytes.begin(), arguments[i].bytes.end(),
                  donated[i].bytes.begin());
    return once();
  }

  /// Results that live in donated arguments get their values.
  void finish() {
    for (size_t i = 0; i < results.size(); ++i)
      if (function.results[i].alias >= 0)
        results[i].bytes = donated[function.results[i].alias].bytes;
  }

  std::vector<void *> args, outs;

private:
  const Function &function;
  std::vector<HostTensor> &results;
  std::vector<HostTensor> donated;
};
} // namespace

static Status executeCpu(const Options &options, const Program &program,
                         const Function &function,
                         std::vector<HostTensor> &arguments,
                         std::vector<HostTensor> &results, Timing &timing) {
  CpuOptions cpu;
  cpu.threads = options.threads;
  // Poisoning costs time, so it is off while time is taken.
  cpu.poison = options.repeats == 0;
  std::unique_ptr<CpuExecutable> executable;
  if (Status s = CpuExecutable::load(function, program, cpu, executable);
      !s.ok())
    return s;
  HostBuffers buffers(function, arguments, results);
  Status status = buffers.run(options, timing, arguments, [&] {
    return executable->run(buffers.args.data(), buffers.outs.data());
  });
  if (status.ok())
    buffers.finish();
  return status;
}

static Status executeEmulator(const Options &options, const Program &program,
                              const Function &function,
                              std::vector<HostTensor> &arguments,
                              std::vector<HostTensor> &results,
                              Execution &execution) {
  EmulatorDeviceOptions emulator;
  emulator.sanitizers = options.sanitizers;
  emulator.seed = options.seed;
  emulator.maxFindings = options.maxFindings;
  emulator.threads = options.threads;
  emulator.target = options.target;
  std::unique_ptr<EmulatorExecutable> executable;
  if (Status s =
          EmulatorExecutable::load(function, program, emulator, executable);
      !s.ok())
    return s;
  HostBuffers buffers(function, arguments, results);
  Status status = buffers.run(options, execution.timing, arguments, [&] {
    return executable->run(buffers.args.data(), buffers.outs.data());
  });
  if (!status.ok())
    return status;
  buffers.finish();
  execution.emulator = {executable->target(),
                        options.sanitizers,
                        {options.seed},
                        executable->reports()};
  return {};
}

static Status executeCuda(const Options &options, const Program &program,
                          const Function &function,
                          std::vector<HostTensor> &arguments,
                          std::vector<HostTensor> &results,
                          Execution &execution) {
  Timing &timing = execution.timing;
  CudaOptions cuda;
  cuda.device = options.deviceOrdinal;
  cuda.checkLaunches = options.checkLaunches;
  cuda.poison = options.repeats == 0;
  std::unique_ptr<CudaExecutable> executable;
  if (Status s = CudaExecutable::load(function, program, cuda, executable);
      !s.ok())
    return s;
  std::vector<const void *> argumentPointers;
  std::vector<void *> resultPointers;
  for (const HostTensor &argument : arguments)
    argumentPointers.push_back(argument.bytes.data());
  for (const NamedTensorType &result : function.results)
    results.emplace_back(result.type);
  for (HostTensor &result : results)
    resultPointers.push_back(result.bytes.data());
  CudaTiming samples;
  samples.warmup = options.warmup;
  samples.repeats = options.repeats;
  samples.inner = options.inner;
  Status status =
      executable->runHost(argumentPointers.data(), resultPointers.data(),
                          options.repeats ? &samples : nullptr);
  // The timed runs went on from what each left in donated arguments.
  if (status.ok() && options.repeats && takesDonations(function))
    status = executable->runHost(argumentPointers.data(), resultPointers.data(),
                                 nullptr);
  timing.samples.assign(samples.milliseconds.begin(),
                        samples.milliseconds.end());
  timing.inner = samples.inner;
  execution.image = executable->image();
  execution.cuda = std::move(executable);
  return status;
}

static Status executeReference(const Options &options, const Function &function,
                               const std::vector<HostTensor> &arguments,
                               std::vector<HostTensor> &results,
                               Timing &timing) {
  std::vector<ReferenceValues> values;
  Status status = repeat(options, timing, [&] {
    return evaluateReference(function, arguments, options.declared,
                             options.threads, values);
  });
  if (!status.ok())
    return status;
  for (size_t i = 0; i < values.size(); ++i) {
    HostTensor &tensor = results.emplace_back(function.results[i].type);
    for (size_t e = 0; e < values[i].integer.size(); ++e)
      storeInteger(tensor.bytes.data(), tensor.type.dtype,
                   static_cast<int64_t>(e), values[i].integer[e]);
    for (size_t e = 0; e < values[i].real.size(); ++e)
      storeElement(tensor.bytes.data(), tensor.type.dtype,
                   static_cast<int64_t>(e), values[i].real[e]);
  }
  return {};
}

Status heddle::run::execute(const Options &options, const Program &program,
                            const Function &function,
                            std::vector<HostTensor> &arguments,
                            std::vector<HostTensor> &results,
                            Execution &execution) {
  Timing &timing = execution.timing;
  if (options.device == DeviceKind::Emulator)
    return executeEmulator(options, program, function, arguments, results,
                           execution);
  if (options.device == DeviceKind::Reference)
    return executeReference(options, function, arguments, results, timing);
  if (options.device == DeviceKind::Cuda)
    return executeCuda(options, program, function, arguments, results,
                       execution);
  return executeCpu(options, program, function, arguments, results, timing);
}
