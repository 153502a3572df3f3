//===- ScanTest.cpp - recurrences against closed forms --------------------===//

#include "TestModule.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace heddle;
using namespace heddle::test;

using Doubles = std::vector<double>;

//===----------------------------------------------------------------------===//
// linear_scan
//===----------------------------------------------------------------------===//

static std::string linearScan(int64_t length, const std::string &aType,
                              bool withInitial, bool withResets,
                              const std::string &attributes = "") {
  std::string b = "tensor<1x" + std::to_string(length) + "x1xf32>";
  std::string args = "%a: " + aType + ", %b: " + b;
  std::string names = "%a, %b", types = aType + ", " + b;
  if (withInitial) {
    args += ", %i: tensor<1x1xf32>";
    names += ", %i";
    types += ", tensor<1x1xf32>";
  }
  if (withResets) {
    std::string ids = "tensor<1x" + std::to_string(length) + "xi32>";
    args += ", %r: " + ids;
    names += ", %r";
    types += ", " + ids;
  }
  std::string segments =
      std::string("operandSegmentSizes = array<i32: 1, 1, ") + "0, 0, " +
      (withInitial ? "1" : "0") + ", 0, " + (withResets ? "1" : "0") + ">, ";
  return "func.func @f(" + args + ") -> (" + b + ", tensor<1x1xf32>) {\n" +
         "%h, %f = \"heddle.linear_scan\"(" + names + ") <{" + segments +
         attributes + "resultSegmentSizes = array<i32: 1, 0, 1, 0>}> : (" +
         types + ") -> (" + b + ", tensor<1x1xf32>)\nreturn %h, %f : " + b +
         ", tensor<1x1xf32>\n}";
}

TEST(LinearScan, constant_and_varying_decay_follow_the_recurrence) {
  auto constant = evaluateText(linearScan(4, "tensor<1xf32>", false, false),
                               {f32({1}, {0.5}), f32({1, 4, 1}, {1, 1, 1, 1})});
  expectNear(constant[0], {1, 1.5, 1.75, 1.875});
  expectNear(constant[1], {1.875});
  auto varying = evaluateText(linearScan(3, "tensor<1x3x1xf32>", true, false),
                              {f32({1, 3, 1}, {2, 3, -1}),
                               f32({1, 3, 1}, {1, 0, 5}), f32({1, 1}, {4})});
  expectNear(varying[0], {9, 27, -22});
  expectNear(varying[1], {-22});
}

TEST(LinearScan, reverse_starts_at_the_end) {
  auto r = evaluateText(
      linearScan(3, "tensor<1xf32>", true, false, "reverse, "),
      {f32({1}, {0.5}), f32({1, 3, 1}, {1, 2, 3}), f32({1, 1}, {8})});
  expectNear(r[0], {3.75, 5.5, 7});
  expectNear(r[1], {3.75});
}

TEST(LinearScan, resets_restart_from_zero_and_spare_the_initial_state) {
  std::vector<HostTensor> inputs = {f32({1}, {1}), f32({1, 4, 1}, {1, 1, 1, 1}),
                                    f32({1, 1}, {10}),
                                    i32({1, 4}, {7, 7, 3, 3})};
  expectNear(
      evaluateText(linearScan(4, "tensor<1xf32>", true, true), inputs)[0],
      {11, 12, 1, 2});
  expectNear(
      evaluateText(linearScan(4, "tensor<1xf32>", true, true, "reverse, "),
                   inputs)[0],
      {2, 1, 12, 11});
}

TEST(LinearScan, length_zero_returns_the_incoming_state) {
  auto r =
      evaluateText(linearScan(0, "tensor<1xf32>", true, false),
                   {f32({1}, {0.5}), f32({1, 0, 1}, {}), f32({1, 1}, {6})});
  EXPECT_TRUE(r[0].real.empty());
  expectNear(r[1], {6});
}

