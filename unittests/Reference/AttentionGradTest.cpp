//===- AttentionGradTest.cpp - gradients against central differences ------===//
//
// The loss is sum(out * g) + sum(lse * r); each input is moved by a step that
// f32 holds exactly, and the forward op is evaluated in f64.
//
//===----------------------------------------------------------------------===//

#include "TestModule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

using namespace heddle;
using namespace heddle::test;

namespace {
constexpr double kStep = 0x1p-11;
constexpr double kInf = std::numeric_limits<double>::infinity();

/// Multiples of 2^-6 in [-1, 1): a step changes them exactly.
HostTensor coarse(std::vector<int64_t> shape, uint64_t seed) {
  HostTensor t = noise(DType::F32, std::move(shape), seed);
  for (int64_t i = 0; i < t.type.numElements(); ++i)
    t.as<float>()[i] = std::floor(t.as<float>()[i] * 64) / 64;
  return t;
}

/// An attention of small sizes and what is special about it.
struct Case {
  int64_t batch = 2, heads = 2, keyHeads = 1, sq = 5, sk = 6, dqk = 3, dv = 2;
  std::string layout = "bshd", attributes, score, derivative;
  /// Keyword, type and value of optional operands; float ones are tried.
  std::vector<std::tuple<std::string, std::string, HostTensor>> operands;

  std::string type(int64_t s, int64_t h, int64_t d) const {
    bool bshd = layout == "bshd";
    auto text = [](int64_t n) { return std::to_string(n) + "x"; };
    return "tensor<" + text(batch) + text(bshd ? s : h) + text(bshd ? h : s) +
           text(d) + "f32>";
  }
  std::string query() const { return type(sq, heads, dqk); }
  std::string key() const { return type(sk, keyHeads, dqk); }
  std::string value() const { return type(sk, keyHeads, dv); }
  std::string out() const { return type(sq, heads, dv); }
  std::string lse() const {
    return "tensor<" + std::to_string(batch) + "x" + std::to_string(heads) +
           "x" + std::to_string(sq) + "xf32>";
  }
  std::vector<int64_t> shape(int64_t s, int64_t h, int64_t d) const {
    return layout == "bshd" ? std::vector<int64_t>{batch, s, h, d}
                            : std::vector<int64_t>{batch, h, s, d};
  }
  std::string arguments() const {
    std::string text =
        "%q: " + query() + ", %k: " + key() + ", %v: " + value();
    for (auto &[name, t, v] : operands)
      text += ", %" + name + ": " + t;
    return text;
  }
  std::string clauses() const {
    std::string text = " layout = " + layout;
    for (auto &[name, t, v] : operands)
      text += " " + name + "(%" + name + " : " + t + ")";
    return text;
  }
  std::string region(bool withDerivative) const {
    if (score.empty())
      return "";
    return " score {\n^bb0(%s: f32, %b: index, %h: index, %i: index, %j: "
           "index):\n" +
           score + (withDerivative ? derivative : "") + "heddle.yield %y" +
           (withDerivative ? ", %z : f32, f32" : " : f32") + "\n}";
  }
  std::string forward() const {
    return "func.func @f(" + arguments() + ") -> (" + out() + ", " + lse() +
           ") {\n%o, %l = heddle.attention %q, %k, %v" + clauses() +
           region(false) + " {" + attributes + "} : " + query() + ", " +
           key() + ", " + value() + " -> " + out() + ", " + lse() +
           "\nreturn %o, %l : " + out() + ", " + lse() + "\n}";
  }
  /// Gradients of query, key, value and the float operands, in order.
  std::string backward() const {
    std::string results = "d_query " + query() + " d_key " + key() +
                          " d_value " + value();
    std::string types = query() + ", " + key() + ", " + value();
    std::string names = "%dq, %dk, %dv";
    for (auto &[name, t, v] : operands)
      if (name == "bias" || name == "sinks") {
        results += " d_" + name + " " + t;
        types += ", " + t;
        names += ", %d" + name;
      }
    return "func.func @f(" + arguments() + ", %g: " + out() + ", %r: " + lse() +
           ") -> (" + types + ") {\n%o, %l = heddle.attention %q, %k, %v" +
           clauses() + region(false) + " {" + attributes + "} : " + query() +
           ", " + key() + ", " + value() + " -> " + out() + ", " + lse() +
           "\n" + names + " = heddle.attention_grad %q, %k, %v, %l, %g out(%o : " +
           out() + ") d_lse(%r : " + lse() + ")" + clauses() + region(true) +
           " {" + attributes + "} : " + query() + ", " + key() + ", " +
           value() + ", " + lse() + ", " + out() + " -> " + results +
           "\nreturn " + names + " : " + types + "\n}";
  }

