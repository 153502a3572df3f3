//===- VectorMathTest.cpp - the stated error bounds hold ------------------===//
//
// Compiles math.exp2, exp, tanh and erf of a tensor for the CPU, runs them on a
// dense sample of all floats and compares with long double.
//
//===----------------------------------------------------------------------===//

#include "heddle/Pipelines/Pipelines.h"
#include "heddle/Runtime/CpuDevice.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

#include <cmath>
#include <cstring>
#include <limits>

using namespace heddle;

namespace {
constexpr int64_t kCount = 1 << 20;

/// Every 8191st bit pattern, so that all exponents and signs, infinities, NaN
/// and denormals come up, then the range where results are neither 0, 1 nor
/// infinite.
std::vector<float> samples() {
  std::vector<float> x;
  for (uint64_t bits = 0; bits < (1ull << 32) && x.size() < kCount / 2;
       bits += 8191) {
    uint32_t b = static_cast<uint32_t>(bits);
    float f;
    std::memcpy(&f, &b, sizeof(f));
    x.push_back(f);
  }
  for (float special : {0.0f, -0.0f, 1.0f, -1.0f,
                        std::numeric_limits<float>::infinity(),
                        -std::numeric_limits<float>::infinity(),
                        std::numeric_limits<float>::quiet_NaN(), 0.5f, -0.5f,
                        0.625f, 127.5f, 128.0f, -126.0f, -127.0f, 88.7f})
    x.push_back(special);
  while (x.size() < kCount)
    x.push_back(-130.0f + 260.0f * (static_cast<float>(x.size()) / kCount * 2 - 1));
  return x;
}

class VectorMath : public testing::TestWithParam<const char *> {
protected:
  std::vector<float> run(const std::string &op, std::vector<float> &x) {
    std::string type = "tensor<" + std::to_string(kCount) + "xf32>";
    std::string text = "func.func @f(%x: " + type + ") -> " + type +
                       " {\n  %y = math." + op + " %x : " + type +
                       "\n  return %y : " + type + "\n}\n";
    mlir::DialectRegistry registry;
    registerCompilerDialects(registry);
    mlir::MLIRContext context(registry);
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    CompileOptions options;
    options.cpu = GetParam();
    Program program;
    std::vector<float> y(kCount);
    EXPECT_TRUE(module && succeeded(compileModule(*module, options, program)));
    if (program.functions.empty())
      return y;
    std::unique_ptr<CpuExecutable> executable;
    Status status =
        CpuExecutable::load(program.functions[0], program, {}, executable);
    EXPECT_TRUE(status.ok()) << status.message;
    if (!status.ok())
      return y;
    void *args[] = {x.data()};
    void *results[] = {y.data()};
    EXPECT_TRUE(executable->run(args, results).ok());
    return y;
  }

  /// Largest error in units of the last place of the exact value, over samples
  /// in [low, high].
  template <typename F>
  double maxUlp(const std::string &op, F exact, float low, float high) {
    if (!cpuHasFeature("avx512f") && std::string(GetParam()) == "x86-64-v4")
      return 0;
    std::vector<float> x = samples();
    std::vector<float> y = run(op, x);
    double worst = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      if (std::isnan(x[i])) {
        EXPECT_TRUE(std::isnan(y[i])) << op << " of NaN";
        continue;
      }
      if (!(x[i] >= low && x[i] <= high))
        continue;
      long double want = exact(static_cast<long double>(x[i]));
      float nearest = static_cast<float>(want);
      double ulp = std::nextafter(std::fabs(nearest),
                                  std::numeric_limits<float>::infinity()) -
                   std::fabs(nearest);
      double error = std::fabs(static_cast<double>(y[i] - want)) / ulp;
      worst = std::max(worst, error);
    }
    return worst;
  }

  std::vector<float> at(const std::string &op, std::vector<float> some) {
    some.resize(kCount, 0.0f);
    return run(op, some);
  }
};
} // namespace

TEST_P(VectorMath, Exp2) {
  EXPECT_LE(maxUlp("exp2", [](long double v) { return exp2l(v); }, -125, 127.9999f),
            2.0);
}
TEST_P(VectorMath, Exp) {
  EXPECT_LE(maxUlp("exp", [](long double v) { return expl(v); }, -86, 88.7f), 3.0);
}
TEST_P(VectorMath, Tanh) {
  EXPECT_LE(maxUlp("tanh", [](long double v) { return tanhl(v); }, -1e30f, 1e30f),
            5.0);
}
TEST_P(VectorMath, Erf) {
  if (!cpuHasFeature("avx512f") && std::string(GetParam()) == "x86-64-v4")
    GTEST_SKIP() << "this CPU has no AVX-512";
  std::vector<float> x = samples();
  std::vector<float> y = run("erf", x);
  double worst = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    if (std::isnan(x[i]))
      EXPECT_TRUE(std::isnan(y[i]));
    else
      worst = std::max(worst, std::fabs(static_cast<double>(
                                  y[i] - erfl(static_cast<long double>(x[i])))));
  }
  EXPECT_LE(worst, 3e-7);
}
TEST_P(VectorMath, SinAndCos) {
  if (!cpuHasFeature("avx512f") && std::string(GetParam()) == "x86-64-v4")
    GTEST_SKIP() << "this CPU has no AVX-512";
  std::vector<float> x = samples();
  auto worst = [&](const char *op, auto exact) {
    std::vector<float> y = run(op, x);
    double worst = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      if (!std::isfinite(x[i])) {
        EXPECT_TRUE(std::isnan(y[i])) << op << " of " << x[i];
        continue;
      }
      if (std::fabs(x[i]) <= 1000)
        worst = std::max(worst, std::fabs(static_cast<double>(
                                    y[i] - exact(static_cast<long double>(x[i])))));
    }
    return worst;
  };
  EXPECT_LE(worst("sin", [](long double v) { return sinl(v); }), 1e-7);
  EXPECT_LE(worst("cos", [](long double v) { return cosl(v); }), 1e-7);
}
TEST_P(VectorMath, EndsOfTheRange) {
  if (!cpuHasFeature("avx512f") && std::string(GetParam()) == "x86-64-v4")
    GTEST_SKIP() << "this CPU has no AVX-512";
  const float inf = std::numeric_limits<float>::infinity();
  std::vector<float> y = at("exp2", {inf, -inf, 128, 1000, -127, -1000, 0});
  EXPECT_EQ(y[0], inf);
  EXPECT_EQ(y[1], 0);
  EXPECT_EQ(y[2], inf);
  EXPECT_EQ(y[3], inf);
  EXPECT_EQ(y[4], 0);
  EXPECT_EQ(y[5], 0);
  EXPECT_EQ(y[6], 1);
  y = at("exp", {inf, -inf, 100, -100, 0});
  EXPECT_EQ(y[0], inf);
  EXPECT_EQ(y[1], 0);
  EXPECT_EQ(y[2], inf);
  EXPECT_EQ(y[3], 0);
  EXPECT_EQ(y[4], 1);
  y = at("tanh", {inf, -inf, 20, -20, -0.0f});
  EXPECT_EQ(y[0], 1);
  EXPECT_EQ(y[1], -1);
  EXPECT_EQ(y[2], 1);
  EXPECT_EQ(y[3], -1);
  EXPECT_TRUE(std::signbit(y[4]) && y[4] == 0);
}

INSTANTIATE_TEST_SUITE_P(Cpu, VectorMath,
                         testing::Values("x86-64-v3", "x86-64-v4"),
                         [](const auto &info) {
                           return std::string(info.param) == "x86-64-v3" ? "v3"
                                                                         : "v4";
                         });
