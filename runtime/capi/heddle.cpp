//===- heddle.cpp - the C interface ---------------------------------------===//

#include "heddle-c/heddle.h"

#include "heddle/Runtime/CpuDevice.h"
#include "heddle/Runtime/CudaDevice.h"
#include "heddle/Runtime/EmulatorDevice.h"
#include "heddle/Runtime/StepStream.h"

#include <cstddef>
#include <cstring>
#include <exception>
#include <mutex>
#include <new>
#include <set>

using namespace heddle;

struct HeddleStatusImpl {
  std::string message;
};

struct HeddleProgram {
  Program program;
};

/// One of the three is set.
struct HeddleSession {
  std::unique_ptr<CpuExecutable> executable;
  std::unique_ptr<CudaExecutable> cuda;
  std::unique_ptr<EmulatorExecutable> emulator;
  bool devicePointers = false; // of runs on `cuda`
  const Function &function() const {
    if (emulator)
      return emulator->function();
    return cuda ? cuda->function() : executable->function();
  }
};

struct HeddleStream {
  std::unique_ptr<StepStream> stream;
};

namespace {

/// What is handed out when there is no memory for a message; never freed.
HeddleStatusImpl *outOfMemory() {
  static HeddleStatusImpl status{"out of host memory"};
  return &status;
}

HeddleStatus toC(const Status &s) {
  return s.ok() ? nullptr : new HeddleStatusImpl{s.message};
}

/// No exception leaves through C.
template <typename Fn>
HeddleStatus guarded(const Fn &fn) {
  try {
    return toC(fn());
  } catch (const std::bad_alloc &) {
    return outOfMemory();
  } catch (const std::exception &e) {
    try {
      return toC(Status::error(std::string("unexpected failure: ") + e.what()));
    } catch (const std::bad_alloc &) {
      return outOfMemory();
    }
  }
}

Status missing(const char *what) {
  return Status::error(std::string("expected ") + what + ", got null");
}

const Function *functionAt(const HeddleProgram *program, int32_t i) {
  if (!program || i < 0 ||
      static_cast<size_t>(i) >= program->program.functions.size())
    return nullptr;
  return &program->program.functions[i];
}

Status functionAt(const HeddleProgram *program, int32_t i,
                  const Function *&function) {
  if (!program)
    return missing("a program");
  function = functionAt(program, i);
  if (function)
    return {};
  return Status::error("function " + std::to_string(i) +
                       " does not exist, the bundle has " +
                       std::to_string(program->program.functions.size()));
}

Status describe(const std::vector<NamedTensorType> &values, const char *what,
                int32_t i, HeddleValueInfo *info) {
  if (!info)
    return missing("a place for the description");
  if (i < 0 || static_cast<size_t>(i) >= values.size())
    return Status::error(std::string(what) + ' ' + std::to_string(i) +
                         " does not exist, the function has " +
                         std::to_string(values.size()));
  const NamedTensorType &v = values[i];
  info->name = v.name.c_str();
  info->type.dtype = static_cast<int32_t>(v.type.dtype);
  info->type.rank = static_cast<int32_t>(v.type.shape.size());
  info->type.shape = v.type.shape.data();
  info->byteSize = v.type.byteSize();
  info->used = v.used;
  info->donated = v.donated;
  info->alias = v.alias;
  return {};
}

enum class Device { Cpu, Cuda, Emulator };

/// "cpu", "cuda", "cuda:1" or "emulator"; `ordinal` is -1 where none is given.
Status parseDevice(const char *text, Device &device, int &ordinal) {
  std::string name = text ? text : "";
  ordinal = -1;
  device = name == "emulator"                ? Device::Emulator
           : name.compare(0, 4, "cuda") == 0 ? Device::Cuda
                                             : Device::Cpu;
  if (name == "cpu" || name == "cuda" || name == "emulator")
    return {};
  size_t digits = name.size() > 5 ? name.size() - 5 : 0;
  if (device == Device::Cuda && name[4] == ':' && digits && digits < 5 &&
      name.find_first_not_of("0123456789", 5) == std::string::npos) {
    ordinal = std::stoi(name.substr(5));
    return {};
  }
  return Status::error("expected one of the devices of this build (cpu, cuda, "
                       "cuda:N, emulator), got " +
                       (text ? "'" + name + "'" : std::string("null")));
}

/// The fields of the caller's structure that it has; the rest is zero.
Status readOptions(const HeddleSessionOptions *options,
                   HeddleSessionOptions &read) {
  read = {};
  if (!options)
    return {};
  size_t size = options->structSize;
  if (size != sizeof(read) && size != offsetof(HeddleSessionOptions, target) &&
      size != offsetof(HeddleSessionOptions, devicePointers))
    return Status::error("expected session options of " +
                         std::to_string(sizeof(read)) + " bytes, got " +
                         std::to_string(size) +
                         "; set structSize to their size");
  std::memcpy(&read, options, size);
  return {};
}

/// The string as one that lives as long as the process.
const char *keep(std::string text) {
  static std::mutex mutex;
  static std::set<std::string> kept;
  std::lock_guard<std::mutex> lock(mutex);
  return kept.insert(std::move(text)).first->c_str();
}

/// What there is of device `ordinal` (-1: of all).
std::string describeCuda(int ordinal) {
  std::vector<CudaDeviceInfo> devices;
  if (Status s = listCudaDevices(devices); !s)
    return "unavailable: " + s.message;
  std::string text;
  for (const CudaDeviceInfo &device : devices)
    if (ordinal < 0 || device.ordinal == ordinal)
      text += (text.empty() ? "" : "; ") + describeCudaDevice(device);
  if (text.empty())
    return "unavailable: the driver lists " + std::to_string(devices.size()) +
           " devices";
  return text;
}

Status createCpu(const Function &f, const Program &program,
                 const HeddleSessionOptions &options, HeddleSession &session) {
  CpuOptions cpu;
  cpu.threads = options.threads;
  cpu.poison = options.poison != 0;
  return CpuExecutable::load(f, program, cpu, session.executable);
}

Status createCuda(const Function &f, const Program &program,
                  const HeddleSessionOptions &options, int ordinal,
                  HeddleSession &session) {
  CudaOptions cuda;
  cuda.device = ordinal;
  cuda.context = options.context;
  cuda.stream = options.stream;
  cuda.poison = options.poison != 0;
  cuda.checkLaunches = options.checkLaunches != 0;
  session.devicePointers = options.devicePointers != 0;
  // Host pointers do not say where to run.
  if (!session.devicePointers && !cuda.context && ordinal < 0)
    cuda.device = 0;
  return CudaExecutable::load(f, program, cuda, session.cuda);
}

Status createEmulator(const Function &f, const Program &program,
                      const HeddleSessionOptions &options,
                      HeddleSession &session) {
  EmulatorDeviceOptions emulator;
  emulator.threads = options.threads;
  emulator.seed = options.seed;
  emulator.target = options.target ? options.target : "";
  if (Status s = parseSanitizers(options.sanitize ? options.sanitize : "all",
                                 emulator.sanitizers);
      !s)
    return s;
  return EmulatorExecutable::load(f, program, emulator, session.emulator);
}

Status checkCount(const char *what, int32_t found, size_t wanted) {
  if (found >= 0 && static_cast<size_t>(found) == wanted)
    return {};
  return Status::error("expected " + std::to_string(wanted) + ' ' + what +
                       ", got " + std::to_string(found));
}

} // namespace

