//===- ValuesTest.cpp - summaries and comparison in heddle-run ------------===//

#include "Values.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

using namespace heddle;
using namespace heddle::run;

static const double kNan = std::numeric_limits<double>::quiet_NaN();
static const double kInf = std::numeric_limits<double>::infinity();

static HostTensor tensor(std::vector<int64_t> shape,
                         const std::vector<double> &values,
                         DType type = DType::F32) {
  TensorType tensorType;
  tensorType.dtype = type;
  tensorType.shape = std::move(shape);
  HostTensor result(tensorType);
  for (size_t i = 0; i < values.size(); ++i)
    storeElement(result.bytes.data(), type, static_cast<int64_t>(i), values[i]);
  return result;
}

static Comparison compareTo(const HostTensor &actual,
                            const std::vector<double> &reference,
                            const Tolerance &tolerance) {
  return compare(
      actual, [&](int64_t i) { return reference[i]; }, tolerance);
}

TEST(Values, SummaryLeavesOutWhatIsNotFinite) {
  Summary summary = summarize(tensor({4}, {1, kNan, -3, kInf}));
  EXPECT_EQ(summary.finite, 2);
  EXPECT_EQ(summary.elements, 4);
  EXPECT_EQ(summary.min, -3);
  EXPECT_EQ(summary.max, 1);
  EXPECT_EQ(summary.mean, -1);
  EXPECT_EQ(summary.str(), "[1 nan -3 inf] min -3 max 1 mean -1 finite 2 of 4");
}

TEST(Values, SummaryOfNothing) {
  Summary summary = summarize(tensor({0, 3}, {}));
  EXPECT_EQ(summary.elements, 0);
  EXPECT_EQ(summary.str(), "[] min 0 max 0 mean 0 all finite");
}

TEST(Values, AbsoluteAndRelativeTolerancesAdd) {
  HostTensor actual = tensor({2}, {1.25, 4});
  Tolerance tolerance;
  tolerance.atol = 0.125;
  tolerance.rtol = 0.125;
  EXPECT_TRUE(compareTo(actual, {1, 4}, tolerance).passed);
  tolerance.rtol = 0.0625;
  Comparison comparison = compareTo(actual, {1, 4}, tolerance);
  EXPECT_FALSE(comparison.passed);
  EXPECT_EQ(comparison.numWrong, 1);
  EXPECT_EQ(comparison.worst, 0);
  EXPECT_EQ(comparison.maxAbsError, 0.25);
  EXPECT_EQ(comparison.relError, 0.0625);
}

TEST(Values, ToleranceOfTheLargestValue) {
  Tolerance tolerance;
  tolerance.ofMax = 1.0 / 64;
  EXPECT_TRUE(compareTo(tensor({2}, {64, 1}), {64, 2}, tolerance).passed);
  EXPECT_FALSE(compareTo(tensor({2}, {64, 1}), {64, 2.5}, tolerance).passed);
}

TEST(Values, WhatIsNotFiniteStandsWhereTheReferenceHasIt) {
  Tolerance wide;
  wide.atol = 1e30;
  HostTensor actual = tensor({3}, {kNan, -kInf, 1});
  EXPECT_TRUE(compareTo(actual, {kNan, -kInf, 1}, wide).passed);
  EXPECT_FALSE(compareTo(actual, {0, -kInf, 1}, wide).passed);
  EXPECT_FALSE(compareTo(actual, {kNan, kInf, 1}, wide).passed);
  EXPECT_FALSE(compareTo(actual, {kNan, -kInf, kNan}, wide).passed);
}

TEST(Values, IntegersAreEqualOrWrong) {
  HostTensor actual = tensor({3}, {1, 2, 3}, DType::I32);
  Tolerance tolerance = defaultTolerance(DType::I32);
  EXPECT_TRUE(compareTo(actual, {1, 2, 3}, tolerance).passed);
  EXPECT_FALSE(compareTo(actual, {1, 2, 4}, tolerance).passed);
  EXPECT_EQ(tolerance.str(), "equal");
}

TEST(Values, IntegersThatAreOneDoubleDiffer) {
  const int64_t big = (int64_t(1) << 53);
  HostTensor actual = tensor({2}, {0, 0}, DType::I64);
  HostTensor expected = actual;
  actual.as<int64_t>()[1] = big + 1;
  expected.as<int64_t>()[1] = big;
  Tolerance tolerance = defaultTolerance(DType::I64);
  Comparison comparison = compare(actual, expected, tolerance);
  EXPECT_FALSE(comparison.passed);
  EXPECT_EQ(comparison.maxAbsError, 1);
  EXPECT_EQ(describeWorst(comparison, actual.type),
            "worst at [1]: got 9007199254740993, expected 9007199254740992; 1 "
            "of 2 elements are outside");
  EXPECT_TRUE(compare(actual, actual, tolerance).passed);
  tolerance.atol = 1;
  EXPECT_TRUE(compare(actual, expected, tolerance).passed);
}

TEST(Values, TheDistanceOfIntegersDoesNotOverflow) {
  HostTensor actual = tensor({1}, {0}, DType::I64);
  HostTensor expected = actual;
  actual.as<int64_t>()[0] = std::numeric_limits<int64_t>::max();
  expected.as<int64_t>()[0] = std::numeric_limits<int64_t>::min();
  EXPECT_EQ(compare(actual, expected, Tolerance()).maxAbsError,
            std::ldexp(1.0, 64));
}

TEST(Values, TheWorstElementIsNamedByItsPosition) {
  HostTensor actual = tensor({2, 3}, {0, 0, 0, 0, 5, 1});
  Comparison comparison = compareTo(actual, {0, 0, 0, 0, 0, 0}, Tolerance());
  EXPECT_EQ(describeWorst(comparison, actual.type),
            "worst at [1,1]: got 5, expected 0; 2 of 6 elements are outside");
}

TEST(Values, ScalarsHaveAPosition) {
  HostTensor actual = tensor({}, {2});
  Comparison comparison = compareTo(actual, {1}, Tolerance());
  EXPECT_EQ(describeWorst(comparison, actual.type),
            "worst at []: got 2, expected 1; 1 of 1 elements are outside");
}