  std::vector<HostTensor> inputs() const {
    std::vector<HostTensor> all{coarse(shape(sq, heads, dqk), 1),
                                coarse(shape(sk, keyHeads, dqk), 2),
                                coarse(shape(sk, keyHeads, dv), 3)};
    for (auto &[name, t, v] : operands)
      all.push_back(v);
    return all;
  }
};

/// Compares all gradients with central differences, to 1e-6 of the largest.
void checkGradients(const Case &c) {
  std::vector<HostTensor> inputs = c.inputs();
  HostTensor g = coarse(c.shape(c.sq, c.heads, c.dv), 4),
             r = coarse({c.batch, c.heads, c.sq}, 5);
  TestModule forward(c.forward());
  ASSERT_TRUE(forward.parsed()) << forward.diagnostics << c.forward();
  auto loss = [&] {
    std::vector<ReferenceTensor> results = forward.run(inputs);
    double sum = 0;
    for (int64_t i = 0; i < g.type.numElements(); ++i)
      sum += results[0].real[i] * g.as<float>()[i];
    for (int64_t i = 0; i < r.type.numElements(); ++i)
      if (results[1].real[i] != -kInf)
        sum += results[1].real[i] * r.as<float>()[i];
    return sum;
  };
  std::vector<HostTensor> all = inputs;
  all.push_back(g);
  all.push_back(r);
  std::vector<ReferenceTensor> gradients = evaluateText(c.backward(), all);
  size_t result = 0;
  for (size_t n = 0; n < inputs.size(); ++n) {
    if (inputs[n].type.dtype != DType::F32)
      continue;
    ASSERT_LT(result, gradients.size()) << c.backward();
    const ReferenceTensor &gradient = gradients[result++];
    ASSERT_EQ(gradient.numElements(), inputs[n].type.numElements());
    double largest = 0, error = 0;
    float *x = inputs[n].as<float>();
    for (int64_t i = 0; i < gradient.numElements(); ++i) {
      if (!std::isfinite(x[i]) || std::fabs(x[i]) > 1e30f) {
        EXPECT_EQ(gradient.real[i], 0.0);
        continue;
      }
      float before = x[i];
      x[i] = before + static_cast<float>(kStep);
      double above = loss();
      x[i] = before - static_cast<float>(kStep);
      double below = loss();
      x[i] = before;
      double wanted = (above - below) / (2 * kStep);
      largest = std::max(largest, std::fabs(wanted));
      error = std::max(error, std::fabs(gradient.real[i] - wanted));
    }
    EXPECT_LE(error, 1e-6 * largest) << "input " << n;
    EXPECT_GT(largest, 1e-3) << "input " << n;
  }
}

std::string bias(std::vector<int64_t> shape) {
  std::string text = "tensor<";
  for (int64_t d : shape)
    text += std::to_string(d) + "x";
  return text + "f32>";
}
} // namespace

TEST(AttentionGrad, plain_attention_in_both_layouts) {
  Case c;
  checkGradients(c);
  c.layout = "bhsd";
  checkGradients(c);
}

TEST(AttentionGrad, heads_of_a_group_are_summed) {
  Case c;
  c.heads = 6;
  c.keyHeads = 2;
  checkGradients(c);
}

TEST(AttentionGrad, masks_and_rows_without_keys) {
  for (const char *mask :
       {"causal_lower_right", "causal_upper_left", "window<1, 0>",
        "union<prefix<2>, window<1, 1>>", "block_diagonal<2>",
        "affine_set<\"(i, j) : (i - 2 >= 0, 2 * i - j >= 0)\">"}) {
    Case c;
    c.sq = 7;
    c.sk = 4;
    c.attributes = std::string("mask = #heddle.mask<") + mask + ">";
    checkGradients(c);
  }
}

TEST(AttentionGrad, scale) {
  for (const char *scale : {"-1.5", "0.25", "3.0"}) {
    Case c;
    c.attributes = std::string("scale = ") + scale + " : f64";
    checkGradients(c);
  }
}

TEST(AttentionGrad, bias_is_summed_over_the_axes_that_it_repeats) {
  for (int number = 0; number < 16; ++number) {
    Case c;
    c.keyHeads = 2;
    std::vector<int64_t> shape{number & 1 ? c.batch : 1,
                               number & 2 ? c.heads : 1, number & 4 ? c.sq : 1,
                               number & 8 ? c.sk : 1};
    c.operands.emplace_back("bias", bias(shape), coarse(shape, 7));
    checkGradients(c);
  }
}

