//===- GraphSuite.cpp - rows that compile and run a model graph -----------===//

#include "GraphSuite.h"

#include "Diagnostics.h"
#include "GpuRows.h"
#include "Recomputed.h"
#include "ResidentPeak.h"
#include "Values.h"

#include "heddle/Pipelines/Pipelines.h"
#include "heddle/Runtime/CpuDevice.h"
#include "heddle/Runtime/StepStream.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/ToolOutputFile.h"

#include <cstring>
#include <new>

using namespace mlir;

namespace heddle::bench {

namespace {

/// Bytes on a cache line boundary, for arguments and results of a timed run.
class Buffer {
public:
  explicit Buffer(int64_t bytes)
      : size(bytes), data(::operator new(std::max<int64_t>(bytes, 1),
                                         std::align_val_t(64))) {}
  Buffer(Buffer &&other) noexcept : size(other.size), data(other.data) {
    other.data = nullptr;
  }
  Buffer(const Buffer &) = delete;
  ~Buffer() { ::operator delete(data, std::align_val_t(64)); }
  void *get() const { return data; }
  /// Every byte 0xff: a NaN in each float type, -1 in each integer type.
  void poison() const { std::memset(data, 0xff, size); }

private:
  int64_t size;
  void *data;
};

/// Device memory of one run: the arguments that are read, and all results. A
/// result that lives in a donated argument has its place there.
struct DeviceBuffers {
  std::vector<Buffer> storage;
  std::vector<void *> args, results;

