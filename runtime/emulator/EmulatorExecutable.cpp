//===- EmulatorExecutable.cpp - runs a command list on the emulator -------===//
//
// Speed is that of the kernels' fibres, so commands are walked as they are. A
// record per space says which of its bytes have been written: kernels, copies
// and fills keep it, initcheck reads it. A buffer that a launch fills starts
// unwritten, so that what an earlier buffer left in its memory is not taken for
// its value.
//
//===----------------------------------------------------------------------===//

#include "heddle/Runtime/EmulatorDevice.h"

#include "../core/Binding.h"
#include "../core/BundleFormat.h"
#include "../core/Donation.h"
#include "../core/Memory.h"
#include "../cpu/CpuInfo.h"
#include "LaunchBuffers.h"

#include <algorithm>
#include <cstring>
#include <mutex>

using namespace heddle;
using namespace heddle::emulator;

/// What wide accesses of a GPU need.
static constexpr uintptr_t kAlignment = 16;

namespace {
/// An argument, a result, the arena or the constants.
struct Area {
  uint8_t *base = nullptr;
  std::vector<uint8_t> written; // empty: all of it holds values
  std::string name;
};
} // namespace

struct EmulatorExecutable::Impl {
  Function function;
  EmulatorDeviceOptions options;
  const GpuImage *image = nullptr;
  std::unique_ptr<EmulatorModule> module;
  MappedMemory arena, constants;
  std::vector<Area> areas; // arguments, results, arena, constants
  std::vector<std::vector<EmulatorParameterUse>> uses; // by kernel
  std::vector<EmulatorKernelReport> reports;
  int64_t iterations[bundle::kMaxRepeatDepth] = {};
  mutable std::mutex running;

  Status load(const Program &program);
  Status chooseImage();
  Status allocate();
  Status bind(void *const *args, void *const *results);
  void poison();
  Status run(const std::vector<Command> &commands, unsigned depth);
  Status launch(const Command &c);
  std::string summaryOf(const LaunchReport &report);
  Status checkResults() const;
  void copy(const Command &c);
  void fill(const Command &c);
  PlacedBuffer place(const BufferRef &b);
  std::vector<OutputBuffer> outputsOf(const Command &c);
};

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

Status EmulatorExecutable::Impl::chooseImage() {
  std::string have;
  int found = 0;
  for (const GpuImage &i : function.images) {
    have += (have.empty() ? "" : ", ") + std::string(gpuImageKindName(i.kind)) +
            " for " + i.target;
    if (i.kind != GpuImageKind::Emulator ||
        (!options.target.empty() && options.target != i.target))
      continue;
    image = &i;
    ++found;
  }
  if (found == 1 || (function.kernels.empty() && found == 0))
    return {};
  return Status::error(
      "expected one emulator image" +
      (options.target.empty() ? "" : " for " + options.target) +
      " of function '" + function.name + "', found " +
      (have.empty() ? "no image" : have) +
      "; pass the model itself (MODEL.mlir), or recompile with --emulator");
}

Status EmulatorExecutable::Impl::allocate() {
  int64_t arenaBytes = function.plan.arenaBytes;
  int64_t constantBytes = static_cast<int64_t>(function.constants.size());
  int64_t total = 2 * arenaBytes + constantBytes; // records take as much
  for (const NamedTensorType &r : function.results)
    total += r.type.byteSize();
  if (Status s = checkMemory(total, "function '" + function.name +
                                        "' on the emulator");
      !s)
    return Status::error(s.message + "; use a smaller batch");
  if (Status s = arena.allocate(arenaBytes); !s)
    return s;
  if (Status s = constants.allocate(constantBytes); !s)
    return s;
  if (constantBytes)
    std::memcpy(constants.data(), function.constants.data(), constantBytes);

  auto named = [&](const char *what, size_t i, const NamedTensorType &value) {
    Area &a = areas.emplace_back();
    a.name = valueName(what, i, value);
    return &a;
  };
  for (size_t i = 0; i < function.arguments.size(); ++i)
    named("argument", i, function.arguments[i]);
  for (size_t i = 0; i < function.results.size(); ++i)
    if (Area *a = named("result", i, function.results[i]);
        function.results[i].alias < 0)
      a->written.resize(function.results[i].type.byteSize());
  Area &a = areas.emplace_back();
  a.base = arena.data();
  a.written.resize(arenaBytes);
  a.name = "arena";
  Area &c = areas.emplace_back();
  c.base = constants.data();
  c.name = "constants";
  return {};
}

