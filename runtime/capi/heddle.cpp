//===- heddle.cpp - the C interface ---------------------------------------===//

#include "heddle-c/heddle.h"

#include "heddle/Runtime/CpuDevice.h"

#include <cstring>
#include <exception>
#include <new>

using namespace heddle;

struct HeddleStatusImpl {
  std::string message;
};

struct HeddleProgram {
  Program program;
};

struct HeddleSession {
  std::unique_ptr<CpuExecutable> executable;
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

Status checkDevice(const char *device) {
  if (device && !std::strcmp(device, "cpu"))
    return {};
  return Status::error(
      "expected one of the devices of this build (cpu), got " +
      (device ? "'" + std::string(device) + "'" : std::string("null")));
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
  static const char *const names[] = {"cpu", nullptr};
  return names;
}

const char *heddleDeviceDescription(const char *device) {
  if (!device || std::strcmp(device, "cpu") != 0)
    return nullptr;
  static const std::string name = cpuName();
  return name.c_str();
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
    if (Status s = checkDevice(device); !s)
      return s;
    CpuOptions cpu;
    if (options) {
      if (options->structSize != sizeof(HeddleSessionOptions))
        return Status::error("expected session options of " +
                             std::to_string(sizeof(HeddleSessionOptions)) +
                             " bytes, got " +
                             std::to_string(options->structSize) +
                             "; set structSize to their size");
      cpu.threads = options->threads;
      cpu.poison = options->poison != 0;
    }
    auto created = std::make_unique<HeddleSession>();
    Status s =
        CpuExecutable::load(*f, program->program, cpu, created->executable);
    if (s.ok())
      *session = created.release();
    return s;
  });
}

void heddleSessionFree(HeddleSession *session) { delete session; }

int32_t heddleSessionNumThreads(const HeddleSession *session) {
  return session ? session->executable->threads() : 0;
}

HeddleStatus heddleSessionRun(HeddleSession *session, void *const *arguments,
                              int32_t numArguments, void *const *results,
                              int32_t numResults) {
  return guarded([&] {
    if (!session)
      return missing("a session");
    const Function &f = session->executable->function();
    if (Status s = checkCount("arguments", numArguments, f.arguments.size());
        !s)
      return s;
    if (Status s = checkCount("results", numResults, f.results.size()); !s)
      return s;
    return session->executable->run(arguments, results);
  });
}
