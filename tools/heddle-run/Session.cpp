//===- Session.cpp - load, run, summarise, compare ------------------------===//

#include "Session.h"

#include "Arguments.h"
#include "Compiler.h"
#include "Execute.h"
#include "Values.h"

#include "heddle/Runtime/CpuDevice.h"
#include "heddle/Runtime/CudaDevice.h"
#include "heddle/Runtime/Npy.h"
#include "heddle/Runtime/TensorArchive.h"

#include <iostream>
#include <set>
#include <sstream>

using namespace heddle;
using namespace heddle::run;

namespace {

std::string resultTitle(const Function &function, size_t i) {
  const NamedTensorType &result = function.results[i];
  return "result " + std::to_string(i) +
         (result.name.empty() ? "" : " " + result.name) + ": " +
         result.type.str();
}

bool hasTolerance(const Options &options) {
  return options.rtol || options.atol;
}

Tolerance toleranceFor(const Options &options, DType type) {
  if (!hasTolerance(options))
    return defaultTolerance(type);
  Tolerance tolerance;
  tolerance.rtol = options.rtol.value_or(0);
  tolerance.atol = options.atol.value_or(0);
  return tolerance;
}

Check toCheck(size_t result, std::string against, const Comparison &comparison,
              const Tolerance &tolerance, const TensorType &type) {
  Check check;
  check.result = result;
  check.against = std::move(against);
  check.passed = comparison.passed;
  check.maxAbsError = comparison.maxAbsError;
  check.relError = comparison.relError;
  check.rule = tolerance.str();
  check.worst = describeWorst(comparison, type);
  return check;
}

/// Writes all results by name: heddle.result_name, else "result0", "result1", ...
Status writeResults(const std::string &path, const Function &function,
                    const std::vector<HostTensor> &results) {
  std::vector<ArchivedTensor> tensors;
  std::set<std::string> seen;
  for (size_t i = 0; i < results.size(); ++i) {
    std::string name = function.results[i].name;
    if (name.empty())
      name = "result" + std::to_string(i);
    if (!seen.insert(name).second)
      return Status::error("expected results of different names in '" + path +
                           "', got '" + name +
                           "' twice; change a heddle.result_name");
    tensors.push_back({name, &results[i]});
  }
  return writeTensorArchive(path, tensors);
}

/// Reads the files of --expected-output before anything runs.
Status readExpected(const Options &options, const Function &function,
                    std::vector<HostTensor> &expected) {
  if (options.expected.size() > function.results.size())
    return Status::error("expected at most " +
                         std::to_string(function.results.size()) +
                         " --expected-output for '" + function.name +
                         "', got " + std::to_string(options.expected.size()));
  if (options.outputs.size() > function.results.size())
    return Status::error("expected at most " +
                         std::to_string(function.results.size()) +
                         " --output for '" + function.name + "', got " +
                         std::to_string(options.outputs.size()));
  for (size_t i = 0; i < options.expected.size(); ++i) {
    Status status = readNpyFile(options.expected[i], expected.emplace_back(),
                                &function.results[i].type);
    if (!status.ok())
      return Status::error("expected output " + std::to_string(i) + ": " +
                           status.message);
  }
  return {};
}

/// Compares with the reference device: by its own rule, or by the tolerances
/// of the command line where there are some.
Status checkReference(const Options &options, const Function &function,
                      const std::vector<HostTensor> &arguments,
                      const std::vector<HostTensor> &results,
                      std::vector<Check> &checks) {
  std::vector<ReferenceValues> reference;
  std::vector<Verdict> verdicts;
  Status status =
      hasTolerance(options)
          ? evaluateReference(function, arguments, /*declared=*/false,
                              options.threads, reference)
          : judgeByReference(function, arguments, results, options.threads,
                             reference, verdicts);
  if (!status.ok())
    return status;
  for (size_t i = 0; i < results.size(); ++i) {
    const TensorType &type = function.results[i].type;
    Tolerance tolerance = toleranceFor(options, type.dtype);
    const ReferenceValues &values = reference[i];
    Comparison comparison =
        values.isInteger
            ? compareIntegers(
                  results[i], [&](int64_t e) { return values.integer[e]; },
                  tolerance)
            : compare(
                  results[i], [&](int64_t e) { return values.real[e]; },
                  tolerance);
    Check check =
        toCheck(i, "the reference device", comparison, tolerance, type);
    if (!verdicts.empty()) {
      const Verdict &verdict = verdicts[i];
      check.passed = verdict.passed;
      check.maxAbsError = verdict.maxAbsError;
      check.relError = verdict.relError;
      check.rule = verdict.rule;
      if (!verdict.failure.empty())
        check.worst = verdict.failure;
    }
    checks.push_back(std::move(check));
  }
  return {};
}

Json toJson(const Summary &summary, const NamedTensorType &result) {
  return Json{{"name", result.name},
              {"dtype", dtypeName(result.type.dtype)},
              {"shape", result.type.shape},
              {"first", summary.first},
              {"min", summary.min},
              {"max", summary.max},
              {"mean", summary.mean},
              {"finite", summary.finite == summary.elements},
              {"num_finite", summary.finite}};
}

Json toJson(const Check &check) {
  Json json{{"result", check.result},    {"against", check.against},
            {"passed", check.passed},    {"max_abs_err", check.maxAbsError},
            {"rel_err", check.relError}, {"rule", check.rule}};
  if (!check.passed)
    json["worst"] = check.worst;
  return json;
}

void printCheck(const Check &check, std::ostream &os) {
  std::ostringstream numbers;
  numbers << "max_abs_err " << check.maxAbsError << ", rel_err "
          << check.relError << ", limit: " << check.rule;
  os << "  " << (check.passed ? "matches " : "DIFFERS from ") << check.against
     << " (" << numbers.str() << ")\n";
  if (!check.passed)
    os << "    " << check.worst << "\n";
}

int workers(const Options &options) {
  return options.threads ? options.threads : cpuThreads();
}

void printText(const Options &options, const Outcome &outcome,
               std::ostream &os) {
  const Function &function = *outcome.function;
  const std::vector<HostTensor> &results = outcome.results;
  const Execution &execution = outcome.execution;
  const Timing &timing = execution.timing;
  bool emulated = !execution.emulator.target.empty();
  if (options.report == ReportFormat::Text)
    printFunctionReport(function, workers(options), os, kernelFacts);
  if (options.report == ReportFormat::Text && emulated)
    printEmulatorReport(execution.emulator, os);
  for (size_t i = 0; i < results.size(); ++i) {
    os << resultTitle(function, i) << "\n  " << summarize(results[i]).str()
       << "\n";
    for (const Check &check : outcome.checks)
      if (check.result == i)
        printCheck(check, os);
  }
  if (!timing.samples.empty())
    os << "time: " << timing.str() << "\n";
}

/// "cpu", "AMD EPYC ..." and the like.
std::pair<std::string, std::string> deviceNames(const Options &options) {
  if (options.device == DeviceKind::Emulator)
    return {"emulator", options.target + " on " + cpuName()};
  if (options.device != DeviceKind::Cuda)
    return {options.device == DeviceKind::Cpu ? "cpu" : "reference", cpuName()};
  std::vector<CudaDeviceInfo> devices;
  if (!listCudaDevices(devices).ok() ||
      static_cast<size_t>(options.deviceOrdinal) >= devices.size())
    return {"cuda", ""};
  return {"cuda", describeCudaDevice(devices[options.deviceOrdinal])};
}

} // namespace

