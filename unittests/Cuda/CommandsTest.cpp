//===- CommandsTest.cpp - command lists on a CUDA device ------------------===//

#include "CudaTestSupport.h"

#include <cmath>
#include <thread>

using namespace heddle;
using namespace heddle::test;

namespace {

using Strings = std::vector<std::string>;

/// A function on 64 bytes of argument and 64 of result without kernels.
Function movesFunction(std::vector<Command> commands) {
  Function f;
  f.name = "moves";
  f.arguments = {floats("x", 16)};
  f.results = {floats("y", 16)};
  f.plan.arenaBytes = 4096;
  f.commands = std::move(commands);
  return f;
}

/// y = table[0] + table[1] for each of 3 layers of 16 floats, where the table
/// holds the layer of `a` from the last one down and the layer of `b` upwards.
Function tablesFunction() {
  Function f;
  f.name = "tables";
  f.arguments = {floats("a", 48), floats("b", 48)};
  f.results = {floats("y", 48)};
  f.kernels = {kernel("sum_table", 1)};
  f.commands = {repeat(
      3, {launch(0, {tableArg({buffer(Space::Argument, 0, 128, 64, {-64}),
                               buffer(Space::Argument, 1, 0, 64, {64})}),
                     scalarArg(int64_t(2)), scalarArg(int64_t(16)),
                     bufferArg(buffer(Space::Result, 0, 0, 64, {64}))})})};
  f.images = {fakeImage(f, "sm_80")};
  return f;
}

std::vector<float> tablesResult(const std::vector<float> &a,
                                const std::vector<float> &b) {
  std::vector<float> y(48);
  for (size_t layer = 0; layer < 3; ++layer)
    for (size_t i = 0; i < 16; ++i)
      y[16 * layer + i] = a[16 * (2 - layer) + i] + b[16 * layer + i];
  return y;
}

class CudaCommands : public CudaTest {};

} // namespace

TEST_F(CudaCommands, RunInOrderWithStridesOfBothSigns) {
  ASSERT_EQ(load(cudaLayers()), "");
  DeviceFloats x(40, 1), weights(120, 5), y(40);
  for (int i = 0; i < 3; ++i) {
    x[3] = static_cast<float>(100 * i);
    ASSERT_EQ(run({x, weights}, {y}), "");
    EXPECT_EQ(y.values(), layersResult(x.values(), weights.values()));
  }
  EXPECT_EQ(executable->graphsCaptured(), 1);
  EXPECT_EQ(fake::numCalls("cuGraphLaunch"), 3);
  EXPECT_EQ(executable->image(), "ptx for sm_80");
}

TEST_F(CudaCommands, DirectRunsAndGraphsExecuteTheSame) {
  DeviceFloats x(40, 1), weights(120, 5), y(40);
  std::vector<Strings> executed;
  for (bool graphs : {true, false}) {
    options.graphs = graphs;
    ASSERT_EQ(load(cudaLayers()), "");
    fake::clearCalls();
    ASSERT_EQ(run({x, weights}, {y}), "");
    EXPECT_EQ(fake::numCalls("cuGraphLaunch"), graphs ? 1 : 0);
    EXPECT_EQ(y.values(), layersResult(x.values(), weights.values()));
    executed.push_back(fake::executed());
  }
  EXPECT_EQ(executed[0],
            (Strings{"copy 160", "fill 640", "copy 160", "kernel axpy",
                     "copy 160", "kernel axpy", "copy 160", "kernel axpy"}));
  EXPECT_EQ(executed[1], executed[0]);
}

TEST_F(CudaCommands, HostPointersGiveTheSame) {
  ASSERT_EQ(load(cudaLayers()), "");
  std::vector<float> x = hostFloats(40, 1), weights = hostFloats(120, 5), y(40);
  const void *args[] = {x.data(), weights.data()};
  void *results[] = {y.data()};
  for (int i = 0; i < 2; ++i) {
    x[0] += 1;
    Status s = executable->runHost(args, results);
    ASSERT_TRUE(s.ok()) << s.message;
    EXPECT_EQ(y, layersResult(x, weights));
  }
  // Arena, constants, arguments, results; nothing else is taken.
  EXPECT_EQ(executable->deviceBytes(), 640 + 96 + 640 + 160);
  EXPECT_EQ(fake::allocatedBytes(), executable->deviceBytes());
  EXPECT_EQ(executable->graphsCaptured(), 1);
}

