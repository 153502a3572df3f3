//===- ProgramVerifier.cpp - what the interpreter relies on ---------------===//

#include "BundleFormat.h"
#include "heddle/Runtime/Program.h"

#include <algorithm>
#include <set>

namespace heddle {

/// Sizes stay below this, so that sums of a few of them do not overflow.
static constexpr int64_t kMaxBytes = int64_t(1) << 48;
/// Iterations of all repeats around a command.
static constexpr int64_t kMaxIterations = int64_t(1) << 31;

/// Bytes of a tensor, or -1 if a dimension is negative or the size absurd.
static int64_t checkedByteSize(const TensorType &type) {
  if (type.shape.size() > bundle::kMaxRank)
    return -1;
  int64_t bytes = byteWidth(type.dtype);
  bool empty = false;
  for (int64_t d : type.shape) {
    if (d < 0 || d > kMaxBytes)
      return -1;
    empty |= d == 0;
    if (d && bytes > kMaxBytes / d)
      return -1;
    bytes *= std::max<int64_t>(d, 1);
  }
  return empty ? 0 : bytes;
}

namespace {

/// Checks the commands of one function.
class FunctionVerifier {
public:
  explicit FunctionVerifier(const Function &f) : f(f) {}

  Status run();

private:
  enum class Access { Read, Write, Kernel };

  Status signature();
  Status plan();
  Status images();
  Status gpuKernel(const GpuKernel &k, const std::string &name);
  Status commands(const std::vector<Command> &list);
  Status command(const Command &c);
  Status launch(const Command &c);
  Status buffer(const BufferRef &b, Access access);
  Status spaceSize(const BufferRef &b, Access access, int64_t &size);
  Status error(const std::string &why) const {
    std::string where = "function '" + f.name + "'";
    for (size_t i = 0; i < path.size(); ++i)
      where += (i ? "." : ": command ") + std::to_string(path[i]);
    return Status::error(where + ": " + why);
  }

