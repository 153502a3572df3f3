//===- AttentionTiles.cpp - tile configurations of attention --------------===//

#include "heddle/Codegen/GPU/AttentionTiles.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cmath>

using namespace heddle;

/// Registers of the query with the larger accumulator, and with both: more is
/// read from shared memory each time (EmitProducts.cpp). 128 queries and keys of
/// head dimension 128 by 8 warps just fit.
static constexpr int64_t kHeldWithOne = 120, kHeldWithTwo = 160;

std::string AttentionTiles::name() const {
  return "q" + std::to_string(queries) + "_k" + std::to_string(keys) + "_w" +
         std::to_string(warps) + "_s" + std::to_string(stages);
}

llvm::LogicalResult AttentionTiles::parse(llvm::StringRef name,
                                          AttentionTiles &tiles,
                                          std::string &error) {
  llvm::SmallVector<llvm::StringRef> parts;
  name.split(parts, '_');
  bool read = parts.size() == 4;
  int64_t *values[] = {&tiles.queries, &tiles.keys, &tiles.warps,
                       &tiles.stages};
  for (size_t i = 0; read && i < 4; ++i)
    read = parts[i].consume_front(llvm::StringRef("qkws").substr(i, 1)) &&
           !parts[i].getAsInteger(10, *values[i]);
  if (!read) {
    error = "expected a tile as q128_k64_w8_s1 (queries, keys, warps, stages), "
            "got '" +
            name.str() + "'";
    return llvm::failure();
  }
  auto isSide = [](int64_t n) { return n >= 16 && n % 16 == 0; };
  if (tiles.warps < 1 || tiles.warps > 16 ||
      !llvm::isPowerOf2_64(tiles.warps) || !isSide(tiles.queries) ||
      !isSide(tiles.keys) || tiles.stages < 0 || tiles.stages > 8) {
    error = "expected multiples of 16 queries and of 16 keys, 1, 2, 4, 8 or 16 "
            "warps and 0 to 8 stages, got '" +
            name.str() + "'";
    return llvm::failure();
  }
  return llvm::success();
}

//===----------------------------------------------------------------------===//
// Needs
//===----------------------------------------------------------------------===//

static int64_t padded(int64_t headDim) { return llvm::alignTo(headDim, 16); }

/// Registers of a thread for the tiles of a product: scores, output, query.
static int64_t scoreRegisters(const AttentionTiles &t) {
  return t.queries * t.keys / (32 * t.warps);
}
static int64_t outputRegisters(const AttentionTiles &t,
                               const AttentionProblem &p) {
  return t.queries * padded(p.valueDim) / (32 * t.warps);
}
static int64_t queryRegisters(const AttentionTiles &t,
                              const AttentionProblem &p) {
  return t.queries * padded(p.queryDim) * p.elementBytes() / (128 * t.warps);
}

/// Whether the query stays in registers, as convert-tile-to-gpu decides.
static bool holdsQuery(const AttentionTiles &t, const AttentionProblem &p) {
  int64_t own = queryRegisters(t, p), scores = scoreRegisters(t);
  int64_t output = outputRegisters(t, p);
  return p.kind != AttentionProducts::Fma &&
         own + std::max(scores, output) <= kHeldWithOne &&
         own + scores + output <= kHeldWithTwo;
}

/// Keys and values of all stages, the query where it is read again, weights
/// where multiply-adds take them from there. Before and after the loop the same
/// bytes hold the query and, of 16-bit elements, the output.
static int64_t sharedBytes(const AttentionTiles &t, const AttentionProblem &p) {
  int64_t bytes = p.elementBytes();
  int64_t query = t.queries * padded(p.queryDim) * bytes;
  int64_t keys = t.keys * padded(p.queryDim) * bytes;
  int64_t values = t.keys * padded(p.valueDim) * bytes;
  int64_t weights =
      p.kind == AttentionProducts::Fma ? t.queries * t.keys * bytes : 0;
  int64_t inLoop = t.stages == 0 ? std::max(keys, values + weights)
                                 : t.stages * (keys + values) + weights;
  if (!holdsQuery(t, p))
    inLoop += query;
  int64_t outside = query;
  if (p.kind == AttentionProducts::Half)
    outside = std::max(outside, t.queries * padded(p.valueDim) * bytes);
  return std::max(inLoop, outside);
}

/// The tiles of a thread and what ptxas needed beside them at most: addresses,
/// statistics of rows, fragments on their way, a query that is read again,
/// masks (CUDA 13.0, sm_80 and sm_90, 2026-11-30).
static int registers(const AttentionTiles &t, const AttentionProblem &p) {
  int64_t scores = scoreRegisters(t), output = outputRegisters(t, p);
  if (p.kind == AttentionProducts::Fma)
    return static_cast<int>(scores + output + output / 4 + 72);
  int64_t query = queryRegisters(t, p);
  if (!holdsQuery(t, p))
    query = std::min<int64_t>(query, 32) + scores / 2;
  bool isTf32 = p.kind == AttentionProducts::Tf32;
  int64_t beside = 56;
  if (isTf32)
    beside = 80;
  else if (p.keyLength % t.keys != 0 || p.masksByOperands)
    beside = 64;
  // The loop over tiles at the edge of a mask needs more than the one over full
  // tiles.
  if (p.visible < 1 && holdsQuery(t, p))
    beside += isTf32 ? 24 : 8;
  if (p.masksByBands && p.kind == AttentionProducts::Half)
    beside += std::max<int64_t>(24, scores / 2);
  return static_cast<int>(scores + output + query + beside);
}

