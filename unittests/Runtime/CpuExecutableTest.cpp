//===- CpuExecutableTest.cpp - running command lists on the CPU -----------===//

#include "TestPrograms.h"
#include "heddle/Runtime/CpuDevice.h"

#include "gtest/gtest.h"

#include <cmath>

using namespace heddle;
using namespace heddle::test;

namespace {

std::unique_ptr<CpuExecutable> load(const Function &f,
                                    CpuOptions options = {}) {
  std::unique_ptr<CpuExecutable> executable;
  Program p = programOf({});
  Status s = CpuExecutable::load(f, p, options, executable);
  EXPECT_TRUE(s.ok()) << s.message;
  return executable;
}

std::string loadError(const Function &f, const Program &p,
                      CpuOptions options = {}) {
  std::unique_ptr<CpuExecutable> executable;
  return CpuExecutable::load(f, p, options, executable).message;
}

bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

CpuOptions withThreads(int threads, bool poison = false) {
  CpuOptions options;
  options.threads = threads;
  options.poison = poison;
  return options;
}

/// a = 2 x, b = 3 x and c = x as three launches of one group.
Function groupedFunction() {
  const int64_t n = 40, bytes = n * 4;
  Function f = layersFunction();
  f.arguments = {floats("x", n)};
  f.results = {floats("a", n), floats("b", n), floats("c", n)};
  f.plan.outBytes = 3 * bytes;
  BufferRef x = buffer(Space::Argument, 0, 0, bytes);
  auto scaled = [&](double factor, uint32_t result) {
    return launch(0, {scalarArg(factor), scalarArg(n), bufferArg(x),
                      bufferArg(buffer(Space::Result, result, 0, bytes))});
  };
  f.commands = {
      fill(buffer(Space::Result, 0, 0, bytes), 0, 4),
      fill(buffer(Space::Result, 1, 0, bytes), 0, 4), scaled(2.0, 0),
      launch(1, {bufferArg(x), bufferArg(buffer(Space::Result, 2, 0, bytes))}),
      scaled(3.0, 1)};
  f.commands[3].together = f.commands[4].together = true;
  return f;
}

/// A function of n floats to n floats without commands.
Function emptyFunction(int64_t n) {
  Function f = layersFunction();
  f.arguments = {floats("x", n)};
  f.results = {floats("y", n)};
  f.kernels.clear();
  f.commands.clear();
  return f;
}

} // namespace

TEST(CpuExecutable, ABundleKeepsGroups) {
  std::vector<uint8_t> bytes = serializeProgram(programOf({groupedFunction()}));
  Program read;
  ASSERT_TRUE(deserializeProgram(bytes.data(), bytes.size(), read).ok());
  const std::vector<Command> &commands = read.functions[0].commands;
  ASSERT_EQ(commands.size(), 5u);
  for (size_t i = 0; i < commands.size(); ++i)
    EXPECT_EQ(commands[i].together, i > 2);
}

TEST(CpuExecutable, LaunchesOfAGroupRunTogether) {
  // Groups of little work run on the caller, others on all threads.
  for (int64_t flops : {int64_t(1), int64_t(1) << 30}) {
    for (int threads : {1, 2, 5}) {
      Function f = groupedFunction();
      for (KernelInfo &kernel : f.kernels)
        kernel.flops = flops;
      auto executable = load(f, withThreads(threads, /*poison=*/true));
      ASSERT_TRUE(executable);
      std::vector<float> x(40), a(40), b(40), c(40);
      for (int i = 0; i < 40; ++i)
        x[i] = static_cast<float>(i);
      void *args[] = {x.data()}, *results[] = {a.data(), b.data(), c.data()};
      for (int run = 0; run < 20; ++run)
        ASSERT_TRUE(executable->run(args, results).ok());
      for (int i = 0; i < 40; ++i) {
        EXPECT_EQ(a[i], 2.0f * x[i]);
        EXPECT_EQ(b[i], 3.0f * x[i]);
        // Two blocks of 16.
        if (i < 32)
          EXPECT_EQ(c[i], x[i]);
      }
    }
  }
}

