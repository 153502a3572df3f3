//===- SelectiveScanGradShape.cpp - blocks, chunks, parts -----------------===//
//
// Nothing here depends on a target: partial sums are laid out, and states
// handed over, before there is one.
//
// An element of u costs 6 N / channels numbers for its share of the rows of b
// and c and of partial sums, and 2 N / chunk for states at the start of chunks.
// What a block has room for is channels x N x (states that it keeps): in shared
// memory, of which no chip has less than 99 KiB, and in registers.
//
//===----------------------------------------------------------------------===//

#include "SelectiveScanGrad.h"

#include <limits>

using namespace mlir;
using namespace heddle;

/// Floats of shared memory, less what the alignment of buffers takes.
static constexpr int64_t kShared = 99 * 256 - 32;
static constexpr int64_t kChannels = 128;
/// Twice as many where that leaves enough blocks, or no partial sums.
static constexpr int64_t kThreads = 256;
/// Twice the multiprocessors of a large chip.
static constexpr int64_t kBlocks = 256;
/// Of partial sums and scratch memory, where a block to a group does with that.
static constexpr int64_t kBytes = int64_t(768) << 20;

/// Steps whose states follow from one that is kept, with the sums of all of
/// them in its place: lanes of the same states, 32 / lanes, share two rows of a
/// step. So many threads that each has 128 registers take them in groups.
static void groupSteps(SelectiveGradShape &s) {
  int64_t room = std::min<int64_t>(16 / s.lanes, s.steps);
  bool few = s.threads() > kThreads;
  int64_t registers = std::max<int64_t>(1, 16 / s.perLane);
  s.together =
      std::min(room, few ? std::min<int64_t>(2, registers) : registers);
  s.groupsOfLine = few && s.perLane == s.width ? room / s.together : 1;
}

static int64_t sharedFloats(const SelectiveGradShape &s, bool gate,
                            bool resets) {
  int64_t line = s.channels * s.padded, chunk = s.chunk();
  int64_t ofChunk =
      chunk * (2 * s.channels + s.padded + resets) + (s.spans - 1) * line;
  int64_t ofSpan = s.steps * ((gate ? 4 : 3) * s.channels + s.padded) +
                   s.linesOfStack() * line;
  return ofChunk + ofSpan;
}

/// What blocks see: chunks of time are sequences of their own.
static SelectiveOperands stretchesOf(SelectiveScanGradOp op) {
  SelectiveOperands in = SelectiveOperands::of(op);
  int64_t chunks = op.numChunks();
  if (chunks == 1)
    return in;
  in.batch *= chunks;
  in.length = scanChunkSteps(in.length, chunks);
  return in;
}

static int64_t groupsOf(Value rows) {
  auto type = cast<ShapedType>(rows.getType());
  return type.getRank() == 4 ? type.getDimSize(2) : 1;
}

/// Chunks whose states a block keeps for itself: not those before the first
/// one, and the last one starts from registers.
static int64_t keptChunks(const SelectiveGradShape &s, int64_t length) {
  return std::max<int64_t>(0, llvm::divideCeil(length, s.chunk()) - 2);
}

static bool givesStates(const SelectiveGradShape &s, SelectiveScanGradOp op) {
  return op.getChunkStates() &&
         static_cast<int64_t>(*op.getChunk()) == s.chunk();
}

/// Whether rows of db and dc of a chunk have places for the states of all
/// channels, where that is needed.
static bool hasPlaces(const SelectiveGradShape &s,
                      const SelectiveOperands &in) {
  return s.channels <= 2 * s.chunk() || keptChunks(s, in.length) == 0;
}

/// Blocks to a group: as many as there are tiles where that is few and their
/// partial sums small.
static void countBlocks(SelectiveGradShape &s, const SelectiveOperands &in,
                        SelectiveScanGradOp op) {
  s.count(in);
  s.groups = std::max<int64_t>(1, in.channels / in.groupSize);
  int64_t sequences = std::max<int64_t>(1, in.batch) * s.groups;
  int64_t rows = groupsOf(op.getB()) + groupsOf(op.getC());
  int64_t ofBlock = 4 * in.batch * in.length * in.states * rows;
  auto within = [&](int64_t blocks) {
    return std::max<int64_t>(
        1, std::min({blocks, s.tilesPerGroup,
                     kBytes / std::max<int64_t>(1, ofBlock)}));
  };
  s.blocks = within(kBlocks / sequences);
  // With several tiles to a block states have no room in the partial sums.
  bool noPlaces = s.blocks < s.tilesPerGroup || !hasPlaces(s, in);
  if (noPlaces && !givesStates(s, op)) {
    ofBlock += 4 * sequences * keptChunks(s, in.length) * s.channels * s.padded;
    s.blocks = within(s.blocks);
  }
  // Parts of equal size, none of them empty.
  s.tilesOfBlock = llvm::divideCeil(s.tilesPerGroup, s.blocks);
  s.blocks = llvm::divideCeil(s.tilesPerGroup, s.tilesOfBlock);
}