TEST_F(CudaCommands, OneSessionServesDeviceAndHostPointers) {
  ASSERT_EQ(load(cudaLayers()), "");
  DeviceFloats x(40, 1), weights(120, 5), y(40);
  std::vector<float> hx = hostFloats(40, 9), hw = hostFloats(120, 2), hy(40);
  const void *args[] = {hx.data(), hw.data()};
  void *results[] = {hy.data()};
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(executable->runHost(args, results).ok());
    ASSERT_EQ(run({x, weights}, {y}), "");
    EXPECT_EQ(y.values(), layersResult(x.values(), weights.values()));
    EXPECT_EQ(hy, layersResult(hx, hw));
  }
  EXPECT_EQ(executable->graphsCaptured(), 2);
}

TEST_F(CudaCommands, PointerTablesFollowIterationsAndPointers) {
  for (bool graphs : {true, false}) {
    options.graphs = graphs;
    ASSERT_EQ(load(tablesFunction()), "");
    DeviceFloats a(48, 1), b(48, 20), c(48, 300), y(48), z(48);
    EXPECT_EQ(executable->deviceBytes(), 3 * 2 * 8);
    // Two sets of pointers in turns: a table is that of the run.
    for (int i = 0; i < 3; ++i) {
      ASSERT_EQ(run({a, b}, {y}), "");
      EXPECT_EQ(y.values(), tablesResult(a.values(), b.values()));
      ASSERT_EQ(run({b, c}, {z}), "");
      EXPECT_EQ(z.values(), tablesResult(b.values(), c.values()));
    }
    EXPECT_EQ(executable->graphsCaptured(), graphs ? 2 : 0);
    // Equal pointers need no new table.
    fake::clearCalls();
    ASSERT_EQ(run({b, c}, {z}), "");
    EXPECT_EQ(fake::numCalls("cuMemcpyHtoDAsync"), 0);
  }
}

TEST_F(CudaCommands, FillsRepeatPatternsOfEveryWidth) {
  struct Case {
    uint64_t pattern;
    uint32_t size;
    const char *call;
  };
  const Case cases[] = {
      {0x5a, 1, "cuMemsetD8Async"},
      {0x1234, 2, "cuMemsetD16Async"},
      {0x12345678, 4, "cuMemsetD32Async"},
      {0x123456789abcdef0, 8, "cuMemsetD2D32Async"},
      {0x1234567812345678, 8, "cuMemsetD32Async"},
      {0x7f7f7f7f7f7f7f7f, 8, "cuMemsetD8Async"},
      {0, 4, "cuMemsetD8Async"},
  };
  for (const Case &c : cases) {
    ASSERT_EQ(load(movesFunction(
                  {fill(buffer(Space::Result, 0, 8, 48), c.pattern, c.size)})),
              "");
    DeviceFloats x(16), y(16, 77);
    std::vector<float> expected = y.values();
    for (size_t at = 8; at < 56; at += c.size)
      std::memcpy(reinterpret_cast<char *>(expected.data()) + at, &c.pattern,
                  c.size);
    ASSERT_EQ(run({x}, {y}), "");
    EXPECT_EQ(std::memcmp(y, expected.data(), 64), 0) << std::hex << c.pattern;
    EXPECT_GE(fake::numCalls(c.call), 1) << c.call;
    fake::clearCalls();
  }
}

TEST_F(CudaCommands, AFillNeedsTheAlignmentOfItsPattern) {
  ASSERT_EQ(load(movesFunction(
                {fill(buffer(Space::Result, 0, 2, 8), 0x12345678, 4)})),
            "");
  DeviceFloats x(16), y(16);
  EXPECT_PART(run({x}, {y}), "expected a fill with a pattern of 4 bytes at a "
                             "multiple of 4, got address");
  // The failed capture leaves the session usable.
  EXPECT_PART(run({x}, {y}), "(function 'moves', command 0)");
}

TEST_F(CudaCommands, OverlappingCopiesKeepAllBytes) {
  for (auto [from, to] :
       {std::pair<int64_t, int64_t>{0, 4}, {4, 0}, {0, 12}, {12, 0}, {8, 8}}) {
    ASSERT_EQ(load(movesFunction({copy(buffer(Space::Result, 0, from, 48),
                                       buffer(Space::Result, 0, to, 48))})),
              "");
    DeviceFloats x(16), y(16, 3);
    std::vector<float> expected = y.values();
    std::memmove(reinterpret_cast<char *>(expected.data()) + to,
                 reinterpret_cast<char *>(expected.data()) + from, 48);
    ASSERT_EQ(run({x}, {y}), "");
    EXPECT_EQ(y.values(), expected) << from << " to " << to;
  }
  ASSERT_EQ(load(movesFunction({copy(buffer(Space::Arena, 0, 0, 2048),
                                     buffer(Space::Arena, 0, 4, 2048))})),
            "");
  DeviceFloats x(16), y(16);
  EXPECT_PART(run({x}, {y}), "expected a copy of 2048 bytes to places that are "
                             "further apart than 4 bytes");
}