TEST(LinearScan, complex_decay_rotates) {
  // a = i: the state turns by a quarter per step; |a| = 1 over many steps.
  const int64_t length = 4001;
  std::string t = "tensor<1x4001x1xf32>", a = "tensor<1xf32>",
              s = "tensor<1x1xf32>";
  Doubles impulse(length, 0.0), zeros(length, 0.0);
  impulse[0] = 1;
  auto r = evaluateText(
      "func.func @f(%a: " + a + ", %ai: " + a + ", %b: " + t + ", %bi: " + t +
          ") -> (" + t + ", " + t + ", " + s + ", " + s + ") {\n" +
          "%h, %hi, %f, %fi = \"heddle.linear_scan\"(%a, %b, %ai, %bi) <{" +
          "operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0>, " +
          "resultSegmentSizes = array<i32: 1, 1, 1, 1>}> : (" + a + ", " + t +
          ", " + a + ", " + t + ") -> (" + t + ", " + t + ", " + s + ", " + s +
          ")\nreturn %h, %hi, %f, %fi : " + t + ", " + t + ", " + s + ", " + s +
          "\n}",
      {f32({1}, {0}), f32({1}, {1}), f32({1, length, 1}, impulse),
       f32({1, length, 1}, zeros)});
  ASSERT_EQ(r[0].real.size(), size_t(length));
  EXPECT_EQ(r[0].real[1], 0);
  EXPECT_EQ(r[1].real[1], 1);
  EXPECT_EQ(r[0].real[2], -1);
  EXPECT_EQ(r[1].real[3], -1);
  expectNear(r[2], {1});
  expectNear(r[3], {0});
}

TEST(LinearScan, halves_with_carried_state_equal_the_whole) {
  HostTensor a = noise(DType::F32, {1, 7, 1}, 3),
             b = noise(DType::F32, {1, 7, 1}, 4);
  auto part = [](const HostTensor &t, int64_t begin, int64_t end) {
    Doubles elements;
    for (int64_t i = begin; i < end; ++i)
      elements.push_back(t.as<float>()[i]);
    return f32({1, end - begin, 1}, elements);
  };
  auto whole =
      evaluateText(linearScan(7, "tensor<1x7x1xf32>", false, false), {a, b});
  auto first = evaluateText(linearScan(3, "tensor<1x3x1xf32>", false, false),
                            {part(a, 0, 3), part(b, 0, 3)});
  // The state crosses as f32, so a step's worth of rounding remains.
  auto second = evaluateText(
      linearScan(4, "tensor<1x4x1xf32>", true, false),
      {part(a, 3, 7), part(b, 3, 7), f32({1, 1}, {first[1].real[0]})});
  Doubles joined = first[0].real;
  joined.insert(joined.end(), second[0].real.begin(), second[0].real.end());
  expectNear(whole[0], joined, 1e-7);
}

//===----------------------------------------------------------------------===//
// selective_scan
//===----------------------------------------------------------------------===//

TEST(SelectiveScan, one_channel_follows_the_formula) {
  auto r = evaluateText(R"(
    func.func @f(%u: tensor<1x2x1xf32>, %dt: tensor<1x2x1xf32>,
        %a: tensor<1x2xf32>, %b: tensor<1x2x2xf32>, %c: tensor<1x2x2xf32>,
        %d: tensor<1xf32>, %z: tensor<1x2x1xf32>, %i: tensor<1x1x2xf32>)
        -> (tensor<1x2x1xf32>, tensor<1x1x2xf32>) {
      %y, %s = heddle.selective_scan %u, %dt, %a, %b, %c d(%d : tensor<1xf32>)
        z(%z : tensor<1x2x1xf32>) initial_state(%i : tensor<1x1x2xf32>)
        : tensor<1x2x1xf32>, tensor<1x2x1xf32>, tensor<1x2xf32>,
          tensor<1x2x2xf32>, tensor<1x2x2xf32>
        -> tensor<1x2x1xf32>, tensor<1x1x2xf32>
      return %y, %s : tensor<1x2x1xf32>, tensor<1x1x2xf32>
    })",
                        {f32({1, 2, 1}, {2, 3}), f32({1, 2, 1}, {0.5, 1}),
                         f32({1, 2}, {-1, -2}), f32({1, 2, 2}, {1, 2, 3, 4}),
                         f32({1, 2, 2}, {1, -1, 0.5, 2}), f32({1}, {0.25}),
                         f32({1, 2, 1}, {1, -1}), f32({1, 1, 2}, {4, 8})});
  double h0 = std::exp(-0.5) * 4 + 0.5 * 1 * 2;
  double h1 = std::exp(-1.0) * 8 + 0.5 * 2 * 2;
  double silu1 = 1 / (1 + std::exp(-1.0)), silu2 = -1 / (1 + std::exp(1.0));
  double y0 = (h0 - h1 + 0.25 * 2) * silu1;
  h0 = std::exp(-1.0) * h0 + 3 * 3;
  h1 = std::exp(-2.0) * h1 + 4 * 3;
  double y1 = (0.5 * h0 + 2 * h1 + 0.25 * 3) * silu2;
  expectNear(r[0], {y0, y1});
  expectNear(r[1], {h0, h1});
}

