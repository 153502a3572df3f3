//===- VerifierTest.cpp - programs that must not run ----------------------===//

#include "TestPrograms.h"

#include "gtest/gtest.h"

#include <functional>

using namespace heddle;
using namespace heddle::test;

namespace {

/// The error after `change` on the layers function.
std::string errorAfter(const std::function<void(Function &)> &change) {
  Function f = layersFunction();
  change(f);
  return verifyFunction(f).message;
}

#define EXPECT_ERROR(change, part)                                             \
  do {                                                                         \
    std::string error = errorAfter([&](Function &f) { change; });              \
    EXPECT_NE(error.find(part), std::string::npos) << error;                   \
  } while (0)

constexpr int64_t kHuge = INT64_MAX;

} // namespace

TEST(Verifier, ImagesKeepToTheLimitsOfALaunch) {
  struct Case {
    const char *error; // empty: accepted
    void (*change)(GpuImage &);
  };
  const Case cases[] = {
      {"", [](GpuImage &) {}},
      {"",
       [](GpuImage &i) {
         i.kernels[0].grid = {0x7fffffff, 65535, 65535};
       }},
      {"",
       [](GpuImage &i) {
         i.kernels[0].grid = {0, 1, 1};
       }},
      {"",
       [](GpuImage &i) {
         i.kernels[0].block = {1024, 1, 1};
       }},
      {"2147483648 blocks along x, a grid has at most 2147483647",
       [](GpuImage &i) { i.kernels[0].grid[0] = 0x80000000u; }},
      {"65536 blocks along y, a grid has at most 65535",
       [](GpuImage &i) { i.kernels[0].grid[1] = 65536; }},
      {"65536 blocks along z",
       [](GpuImage &i) { i.kernels[1].grid[2] = 65536; }},
      {"blocks of 0 threads along x",
       [](GpuImage &i) { i.kernels[0].block[0] = 0; }},
      {"blocks of 65 threads along z, possible are 1 to 64",
       [](GpuImage &i) { i.kernels[0].block[2] = 65; }},
      {"blocks of 1056 threads, possible are 1 to 1024",
       [](GpuImage &i) {
         i.kernels[0].block = {33, 32, 1};
       }},
      {"the impossible number of -1 bytes of shared memory",
       [](GpuImage &i) { i.kernels[0].sharedBytes = -1; }},
      {"impossible figure -2",
       [](GpuImage &i) { i.kernels[0].registers = -2; }},
      {"has no symbol", [](GpuImage &i) { i.kernels[1].symbol.clear(); }},
      {"has 1 kernels, the function 2",
       [](GpuImage &i) { i.kernels.pop_back(); }},
      {"is empty", [](GpuImage &i) { i.bytes.clear(); }},
      {"the ptx image for 'sm_8' has no target like sm_80",
       [](GpuImage &i) { i.target = "sm_8"; }},
      {"no target like sm_80", [](GpuImage &i) { i.target = "gfx90a"; }},
      {"no target like sm_80", [](GpuImage &i) { i.target = "sm_80b"; }},
      {"the impossible PTX version 0", [](GpuImage &i) { i.ptxVersion = 0; }},
      {"the impossible PTX version 80",
       [](GpuImage &i) { i.kind = GpuImageKind::Emulator; }},
  };
  for (const Case &c : cases) {
    Function f = layersFunction();
    f.images = {imageFor(f, GpuImageKind::Ptx, "sm_80"),
                imageFor(f, GpuImageKind::Cubin, "sm_80"),
                imageFor(f, GpuImageKind::Ptx, "sm_90a")};
    c.change(f.images[0]);
    std::string error = verifyFunction(f).message;
    if (*c.error)
      EXPECT_NE(error.find(c.error), std::string::npos) << error;
    else
      EXPECT_EQ(error, "");
  }
}

TEST(Verifier, AnImageOfOneKindAndTargetExistsOnce) {
  Function f = layersFunction();
  f.images = {imageFor(f, GpuImageKind::Ptx, "sm_80"),
              imageFor(f, GpuImageKind::Ptx, "sm_80")};
  EXPECT_EQ(verifyFunction(f).message,
            "function 'main': the ptx image for 'sm_80' exists twice");
}

TEST(Verifier, AcceptsAWholeProgram) {
  EXPECT_EQ(errorAfter([](Function &) {}), "");
}

TEST(Verifier, KeepsBuffersInTheirSpace) {
  EXPECT_ERROR(f.commands[0].source.offset = 4,
               "function 'main': command 0: argument buffer at offset 4 of 160 "
               "bytes leaves its space of 160 bytes");
  EXPECT_ERROR(f.commands[0].source.offset = -4, "leaves its space");
  EXPECT_ERROR(f.commands[0].source.size = kHuge, "leaves its space");
  EXPECT_ERROR(f.commands[0].dest.size = -1, "leaves its space");
  EXPECT_ERROR(f.commands[0].source.offset = kHuge, "leaves its space");
  EXPECT_ERROR(f.commands[0].source.offset = INT64_MIN, "leaves its space");
  EXPECT_ERROR(f.plan.arenaBytes = 639, "arena buffer at offset 0");
}

