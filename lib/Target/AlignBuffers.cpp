//===- AlignBuffers.cpp - launches on aligned buffers ---------------------===//
//
// Kernels of a GPU access up to 16 bytes at once, so their buffers have to
// begin at multiples of that. The planner places values so, and callers pass
// such memory; what is left are slices.
//
//===----------------------------------------------------------------------===//

#include "AlignBuffers.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace heddle;

/// Places for copies begin at multiples of this, as those of the planner do.
static constexpr int64_t kPlaceAlignment = 256;

static bool isAligned(const BufferRef &b, int64_t alignment) {
  return b.offset % alignment == 0 &&
         std::all_of(b.strides.begin(), b.strides.end(),
                     [&](int64_t s) { return s % alignment == 0; });
}

static Command copy(const BufferRef &source, const BufferRef &dest) {
  Command c;
  c.kind = Command::Kind::Copy;
  c.source = source;
  c.dest = dest;
  return c;
}

/// The commands with copies round launches; `end` is where the arena ends.
static std::vector<Command> align(std::vector<Command> commands,
                                  const std::vector<KernelUses> &uses,
                                  int64_t alignment, int64_t begin,
                                  int64_t &end) {
  std::vector<Command> result;
  for (Command &c : commands) {
    if (c.kind == Command::Kind::Repeat)
      c.body = align(std::move(c.body), uses, alignment, begin, end);
    if (c.kind != Command::Kind::Launch) {
      result.push_back(std::move(c));
      continue;
    }
    int64_t at = begin;
    std::vector<Command> after;
    for (size_t i = 0; i < c.args.size(); ++i) {
      LaunchArg &arg = c.args[i];
      if (arg.kind != LaunchArg::Kind::Buffer ||
          isAligned(arg.buffers.front(), alignment))
        continue;
      BufferRef original = arg.buffers.front(), place;
      place.space = Space::Arena;
      place.offset = at;
      place.size = original.size;
      at += llvm::alignTo(original.size, kPlaceAlignment);
      const KernelUses &use = uses[c.kernel];
      if (use.reads[i])
        result.push_back(copy(original, place));
      if (use.writes[i])
        after.push_back(copy(place, original));
      arg.buffers.front() = place;
    }
    end = std::max(end, at);
    result.push_back(std::move(c));
    for (Command &back : after)
      result.push_back(std::move(back));
  }
  return result;
}

void heddle::alignBuffers(Function &function,
                          const std::vector<KernelUses> &uses,
                          int64_t alignment) {
  int64_t begin = llvm::alignTo(function.plan.arenaBytes, kPlaceAlignment);
  int64_t end = begin;
  function.commands =
      align(std::move(function.commands), uses, alignment, begin, end);
  if (end > begin)
    function.plan.arenaBytes = end;
}
