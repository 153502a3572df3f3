//===- AttentionTest.cpp - attention against closed forms -----------------===//

#include "TestModule.h"

#include "mlir/AsmParser/AsmParser.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

using namespace heddle;
using namespace heddle::test;

static constexpr double inf = std::numeric_limits<double>::infinity();
static constexpr double nan_ = std::numeric_limits<double>::quiet_NaN();

/// @f with one attention on batch 1, one head, d 1, and an lse. `operands` are
/// extra "name(type)" pairs.
static std::string
attention(int64_t sq, int64_t sk, const std::string &attributes,
          const std::vector<std::pair<std::string, std::string>> &extra = {},
          const std::string &score = "") {
  std::string q = "tensor<1x" + std::to_string(sq) + "x1x1xf32>";
  std::string k = "tensor<1x" + std::to_string(sk) + "x1x1xf32>";
  std::string lse = "tensor<1x1x" + std::to_string(sq) + "xf32>";
  std::string args = "%q: " + q + ", %k: " + k + ", %v: " + k, clauses;
  for (auto &[name, type] : extra) {
    args += ", %" + name + ": " + type;
    clauses += " " + name + "(%" + name + " : " + type + ")";
  }
  if (!score.empty())
    clauses += " score {\n" + score + "\n}";
  return "func.func @f(" + args + ") -> (" + q + ", " + lse + ") {\n" +
         "%o, %l = heddle.attention %q, %k, %v" + clauses + " {" + attributes +
         "} : " + q + ", " + k + ", " + k + " -> " + q + ", " + lse + "\n" +
         "return %o, %l : " + q + ", " + lse + "\n}";
}

TEST(Attention, lower_right_causal_leaves_early_queries_without_keys) {
  auto r = evaluateText(
      attention(5, 2,
                "scale = 1.0 : f64, mask = #heddle.mask<causal_lower_right>"),
      {f32({1, 5, 1, 1}, {1, 2, 3, 4, 5}), f32({1, 2, 1, 1}, {1, -1}),
       f32({1, 2, 1, 1}, {10, 20})});
  expectNear(r[0], {0, 0, 0, 10, 10.000453978687}, 1e-12);
  expectNear(r[1], {-inf, -inf, -inf, 4, 5.0000453989}, 1e-10);
}

TEST(Attention, negative_logits_before_visible_keys_do_not_matter) {
  // Key 0 is masked out; the visible logits are -300 and -301.
  auto r = evaluateText(
      attention(1, 3, "scale = 1.0 : f64, mask = #heddle.mask<window<-1, 2>>"),
      {f32({1, 1, 1, 1}, {1}), f32({1, 3, 1, 1}, {5, -300, -301}),
       f32({1, 3, 1, 1}, {99, 10, 20})});
  expectNear(r[0], {12.6894142137}, 1e-10);
  expectNear(r[1], {-299.6867383125}, 1e-10);
}

TEST(Attention, softmax_is_shift_invariant_far_below_zero) {
  auto far = evaluateText(attention(1, 2, "scale = 1.0 : f64"),
                          {f32({1, 1, 1, 1}, {500}),
                           f32({1, 2, 1, 1}, {-500, -500.00390625}),
                           f32({1, 2, 1, 1}, {10, 20})});
  auto near = evaluateText(attention(1, 2, "scale = 1.0 : f64"),
                           {f32({1, 1, 1, 1}, {500}),
                            f32({1, 2, 1, 1}, {0, -0.00390625}),
                            f32({1, 2, 1, 1}, {10, 20})});
  expectNear(far[0], near[0].real, 1e-9);
  expectNear(far[1], {near[1].real[0] - 250000.0}, 1e-9);
}

TEST(Attention, scale_zero_is_uniform_and_negative_scale_reverses) {
  std::vector<HostTensor> inputs = {f32({1, 1, 1, 1}, {1}),
                                    f32({1, 3, 1, 1}, {1, 2, 3}),
                                    f32({1, 3, 1, 1}, {3, 6, 12})};
  expectNear(evaluateText(attention(1, 3, "scale = 0.0 : f64"), inputs)[0],
             {7});
  auto negative = evaluateText(attention(1, 3, "scale = -1.0 : f64"), inputs);
  expectNear(negative[0], {3 * .66524 + 6 * .24473 + 12 * .09003}, 1e-4);
  // At scale 1e4 the largest logit takes all.
  expectNear(evaluateText(attention(1, 3, "scale = 10000.0 : f64"), inputs)[0],
             {12});
}

