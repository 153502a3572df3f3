//===- GpuTargetTest.cpp - architectures, chips, occupancy ----------------===//

#include "heddle/Target/GpuTarget.h"

#include "gtest/gtest.h"

using namespace heddle;

namespace {

const GpuTarget &target(llvm::StringRef name) {
  const GpuTarget *found = nullptr;
  std::string error;
  EXPECT_TRUE(succeeded(GpuTarget::parse(name, found, error))) << error;
  return *found;
}

/// "8 by warps".
std::string occupancy(llvm::StringRef name, BlockResources block) {
  Occupancy o = computeOccupancy(target(name), block);
  return std::to_string(o.blocksPerSM) + " by " + limitName(o.limit).str();
}

} // namespace

TEST(GpuTarget, IsFoundByItsName) {
  EXPECT_EQ(target("sm_80").sm, 80);
  EXPECT_FALSE(target("sm_90").specific);
  EXPECT_TRUE(target("sm_90a").specific);
  EXPECT_EQ(target("sm_90a").maxSharedPerBlock, 232448);
  const GpuTarget *found = nullptr;
  std::string error;
  for (const char *bad : {"", "sm_8", "sm_75", "sm_80a", "SM_80", "cpu"}) {
    EXPECT_TRUE(failed(GpuTarget::parse(bad, found, error)));
    EXPECT_EQ(error, "expected a GPU target sm_80, sm_86, sm_89, sm_90 or "
                     "sm_90a, got '" +
                         std::string(bad) + "'");
  }
  EXPECT_EQ(found, nullptr);
}

TEST(GpuTarget, ChipsHaveTheirArchitecture) {
  const GpuChip *chip = nullptr;
  const GpuTarget *of = nullptr;
  std::string error;
  ASSERT_TRUE(succeeded(findGpuChip("h100", chip, of, error)));
  EXPECT_EQ(chip->multiprocessors, 132);
  EXPECT_EQ(of->name, "sm_90");
  ASSERT_TRUE(succeeded(findGpuChip("RTX3090", chip, of, error)));
  EXPECT_EQ(of->sm, 86);
  EXPECT_TRUE(failed(findGpuChip("V100", chip, of, error)));
  EXPECT_EQ(error,
            "expected a GPU A100, A100-80GB, RTX3090, RTX4090, L40S, H100, "
            "H100-PCIe or H200, got 'V100'");
}

TEST(GpuTarget, FiguresFitTogether) {
  for (const GpuTarget &t : GpuTarget::all()) {
    EXPECT_EQ(t.maxThreadsPerSM, 32 * t.maxWarpsPerSM) << t.name.str();
    EXPECT_EQ(t.maxSharedPerBlock + kReservedSharedBytes, t.sharedPerSM);
    EXPECT_FALSE(t.chips.empty());
    for (const GpuChip &c : t.chips) {
      EXPECT_LE(c.f32Flops, c.tf32Flops) << c.name.str();
      EXPECT_LE(c.tf32Flops, c.bf16Flops) << c.name.str();
      // An FMA of 64 or 128 lanes a cycle, below 3 GHz.
      double lanes = t.sm == 80 ? 64 : 128;
      double clock = c.f32Flops / (2 * lanes * c.multiprocessors);
      EXPECT_GT(clock, 1.2e9) << c.name.str();
      EXPECT_LT(clock, 3e9) << c.name.str();
      EXPECT_NEAR(c.clock / clock, 1, 0.09) << c.name.str();
    }
  }
}

TEST(Occupancy, IsLimitedByWhatRunsOutFirst) {
  EXPECT_EQ(occupancy("sm_80", {256, 32, 0}), "8 by warps");
  EXPECT_EQ(occupancy("sm_86", {256, 32, 0}), "6 by warps");
  EXPECT_EQ(occupancy("sm_80", {32, 32, 0}), "32 by blocks");
  EXPECT_EQ(occupancy("sm_86", {32, 32, 0}), "16 by blocks");
  EXPECT_EQ(occupancy("sm_89", {32, 32, 0}), "24 by blocks");
  EXPECT_EQ(occupancy("sm_80", {256, 128, 0}), "2 by registers");
  EXPECT_EQ(occupancy("sm_80", {128, 255, 0}), "2 by registers");
  EXPECT_EQ(occupancy("sm_80", {128, 64, 82 * 1024 - 1024}),
            "2 by shared memory");
  EXPECT_EQ(occupancy("sm_90a", {128, 168, 232448}), "1 by shared memory");
}

TEST(Occupancy, RoundsAsTheHardwareDoes) {
  // 33 registers of a warp cost 1280, not 1056.
  EXPECT_EQ(computeOccupancy(target("sm_80"), {32, 33, 0}).blocksPerSM, 32);
  EXPECT_EQ(occupancy("sm_80", {256, 33, 0}), "6 by registers");
  // Five warps on four partitions: a partition takes 7 of 72 registers.
  EXPECT_EQ(occupancy("sm_80", {160, 72, 0}), "5 by registers");
  // A byte more than half of what is there leaves room for one block.
  EXPECT_EQ(occupancy("sm_80", {64, 16, 81 * 1024 + 1}), "1 by shared memory");
  EXPECT_EQ(occupancy("sm_80", {33, 16, 0}), "32 by warps");
}

TEST(Occupancy, IsNothingForWhatCannotBeLaunched) {
  for (BlockResources bad : {BlockResources{0, 32, 0},
                             {1025, 32, 0},
                             {128, 256, 0},
                             {128, 32, 163 * 1024 + 1},
                             {1024, 72, 0},
                             {128, -1, 0},
                             {128, 32, -1}}) {
    EXPECT_EQ(computeOccupancy(target("sm_80"), bad).blocksPerSM, 0);
    EXPECT_EQ(computeOccupancy(target("sm_80"), bad).fraction, 0);
  }
  EXPECT_EQ(computeOccupancy(target("sm_80"), {1024, 64, 0}).fraction, 0.5);
}