TEST(CpuExecutable, RunsLayersWithNegativeStrides) {
  for (int threads : {1, 2, 5}) {
    for (bool poison : {false, true}) {
      auto executable = load(layersFunction(), withThreads(threads, poison));
      ASSERT_TRUE(executable);
      EXPECT_EQ(executable->threads(), threads);
      std::vector<float> x(40), weights(120), y(40);
      for (int i = 0; i < 40; ++i)
        x[i] = static_cast<float>(i);
      for (int i = 0; i < 120; ++i)
        weights[i] = static_cast<float>(100 * i);
      void *args[] = {x.data(), weights.data()};
      void *results[] = {y.data()};
      for (int run = 0; run < 3; ++run) {
        Status s = executable->run(args, results);
        ASSERT_TRUE(s.ok()) << s.message;
        for (int i = 0; i < 40; ++i)
          ASSERT_EQ(y[i], i + 200.0f * (i + (i + 40) + (i + 80)));
      }
    }
  }
}

TEST(CpuExecutable, FollowsStridesOfNestedRepeats) {
  // y[2 * i + j] = x[4 * i + j], a strided 2 x 2 gather of single floats.
  Function f = emptyFunction(8);
  f.results = {floats("y", 4)};
  f.commands = {
      repeat(2, {repeat(2, {copy(buffer(Space::Argument, 0, 0, 4, {16, 4}),
                                 buffer(Space::Result, 0, 0, 4, {8, 4}))})})};
  auto executable = load(f);
  ASSERT_TRUE(executable);
  float x[8] = {0, 1, 2, 3, 4, 5, 6, 7}, y[4] = {};
  void *args[] = {x}, *results[] = {y};
  ASSERT_TRUE(executable->run(args, results).ok());
  EXPECT_EQ(y[0], 0);
  EXPECT_EQ(y[1], 1);
  EXPECT_EQ(y[2], 4);
  EXPECT_EQ(y[3], 5);
}

TEST(CpuExecutable, PassesPointerTablesAndConstants) {
  Function f = emptyFunction(8);
  f.kernels = {kernel("sum_of_tables", 8)};
  f.constants.resize(32);
  float constants[8] = {1, 1, 1, 1, 2, 2, 2, 2};
  std::memcpy(f.constants.data(), constants, 32);
  f.commands = {launch(0, {tableArg({buffer(Space::Argument, 0, 0, 32),
                                     buffer(Space::Constants, 0, 0, 32),
                                     buffer(Space::Argument, 0, 0, 32)}),
                           scalarArg(int64_t(3)),
                           bufferArg(buffer(Space::Result, 0, 0, 32))})};
  auto executable = load(f, withThreads(2));
  ASSERT_TRUE(executable);
  float x[8] = {0, 1, 2, 3, 4, 5, 6, 7}, y[8] = {};
  void *args[] = {x}, *results[] = {y};
  ASSERT_TRUE(executable->run(args, results).ok());
  for (int i = 0; i < 8; ++i)
    EXPECT_EQ(y[i], 2 * x[i] + constants[i]);
}

TEST(CpuExecutable, GivesEachThreadItsScratch) {
  const int64_t blocks = 5000;
  Function f = emptyFunction(16 * blocks);
  f.kernels = {kernel("through_scratch", blocks, 64)};
  f.commands = {
      launch(0, {bufferArg(buffer(Space::Argument, 0, 0, 64 * blocks)),
                 bufferArg(buffer(Space::Result, 0, 0, 64 * blocks))})};
  auto executable = load(f, withThreads(4));
  ASSERT_TRUE(executable);
  std::vector<float> x(16 * blocks), y(16 * blocks);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<float>(i);
  void *args[] = {x.data()}, *results[] = {y.data()};
  ASSERT_TRUE(executable->run(args, results).ok());
  EXPECT_EQ(x, y);
}