TEST(Attention, default_scale_is_one_over_root_head_dim) {
  std::string q = "tensor<1x1x1x4xf32>", k = "tensor<1x2x1x4xf32>",
              v = "tensor<1x2x1x1xf32>", o = "tensor<1x1x1x1xf32>";
  auto r = evaluateText(
      "func.func @f(%q: " + q + ", %k: " + k + ", %v: " + v + ") -> " + o +
          " {\n%o = heddle.attention %q, %k, "
          "%v : " +
          q + ", " + k + ", " + v + " -> " + o + "\nreturn %o : " + o + "\n}",
      {f32({1, 1, 1, 4}, {1, 1, 1, 1}),
       f32({1, 2, 1, 4}, {1, 1, 1, 1, 0, 0, 0, 0}), f32({1, 2, 1, 1}, {1, 0})});
  expectNear(r[0], {1 / (1 + std::exp(-2.0))});
}

TEST(Attention, fully_masked_rows_are_zero_however_the_mask_is_spelled) {
  std::vector<HostTensor> qkv = {f32({1, 2, 1, 1}, {1, 2}),
                                 f32({1, 2, 1, 1}, {1, -1}),
                                 f32({1, 2, 1, 1}, {10, 20})};
  std::vector<double> expected = {0, 10 + 10 / (1 + std::exp(4.0))};
  std::vector<double> lse = {-inf, 2 + std::log1p(std::exp(-4.0))};
  auto withBias = [&](double value) {
    std::vector<HostTensor> inputs = qkv;
    inputs.push_back(f32({1, 1, 2, 2}, {value, value, 0, 0}));
    auto r = evaluateText(
        attention(2, 2, "scale = 1.0 : f64", {{"bias", "tensor<1x1x2x2xf32>"}}),
        inputs);
    expectNear(r[0], expected);
    expectNear(r[1], lse);
  };
  withBias(-inf);
  withBias(-std::numeric_limits<float>::max());
  std::vector<HostTensor> inputs = qkv;
  inputs.push_back(tensor(DType::I1, {1, 1, 2, 2}, {0, 0, 1, 1}));
  auto r = evaluateText(attention(2, 2, "scale = 1.0 : f64",
                                  {{"mask_tensor", "tensor<1x1x2x2xi1>"}}),
                        inputs);
  expectNear(r[0], expected);
  expectNear(r[1], lse);
}

TEST(Attention, nan_in_a_masked_key_or_value_does_not_reach_the_output) {
  auto r = evaluateText(
      attention(2, 3, "scale = 1.0 : f64, mask = #heddle.mask<prefix<2>>"),
      {f32({1, 2, 1, 1}, {1, 0}), f32({1, 3, 1, 1}, {1, 1, nan_}),
       f32({1, 3, 1, 1}, {10, 20, nan_})});
  expectNear(r[0], {15, 15});
  auto large = evaluateText(
      attention(2, 3, "scale = 1.0 : f64, mask = #heddle.mask<prefix<2>>"),
      {f32({1, 2, 1, 1}, {1, 0}), f32({1, 3, 1, 1}, {1, 1, 1e10}),
       f32({1, 3, 1, 1}, {10, 20, 1e10})});
  expectNear(large[0], {15, 15});
}

TEST(Attention, nan_in_a_visible_query_reaches_its_row_only) {
  auto r =
      evaluateText(attention(2, 2, "scale = 1.0 : f64"),
                   {f32({1, 2, 1, 1}, {nan_, 0}), f32({1, 2, 1, 1}, {1, 2}),
                    f32({1, 2, 1, 1}, {10, 20})});
  expectNear(r[0], {nan_, 15});
  expectNear(r[1], {nan_, std::log(2.0)});
}