  const Function &f;
  std::vector<size_t> path;    // command numbers, outermost first
  std::vector<int64_t> counts; // of the repeats around the command
};

} // namespace

static const char *spaceName(Space space) {
  switch (space) {
  case Space::Argument:
    return "argument";
  case Space::Result:
    return "result";
  case Space::Arena:
    return "arena";
  case Space::Constants:
    return "constants";
  }
  return "?";
}

Status FunctionVerifier::signature() {
  std::set<int32_t> taken;
  for (size_t i = 0; i < f.arguments.size(); ++i)
    if (checkedByteSize(f.arguments[i].type) < 0)
      return error("argument " + std::to_string(i) +
                   " has the impossible type " + f.arguments[i].type.str());
  for (size_t i = 0; i < f.results.size(); ++i) {
    const NamedTensorType &r = f.results[i];
    std::string name = "result " + std::to_string(i);
    if (checkedByteSize(r.type) < 0)
      return error(name + " has the impossible type " + r.type.str());
    if (r.alias < 0)
      continue;
    if (static_cast<size_t>(r.alias) >= f.arguments.size())
      return error(name + " lives in argument " + std::to_string(r.alias) +
                   " of " + std::to_string(f.arguments.size()));
    const NamedTensorType &a = f.arguments[r.alias];
    if (!a.donated)
      return error(name + " lives in argument " + std::to_string(r.alias) +
                   ", which is not donated");
    if (a.type.byteSize() < r.type.byteSize())
      return error(name + " of " + r.type.str() +
                   " does not fit into argument " + std::to_string(r.alias) +
                   " of " + a.type.str());
    if (!taken.insert(r.alias).second)
      return error("two results live in argument " + std::to_string(r.alias));
  }
  return {};
}

Status FunctionVerifier::plan() {
  const MemoryPlan &p = f.plan;
  for (int64_t v : {p.argBytes, p.outBytes, p.aliasBytes, p.arenaBytes,
                    p.scratchBytesPerThread, p.maxLiveBytes, p.workBytes})
    if (v < 0 || v > kMaxBytes)
      return error("the memory plan has the impossible figure " +
                   std::to_string(v));
  for (size_t i = 0; i < f.kernels.size(); ++i) {
    const KernelInfo &k = f.kernels[i];
    std::string name = "kernel " + std::to_string(i) + " '" + k.name + "'";
    if (k.name.empty())
      return error(name + " has no name");
    if (k.numBlocks < 0 || k.numBlocks > kMaxBytes)
      return error(name + " has the impossible number of blocks " +
                   std::to_string(k.numBlocks));
    if (k.scratchBytes < 0 || k.scratchBytes > p.scratchBytesPerThread)
      return error(name + " needs " + std::to_string(k.scratchBytes) +
                   " bytes of scratch, the plan has " +
                   std::to_string(p.scratchBytesPerThread));
  }
  return {};
}

/// Limits of a launch on every chip since compute capability 3.0 (CUDA C++
/// programming guide, "Technical Specifications per Compute Capability").
Status FunctionVerifier::gpuKernel(const GpuKernel &k,
                                   const std::string &name) {
  static constexpr uint32_t kGrid[3] = {0x7fffffff, 65535, 65535};
  static constexpr uint32_t kBlock[3] = {1024, 1024, 64};
  if (k.symbol.empty())
    return error(name + " has no symbol");
  uint64_t threads = 1;
  for (int d = 0; d < 3; ++d) {
    std::string axis(1, "xyz"[d]);
    if (k.grid[d] > kGrid[d])
      return error(name + " has " + std::to_string(k.grid[d]) +
                   " blocks along " + axis + ", a grid has at most " +
                   std::to_string(kGrid[d]));
    if (k.block[d] < 1 || k.block[d] > kBlock[d])
      return error(name + " has blocks of " + std::to_string(k.block[d]) +
                   " threads along " + axis + ", possible are 1 to " +
                   std::to_string(kBlock[d]));
    threads *= k.block[d];
  }
  if (threads > 1024)
    return error(name + " has blocks of " + std::to_string(threads) +
                 " threads, possible are 1 to 1024");
  if (k.sharedBytes < 0 || k.sharedBytes > (1 << 20))
    return error(name + " has the impossible number of " +
                 std::to_string(k.sharedBytes) + " bytes of shared memory");
  for (int64_t v :
       {k.registers, k.spillBytes, k.stackBytes, k.staticSharedBytes})
    if (v < -1 || v > kMaxBytes)
      return error(name + " has the impossible figure " + std::to_string(v));
  return {};
}

Status FunctionVerifier::images() {
  std::set<std::pair<std::string, GpuImageKind>> seen;
  for (const GpuImage &image : f.images) {
    std::string name = std::string("the ") + gpuImageKindName(image.kind) +
                       " image for '" + image.target + "'";
    GpuArch arch;
    if (!parseGpuArch(image.target, arch))
      return error(name + " has no target like sm_80");
    if (!seen.insert({image.target, image.kind}).second)
      return error(name + " exists twice");
    if (image.bytes.empty())
      return error(name + " is empty");
    bool isPtx = image.kind == GpuImageKind::Ptx;
    if (isPtx != (image.ptxVersion != 0) || image.ptxVersion > 999)
      return error(name + " has the impossible PTX version " +
                   std::to_string(image.ptxVersion));
    if (image.kernels.size() != f.kernels.size())
      return error(name + " has " + std::to_string(image.kernels.size()) +
                   " kernels, the function " +
                   std::to_string(f.kernels.size()));
    for (size_t i = 0; i < image.kernels.size(); ++i)
      if (Status s = gpuKernel(image.kernels[i], "kernel " + std::to_string(i) +
                                                     " '" + f.kernels[i].name +
                                                     "' of " + name);
          !s)
        return s;
  }
  return {};
}

/// The bytes of the space that `b` points into; checks its index and rights.
Status FunctionVerifier::spaceSize(const BufferRef &b, Access access,
                                   int64_t &size) {
  auto outOfRange = [&](size_t n) {
    return error(std::string(spaceName(b.space)) + ' ' +
                 std::to_string(b.index) + " does not exist, there are " +
                 std::to_string(n));
  };
  switch (b.space) {
  case Space::Argument:
    if (b.index >= f.arguments.size())
      return outOfRange(f.arguments.size());
    if (!f.arguments[b.index].used)
      return error("argument " + std::to_string(b.index) +
                   " is marked as unused but is accessed");
    if (access == Access::Write && !f.arguments[b.index].donated)
      return error("argument " + std::to_string(b.index) +
                   " is written but not donated");
    size = f.arguments[b.index].type.byteSize();
    return {};
  case Space::Result:
    if (b.index >= f.results.size())
      return outOfRange(f.results.size());
    size = f.results[b.index].type.byteSize();
    return {};
  case Space::Arena:
    size = f.plan.arenaBytes;
    return {};
  case Space::Constants:
    if (access == Access::Write)
      return error("constants are written");
    size = static_cast<int64_t>(f.constants.size());
    return {};
  }
  return error("unknown buffer space");
}

Status FunctionVerifier::buffer(const BufferRef &b, Access access) {
  int64_t limit = 0;
  if (Status s = spaceSize(b, access, limit); !s)
    return s;
  if (b.strides.size() > counts.size())
    return error("a buffer has " + std::to_string(b.strides.size()) +
                 " strides inside " + std::to_string(counts.size()) +
                 " repeats");
  // The lowest and highest offset over all iterations. 128 bits hold the sum:
  // there are at most kMaxRepeatDepth products of 63 and 31 bits.
  __int128 low = b.offset, high = b.offset;
  for (size_t i = 0; i < b.strides.size(); ++i) {
    __int128 reach = static_cast<__int128>(b.strides[i]) *
                     std::max<int64_t>(counts[i] - 1, 0);
    (reach < 0 ? low : high) += reach;
  }
  high += b.size;
  if (b.size < 0 || low < 0 || high > limit) {
    std::string text = std::string(spaceName(b.space)) + " buffer at offset " +
                       std::to_string(b.offset) + " of " +
                       std::to_string(b.size) + " bytes";
    if (!b.strides.empty())
      text += " (with its strides)";
    return error(text + " leaves its space of " + std::to_string(limit) +
                 " bytes");
  }
  return {};
}

Status FunctionVerifier::launch(const Command &c) {
  if (c.kernel >= f.kernels.size())
    return error("kernel " + std::to_string(c.kernel) +
                 " does not exist, there are " +
                 std::to_string(f.kernels.size()));
  for (const LaunchArg &arg : c.args) {
    size_t n = arg.buffers.size();
    if (arg.kind == LaunchArg::Kind::Buffer && n != 1)
      return error("a buffer argument has " + std::to_string(n) + " buffers");
    if (arg.kind == LaunchArg::Kind::Scalar && n != 0)
      return error("a scalar argument has " + std::to_string(n) + " buffers");
    for (const BufferRef &b : arg.buffers)
      if (Status s = buffer(b, Access::Kernel); !s)
        return s;
  }
  return {};
}

Status FunctionVerifier::command(const Command &c) {
  switch (c.kind) {
  case Command::Kind::Launch:
    return launch(c);
  case Command::Kind::Copy:
    if (Status s = buffer(c.source, Access::Read); !s)
      return s;
    if (Status s = buffer(c.dest, Access::Write); !s)
      return s;
    if (c.source.size < c.dest.size)
      return error("copies " + std::to_string(c.dest.size) + " bytes from " +
                   std::to_string(c.source.size));
    return {};
  case Command::Kind::Fill:
    if (Status s = buffer(c.dest, Access::Write); !s)
      return s;
    if (c.patternSize != 1 && c.patternSize != 2 && c.patternSize != 4 &&
        c.patternSize != 8)
      return error("expected a fill pattern of 1, 2, 4 or 8 bytes, got " +
                   std::to_string(c.patternSize));
    if (c.dest.size % c.patternSize != 0)
      return error("fills " + std::to_string(c.dest.size) +
                   " bytes with a pattern of " + std::to_string(c.patternSize));
    return {};
  case Command::Kind::Repeat: {
    int64_t total = c.count;
    for (int64_t n : counts)
      total = total > kMaxIterations ? total : total * std::max<int64_t>(n, 1);
    if (c.count < 0 || c.count > kMaxIterations || total > kMaxIterations)
      return error("repeats " + std::to_string(c.count) +
                   " times, more than can be meant");
    if (counts.size() == bundle::kMaxRepeatDepth)
      return error("repeats nest deeper than " +
                   std::to_string(bundle::kMaxRepeatDepth));
    counts.push_back(c.count);
    Status s = commands(c.body);
    counts.pop_back();
    return s;
  }
  }
  return error("unknown command kind");
}

Status FunctionVerifier::commands(const std::vector<Command> &list) {
  for (size_t i = 0; i < list.size(); ++i) {
    path.push_back(i);
    if (Status s = command(list[i]); !s)
      return s;
    if (list[i].together &&
        (i == 0 || list[i].kind != Command::Kind::Launch ||
         list[i - 1].kind != Command::Kind::Launch))
      return error("expected a launch before one that runs together with it, "
                   "found none");
    path.pop_back();
  }
  return {};
}

Status FunctionVerifier::run() {
  if (Status s = signature(); !s)
    return s;
  if (Status s = plan(); !s)
    return s;
  if (Status s = images(); !s)
    return s;
  return commands(f.commands);
}

Status verifyFunction(const Function &function) {
  return FunctionVerifier(function).run();
}

Status verifyProgram(const Program &program) {
  for (const Function &f : program.functions)
    if (Status s = verifyFunction(f); !s)
      return s;
  return {};
}

} // namespace heddle