TEST_F(CudaCommands, NewPointersUpdateTheGraphUsedLongestAgo) {
  for (bool hasUpdate : {true, false}) {
    fake::reset();
    if (!hasUpdate)
      fake::config().missing = {"cuGraphExecUpdate"};
    ASSERT_EQ(load(cudaLayers()), "");
    DeviceFloats x(40, 1), weights(120, 5);
    std::vector<std::unique_ptr<DeviceFloats>> results;
    for (int i = 0; i < 6; ++i) {
      results.push_back(std::make_unique<DeviceFloats>(40));
      ASSERT_EQ(run({x, weights}, {*results[i]}), "");
    }
    EXPECT_EQ(executable->graphsCaptured(), 6);
    EXPECT_EQ(executable->graphsUpdated(), hasUpdate ? 2 : 0);
    EXPECT_EQ(fake::numCalls("cuGraphInstantiateWithFlags"), hasUpdate ? 4 : 6);
    // The four newest are there; the first was given up for the sixth.
    for (int i : {2, 3, 4, 5})
      ASSERT_EQ(run({x, weights}, {*results[i]}), "");
    EXPECT_EQ(executable->graphsCaptured(), 6);
    ASSERT_EQ(run({x, weights}, {*results[0]}), "");
    EXPECT_EQ(executable->graphsCaptured(), 7);
    for (auto &y : results)
      EXPECT_EQ(y->values(), layersResult(x.values(), weights.values()));
    executable.reset();
  }
}

TEST_F(CudaCommands, LongListsRunWithoutAGraph) {
  Function f =
      movesFunction({repeat(66000, {copy(buffer(Space::Argument, 0, 0, 4),
                                         buffer(Space::Result, 0, 0, 4))})});
  ASSERT_EQ(load(f), "");
  DeviceFloats x(16, 8), y(16);
  ASSERT_EQ(run({x}, {y}), "");
  EXPECT_EQ(y[0], 8);
  EXPECT_EQ(executable->graphsCaptured(), 0);
  EXPECT_EQ(fake::numCalls("cuMemcpyDtoDAsync"), 66000);
}

TEST_F(CudaCommands, AGridWithoutBlocksIsNotLaunched) {
  Function f = cudaLayers();
  f.images[0].kernels[0].grid = {4, 0, 1};
  ASSERT_EQ(load(f), "");
  DeviceFloats x(40, 1), weights(120, 5), y(40);
  ASSERT_EQ(run({x, weights}, {y}), "");
  EXPECT_EQ(fake::numCalls("cuLaunchKernel"), 0);
  EXPECT_EQ(y.values(), x.values());
}

TEST_F(CudaCommands, LaunchesHaveTheGridOfTheImage) {
  Function f = cudaLayers();
  f.images[0].kernels[0].grid = {3, 65535, 7};
  f.images[0].kernels[0].block = {16, 4, 2};
  f.images[0].kernels[0].sharedBytes = 512;
  std::vector<fake::Launch> seen;
  fake::registerKernel("axpy", 4,
                       [&](const fake::Launch &l) { seen.push_back(l); });
  ASSERT_EQ(load(f), "");
  DeviceFloats x(40, 1), weights(120, 5), y(40);
  ASSERT_EQ(run({x, weights}, {y}), "");
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_EQ(seen[0].grid, (std::array<unsigned, 3>{3, 65535, 7}));
  EXPECT_EQ(seen[0].block, (std::array<unsigned, 3>{16, 4, 2}));
  EXPECT_EQ(seen[0].sharedBytes, 512u);
}

TEST_F(CudaCommands, ConstantsAreOnTheDevice) {
  Function f = movesFunction({copy(buffer(Space::Constants, 0, 4, 64),
                                   buffer(Space::Result, 0, 0, 64))});
  for (uint8_t i = 0; i < 68; ++i)
    f.constants.push_back(i);
  ASSERT_EQ(load(f), "");
  DeviceFloats x(16), y(16);
  ASSERT_EQ(run({x}, {y}), "");
  EXPECT_EQ(std::memcmp(y, f.constants.data() + 4, 64), 0);
  EXPECT_TRUE(executable->function().constants.empty());
}