TEST(CpuExecutable, CopiesAndFillsLargeBuffers) {
  const int64_t n = 1 << 20; // several blocks of a split move
  Function f = emptyFunction(n);
  f.results = {floats("copied", n + 3), floats("filled", n + 1)};
  f.commands = {copy(buffer(Space::Argument, 0, 0, 4 * n),
                     buffer(Space::Result, 0, 12, 4 * n)),
                fill(buffer(Space::Result, 0, 0, 12), 0xab, 1),
                fill(buffer(Space::Result, 1, 0, 4 * n + 4), 0x3f800000, 4)};
  auto executable = load(f, withThreads(3));
  ASSERT_TRUE(executable);
  std::vector<float> x(n), copied(n + 3), filled(n + 1);
  for (int64_t i = 0; i < n; ++i)
    x[i] = static_cast<float>(i);
  void *args[] = {x.data()}, *results[] = {copied.data(), filled.data()};
  ASSERT_TRUE(executable->run(args, results).ok());
  EXPECT_TRUE(std::equal(x.begin(), x.end(), copied.begin() + 3));
  EXPECT_EQ(reinterpret_cast<uint8_t *>(copied.data())[11], 0xab);
  for (float v : filled)
    ASSERT_EQ(v, 1.0f);
}

TEST(CpuExecutable, PoisonReachesWhatIsNotWritten) {
  Function f = emptyFunction(4);
  f.results.push_back(floats("from arena", 4));
  f.commands = {
      copy(buffer(Space::Arena, 0, 0, 16), buffer(Space::Result, 1, 0, 16))};
  auto executable = load(f, withThreads(1, true));
  ASSERT_TRUE(executable);
  float x[4] = {}, y[4] = {}, z[4] = {};
  void *args[] = {x}, *results[] = {y, z};
  ASSERT_TRUE(executable->run(args, results).ok());
  for (int i = 0; i < 4; ++i) {
    EXPECT_TRUE(std::isnan(y[i]));
    EXPECT_TRUE(std::isnan(z[i]));
    EXPECT_EQ(x[i], 0);
  }
}

TEST(CpuExecutable, PoisonSparesDonatedArguments) {
  Function f = emptyFunction(4);
  f.arguments[0].donated = true;
  f.results[0].alias = 0;
  f.commands = {
      copy(buffer(Space::Argument, 0, 4, 4), buffer(Space::Argument, 0, 0, 4))};
  auto executable = load(f, withThreads(1, true));
  ASSERT_TRUE(executable);
  float x[4] = {1, 2, 3, 4}, other[4];
  void *args[] = {x}, *results[] = {x};
  ASSERT_TRUE(executable->run(args, results).ok());
  EXPECT_EQ(x[0], 2);
  EXPECT_EQ(x[3], 4);
  results[0] = other;
  EXPECT_EQ(executable->run(args, results).message,
            "result 0 lives in the donated argument 0; pass the same pointer "
            "for both");
}

TEST(CpuExecutable, DonatedMemoryIsSharedWithNobody) {
  Function f = emptyFunction(4);
  f.arguments.push_back(floats("other", 4));
  f.arguments[0].donated = true;
  f.arguments[0].used = f.arguments[1].used = true;
  f.results[0].alias = 0;
  auto executable = load(f, withThreads(1, true));
  ASSERT_TRUE(executable);
  float memory[8] = {};
  void *apart[] = {memory, memory + 4}, *result[] = {memory};
  EXPECT_TRUE(executable->run(apart, result).ok());
  void *overlapping[] = {memory, memory + 3};
  EXPECT_EQ(
      executable->run(overlapping, result).message,
      "donated argument 0 'x' shares memory with argument 1 'other'; pass "
      "a buffer of its own for each");
  f.arguments[1].donated = true;
  executable = load(f, withThreads(1, true));
  ASSERT_TRUE(executable);
  void *twice[] = {memory, memory};
  EXPECT_EQ(
      executable->run(twice, result).message,
      "donated argument 1 'other' shares memory with argument 0 'x'; pass "
      "a buffer of its own for each");
}

