//===- MemoryTest.cpp - pointers of every kind, atomics, bad launches -----===//

#include "KernelTest.h"

#include <cstring>

using namespace heddle;
using namespace heddle::test;

namespace {
class Memory : public testing::Test {
protected:
  void SetUp() override {
    module = loadText(readInput("memory.mlir"));
    ASSERT_NE(module, nullptr);
  }
  std::string errorOf(const EmulatorLaunch &launch) {
    LaunchReport report;
    return module->launch(launch, report).message;
  }
  std::unique_ptr<EmulatorModule> module;
};

TEST_F(Memory, GenericPointersReachEverySpace) {
  std::vector<int32_t> y(64);
  Launch launch("generic", {1}, {64});
  launch.buffer("y", y, false);
  launch.dynamicSharedBytes = 256;
  LaunchReport report = runClean(*module, launch);
  const int32_t primes[] = {2, 3, 5, 7};
  for (int32_t t = 0; t < 64; ++t)
    EXPECT_EQ(y[t], 3 * (t + primes[t % 4]));
  // Local and constant memory are no accesses of the memory system.
  EXPECT_EQ(report.counters.checkedAccesses, 64u * (5 + 4));
  EXPECT_EQ(report.counters.globalStoreRequests, 2u * 3);
  // Shared memory that the launch does not have.
  launch.dynamicSharedBytes = 128;
  ASSERT_TRUE(module->launch(launch, report).ok());
  EXPECT_FALSE(findingsOf(report, kMemcheck).empty());
}

TEST_F(Memory, SharedAddressesFitIntegers) {
  std::vector<int32_t> y(32);
  Launch launch("narrow", {1}, {32});
  launch.buffer("y", y, false);
  launch.dynamicSharedBytes = 128;
  runClean(*module, launch);
  for (int32_t t = 0; t < 32; ++t)
    EXPECT_EQ(y[t], t);
}

TEST_F(Memory, AtomicsOfEveryKind) {
  std::vector<int32_t> y(8, 0);
  Launch launch("atomics", {1}, {96});
  launch.buffer("y", y);
  launch.dynamicSharedBytes = 8;
  LaunchReport report = runClean(*module, launch);
  float least;
  std::memcpy(&least, &y[3], 4);
  EXPECT_EQ(y[0], 95);
  EXPECT_EQ(y[1], 1);
  EXPECT_EQ(y[2], 1);
  EXPECT_EQ(least, -95.0f);
  EXPECT_EQ(y[4], 95 * 96 / 2);
  EXPECT_EQ(report.counters.globalAtomicRequests, 3u * 4);
  EXPECT_EQ(report.counters.sharedAtomicRequests, 3u);
}

TEST_F(Memory, WrongLaunchesSayWhatIsWrong) {
  std::vector<int32_t> y(64);
  Launch good("generic", {1}, {64});
  good.buffer("y", y);
  good.dynamicSharedBytes = 256;
  auto has = [&](const EmulatorLaunch &launch, const char *part) {
    EXPECT_NE(errorOf(launch).find(part), std::string::npos) << errorOf(launch);
  };
  Launch bad = good;
  bad.kernel = "absent";
  has(bad, "expected a kernel of the module, which has 'generic', 'narrow', "
           "'atomics', got 'absent'");
  bad = good;
  bad.block = {1025};
  has(bad, "expected a block of 1 to 1024 threads, got 1025x1x1");
  bad = good;
  bad.grid = {1, 65536};
  has(bad, "expected a grid of at most");
  bad = good;
  bad.args.clear();
  has(bad, "expected 1 arguments, got 0");
  bad = good;
  bad.dynamicSharedBytes = 256 * 1024;
  has(bad, "bytes of shared memory");
  bad = good;
  bad.buffers.push_back({y.data() + 4, 16, "z", true});
  has(bad, "buffers 'y' and 'z' overlap");
  bad = good;
  bad.buffers[0].pointer = y.data() + 1;
  has(bad, "to be aligned to 16 bytes");
  bad = good;
  bad.buffers.clear();
  has(bad, "argument 0 points into none of the 0 buffers");
}

TEST_F(Memory, ABlockMustBeWhatReqntidSays) {
  auto basics = loadText(readInput("basics.mlir"));
  ASSERT_NE(basics, nullptr);
  EXPECT_EQ(basics->staticSharedBytes(), 32);
  std::vector<float> x(64), y(64), z(64);
  Launch launch("vector_add", {1}, {64});
  launch.buffer("x", x).buffer("y", y).buffer("z", z).i64(64);
  LaunchReport report;
  EXPECT_EQ(basics->launch(launch, report).message,
            "kernel 'vector_add': expected a block of 128x1x1 threads, as its "
            "reqntid says, got 64x1x1");
}

TEST_F(Memory, GpuModulesAreEmittedAlone) {
  mlir::DialectRegistry registry;
  registerCompilerDialects(registry);
  mlir::MLIRContext context(registry);
  auto outer = mlir::parseSourceString<mlir::ModuleOp>(
      "gpu.module @a { llvm.func @k() attributes {nvvm.kernel} { llvm.return } "
      "}",
      &context);
  ASSERT_TRUE(outer);
  std::vector<uint8_t> object;
  auto gpuModule = *outer->getOps<mlir::gpu::GPUModuleOp>().begin();
  ASSERT_TRUE(succeeded(emitEmulatorObject(gpuModule, object)));
  std::unique_ptr<EmulatorModule> loaded;
  ASSERT_TRUE(EmulatorModule::load(object.data(), object.size(), loaded).ok());
  EXPECT_EQ(loaded->kernels(), std::vector<std::string>{"k"});
  // The IR is as it was.
  EXPECT_FALSE(outer->getOps<mlir::gpu::GPUModuleOp>().empty());
  LaunchReport report;
  EXPECT_TRUE(loaded->launch(Launch("k", {3}, {33}), report).ok());
  object.resize(100);
  EXPECT_FALSE(EmulatorModule::load(object.data(), object.size(), loaded).ok());
}
} // namespace
