//===- CpuExecutable.cpp - runs a command list on the CPU -----------------===//
//
// Loading turns the commands into steps with resolved kernel addresses and
// buffers as (base, offset); a run fills the table of base addresses and walks
// the steps. Nothing is allocated on the way.
//
//===----------------------------------------------------------------------===//

#include "heddle/Runtime/CpuDevice.h"

#include "../core/Binding.h"
#include "../core/BundleFormat.h"
#include "../core/Donation.h"
#include "../core/Memory.h"
#include "CpuInfo.h"
#include "ObjectCode.h"
#include "ThreadPool.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <sys/mman.h>

namespace heddle {

namespace {

using KernelFn = void (*)(void *const *args, int64_t block, void *scratch);

constexpr unsigned kMaxDepth = bundle::kMaxRepeatDepth;
/// Copies and fills are split into blocks of this size between the threads.
constexpr int64_t kMoveBlock = 1 << 18;
/// Launches that share a region of less work than this run on the caller alone:
/// sooner than another thread would have joined.
constexpr int64_t kSerialNanoseconds = 2000;
/// All bits set: a NaN in every float type, -1 in every integer type.
constexpr uint8_t kPoison = 0xff;

/// A planned buffer: an entry of the base table plus an offset.
struct Address {
  uint32_t base = 0;
  int64_t offset = 0;
  std::vector<int64_t> strides; // per enclosing repeat, outermost first
};

struct StepArg {
  LaunchArg::Kind kind = LaunchArg::Kind::Buffer;
  std::vector<Address> buffers;
  size_t storage = 0; // entry of `scalars`, first entry of `tables`
};

/// A launch among those of one step, which share a parallel region.
struct Part {
  KernelFn kernel = nullptr;
  int64_t firstBlock = 0; // of the step's
  std::vector<StepArg> args;
  size_t firstPointer = 0;
};

struct Step {
  Command::Kind kind = Command::Kind::Launch;
  std::vector<Part> parts;
  int64_t numBlocks = 0;   // of all parts
  int64_t nanoseconds = 0; // roughly, on one thread
  Address source, dest;
  int64_t size = 0;
  uint64_t pattern = 0; // repeated to fill 8 bytes
  int64_t count = 0;
  std::vector<Step> body;
};

int64_t roundUp(int64_t n, int64_t unit) {
  return (n + unit - 1) / unit * unit;
}

/// A pattern of 1, 2, 4 or 8 bytes repeated to 8.
uint64_t widenPattern(uint64_t pattern, uint32_t size) {
  for (uint32_t n = size; n < 8; n *= 2) {
    pattern &= (uint64_t(1) << (8 * n)) - 1;
    pattern |= pattern << (8 * n);
  }
  return pattern;
}

} // namespace

struct CpuExecutable::Impl {
  Function function;
  bool poison = false;
  std::vector<std::unique_ptr<ObjectCode>> code;
  std::unique_ptr<ThreadPool> pool;
  MappedMemory arena, scratch, constants;
  int64_t scratchStride = 0;
  std::vector<Step> steps;

  // Argument bases, result bases, arena, constants.
  std::vector<uint8_t *> bases;
  std::vector<uint64_t> checkedAddresses; // of the last run
  std::vector<int64_t> scalars;
  std::vector<void *> tables;   // storage of all pointer tables
  std::vector<void *> pointers; // arguments of the launches that run
  int64_t iterations[kMaxDepth] = {};
  std::mutex running;

  Status load(const Program &program, const CpuOptions &options);
  Status allocate(int threads);
  Status compile(const std::vector<Command> &commands, std::vector<Step> &out);
  Status addLaunch(const Command &c, Step &step);
  Address address(const BufferRef &b) const;