TEST(AttentionGrad, a_bias_that_masks_has_no_gradient) {
  Case c;
  std::vector<int64_t> shape{1, 1, c.sq, c.sk};
  HostTensor values = coarse(shape, 7);
  float *x = values.as<float>();
  for (int64_t j = 0; j < c.sk; ++j)
    x[2 * c.sk + j] = -std::numeric_limits<float>::infinity();
  x[1] = std::numeric_limits<float>::lowest();
  c.operands.emplace_back("bias", bias(shape), values);
  checkGradients(c);
}

TEST(AttentionGrad, sinks) {
  Case c;
  c.attributes = "mask = #heddle.mask<causal_lower_right>";
  c.sq = 8; // the first queries see their sink alone
  c.operands.emplace_back("sinks", "tensor<2xf32>", f32({2}, {0.5, -1.0}));
  checkGradients(c);
}

TEST(AttentionGrad, segments_lengths_and_mask_tensors) {
  Case c;
  c.operands.emplace_back("query_segments", "tensor<2x5xi32>",
                          i32({2, 5}, {0, 0, 1, 1, 7, 0, 1, 2, 3, 3}));
  c.operands.emplace_back("key_segments", "tensor<2x6xi32>",
                          i32({2, 6}, {0, 0, 1, 1, 1, 0, 0, 1, 1, 2, 3, 5}));
  c.operands.emplace_back("key_lengths", "tensor<2xi32>", i32({2}, {4, 6}));
  checkGradients(c);
  Case empty;
  empty.operands.emplace_back("key_lengths", "tensor<2xi32>", i32({2}, {0, 3}));
  checkGradients(empty);
  Case dense;
  dense.operands.emplace_back(
      "mask_tensor", "tensor<1x1x5x6xi1>",
      tensor(DType::I1, {1, 1, 5, 6},
             {1, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1,
              1, 1, 1, 0, 0, 0, 0, 0, 1, 1, 1, 0, 0, 1, 1}));
  checkGradients(dense);
}

TEST(AttentionGrad, score_regions) {
  Case c;
  c.score = "%cap = arith.constant 2.0 : f32\n"
            "%x = arith.divf %s, %cap : f32\n%t = math.tanh %x : f32\n"
            "%y = arith.mulf %t, %cap : f32\n";
  c.derivative = "%one = arith.constant 1.0 : f32\n"
                 "%tt = arith.mulf %t, %t : f32\n"
                 "%z = arith.subf %one, %tt : f32\n";
  checkGradients(c);
  c.attributes = "mask = #heddle.mask<causal_lower_right>";
  c.operands.emplace_back("bias", bias({1, 2, 1, 6}), coarse({1, 2, 1, 6}, 7));
  checkGradients(c);
}

TEST(AttentionGrad, row_dots_stand_for_out_and_d_lse) {
  std::string q = "tensor<1x3x1x2xf32>", l = "tensor<1x1x3xf32>";
  auto text = [&](const std::string &clause, const std::string &argument,
                  const std::string &results, const std::string &types) {
    return "func.func @f(%q: " + q + ", %k: " + q + ", %v: " + q + ", %l: " + l +
           ", %g: " + q + ", " + argument + ") -> (" + types + ") {\n%r:" +
           "2 = heddle.attention_grad %q, %k, %v, %l, %g " + clause + " : " +
           q + ", " + q + ", " + q + ", " + l + ", " + q + " -> " + results +
           "\nreturn %r#0, %r#1 : " + types + "\n}";
  };
  std::vector<HostTensor> inputs{
      coarse({1, 3, 1, 2}, 1), coarse({1, 3, 1, 2}, 2), coarse({1, 3, 1, 2}, 3),
      coarse({1, 1, 3}, 4), coarse({1, 3, 1, 2}, 5), coarse({1, 3, 1, 2}, 6)};
  std::vector<ReferenceTensor> first =
      evaluateText(text("out(%o : " + q + ")", "%o: " + q,
                        "d_key " + q + " row_dots " + l, q + ", " + l),
                   inputs);
  inputs.back() = f32({1, 1, 3}, first[1].real);
  std::vector<ReferenceTensor> second =
      evaluateText(text("row_dots(%d : " + l + ")", "%d: " + l,
                        "d_query " + q + " d_key " + q, q + ", " + q),
                   inputs);
  expectNear(second[1], first[0].real, 1e-6);
}