Json heddle::run::outcomeJson(const Options &options, const Outcome &outcome) {
  const Execution &execution = outcome.execution;
  const Timing &timing = execution.timing;
  auto [device, deviceName] = deviceNames(options);
  Json json{{"device", device},
            {"device_name", deviceName},
            {"threads", workers(options)},
            {"results", Json::array()},
            {"checks", Json::array()}};
  for (size_t i = 0; i < outcome.results.size(); ++i)
    json["results"].push_back(
        toJson(summarize(outcome.results[i]), outcome.function->results[i]));
  for (const Check &check : outcome.checks)
    json["checks"].push_back(toJson(check));
  if (!execution.image.empty())
    json["image"] = execution.image;
  if (!execution.emulator.target.empty())
    json["emulator"] = reportEmulator(execution.emulator);
  if (!timing.samples.empty()) {
    json["inner"] = timing.inner;
    json["median_ms"] = timing.quantile(0.5);
    json["q1_ms"] = timing.quantile(0.25);
    json["q3_ms"] = timing.quantile(0.75);
    json["samples_ms"] = timing.samples;
  }
  return json;
}

Status heddle::run::runOnce(const Options &options, Outcome &outcome) {
  Program &program = outcome.program;
  if (Status s = loadModel(options, program); !s.ok())
    return s;
  std::vector<HostTensor> arguments, expected;
  if (Status s = bindArguments(options, program, outcome.function, arguments);
      !s.ok())
    return s;
  const Function &function = *outcome.function;
  if (Status s = readExpected(options, function, expected); !s.ok())
    return s;
  if (Status s = execute(options, program, function, arguments, outcome.results,
                         outcome.execution);
      !s.ok())
    return s;
  for (size_t i = 0; i < options.outputs.size(); ++i)
    if (Status s = writeNpyFile(options.outputs[i], outcome.results[i]);
        !s.ok())
      return s;
  if (!options.outputArchive.empty())
    if (Status s = writeResults(options.outputArchive, function,
                                outcome.results);
        !s.ok())
      return s;
  for (size_t i = 0; i < expected.size(); ++i) {
    const TensorType &type = function.results[i].type;
    Tolerance tolerance = toleranceFor(options, type.dtype);
    outcome.checks.push_back(toCheck(
        i, "'" + options.expected[i] + "'",
        compare(outcome.results[i], expected[i], tolerance), tolerance, type));
  }
  if (!options.checkReference)
    return {};
  return checkReference(options, function, arguments, outcome.results,
                        outcome.checks);
}