const char *heddleVersion(void) { return HEDDLE_VERSION; }

const char *heddleStatusMessage(HeddleStatus status) {
  return status ? status->message.c_str() : "";
}

void heddleStatusFree(HeddleStatus status) {
  if (status != outOfMemory())
    delete status;
}

HeddleStatus heddleProgramLoadFile(const char *path, HeddleProgram **program) {
  return guarded([&] {
    if (!path || !program)
      return missing(path ? "a place for the program" : "a path");
    auto loaded = std::make_unique<HeddleProgram>();
    Status s = readProgramFile(path, loaded->program);
    if (s.ok())
      *program = loaded.release();
    return s;
  });
}

HeddleStatus heddleProgramLoadMemory(const void *data, size_t size,
                                     HeddleProgram **program) {
  return guarded([&] {
    if ((!data && size) || !program)
      return missing(program ? "data" : "a place for the program");
    auto loaded = std::make_unique<HeddleProgram>();
    Status s = deserializeProgram(static_cast<const uint8_t *>(data), size,
                                  loaded->program);
    if (s.ok())
      *program = loaded.release();
    return s;
  });
}

void heddleProgramFree(HeddleProgram *program) { delete program; }

const char *heddleProgramTarget(const HeddleProgram *program) {
  return program ? program->program.target.c_str() : nullptr;
}
const char *heddleProgramIsa(const HeddleProgram *program) {
  return program ? program->program.isa.c_str() : nullptr;
}
const char *heddleProgramProducer(const HeddleProgram *program) {
  return program ? program->program.producer.c_str() : nullptr;
}

