//===- DeviceTest.cpp - command lists on the emulator ---------------------===//

#include "KernelTest.h"

#include "heddle-c/heddle.h"
#include "heddle/Runtime/EmulatorDevice.h"

using namespace heddle;
using namespace heddle::test;

namespace {

constexpr int64_t kFloats = 32, kBytes = kFloats * 4;

BufferRef at(Space space, int64_t offset, int64_t size = kBytes,
             std::vector<int64_t> strides = {}) {
  BufferRef b;
  b.space = space;
  b.offset = offset;
  b.size = size;
  b.strides = std::move(strides);
  return b;
}

LaunchArg arg(BufferRef b) {
  LaunchArg a;
  a.buffers.push_back(std::move(b));
  return a;
}

LaunchArg scalar(int64_t value) {
  LaunchArg a;
  a.kind = LaunchArg::Kind::Scalar;
  a.scalar = value;
  return a;
}

/// y = x + value on `n` elements.
Command add(BufferRef x, BufferRef y, int64_t value, int64_t n = kFloats) {
  Command c;
  c.kernel = 0;
  c.args = {arg(std::move(x)), arg(std::move(y)), scalar(value), scalar(n)};
  return c;
}

Command copy(BufferRef source, BufferRef dest) {
  Command c;
  c.kind = Command::Kind::Copy;
  c.source = std::move(source);
  c.dest = std::move(dest);
  return c;
}

Command fill(BufferRef dest, float value) {
  Command c;
  c.kind = Command::Kind::Fill;
  c.dest = std::move(dest);
  std::memcpy(&c.pattern, &value, 4);
  c.patternSize = 4;
  return c;
}

Command repeat(int64_t count, std::vector<Command> body) {
  Command c;
  c.kind = Command::Kind::Repeat;
  c.count = count;
  c.body = std::move(body);
  return c;
}

/// A function of x (3, 32) with the result y (32) and an arena of four buffers.
class EmulatorDevice : public ::testing::Test {
protected:
  void SetUp() override {
    NamedTensorType x, y;
    x.name = "x";
    x.type.shape = {3, kFloats};
    y.type.shape = {kFloats};
    function.name = "main";
    function.arguments = {x};
    function.results = {y};
    function.plan.arenaBytes = 4 * kBytes;
    GpuImage image;
    image.target = "sm_80";
    image.kind = GpuImageKind::Emulator;
    image.bytes = object();
    for (const char *name : {"add_scalar", "number"}) {
      KernelInfo info;
      info.name = name;
      info.family = "elementwise";
      function.kernels.push_back(info);
      GpuKernel kernel;
      kernel.symbol = name;
      kernel.block = {32, 1, 1};
      image.kernels.push_back(kernel);
    }
    image.kernels[1].grid[0] = 2;
    function.images = {image};
    program.target = "cuda";
    options.threads = 1;
    for (size_t i = 0; i < in.size(); ++i)
      in[i] = static_cast<float>(i);
  }

  /// The kernels, compiled once.
  static const std::vector<uint8_t> &object() {
    static const std::vector<uint8_t> bytes = [] {
      mlir::DialectRegistry registry;
      registerCompilerDialects(registry);
      mlir::MLIRContext context(registry);
      auto module = mlir::parseSourceString<mlir::ModuleOp>(
          readInput("device.mlir"), mlir::ParserConfig(&context));
      std::vector<uint8_t> made;
      EXPECT_TRUE(module && succeeded(emitEmulatorObject(*module, made)));
      return made;
    }();
    return bytes;
  }

  Status run(std::vector<Command> commands) {
    function.commands = std::move(commands);
    if (Status s =
            EmulatorExecutable::load(function, program, options, executable);
        !s)
      return s;
    void *args[] = {in.data()}, *results[] = {out.data()};
    return executable->run(args, results);
  }