Status heddle::run::runSession(const Options &options, bool &matched) {
  if (options.checkReference && !hasCompiler())
    return Status::error("expected a build with the compiler for "
                         "--check=reference, this one has the runtime only; "
                         "use --expected-output=@FILE.npy");
  Outcome outcome;
  if (Status s = runOnce(options, outcome); !s.ok())
    return s;
  bool toStdout = options.outputs.empty();
  for (const std::string &path : options.outputs)
    toStdout |= path != "-";
  if (options.report == ReportFormat::Json) {
    Json json = outcomeJson(options, outcome);
    json["function"] =
        reportFunction(*outcome.function, workers(options), kernelFacts);
    std::cout << json.dump(2) << "\n";
  } else {
    printText(options, outcome, toStdout ? std::cout : std::cerr);
  }
  for (const Check &check : outcome.checks)
    matched &= check.passed;
  return {};
}

void heddle::run::printDevices(std::ostream &os) {
  os << "cpu        " << cpuName() << ", " << cpuThreads() << " threads\n";
  std::vector<CudaDeviceInfo> devices;
  if (Status s = listCudaDevices(devices); !s.ok())
    os << "cuda       unavailable: " << s.message << "\n";
  for (const CudaDeviceInfo &device : devices)
    os << "cuda:" << device.ordinal << "     " << describeCudaDevice(device)
       << "\n";
  os << "emulator   GPU kernels on the CPU, checked and counted"
     << (hasCompiler() ? ": --target=sm_80 or the like\n"
                       : "; its code is made by builds with the compiler\n");
  if (hasCompiler())
    os << "reference  naive loops in f64 on the CPU; what results are judged "
          "by\n";
}
