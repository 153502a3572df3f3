//===- SanitizerTest.cpp - planted faults are found, right code is silent -===//

#include "KernelTest.h"

using namespace heddle;
using namespace heddle::test;
using testing::Test;

namespace {
class Sanitizers : public testing::TestWithParam<uint64_t> {
protected:
  static void SetUpTestSuite() {
    basics = loadText(readInput("basics.mlir")).release();
    faults = loadText(readInput("faults.mlir")).release();
  }
  static void TearDownTestSuite() {
    delete basics;
    delete faults;
    basics = faults = nullptr;
  }
  void SetUp() override { ASSERT_TRUE(basics && faults); }

  /// Runs with all sanitizers, with all but `expected` (which must be silent),
  /// and returns what `expected` found.
  std::string find(const EmulatorModule &module, EmulatorLaunch launch,
                   EmulatorSanitizer expected) {
    launch.options.seed = GetParam();
    LaunchReport report;
    Status s = module.launch(launch, report);
    EXPECT_TRUE(s.ok()) << s.message;
    std::string found = findingsOf(report, expected);
    launch.options.sanitizers = kAllSanitizers & ~expected;
    s = module.launch(launch, report);
    EXPECT_TRUE(s.ok()) << s.message;
    EXPECT_EQ(findingsOf(report, expected), "");
    return found;
  }
  static EmulatorModule *basics, *faults;
};
EmulatorModule *Sanitizers::basics = nullptr;
EmulatorModule *Sanitizers::faults = nullptr;

#define EXPECT_HAS(text, part)                                                 \
  EXPECT_NE((text).find(part), std::string::npos) << "in: " << (text)

Launch neighbour(int32_t n, int32_t flags, std::vector<float> &x,
                 std::vector<float> &y) {
  x.assign(static_cast<size_t>(n), 1.0f);
  y.assign(static_cast<size_t>(n), 0.0f);
  Launch launch("neighbour", {1}, {n});
  launch.buffer("x", x).buffer("y", y, false).i32(n).i32(flags);
  launch.dynamicSharedBytes = n * 4;
  return launch;
}

//===----------------------------------------------------------------------===//
// memcheck
//===----------------------------------------------------------------------===//

TEST_P(Sanitizers, MemcheckFindsTheEndOfABuffer) {
  // One allocation: what follows x is memory of the next buffer.
  std::vector<float> memory(2048 + 1024, 1.0f), z(1024);
  Launch launch("vector_add", {8}, {128});
  launch.buffers = {{memory.data(), 1000 * 4, "x", true},
                    {memory.data() + 1000, 1024 * 4, "y", true},
                    {z.data(), 1024 * 4, "z", false}};
  for (const EmulatorBuffer &b : launch.buffers)
    launch.args.push_back(EmulatorArgument::pointer(b.pointer));
  launch.i64(1024);
  launch.options.seed = GetParam();
  LaunchReport report;
  ASSERT_TRUE(basics->launch(launch, report).ok());
  ASSERT_EQ(report.findings.size(), 1u) << report.text();
  const EmulatorFinding &f = report.findings[0];
  EXPECT_EQ(f.sanitizer, kMemcheck);
  EXPECT_EQ(f.kernel, "vector_add");
  EXPECT_EQ(f.op, "llvm.load");
  EXPECT_EQ(f.location, "kernel.mlir:21:9");
  EXPECT_EQ(f.buffer, "x");
  EXPECT_EQ(f.block[0], 7);
  EXPECT_EQ(f.occurrences, 24);
  EXPECT_HAS(f.text(), "read of 4 bytes out of bounds");
  EXPECT_HAS(f.text(), "of buffer 'x', which has 4000 bytes");
  launch.args.back() = EmulatorArgument::i64(1000);
  runClean(*basics, launch);
}

TEST_P(Sanitizers, MemcheckFindsTheEndOfSharedMemory) {
  std::vector<float> x(1024, 1.0f), y(1024);
  Launch launch("transpose", {1}, {32, 8});
  launch.buffer("x", x).buffer("y", y, false).i32(32).i32(0);
  launch.dynamicSharedBytes = 4096 - 4;
  std::string found = find(*basics, launch, kMemcheck);
  EXPECT_HAS(found, "write of 4 bytes out of bounds: shared offset");
  // The other half of the module's window is static memory of 32 bytes.
  EXPECT_HAS(found, "shared offset 4124 of 4124 bytes");
  launch.dynamicSharedBytes = 4096;
  runClean(*basics, launch);
}

TEST_P(Sanitizers, MemcheckFindsMisalignedVectors) {
  std::vector<float> x(8, 1.0f), y(4);
  Launch launch("wide", {1}, {1});
  launch.buffer("x", x).buffer("y", y, false).i64(1);
  EXPECT_HAS(find(*faults, launch, kMemcheck), "is not aligned to 16");
  launch.args.back() = EmulatorArgument::i64(4);
  runClean(*faults, launch);
}

//===----------------------------------------------------------------------===//
// initcheck
//===----------------------------------------------------------------------===//

TEST_P(Sanitizers, InitcheckFindsUnwrittenGlobalBytes) {
  std::vector<float> x(128, 1.0f), y(128), z(128);
  for (bool initialised : {false, true}) {
    Launch launch("vector_add", {1}, {128});
    launch.buffer("x", x).buffer("y", y, initialised).buffer("z", z, false);
    launch.i64(128);
    if (initialised) {
      runClean(*basics, launch);
      continue;
    }
    std::string found = find(*basics, launch, kInitcheck);
    EXPECT_HAS(found, "of buffer 'y' that nothing has written");
    EXPECT_HAS(found, "128 times");
  }
}

TEST_P(Sanitizers, InitcheckFindsUnwrittenSharedBytes) {
  std::vector<float> x, y;
  EXPECT_HAS(find(*faults, neighbour(64, 2 | 8, x, y), kInitcheck),
             "read of 4 bytes at shared offset");
  runClean(*faults, neighbour(64, 1 | 2 | 8, x, y));
}

//===----------------------------------------------------------------------===//
// racecheck
//===----------------------------------------------------------------------===//

TEST_P(Sanitizers, RacecheckFindsAMissingBarrier) {
  std::vector<float> x, y;
  std::string found = find(*faults, neighbour(64, 1 | 8, x, y), kRacecheck);
  EXPECT_HAS(found, "race of a");
  EXPECT_HAS(found, "first write");
  EXPECT_HAS(found, "shared offset");
  runClean(*faults, neighbour(64, 1 | 2 | 8, x, y));
}

TEST_P(Sanitizers, RacecheckFindsAWriteAfterARead) {
  std::vector<float> x, y;
  std::string found = find(*faults, neighbour(64, 1 | 2, x, y), kRacecheck);
  EXPECT_HAS(found, "last write");
}

TEST_P(Sanitizers, WarpBarriersOrderTheirWarpOnly) {
  std::vector<float> x, y;
  runClean(*faults, neighbour(32, 1 | 4 | 8, x, y));
  std::string found = find(*faults, neighbour(64, 1 | 4 | 8, x, y), kRacecheck);
  EXPECT_HAS(found, "race of a");
}

TEST_P(Sanitizers, ShufflesOrderMemoryUnlessPtxIsTakenByTheLetter) {
  std::vector<float> x, y;
  Launch launch = neighbour(32, 1 | 16 | 8, x, y);
  runClean(*faults, launch);
  launch.options.collectivesOrderMemory = false;
  EXPECT_HAS(find(*faults, launch, kRacecheck), "race of a");
}

TEST_P(Sanitizers, RacecheckFollowsGlobalMemoryOfABlock) {
  std::vector<int32_t> y(64), z(64);
  for (int barrier : {0, 1}) {
    Launch launch("global_neighbour", {1}, {64});
    launch.buffer("y", y, false).buffer("z", z, false).i32(64).i32(barrier);
    if (barrier) {
      runClean(*faults, launch);
      continue;
    }
    std::string found = find(*faults, launch, kRacecheck);
    EXPECT_HAS(found, "at buffer 'y' offset");
  }
  for (int32_t i = 0; i < 64; ++i)
    EXPECT_EQ(z[i], (i + 1) % 64);
}

TEST_P(Sanitizers, NeighboursMayShareAWord) {
  std::vector<uint16_t> y(64);
  Launch launch("halves", {1}, {64});
  launch.buffer("y", y, false);
  launch.dynamicSharedBytes = 128;
  launch.options.seed = GetParam();
  runClean(*faults, launch);
  for (uint16_t i = 0; i < 64; ++i)
    EXPECT_EQ(y[i], i);
}

TEST_P(Sanitizers, RacesOfBytesAreExact) {
  std::vector<uint8_t> y(64);
  for (int global : {0, 1}) {
    Launch launch("bytes", {1}, {64});
    launch.buffer("y", y, false).i32(0).i32(global);
    launch.dynamicSharedBytes = 64;
    launch.options.seed = GetParam();
    runClean(*faults, launch);
    // 16 threads to a byte: the byte itself is named.
    launch.args[1] = EmulatorArgument::i32(4);
    LaunchReport report;
    launch.options.sanitizers = kRacecheck;
    ASSERT_TRUE(faults->launch(launch, report).ok());
    std::string found = findingsOf(report, kRacecheck);
    EXPECT_HAS(found, global ? "global byte" : "shared byte");
    for (const EmulatorFinding &f : report.findings)
      EXPECT_EQ(f.offset, f.thread[0] / 16);
  }
}

TEST_P(Sanitizers, AtomicsDoNotRaceWithEachOther) {
  std::vector<float> y(4, 0.0f), z(4);
  Launch launch("sum", {1}, {96});
  launch.buffer("y", y).buffer("z", z, false).i32(1);
  launch.options.seed = GetParam();
  LaunchReport report = runClean(*faults, launch);
  EXPECT_EQ(z[0], 96.0f);
  EXPECT_EQ(report.counters.globalAtomicRequests, 3u);
  EXPECT_EQ(report.counters.globalAtomicSectors, 3u);
  launch.args.back() = EmulatorArgument::i32(0);
  EXPECT_HAS(find(*faults, launch, kRacecheck), "llvm.atomicrmw");
}

TEST_P(Sanitizers, AtomicsOfBlocksOnSeveralThreadsAllCount) {
  std::vector<float> y(4, 0.0f), z(256);
  Launch launch("sum", {256}, {64});
  launch.buffer("y", y).buffer("z", z).i32(1);
  launch.options.threads = 4;
  runClean(*faults, launch);
  EXPECT_EQ(y[0], 256.0f * 64);
}

TEST_P(Sanitizers, RacecheckFindsReadsOfCopiesInFlight) {
  std::vector<float> x = randomFloats(64 * 4, 1), y(64 * 4);
  auto copy = [&](int32_t flags, int32_t bytes = 16) {
    Launch launch("copy", {1}, {64});
    launch.buffer("x", x).buffer("y", y, false).i32(64).i32(flags).i32(bytes);
    launch.dynamicSharedBytes = 64 * 16;
    return launch;
  };
  runClean(*faults, copy(1)); // own bytes after the wait
  EXPECT_EQ(y, x);
  runClean(*faults, copy(1, 4)); // 4 bytes and 12 of zeros
  EXPECT_EQ(y[4], x[4]);
  EXPECT_EQ(y[5], 0.0f);
  runClean(*faults, copy(1, 0));
  EXPECT_EQ(y, std::vector<float>(y.size(), 0.0f));
  runClean(*faults, copy(1 | 2)); // another thread's after a barrier too
  EXPECT_EQ(y[0], x[4]);

  std::string found = find(*faults, copy(0), kRacecheck);
  EXPECT_HAS(found, "while the asynchronous copy of thread");
  // What has not landed is no number.
  EXPECT_NE(y[0], y[0]);
  found = find(*faults, copy(1 | 4), kRacecheck);
  EXPECT_HAS(found, "nvvm.cp.async.shared.global");
  found = find(*faults, copy(1 | 8), kRacecheck);
  EXPECT_HAS(found, "reads it; wait for the copy first");
}

//===----------------------------------------------------------------------===//
// synccheck
//===----------------------------------------------------------------------===//

/// What a launch that cannot end says, and synccheck's findings.
std::string stuck(const EmulatorModule &module, const EmulatorLaunch &launch) {
  LaunchReport report;
  Status s = module.launch(launch, report);
  EXPECT_FALSE(s.ok());
  EXPECT_FALSE(findingsOf(report, kSynccheck).empty());
  return s.message;
}

TEST_P(Sanitizers, DeadlocksNameTheThreadsThatWait) {
  Launch launch("diverge", {1}, {64});
  launch.i32(8).i32(0);
  launch.options.seed = GetParam();
  std::string message = stuck(*faults, launch);
  EXPECT_HAS(message, "kernel 'diverge' cannot go on in block (0,0,0)");
  EXPECT_HAS(message,
             "warp 0 lanes 0xff wait at nvvm.barrier0 at main barrier");
  EXPECT_HAS(message, "warp 0 lanes 0xffffff00 wait at nvvm.shfl.sync");
  EXPECT_HAS(message, "32 threads have ended");
  // Also where synccheck is off.
  launch.options.sanitizers = kNoSanitizers;
  LaunchReport report;
  EXPECT_FALSE(faults->launch(launch, report).ok());
  EXPECT_TRUE(report.clean());
}

TEST_P(Sanitizers, SynccheckFindsDivergentBarriers) {
  Launch launch("diverge", {1}, {64});
  launch.i32(8).i32(1);
  std::string found = find(*faults, launch, kSynccheck);
  EXPECT_HAS(found, "divergent barrier");
  // Whole warps may meet from different places.
  launch.args[0] = EmulatorArgument::i32(32);
  runClean(*faults, launch);
  launch.args[1] = EmulatorArgument::i32(3);
  runClean(*faults, launch);
}

TEST_P(Sanitizers, SynccheckFindsThreadsThatEndedBeforeABarrier) {
  Launch launch("diverge", {1}, {64});
  launch.i32(40).i32(2);
  EXPECT_HAS(find(*faults, launch, kSynccheck),
             "24 threads of the block have ended before this barrier");
}

TEST_P(Sanitizers, SynccheckFindsMismatchedMasks) {
  Launch launch("masks", {1}, {32});
  launch.i32(0xffff).i32(static_cast<int32_t>(0xffff0000));
  launch.options.seed = GetParam();
  runClean(*faults, launch); // each half for itself
  launch.args[0] = EmulatorArgument::i32(-1);
  std::string message = stuck(*faults, launch);
  EXPECT_HAS(message, "wait at nvvm.vote.sync");
  LaunchReport report;
  launch.args[0] = EmulatorArgument::i32(0xfffe); // lane 0 left out of its own
  launch.args[1] = EmulatorArgument::i32(static_cast<int32_t>(0xffff0000));
  (void)faults->launch(launch, report);
  EXPECT_HAS(findingsOf(report, kSynccheck), "lane 0 is not in its own mask");
}

TEST_P(Sanitizers, NamedBarriersOrderWhoArrivesAndWhoWaits) {
  std::vector<int32_t> y(32);
  Launch launch("producer", {1}, {64});
  launch.buffer("y", y, false).i32(64);
  launch.dynamicSharedBytes = 128;
  launch.options.seed = GetParam();
  LaunchReport report = runClean(*faults, launch);
  for (int32_t i = 0; i < 32; ++i)
    EXPECT_EQ(y[i], i);
  EXPECT_EQ(report.counters.barriers, 2u);
  launch.args.back() = EmulatorArgument::i32(96);
  EXPECT_HAS(stuck(*faults, launch), "(barrier 1)");
}

TEST_P(Sanitizers, NamesOfSanitizers) {
  uint32_t set = 0;
  EXPECT_TRUE(parseSanitizers("all", set).ok());
  EXPECT_EQ(set, static_cast<uint32_t>(kAllSanitizers));
  EXPECT_TRUE(parseSanitizers("none", set).ok());
  EXPECT_EQ(set, static_cast<uint32_t>(kNoSanitizers));
  EXPECT_TRUE(parseSanitizers("racecheck,memcheck", set).ok());
  EXPECT_EQ(set, static_cast<uint32_t>(kMemcheck | kRacecheck));
  EXPECT_HAS(parseSanitizers("asan", set).message, "got 'asan'");
  // All and none stand alone.
  EXPECT_HAS(parseSanitizers("all,none", set).message, "got 'all'");
  EXPECT_HAS(parseSanitizers("memcheck,none", set).message, "got 'none'");
}

INSTANTIATE_TEST_SUITE_P(Seeds, Sanitizers, testing::Values(0, 1, 12345));
} // namespace
