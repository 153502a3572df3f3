//===- ConversionTest.cpp - conversions carried out on numbered tiles -----===//

#include "heddle/Dialect/HeddleGpu/IR/Fragments.h"
#include "heddle/Dialect/HeddleGpu/IR/LayoutConversion.h"

#include "RandomLayout.h"
#include "gtest/gtest.h"

#include <map>

using namespace heddle_gpu;

/// Registers of every thread of a warp; a value is the coordinates themselves.
using Warp = std::vector<std::vector<Coordinates>>;

static Warp load(const Layout &layout, int64_t warp) {
  Warp result(layout.numLanes());
  for (int64_t l = 0; l < layout.numLanes(); ++l)
    for (int64_t r = 0; r < layout.numRegisters(); ++r)
      result[l].push_back(layout.apply(r, l, warp));
  return result;
}

/// Carries the plan out as the hardware would.
static Warp carryOut(const Conversion &plan, const Warp &source,
                     int64_t registers) {
  Warp result(source.size(), std::vector<Coordinates>(registers));
  if (plan.kind == ConversionKind::Shuffle) {
    for (const ShuffleRound &round : plan.rounds)
      for (size_t l = 0; l < source.size(); ++l) {
        if (!(round.lanes >> l & 1))
          continue;
        int64_t from = round.sourceLane[l];
        for (int64_t i = 0; i < plan.pack; ++i)
          result[l][round.result + i] =
              source[from][round.sourceRegister[from] + i];
      }
    return result;
  }
  for (size_t l = 0; l < source.size(); ++l)
    for (int64_t r = 0; r < registers; ++r)
      result[l][r] = source[l][plan.registers[r]];
  return result;
}

TEST(Conversion, PlansBringEveryElementToItsPlace) {
  std::mt19937 rng(21);
  std::map<ConversionKind, int> seen;
  for (int i = 0; i < 1500; ++i) {
    LayoutSizes sizes = randomSizes(rng, 1 + rng() % 2);
    Layout from = randomLayout(rng, sizes), to = randomLayout(rng, sizes);
    if (rng() % 4 == 0) // registers reordered
      to = *Layout::get(
          {from.getRegister().rbegin(), from.getRegister().rend()},
          {from.getLane().begin(), from.getLane().end()},
          {from.getWarp().begin(), from.getWarp().end()}, from.getRepeat());
    if (from.shape() != to.shape())
      continue;
    static const unsigned bits[] = {1, 8, 16, 32, 64};
    Conversion plan = classifyConversion(from, to, bits[rng() % 5]);
    ++seen[plan.kind];
    EXPECT_EQ(plan.kind == ConversionKind::Identity, from == to);
    if (plan.kind == ConversionKind::Shared)
      continue;
    EXPECT_EQ(plan.sharedBytes, 0);
    for (int64_t w = 0; w < to.numWarps(); ++w)
      EXPECT_EQ(carryOut(plan, load(from, w), to.numRegisters()), load(to, w));
  }
  EXPECT_GT(seen[ConversionKind::Identity], 20);
  EXPECT_GT(seen[ConversionKind::Registers], 20);
  EXPECT_GT(seen[ConversionKind::Shuffle], 20);
  EXPECT_GT(seen[ConversionKind::Shared], 20);
}

TEST(Conversion, ReorderedRegistersAreFree) {
  Layout a = *Layout::get({{1}, {2}}, {{4}}, {{8}}, {1});
  Layout b = *Layout::get({{2}, {1}}, {{4}}, {{8}}, {1});
  Conversion plan = classifyConversion(a, b, 32);
  EXPECT_EQ(plan.kind, ConversionKind::Registers);
  EXPECT_EQ(plan.cost, 0);
  EXPECT_EQ(plan.registers, (llvm::SmallVector<int64_t>{0, 2, 1, 3}));
}

TEST(Conversion, ExchangeOfNeighboursTakesOneShufflePerRegister) {
  Layout a = *Layout::get({{0, 1}}, {{1, 0}, {2, 0}}, {}, {1, 1});
  Layout b = *Layout::get({{0, 1}}, {{2, 0}, {1, 0}}, {}, {1, 1});
  Conversion plan = classifyConversion(a, b, 32);
  EXPECT_EQ(plan.kind, ConversionKind::Shuffle);
  EXPECT_EQ(plan.shuffles, 2);
  // Two halves move in one register.
  Conversion halves = classifyConversion(a, b, 16);
  EXPECT_EQ(halves.pack, 2);
  EXPECT_EQ(halves.shuffles, 1);
  EXPECT_EQ(classifyConversion(a, b, 64).shuffles, 4);
}

TEST(Conversion, LayoutsThatSplitWarpsDifferentlyGoThroughSharedMemory) {
  Layout a = *Layout::get({{0, 1}}, {{0, 2}}, {{1, 0}}, {1, 3});
  Layout b = *Layout::get({{1, 0}}, {{0, 2}}, {{0, 1}}, {1, 3});
  Conversion plan = classifyConversion(a, b, 16);
  EXPECT_EQ(plan.kind, ConversionKind::Shared);
  EXPECT_EQ(plan.sharedBytes, 2 * 12 * 2);
  EXPECT_GT(plan.cost, 40);
}

TEST(Conversion, CopiesNeedNoMove) {
  // The target holds in two registers what every lane has.
  Layout a = *Layout::get({{1}, {2}}, {{0}}, {}, {1});
  Layout b = *Layout::get({{2}, {1}, {0}}, {{0}}, {}, {1});
  EXPECT_EQ(classifyConversion(a, b, 32).kind, ConversionKind::Registers);
  // Copies become parts: each lane drops what it does not need.
  Layout c = *Layout::get({{1}}, {{2}}, {}, {1});
  Conversion plan = classifyConversion(a, c, 32);
  EXPECT_EQ(plan.kind, ConversionKind::Shuffle);
  EXPECT_EQ(plan.shuffles, 0);
}

TEST(Conversion, AccumulatorToCoalescedStaysInTheWarpWhereRowsDo) {
  Layout c = *mmaOperand(ProductKind::Mma16, Operand::C, 64, 64, 4, 1);
  Layout rows = *blockedLayout({64, 64}, {1, 8}, {4, 8}, {4, 1}, {1, 0});
  // Warps own other rows: through shared memory.
  EXPECT_EQ(classifyConversion(c, rows, 16).kind, ConversionKind::Shared);
  Layout a = *mmaOperand(ProductKind::Mma16, Operand::A, 64, 64, 4, 1);
  EXPECT_EQ(classifyConversion(c, a, 16).kind, ConversionKind::Identity);
  // The tf32 operand has one column per lane where the accumulator has two. Few
  // registers are shuffled, many go through shared memory.
  auto toTf32 = [](int64_t n) {
    return classifyConversion(
               *mmaOperand(ProductKind::Mma16, Operand::C, 16, n, 1, 1),
               *mmaOperand(ProductKind::MmaTf32, Operand::A, 16, n, 1, 1), 32)
        .kind;
  };
  EXPECT_EQ(toTf32(8), ConversionKind::Shuffle);
  EXPECT_EQ(toTf32(128), ConversionKind::Shared);
}