/// Beside the scores of many keys ptxas lets loads run ahead into registers that it
/// does not need; told the figure above, and a few more next to wide outputs, it
/// takes fewer, without spills and at the same number of instructions (CUDA 13.0,
/// sm_80 and sm_90, 2026-11-30).
static int registerLimit(const AttentionTiles &t, const AttentionProblem &p) {
  if (p.kind != AttentionProducts::Half || p.masksByOperands ||
      p.masksByBands || p.keyLength % t.keys != 0 || !holdsQuery(t, p) ||
      scoreRegisters(t) < 64)
    return 0;
  int64_t more = outputRegisters(t, p) > 32 ? 16 : 0;
  return static_cast<int>(llvm::alignTo(registers(t, p) + more, 8));
}

//===----------------------------------------------------------------------===//
// Time
//===----------------------------------------------------------------------===//

namespace {
/// Rates of one multiprocessor per clock.
struct Rates {
  double clock;       // 1/s
  double matrixFlops; // by mma.sync
  double issue = 4;   // warp instructions
  double exponentials = 16;
};
} // namespace

static Rates ratesOf(const GpuTarget &target, const GpuChip &chip,
                     AttentionProducts kind) {
  Rates r;
  r.clock = chip.clock;
  r.matrixFlops = (kind == AttentionProducts::Half   ? chip.bf16Flops
                   : kind == AttentionProducts::Tf32 ? chip.tf32Flops
                                                     : chip.f32Flops) /
                  (chip.multiprocessors * r.clock);
  // mma.sync feeds two thirds of Hopper's matrix units (Luo et al.,
  // arXiv:2402.13499, table of mma and wgmma throughput).
  if (target.sm >= 90 && kind != AttentionProducts::Fma)
    r.matrixFlops *= 2.0 / 3;
  return r;
}

AttentionCost heddle::costOf(const AttentionTiles &t, const AttentionProblem &p,
                             const GpuTarget &target) {
  const GpuChip &chip = target.chips.front();
  AttentionCost cost;
  cost.tiles = t;
  cost.sharedBytes = sharedBytes(t, p);
  cost.registers = registers(t, p);
  cost.registerLimit = registerLimit(t, p);
  cost.occupancy = computeOccupancy(
      target, {static_cast<int>(32 * t.warps),
               std::min(cost.registers, target.maxRegistersPerThread),
               cost.sharedBytes});
  int64_t queryTiles = llvm::divideCeil(p.queryLength, t.queries);
  cost.blocks = p.batch * p.heads * queryTiles;
  if (cost.registers > target.maxRegistersPerThread)
    cost.occupancy.blocksPerSM = 0;
  if (cost.occupancy.blocksPerSM == 0)
    return cost;

  Rates rates = ratesOf(target, chip, p.kind);
  double atOnce = double(cost.occupancy.blocksPerSM) * chip.multiprocessors;
  cost.waves = cost.blocks / atOnce;

  // A round of a warp: its rows by the tile's keys.
  double rows = double(t.queries) / t.warps;
  double pairs = rows * t.keys / 32; // of a thread
  double dq = padded(p.queryDim), dv = padded(p.valueDim);
  // Beside products: 3.5 instructions to a score (maximum, FMA, exponential,
  // half a conversion; of f32 a sum in its place), the rescaled output,
  // fragments of keys and values (four 8x8 matrices at once, for all rows),
  // copies, and what a round costs.
  double fragments = t.keys * (dq + dv) * p.elementBytes() / 512;
  double copies = t.keys * (dq + dv) * p.elementBytes() / (512 * t.warps);
  double instructions =
      3.5 * pairs + rows * dv / 32 + fragments + 3 * copies + rows + 24;
  double issue = instructions / rates.issue;
  double exponentials = pairs * 32 / rates.exponentials;
  double flops = 2 * rows * t.keys * (dq + dv);
  double matrix = flops / rates.matrixFlops;
  // Other warps hide half of what does not use the matrix units, and all of
  // what latency a round has but one warp's share.
  double round = matrix + 0.5 * issue + 0.25 * exponentials +
                 300.0 / cost.occupancy.warpsPerSM;
  // Tiles at the edge of a mask are visited whole.
  double visited =
      std::min(1.0, p.visible + (p.visible < 1 ? 0.5 * (t.queries + t.keys) /
                                                     double(p.keyLength)
                                               : 0.0));
  double rounds =
      std::max(1.0, visited * std::ceil(double(p.keyLength) / t.keys));
  double ends = 2000 + rows * (dq + dv) / 32 * 4; // clocks of a block
  double block = rounds * t.warps * round + ends;
  // The last wave is as long as the others however few blocks it has.
  double computing =
      std::ceil(cost.waves) * cost.occupancy.blocksPerSM * block / rates.clock;
  if (cost.waves < 1)
    computing = std::ceil(double(cost.blocks) / chip.multiprocessors) * block /
                rates.clock;

  double once = p.elementBytes() * p.batch *
                (p.heads * p.queryLength * (p.queryDim + p.valueDim) +
                 double(p.keyHeads) * p.keyLength * (p.queryDim + p.valueDim));
  cost.seconds = std::max(computing, once / chip.bytesPerSecond);
  return cost;
}