TEST(CpuExecutable, ResultsMayNotLieInDonatedMemoryOfAnother) {
  Function f = emptyFunction(4);
  f.arguments[0].donated = f.arguments[0].used = true;
  auto executable = load(f, withThreads(1, true));
  ASSERT_TRUE(executable);
  float memory[4] = {};
  void *args[] = {memory}, *results[] = {memory};
  EXPECT_EQ(executable->run(args, results).message,
            "donated argument 0 'x' shares memory with result 0 'y'; pass a "
            "buffer of its own for each");
}

TEST(CpuExecutable, CallsTheMathLibrary) {
  Function f = emptyFunction(3);
  f.kernels = {kernel("exponential", 1)};
  f.commands = {launch(0, {scalarArg(int64_t(3)),
                           bufferArg(buffer(Space::Argument, 0, 0, 12)),
                           bufferArg(buffer(Space::Result, 0, 0, 12))})};
  auto executable = load(f);
  ASSERT_TRUE(executable);
  float x[3] = {0, 1, -2}, y[3];
  void *args[] = {x}, *results[] = {y};
  ASSERT_TRUE(executable->run(args, results).ok());
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(y[i], std::exp(x[i]));
}

TEST(CpuExecutable, NamesMissingPointers) {
  auto executable = load(layersFunction(), withThreads(1));
  ASSERT_TRUE(executable);
  float x[40], w[120];
  void *args[] = {x, nullptr}, *results[] = {x};
  EXPECT_EQ(executable->run(args, results).message,
            "expected a pointer to float32[3,40] for argument 1 'weights', got "
            "null");
  args[1] = w;
  results[0] = nullptr;
  EXPECT_TRUE(contains(executable->run(args, results).message,
                       "for result 0 'y', got null"));
}

TEST(CpuExecutable, UnusedArgumentsMayBeNull) {
  Function f = emptyFunction(4);
  f.arguments[0].used = false;
  f.commands = {fill(buffer(Space::Result, 0, 0, 16), 0, 1)};
  auto executable = load(f, withThreads(1));
  ASSERT_TRUE(executable);
  float y[4] = {1, 1, 1, 1};
  void *args[] = {nullptr}, *results[] = {y};
  ASSERT_TRUE(executable->run(args, results).ok());
  EXPECT_EQ(y[3], 0);
}

TEST(CpuExecutable, RefusesWhatItCannotRun) {
  Function f = layersFunction();
  Program p = programOf({});
  p.target = "cuda";
  EXPECT_TRUE(contains(loadError(f, p), "compiled for target 'cuda', this "
                                        "device is 'cpu'"));
  p = programOf({});
  p.isaFeatures = {"sse2", "quantum"};
  EXPECT_TRUE(contains(loadError(f, p), "needs the CPU features quantum"));
  p = programOf({});
  p.isa = "x86-64-v9";
  EXPECT_TRUE(contains(loadError(f, p), "needs a CPU of level x86-64-v9"));
  p = programOf({});
  EXPECT_TRUE(contains(loadError(f, p, withThreads(-2)), "got -2"));
  EXPECT_TRUE(contains(loadError(f, p, withThreads(1 << 30)), "threads, got"));
  f.kernels[0].name = "nothing";
  EXPECT_TRUE(contains(loadError(f, p), "has no kernel 'nothing'"));
  f = layersFunction();
  f.objects.clear();
  EXPECT_TRUE(contains(loadError(f, p), "the object code has no kernel"));
  f = layersFunction();
  f.commands[0].source.offset = 8;
  EXPECT_TRUE(contains(loadError(f, p), "leaves its space"));
}

TEST(CpuExecutable, ComparesThePlanWithTheMemoryThereIs) {
  Function f = layersFunction();
  f.plan.arenaBytes = int64_t(1) << 46; // 64 TiB
  std::string error = loadError(f, programOf({}), withThreads(2));
  EXPECT_TRUE(contains(error, "function 'main' with 2 threads needs 67108865 "
                              "MiB of memory, "))
      << error;
  EXPECT_TRUE(contains(error, " MiB are available; use fewer threads"))
      << error;
}