TEST(SelectiveScan, softplus_is_the_identity_above_20_and_never_nan) {
  // a = 0 and b = c = u = 1: y is the sum of the step sizes.
  auto step = [](double raw) {
    return evaluateText(R"(
      func.func @f(%u: tensor<1x1x1xf32>, %dt: tensor<1x1x1xf32>,
          %a: tensor<1x1xf32>, %b: tensor<1x1x1xf32>, %bias: tensor<1xf32>)
          -> tensor<1x1x1xf32> {
        %y = heddle.selective_scan %u, %dt, %a, %b, %b
          delta_bias(%bias : tensor<1xf32>) {delta_softplus}
          : tensor<1x1x1xf32>, tensor<1x1x1xf32>, tensor<1x1xf32>,
            tensor<1x1x1xf32>, tensor<1x1x1xf32> -> tensor<1x1x1xf32>
        return %y : tensor<1x1x1xf32>
      })",
                        {f32({1, 1, 1}, {1}), f32({1, 1, 1}, {raw - 1}),
                         f32({1, 1}, {0}), f32({1, 1, 1}, {1}),
                         f32({1}, {1})})[0]
        .real[0];
  };
  EXPECT_EQ(step(100), 100);
  EXPECT_NEAR(step(0), std::log(2.0), 1e-15);
  EXPECT_NEAR(step(-100), 3.7200759760208361e-44, 1e-56);
}

TEST(SelectiveScan, groups_share_b_and_c_over_contiguous_channels) {
  auto r =
      evaluateText(R"(
    func.func @f(%u: tensor<1x1x4xf32>, %dt: tensor<1x1x4xf32>,
        %a: tensor<4x1xf32>, %b: tensor<1x1x2x1xf32>, %c: tensor<1x1x2x1xf32>)
        -> tensor<1x1x4xf32> {
      %y = heddle.selective_scan %u, %dt, %a, %b, %c
        : tensor<1x1x4xf32>, tensor<1x1x4xf32>, tensor<4x1xf32>,
          tensor<1x1x2x1xf32>, tensor<1x1x2x1xf32> -> tensor<1x1x4xf32>
      return %y : tensor<1x1x4xf32>
    })",
                   {f32({1, 1, 4}, {1, 1, 1, 1}), f32({1, 1, 4}, {1, 1, 1, 1}),
                    f32({4, 1}, {-1, -1, -1, -1}), f32({1, 1, 2, 1}, {2, 3}),
                    f32({1, 1, 2, 1}, {5, 7})});
  expectNear(r[0], {10, 10, 21, 21});
}

TEST(SelectiveScan, b_and_c_may_have_different_groups) {
  auto r =
      evaluateText(R"(
    func.func @f(%u: tensor<1x1x4xf32>, %dt: tensor<1x1x4xf32>,
        %a: tensor<4x1xf32>, %b: tensor<1x1x4x1xf32>, %c: tensor<1x1x1xf32>)
        -> tensor<1x1x4xf32> {
      %y = heddle.selective_scan %u, %dt, %a, %b, %c
        : tensor<1x1x4xf32>, tensor<1x1x4xf32>, tensor<4x1xf32>,
          tensor<1x1x4x1xf32>, tensor<1x1x1xf32> -> tensor<1x1x4xf32>
      return %y : tensor<1x1x4xf32>
    })",
                   {f32({1, 1, 4}, {1, 1, 1, 1}), f32({1, 1, 4}, {1, 1, 1, 1}),
                    f32({4, 1}, {-1, -1, -1, -1}),
                    f32({1, 1, 4, 1}, {2, 3, 4, 5}), f32({1, 1, 1}, {10})});
  expectNear(r[0], {20, 30, 40, 50});
}

