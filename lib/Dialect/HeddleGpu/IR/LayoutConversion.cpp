//===- LayoutConversion.cpp - what it takes to change a layout ------------===//

#include "heddle/Dialect/HeddleGpu/IR/LayoutConversion.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallSet.h"
#include "llvm/Support/MathExtras.h"

using namespace heddle_gpu;
using llvm::SmallVector;

/// A barrier before and one after, with the latency of the store between them.
static constexpr int64_t kBarrierCost = 40;
static constexpr int64_t kShuffleCost = 2;

namespace {
/// Register and lane of a warp.
struct Source {
  int64_t reg;
  int64_t lane;
};

/// Where in the same warp each (result register, lane) finds its element.
class WarpSources {
public:
  WarpSources(const Layout &from, const Layout &to) : lanes(to.numLanes()) {
    // Another warp's coordinates differ from warp 0's by one xor on both sides
    // only if the warp bases agree.
    if (from.getWarp() != to.getWarp())
      return;
    std::optional<Layout> warp0 = Layout::get(
        {from.getRegister().begin(), from.getRegister().end()},
        {from.getLane().begin(), from.getLane().end()}, {}, from.getRepeat());
    for (int64_t r = 0, e = to.numRegisters(); r < e; ++r) {
      for (int64_t l = 0; l < lanes; ++l) {
        Coordinates wanted = to.apply(r, l, 0);
        if (std::optional<int64_t> own = from.registerOf(wanted, l, 0)) {
          table.push_back({*own, l});
          continue;
        }
        std::optional<Source> source = find(from, warp0, wanted);
        if (!source) {
          table.clear();
          return;
        }
        table.push_back(*source);
      }
    }
  }

  bool found() const { return !table.empty(); }
  const Source &at(int64_t reg, int64_t lane) const {
    return table[reg * lanes + lane];
  }

private:
  static std::optional<Source> find(const Layout &from,
                                    const std::optional<Layout> &warp0,
                                    const Coordinates &wanted) {
    if (warp0 && warp0->shape() == from.shape()) {
      std::optional<Position> owner = warp0->ownerOf(wanted);
      if (!owner)
        return std::nullopt;
      return Source{owner->reg, owner->lane};
    }
    for (int64_t l = 0; l < from.numLanes(); ++l)
      if (std::optional<int64_t> reg = from.registerOf(wanted, l, 0))
        return Source{*reg, l};
    return std::nullopt;
  }

  int64_t lanes;
  SmallVector<Source> table;
};
} // namespace

/// How many consecutive result registers always come from consecutive registers
/// of one lane, up to `most`.
static int64_t packing(const WarpSources &sources, const Layout &from,
                       const Layout &to, int64_t most) {
  int64_t registers = to.numRegisters();
  while (most > 1 && (registers % most || from.numRegisters() % most))
    most /= 2;
  for (; most > 1; most /= 2) {
    bool together = true;
    for (int64_t r = 0; r < registers && together; ++r)
      for (int64_t l = 0; l < to.numLanes() && together; ++l) {
        const Source &first = sources.at(r - r % most, l);
        const Source &s = sources.at(r, l);
        together = first.reg % most == 0 && s.lane == first.lane &&
                   s.reg == first.reg + r % most;
      }
    if (together)
      break;
  }
  return most;
}

/// Shuffles that bring every element to its lane: lanes join the first round in
/// which their source is free to offer the register.
static void planShuffles(const WarpSources &sources, const Layout &to,
                         Conversion &result) {
  int64_t lanes = to.numLanes();
  for (int64_t r = 0, e = to.numRegisters(); r < e; r += result.pack) {
    size_t firstRound = result.rounds.size();
    for (int64_t l = 0; l < lanes; ++l) {
      const Source &source = sources.at(r, l);
      size_t round = firstRound;
      for (; round < result.rounds.size(); ++round) {
        int64_t offered = result.rounds[round].sourceRegister[source.lane];
        if (offered == -1 || offered == source.reg)
          break;
      }
      if (round == result.rounds.size()) {
        ShuffleRound fresh;
        fresh.result = r;
        fresh.sourceLane.resize(lanes);
        for (int64_t i = 0; i < lanes; ++i)
          fresh.sourceLane[i] = i;
        fresh.sourceRegister.assign(lanes, -1);
        result.rounds.push_back(std::move(fresh));
      }
      ShuffleRound &taken = result.rounds[round];
      taken.lanes |= uint64_t(1) << l;
      taken.sourceLane[l] = source.lane;
      taken.sourceRegister[source.lane] = source.reg;
    }
  }
}

Conversion heddle_gpu::classifyConversion(const Layout &from, const Layout &to,
                                          unsigned elementBits) {
  int64_t bytes = std::max<int64_t>(1, llvm::divideCeil(elementBits, 8));
  int64_t words = llvm::divideCeil(bytes, 4);
  Conversion result;
  result.sharedBytes = bytes;
  for (int64_t side : to.shape())
    result.sharedBytes *= side;
  auto wordsOf = [&](const Layout &layout) {
    return static_cast<int64_t>(
        llvm::divideCeil(layout.numRegisters() * bytes, 4));
  };
  result.cost = wordsOf(from) + wordsOf(to) + kBarrierCost;
  if (from.shape() != to.shape() || from.numLanes() != to.numLanes() ||
      from.numWarps() != to.numWarps() || to.numLanes() > 64)
    return result;

  if (std::optional<SmallVector<int64_t>> map = from.registerMap(to)) {
    result.registers = std::move(*map);
    result.kind =
        from == to ? ConversionKind::Identity : ConversionKind::Registers;
    result.sharedBytes = result.cost = 0;
    return result;
  }

  WarpSources sources(from, to);
  if (!sources.found())
    return result;
  Conversion shuffled;
  shuffled.kind = ConversionKind::Shuffle;
  shuffled.pack = packing(sources, from, to, std::max<int64_t>(1, 4 / bytes));
  planShuffles(sources, to, shuffled);
  for (const ShuffleRound &round : shuffled.rounds) {
    bool moves = false;
    llvm::SmallSet<int64_t, 8> offered;
    for (auto [l, source] : llvm::enumerate(round.sourceLane)) {
      moves |= source != static_cast<int64_t>(l);
      if (round.sourceRegister[l] != -1)
        offered.insert(round.sourceRegister[l]);
    }
    if (moves)
      shuffled.shuffles += words;
    // Choosing among n registers, and merging rounds, takes selects.
    shuffled.cost += words * ((moves ? kShuffleCost : 0) +
                              static_cast<int64_t>(offered.size()) - 1 +
                              (llvm::popcount(round.lanes) < to.numLanes()));
  }
  return shuffled.cost <= result.cost ? shuffled : result;
}
