//===- CompareTest.cpp - the rule that results pass or fail by ------------===//

#include "heddle/Reference/Compare.h"
#include "TestModule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

using namespace heddle;
using namespace heddle::test;

static constexpr double inf = std::numeric_limits<double>::infinity();
static constexpr double nan_ = std::numeric_limits<double>::quiet_NaN();

static ReferenceTensor reference(std::vector<double> values) {
  ReferenceTensor r;
  r.shape = {static_cast<int64_t>(values.size())};
  r.real = std::move(values);
  return r;
}

TEST(Compare, f32_limits_are_relative_to_the_largest_reference) {
  ReferenceTensor exact = reference({100, 1});
  auto verdict = [&](double error, bool backward) {
    CompareOptions options;
    options.backward = backward;
    return compareWithReference(f32({2}, {100, 1 + error}), exact, nullptr,
                                options);
  };
  EXPECT_TRUE(verdict(5e-4, false).passed);
  EXPECT_FALSE(verdict(7e-4, false).passed);
  EXPECT_TRUE(verdict(9e-4, true).passed);
  EXPECT_FALSE(verdict(1.1e-3, true).passed);
  CompareResult r = verdict(7e-4, false);
  EXPECT_NEAR(r.relError, 7e-6, 1e-8);
  EXPECT_EQ(r.worstIndex, 1);
  EXPECT_NE(r.failure.find("expected rel_err <= 6e-06, found 7"),
            std::string::npos)
      << r.failure;
}

TEST(Compare, bf16_may_err_by_half_more_than_declared_up_to_a_cap) {
  ReferenceTensor exact = reference({1.001, 0.5});
  ReferenceTensor declared = reference({1.003, 0.5}); // error 2e-3
  auto verdict = [&](double value, const ReferenceTensor *declared,
                     DType dtype = DType::BF16) {
    return compareWithReference(tensor(dtype, {2}, {value, 0.5}), exact,
                                declared)
        .passed;
  };
  EXPECT_TRUE(verdict(1.0, &declared));
  EXPECT_FALSE(verdict(1.0078125, &declared));
  // Without a declared run the cap alone decides: 4.5e-3, f16 1e-3.
  EXPECT_TRUE(verdict(1.0, nullptr));
  EXPECT_FALSE(verdict(1.0078125, nullptr));
  EXPECT_TRUE(verdict(1.0010, nullptr, DType::F16));
  EXPECT_FALSE(verdict(1.0025, &declared, DType::F16));
}

TEST(Compare, tf32_products_widen_the_limit_of_f32) {
  ReferenceTensor exact = reference({1}), declared = reference({1.0004});
  CompareOptions options;
  options.tf32 = true;
  EXPECT_TRUE(
      compareWithReference(f32({1}, {1.0005}), exact, &declared, options)
          .passed);
  EXPECT_FALSE(
      compareWithReference(f32({1}, {1.0007}), exact, &declared, options)
          .passed);
  EXPECT_FALSE(
      compareWithReference(f32({1}, {1.0005}), exact, &declared).passed);
}

TEST(Compare, where_nothing_declares_tf32_its_cap_decides) {
  ReferenceTensor exact = reference({1});
  CompareOptions options;
  options.tf32 = true;
  EXPECT_TRUE(
      compareWithReference(f32({1}, {1.0008}), exact, &exact, options).passed);
  EXPECT_FALSE(
      compareWithReference(f32({1}, {1.001}), exact, &exact, options).passed);
  EXPECT_TRUE(
      compareWithReference(f32({1}, {1.0008}), exact, nullptr, options).passed);
}

TEST(Compare, nan_and_infinity_must_stand_where_the_reference_has_them) {
  ReferenceTensor exact = reference({1, -inf, nan_});
  EXPECT_TRUE(compareWithReference(f32({3}, {1, -inf, nan_}), exact).passed);
  EXPECT_FALSE(compareWithReference(f32({3}, {1, -inf, nan_}), exact).finite);
  CompareResult r = compareWithReference(f32({3}, {nan_, -inf, nan_}), exact);
  EXPECT_FALSE(r.passed);
  EXPECT_EQ(r.worstIndex, 0);
  EXPECT_FALSE(compareWithReference(f32({3}, {1, inf, nan_}), exact).passed);
  EXPECT_FALSE(compareWithReference(f32({3}, {1, -1e38, nan_}), exact).passed);
  EXPECT_FALSE(compareWithReference(f32({3}, {1, -inf, 0}), exact).passed);
}

TEST(Compare, a_reference_of_zeros_judges_nothing) {
  ReferenceTensor zero = reference({0, 0});
  CompareResult r = compareWithReference(f32({2}, {0, 0}), zero);
  EXPECT_TRUE(r.allZero);
  EXPECT_FALSE(r.passed);
  CompareOptions options;
  options.allowZeroReference = true;
  EXPECT_TRUE(
      compareWithReference(f32({2}, {0, 0}), zero, nullptr, options).passed);
  EXPECT_FALSE(
      compareWithReference(f32({2}, {0, 1e-3}), zero, nullptr, options).passed);
}

TEST(Compare, integers_must_be_equal) {
  ReferenceTensor exact;
  exact.shape = {2};
  exact.isInteger = true;
  exact.integer = {3, -4};
  EXPECT_TRUE(compareWithReference(i32({2}, {3, -4}), exact).passed);
  CompareResult r = compareWithReference(i32({2}, {3, -5}), exact);
  EXPECT_FALSE(r.passed);
  EXPECT_EQ(r.failure, "expected -4 at [1], found -5");
  EXPECT_FALSE(compareWithReference(f32({2}, {3, -4}), exact).passed);
}

TEST(Compare, integers_beyond_the_mantissa_of_a_double_must_be_equal_too) {
  const int64_t big = (int64_t(1) << 62) + 1;
  ReferenceTensor exact;
  exact.shape = {1};
  exact.isInteger = true;
  exact.integer = {big};
  HostTensor actual = tensor(DType::I64, {1}, {0});
  actual.as<int64_t>()[0] = big;
  EXPECT_TRUE(compareWithReference(actual, exact).passed);
  actual.as<int64_t>()[0] = big - 1;
  CompareResult r = compareWithReference(actual, exact);
  EXPECT_FALSE(r.passed);
  EXPECT_EQ(r.maxAbsError, 1);
  EXPECT_EQ(r.failure, "expected 4611686018427387905 at [0], found "
                       "4611686018427387904");
}

TEST(Compare, shapes_must_agree) {
  CompareResult r =
      compareWithReference(f32({3}, {1, 2, 3}), reference({1, 2}));
  EXPECT_FALSE(r.passed);
  EXPECT_EQ(r.failure, "expected shape [2], found [3]");
}

TEST(Compare, selected_rows_keep_their_order) {
  HostTensor rows = selectRows(
      f32({2, 3, 2}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}), 1, {2, 0});
  EXPECT_EQ(rows.type.shape, (std::vector<int64_t>{2, 2, 2}));
  std::vector<float> expected = {4, 5, 0, 1, 10, 11, 6, 7};
  EXPECT_EQ(std::vector<float>(rows.as<float>(), rows.as<float>() + 8),
            expected);
}