//===----------------------------------------------------------------------===//
// ssd
//===----------------------------------------------------------------------===//

static std::string ssd(int64_t length, const std::string &dtype, bool resets) {
  std::string l = std::to_string(length);
  std::string t = "tensor<1x" + l + "x1x1x" + dtype + ">";
  std::string a = "tensor<1x" + l + "x1xf32>", s = "tensor<1x1x1x1xf32>";
  std::string ids = "tensor<1x" + l + "xi32>";
  return "func.func @f(%q: " + t + ", %k: " + t + ", %v: " + t + ", %a: " + a +
         ", %i: " + s + (resets ? ", %r: " + ids : "") + ") -> (" + t + ", " +
         s + ") {\n%o, %f = heddle.ssd %q, %k, %v, %a initial_state(%i : " + s +
         ")" + (resets ? " reset_ids(%r : " + ids + ")" : "") + " : " + t +
         ", " + t + ", " + t + ", " + a + " -> " + t + ", " + s +
         "\nreturn %o, %f : " + t + ", " + s + "\n}";
}

TEST(Ssd, large_decays_keep_their_differences) {
  // Products of exp(-100) and exp(-0.1) stay exact; mixed signs are allowed.
  auto r =
      evaluateText(ssd(3, "f32", false),
                   {f32({1, 3, 1, 1}, {1, 1, 1}), f32({1, 3, 1, 1}, {1, 1, 1}),
                    f32({1, 3, 1, 1}, {1, 2, 4}),
                    f32({1, 3, 1}, {-100, -0.125, 2}), f32({1, 1, 1, 1}, {1})});
  double h0 = std::exp(-100.0) + 1, h1 = std::exp(-0.125) * h0 + 2,
         h2 = std::exp(2.0) * h1 + 4;
  expectNear(r[0], {h0, h1, h2});
  expectNear(r[1], {h2});
}

TEST(Ssd, heads_read_the_key_of_their_group) {
  auto r = evaluateText(R"(
    func.func @f(%q: tensor<1x1x2x1xf32>, %v: tensor<1x1x4x2xf32>,
        %a: tensor<1x1x4xf32>) -> tensor<1x1x4x2xf32> {
      %o = heddle.ssd %q, %q, %v, %a : tensor<1x1x2x1xf32>, tensor<1x1x2x1xf32>,
        tensor<1x1x4x2xf32>, tensor<1x1x4xf32> -> tensor<1x1x4x2xf32>
      return %o : tensor<1x1x4x2xf32>
    })",
                        {f32({1, 1, 2, 1}, {2, 3}),
                         f32({1, 1, 4, 2}, {1, 2, 3, 4, 5, 6, 7, 8}),
                         f32({1, 1, 4}, {0, 0, 0, 0})});
  expectNear(r[0], {4, 8, 12, 16, 45, 54, 63, 72});
}

TEST(Ssd, declared_pairwise_form_is_the_recurrence_up_to_rounding) {
  for (bool resets : {false, true}) {
    const int64_t length = 19;
    Doubles ids(length);
    for (int64_t t = 0; t < length; ++t)
      ids[t] = t < 6 ? 0 : t < 7 ? 1 : 2;
    std::vector<HostTensor> inputs = {noise(DType::BF16, {1, length, 1, 1}, 1),
                                      noise(DType::BF16, {1, length, 1, 1}, 2),
                                      noise(DType::BF16, {1, length, 1, 1}, 3),
                                      noise(DType::F32, {1, length, 1}, 4),
                                      f32({1, 1, 1, 1}, {2})};
    if (resets)
      inputs.push_back(i32({1, length}, ids));
    std::string text = ssd(length, "bf16", resets);
    auto exact = evaluateText(text, inputs);
    auto declared = evaluateText(text, inputs, ReferenceMode::Declared);
    double largest = 0, difference = 0;
    for (int64_t t = 0; t < length; ++t) {
      largest = std::fmax(largest, std::fabs(exact[0].real[t]));
      difference = std::fmax(difference,
                             std::fabs(exact[0].real[t] - declared[0].real[t]));
    }
    EXPECT_GT(difference, 0);
    EXPECT_LT(difference, 2e-2 * largest);
    expectNear(declared[1], exact[1].real, 2e-2 * largest);
  }
}