TEST(AttentionGrad, nothing_behind_a_mask_reaches_a_gradient) {
  Case c;
  c.batch = 1;
  c.attributes = "mask = #heddle.mask<causal_lower_right>";
  c.sq = 3;
  c.sk = 5;
  c.operands.emplace_back("key_lengths", "tensor<1xi32>", i32({1}, {4}));
  std::vector<HostTensor> inputs = c.inputs();
  inputs.push_back(coarse(c.shape(c.sq, c.heads, c.dv), 4));
  inputs.push_back(coarse({c.batch, c.heads, c.sq}, 5));
  std::vector<ReferenceTensor> clean = evaluateText(c.backward(), inputs);
  for (int64_t e = 0; e < c.dqk; ++e)
    inputs[1].as<float>()[4 * c.dqk + e] = std::nanf("");
  for (int64_t e = 0; e < c.dv; ++e)
    inputs[2].as<float>()[4 * c.dv + e] = std::numeric_limits<float>::infinity();
  std::vector<ReferenceTensor> spoiled = evaluateText(c.backward(), inputs);
  for (int result = 0; result < 3; ++result) {
    // Sums skip the hidden pairs, in another order of additions.
    expectNear(spoiled[result], clean[result].real, 1e-14);
  }
  for (int64_t e = 0; e < c.dqk; ++e)
    EXPECT_EQ(spoiled[1].real[4 * c.dqk + e], 0.0);
}

TEST(AttentionGrad, declared_mode_rounds_probabilities_and_score_gradients) {
  // One query, two keys of equal score: p = 1/2 and ds are powers of two in
  // exact arithmetic, and stay so; three keys give thirds, which do not.
  for (int64_t keys : {2, 3}) {
    std::string n = std::to_string(keys);
    std::string q = "tensor<1x1x1x1xbf16>", k = "tensor<1x" + n + "x1x1xbf16>",
                l = "tensor<1x1x1xf32>";
    std::string text =
        "func.func @f(%q: " + q + ", %k: " + k + ", %v: " + k + ", %g: " + q +
        ") -> " + k + " {\n%o, %l = heddle.attention %q, %k, %v : " + q + ", " +
        k + ", " + k + " -> " + q + ", " + l +
        "\n%dv = heddle.attention_grad %q, %k, %v, %l, %g out(%o : " + q +
        ") : " + q + ", " + k + ", " + k + ", " + l + ", " + q +
        " -> d_value " + k + "\nreturn %dv : " + k + "\n}";
    std::vector<double> zeros(keys, 0.0);
    std::vector<HostTensor> inputs{
        tensor(DType::BF16, {1, 1, 1, 1}, {1}),
        tensor(DType::BF16, {1, keys, 1, 1}, zeros),
        tensor(DType::BF16, {1, keys, 1, 1}, zeros),
        tensor(DType::BF16, {1, 1, 1, 1}, {1})};
    double exact = evaluateText(text, inputs)[0].real[0];
    double declared =
        evaluateText(text, inputs, ReferenceMode::Declared)[0].real[0];
    EXPECT_DOUBLE_EQ(exact, 1.0 / keys);
    EXPECT_EQ(declared == exact, keys == 2);
    EXPECT_NEAR(declared, exact, 1.0 / 512);
  }
}

TEST(AttentionGrad, rows_of_d_query_equal_those_of_the_whole) {
  Case c;
  c.heads = c.keyHeads = 2;
  c.attributes = "mask = #heddle.mask<causal_lower_right>";
  std::string text = c.backward();
  TestModule module(text);
  ASSERT_TRUE(module.parsed()) << module.diagnostics;
  AttentionOp forward;
  AttentionGradOp grad;
  module.function().walk([&](AttentionOp op) { forward = op; });
  module.function().walk([&](AttentionGradOp op) { grad = op; });
  grad.getDLseMutable().clear();
  std::vector<HostTensor> inputs = c.inputs();
  inputs.push_back(coarse(c.shape(c.sq, c.heads, c.dv), 4));
  std::vector<HostTensor> all = inputs;
  all.push_back(coarse({c.batch, c.heads, c.sq}, 5));
  std::vector<ReferenceTensor> whole = module.run(all);
  ReferenceTensor rows;
  ASSERT_TRUE(llvm::succeeded(evaluateAttentionGradRows(
      forward, grad, inputs, {1, 4}, ReferenceOptions(), rows)));
  ASSERT_EQ(rows.shape, (std::vector<int64_t>{2, 2, 2, 3}));
  for (int64_t b = 0; b < 2; ++b)
    for (int64_t n = 0; n < 2; ++n)
      for (int64_t e = 0; e < 6; ++e)
        EXPECT_NEAR(rows.real[(b * 2 + n) * 6 + e],
                    whole[0].real[(b * 5 + (n ? 4 : 1)) * 6 + e], 1e-12);
}