TEST(Attention, minus_infinity_inside_a_valid_row_is_skipped) {
  auto r = evaluateText(
      attention(1, 4, "scale = 1.0 : f64", {{"bias", "tensor<1x1x1x4xf32>"}}),
      {f32({1, 1, 1, 1}, {0}), f32({1, 4, 1, 1}, {0, 0, 0, 0}),
       f32({1, 4, 1, 1}, {1, 2, 3, 4}), f32({1, 1, 1, 4}, {-inf, -inf, 0, 0})});
  expectNear(r[0], {3.5});
  expectNear(r[1], {std::log(2.0)});
}

TEST(Attention, window_bounds_are_inclusive_on_both_sides) {
  // Zero scores: lse is the log of the number of visible keys.
  auto r = evaluateText(
      attention(6, 6, "scale = 0.0 : f64, mask = #heddle.mask<window<2, 1>>"),
      {f32({1, 6, 1, 1}, {1, 1, 1, 1, 1, 1}),
       f32({1, 6, 1, 1}, {0, 0, 0, 0, 0, 0}),
       f32({1, 6, 1, 1}, {0, 1, 2, 3, 4, 5})});
  std::vector<double> counts;
  for (double count : {2., 3., 4., 4., 4., 3.})
    counts.push_back(std::log(count));
  expectNear(r[1], counts);
  expectNear(r[0], {0.5, 1, 1.5, 2.5, 3.5, 4});
}

TEST(Attention, segments_and_key_lengths_of_zero_mask_whole_rows) {
  std::vector<HostTensor> qkv = {f32({1, 3, 1, 1}, {1, 1, 1}),
                                 f32({1, 3, 1, 1}, {0, 0, 0}),
                                 f32({1, 3, 1, 1}, {1, 2, 4})};
  std::vector<HostTensor> segments = qkv;
  segments.push_back(i32({1, 3}, {0, 1, 2})); // no key has segment 1
  segments.push_back(i32({1, 3}, {0, 0, 2}));
  auto r = evaluateText(attention(3, 3, "scale = 1.0 : f64",
                                  {{"query_segments", "tensor<1x3xi32>"},
                                   {"key_segments", "tensor<1x3xi32>"}}),
                        segments);
  expectNear(r[0], {1.5, 0, 4});
  expectNear(r[1], {std::log(2.0), -inf, 0});
  for (int length = 0; length <= 2; ++length) {
    std::vector<HostTensor> inputs = qkv;
    inputs.push_back(i32({1}, {double(length)}));
    auto l = evaluateText(attention(3, 3, "scale = 1.0 : f64",
                                    {{"key_lengths", "tensor<1xi32>"}}),
                          inputs);
    double mean = length == 0 ? 0 : length == 1 ? 1 : 1.5;
    expectNear(l[0], {mean, mean, mean});
  }
}

TEST(Attention, unions_intersections_and_blocks_follow_their_terms) {
  std::vector<HostTensor> inputs = {f32({1, 4, 1, 1}, {1, 1, 1, 1}),
                                    f32({1, 4, 1, 1}, {0, 0, 0, 0}),
                                    f32({1, 4, 1, 1}, {1, 2, 4, 8})};
  auto means = [&](const std::string &mask, std::vector<double> expected) {
    expectNear(
        evaluateText(attention(4, 4, "mask = #heddle.mask<" + mask + ">"),
                     inputs)[0],
        expected);
  };
  means("block_diagonal<3>", {7. / 3, 7. / 3, 7. / 3, 8});
  means("intersection<causal, window<1, 0>>", {1, 1.5, 3, 6});
  means("union<prefix<1>, window<0, 0>>", {1, 1.5, 2.5, 4.5});
  means("causal_upper_left", {1, 1.5, 7. / 3, 3.75});
}

TEST(Attention, affine_sets_may_hold_mod_and_inequalities) {
  TestModule module(attention(4, 4, "scale = 1.0 : f64"));
  ASSERT_TRUE(module.parsed()) << module.diagnostics;
  module.function().walk([](AttentionOp op) {
    mlir::IntegerSet set = mlir::parseIntegerSet(
        "(i, j) : ((i + j) mod 2 == 0, i - j >= 0)", op.getContext());
    op.setMaskAttr(
        MaskAttr::get(op.getContext(), MaskKind::AffineSet, {}, {}, set));
  });
  auto r = module.run({f32({1, 4, 1, 1}, {1, 1, 1, 1}),
                       f32({1, 4, 1, 1}, {0, 0, 0, 0}),
                       f32({1, 4, 1, 1}, {1, 2, 4, 8})});
  ASSERT_EQ(r.size(), 2u) << module.diagnostics;
  expectNear(r[0], {1, 2, 2.5, 5});
}