TEST(Scan, a_reset_inside_the_sequence_equals_two_sequences) {
  const int64_t length = 9, cut = 4;
  HostTensor q = noise(DType::F32, {1, length, 1, 1}, 1),
             k = noise(DType::F32, {1, length, 1, 1}, 2),
             v = noise(DType::F32, {1, length, 1, 1}, 3),
             a = noise(DType::F32, {1, length, 1}, 4);
  auto part = [](const HostTensor &t, int64_t begin, int64_t end) {
    std::vector<int64_t> shape = t.type.shape;
    shape[1] = end - begin;
    return f32(shape, Doubles(t.as<float>() + begin, t.as<float>() + end));
  };
  Doubles ids(length, 0.0);
  std::fill(ids.begin() + cut, ids.end(), 1.0);
  HostTensor state = f32({1, 1, 1, 1}, {3}), zero = f32({1, 1, 1, 1}, {0});
  auto whole = evaluateText(ssd(length, "f32", true),
                            {q, k, v, a, state, i32({1, length}, ids)});
  auto first = evaluateText(ssd(cut, "f32", false),
                            {part(q, 0, cut), part(k, 0, cut), part(v, 0, cut),
                             part(a, 0, cut), state});
  auto second =
      evaluateText(ssd(length - cut, "f32", false),
                   {part(q, cut, length), part(k, cut, length),
                    part(v, cut, length), part(a, cut, length), zero});
  Doubles joined = first[0].real;
  joined.insert(joined.end(), second[0].real.begin(), second[0].real.end());
  expectNear(whole[0], joined);
  expectNear(whole[1], second[1].real);
}