  Status bind(void *const *args, void *const *results);
  void fillWithPoison(void *const *args, void *const *results);
  void runSteps(const std::vector<Step> &list, unsigned depth);
  void launch(const Step &step);
  void copy(uint8_t *dest, const uint8_t *source, int64_t size);
  void fill(uint8_t *dest, uint64_t pattern, int64_t size);
  uint8_t *resolve(const Address &a) const {
    int64_t offset = a.offset;
    for (size_t i = 0; i < a.strides.size(); ++i)
      offset += a.strides[i] * iterations[i];
    return bases[a.base] + offset;
  }
};

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

Address CpuExecutable::Impl::address(const BufferRef &b) const {
  size_t numArgs = function.arguments.size();
  size_t numResults = function.results.size();
  Address a;
  switch (b.space) {
  case Space::Argument:
    a.base = b.index;
    break;
  case Space::Result:
    a.base = static_cast<uint32_t>(numArgs + b.index);
    break;
  case Space::Arena:
    a.base = static_cast<uint32_t>(numArgs + numResults);
    break;
  case Space::Constants:
    a.base = static_cast<uint32_t>(numArgs + numResults + 1);
    break;
  }
  a.offset = b.offset;
  a.strides = b.strides;
  return a;
}

Status CpuExecutable::Impl::addLaunch(const Command &c, Step &step) {
  const KernelInfo &kernel = function.kernels[c.kernel];
  Part part;
  for (const std::unique_ptr<ObjectCode> &object : code)
    if (!part.kernel)
      part.kernel = reinterpret_cast<KernelFn>(object->lookup(kernel.name));
  if (!part.kernel)
    return Status::error("function '" + function.name +
                         "': the object code has no kernel '" + kernel.name +
                         "'; recompile with heddle-compile");
  part.firstBlock = step.numBlocks;
  step.numBlocks += kernel.numBlocks;
  step.nanoseconds += (kernel.flops + kernel.minBytes) / 16;
  if (!step.parts.empty())
    part.firstPointer =
        step.parts.back().firstPointer + step.parts.back().args.size();
  for (const LaunchArg &arg : c.args) {
    StepArg a;
    a.kind = arg.kind;
    for (const BufferRef &b : arg.buffers)
      a.buffers.push_back(address(b));
    if (arg.kind == LaunchArg::Kind::Scalar) {
      a.storage = scalars.size();
      scalars.push_back(arg.scalar);
    } else if (arg.kind == LaunchArg::Kind::PointerTable) {
      a.storage = tables.size();
      tables.resize(tables.size() + arg.buffers.size());
    }
    part.args.push_back(std::move(a));
  }
  pointers.resize(
      std::max(pointers.size(), part.firstPointer + part.args.size()));
  step.parts.push_back(std::move(part));
  return {};
}

Status CpuExecutable::Impl::compile(const std::vector<Command> &commands,
                                    std::vector<Step> &out) {
  out.reserve(commands.size());
  for (const Command &c : commands) {
    Step step;
    step.kind = c.kind;
    switch (c.kind) {
    case Command::Kind::Launch: {
      bool joins = c.together && !out.empty();
      if (Status s = addLaunch(c, joins ? out.back() : step); !s)
        return s;
      if (joins)
        continue;
      break;
    }
    case Command::Kind::Copy:
      step.source = address(c.source);
      step.dest = address(c.dest);
      step.size = c.dest.size;
      break;
    case Command::Kind::Fill:
      step.dest = address(c.dest);
      step.size = c.dest.size;
      step.pattern = widenPattern(c.pattern, c.patternSize);
      break;
    case Command::Kind::Repeat:
      step.count = c.count;
      if (Status s = compile(c.body, step.body); !s)
        return s;
      break;
    }
    out.push_back(std::move(step));
  }
  return {};
}

Status CpuExecutable::Impl::allocate(int threads) {
  scratchStride = roundUp(function.plan.scratchBytesPerThread, 4096);
  int64_t constantBytes = static_cast<int64_t>(function.constants.size());
  int64_t arenaBytes = function.plan.arenaBytes;
  int64_t total = arenaBytes + threads * scratchStride + constantBytes;
  if (Status s = checkMemory(total, "function '" + function.name + "' with " +
                                        std::to_string(threads) + " threads");
      !s)
    return Status::error(s.message + "; use fewer threads, a smaller batch or "
                                     "a machine with more memory");
  if (Status s = arena.allocate(arenaBytes); !s)
    return s;
  if (Status s = scratch.allocate(threads * scratchStride); !s)
    return s;
  if (Status s = constants.allocate(constantBytes); !s)
    return s;
  if (constantBytes) {
    std::memcpy(constants.data(), function.constants.data(), constantBytes);
    mprotect(constants.data(), constantBytes, PROT_READ);
  }
  return {};
}

Status CpuExecutable::Impl::load(const Program &program,
                                 const CpuOptions &options) {
  if (program.target != "cpu")
    return Status::error("the bundle is compiled for target '" +
                         program.target +
                         "', this device is 'cpu'; recompile with "
                         "--target=cpu");
  if (Status s = verifyFunction(function); !s)
    return s;
  if (Status s = checkInstructionSet(program); !s)
    return s;
  poison = options.poison;
  int threads = options.threads ? options.threads : cpuThreads();
  if (threads < 0)
    return Status::error("expected a number of threads from 1, or 0 for all "
                         "cores, got " +
                         std::to_string(threads));
  // A function whose results are copies and fills only has no code.
  for (const std::vector<uint8_t> &object : function.objects) {
    std::unique_ptr<ObjectCode> loaded;
    if (Status s = ObjectCode::load(object.data(), object.size(), loaded); !s)
      return s;
    code.push_back(std::move(loaded));
  }
  if (Status s = compile(function.commands, steps); !s)
    return s;
  // First the pool, which limits the number of scratch buffers.
  if (Status s = ThreadPool::create(threads, pool); !s)
    return s;
  if (Status s = allocate(threads); !s)
    return s;
  // Both live on in their loaded form.
  function.objects = {};
  function.constants = {};
  bases.resize(function.arguments.size() + function.results.size() + 2);
  bases[bases.size() - 2] = arena.data();
  bases[bases.size() - 1] = constants.data();
  return {};
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

Status CpuExecutable::Impl::bind(void *const *args, void *const *results) {
  if (Status s = bindBuffers(function, args, results, /*aliases=*/true,
                             [&](size_t i, const void *p) {
                               bases[i] = static_cast<uint8_t *>(
                                   const_cast<void *>(p));
                             });
      !s)
    return s;
  std::vector<uint64_t> addresses;
  for (size_t i = 0; i + 2 < bases.size(); ++i)
    addresses.push_back(reinterpret_cast<uint64_t>(bases[i]));
  if (addresses == checkedAddresses)
    return {};
  if (Status s = checkDonatedMemory(function, addresses); !s)
    return s;
  checkedAddresses = std::move(addresses);
  return {};
}

void CpuExecutable::Impl::fillWithPoison(void *const *args,
                                         void *const *results) {
  uint64_t pattern = widenPattern(kPoison, 1);
  fill(arena.data(), pattern, arena.size());
  fill(scratch.data(), pattern, scratch.size());
  for (size_t i = 0; i < function.results.size(); ++i) {
    uintptr_t begin = reinterpret_cast<uintptr_t>(results[i]);
    uintptr_t end = begin + function.results[i].type.byteSize();
    bool holdsArgument = false;
    for (size_t a = 0; a < function.arguments.size(); ++a) {
      uintptr_t argBegin = reinterpret_cast<uintptr_t>(args[a]);
      uintptr_t argEnd = argBegin + function.arguments[a].type.byteSize();
      holdsArgument |= args[a] && argBegin < end && begin < argEnd;
    }
    if (!holdsArgument)
      fill(static_cast<uint8_t *>(results[i]), pattern, end - begin);
  }
}

void CpuExecutable::Impl::copy(uint8_t *dest, const uint8_t *source,
                               int64_t size) {
  if (size == 0 || dest == source)
    return;
  bool apart = dest + size <= source || source + size <= dest;
  if (size <= kMoveBlock || !apart) {
    std::memmove(dest, source, size);
    return;
  }
  pool->parallelFor(
      (size + kMoveBlock - 1) / kMoveBlock, [=](int64_t block, int) {
        int64_t at = block * kMoveBlock;
        std::memcpy(dest + at, source + at, std::min(kMoveBlock, size - at));
      });
}

/// `pattern` starts anew at `dest` and every 8 bytes on; blocks are multiples
/// of that.
static void fillBlock(uint8_t *dest, uint64_t pattern, int64_t size) {
  if (pattern == (pattern & 0xff) * 0x0101010101010101ull) {
    std::memset(dest, static_cast<int>(pattern & 0xff), size);
    return;
  }
  int64_t i = 0;
  for (; i + 8 <= size; i += 8)
    std::memcpy(dest + i, &pattern, 8);
  std::memcpy(dest + i, &pattern, size - i);
}

void CpuExecutable::Impl::fill(uint8_t *dest, uint64_t pattern, int64_t size) {
  if (size == 0)
    return;
  pool->parallelFor(
      (size + kMoveBlock - 1) / kMoveBlock, [=](int64_t block, int) {
        int64_t at = block * kMoveBlock;
        fillBlock(dest + at, pattern, std::min(kMoveBlock, size - at));
      });
}

void CpuExecutable::Impl::launch(const Step &step) {
  for (const Part &part : step.parts) {
    void **next = pointers.data() + part.firstPointer;
    for (const StepArg &arg : part.args) {
      switch (arg.kind) {
      case LaunchArg::Kind::Buffer:
        *next = resolve(arg.buffers.front());
        break;
      case LaunchArg::Kind::Scalar:
        *next = &scalars[arg.storage];
        break;
      case LaunchArg::Kind::PointerTable:
        for (size_t b = 0; b < arg.buffers.size(); ++b)
          tables[arg.storage + b] = resolve(arg.buffers[b]);
        *next = tables.data() + arg.storage;
        break;
      }
      ++next;
    }
  }
  void *const *args = pointers.data();
  uint8_t *memory = scratch.data();
  int64_t stride = scratchStride;
  if (step.parts.size() == 1) {
    KernelFn kernel = step.parts.front().kernel;
    pool->parallelFor(step.numBlocks, [=](int64_t block, int thread) {
      kernel(args, block, memory + thread * stride);
    });
    return;
  }
  const std::vector<Part> &parts = step.parts;
  if (step.nanoseconds < kSerialNanoseconds) {
    for (size_t i = 0; i < parts.size(); ++i) {
      int64_t end =
          i + 1 < parts.size() ? parts[i + 1].firstBlock : step.numBlocks;
      for (int64_t block = parts[i].firstBlock; block < end; ++block)
        parts[i].kernel(args + parts[i].firstPointer,
                        block - parts[i].firstBlock, memory);
    }
    return;
  }
  pool->parallelFor(step.numBlocks, [=, &parts](int64_t block, int thread) {
    auto after = std::upper_bound(
        parts.begin(), parts.end(), block,
        [](int64_t b, const Part &part) { return b < part.firstBlock; });
    const Part &part = *std::prev(after);
    part.kernel(args + part.firstPointer, block - part.firstBlock,
                memory + thread * stride);
  });
}

void CpuExecutable::Impl::runSteps(const std::vector<Step> &list,
                                   unsigned depth) {
  for (const Step &step : list) {
    switch (step.kind) {
    case Command::Kind::Launch:
      launch(step);
      break;
    case Command::Kind::Copy:
      copy(resolve(step.dest), resolve(step.source), step.size);
      break;
    case Command::Kind::Fill:
      fill(resolve(step.dest), step.pattern, step.size);
      break;
    case Command::Kind::Repeat:
      for (int64_t i = 0; i < step.count; ++i) {
        iterations[depth] = i;
        runSteps(step.body, depth + 1);
      }
      break;
    }
  }
}

CpuExecutable::CpuExecutable() : impl(new Impl) {}
CpuExecutable::~CpuExecutable() = default;

Status CpuExecutable::load(const Function &function, const Program &program,
                           const CpuOptions &options,
                           std::unique_ptr<CpuExecutable> &out) {
  std::unique_ptr<CpuExecutable> executable(new CpuExecutable);
  executable->impl->function = function;
  if (Status s = executable->impl->load(program, options); !s)
    return s;
  out = std::move(executable);
  return {};
}

Status CpuExecutable::run(void *const *args, void *const *results) {
  std::lock_guard<std::mutex> lock(impl->running);
  if (Status s = impl->bind(args, results); !s)
    return s;
  if (impl->poison)
    impl->fillWithPoison(args, results);
  impl->runSteps(impl->steps, 0);
  return {};
}

int CpuExecutable::threads() const { return impl->pool->size(); }
const Function &CpuExecutable::function() const { return impl->function; }

} // namespace heddle