TEST(Verifier, FollowsStridesOverAllIterations) {
  EXPECT_ERROR(f.commands[2].count = 4, "command 2.0: argument buffer");
  EXPECT_ERROR(f.commands[2].body[0].source.strides = {160},
               "with its strides");
  EXPECT_ERROR(f.commands[2].body[0].source.strides = {-161},
               "leaves its space");
  EXPECT_ERROR(f.commands[2].body[0].source.strides = {INT64_MIN},
               "leaves its space");
  EXPECT_ERROR(f.commands[2].body[0].source.strides = {kHuge},
               "leaves its space");
  EXPECT_ERROR(f.commands[2].body[0].source.strides =
                   (std::vector<int64_t>{0, 0}),
               "2 strides inside 1 repeats");
  // A body that never runs reaches nowhere.
  EXPECT_EQ(errorAfter([](Function &f) { f.commands[2].count = 0; }), "");
}

TEST(Verifier, ChecksNumbersOfKernelsAndValues) {
  EXPECT_ERROR(f.commands[2].body[1].kernel = 2, "kernel 2 does not exist");
  EXPECT_ERROR(f.commands[0].source.index = 2, "argument 2 does not exist");
  EXPECT_ERROR(f.commands[0].dest.index = 1, "result 1 does not exist");
  EXPECT_ERROR(f.commands[0].source.space = static_cast<Space>(9),
               "unknown buffer space");
  EXPECT_ERROR(f.commands[0].kind = static_cast<Command::Kind>(9),
               "unknown command kind");
}

TEST(Verifier, ChecksRights) {
  EXPECT_ERROR(f.commands[0].dest = buffer(Space::Constants, 0, 0, 8),
               "constants are written");
  EXPECT_ERROR(f.commands[0].dest = buffer(Space::Argument, 1, 0, 8),
               "argument 1 is written but not donated");
  EXPECT_ERROR(f.arguments[0].used = false, "marked as unused");
  EXPECT_ERROR(f.results[0].alias = 0, "which is not donated");
  EXPECT_ERROR(f.results[0].alias = 5, "lives in argument 5 of 2");
  EXPECT_ERROR(f.arguments[0].donated = true; f.results[0].alias = 0;
               f.results.push_back(f.results[0]),
               "two results live in argument 0");
  EXPECT_ERROR(f.arguments[0].donated = true; f.results[0].alias = 0;
               f.results[0].type.dtype = DType::F64, "does not fit");
}

TEST(Verifier, RefusesImpossibleSizes) {
  EXPECT_ERROR(f.arguments[0].type.shape = {-1}, "impossible type");
  EXPECT_ERROR(f.results[0].type.shape = (std::vector<int64_t>{kHuge, kHuge}),
               "impossible type");
  EXPECT_ERROR(f.arguments[1].type.shape =
                   (std::vector<int64_t>{1 << 30, 1 << 30, 0}),
               "impossible type");
  EXPECT_ERROR(f.arguments[0].type.shape.assign(33, 1), "impossible type");
  EXPECT_ERROR(f.plan.arenaBytes = -1, "impossible figure");
  EXPECT_ERROR(f.plan.scratchBytesPerThread = kHuge, "impossible figure");
  EXPECT_ERROR(f.plan.scratchBytesPerThread = 63, "bytes of scratch");
  EXPECT_ERROR(f.kernels[0].numBlocks = -1, "impossible number of blocks");
  EXPECT_ERROR(f.commands[2].count = -1, "repeats -1 times");
  EXPECT_ERROR(f.commands[2].count = kHuge, "more than can be meant");
}

TEST(Verifier, ChecksCopiesFillsAndArguments) {
  EXPECT_ERROR(f.commands[0].source.size = 80, "copies 160 bytes from 80");
  EXPECT_ERROR(f.commands[1].patternSize = 3, "1, 2, 4 or 8 bytes, got 3");
  EXPECT_ERROR(f.commands[1].patternSize = 8;
               f.commands[1].dest.size = 12, "with a pattern of 8");
  EXPECT_ERROR(f.commands[2].body[1].args[2].buffers.clear(),
               "a buffer argument has 0 buffers");
  EXPECT_ERROR(f.commands[2].body[1].args[0].buffers.resize(1),
               "a scalar argument has 1 buffers");
}

TEST(Verifier, ALaunchRunsTogetherWithLaunches) {
  EXPECT_ERROR(f.commands[2].body[1].together = true,
               "expected a launch before one that runs together with it");
  EXPECT_ERROR(f.commands[0].together = true,
               "expected a launch before one that runs together with it");
  EXPECT_EQ(errorAfter([](Function &f) {
              std::vector<Command> &body = f.commands[2].body;
              body.push_back(body[1]);
              body.back().together = true;
            }),
            "");
}

TEST(Verifier, LimitsNestedRepeats) {
  EXPECT_ERROR(
      {
        for (int i = 0; i < 9; ++i) {
          Command inner = repeat(1, std::move(f.commands));
          f.commands.clear();
          f.commands.push_back(std::move(inner));
        }
      },
      "nest deeper than 8");
  EXPECT_ERROR(
      {
        for (int i = 0; i < 4; ++i) {
          Command inner = repeat(1 << 20, {});
          inner.body = std::move(f.commands);
          f.commands.clear();
          f.commands.push_back(std::move(inner));
        }
      },
      "more than can be meant");
}