TEST_F(CudaCommands, AResultLivesInItsDonatedArgument) {
  Function f = movesFunction({fill(buffer(Space::Result, 0, 0, 32), 0, 4)});
  f.arguments[0].donated = true;
  f.results[0].alias = 0;
  ASSERT_EQ(load(f), "");
  DeviceFloats x(16, 1), other(16);
  EXPECT_PART(run({x}, {other}), "result 0 lives in the donated argument 0; "
                                 "pass the same pointer for both");
  std::vector<float> expected = x.values();
  std::fill(expected.begin(), expected.begin() + 8, 0.0f);
  ASSERT_EQ(run({x}, {x}), "");
  EXPECT_EQ(x.values(), expected);

  // On host memory the argument stays as it is.
  std::vector<float> hx = hostFloats(16, 1), hy(16);
  const void *args[] = {hx.data()};
  void *results[] = {hy.data()};
  ASSERT_TRUE(executable->runHost(args, results).ok());
  EXPECT_EQ(hy, expected);
  EXPECT_EQ(hx, hostFloats(16, 1));
  EXPECT_EQ(executable->deviceBytes(), 4096 + 64);
}

TEST_F(CudaCommands, PoisonShowsWhatIsNotWritten) {
  options.poison = true;
  Function f = movesFunction(
      {copy(buffer(Space::Arena, 0, 0, 16), buffer(Space::Result, 0, 0, 16)),
       copy(buffer(Space::Argument, 0, 0, 16),
            buffer(Space::Result, 0, 16, 16))});
  ASSERT_EQ(load(f), "");
  DeviceFloats x(16, 1), y(16);
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(run({x}, {y}), "");
    for (size_t e = 0; e < 16; ++e)
      EXPECT_EQ(std::isnan(y[e]), e < 4 || e >= 8) << e;
  }
  // A result over an argument keeps what it starts from.
  DeviceFloats both(16, 1);
  ASSERT_EQ(run({both}, {both}), "");
  EXPECT_EQ(both[15], hostFloats(16, 1)[15]);
}

TEST_F(CudaCommands, TimesAreOfWholeRuns) {
  ASSERT_EQ(load(cudaLayers()), "");
  DeviceFloats x(40, 1), weights(120, 5), y(40);
  CudaTiming timing;
  timing.warmup = 2;
  timing.repeats = 5;
  ASSERT_EQ(run({x, weights}, {y}, &timing), "");
  // The fake device takes a millisecond for each of the 8 commands.
  EXPECT_EQ(timing.milliseconds, std::vector<float>(5, 8.0f));
  EXPECT_EQ(fake::numCalls("cuGraphLaunch"), 7);
}

TEST_F(CudaCommands, TheCallersStreamIsNotWaitedFor) {
  options.device = -1;
  options.context = fake::callerContext(0);
  options.stream = fake::callerStream(0);
  ASSERT_EQ(load(cudaLayers()), "");
  EXPECT_EQ(executable->device(), 0);
  DeviceFloats x(40, 1), weights(120, 5), y(40);
  fake::clearCalls();
  ASSERT_EQ(run({x, weights}, {y}), "");
  EXPECT_EQ(fake::numCalls("cuStreamSynchronize"), 0);
  EXPECT_EQ(fake::numCalls("cuDevicePrimaryCtxRetain"), 0);
  ASSERT_TRUE(executable->synchronize().ok());
  EXPECT_EQ(fake::numCalls("cuStreamSynchronize"), 1);
  EXPECT_EQ(y.values(), layersResult(x.values(), weights.values()));
}

TEST_F(CudaCommands, CallsFromSeveralThreadsWaitForEachOther) {
  ASSERT_EQ(load(cudaLayers()), "");
  DeviceFloats weights(120, 5);
  std::vector<std::thread> threads;
  std::array<int, 4> wrong = {};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      DeviceFloats x(40, static_cast<float>(t)), y(40);
      for (int i = 0; i < 50; ++i) {
        wrong[t] += !run({x, weights}, {y}).empty();
        wrong[t] += y.values() != layersResult(x.values(), weights.values());
      }
      wrong[t] += fake::contextDepth();
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, (std::array<int, 4>{}));
}
