//===- RandomTest.cpp - seeded values -------------------------------------===//

#include "heddle/Runtime/Random.h"

#include "gtest/gtest.h"

#include <cmath>
#include <cstring>
#include <set>

using namespace heddle;

namespace {

HostTensor filled(DType dtype, int64_t n, RandomFill fill) {
  TensorType type;
  type.dtype = dtype;
  type.shape = {n};
  HostTensor t(type);
  fillRandom(t, fill);
  return t;
}

RandomFill seeded(uint64_t seed) {
  RandomFill fill;
  fill.seed = seed;
  return fill;
}

} // namespace

TEST(Random, NormalValuesHaveTheMomentsOfTheNormalDistribution) {
  const int64_t n = 1 << 20;
  RandomFill fill = seeded(7);
  fill.a = 3.0;
  fill.b = 0.5;
  HostTensor t = filled(DType::F64, n, fill);
  double moments[5] = {};
  int64_t beyond2 = 0;
  for (int64_t i = 0; i < n; ++i) {
    double z = (t.as<double>()[i] - 3.0) / 0.5, power = 1;
    beyond2 += std::fabs(z) > 2.0;
    for (double &m : moments) {
      m += power / static_cast<double>(n);
      power *= z;
    }
  }
  // Five standard errors of each estimate: sqrt(var / n) with variances 1, 2,
  // 15, 96 of z, z^2, z^3, z^4.
  double unit = 5.0 / std::sqrt(static_cast<double>(n));
  EXPECT_NEAR(moments[1], 0.0, unit);
  EXPECT_NEAR(moments[2], 1.0, unit * std::sqrt(2.0));
  EXPECT_NEAR(moments[3], 0.0, unit * std::sqrt(15.0));
  EXPECT_NEAR(moments[4], 3.0, unit * std::sqrt(96.0));
  EXPECT_NEAR(static_cast<double>(beyond2) / static_cast<double>(n), 0.0455003,
              unit * std::sqrt(0.0455 * 0.9545));
}

TEST(Random, NormalValuesAreTheTransformOfTheirBits) {
  // Against the C library, which differs in the last bits only.
  HostTensor t = filled(DType::F64, 20001, seeded(11));
  for (int64_t i = 0; i + 1 < 20001; i += 2) {
    auto unit = [](uint64_t bits) {
      return static_cast<double>(bits >> 11) * 0x1p-53;
    };
    double radius = std::sqrt(-2.0 * std::log(1.0 - unit(randomBits(11, i))));
    double angle = 6.283185307179586 * unit(randomBits(11, i + 1));
    ASSERT_NEAR(t.as<double>()[i], radius * std::cos(angle), 1e-14);
    ASSERT_NEAR(t.as<double>()[i + 1], radius * std::sin(angle), 1e-14);
  }
}

TEST(Random, ValuesAreTheSameOnEveryMachine) {
  // From a second implementation on another language's IEEE doubles.
  EXPECT_EQ(randomBits(0, 0), 0xa706dd2f4d197e6full);
  HostTensor t = filled(DType::F64, 4, seeded(1));
  uint64_t bits[4];
  std::memcpy(bits, t.bytes.data(), sizeof(bits));
  EXPECT_EQ(bits[0], 0x3fecc1f72904587eull);
  EXPECT_EQ(bits[1], 0xbfd54b7a7d2ee4e2ull);
  EXPECT_EQ(bits[2], 0x3faabae07406a7a3ull);
  EXPECT_EQ(bits[3], 0xbfd3307c1a636677ull);
}

TEST(Random, ValuesDependOnSeedAndPositionOnly) {
  RandomFill fill = seeded(5);
  HostTensor one = filled(DType::F32, 300001, fill);
  for (int threads : {0, 2, 3, 7}) {
    fill.threads = threads;
    EXPECT_EQ(filled(DType::F32, 300001, fill).bytes, one.bytes);
  }
  HostTensor prefix = filled(DType::F32, 1001, seeded(5));
  EXPECT_EQ(std::memcmp(prefix.bytes.data(), one.bytes.data(), 4004), 0);
  std::set<float> seen;
  for (uint64_t seed = 0; seed < 1000; ++seed)
    seen.insert(filled(DType::F32, 1, seeded(seed)).as<float>()[0]);
  EXPECT_GT(seen.size(), 990u);
}

TEST(Random, SmallFloatsRoundToNearest) {
  RandomFill fill = seeded(9);
  fill.b = 3e-4; // half subnormals included
  for (double scale : {1.0, 3e-4, 1e-7, 3e4}) {
    fill.b = scale;
    HostTensor f32 = filled(DType::F32, 50000, fill);
    for (DType dtype : {DType::F16, DType::BF16}) {
      HostTensor small = filled(dtype, 50000, fill);
      for (int64_t i = 0; i < 50000; ++i) {
        uint16_t expected;
        storeElement(&expected, dtype, 0, f32.as<float>()[i]);
        ASSERT_EQ(small.as<uint16_t>()[i], expected) << f32.as<float>()[i];
      }
    }
  }
}

TEST(Random, UniformValuesFillTheirRange) {
  RandomFill fill = seeded(2);
  fill.distribution = RandomFill::Distribution::Uniform;
  fill.a = -2.0;
  fill.b = 6.0;
  const int64_t n = 1 << 16;
  HostTensor t = filled(DType::F64, n, fill);
  double low = 1e9, high = -1e9, mean = 0;
  for (int64_t i = 0; i < n; ++i) {
    double v = t.as<double>()[i];
    low = std::min(low, v);
    high = std::max(high, v);
    mean += v / static_cast<double>(n);
  }
  EXPECT_GE(low, -2.0);
  EXPECT_LT(high, 6.0);
  EXPECT_LT(low, -1.99);
  EXPECT_GT(high, 5.99);
  // Five standard errors: 8 / sqrt(12 n).
  EXPECT_NEAR(mean, 2.0, 5 * 8.0 / std::sqrt(12.0 * static_cast<double>(n)));
}

TEST(Random, IntegersAndBoolsAreUniform) {
  RandomFill fill = seeded(3);
  fill.integerLow = -3;
  fill.integerHigh = 4;
  const int64_t n = 70000;
  for (DType dtype : {DType::I8, DType::I16, DType::I32, DType::I64}) {
    HostTensor t = filled(dtype, n, fill);
    int64_t counts[7] = {};
    for (int64_t i = 0; i < n; ++i) {
      double v = loadElement(t.bytes.data(), dtype, i);
      ASSERT_GE(v, -3);
      ASSERT_LT(v, 4);
      ++counts[static_cast<int>(v) + 3];
    }
    // Five standard deviations of a binomial count.
    for (int64_t c : counts)
      EXPECT_NEAR(static_cast<double>(c), 10000.0, 5 * 93.0);
  }
  HostTensor bits = filled(DType::I1, n, fill);
  int64_t ones = 0;
  for (uint8_t b : bits.bytes) {
    ASSERT_LE(b, 1);
    ones += b;
  }
  EXPECT_NEAR(static_cast<double>(ones), 35000.0, 5 * 133.0);
}
