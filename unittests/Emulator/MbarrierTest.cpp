//===- MbarrierTest.cpp - asynchronous copies that complete on mbarriers --===//

#include "KernelTest.h"

using namespace heddle;
using namespace heddle::test;

namespace {
class Mbarriers : public testing::TestWithParam<uint64_t> {
protected:
  void SetUp() override {
    module = loadText(readInput("mbarrier.mlir"));
    ASSERT_NE(module, nullptr);
  }
  Launch tracked(int32_t expected, int32_t wait) {
    x = randomFloats(64 * 4, 1);
    y.assign(64 * 4, 0.0f);
    Launch launch("tracked", {1}, {64});
    launch.buffer("x", x).buffer("y", y, false).i32(64).i32(expected).i32(wait);
    launch.dynamicSharedBytes = 128 + 64 * 16;
    launch.options.seed = GetParam();
    return launch;
  }
  std::unique_ptr<EmulatorModule> module;
  std::vector<float> x, y;
};

TEST_P(Mbarriers, CopiesLandBeforeThePhaseCompletes) {
  runClean(*module, tracked(64, 1));
  for (size_t t = 0; t < 64; ++t)
    for (size_t i = 0; i < 4; ++i)
      EXPECT_EQ(y[t * 4 + i], x[(63 - t) * 4 + i]);
}

TEST_P(Mbarriers, WithoutAWaitTheBytesAreInFlight) {
  LaunchReport report;
  ASSERT_TRUE(module->launch(tracked(64, 0), report).ok());
  EXPECT_NE(findingsOf(report, kRacecheck).find("asynchronous copy"),
            std::string::npos)
      << report.text();
}

TEST_P(Mbarriers, TooFewArrivalsAreADeadlock) {
  LaunchReport report;
  Status s = module->launch(tracked(65, 1), report);
  EXPECT_NE(s.message.find("nvvm.mbarrier.try_wait.parity"), std::string::npos)
      << s.message;
  EXPECT_NE(s.message.find("(shared offset 0)"), std::string::npos);
}

TEST_P(Mbarriers, BulkCopiesCompleteByTheirBytes) {
  x = randomFloats(128, 2);
  y.assign(64, 0.0f);
  Launch launch("bulk", {1}, {64});
  launch.buffer("x", x).buffer("y", y, false).i32(256);
  launch.dynamicSharedBytes = 128 + 256;
  launch.options.seed = GetParam();
  runClean(*module, launch);
  for (size_t t = 0; t < 64; ++t)
    EXPECT_EQ(y[t], 0.0f + x[t] + x[64 + t]);
  // More bytes than come: the phase never completes, though everybody polls.
  launch.args.back() = EmulatorArgument::i32(512);
  LaunchReport report;
  EXPECT_NE(module->launch(launch, report).message.find("cannot go on"),
            std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Seeds, Mbarriers, testing::Values(0, 1, 12345));
} // namespace