Status EmulatorExecutable::Impl::load(const Program &program) {
  if (program.target != "cuda")
    return Status::error("the bundle is compiled for target '" +
                         program.target +
                         "', this device is 'emulator'; recompile with "
                         "--target=sm_80 or the like");
  if (Status s = verifyFunction(function); !s)
    return s;
  if (Status s = chooseImage(); !s)
    return s;
  if (Status s = checkInstructionSet(program); !s)
    return s;
  if (image)
    if (Status s = EmulatorModule::load(image->bytes.data(),
                                        image->bytes.size(), module);
        !s)
      return s;
  if (module)
    for (const GpuKernel &k : image->kernels)
      uses.push_back(module->parameterUses(k.symbol));
  if (Status s = allocate(); !s)
    return s;
  // Both live on in their loaded form.
  function.constants = {};
  for (GpuImage &i : function.images)
    i.bytes = {};
  return {};
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

Status EmulatorExecutable::Impl::bind(void *const *args, void *const *results) {
  if (Status s = bindBuffers(function, args, results, /*aliases=*/true,
                             [&](size_t i, const void *p) {
                               areas[i].base = static_cast<uint8_t *>(
                                   const_cast<void *>(p));
                             });
      !s)
    return s;
  size_t numArgs = function.arguments.size();
  std::vector<uint64_t> addresses;
  for (size_t i = 0; i < numArgs + function.results.size(); ++i) {
    addresses.push_back(reinterpret_cast<uint64_t>(areas[i].base));
    if ((i >= numArgs || function.arguments[i].used) &&
        addresses.back() % kAlignment)
      return Status::error("expected " + areas[i].name +
                           " to be aligned to 16 bytes, as memory of a GPU is; "
                           "pass an aligned buffer");
  }
  return checkDonatedMemory(function, addresses);
}

void EmulatorExecutable::Impl::poison() {
  for (Area &a : areas) {
    if (a.written.empty())
      continue;
    std::fill(a.written.begin(), a.written.end(), 0);
    std::memset(a.base, kPoison, a.written.size());
  }
}

PlacedBuffer EmulatorExecutable::Impl::place(const BufferRef &b) {
  size_t index = b.index;
  if (b.space != Space::Argument)
    index += function.arguments.size();
  if (b.space == Space::Arena || b.space == Space::Constants)
    index = areas.size() - (b.space == Space::Arena ? 2 : 1);
  int64_t offset = b.offset;
  for (size_t i = 0; i < b.strides.size(); ++i)
    offset += b.strides[i] * iterations[i];
  Area &area = areas[index];
  PlacedBuffer p;
  p.pointer = area.base + offset;
  p.bytes = b.size;
  p.written = area.written.empty() ? nullptr : area.written.data() + offset;
  p.name = area.name;
  if (b.space == Space::Arena || b.space == Space::Constants || offset)
    p.name += "[" + std::to_string(offset) + ".." +
              std::to_string(offset + b.size) + ")";
  return p;
}

/// Buffers that parameters are only written through. Others of the launch may
/// lie in the same place.
std::vector<OutputBuffer>
EmulatorExecutable::Impl::outputsOf(const Command &c) {
  const std::vector<EmulatorParameterUse> &use = uses[c.kernel];
  std::vector<OutputBuffer> outputs;
  std::vector<PlacedBuffer> inputs;
  for (size_t i = 0; i < std::min(c.args.size(), use.size()); ++i)
    for (const BufferRef &b : c.args[i].buffers) {
      bool isTable = c.args[i].kind == LaunchArg::Kind::PointerTable;
      if (isTable || use[i].read)
        inputs.push_back(place(b));
      else if (use[i].written)
        outputs.push_back({place(b), false});
    }
  for (OutputBuffer &o : outputs)
    for (const PlacedBuffer &in : inputs)
      o.overInput |= in.pointer < o.place.pointer + o.place.bytes &&
                     o.place.pointer < in.pointer + in.bytes;
  return outputs;
}

std::string EmulatorExecutable::Impl::summaryOf(const LaunchReport &report) {
  std::string text;
  size_t shown = 0;
  uint32_t kinds = 0;
  for (const EmulatorFinding &f : report.findings) {
    if (options.maxFindings > 0
            ? shown >= static_cast<size_t>(options.maxFindings)
            : (kinds & f.sanitizer) != 0)
      continue;
    kinds |= f.sanitizer;
    text += (shown++ ? "\n" : "") + f.text();
  }
  size_t more = report.findings.size() - shown + report.findingsLeftOut;
  return text + (more ? " (and " + std::to_string(more) + " more)" : "");
}

Status EmulatorExecutable::Impl::launch(const Command &c) {
  const GpuKernel &k = image->kernels[c.kernel];
  EmulatorKernelReport &report = reports[c.kernel];
  EmulatorLaunch launch;
  launch.kernel = k.symbol;
  launch.grid = {k.grid[0], k.grid[1], k.grid[2]};
  launch.block = {k.block[0], k.block[1], k.block[2]};
  launch.dynamicSharedBytes = k.sharedBytes;
  launch.options.sanitizers = options.sanitizers;
  launch.options.seed = options.seed;
  launch.options.threads = options.threads;
  launch.options.maxFindings =
      std::max(launch.options.maxFindings, options.maxFindings);

  std::vector<PlacedBuffer> placed;
  // The tables are read by address: none of them may move.
  std::vector<std::vector<uint64_t>> tables(c.args.size());
  for (size_t i = 0; i < c.args.size(); ++i) {
    const LaunchArg &arg = c.args[i];
    if (arg.kind == LaunchArg::Kind::Scalar) {
      launch.args.push_back(EmulatorArgument::i64(arg.scalar));
      continue;
    }
    for (const BufferRef &b : arg.buffers) {
      placed.push_back(place(b));
      tables[i].push_back(reinterpret_cast<uint64_t>(placed.back().pointer));
    }
    if (arg.kind == LaunchArg::Kind::Buffer) {
      launch.args.push_back(EmulatorArgument::pointer(placed.back().pointer));
      continue;
    }
    PlacedBuffer table;
    table.pointer = reinterpret_cast<uint8_t *>(tables[i].data());
    table.bytes = static_cast<int64_t>(8 * tables[i].size());
    table.name = "pointer table " + std::to_string(i);
    launch.args.push_back(EmulatorArgument::pointer(table.pointer));
    placed.push_back(std::move(table));
  }
  ++report.launches;
  if (launch.grid.count() == 0)
    return {};
  launch.buffers = disjointBuffers(std::move(placed));

  LaunchReport one;
  std::vector<OutputBuffer> outputs = outputsOf(c);
  beginOutputs(outputs);
  Status status = module->launch(launch, one);
  endOutputs(outputs);
  report.sum.counters.add(one.counters);
  report.sum.findings.insert(report.sum.findings.end(), one.findings.begin(),
                             one.findings.end());
  report.sum.findingsLeftOut += one.findingsLeftOut;
  if (!status || one.findings.empty())
    return status;
  return Status::error(summaryOf(one));
}

/// Results are poisoned before a run and copied out whole after it.
Status EmulatorExecutable::Impl::checkResults() const {
  if (!(options.sanitizers & kInitcheck))
    return {};
  for (size_t i = 0; i < function.results.size(); ++i) {
    const Area &a = areas[function.arguments.size() + i];
    auto missing = std::count(a.written.begin(), a.written.end(), 0);
    if (missing == 0)
      continue;
    auto first = std::find(a.written.begin(), a.written.end(), 0);
    return Status::error(
        std::string(sanitizerName(kInitcheck)) + ": expected all " +
        std::to_string(a.written.size()) + " bytes of " + a.name +
        " to be written, found " + std::to_string(missing) +
        " that no kernel, copy or fill wrote, the first at byte " +
        std::to_string(first - a.written.begin()) +
        "; store to all of it, or return less");
  }
  return {};
}

void EmulatorExecutable::Impl::copy(const Command &c) {
  PlacedBuffer source = place(c.source), dest = place(c.dest);
  std::memmove(dest.pointer, source.pointer, dest.bytes);
  if (dest.written && source.written)
    std::memmove(dest.written, source.written, dest.bytes);
  else if (dest.written)
    std::memset(dest.written, 1, dest.bytes);
}

void EmulatorExecutable::Impl::fill(const Command &c) {
  PlacedBuffer dest = place(c.dest);
  for (int64_t i = 0; i < dest.bytes; i += c.patternSize)
    std::memcpy(dest.pointer + i, &c.pattern, c.patternSize);
  if (dest.written)
    std::memset(dest.written, 1, dest.bytes);
}

Status EmulatorExecutable::Impl::run(const std::vector<Command> &commands,
                                     unsigned depth) {
  for (const Command &c : commands) {
    switch (c.kind) {
    case Command::Kind::Launch:
      if (Status s = launch(c); !s)
        return s;
      break;
    case Command::Kind::Copy:
      copy(c);
      break;
    case Command::Kind::Fill:
      fill(c);
      break;
    case Command::Kind::Repeat:
      for (int64_t i = 0; i < c.count; ++i) {
        iterations[depth] = i;
        if (Status s = run(c.body, depth + 1); !s)
          return s;
      }
      break;
    }
  }
  return {};
}

EmulatorExecutable::EmulatorExecutable() : impl(new Impl) {}
EmulatorExecutable::~EmulatorExecutable() = default;

Status EmulatorExecutable::load(const Function &function,
                                const Program &program,
                                const EmulatorDeviceOptions &options,
                                std::unique_ptr<EmulatorExecutable> &out) {
  std::unique_ptr<EmulatorExecutable> executable(new EmulatorExecutable);
  executable->impl->function = function;
  executable->impl->options = options;
  if (Status s = executable->impl->load(program); !s)
    return s;
  out = std::move(executable);
  return {};
}

Status EmulatorExecutable::run(void *const *args, void *const *results) {
  std::lock_guard<std::mutex> lock(impl->running);
  if (Status s = impl->bind(args, results); !s)
    return s;
  impl->poison();
  impl->reports.clear();
  for (const KernelInfo &k : impl->function.kernels)
    impl->reports.push_back({k.name, 0, {}});
  if (Status s = impl->run(impl->function.commands, 0); !s)
    return s;
  return impl->checkResults();
}

void EmulatorExecutable::setSeed(uint64_t seed) {
  std::lock_guard<std::mutex> lock(impl->running);
  impl->options.seed = seed;
}

std::vector<EmulatorKernelReport> EmulatorExecutable::reports() const {
  std::lock_guard<std::mutex> lock(impl->running);
  return impl->reports;
}

const std::string &EmulatorExecutable::target() const {
  static const std::string none;
  return impl->image ? impl->image->target : none;
}
const Function &EmulatorExecutable::function() const { return impl->function; }
