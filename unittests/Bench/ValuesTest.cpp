//===- ValuesTest.cpp - seeded values follow the rules --------------------===//

#include "Values.h"

#include "gtest/gtest.h"

#include <cmath>

using namespace heddle;
using namespace heddle::bench;

namespace {

struct Moments {
  double mean, deviation;
  int zeros;
};

Moments momentsOf(const std::string &name, std::vector<int64_t> shape,
                  DType dtype = DType::F32) {
  HostTensor tensor = makeValues({name, {dtype, shape}}, 1, 0, 2);
  double sum = 0, squares = 0;
  int64_t n = tensor.type.numElements();
  Moments moments = {0, 0, 0};
  for (int64_t i = 0; i < n; ++i) {
    double value = loadElement(tensor.bytes.data(), dtype, i);
    EXPECT_TRUE(std::isfinite(value));
    sum += value;
    squares += value * value;
    moments.zeros += value == 0;
  }
  moments.mean = sum / n;
  moments.deviation = std::sqrt(squares / n - moments.mean * moments.mean);
  return moments;
}

TEST(Values, kernels_have_variance_one_over_fan_in) {
  Moments m = momentsOf("layers.0.attn.query.kernel", {256, 256});
  EXPECT_NEAR(m.mean, 0, 1e-3);
  EXPECT_NEAR(m.deviation, 1.0 / 16, 1e-3);
  EXPECT_EQ(m.zeros, 0);
}

TEST(Values, biases_are_small_and_not_zero) {
  Moments m = momentsOf("layers.0.ln1.bias", {4096});
  EXPECT_NEAR(m.mean, 0, 2e-3);
  EXPECT_NEAR(m.deviation, 0.02, 2e-3);
  EXPECT_EQ(m.zeros, 0);
}

TEST(Values, scales_are_near_one) {
  Moments m = momentsOf("layers.0.ln1.scale", {4096});
  EXPECT_NEAR(m.mean, 1, 2e-3);
  EXPECT_NEAR(m.deviation, 0.02, 2e-3);
}

TEST(Values, inputs_are_normal_in_every_dtype) {
  for (DType dtype : {DType::F32, DType::BF16, DType::F16}) {
    Moments m = momentsOf("x", {333, 99}, dtype);
    EXPECT_NEAR(m.mean, 0, 0.02);
    EXPECT_NEAR(m.deviation, 1, 0.02);
  }
}

TEST(Values, do_not_depend_on_threads_but_on_seed_and_position) {
  NamedTensorType argument = {"x", {DType::F32, {1001}}};
  std::vector<uint8_t> one = makeValues(argument, 5, 2, 1).bytes;
  for (int threads : {2, 3, 7, 64})
    EXPECT_EQ(makeValues(argument, 5, 2, threads).bytes, one);
  EXPECT_NE(makeValues(argument, 6, 2, 1).bytes, one);
  EXPECT_NE(makeValues(argument, 5, 3, 1).bytes, one);
}

TEST(Values, one_element_and_none) {
  EXPECT_EQ(makeValues({"x", {DType::F32, {1}}}, 0, 0, 4).bytes.size(), 4u);
  EXPECT_TRUE(makeValues({"x", {DType::F32, {0, 3}}}, 0, 0, 4).bytes.empty());
}

} // namespace