int32_t heddleProgramNumFunctions(const HeddleProgram *program) {
  return program ? static_cast<int32_t>(program->program.functions.size()) : 0;
}

HeddleStatus heddleProgramFindFunction(const HeddleProgram *program,
                                       const char *name,
                                       const HeddleTensorType *arguments,
                                       int32_t numArguments,
                                       int32_t *function) {
  return guarded([&] {
    if (!program || !function)
      return missing(program ? "a place for the number" : "a program");
    std::vector<TensorType> types;
    for (int32_t i = 0; arguments && i < numArguments; ++i) {
      const HeddleTensorType &t = arguments[i];
      if (t.dtype < HEDDLE_F32 || t.dtype > HEDDLE_I64 || t.rank < 0 ||
          (t.rank && !t.shape))
        return Status::error("argument type " + std::to_string(i) +
                             " has an unknown element type or no shape");
      TensorType type;
      type.dtype = static_cast<DType>(t.dtype);
      if (t.rank)
        type.shape.assign(t.shape, t.shape + t.rank);
      types.push_back(std::move(type));
    }
    const Function *found = nullptr;
    Status s = selectFunction(program->program, name ? name : "",
                              arguments ? &types : nullptr, found);
    if (s.ok())
      *function =
          static_cast<int32_t>(found - program->program.functions.data());
    return s;
  });
}

const char *heddleFunctionName(const HeddleProgram *program, int32_t function) {
  const Function *f = functionAt(program, function);
  return f ? f->name.c_str() : nullptr;
}

int32_t heddleFunctionNumArguments(const HeddleProgram *program,
                                   int32_t function) {
  const Function *f = functionAt(program, function);
  return f ? static_cast<int32_t>(f->arguments.size()) : 0;
}

int32_t heddleFunctionNumResults(const HeddleProgram *program,
                                 int32_t function) {
  const Function *f = functionAt(program, function);
  return f ? static_cast<int32_t>(f->results.size()) : 0;
}

HeddleStatus heddleFunctionArgument(const HeddleProgram *program,
                                    int32_t function, int32_t argument,
                                    HeddleValueInfo *info) {
  return guarded([&] {
    const Function *f = nullptr;
    Status s = functionAt(program, function, f);
    return s.ok() ? describe(f->arguments, "argument", argument, info) : s;
  });
}

HeddleStatus heddleFunctionResult(const HeddleProgram *program,
                                  int32_t function, int32_t result,
                                  HeddleValueInfo *info) {
  return guarded([&] {
    const Function *f = nullptr;
    Status s = functionAt(program, function, f);
    return s.ok() ? describe(f->results, "result", result, info) : s;
  });
}

HeddleStatus heddleFunctionPlan(const HeddleProgram *program, int32_t function,
                                int32_t threads, HeddlePlan *plan) {
  return guarded([&] {
    const Function *f = nullptr;
    if (Status s = functionAt(program, function, f); !s)
      return s;
    if (!plan || threads < 0)
      return plan ? Status::error("expected a number of threads from 1, or 0 "
                                  "for all cores, got " +
                                  std::to_string(threads))
                  : missing("a place for the plan");
    int64_t workers = threads ? threads : cpuThreads();
    const MemoryPlan &p = f->plan;
    plan->argBytes = p.argBytes;
    plan->outBytes = p.outBytes;
    plan->tempBytes = p.tempBytes(workers);
    plan->aliasBytes = p.aliasBytes;
    plan->footprintBytes = p.footprintBytes(workers);
    plan->maxLiveBytes = p.maxLiveBytes;
    plan->workBytes = p.workBytes;
    plan->planHash = p.planHash;
    return Status();
  });
}

const char *const *heddleDeviceNames(void) {
  static const char *const names[] = {"cpu", "cuda", "emulator", nullptr};
  return names;
}

