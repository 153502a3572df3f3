//===- Execute.cpp - one function on one device ---------------------------===//

#include "Execute.h"

#include "heddle/Runtime/CpuDevice.h"
#include "heddle/Runtime/CudaDevice.h"

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
  return compileModel(bytes, name, options.function, program);
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
  for (int i = 0; i < options.repeats; ++i) {
    Clock::time_point start = Clock::now();
    if (Status s = once(); !s.ok())
      return s;
    std::chrono::duration<double, std::milli> elapsed = Clock::now() - start;
    timing.samples.push_back(elapsed.count());
  }
  return {};
}

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
  // A donated argument is overwritten: it gets a copy, which is also the place
  // of the result that takes its memory.
  std::vector<HostTensor> donated(arguments.size());
  std::vector<void *> argumentPointers, resultPointers;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (function.arguments[i].donated)
      donated[i] = arguments[i];
    argumentPointers.push_back(function.arguments[i].donated
                                   ? donated[i].bytes.data()
                                   : arguments[i].bytes.data());
  }
  for (const NamedTensorType &result : function.results) {
    results.emplace_back(result.type);
    // 0xff is NaN in every floating-point type.
    std::fill(results.back().bytes.begin(), results.back().bytes.end(), 0xff);
    resultPointers.push_back(result.alias >= 0 ? argumentPointers[result.alias]
                                               : results.back().bytes.data());
  }
  Status status = repeat(options, timing, [&] {
    return executable->run(argumentPointers.data(), resultPointers.data());
  });
  for (size_t i = 0; status.ok() && i < results.size(); ++i)
    if (function.results[i].alias >= 0)
      results[i].bytes = donated[function.results[i].alias].bytes;
  return status;
}

static Status executeCuda(const Options &options, const Program &program,
                          const Function &function,
                          std::vector<HostTensor> &arguments,
                          std::vector<HostTensor> &results, Timing &timing) {
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
  Status status =
      executable->runHost(argumentPointers.data(), resultPointers.data(),
                          options.repeats ? &samples : nullptr);
  timing.samples.assign(samples.milliseconds.begin(),
                        samples.milliseconds.end());
  return status;
}

static Status executeReference(const Options &options, const Function &function,
                               const std::vector<HostTensor> &arguments,
                               std::vector<HostTensor> &results,
                               Timing &timing) {
  std::vector<ReferenceValues> values;
  Status status = repeat(options, timing, [&] {
    return evaluateReference(function, arguments, !options.declared,
                             options.declared, options.threads, values);
  });
  if (!status.ok())
    return status;
  for (size_t i = 0; i < values.size(); ++i) {
    HostTensor &tensor = results.emplace_back(function.results[i].type);
    for (size_t e = 0; e < values[i].integer.size(); ++e)
      storeInteger(tensor.bytes.data(), tensor.type.dtype,
                   static_cast<int64_t>(e), values[i].integer[e]);
    const std::vector<double> &from =
        options.declared ? values[i].declared : values[i].exact;
    for (size_t e = 0; e < from.size(); ++e)
      storeElement(tensor.bytes.data(), tensor.type.dtype,
                   static_cast<int64_t>(e), from[e]);
  }
  return {};
}

Status heddle::run::execute(const Options &options, const Program &program,
                            const Function &function,
                            std::vector<HostTensor> &arguments,
                            std::vector<HostTensor> &results, Timing &timing) {
  if (options.device == DeviceKind::Reference)
    return executeReference(options, function, arguments, results, timing);
  if (options.device == DeviceKind::Cuda)
    return executeCuda(options, program, function, arguments, results, timing);
  return executeCpu(options, program, function, arguments, results, timing);
}