TEST(SelectiveScan, leaves_the_states_after_each_chunk) {
  // They are the final states of the first 2 and 4 of 5 steps in walking order,
  // whether or not a segment starts after them.
  for (bool reverse : {false, true}) {
    const std::string attributes = reverse ? ", reverse}" : "}";
    const std::string alone = reverse ? " {reverse}" : "";
    auto part = [&](int64_t count) {
      std::string n = std::to_string(count),
                  first = reverse ? std::to_string(5 - count) : "0";
      std::string u = "tensor<1x" + n + "x2xf32>",
                  b = "tensor<1x" + n + "x3xf32>",
                  r = "tensor<1x" + n + "xi32>";
      auto slice = [&](const std::string &name, const std::string &size,
                       const std::string &from, const std::string &to) {
        return "%" + name + n + " = tensor.extract_slice %" + name + "[0, " +
               first + (size.empty() ? "" : ", 0") + "] [1, " + n + size +
               "] [1, 1" + (size.empty() ? "" : ", 1") + "] : " + from +
               " to " + to + "\n";
      };
      return slice("u", ", 2", "tensor<1x5x2xf32>", u) +
             slice("b", ", 3", "tensor<1x5x3xf32>", b) +
             slice("r", "", "tensor<1x5xi32>", r) + "%y" + n + ", %f" + n +
             " = heddle.selective_scan %u" + n + ", %u" + n + ", %a, %b" + n +
             ", %b" + n + " reset_ids(%r" + n + " : " + r + ")" + alone +
             " : " + u + ", " + u + ", tensor<2x3xf32>, " + b + ", " + b +
             " -> " + u + ", tensor<1x2x3xf32>\n";
    };
    auto r = evaluateText(
        "func.func @f(%u: tensor<1x5x2xf32>, %a: tensor<2x3xf32>, %b: "
        "tensor<1x5x3xf32>, %r: tensor<1x5xi32>) -> (tensor<1x2x2x3xf32>, "
        "tensor<1x2x3xf32>, tensor<1x2x3xf32>) {\n"
        "%y, %s = heddle.selective_scan %u, %u, %a, %b, %b reset_ids(%r : "
        "tensor<1x5xi32>) {chunk = 2" +
            attributes +
            " : tensor<1x5x2xf32>, tensor<1x5x2xf32>, tensor<2x3xf32>, "
            "tensor<1x5x3xf32>, tensor<1x5x3xf32> -> tensor<1x5x2xf32>, "
            "chunk_states tensor<1x2x2x3xf32>\n" +
            part(2) + part(4) +
            "return %s, %f2, %f4 : tensor<1x2x2x3xf32>, tensor<1x2x3xf32>, "
            "tensor<1x2x3xf32>\n}",
        {noise(DType::F32, {1, 5, 2}, 1), noise(DType::F32, {2, 3}, 2),
         noise(DType::F32, {1, 5, 3}, 3), i32({1, 5}, {0, 0, 1, 1, 2})});
    ASSERT_EQ(r[0].real.size(), 12u);
    for (size_t i = 0; i < 12; ++i)
      EXPECT_EQ(r[0].real[i], r[1 + i / 6].real[i % 6]) << i << attributes;
  }
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

namespace {
/// A selective scan with every operand, and its gradient.
struct GradientCase {
  std::vector<HostTensor> inputs; // u, delta, a, b, c, d, z, bias, state, ids
  HostTensor dy, dfinal;
  std::string scan, gradient;

  explicit GradientCase(const std::string &attributes) {
    const int64_t length = 6;
    inputs = {noise(DType::F32, {2, length, 4}, 1),
              noise(DType::F32, {2, length, 4}, 2),
              noise(DType::F32, {4, 3}, 3),
              noise(DType::F32, {2, length, 2, 3}, 4),
              noise(DType::F32, {2, length, 3}, 5),
              noise(DType::F32, {4}, 6),
              noise(DType::F32, {2, length, 4}, 7),
              noise(DType::F32, {4}, 8),
              noise(DType::F32, {2, 4, 3}, 9),
              i32({2, length}, {0, 0, 0, 5, 5, 5, 1, 1, 2, 2, 2, 2})};
    dy = noise(DType::F32, {2, length, 4}, 10);
    dfinal = noise(DType::F32, {2, 4, 3}, 11);
    const std::string s = "tensor<2x6x4xf32>", a = "tensor<4x3xf32>",
                      b = "tensor<2x6x2x3xf32>", c = "tensor<2x6x3xf32>",
                      v = "tensor<4xf32>", h = "tensor<2x4x3xf32>",
                      r = "tensor<2x6xi32>";
    std::string args = "%u: " + s + ", %dt: " + s + ", %a: " + a + ", %b: " + b +
                       ", %c: " + c + ", %d: " + v + ", %z: " + s +
                       ", %bias: " + v + ", %h: " + h + ", %r: " + r;
    std::string more = " d(%d : " + v + ") z(%z : " + s + ") delta_bias(%bias : " +
                       v + ") initial_state(%h : " + h + ") reset_ids(%r : " + r +
                       ")";
    std::string types = s + ", " + s + ", " + a + ", " + b + ", " + c;
    scan = "func.func @f(" + args + ") -> (" + s + ", " + h +
           ") {\n%y, %f = heddle.selective_scan %u, %dt, %a, %b, %c" + more +
           attributes + " : " + types + " -> " + s + ", " + h +
           "\nreturn %y, %f : " + s + ", " + h + "\n}";
    gradient = "func.func @f(" + args + ", %dy: " + s + ", %df: " + h + ") -> (" +
               types + ", " + v + ", " + s + ", " + v + ", " + h +
               ") {\n%g:9 = heddle.selective_scan_grad %u, %dt, %a, %b, %c, %dy" +
               more + " dfinal_state(%df : " + h + ")" + attributes + " : " +
               types + ", " + s + " -> (" + types + ", d " + v + ", z " + s +
               ", delta_bias " + v + ", initial_state " + h +
               ")\nreturn %g#0, %g#1, %g#2, %g#3, %g#4, %g#5, %g#6, %g#7, %g#8 : " +
               types + ", " + v + ", " + s + ", " + v + ", " + h + "\n}";
  }

  /// sum(y * dy) + sum(final state * dfinal)
  double loss(const std::vector<HostTensor> &at) const {
    auto r = evaluateText(scan, at);
    double sum = 0.0;
    for (size_t i = 0; i < r[0].real.size(); ++i)
      sum += r[0].real[i] * dy.as<float>()[i];
    for (size_t i = 0; i < r[1].real.size(); ++i)
      sum += r[1].real[i] * dfinal.as<float>()[i];
    return sum;
  }
};
} // namespace

TEST(SelectiveScanGrad, equals_central_differences) {
  for (const char *attributes : {" {delta_softplus}", " {reverse}"}) {
    GradientCase c(attributes);
    std::vector<HostTensor> all = c.inputs;
    all.push_back(c.dy);
    all.push_back(c.dfinal);
    auto gradients = evaluateText(c.gradient, all);
    ASSERT_EQ(gradients.size(), 9u);
    for (size_t k = 0; k < 9; ++k) {
      size_t count = gradients[k].real.size();
      // A few elements of each operand; steps are powers of two, so that the
      // inputs move exactly.
      for (size_t i = 0; i < count; i += std::max<size_t>(1, count / 5)) {
        std::vector<HostTensor> up = c.inputs, down = c.inputs;
        float middle = c.inputs[k].as<float>()[i], step = 0x1p-12f;
        up[k].as<float>()[i] = middle + step;
        down[k].as<float>()[i] = middle - step;
        double moved = static_cast<double>(up[k].as<float>()[i]) -
                       down[k].as<float>()[i];
        double difference = (c.loss(up) - c.loss(down)) / moved;
        // The third derivative times step^2 remains.
        EXPECT_NEAR(gradients[k].real[i], difference,
                    1e-5 * std::fmax(1.0, std::fabs(difference)))
            << "operand " << k << ", element " << i << attributes;
      }
    }
  }
}

TEST(SelectiveScanGrad, softplus_has_slope_one_above_20) {
  auto slope = [](double raw) {
    return evaluateText(R"(
      func.func @f(%u: tensor<1x1x1xf32>, %dt: tensor<1x1x1xf32>,
          %a: tensor<1x1xf32>, %b: tensor<1x1x1xf32>) -> tensor<1x1x1xf32> {
        %g:5 = heddle.selective_scan_grad %u, %dt, %a, %b, %b, %u {delta_softplus}
          : tensor<1x1x1xf32>, tensor<1x1x1xf32>, tensor<1x1xf32>,
            tensor<1x1x1xf32>, tensor<1x1x1xf32>, tensor<1x1x1xf32>
          -> (tensor<1x1x1xf32>, tensor<1x1x1xf32>, tensor<1x1xf32>,
              tensor<1x1x1xf32>, tensor<1x1x1xf32>)
        return %g#1 : tensor<1x1x1xf32>
      })",
                        {f32({1, 1, 1}, {1}), f32({1, 1, 1}, {raw}),
                         f32({1, 1}, {0}), f32({1, 1, 1}, {1})})[0]
        .real[0];
  };
  EXPECT_EQ(slope(100), 1);
  EXPECT_NEAR(slope(0), 0.5, 1e-15);
  EXPECT_NEAR(slope(-100), 3.7200759760208361e-44, 1e-56);
}