TEST(Attention, sinks_only_join_the_denominator) {
  auto r = evaluateText(
      attention(1, 2, "scale = 1.0 : f64", {{"sinks", "tensor<1xf32>"}}),
      {f32({1, 1, 1, 1}, {0}), f32({1, 2, 1, 1}, {0, 0}),
       f32({1, 2, 1, 1}, {3, 6}), f32({1}, {std::log(2.0f)})});
  expectNear(r[0], {9. / 4}, 1e-7);
  expectNear(r[1], {std::log(4.0)}, 1e-7);
  // A row without visible keys has the sink alone in its denominator.
  auto masked = evaluateText(
      attention(1, 2, "scale = 1.0 : f64, mask = #heddle.mask<prefix<0>>",
                {{"sinks", "tensor<1xf32>"}}),
      {f32({1, 1, 1, 1}, {0}), f32({1, 2, 1, 1}, {0, 0}),
       f32({1, 2, 1, 1}, {3, 6}), f32({1}, {1.5})});
  expectNear(masked[0], {0});
  expectNear(masked[1], {1.5});
}

TEST(Attention, score_region_comes_after_scale_and_before_bias_and_mask) {
  // tanh softcap at 2, then the distance j - i, then the bias.
  std::string score = R"(
    ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
      %c = arith.constant 2.0 : f32
      %d = arith.divf %s, %c : f32
      %t = math.tanh %d : f32
      %m = arith.mulf %t, %c : f32
      %ij = arith.subi %j, %i : index
      %int = arith.index_cast %ij : index to i32
      %dist = arith.sitofp %int : i32 to f32
      %r = arith.addf %m, %dist : f32
      heddle.yield %r : f32)";
  auto r =
      evaluateText(attention(1, 2, "scale = 0.5 : f64",
                             {{"bias", "tensor<1x1x1x2xf32>"}}, score),
                   {f32({1, 1, 1, 1}, {1}), f32({1, 2, 1, 1}, {4, 8}),
                    f32({1, 2, 1, 1}, {0, 1}), f32({1, 1, 1, 2}, {0, 0.5})});
  double s0 = 2 * std::tanh(1.0), s1 = 2 * std::tanh(2.0) + 1 + 0.5;
  expectNear(r[0], {1 / (1 + std::exp(s0 - s1))});
}

TEST(Attention, grouped_heads_are_contiguous_in_both_layouts) {
  // Four query heads on two key heads; v tells the key head.
  std::string q = "tensor<1x4x1x1xf32>", kv = "tensor<1x2x1x1xf32>";
  auto bhsd = evaluateText(
      "func.func @f(%q: " + q + ", %k: " + kv + ", %v: " + kv + ") -> " + q +
          " {\n%o = heddle.attention %q, %k, %v {layout = 1 : i32} : " + q +
          ", " + kv + ", " + kv + " -> " + q + "\nreturn %o : " + q + "\n}",
      {f32({1, 4, 1, 1}, {1, 1, 1, 1}), f32({1, 2, 1, 1}, {0, 0}),
       f32({1, 2, 1, 1}, {5, 7})});
  expectNear(bhsd[0], {5, 5, 7, 7});
  std::string q2 = "tensor<1x1x4x1xf32>", kv2 = "tensor<1x1x2x1xf32>";
  auto bshd = evaluateText(
      "func.func @f(%q: " + q2 + ", %k: " + kv2 + ", %v: " + kv2 + ") -> " +
          q2 + " {\n%o = heddle.attention %q, %k, %v : " + q2 + ", " + kv2 +
          ", " + kv2 + " -> " + q2 + "\nreturn %o : " + q2 + "\n}",
      {f32({1, 1, 4, 1}, {1, 1, 1, 1}), f32({1, 1, 2, 1}, {0, 0}),
       f32({1, 1, 2, 1}, {5, 7})});
  expectNear(bshd[0], {5, 5, 7, 7});
}

