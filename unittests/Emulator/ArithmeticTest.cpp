//===- ArithmeticTest.cpp - approximate functions, conversions, votes -----===//
//
// Bounds are those of the PTX ISA for the instructions.
//
//===----------------------------------------------------------------------===//

#include "KernelTest.h"

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

using namespace heddle;
using namespace heddle::test;

namespace {
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kSubnormal = 1e-40f;

class Arithmetic : public testing::Test {
protected:
  static void SetUpTestSuite() {
    module = loadText(readInput("arithmetic.mlir")).release();
  }
  static void TearDownTestSuite() { delete module; }
  void SetUp() override { ASSERT_NE(module, nullptr); }
  std::vector<float> run(const char *kernel, std::vector<float> x) {
    std::vector<float> y(x.size());
    Launch launch(kernel, {1}, {static_cast<int64_t>(x.size())});
    launch.buffer("x", x).buffer("y", y, false);
    LaunchReport report = runClean(*module, launch);
    EXPECT_EQ(report.counters.specialFunctionOps, x.size());
    return y;
  }
  /// Largest relative error over (low, high).
  double relativeError(const char *kernel, float low, float high,
                       const std::function<double(double)> &exact) {
    std::vector<float> x = randomFloats(1024, 9);
    for (float &v : x)
      v = low + (v + 1) / 2 * (high - low);
    std::vector<float> y = run(kernel, x);
    double worst = 0;
    for (size_t i = 0; i < x.size(); ++i)
      worst = std::max(worst, std::abs(y[i] / exact(x[i]) - 1));
    return worst;
  }
  static EmulatorModule *module;
};
EmulatorModule *Arithmetic::module = nullptr;

TEST_F(Arithmetic, Ex2) {
  EXPECT_LE(
      relativeError("ex2", -120, 120, [](double v) { return std::exp2(v); }),
      std::exp2(-22.5));
  std::vector<float> y =
      run("ex2", {-kInf, kInf, 0, kSubnormal, -130, 128, kNan});
  EXPECT_EQ(y[0], 0);
  EXPECT_EQ(y[1], kInf);
  EXPECT_EQ(y[2], 1);
  EXPECT_EQ(y[3], 1);
  EXPECT_EQ(y[4], 0); // a subnormal result is flushed
  EXPECT_EQ(y[5], kInf);
  EXPECT_TRUE(std::isnan(y[6]));
}

TEST_F(Arithmetic, Lg2) {
  EXPECT_LE(
      relativeError("lg2", 2.0f, 1e30f, [](double v) { return std::log2(v); }),
      std::exp2(-22));
  std::vector<float> y = run("lg2", {0, -0.0f, kSubnormal, kInf, -1, 1});
  EXPECT_EQ(y[0], -kInf);
  EXPECT_EQ(y[1], -kInf);
  EXPECT_EQ(y[2], -kInf);
  EXPECT_EQ(y[3], kInf);
  EXPECT_TRUE(std::isnan(y[4]));
  EXPECT_EQ(y[5], 0);
}

TEST_F(Arithmetic, Rcp) {
  EXPECT_LE(relativeError("rcp", 1e-3f, 1e3f, [](double v) { return 1 / v; }),
            std::exp2(-23));
  std::vector<float> y =
      run("rcp", {0, -0.0f, -kSubnormal, kInf, -kInf, 3e38f});
  EXPECT_EQ(y[0], kInf);
  EXPECT_EQ(y[1], -kInf);
  EXPECT_EQ(y[2], -kInf);
  EXPECT_EQ(y[3], 0);
  EXPECT_TRUE(y[4] == 0 && std::signbit(y[4]));
  EXPECT_EQ(y[5], 0);
}

TEST_F(Arithmetic, Rsqrt) {
  EXPECT_LE(relativeError("rsqrt", 1e-30f, 1e30f,
                          [](double v) { return 1 / std::sqrt(v); }),
            std::exp2(-22.9));
  std::vector<float> y = run("rsqrt", {0, -0.0f, kSubnormal, kInf, -1});
  EXPECT_EQ(y[0], kInf);
  EXPECT_EQ(y[1], -kInf);
  EXPECT_EQ(y[2], kInf);
  EXPECT_EQ(y[3], 0);
  EXPECT_TRUE(std::isnan(y[4]));
}

TEST_F(Arithmetic, TanhHasElevenBits) {
  double worst =
      relativeError("tanh", -3, 3, [](double v) { return std::tanh(v); });
  EXPECT_LE(worst, std::exp2(-11));
  EXPECT_GE(worst, std::exp2(-13)); // as coarse as the instruction
  std::vector<float> y = run("tanh", {kInf, -kInf, 0, kSubnormal});
  EXPECT_EQ(y[0], 1);
  EXPECT_EQ(y[1], -1);
  EXPECT_EQ(y[2], 0);
  EXPECT_GT(y[3], 0);
}

TEST_F(Arithmetic, ConversionsRoundToNearest) {
  std::vector<float> x = randomFloats(1000, 11);
  // Ties, overflow, subnormal results and NaN of f16.
  for (float v : {65504.0f, 65519.9f, 65520.0f, 1e6f, 6e-8f, 3e-8f, 2.9e-8f,
                  1.0f + 1.0f / 2048, 1.0f + 3.0f / 2048, 6.1e-5f, 3.05e-5f,
                  kInf, 0.0f, 1.00390625f})
    x.push_back(v);
  for (size_t i = 0; i < 1000; ++i)
    x[i] = std::ldexp(x[i], static_cast<int>(i % 40) - 30);
  std::vector<uint32_t> y(3 * x.size());
  Launch launch("convert", {1}, {static_cast<int64_t>(x.size())});
  launch.buffer("x", x).buffer("y", y, false);
  LaunchReport report = runClean(*module, launch);
  EXPECT_EQ(report.counters.conversionOps, 3 * x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    uint16_t want[4];
    storeElement(want, DType::BF16, 0, -x[i]);
    storeElement(want, DType::BF16, 1, x[i]);
    storeElement(want, DType::F16, 2, -x[i]);
    storeElement(want, DType::F16, 3, x[i]);
    EXPECT_EQ(y[3 * i], want[0] | uint32_t(want[1]) << 16) << x[i];
    EXPECT_EQ(y[3 * i + 1], want[2] | uint32_t(want[3]) << 16) << x[i];
    float tf32;
    std::memcpy(&tf32, &y[3 * i + 2], 4);
    EXPECT_EQ(y[3 * i + 2] & 0x1fff, 0u);
    if (std::isfinite(x[i]) && x[i] != 0)
      EXPECT_LE(std::abs(tf32 / x[i] - 1), std::exp2(-11));
  }
}

TEST_F(Arithmetic, Collectives) {
  std::vector<uint32_t> y(14 * 32);
  Launch launch("collectives", {1}, {32});
  launch.buffer("y", y, false);
  for (uint64_t seed : {0, 1, 12345}) {
    launch.options.seed = seed;
    LaunchReport report = runClean(*module, launch);
    EXPECT_EQ(report.counters.shuffles, 5u);
    EXPECT_EQ(report.counters.votes, 9u);
    for (uint32_t l = 0; l < 32; ++l) {
      EXPECT_EQ(y[l], (l & ~7u) + 3);
      EXPECT_EQ(y[32 + l], l % 8 ? l - 1 : l);
      EXPECT_EQ(y[64 + l], l % 8 != 7 ? l + 1 : l);
      EXPECT_EQ(y[96 + l], l % 8 != 7);
      EXPECT_EQ(y[128 + l], 0xaaaaaaaau);
      // Value, and in bit 16 whether it comes from another lane of the segment.
      EXPECT_EQ(y[352 + l], l % 8 >= 3 ? l - 3 | 1u << 16 : l);
      EXPECT_EQ(y[384 + l], l % 8 <= 5 ? l | 1u << 16 : l);
      EXPECT_EQ(y[416 + l], 6u);
      EXPECT_EQ(y[160 + l], 2u);
      EXPECT_EQ(y[192 + l], 31u * 32 / 2);
      EXPECT_EQ(y[224 + l], l == 0);
      EXPECT_EQ(y[256 + l], 16u);
      EXPECT_EQ(y[288 + l], 0u);
      EXPECT_EQ(y[320 + l], 0x33225544u);
    }
  }
}
} // namespace