  Function function;
  Program program;
  EmulatorDeviceOptions options;
  std::unique_ptr<EmulatorExecutable> executable;
  std::vector<float> in = std::vector<float>(3 * kFloats);
  std::vector<float> out = std::vector<float>(kFloats);
};

TEST_F(EmulatorDevice, RunsCommandsInOrderWithTheStridesOfRepeats) {
  // y = sum over layers in reversed order: arena = x[2 - i], y = arena + 10.
  Status s =
      run({repeat(3, {copy(at(Space::Argument, 2 * kBytes, kBytes, {-kBytes}),
                           at(Space::Arena, 0, kBytes, {kBytes})),
                      add(at(Space::Arena, 0, kBytes, {kBytes}),
                          at(Space::Result, 0), 10)})});
  ASSERT_TRUE(s.ok()) << s.message;
  for (int64_t i = 0; i < kFloats; ++i)
    EXPECT_EQ(out[i], in[i] + 10); // of the last iteration
  std::vector<EmulatorKernelReport> reports = executable->reports();
  ASSERT_EQ(reports.size(), 2u);
  EXPECT_EQ(reports[0].kernel, "add_scalar");
  EXPECT_EQ(reports[0].launches, 3);
  EXPECT_EQ(reports[0].sum.counters.checkedAccesses, 3u * 2 * kFloats);
  EXPECT_EQ(reports[0].sum.counters.globalLoadSectors, 3u * kBytes / 32);
  EXPECT_EQ(reports[1].launches, 0);
}

TEST_F(EmulatorDevice, RunsAreIndependentOfEachOther) {
  ASSERT_TRUE(run({add(at(Space::Argument, 0), at(Space::Result, 0), 1)}).ok());
  void *args[] = {in.data()}, *results[] = {out.data()};
  executable->setSeed(7);
  ASSERT_TRUE(executable->run(args, results).ok());
  EXPECT_EQ(executable->reports()[0].launches, 1);
}

TEST_F(EmulatorDevice, ReadingAnArenaThatNothingWroteIsAFinding) {
  std::vector<Command> list = {
      add(at(Space::Arena, kBytes), at(Space::Result, 0), 1)};
  Status s = run(list);
  EXPECT_NE(s.message.find("initcheck"), std::string::npos) << s.message;
  EXPECT_NE(s.message.find("arena[128..256)"), std::string::npos) << s.message;
  // Without the check the values are NaN: the arena is poisoned.
  options.sanitizers = kMemcheck;
  s = run(list);
  ASSERT_TRUE(s.ok()) << s.message;
  EXPECT_NE(out[0], out[0]);
}

TEST_F(EmulatorDevice, WhatKernelsCopiesAndFillsWroteMayBeRead) {
  Status s = run({add(at(Space::Argument, 0), at(Space::Arena, 0), 1),
                  copy(at(Space::Arena, 0), at(Space::Arena, kBytes)),
                  add(at(Space::Arena, kBytes), at(Space::Result, 0), 1),
                  fill(at(Space::Arena, 2 * kBytes), 4.0f),
                  add(at(Space::Arena, 2 * kBytes), at(Space::Arena, 0), 1)});
  EXPECT_TRUE(s.ok()) << s.message;
  EXPECT_EQ(out[3], in[3] + 2);
}

TEST_F(EmulatorDevice, APartThatALaunchLeftOutStaysUnwritten) {
  Status s = run({add(at(Space::Argument, 0), at(Space::Arena, 0), 1, 31),
                  add(at(Space::Arena, 0), at(Space::Result, 0), 1)});
  EXPECT_NE(s.message.find("initcheck"), std::string::npos) << s.message;
  // So does a copy of it.
  s = run({copy(at(Space::Arena, 0), at(Space::Arena, kBytes)),
           add(at(Space::Arena, kBytes), at(Space::Result, 0), 1)});
  EXPECT_NE(s.message.find("initcheck"), std::string::npos) << s.message;
}

TEST_F(EmulatorDevice, MemoryUsedAgainStartsUnwritten) {
  // The second value of the place lacks an element, which the first one had.
  std::vector<Command> list = {
      add(at(Space::Argument, 0), at(Space::Arena, 0), 1),
      add(at(Space::Arena, 0), at(Space::Arena, kBytes), 1),
      add(at(Space::Arena, kBytes), at(Space::Arena, 0), 1, 31),
      add(at(Space::Arena, 0), at(Space::Result, 0), 1)};
  Status s = run(list);
  EXPECT_NE(s.message.find("initcheck"), std::string::npos) << s.message;
  EXPECT_NE(s.message.find("offset 124"), std::string::npos) << s.message;
  options.sanitizers = kMemcheck;
  s = run(list);
  ASSERT_TRUE(s.ok()) << s.message;
  EXPECT_NE(out[31], out[31]);
  EXPECT_EQ(out[30], in[30] + 4);
}

TEST_F(EmulatorDevice, AValueWrittenOverItsInputHasItsOwnBytesOnly) {
  std::vector<Command> list = {
      add(at(Space::Argument, 0), at(Space::Arena, 0), 1),
      add(at(Space::Arena, 0), at(Space::Arena, 0), 1, 31),
      add(at(Space::Arena, 0), at(Space::Result, 0), 1)};
  Status s = run(list);
  EXPECT_NE(s.message.find("initcheck"), std::string::npos) << s.message;
  EXPECT_NE(s.message.find("offset 124"), std::string::npos) << s.message;
  list[1] = add(at(Space::Arena, 0), at(Space::Arena, 0), 1);
  s = run(list);
  EXPECT_TRUE(s.ok()) << s.message;
}

TEST_F(EmulatorDevice, BoundsAreThoseOfThePlannedBuffer) {
  // The buffer is half of the result's memory, which goes on behind it.
  Status s =
      run({add(at(Space::Argument, 0), at(Space::Result, 0, kBytes / 2), 1)});
  EXPECT_NE(s.message.find("memcheck"), std::string::npos) << s.message;
  EXPECT_NE(s.message.find("result 0"), std::string::npos) << s.message;
  EXPECT_NE(s.message.find("add_scalar"), std::string::npos) << s.message;
}

TEST_F(EmulatorDevice, OtherFindingsAreCountedBehindTheFirst) {
  // Out of bounds on both sides: two ops.
  Status s = run({add(at(Space::Argument, 0, kBytes / 2),
                      at(Space::Result, 0, kBytes / 2), 1)});
  EXPECT_NE(s.message.find("(and 1 more)"), std::string::npos) << s.message;
  EXPECT_EQ(executable->reports()[0].sum.findings.size(), 2u);
}

TEST_F(EmulatorDevice, AsManyFindingsAreShownAsAskedFor) {
  options.maxFindings = 2;
  Status s = run({add(at(Space::Argument, 0, kBytes / 2),
                      at(Space::Result, 0, kBytes / 2), 1)});
  EXPECT_EQ(s.message.find("more)"), std::string::npos) << s.message;
  EXPECT_EQ(std::count(s.message.begin(), s.message.end(), '\n'), 1);
}

TEST_F(EmulatorDevice, ResultsHaveToBeWrittenWhole) {
  Status s = run({fill(at(Space::Result, 0, kBytes / 2), 1.0f)});
  EXPECT_NE(s.message.find("initcheck: expected all " + std::to_string(kBytes) +
                           " bytes of result 0"),
            std::string::npos)
      << s.message;
  EXPECT_NE(s.message.find("found " + std::to_string(kBytes / 2) +
                           " that no kernel, copy or fill wrote, the first at "
                           "byte " +
                           std::to_string(kBytes / 2)),
            std::string::npos)
      << s.message;
}

TEST_F(EmulatorDevice, BuffersOfALaunchMayOverlap) {
  // In place, and a slice of a buffer that is an argument too.
  Status s =
      run({fill(at(Space::Arena, 0, 2 * kBytes), 1.0f),
           add(at(Space::Arena, 0, 2 * kBytes), at(Space::Arena, kBytes), 2),
           add(at(Space::Arena, kBytes), at(Space::Arena, kBytes), 1),
           copy(at(Space::Arena, kBytes), at(Space::Result, 0))});
  ASSERT_TRUE(s.ok()) << s.message;
  EXPECT_EQ(out[5], 4.0f);
}

TEST_F(EmulatorDevice, PointerTablesReachTheirBuffers) {
  Command c;
  c.kernel = 1;
  LaunchArg table;
  table.kind = LaunchArg::Kind::PointerTable;
  table.buffers = {at(Space::Arena, 2 * kBytes), at(Space::Result, 0)};
  c.args = {table};
  Status s =
      run({c, add(at(Space::Arena, 2 * kBytes), at(Space::Arena, 0), 0)});
  ASSERT_TRUE(s.ok()) << s.message;
  EXPECT_EQ(out[31], 1.0f);
}

TEST_F(EmulatorDevice, RefusesWhatItCannotLoadOrRun) {
  function.commands = {add(at(Space::Argument, 0), at(Space::Result, 0), 1)};
  auto loadError = [&] {
    return EmulatorExecutable::load(function, program, options, executable)
        .message;
  };
  options.target = "sm_90";
  EXPECT_EQ(loadError(),
            "expected one emulator image for sm_90 of function 'main', found "
            "emulator for sm_80; pass the model itself (MODEL.mlir), or "
            "recompile with --emulator");
  options.target = "sm_80";
  program.target = "cpu";
  EXPECT_NE(loadError().find("this device is 'emulator'"), std::string::npos);
  program.target = "cuda";
  ASSERT_EQ(loadError(), "");
  EXPECT_EQ(executable->target(), "sm_80");

  void *results[] = {out.data()};
  void *none[] = {nullptr}, *odd[] = {in.data() + 1};
  EXPECT_EQ(executable->run(none, results).message,
            "expected a pointer to float32[3,32] for argument 0 'x', got null");
  EXPECT_NE(executable->run(odd, results).message.find("aligned to 16 bytes"),
            std::string::npos);
}

TEST_F(EmulatorDevice, IsADeviceOfTheCInterface) {
  function.commands = {add(at(Space::Argument, 0), at(Space::Result, 0), 1)};
  program.functions = {function};
  std::vector<uint8_t> bundle = serializeProgram(program);
  auto take = [](HeddleStatus status) {
    std::string message = heddleStatusMessage(status);
    heddleStatusFree(status);
    return message;
  };
  HeddleProgram *loaded = nullptr;
  ASSERT_EQ(
      take(heddleProgramLoadMemory(bundle.data(), bundle.size(), &loaded)), "");
  HeddleSessionOptions sessionOptions = {};
  sessionOptions.structSize = sizeof sessionOptions;
  sessionOptions.target = "sm_80";
  sessionOptions.sanitize = "memcheck,racecheck";
  sessionOptions.seed = 3;
  HeddleSession *session = nullptr;
  auto create = [&] {
    return take(
        heddleSessionCreate(loaded, 0, "emulator", &sessionOptions, &session));
  };
  ASSERT_EQ(create(), "");
  EXPECT_EQ(heddleSessionNumThreads(session), 0);
  void *args[] = {in.data()}, *results[] = {out.data()};
  EXPECT_EQ(take(heddleSessionRun(session, args, 1, results, 1)), "");
  EXPECT_EQ(out[5], in[5] + 1);
  EXPECT_EQ(take(heddleSessionRun(session, args, 0, results, 1)),
            "expected 1 arguments, got 0");
  heddleSessionFree(session);
  sessionOptions.sanitize = "warpcheck";
  EXPECT_NE(create().find("warpcheck"), std::string::npos);
  sessionOptions.sanitize = nullptr;
  sessionOptions.target = "sm_90";
  EXPECT_NE(create().find("expected one emulator image for sm_90"),
            std::string::npos);
  heddleProgramFree(loaded);

  // A fault is the error of the run.
  function.commands = {
      add(at(Space::Argument, 0), at(Space::Result, 0, kBytes / 2), 1)};
  program.functions = {function};
  bundle = serializeProgram(program);
  ASSERT_EQ(
      take(heddleProgramLoadMemory(bundle.data(), bundle.size(), &loaded)), "");
  ASSERT_EQ(take(heddleSessionCreate(loaded, 0, "emulator", nullptr, &session)),
            "");
  EXPECT_NE(
      take(heddleSessionRun(session, args, 1, results, 1)).find("memcheck"),
      std::string::npos);
  heddleSessionFree(session);
  heddleProgramFree(loaded);
}

TEST_F(EmulatorDevice, CodeForFeaturesThatThisCpuLacksIsRefused) {
  function.commands = {add(at(Space::Argument, 0), at(Space::Result, 0), 1)};
  program.isaFeatures = {"sse2", "no-such-feature"};
  EXPECT_NE(EmulatorExecutable::load(function, program, options, executable)
                .message.find("needs the CPU features no-such-feature"),
            std::string::npos);
}

TEST_F(EmulatorDevice, AResultMayLiveInADonatedArgument) {
  function.arguments[0].donated = true;
  function.results[0].alias = 0;
  function.commands = {add(at(Space::Result, 0), at(Space::Result, 0), 5)};
  ASSERT_TRUE(
      EmulatorExecutable::load(function, program, options, executable).ok());
  void *args[] = {in.data()}, *other[] = {out.data()};
  EXPECT_NE(executable->run(args, other).message.find("donated argument 0"),
            std::string::npos);
  Status s = executable->run(args, args);
  ASSERT_TRUE(s.ok()) << s.message;
  EXPECT_EQ(in[4], 9.0f);
}

} // namespace