TEST(Attention, op_agrees_with_plain_linalg_on_ragged_sizes) {
  std::string types = R"(
    !q = tensor<2x3x37x5xf32>
    !k = tensor<2x3x41x5xf32>
    !v = tensor<2x3x41x7xf32>
    !o = tensor<2x3x37x7xf32>
    !q3 = tensor<6x37x5xf32>
    !k3 = tensor<6x41x5xf32>
    !v3 = tensor<6x41x7xf32>
    !o3 = tensor<6x37x7xf32>
    !s3 = tensor<6x37x41xf32>
    #a = affine_map<(b, i, j, c) -> (b, i, c)>
    #b = affine_map<(b, i, j, c) -> (b, j, c)>
    #c = affine_map<(b, i, j, c) -> (b, i, j)>
  )";
  std::string op = types + R"(
    func.func @f(%q: !q, %k: !k, %v: !v) -> !o {
      %o = heddle.attention %q, %k, %v {layout = 1 : i32, scale = 0.25 : f64}
        : !q, !k, !v -> !o
      return %o : !o
    })";
  std::string plain = types + R"(
    func.func @f(%q4: !q, %k4: !k, %v4: !v) -> !o {
      %zero = arith.constant 0.0 : f32
      %scale = arith.constant 0.25 : f32
      %q = tensor.collapse_shape %q4 [[0, 1], [2], [3]] : !q into !q3
      %k = tensor.collapse_shape %k4 [[0, 1], [2], [3]] : !k into !k3
      %v = tensor.collapse_shape %v4 [[0, 1], [2], [3]] : !v into !v3
      %e = tensor.empty() : !s3
      %z = linalg.fill ins(%zero : f32) outs(%e : !s3) -> !s3
      %s = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types =
          ["parallel", "parallel", "parallel", "reduction"]}
          ins(%q, %k : !q3, !k3) outs(%z : !s3) {
      ^bb0(%x: f32, %y: f32, %acc: f32):
        %m = arith.mulf %x, %y : f32
        %n = arith.mulf %m, %scale : f32
        %r = arith.addf %acc, %n : f32
        linalg.yield %r : f32
      } -> !s3
      %p = linalg.softmax dimension(2) ins(%s : !s3) outs(%e : !s3) -> !s3
      %eo = tensor.empty() : !o3
      %zo = linalg.fill ins(%zero : f32) outs(%eo : !o3) -> !o3
      %o3 = linalg.batch_matmul ins(%p, %v : !s3, !v3) outs(%zo : !o3) -> !o3
      %o = tensor.expand_shape %o3 [[0, 1], [2], [3]]
        output_shape [2, 3, 37, 7] : !o3 into !o
      return %o : !o
    })";
  std::vector<HostTensor> inputs = {noise(DType::F32, {2, 3, 37, 5}, 1),
                                    noise(DType::F32, {2, 3, 41, 5}, 2),
                                    noise(DType::F32, {2, 3, 41, 7}, 3)};
  expectNear(evaluateText(op, inputs)[0], evaluateText(plain, inputs)[0].real);
}

static std::string halfAttention(const std::string &type,
                                 const std::string &attributes) {
  std::string q = "tensor<1x1x1x1x" + type + ">";
  std::string k = "tensor<1x3x1x1x" + type + ">";
  return "func.func @f(%q: " + q + ", %k: " + k + ", %v: " + k + ") -> " + q +
         " {\n%o = heddle.attention %q, %k, %v {" + attributes + "} : " + q +
         ", " + k + ", " + k + " -> " + q + "\nreturn %o : " + q + "\n}";
}