  DeviceBuffers(const Function &function,
                const std::vector<HostTensor> &inputs) {
    for (auto [argument, input] : llvm::zip(function.arguments, inputs)) {
      args.push_back(nullptr);
      if (!argument.used && !argument.donated)
        continue;
      storage.emplace_back(input.bytes.size());
      args.back() = storage.back().get();
      std::memcpy(args.back(), input.bytes.data(), input.bytes.size());
    }
    for (const NamedTensorType &result : function.results) {
      if (result.alias >= 0) {
        results.push_back(args[result.alias]);
        continue;
      }
      storage.emplace_back(result.type.byteSize());
      storage.back().poison();
      results.push_back(storage.back().get());
    }
  }
};

/// "transformer-bfloat16-256-8-...": the row's descriptive values.
std::string fileStem(const Row &row) {
  std::string stem;
  for (const std::string &key : descriptiveKeys()) {
    auto it = row.find(key);
    if (it == row.end())
      continue;
    std::string text = valueText(*it);
    if (it->is_boolean())
      text = key + text;
    else if (it->is_number())
      text = key + text;
    stem += (stem.empty() ? "" : "-") + text;
  }
  return stem;
}

Status writeGraph(const Model &model, const Row &row,
                  const std::string &folder) {
  std::string path = folder + "/" + fileStem(row) + ".mlir";
  std::error_code error = llvm::sys::fs::create_directories(folder);
  if (!error) {
    llvm::ToolOutputFile file(path, error, llvm::sys::fs::OF_Text);
    if (!error) {
      file.os() << "// " << describe(row) << "\n";
      model.module.get()->print(file.os());
      file.os() << "\n";
      file.os().flush();
      error = file.os().error();
      if (!error)
        file.keep();
      file.os().clear_error();
    }
  }
  if (error)
    return Status::error("output: cannot write '" + path + "': " +
                         error.message() + "; choose another --emit-mlir");
  return Status();
}

/// Compiles a copy of the graph and finds its function in the program.
Status compile(const Model &model, Session &session, Program &program,
               const Function *&function) {
  OwningOpRef<ModuleOp> copy = model.module.get().clone();
  CompileOptions options;
  options.target = session.options.target;
  options.gpu.makePtx = !session.options.emulator;
  options.gpu.makeEmulator = session.options.emulator;
  options.gpu.findFacts = session.options.reportKernels;
  options.cpu = session.options.cpu;
  options.keepSource = false;
  DiagnosticCollector diagnostics(session.mlir);
  if (failed(compileModule(*copy, options, program)))
    return Status::error("compile: " + diagnostics.text());
  for (const Function &candidate : program.functions)
    if (candidate.name == model.function)
      function = &candidate;
  if (!function)
    return Status::error("compile: expected a function '" + model.function +
                         "' in the compiled program, found none");
  return Status();
}

void storePlan(const Function &function, int threads, Row &row) {
  const MemoryPlan &plan = function.plan;
  // Several results come with a table of pointers, as published figures count.
  int64_t results = function.results.size(),
          table = results > 1 ? 8 * results : 0;
  row["temp_mb"] = toMiB(plan.tempBytes(threads));
  row["arena_mb"] = toMiB(plan.arenaBytes);
  row["arg_mb"] = toMiB(plan.argBytes);
  row["out_mb"] = toMiB(plan.outBytes + table);
  row["alias_mb"] = toMiB(plan.aliasBytes);
  row["work_mb"] = toMiB(plan.workBytes);
  row["max_live_mb"] = toMiB(plan.maxLiveBytes);
  row["footprint_mb"] = toMiB(plan.footprintBytes(threads) + table);
  row["plan"] = llvm::utohexstr(plan.planHash, /*LowerCase=*/true);
}

/// Times calls of a loaded function. With `stream`, its last argument comes
/// from one of two places on the host in turn, and the timed calls are pushes
/// to a StepStream.
Status timeFunction(const Function &function, const Program &program,
                    const DeviceBuffers &buffers, bool stream, Session &session,
                    Row &row) {
  CpuOptions options;
  options.threads = session.options.threads;
  std::unique_ptr<CpuExecutable> executable;
  Stopwatch firstCall;
  if (Status s = CpuExecutable::load(function, program, options, executable);
      !s)
    return Status::error("load: " + s.message);
  void *const *args = buffers.args.data(), *const *results =
                                               buffers.results.data();
  std::function<Status()> call = [&] { return executable->run(args, results); };
  std::function<Status()> finish = [] { return Status(); };
  std::unique_ptr<StepStream> steps;
  std::vector<uint8_t> batches[2];
  size_t pushed = 0;
  if (stream) {
    uint32_t last = static_cast<uint32_t>(function.arguments.size()) - 1;
    auto run = [&](void *const *a, void *const *r) {
      return executable->run(a, r);
    };
    if (Status s =
            StepStream::create(function, run, args, results, {last}, steps);
        !s)
      return Status::error("run: " + s.message);
    auto *from = static_cast<const uint8_t *>(args[last]);
    for (std::vector<uint8_t> &batch : batches)
      batch.assign(from, from + function.arguments[last].type.byteSize());
    call = [&] {
      const void *batch = batches[pushed++ % 2].data();
      return steps->push(&batch);
    };
    finish = [&] { return steps->wait(); };
  }
  if (executable->function().plan.planHash != function.plan.planHash)
    return Status::error("run: expected the plan of the row to be loaded, "
                         "found another; recompile");
  ResidentPeak peak;
  Status status = call();
  if (status.ok())
    status = finish();
  if (!status)
    return Status::error("run: " + status.message);
  row["first_call_s"] = firstCall.seconds();
  if (std::optional<int64_t> bytes = peak.growth())
    row["peak_temp_mb"] = toMiB(*bytes);
  session.progress("timing");
  auto succeeds = [&](const std::function<Status()> &f) {
    return [&] {
      status = f();
      return status.ok();
    };
  };
  Timing timing = timeCalls(succeeds(call), session.options.warmup,
                            session.options.repeats, succeeds(finish));
  if (!status)
    return Status::error("run: " + status.message);
  timing.store(row);
  return Status();
}

/// One run on poisoned memory, whose results are checked.
Status runPoisoned(const Function &function, const Program &program,
                   const DeviceBuffers &buffers, Session &session,
                   std::vector<HostTensor> &outputs) {
  CpuOptions options;
  options.threads = session.options.threads;
  options.poison = true;
  std::unique_ptr<CpuExecutable> executable;
  if (Status s = CpuExecutable::load(function, program, options, executable);
      !s)
    return Status::error("load: " + s.message);
  if (Status s = executable->run(buffers.args.data(), buffers.results.data());
      !s)
    return Status::error("run: " + s.message);
  for (auto [result, data] : llvm::zip(function.results, buffers.results)) {
    outputs.emplace_back(result.type);
    std::memcpy(outputs.back().bytes.data(), data, outputs.back().bytes.size());
  }
  return Status();
}

std::vector<HostTensor> makeInputs(const Function &function, Session &session) {
  session.progress("making inputs");
  std::vector<HostTensor> inputs;
  for (auto [i, argument] : llvm::enumerate(function.arguments))
    inputs.push_back(
        makeValues(argument, session.options.seed, i, session.options.threads));
  return inputs;
}

} // namespace

const std::vector<std::string> &resultKeys() {
  static const std::vector<std::string> keys = {
      "params",      "finite",          "rel_err",      "max_abs_err",
      "trace_s",     "compile_s",       "first_call_s", "inner",
      "median_ms",   "q1_ms",           "q3_ms",        "temp_mb",
      "arg_mb",      "out_mb",          "alias_mb",     "work_mb",
      "max_live_mb", "footprint_mb",    "arena_mb",     "peak_temp_mb",
      "plan",        "recomputed_flops"};
  return keys;
}

DType rowDType(const Row &row) {
  std::string name = valueText(row.at("dtype"));
  if (name == "bfloat16")
    return DType::BF16;
  if (name == "float16")
    return DType::F16;
  return DType::F32;
}

int64_t rowInt(const Row &row, const char *key) {
  return row.at(key).get<int64_t>();
}

Status GraphSuite::measure(Row &row, Session &session) const {
  for (const std::string &key : resultKeys())
    row[key] = nullptr;
  Status status;
  try {
    status = measureGraph(row, session);
  } catch (const std::bad_alloc &) {
    status = Status::error("memory: expected room for the row's buffers, the "
                           "host has too little; choose a smaller row");
  }
  // What was not measured is not in the row.
  for (const std::string &key : resultKeys())
    if (row[key].is_null())
      row.erase(key);
  return status;
}

Status GraphSuite::measureGraph(Row &row, Session &session) const {
  Model model;
  {
    DiagnosticCollector diagnostics(session.mlir);
    Stopwatch watch;
    if (Status s = build(row, session.mlir, model); !s)
      return Status::error("graph: " + s.message);
    row["trace_s"] = watch.seconds();
  }
  row["params"] = model.params;
  if (!session.options.emitMlir.empty())
    if (Status s = writeGraph(model, row, session.options.emitMlir); !s)
      return s;

  session.progress("compiling");
  Program program;
  const Function *function = nullptr;
  Stopwatch watch;
  if (Status s = compile(model, session, program, function); !s)
    return s;
  row["compile_s"] = watch.seconds();
  if (std::optional<int64_t> flops = recomputedFlops(model, *function))
    row["recomputed_flops"] = *flops;
  storePlan(*function, session.options.threads, row);
  if (session.options.reportKernels)
    if (Status s = storeKernels(*function, row); !s)
      return s;
  if (session.options.planOnly)
    return Status();

  if (!session.options.emulator) {
    {
      DeviceBuffers buffers(*function, makeInputs(*function, session));
      if (Status s = timeFunction(*function, program, buffers,
                                  streamsLastArgument(row), session, row);
          !s)
        return s;
    }
    addFigures(row, session);
  }
  CheckMode mode = session.options.check;
  bool sampled = mode == CheckMode::Sampled ||
                 (mode == CheckMode::Auto && samplesByRule(row));
  Row work = sampled && mode != CheckMode::None ? checkedRow(row) : row;
  if (work == row)
    return checkGraph(row, row, sampled, model, *function, program, session);
  // Results that cannot be sampled: a smaller row of the same code.
  Model smaller;
  Program smallerProgram;
  const Function *smallerFunction = nullptr;
  session.progress("compiling a smaller row to check");
  if (Status s = build(work, session.mlir, smaller); !s)
    return Status::error("check: " + s.message);
  if (Status s = compile(smaller, session, smallerProgram, smallerFunction); !s)
    return s;
  return checkGraph(row, work, false, smaller, *smallerFunction, smallerProgram,
                    session);
}

/// Runs `function`, which computes the row `work`, and compares its results.
Status GraphSuite::checkGraph(Row &row, const Row &work, bool sampled,
                              const Model &model, const Function &function,
                              const Program &program, Session &session) const {
  std::vector<HostTensor> inputs = makeInputs(function, session), outputs;
  {
    DeviceBuffers buffers(function, inputs);
    Status s = session.options.emulator
                   ? runOnEmulator(function, program, buffers.args,
                                   buffers.results, session, row, outputs)
                   : runPoisoned(function, program, buffers, session, outputs);
    if (!s)
      return s;
  }
  if (session.options.emulator && work == row)
    addEmulatedFigures(row);
  if (session.options.check == CheckMode::None) {
    row["check"] = "none";
    return Status();
  }
  session.progress("checking");
  Checker checker(session, rowDType(row));
  if (Status s =
          check(work, {model, inputs, outputs}, sampled, session, checker);
      !s)
    return s;
  checker.store(row, outputs);
  std::string smaller;
  for (const std::string &key : descriptiveKeys())
    if (work.contains(key) && row[key] != work[key])
      smaller +=
          (smaller.empty() ? "" : ", ") + key + "=" + valueText(work[key]);
  if (!smaller.empty())
    row["check"] = smaller + ": " + valueText(row["check"]);
  return Status();
}

} // namespace heddle::bench
