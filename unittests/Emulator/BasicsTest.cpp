//===- BasicsTest.cpp - threads, shuffles, barriers, counts ---------------===//

#include "KernelTest.h"

#include <fstream>
#include <numeric>
#include <sstream>

using namespace heddle;
using namespace heddle::test;

std::string heddle::test::readInput(const std::string &file) {
  std::ifstream in(std::string(TEST_INPUTS) + "/" + file);
  std::ostringstream text;
  text << in.rdbuf();
  EXPECT_FALSE(text.str().empty()) << file;
  return text.str();
}

namespace {
/// Warps and lanes take turns in another order for each seed.
class Basics : public testing::TestWithParam<uint64_t> {
protected:
  static void SetUpTestSuite() {
    module = loadText(readInput("basics.mlir")).release();
  }
  static void TearDownTestSuite() {
    delete module;
    module = nullptr;
  }
  void SetUp() override { ASSERT_NE(module, nullptr); }
  static EmulatorModule *module;
};
EmulatorModule *Basics::module = nullptr;

TEST_P(Basics, AddsVectorsWithARaggedEnd) {
  constexpr size_t n = 1000; // 7 whole blocks and 104 threads of the eighth
  std::vector<float> x = randomFloats(n, 1), y = randomFloats(n, 2), z(n);
  Launch launch("vector_add", {8}, {128});
  launch.buffer("x", x).buffer("y", y).buffer("z", z, false).i64(n);
  launch.options.seed = GetParam();
  launch.options.threads = 2;
  LaunchReport report = runClean(*module, launch);
  for (size_t i = 0; i < n; ++i)
    EXPECT_EQ(z[i], x[i] + y[i]);
  // 31 whole warps and one of 8 lanes; a warp of f32 is four sectors.
  EXPECT_EQ(report.counters.globalLoadRequests, 2u * 32);
  EXPECT_EQ(report.counters.globalLoadBytes, 2 * n * 4);
  EXPECT_EQ(report.counters.globalStoreSectors, 31u * 4 + 1);
  EXPECT_EQ(report.counters.checkedAccesses, 3 * n);
}

TEST_P(Basics, SumsABlockWithShuffles) {
  constexpr size_t blocks = 3;
  std::vector<float> x(256 * blocks), y(blocks);
  std::iota(x.begin(), x.end(), 0.0f); // sums are exact in f32
  Launch launch("block_sum", {blocks}, {256});
  launch.buffer("x", x).buffer("y", y, false);
  launch.options.seed = GetParam();
  LaunchReport report = runClean(*module, launch);
  for (size_t i = 0; i < blocks; ++i)
    EXPECT_EQ(y[i], std::accumulate(x.begin() + 256 * i,
                                    x.begin() + 256 * (i + 1), 0.0f));
  EXPECT_EQ(report.counters.shuffles, blocks * 9 * 5);
  EXPECT_EQ(report.counters.barriers, blocks * 8);
  EXPECT_EQ(report.counters.sharedStoreRequests, blocks * 8);
  EXPECT_EQ(report.counters.sharedLoadWavefronts, blocks);
}

TEST_P(Basics, TransposesWithAndWithoutBankConflicts) {
  for (auto [pitch, swizzle] : {std::pair(32, 0), {33, 0}, {32, 31}}) {
    std::vector<float> x = randomFloats(1024, 3), y(1024);
    Launch launch("transpose", {1}, {32, 8});
    launch.buffer("x", x).buffer("y", y, false).i32(pitch).i32(swizzle);
    launch.dynamicSharedBytes = 32 * pitch * 4;
    launch.options.seed = GetParam();
    LaunchReport report = runClean(*module, launch);
    for (size_t i = 0; i < 32; ++i)
      for (size_t j = 0; j < 32; ++j)
        EXPECT_EQ(y[j * 32 + i], x[i * 32 + j]);
    EXPECT_EQ(report.counters.sharedStoreBankConflicts, 0u);
    EXPECT_EQ(report.counters.sharedLoadRequests, 32u);
    // A column of pitch 32 lies in one bank; a pad of one float or a swizzle by
    // the row spreads it.
    EXPECT_EQ(report.counters.sharedLoadBankConflicts,
              pitch == 32 && !swizzle ? 32u * 31 : 0);
    EXPECT_EQ(report.counters.globalLoadSectors, 32u * 4);
    EXPECT_EQ(report.counters.globalStoreSectors, 32u * 4);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, Basics, testing::Values(0, 1, 12345));
} // namespace