TEST(Attention, declared_mode_rounds_p_and_the_output_to_bf16) {
  std::vector<HostTensor> inputs = {
      tensor(DType::BF16, {1, 1, 1, 1}, {1}),
      tensor(DType::BF16, {1, 3, 1, 1}, {0, -0.5, -1}),
      tensor(DType::BF16, {1, 3, 1, 1}, {1, 0.5, 3})};
  std::string text = halfAttention("bf16", "scale = 1.0 : f64");
  double p1 = std::exp(-0.5), p2 = std::exp(-1.0), sum = 1 + p1 + p2;
  expectNear(evaluateText(text, inputs)[0], {(1 + 0.5 * p1 + 3 * p2) / sum});
  // exp(-0.5) = 0.60653 -> 0.60546875, exp(-1) = 0.36788 -> 0.3671875; the
  // denominator adds the unrounded ones; the quotient is rounded when stored.
  double stored = (1 + 0.5 * 0.60546875 + 3 * 0.3671875) / sum;
  double quantum = std::ldexp(1.0, -7); // in [1, 2)
  expectNear(evaluateText(text, inputs, ReferenceMode::Declared)[0],
             {std::nearbyint(stored / quantum) * quantum});
}

TEST(Attention, declared_mode_rounds_tf32_operands_only_when_asked) {
  double fine = 1 + std::ldexp(1.0, -12); // not a TF32 number
  std::vector<HostTensor> inputs = {f32({1, 1, 1, 1}, {0}),
                                    f32({1, 3, 1, 1}, {0, 0, 0}),
                                    f32({1, 3, 1, 1}, {fine, fine, fine})};
  expectNear(evaluateText(halfAttention("f32", "scale = 1.0 : f64"), inputs,
                          ReferenceMode::Declared)[0],
             {fine});
  expectNear(evaluateText(halfAttention("f32", "precision = 1 : i32"), inputs,
                          ReferenceMode::Declared)[0],
             {1});
  expectNear(
      evaluateText(halfAttention("f32", "precision = 1 : i32"), inputs)[0],
      {fine});
}

TEST(Attention, sampled_rows_equal_the_rows_of_the_whole) {
  for (int layout : {0, 1}) {
    std::string s4 = layout ? "tensor<2x3x70x4xf32>" : "tensor<2x70x3x4xf32>";
    std::string lse = "tensor<2x3x70xf32>";
    TestModule module("func.func @f(%q: " + s4 + ", %k: " + s4 + ", %v: " + s4 +
                      ") -> (" + s4 + ", " + lse +
                      ") {\n%o, %l = heddle.attention %q, %k, %v {layout " +
                      "= " + std::to_string(layout) +
                      " : i32, mask = #heddle.mask<causal>} : " + s4 + ", " +
                      s4 + ", " + s4 + " -> " + s4 + ", " + lse +
                      "\nreturn %o, %l : " + s4 + ", " + lse + "\n}");
    ASSERT_TRUE(module.parsed()) << module.diagnostics;
    std::vector<int64_t> shape = layout ? std::vector<int64_t>{2, 3, 70, 4}
                                        : std::vector<int64_t>{2, 70, 3, 4};
    std::vector<HostTensor> inputs = {noise(DType::F32, shape, 1),
                                      noise(DType::F32, shape, 2),
                                      noise(DType::F32, shape, 3)};
    auto whole = module.run(inputs);
    AttentionOp op;
    module.function().walk([&](AttentionOp found) { op = found; });
    llvm::SmallVector<ReferenceTensor> sampled;
    std::vector<int64_t> rows = {69, 0, 33};
    ASSERT_TRUE(
        succeeded(evaluateAttentionRows(op, inputs, rows, {}, sampled)));
    ASSERT_EQ(sampled.size(), 2u);
    for (int b = 0; b < 2; ++b)
      for (int h = 0; h < 3; ++h)
        for (int r = 0; r < 3; ++r) {
          int from =
              layout ? (b * 3 + h) * 70 + rows[r] : (b * 70 + rows[r]) * 3 + h;
          int to = layout ? (b * 3 + h) * 3 + r : (b * 3 + r) * 3 + h;
          for (int c = 0; c < 4; ++c)
            EXPECT_EQ(sampled[0].real[to * 4 + c], whole[0].real[from * 4 + c]);
          EXPECT_EQ(sampled[1].real[(b * 3 + h) * 3 + r],
                    whole[1].real[(b * 3 + h) * 70 + rows[r]]);
        }
    llvm::SmallVector<ReferenceTensor> none;
    EXPECT_TRUE(failed(evaluateAttentionRows(op, inputs, {70}, {}, none)));
    EXPECT_NE(module.diagnostics.find("query rows within [0, 70), found 70"),
              std::string::npos);
  }
}