const char *heddleDeviceDescription(const char *device) {
  const char *description = nullptr;
  HeddleStatus failure = guarded([&] {
    Device kind = Device::Cpu;
    int ordinal = -1;
    Status s = parseDevice(device, kind, ordinal);
    if (s.ok())
      description =
          keep(kind == Device::Cuda       ? describeCuda(ordinal)
               : kind == Device::Emulator ? "GPU kernels on " + cpuName()
                                          : cpuName());
    return s;
  });
  heddleStatusFree(failure);
  return description;
}

HeddleStatus heddleSessionCreate(const HeddleProgram *program, int32_t function,
                                 const char *device,
                                 const HeddleSessionOptions *options,
                                 HeddleSession **session) {
  return guarded([&] {
    const Function *f = nullptr;
    if (Status s = functionAt(program, function, f); !s)
      return s;
    if (!session)
      return missing("a place for the session");
    Device kind = Device::Cpu;
    int ordinal = -1;
    if (Status s = parseDevice(device, kind, ordinal); !s)
      return s;
    HeddleSessionOptions read;
    if (Status s = readOptions(options, read); !s)
      return s;
    auto created = std::make_unique<HeddleSession>();
    Status s = kind == Device::Cuda
                   ? createCuda(*f, program->program, read, ordinal, *created)
               : kind == Device::Emulator
                   ? createEmulator(*f, program->program, read, *created)
                   : createCpu(*f, program->program, read, *created);
    if (s.ok())
      *session = created.release();
    return s;
  });
}

void heddleSessionFree(HeddleSession *session) { delete session; }

int32_t heddleSessionNumThreads(const HeddleSession *session) {
  return session && session->executable ? session->executable->threads() : 0;
}

HeddleStatus heddleSessionRun(HeddleSession *session, void *const *arguments,
                              int32_t numArguments, void *const *results,
                              int32_t numResults) {
  return guarded([&] {
    if (!session)
      return missing("a session");
    const Function &f = session->function();
    if (Status s = checkCount("arguments", numArguments, f.arguments.size());
        !s)
      return s;
    if (Status s = checkCount("results", numResults, f.results.size()); !s)
      return s;
    if (session->executable)
      return session->executable->run(arguments, results);
    if (session->emulator)
      return session->emulator->run(arguments, results);
    if (session->devicePointers)
      return session->cuda->run(arguments, results);
    return session->cuda->runHost(arguments, results);
  });
}

HeddleStatus heddleStreamCreate(HeddleSession *session, void *const *arguments,
                                int32_t numArguments, void *const *results,
                                int32_t numResults, const int32_t *streamed,
                                int32_t numStreamed, HeddleStream **stream) {
  return guarded([&] {
    if (!session || !stream)
      return missing(session ? "a place for the stream" : "a session");
    if (session->cuda)
      return Status::error("expected a session on cpu or emulator for a "
                           "stream, got cuda; copy to device memory beside "
                           "runs of the session");
    const Function &f = session->function();
    if (Status s = checkCount("arguments", numArguments, f.arguments.size());
        !s)
      return s;
    if (Status s = checkCount("results", numResults, f.results.size()); !s)
      return s;
    if (numStreamed < 0 || (numStreamed && !streamed))
      return missing("the numbers of the streamed arguments");
    if ((numArguments && !arguments) || (numResults && !results))
      return missing("pointers to arguments and results");
    std::vector<uint32_t> numbers(streamed, streamed + numStreamed);
    auto run = [session](void *const *args, void *const *outs) {
      return session->executable ? session->executable->run(args, outs)
                                 : session->emulator->run(args, outs);
    };
    auto created = std::make_unique<HeddleStream>();
    Status s = StepStream::create(f, run, arguments, results, numbers,
                                  created->stream);
    if (s.ok())
      *stream = created.release();
    return s;
  });
}

HeddleStatus heddleStreamPush(HeddleStream *stream, const void *const *batch,
                              void *const *outputs) {
  return guarded([&] {
    return stream && batch
               ? stream->stream->push(batch, outputs)
               : missing(stream ? "a batch" : "a stream");
  });
}

HeddleStatus heddleStreamWait(HeddleStream *stream) {
  return guarded(
      [&] { return stream ? stream->stream->wait() : missing("a stream"); });
}

void heddleStreamFree(HeddleStream *stream) { delete stream; }