// Ordinary instructions are counted per thread; a vector counts as its
// elements.
TEST(OrdinaryArithmetic, IsCountedByKind) {
  std::unique_ptr<EmulatorModule> module = loadText(R"(
llvm.func @k(%x: !llvm.ptr<1>) attributes {nvvm.kernel} {
  %lane = nvvm.read.ptx.sreg.tid.x : i32
  %c3 = llvm.mlir.constant(3 : i32) : i32
  %c1 = llvm.mlir.constant(1 : i32) : i32
  %p = llvm.getelementptr %x[%lane] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, vector<4xf32>
  %v = llvm.load %p : !llvm.ptr<1> -> vector<4xf32>
  %fma = llvm.intr.fma(%v, %v, %v) : (vector<4xf32>, vector<4xf32>, vector<4xf32>) -> vector<4xf32>
  %mul = llvm.fmul %fma, %v : vector<4xf32>
  %max = llvm.intr.maxnum(%mul, %v) : (vector<4xf32>, vector<4xf32>) -> vector<4xf32>
  %wide = llvm.fpext %max : vector<4xf32> to vector<4xf64>
  %double = llvm.fadd %wide, %wide : vector<4xf64>
  %back = llvm.fptrunc %double : vector<4xf64> to vector<4xf32>
  llvm.store %back, %p : vector<4xf32>, !llvm.ptr<1>
  llvm.br ^loop(%lane : i32)
^loop(%i: i32):
  %next = llvm.add %i, %c1 : i32
  %more = llvm.icmp "ult" %next, %c3 : i32
  llvm.cond_br %more, ^loop(%next : i32), ^end
^end:
  llvm.return
})");
  ASSERT_TRUE(module);
  std::vector<float> x(4 * 4, 1.0f);
  for (uint64_t seed : {0, 7}) {
    Launch launch("k", {1}, {4});
    launch.options.seed = seed;
    launch.buffer("x", x);
    const EmulatorCounters c = runClean(*module, launch).counters;
    EXPECT_EQ(c.f32FmaOps, 16u);
    EXPECT_EQ(c.f32AddMulOps, 16u);
    EXPECT_EQ(c.f32OtherOps, 16u);
    EXPECT_EQ(c.f32Flops, 48u);
    EXPECT_EQ(c.f64Ops, 16u);
    EXPECT_EQ(c.f16Ops, 0u);
    EXPECT_EQ(c.conversionOps, 32u);
    // The loop runs 3, 2, 1 and 1 times.
    EXPECT_EQ(c.integerOps, 14u);
    EXPECT_EQ(c.controlOps, 4u + 7 + 4);
  }
}
