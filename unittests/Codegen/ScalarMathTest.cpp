//===- ScalarMathTest.cpp - the stated errors of f64 functions hold -------===//
//
// Compiles functions of f64 for a GPU, runs them on the emulator over all
// exponents and the ranges where they change, and compares with long double.
//
//===----------------------------------------------------------------------===//

#include "heddle/Pipelines/Pipelines.h"
#include "heddle/Runtime/EmulatorDevice.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>

using namespace heddle;

namespace {
using Exact = long double (*)(long double, long double);
struct Tested {
  const char *op; // of math, or arith.remf
  Exact exact;
  bool binary;
  double low, high; // where most samples are
  double ulps;
};

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr int64_t kCount = 1 << 13;

#define UNARY(f) [](long double x, long double) { return f(x); }
const Tested kTested[] = {
    {"math.exp", UNARY(expl), false, -745, 710, 2},
    {"math.exp2", UNARY(exp2l), false, -1075, 1024, 2},
    {"math.expm1", UNARY(expm1l), false, -3, 3, 2},
    {"math.log", UNARY(logl), false, 0.4, 2.5, 2},
    {"math.log2", UNARY(log2l), false, 0.4, 2.5, 2},
    {"math.log10", UNARY(log10l), false, 0.4, 2.5, 2},
    {"math.log1p", UNARY(log1pl), false, -0.99, 2, 2},
    {"math.cbrt", UNARY(cbrtl), false, -10, 10, 2},
    {"math.sin", UNARY(sinl), false, -20, 20, 2},
    {"math.cos", UNARY(cosl), false, -20, 20, 2},
    {"math.tan", UNARY(tanl), false, -20, 20, 4},
    {"math.asin", UNARY(asinl), false, -1, 1, 2},
    {"math.acos", UNARY(acosl), false, -1, 1, 2},
    {"math.atan", UNARY(atanl), false, -4, 4, 2},
    {"math.sinh", UNARY(sinhl), false, -30, 30, 4},
    {"math.cosh", UNARY(coshl), false, -30, 30, 4},
    {"math.tanh", UNARY(tanhl), false, -10, 10, 4},
    {"math.asinh", UNARY(asinhl), false, -3, 3, 4},
    {"math.acosh", UNARY(acoshl), false, 1, 4, 4},
    {"math.atanh", UNARY(atanhl), false, -1, 1, 4},
    {"math.erf", UNARY(erfl), false, -4, 4, 2},
    {"math.erfc", UNARY(erfcl), false, -4, 26.5, 8},
    {"math.rsqrt", [](long double x, long double) { return 1 / sqrtl(x); },
     false, 0.1, 10, 2},
    {"math.atan2", [](long double x, long double y) { return atan2l(x, y); },
     true, -3, 3, 4},
    {"math.powf", [](long double x, long double y) { return powl(x, y); }, true,
     0.01, 40, 8},
    {"arith.remf", [](long double x, long double y) { return fmodl(x, y); },
     true, -30, 30, 0},
};

struct Aligned {
  explicit Aligned(int64_t n)
      : data(static_cast<double *>(std::aligned_alloc(64, 8 * n))) {}
  ~Aligned() { std::free(data); }
  double *data;
};

double fromBits(uint64_t bits) {
  double x;
  std::memcpy(&x, &bits, 8);
  return x;
}

/// All exponents and both signs, then the range, then special values.
void fill(const Tested &t, double *x, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> inside(t.low, t.high);
  for (int64_t i = 0; i < kCount; ++i) {
    uint64_t bits = random();
    uint64_t exponent = static_cast<uint64_t>(i) / 2 % 2048;
    x[i] = i < kCount / 2
               ? fromBits((bits & 0x800fffffffffffffull) | exponent << 52)
               : inside(random);
  }
  const double special[] = {0.0,    -0.0, kInf, -kInf, kNan, 1.0,         -1.0,
                            0.5,    -0.5, 2.0,  -2.0,  3.0,  -3.0,        1e308,
                            5e-324, 0.25, 1e22, 4.0,   -7.0, 2147483647.0};
  size_t n = std::size(special);
  // Each with each, for functions of two.
  for (size_t i = 0; i < n; ++i)
    for (size_t j = 0; j < n; ++j)
      x[i * n + j] = special[seed % 2 ? i : j];
}

class ScalarMath : public ::testing::TestWithParam<Tested> {
protected:
  /// The results on (x, y), in one launch.
  static bool run(const Tested &t, double *x, double *y, double *z) {
    std::string type = "tensor<" + std::to_string(kCount) + "xf64>";
    std::string text = "func.func @f(%x: " + type + ", %y: " + type + ") -> " +
                       type + " {\n  %z = " + t.op + " %x" +
                       (t.binary ? ", %y" : "") + " : " + type +
                       "\n  return %z : " + type + "\n}\n";
    mlir::DialectRegistry registry;
    registerCompilerDialects(registry);
    mlir::MLIRContext context(registry);
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    CompileOptions options;
    options.target = "sm_80";
    options.gpu.makePtx = false;
    options.gpu.makeEmulator = true;
    Program program;
    EXPECT_TRUE(module && succeeded(compileModule(*module, options, program)));
    if (program.functions.empty())
      return false;
    EmulatorDeviceOptions device;
    device.sanitizers = kNoSanitizers;
    std::unique_ptr<EmulatorExecutable> executable;
    Status s = EmulatorExecutable::load(program.functions[0], program, device,
                                        executable);
    void *args[] = {x, y}, *results[] = {z};
    if (s)
      s = executable->run(args, results);
    EXPECT_TRUE(s.ok()) << s.message;
    return s.ok();
  }
};
} // namespace