TEST(LinearScanGrad, equals_central_differences_of_complex_scans) {
  const std::string a = "tensor<3xf32>", s = "tensor<2x5x3xf32>",
                    v = "tensor<2x3xf32>", r = "tensor<2x5xi32>";
  for (std::string attributes : {"", " {reverse}"}) {
    std::string scan =
        "func.func @f(%a: " + a + ", %ai: " + a + ", %b: " + s + ", %bi: " + s +
        ", %i: " + v + ", %ii: " + v + ", %r: " + r + ") -> (" + s + ", " + s +
        ", " + v + ", " + v + ") {\n%h, %hi, %f, %fi = heddle.linear_scan %a, %b" +
        " imag(%ai, %bi : " + a + ", " + s + ") initial_state(%i : " + v +
        ") initial_state_imag(%ii : " + v + ") reset_ids(%r : " + r + ")" +
        attributes + " : " + a + ", " + s + " -> (" + s + ", imag " + s +
        ", final " + v + ", final_imag " + v + ")\nreturn %h, %hi, %f, %fi : " +
        s + ", " + s + ", " + v + ", " + v + "\n}";
    std::string gradient =
        "func.func @f(%a: " + a + ", %ai: " + a + ", %h: " + s + ", %hi: " + s +
        ", %i: " + v + ", %ii: " + v + ", %r: " + r + ", %d: " + s + ", %di: " +
        s + ", %f: " + v + ", %fi: " + v + ") -> (" + a + ", " + a + ", " + s +
        ", " + s + ", " + v + ", " + v +
        ") {\n%g:6 = heddle.linear_scan_grad %a, %h, %d imag(%ai, %hi, %di : " +
        a + ", " + s + ", " + s + ") initial_state(%i : " + v +
        ") initial_state_imag(%ii : " + v + ") dfinal_state(%f : " + v +
        ") dfinal_state_imag(%fi : " + v + ") reset_ids(%r : " + r + ")" +
        attributes + " : " + a + ", " + s + ", " + s + " -> (" + a + ", " + s +
        ", a_imag " + a + ", b_imag " + s + ", initial_state " + v +
        ", initial_state_imag " + v +
        ")\nreturn %g#0, %g#2, %g#1, %g#3, %g#4, %g#5 : " + a + ", " + a + ", " +
        s + ", " + s + ", " + v + ", " + v + "\n}";
    std::vector<HostTensor> inputs = {
        noise(DType::F32, {3}, 1),       noise(DType::F32, {3}, 2),
        noise(DType::F32, {2, 5, 3}, 3), noise(DType::F32, {2, 5, 3}, 4),
        noise(DType::F32, {2, 3}, 5),    noise(DType::F32, {2, 3}, 6),
        i32({2, 5}, {0, 0, 0, 4, 4, 1, 1, 1, 1, 1})};
    std::vector<HostTensor> cotangents = {
        noise(DType::F32, {2, 5, 3}, 7), noise(DType::F32, {2, 5, 3}, 8),
        noise(DType::F32, {2, 3}, 9), noise(DType::F32, {2, 3}, 10)};
    auto loss = [&](const std::vector<HostTensor> &at) {
      auto results = evaluateText(scan, at);
      double sum = 0.0;
      for (size_t k = 0; k < 4; ++k)
        for (size_t i = 0; i < results[k].real.size(); ++i)
          sum += results[k].real[i] * cotangents[k].as<float>()[i];
      return sum;
    };
    auto states = evaluateText(scan, inputs);
    // The states as f32, as a kernel would leave them.
    std::vector<HostTensor> operands = {inputs[0],
                                        inputs[1],
                                        f32({2, 5, 3}, states[0].real),
                                        f32({2, 5, 3}, states[1].real),
                                        inputs[4],
                                        inputs[5],
                                        inputs[6]};
    operands.insert(operands.end(), cotangents.begin(), cotangents.end());
    auto gradients = evaluateText(gradient, operands);
    for (size_t k = 0; k < 6; ++k)
      for (size_t i = 0; i < gradients[k].real.size(); ++i) {
        std::vector<HostTensor> up = inputs, down = inputs;
        float middle = inputs[k].as<float>()[i], step = 0x1p-12f;
        up[k].as<float>()[i] = middle + step;
        down[k].as<float>()[i] = middle - step;
        double moved = static_cast<double>(up[k].as<float>()[i]) -
                       down[k].as<float>()[i];
        double difference = (loss(up) - loss(down)) / moved;
        EXPECT_NEAR(gradients[k].real[i], difference,
                    1e-5 * std::fmax(1.0, std::fabs(difference)))
            << "operand " << k << ", element " << i << attributes;
      }
  }
}
