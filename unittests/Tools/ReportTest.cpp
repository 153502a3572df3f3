//===- ReportTest.cpp - reports of compiled programs ----------------------===//

#include "common/Report.h"

#include <gtest/gtest.h>

#include <sstream>

using namespace heddle;

/// Two layers as a repeat round one launch, and a launch after it.
static Function layered() {
  Function function;
  function.name = "layered";
  NamedTensorType x;
  x.name = "x";
  x.type.shape = {256, 1024};
  function.arguments = {x};
  x.name.clear();
  function.results = {x};
  KernelInfo layer, norm;
  layer.name = "matmul_0";
  layer.family = "matmul";
  layer.flops = 100;
  norm.name = "rows_1";
  norm.family = "rows";
  norm.flops = 7;
  function.kernels = {layer, norm};
  Command launch, repeat;
  repeat.kind = Command::Kind::Repeat;
  repeat.count = 12;
  repeat.body = {launch, launch};
  Command last;
  last.kernel = 1;
  function.commands = {repeat, last};
  function.plan.argBytes = 1 << 20;
  function.plan.outBytes = 1 << 20;
  function.plan.aliasBytes = 1 << 19;
  function.plan.arenaBytes = 3 << 20;
  function.plan.scratchBytesPerThread = 1 << 18;
  function.plan.planHash = 0xabc;
  return function;
}

TEST(Report, LaunchesCountTheIterationsOfRepeats) {
  Json report = reportFunction(layered(), 4);
  EXPECT_EQ(report["kernels"][0]["launches"], 24);
  EXPECT_EQ(report["kernels"][1]["launches"], 1);
  EXPECT_EQ(report["flops"], 24 * 100 + 7);
  EXPECT_EQ(report["commands"]["launch"], 3);
  EXPECT_EQ(report["commands"]["repeat"], 1);
}

TEST(Report, MemoryIsForTheGivenNumberOfThreads) {
  Json plan = reportFunction(layered(), 4)["plan"];
  EXPECT_EQ(plan["temp_mb"], 4.0);
  EXPECT_EQ(plan["footprint_mb"], 1 + 1 + 4 - 0.5);
  EXPECT_EQ(reportFunction(layered(), 1)["plan"]["temp_mb"], 3.25);
  EXPECT_EQ(plan["hash"], "0x0000000000000abc");
}

TEST(Report, TextAndJsonTellTheSame) {
  Program program;
  program.target = "cpu";
  program.isa = "x86-64-v3";
  program.producer = "a test";
  program.functions = {layered()};
  std::ostringstream text;
  printProgramReport(program, 2, text);
  for (const char *part :
       {"target cpu, x86-64-v3, made by a test", "function layered",
        "float32[256,1024]", "matmul_0", "rows_1",
        "commands: 3 launch, 0 copy, 0 fill, 1 repeat",
        "arg 1.000  out 1.000  temp 3.500  alias 0.500  footprint 5.000"})
    EXPECT_NE(text.str().find(part), std::string::npos) << part;
}

TEST(Report, ImagesShowWhatTheirKernelsTake) {
  Function function = layered();
  EXPECT_TRUE(reportFunction(function, 1)["images"].empty());
  GpuImage image;
  image.target = "sm_90a";
  image.kind = GpuImageKind::Cubin;
  image.bytes.resize(77);
  image.kernels.resize(2);
  GpuKernel &k = image.kernels[0];
  k.symbol = "matmul_0";
  k.grid = {64, 3, 2};
  k.block = {128, 1, 1};
  k.sharedBytes = 98304;
  k.registers = 168;
  k.spillBytes = 0;
  k.stackBytes = 16;
  k.staticSharedBytes = 32;
  k.tile = "128x128x64";
  k.globalBytes = 3 << 20;
  image.kernels[1].symbol = "rows_1";
  function.images = {image};
  function.kernels[0].flops = 5000000;
  function.kernels[0].minBytes = 2 << 20;
  KernelFactsOf facts = [](const std::string &target, const KernelInfo &info,
                           const GpuKernel &) {
    KernelFacts f;
    if (info.flops < 1000)
      return f;
    f.chip = "a chip of " + target;
    f.rooflineSeconds = 2.5e-6;
    f.rooflineLimit = "memory";
    f.occupancy = KernelOccupancy{3, 0.25, "warps"};
    return f;
  };
  Json known = reportFunction(function, 1, facts)["images"][0]["kernels"];
  EXPECT_EQ(known[0]["roofline_us"], 2.5);
  EXPECT_EQ(known[0]["roofline_limit"], "memory");
  EXPECT_EQ(known[0]["chip"], "a chip of sm_90a");
  EXPECT_EQ(known[0]["occupancy"], 0.25);
  EXPECT_EQ(known[0]["global_bytes"], 3 << 20);
  EXPECT_FALSE(known[1].contains("chip"));
  EXPECT_TRUE(known[1]["global_bytes"].is_null());
  std::ostringstream work;
  printFunctionReport(function, 1, work, facts);
  for (const char *part :
       {"least time on a chip of sm_90a",
        "matmul_0      5.000      2.000      3.000   1.50  2.500 us, limited by "
        "memory",
        "rows_1        0.000      0.000          ?      ?\n"})
    EXPECT_NE(work.str().find(part), std::string::npos) << work.str();
  Json json = reportFunction(function, 1)["images"][0];
  EXPECT_EQ(json["kind"], "cubin");
  EXPECT_EQ(json["bytes"], 77);
  EXPECT_EQ(json["kernels"][0]["grid"], (std::vector<int>{64, 3, 2}));
  EXPECT_EQ(json["kernels"][0]["stack_bytes"], 16);
  EXPECT_TRUE(json["kernels"][1]["registers"].is_null()); // not known
  std::ostringstream text;
  printFunctionReport(function, 1, text);
  for (const char *part :
       {"cubin for sm_90a, 77 bytes",
        "matmul_0   64x3x2    128        168      0     16    98336",
        "rows_1          1      1          ?      ?      ?        0"})
    EXPECT_NE(text.str().find(part), std::string::npos) << text.str();
}

TEST(Report, FormatsAreTextAndJson) {
  ReportFormat format = ReportFormat::None;
  EXPECT_TRUE(parseReportFormat("", format).ok());
  EXPECT_EQ(format, ReportFormat::Text);
  EXPECT_TRUE(parseReportFormat("json", format).ok());
  EXPECT_EQ(format, ReportFormat::Json);
  EXPECT_EQ(parseReportFormat("xml", format).message,
            "expected --report=text or --report=json, got 'xml'");
}