TEST_P(ScalarMath, StaysWithinItsBound) {
  const Tested &t = GetParam();
  Aligned x(kCount), y(kCount), z(kCount);
  fill(t, x.data, 1);
  fill(t, y.data, 2);
  if (std::string(t.op) == "math.powf") // exponents of both signs
    for (int64_t i = kCount / 2; i < kCount; i += 2)
      y.data[i] = -y.data[i];
  ASSERT_TRUE(run(t, x.data, y.data, z.data));
  double worst = 0, at = 0, atY = 0;
  for (int64_t i = 0; i < kCount; ++i) {
    double got = z.data[i];
    long double want = t.exact(x.data[i], y.data[i]);
    double nearest = static_cast<double>(want);
    if (std::isnan(nearest) || std::isinf(nearest) || nearest == 0) {
      EXPECT_TRUE(std::isnan(nearest) ? std::isnan(got) : got == nearest)
          << t.op << " of " << x.data[i] << ", " << y.data[i] << ": expected "
          << nearest << ", got " << got;
      EXPECT_TRUE(nearest != 0 || std::signbit(got) == std::signbit(nearest))
          << "sign of zero, " << t.op << " of " << x.data[i] << ", "
          << y.data[i];
      continue;
    }
    if (std::fabs(nearest) < std::numeric_limits<double>::min()) {
      // A subnormal result has fewer digits.
      EXPECT_LE(std::fabs(got - nearest), 32 * 5e-324)
          << t.op << " of " << x.data[i];
      continue;
    }
    double unit = std::nextafter(std::fabs(nearest), kInf) - std::fabs(nearest);
    double ulps = static_cast<double>(fabsl(got - want) / unit);
    if (t.ulps == 0)
      ulps = got == nearest ? 0 : 1;
    if (!(ulps <= worst)) {
      worst = ulps;
      at = x.data[i];
      atY = y.data[i];
    }
  }
  EXPECT_LE(worst, t.ulps) << t.op << " of " << at << ", " << atY;
  RecordProperty("ulps", std::to_string(worst));
}

INSTANTIATE_TEST_SUITE_P(Gpu, ScalarMath, ::testing::ValuesIn(kTested),
                         [](const auto &info) {
                           std::string name = info.param.op;
                           return name.substr(name.find('.') + 1);
                         });