/// With so many channels to a block, and as many lanes to a channel as make
/// whole warps, or a few of them, of it.
static SelectiveGradShape withChannels(SelectiveGradShape s,
                                       const SelectiveOperands &in,
                                       int64_t channels) {
  s.channels = channels;
  while (s.lanes < 16 &&
         (s.threads() < 32 || (s.threads() < 128 && s.perLane > s.width)))
    s.split(in.states, 2 * s.lanes);
  s.channels = std::max(channels, 32 / s.lanes);
  s.count(in);
  return s;
}

static void cut(SelectiveGradShape &s, const SelectiveOperands &in,
                int64_t chunk, int64_t spans) {
  // A single chunk is no longer than it must be.
  int64_t length = llvm::PowerOf2Ceil(std::max<int64_t>(1, in.length));
  s.steps = std::max<int64_t>(1, std::min(chunk, length) / spans);
  s.spans = spans;
  groupSteps(s);
}

/// Numbers to an element of u and a state, and an estimate of what the second
/// walk over all spans but the last of a chunk takes.
static double costOf(const SelectiveGradShape &s, const SelectiveOperands &in) {
  double rows = s.tilesPerGroup > 1 ? 6.0 / s.channels : 0.0;
  double states = in.length > s.chunk() ? 2.0 / s.chunk() : 0.0;
  return rows + states + 0.04 * (s.spans - 1) / s.spans;
}

SelectiveGradShape heddle::selectiveGradShape(SelectiveScanGradOp op) {
  SelectiveOperands in = stretchesOf(op);
  bool gate = static_cast<bool>(op.getZ());
  bool resets = static_cast<bool>(op.getResetIds());
  SelectiveGradShape s{};
  s.width = in.states <= 8 ? 2 : 4;
  // At most 16 lanes: half a warp's states make room for two rows of sums.
  s.splitInto(in.states, 8, 16);
  if (s.lanes < 4)
    s.split(in.states, 4);
  // Divisions of positions by other sizes take more registers than the states.
  s.perLane = llvm::PowerOf2Ceil(s.perLane);
  s.padded = s.perLane * s.lanes;
  int64_t most = std::min<int64_t>(kChannels, llvm::PowerOf2Ceil(in.groupSize));
  SelectiveGradShape best = s;
  double least = std::numeric_limits<double>::infinity();
  for (int64_t channels = most; channels >= 1; channels /= 2) {
    SelectiveGradShape one = withChannels(s, in, channels);
    bool wide = one.tilesPerGroup == 1 ||
                std::max<int64_t>(1, in.batch) * one.tiles >= kBlocks;
    if (one.threads() > (wide ? 2 * kThreads : kThreads) && channels > 1)
      continue;
    for (int64_t chunk = 64; chunk >= 8; chunk /= 2)
      for (int64_t spans = 1; spans <= 4; spans *= 2) {
        cut(one, in, chunk, spans);
        double cost = costOf(one, in);
        // Scratch memory for few states is small, where a scan does not leave
        // them anyway.
        bool places = hasPlaces(one, in) || in.states <= one.chunk();
        bool fits = one.steps <= 8 * one.lanes && places &&
                    sharedFloats(one, gate, resets) <= kShared;
        if (best.steps == 0 || (fits && cost < least)) {
          best = one;
          least = fits ? cost : least;
        }
      }
  }
  s = best;
  countBlocks(s, in, op);
  return s;
}

SelectiveGradPlan heddle::selectiveGradPlan(SelectiveScanGradOp op) {
  SelectiveGradShape s = selectiveGradShape(op);
  SelectiveGradPlan plan = {};
  plan.parts = std::max(sharersOf(s, groupsOf(op.getB())),
                        sharersOf(s, groupsOf(op.getC())));
  // States of every chunk are N / chunk times u: too many to leave in memory
  // from a scan to its gradient where that is above 1, and where they are more
  // than the rows of b and c.
  SelectiveOperands in = stretchesOf(op);
  if (in.states <= s.chunk() || in.groupSize <= 2 * s.chunk())
    plan.chunk = s.chunk();
  // Nothing else fits into rows of 16 bits, nor are sums of tiles formed there.
  plan.inOwnType = plan.parts == 1 && s.tilesOfBlock == 1 &&
                   !op.getB().getType().getElementType().isF32();
  int64_t kept = keptChunks(s, in.length);
  bool noPlaces = s.tilesOfBlock > 1 || plan.inOwnType || !hasPlaces(s, in);
  if (noPlaces && !givesStates(s, op) && kept > 0) {
    plan.scratch[0] = in.batch * s.groups * s.blocks * kept;
    plan.scratch[1] = s.threads() * s.perLane;
  }
  return plan;
}
