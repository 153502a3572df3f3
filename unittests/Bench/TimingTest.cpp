//===- TimingTest.cpp - samples, quartiles, measured peaks ----------------===//

#include "Timing.h"
#include "Peak.h"

#include "gtest/gtest.h"

#include <thread>

using namespace heddle::bench;

namespace {

TEST(Quantile, interpolates_between_neighbours) {
  std::vector<double> values = {1, 2, 3, 4, 5, 6, 7};
  EXPECT_DOUBLE_EQ(quantile(values, 0.5), 4);
  EXPECT_DOUBLE_EQ(quantile(values, 0.25), 2.5);
  EXPECT_DOUBLE_EQ(quantile(values, 0.75), 5.5);
  EXPECT_DOUBLE_EQ(quantile({3}, 0.75), 3);
}

TEST(TimeCalls, a_fast_call_is_repeated_at_most_200_times) {
  int calls = 0;
  Timing timing = timeCalls([&] { return ++calls > 0; }, 2, 3);
  EXPECT_EQ(timing.inner, 200);
  EXPECT_EQ(calls, 2 + 3 * 200);
  EXPECT_LE(timing.q1, timing.median);
  EXPECT_LE(timing.median, timing.q3);
}

TEST(TimeCalls, a_slow_call_is_made_once_per_sample) {
  int calls = 0;
  Timing timing = timeCalls(
      [&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(60));
        return ++calls > 0;
      },
      1, 2);
  EXPECT_EQ(timing.inner, 1);
  EXPECT_EQ(calls, 3);
  EXPECT_GE(timing.best, 0.06);
}

TEST(TimeCalls, stops_at_the_first_failure) {
  int calls = 0;
  Timing timing = timeCalls([&] { return ++calls < 2; }, 1, 3);
  EXPECT_EQ(timing.inner, 0);
  EXPECT_EQ(calls, 2);
}

TEST(Peak, rates_are_those_of_a_real_machine) {
  EXPECT_FALSE(peakIsa(PeakOp::Fma).empty());
  // Between one scalar operation every few cycles and a very wide CPU.
  double fma = measurePeakOp(PeakOp::Fma, 1, 3).rate;
  EXPECT_GT(fma, 1e8);
  EXPECT_LT(fma, 1e13);
  double copy = measurePeakOp(PeakOp::Copy, 1, 3).rate;
  EXPECT_GT(copy, 1e8);
  EXPECT_LT(copy, 1e13);
  if (peakOpAvailable(PeakOp::Dot))
    EXPECT_GT(measurePeakOp(PeakOp::Dot, 1, 3).rate, fma / 4);
}

} // namespace