llvm::LogicalResult heddle::checkFit(const AttentionCost &cost,
                                     const AttentionProblem &problem,
                                     const GpuTarget &target,
                                     std::string &error) {
  auto says = [&](const llvm::Twine &what, int64_t need, int64_t limit) {
    error = ("expected a tile whose " + what + " fit " + target.name +
             ", which has " + llvm::Twine(limit) + ", got " +
             cost.tiles.name() + ", which needs " + llvm::Twine(need))
                .str();
    return llvm::failure();
  };
  bool fma = problem.kind == AttentionProducts::Fma;
  int64_t rows = (fma ? 4 : 16) * cost.tiles.warps;
  if (cost.tiles.queries % rows != 0) {
    error = "expected a tile with a multiple of " + std::to_string(rows) +
            " queries for its warps, got " + cost.tiles.name();
    return llvm::failure();
  }
  if (cost.sharedBytes > target.maxSharedPerBlock)
    return says("bytes of shared memory", cost.sharedBytes,
                target.maxSharedPerBlock);
  if (cost.registers > target.maxRegistersPerThread)
    return says("registers of a thread", cost.registers,
                target.maxRegistersPerThread);
  int64_t all = llvm::alignTo(cost.registers, 8) * 32 * cost.tiles.warps;
  if (cost.occupancy.blocksPerSM == 0)
    return says("registers of a block", all, target.registersPerSM);
  return llvm::success();
}

static llvm::ArrayRef<AttentionTiles> candidates(AttentionProducts kind) {
  static constexpr AttentionTiles kHalf[] = {
      {128, 128, 8, 1}, {128, 64, 8, 1}, {128, 64, 8, 2}, {128, 128, 8, 2},
      {64, 128, 4, 1},  {64, 64, 4, 1},  {64, 64, 4, 2},  {64, 32, 4, 1},
      {64, 32, 4, 2},   {64, 16, 4, 2},  {64, 16, 4, 1}};
  static constexpr AttentionTiles kTf32[] = {
      {64, 64, 4, 2}, {64, 64, 4, 1}, {64, 32, 4, 2}, {64, 32, 4, 1},
      {64, 16, 4, 2}, {64, 16, 4, 1}, {64, 16, 4, 0}};
  // Square pieces in each thread.
  static constexpr AttentionTiles kFma[] = {
      {128, 32, 4, 0}, {128, 32, 4, 1}, {64, 32, 4, 0}, {64, 32, 4, 1},
      {64, 16, 4, 0},  {32, 32, 4, 0},  {32, 16, 4, 0}};
  switch (kind) {
  case AttentionProducts::Half:
    return kHalf;
  case AttentionProducts::Tf32:
    return kTf32;
  case AttentionProducts::Fma:
    return kFma;
  }
  return {};
}

llvm::SmallVector<AttentionCost>
heddle::listAttentionTiles(const AttentionProblem &problem,
                           const GpuTarget &target) {
  llvm::SmallVector<AttentionCost> fitting;
  int64_t widest = std::max(problem.queryDim, problem.valueDim);
  for (const AttentionTiles &tiles : candidates(problem.kind)) {
    // Few keys are for wide heads, whose output takes the registers.
    int64_t size = tiles.keys * std::clamp<int64_t>(widest, 64, 256);
    if (problem.kind == AttentionProducts::Half &&
        (size < 3072 || (widest > 128 && size > 6144) ||
         (widest <= 128 && tiles.keys < 32)))
      continue;
    // Scores of 128 keys leave no registers for the mask of a ragged last tile.
    if (problem.kind == AttentionProducts::Half && tiles.keys >= 128 &&
        problem.keyLength % tiles.keys != 0)
      continue;
    if (problem.kind == AttentionProducts::Tf32 && size > 4096)
      continue;
    AttentionCost cost = costOf(tiles, problem, target);
    std::string error;
    if (failed(checkFit(cost, problem, target, error)))
      continue;
    fitting.insert(
        llvm::upper_bound(fitting, cost,
                          [](const AttentionCost &a, const AttentionCost &b) {
                            return a.seconds < b.seconds;
                          }),
        cost);
  }
  return fitting;
}
