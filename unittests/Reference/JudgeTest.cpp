//===- JudgeTest.cpp - how often the reference is drawn -------------------===//

#include "heddle/Reference/Judge.h"
#include "TestModule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

using namespace heddle;
using namespace heddle::test;
using llvm::SmallVectorImpl;

static ReferenceTensor reference(std::vector<double> values) {
  ReferenceTensor r;
  r.shape = {static_cast<int64_t>(values.size())};
  r.real = std::move(values);
  return r;
}

namespace {
/// Values whose declared error is `errors[draw]`, relative to their largest, 1.
struct Drawn {
  std::vector<double> errors;
  std::vector<uint32_t> seen;
  llvm::LogicalResult operator()(const ReferenceOptions &options,
                                 SmallVectorImpl<ReferenceTensor> &results) {
    double error = 0;
    if (options.mode == ReferenceMode::Declared) {
      seen.push_back(options.draw);
      error = options.draw < errors.size() ? errors[options.draw] : 0;
    }
    results.push_back(reference({1 + error}));
    return llvm::success();
  }
};
} // namespace

static CompareResult judgeOne(double value, Drawn &drawn,
                              const CompareOptions &options) {
  llvm::SmallVector<ReferenceTensor> exact;
  llvm::SmallVector<CompareResult> results;
  EXPECT_TRUE(llvm::succeeded(judgeResults(
      f32({1}, {value}), options,
      /*declared=*/true, /*threads=*/1,
      [&](const ReferenceOptions &options,
          SmallVectorImpl<ReferenceTensor> &results) {
        return drawn(options, results);
      },
      exact, results)));
  EXPECT_EQ(results.size(), 1u);
  return results.front();
}

static CompareOptions bf16Model() {
  CompareOptions options;
  options.model = true;
  options.computeType = DType::BF16;
  return options;
}

TEST(Judge, what_passes_by_the_nearest_rounding_is_not_drawn_again) {
  Drawn drawn{{1e-3, 1}, {}};
  EXPECT_TRUE(judgeOne(1.0014, drawn, bf16Model()).passed);
  EXPECT_EQ(drawn.seen, (std::vector<uint32_t>{0}));
}

TEST(Judge, a_declared_error_that_is_small_by_chance_is_drawn_again) {
  Drawn drawn{{1e-6, 1e-4, 2e-3, 1}, {}};
  CompareResult result = judgeOne(1.002, drawn, bf16Model());
  EXPECT_TRUE(result.passed) << result.failure;
  EXPECT_EQ(drawn.seen, (std::vector<uint32_t>{0, 1, 2}));
  EXPECT_NEAR(result.declaredRelError, 2e-3 / std::sqrt(2.0), 1e-9);
  EXPECT_NE(result.rule.find("declared, the largest of 3 draws"),
            std::string::npos)
      << result.rule;
}

TEST(Judge, an_error_beyond_every_draw_fails) {
  Drawn drawn{std::vector<double>(kMaxReferenceDraws + 5, 1e-3), {}};
  CompareResult result = judgeOne(1.0016, drawn, bf16Model());
  EXPECT_FALSE(result.passed);
  EXPECT_EQ(drawn.seen.size(), size_t(kMaxReferenceDraws + 1));
}

TEST(Judge, no_draw_lifts_an_absolute_cap_or_a_misplaced_nan) {
  CompareOptions options;
  options.computeType = DType::BF16;
  Drawn capped{{1e-3, 1, 1}, {}};
  EXPECT_FALSE(judgeOne(1.005, capped, options).passed);
  EXPECT_EQ(capped.seen.size(), 1u);
  Drawn nan{{1e-3, 1, 1}, {}};
  EXPECT_FALSE(judgeOne(std::nan(""), nan, options).passed);
  EXPECT_EQ(nan.seen.size(), 1u);
}

static const char *const rounded = R"(
  func.func @f(%x: tensor<?xf32>) -> tensor<?xbf16> {
    %0 = arith.truncf %x : tensor<?xf32> to tensor<?xbf16>
    return %0 : tensor<?xbf16>
  }
)";

static std::vector<double> roundWith(const std::vector<double> &values,
                                     ReferenceMode mode, uint32_t draw) {
  std::string text = rounded;
  for (size_t at; (at = text.find('?')) != std::string::npos;)
    text.replace(at, 1, std::to_string(values.size()));
  TestModule module(text);
  ReferenceOptions options;
  options.mode = mode;
  options.draw = draw;
  llvm::SmallVector<ReferenceTensor> results;
  EXPECT_TRUE(llvm::succeeded(evaluate(
      module.function(), f32({static_cast<int64_t>(values.size())}, values),
      options, results)));
  return results.front().real;
}

TEST(Draws, are_unbiased_and_of_twice_the_variance_of_nearest_rounding) {
  std::mt19937 generator(1);
  std::uniform_real_distribution<float> uniform(1, 2);
  std::vector<double> values(100000);
  for (double &value : values)
    value = uniform(generator);
  auto moments = [&](uint32_t draw) {
    std::vector<double> result =
        roundWith(values, ReferenceMode::Declared, draw);
    double mean = 0, square = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      double error = result[i] - values[i];
      mean += error / values.size();
      square += error * error / values.size();
    }
    return std::pair(mean, square);
  };
  double unit = std::ldexp(1.0, -7);
  EXPECT_NEAR(moments(0).second / (unit * unit / 12), 1, 0.02);
  for (uint32_t draw : {1, 2}) {
    auto [mean, square] = moments(draw);
    EXPECT_NEAR(mean / unit, 0, 0.005);
    EXPECT_NEAR(square / (unit * unit / 6), 1, 0.02);
  }
}

TEST(Draws, differ_and_leave_what_a_format_holds) {
  std::vector<double> values;
  for (int i = 1; i <= 12; ++i)
    values.push_back(1 + std::ldexp(i, -12));
  auto first = roundWith(values, ReferenceMode::Declared, 1);
  EXPECT_NE(first, roundWith(values, ReferenceMode::Declared, 2));
  EXPECT_EQ(first, roundWith(values, ReferenceMode::Declared, 1));
  std::vector<double> held = {0, 1, -1.5, 65536, 1.0078125};
  EXPECT_EQ(roundWith(held, ReferenceMode::Declared, 3), held);
  EXPECT_EQ(roundWith(values, ReferenceMode::Exact, 3), values);
}
