//===- LinalgTest.cpp - structured ops and element code -------------------===//

#include "TestModule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

using namespace heddle;
using namespace heddle::test;

using Doubles = std::vector<double>;
static constexpr double inf = std::numeric_limits<double>::infinity();
static constexpr double nan_ = std::numeric_limits<double>::quiet_NaN();

/// A naive product of row-major matrices.
static Doubles product(const HostTensor &a, const HostTensor &b, int64_t m,
                       int64_t n, int64_t k) {
  Doubles c(m * n, 0.0);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j)
      for (int64_t p = 0; p < k; ++p)
        c[i * n + j] += loadElement(a.bytes.data(), a.type.dtype, i * k + p) *
                        loadElement(b.bytes.data(), b.type.dtype, p * n + j);
  return c;
}

TEST(Linalg, matmul_of_odd_sizes_equals_the_naive_product) {
  const int64_t sizes[][3] = {{1, 1, 1},   {3, 5, 7},    {67, 17, 33},
                              {5, 129, 2}, {129, 3, 40}, {9, 16, 64}};
  for (auto [m, n, k] : sizes) {
    auto type = [](int64_t r, int64_t c) {
      return "tensor<" + std::to_string(r) + "x" + std::to_string(c) + "xf32>";
    };
    HostTensor a = noise(DType::F32, {m, k}, 1),
               b = noise(DType::F32, {k, n}, 2);
    auto r = evaluateText(
        "func.func @f(%a: " + type(m, k) + ", %b: " + type(k, n) + ") -> " +
            type(m, n) + " {\n%one = arith.constant 1.0 : f32\n%e = " +
            "tensor.empty() : " + type(m, n) +
            "\n%z = linalg.fill ins(%one : " + "f32) outs(%e : " + type(m, n) +
            ") -> " + type(m, n) + "\n%r = linalg.matmul ins(%a, %b : " +
            type(m, k) + ", " + type(k, n) + ") outs(%z : " + type(m, n) +
            ") -> " + type(m, n) + "\nreturn %r : " + type(m, n) + "\n}",
        {a, b});
    Doubles expected = product(a, b, m, n, k);
    for (double &x : expected)
      x += 1; // the product is added to what the output holds
    expectNear(r[0], expected);
  }
}

TEST(Linalg, bf16_inputs_accumulate_exactly_into_an_f32_output) {
  HostTensor a = noise(DType::BF16, {20, 33}, 1),
             b = noise(DType::BF16, {33, 24}, 2);
  std::string text = R"(
    func.func @f(%a: tensor<20x33xbf16>, %b: tensor<33x24xbf16>)
        -> (tensor<20x24xf32>, tensor<20x24xbf16>) {
      %zero = arith.constant 0.0 : f32
      %e = tensor.empty() : tensor<20x24xf32>
      %z = linalg.fill ins(%zero : f32) outs(%e : tensor<20x24xf32>)
        -> tensor<20x24xf32>
      %r = linalg.matmul ins(%a, %b : tensor<20x33xbf16>, tensor<33x24xbf16>)
        outs(%z : tensor<20x24xf32>) -> tensor<20x24xf32>
      %t = arith.truncf %r : tensor<20x24xf32> to tensor<20x24xbf16>
      return %r, %t : tensor<20x24xf32>, tensor<20x24xbf16>
    })";
  Doubles expected = product(a, b, 20, 24, 33);
  auto exact = evaluateText(text, {a, b});
  expectNear(exact[0], expected);
  expectNear(exact[1], expected); // exact mode rounds nothing
  auto declared = evaluateText(text, {a, b}, ReferenceMode::Declared);
  expectNear(declared[0], expected);
  HostTensor rounded = tensor(DType::BF16, {20, 24}, expected);
  Doubles stored;
  for (int64_t i = 0; i < 20 * 24; ++i)
    stored.push_back(loadElement(rounded.bytes.data(), DType::BF16, i));
  expectNear(declared[1], stored, 0);
}

TEST(Linalg, batched_and_transposed_products_follow_their_maps) {
  HostTensor a = noise(DType::F32, {3, 10, 6}, 1),
             b = noise(DType::F32, {3, 12, 6}, 2);
  auto r = evaluateText(R"(
    #a = affine_map<(b, i, j, k) -> (b, i, k)>
    #b = affine_map<(b, i, j, k) -> (b, j, k)>
    #c = affine_map<(b, i, j, k) -> (b, j, i)>
    func.func @f(%a: tensor<3x10x6xf32>, %b: tensor<3x12x6xf32>)
        -> tensor<3x12x10xf32> {
      %zero = arith.constant dense<0.0> : tensor<3x12x10xf32>
      %r = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types =
          ["parallel", "parallel", "parallel", "reduction"]}
          ins(%a, %b : tensor<3x10x6xf32>, tensor<3x12x6xf32>)
          outs(%zero : tensor<3x12x10xf32>) {
      ^bb0(%x: f32, %y: f32, %acc: f32):
        %m = arith.mulf %y, %x : f32
        %s = arith.addf %m, %acc : f32
        linalg.yield %s : f32
      } -> tensor<3x12x10xf32>
      return %r : tensor<3x12x10xf32>
    })",
                        {a, b});
  Doubles expected(3 * 12 * 10, 0.0);
  for (int batch = 0; batch < 3; ++batch)
    for (int i = 0; i < 10; ++i)
      for (int j = 0; j < 12; ++j)
        for (int k = 0; k < 6; ++k)
          expected[(batch * 12 + j) * 10 + i] +=
              double(a.as<float>()[(batch * 10 + i) * 6 + k]) *
              b.as<float>()[(batch * 12 + j) * 6 + k];
  expectNear(r[0], expected);
}

TEST(Linalg, strided_convolutions_are_sums_over_windows) {
  // Large enough for the packed path, small enough to sum by hand.
  HostTensor x = noise(DType::F32, {2, 21, 8}, 1),
             w = noise(DType::F32, {3, 8, 16}, 2);
  auto r = evaluateText(R"(
    func.func @f(%x: tensor<2x21x8xf32>, %w: tensor<3x8x16xf32>)
        -> tensor<2x10x16xf32> {
      %zero = arith.constant dense<0.0> : tensor<2x10x16xf32>
      %r = linalg.conv_1d_nwc_wcf {strides = dense<2> : tensor<1xi64>,
          dilations = dense<1> : tensor<1xi64>}
          ins(%x, %w : tensor<2x21x8xf32>, tensor<3x8x16xf32>)
          outs(%zero : tensor<2x10x16xf32>) -> tensor<2x10x16xf32>
      return %r : tensor<2x10x16xf32>
    })",
                        {x, w});
  Doubles expected(2 * 10 * 16, 0.0);
  for (int b = 0; b < 2; ++b)
    for (int t = 0; t < 10; ++t)
      for (int o = 0; o < 16; ++o)
        for (int k = 0; k < 3; ++k)
          for (int c = 0; c < 8; ++c)
            expected[(b * 10 + t) * 16 + o] +=
                double(x.as<float>()[(b * 21 + 2 * t + k) * 8 + c]) *
                w.as<float>()[(k * 8 + c) * 16 + o];
  expectNear(r[0], expected);
}

TEST(Linalg, an_output_map_that_overlaps_is_summed_not_raced) {
  // A transposed convolution written with the output at t*2+k.
  auto r = evaluateText(R"(
    #x = affine_map<(t, k) -> (t)>
    #w = affine_map<(t, k) -> (k)>
    #y = affine_map<(t, k) -> (t * 2 + k)>
    func.func @f(%x: tensor<3xf32>, %w: tensor<4xf32>) -> tensor<8xf32> {
      %zero = arith.constant dense<0.0> : tensor<8xf32>
      %r = linalg.generic {indexing_maps = [#x, #w, #y],
          iterator_types = ["parallel", "parallel"]}
          ins(%x, %w : tensor<3xf32>, tensor<4xf32>) outs(%zero : tensor<8xf32>) {
      ^bb0(%a: f32, %b: f32, %acc: f32):
        %m = arith.mulf %a, %b : f32
        %s = arith.addf %acc, %m : f32
        linalg.yield %s : f32
      } -> tensor<8xf32>
      return %r : tensor<8xf32>
    })",
                        {f32({3}, {1, 10, 100}), f32({4}, {1, 2, 3, 4})});
  expectNear(r[0], {1, 2, 13, 24, 130, 240, 300, 400});
}

TEST(Linalg, pooling_takes_maxima_of_windows) {
  auto r = evaluateText(R"(
    func.func @f(%x: tensor<1x5x1xf32>, %w: tensor<2xf32>) -> tensor<1x2x1xf32> {
      %low = arith.constant dense<0xFF800000> : tensor<1x2x1xf32>
      %r = linalg.pooling_nwc_max {strides = dense<2> : tensor<1xi64>,
          dilations = dense<1> : tensor<1xi64>}
          ins(%x, %w : tensor<1x5x1xf32>, tensor<2xf32>)
          outs(%low : tensor<1x2x1xf32>) -> tensor<1x2x1xf32>
      return %r : tensor<1x2x1xf32>
    })",
                        {f32({1, 5, 1}, {3, -1, -5, -4, 9}), f32({2}, {0, 0})});
  expectNear(r[0], {3, -4});
}

TEST(Linalg, row_and_column_reductions_of_long_and_short_axes) {
  std::string text = R"(
    #id = affine_map<(i, j) -> (i, j)>
    #row = affine_map<(i, j) -> (i)>
    #col = affine_map<(i, j) -> (j)>
    func.func @f(%x: tensor<70x300xf32>) -> (tensor<70xf32>, tensor<300xf32>,
        tensor<70xf32>, tensor<f32>) {
      %zr = arith.constant dense<0.5> : tensor<70xf32>
      %zc = arith.constant dense<0.0> : tensor<300xf32>
      %z0 = arith.constant dense<0.0> : tensor<f32>
      %low = arith.constant dense<-1.0e30> : tensor<70xf32>
      %row = linalg.generic {indexing_maps = [#id, #row],
          iterator_types = ["parallel", "reduction"]}
          ins(%x : tensor<70x300xf32>) outs(%zr : tensor<70xf32>) {
      ^bb0(%a: f32, %acc: f32):
        %sq = arith.mulf %a, %a : f32
        %s = arith.addf %sq, %acc : f32
        linalg.yield %s : f32
      } -> tensor<70xf32>
      %col = linalg.reduce ins(%x : tensor<70x300xf32>)
          outs(%zc : tensor<300xf32>) dimensions = [0]
        (%a: f32, %acc: f32) {
          %s = arith.addf %a, %acc : f32
          linalg.yield %s : f32
        }
      %max = linalg.reduce { arith.maximumf } ins(%x : tensor<70x300xf32>)
          outs(%low : tensor<70xf32>) dimensions = [1]
      %all = linalg.reduce { arith.addf } ins(%x : tensor<70x300xf32>)
          outs(%z0 : tensor<f32>) dimensions = [0, 1]
      return %row, %col, %max, %all : tensor<70xf32>, tensor<300xf32>,
        tensor<70xf32>, tensor<f32>
    })";
  HostTensor x = noise(DType::F32, {70, 300}, 5);
  Doubles row(70, 0.5), col(300, 0.0), max(70, -1e30), all(1, 0.0);
  for (int i = 0; i < 70; ++i)
    for (int j = 0; j < 300; ++j) {
      double a = x.as<float>()[i * 300 + j];
      row[i] += a * a;
      col[j] += a;
      max[i] = std::fmax(max[i], a);
      all[0] += a;
    }
  auto r = evaluateText(text, {x});
  expectNear(r[0], row);
  expectNear(r[1], col);
  expectNear(r[2], max, 0);
  expectNear(r[3], all);
}

TEST(Linalg, results_do_not_depend_on_the_number_of_threads) {
  std::string text = R"(
    #id = affine_map<(i, j) -> (i, j)>
    #t = affine_map<(i, j) -> (j, i)>
    #row = affine_map<(i, j) -> (i)>
    func.func @f(%x: tensor<301x512xf32>, %y: tensor<512x301xf32>)
        -> (tensor<301x512xf32>, tensor<301xf32>) {
      %e = tensor.empty() : tensor<301x512xf32>
      %z = arith.constant dense<0.0> : tensor<301xf32>
      %r:2 = linalg.generic {indexing_maps = [#id, #t, #id, #row],
          iterator_types = ["parallel", "reduction"]}
          ins(%x, %y : tensor<301x512xf32>, tensor<512x301xf32>)
          outs(%e, %z : tensor<301x512xf32>, tensor<301xf32>) {
      ^bb0(%a: f32, %b: f32, %o: f32, %acc: f32):
        %d = arith.subf %a, %b : f32
        %s = arith.addf %acc, %d : f32
        linalg.yield %d, %s : f32, f32
      } -> (tensor<301x512xf32>, tensor<301xf32>)
      return %r#0, %r#1 : tensor<301x512xf32>, tensor<301xf32>
    })";
  std::vector<HostTensor> inputs = {noise(DType::F32, {301, 512}, 1),
                                    noise(DType::F32, {512, 301}, 2)};
  TestModule module(text);
  auto one = module.run(inputs, ReferenceMode::Exact, 1);
  auto five = module.run(inputs, ReferenceMode::Exact, 5);
  ASSERT_EQ(one.size(), 2u) << module.diagnostics;
  ASSERT_EQ(five.size(), 2u);
  EXPECT_EQ(one[0].real, five[0].real);
  EXPECT_EQ(one[1].real, five[1].real);
  EXPECT_EQ(one[0].real[512 + 3], double(inputs[0].as<float>()[512 + 3]) -
                                      inputs[1].as<float>()[3 * 301 + 1]);
}

TEST(Linalg, index_reads_the_loop_and_argmax_keeps_two_results) {
  auto r = evaluateText(R"(
    #id = affine_map<(i, j) -> (i, j)>
    #row = affine_map<(i, j) -> (i)>
    func.func @f(%x: tensor<2x4xf32>) -> (tensor<2xf32>, tensor<2xi32>) {
      %low = arith.constant dense<-1.0e30> : tensor<2xf32>
      %none = arith.constant dense<-1> : tensor<2xi32>
      %r:2 = linalg.generic {indexing_maps = [#id, #row, #row],
          iterator_types = ["parallel", "reduction"]}
          ins(%x : tensor<2x4xf32>) outs(%low, %none : tensor<2xf32>, tensor<2xi32>) {
      ^bb0(%a: f32, %best: f32, %at: i32):
        %j = linalg.index 1 : index
        %j32 = arith.index_cast %j : index to i32
        %gt = arith.cmpf ogt, %a, %best : f32
        %v = arith.select %gt, %a, %best : f32
        %w = arith.select %gt, %j32, %at : i32
        linalg.yield %v, %w : f32, i32
      } -> (tensor<2xf32>, tensor<2xi32>)
      return %r#0, %r#1 : tensor<2xf32>, tensor<2xi32>
    })",
                        {f32({2, 4}, {1, 7, 3, 7, -4, -3, -2, -1})});
  expectNear(r[0], {7, -1});
  expectNear(r[1], {1, 3});
}

TEST(Linalg, named_elementwise_ops_run_through_their_regions) {
  auto r = evaluateText(
      R"(
    func.func @f(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) -> (tensor<2x3xf32>,
        tensor<3x2xf32>, tensor<2x2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) {
      %e = tensor.empty() : tensor<2x3xf32>
      %et = tensor.empty() : tensor<3x2xf32>
      %eb = tensor.empty() : tensor<2x2x3xf32>
      %sub = linalg.sub ins(%x, %y : tensor<2x3xf32>, tensor<2x3xf32>)
        outs(%e : tensor<2x3xf32>) -> tensor<2x3xf32>
      %t = linalg.transpose ins(%sub : tensor<2x3xf32>)
        outs(%et : tensor<3x2xf32>) permutation = [1, 0]
      %b = linalg.broadcast ins(%x : tensor<2x3xf32>)
        outs(%eb : tensor<2x2x3xf32>) dimensions = [1]
      %m = linalg.map { arith.mulf } ins(%x, %y : tensor<2x3xf32>, tensor<2x3xf32>)
        outs(%e : tensor<2x3xf32>)
      %x2 = linalg.elementwise kind=#linalg.elementwise_kind<exp>
        ins(%sub : tensor<2x3xf32>) outs(%e : tensor<2x3xf32>) -> tensor<2x3xf32>
      return %sub, %t, %b, %m, %x2 : tensor<2x3xf32>, tensor<3x2xf32>,
        tensor<2x2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>
    })",
      {f32({2, 3}, {1, 2, 3, 4, 5, 6}), f32({2, 3}, {1, 1, 1, 2, 2, 2})});
  expectNear(r[0], {0, 1, 2, 2, 3, 4});
  expectNear(r[1], {0, 2, 1, 3, 2, 4});
  expectNear(r[2], {1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6});
  expectNear(r[3], {1, 2, 3, 8, 10, 12});
  expectNear(r[4], {1, std::exp(1), std::exp(2), std::exp(2), std::exp(3),
                    std::exp(4)});
}

TEST(Linalg, softmax_normalizes_any_axis) {
  std::string text = R"(
    func.func @f(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
      %e = tensor.empty() : tensor<2x3xf32>
      %a = linalg.softmax dimension(0) ins(%x : tensor<2x3xf32>)
        outs(%e : tensor<2x3xf32>) -> tensor<2x3xf32>
      %b = linalg.softmax dimension(1) ins(%x : tensor<2x3xf32>)
        outs(%e : tensor<2x3xf32>) -> tensor<2x3xf32>
      return %a, %b : tensor<2x3xf32>, tensor<2x3xf32>
    })";
  auto r = evaluateText(text, {f32({2, 3}, {1, 2, 3, 1, 3, 7})});
  auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  expectNear(r[0],
             {0.5, sigmoid(-1), sigmoid(-4), 0.5, sigmoid(1), sigmoid(4)});
  double s = std::exp(1) + std::exp(2) + std::exp(3),
         t = std::exp(1) + std::exp(3) + std::exp(7);
  expectNear(r[1], {std::exp(1) / s, std::exp(2) / s, std::exp(3) / s,
                    std::exp(1) / t, std::exp(3) / t, std::exp(7) / t});
}

TEST(Elements, maximum_propagates_nan_and_maxnum_does_not) {
  auto r = evaluateText(R"(
    func.func @f(%x: tensor<3xf32>, %y: tensor<3xf32>)
        -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xi1>) {
      %a = arith.maximumf %x, %y : tensor<3xf32>
      %b = arith.maxnumf %x, %y : tensor<3xf32>
      %c = arith.minnumf %x, %y : tensor<3xf32>
      %d = arith.cmpf une, %x, %x : tensor<3xf32>
      return %a, %b, %c, %d : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>,
        tensor<3xi1>
    })",
                        {f32({3}, {nan_, 1, -inf}), f32({3}, {2, nan_, 5})});
  expectNear(r[0], {nan_, nan_, 5});
  expectNear(r[1], {2, 1, 5});
  expectNear(r[2], {2, 1, -inf});
  expectNear(r[3], {1, 0, 0});
}

TEST(Elements, integers_wrap_and_keep_their_sign) {
  auto r = evaluateText(R"(
    func.func @f(%x: tensor<3xi32>, %y: tensor<3xi32>)
        -> (tensor<3xi32>, tensor<3xi32>, tensor<3xi32>, tensor<3xi32>,
            tensor<3xi64>, tensor<3xi8>, tensor<3xf32>, tensor<3xi1>) {
      %m = arith.muli %x, %y : tensor<3xi32>
      %fd = arith.floordivsi %x, %y : tensor<3xi32>
      %ud = arith.divui %x, %y : tensor<3xi32>
      %sh = arith.shrui %x, %y : tensor<3xi32>
      %ext = arith.extui %x : tensor<3xi32> to tensor<3xi64>
      %tr = arith.trunci %x : tensor<3xi32> to tensor<3xi8>
      %fp = arith.uitofp %x : tensor<3xi32> to tensor<3xf32>
      %lt = arith.cmpi ult, %x, %y : tensor<3xi32>
      return %m, %fd, %ud, %sh, %ext, %tr, %fp, %lt : tensor<3xi32>,
        tensor<3xi32>, tensor<3xi32>, tensor<3xi32>, tensor<3xi64>,
        tensor<3xi8>, tensor<3xf32>, tensor<3xi1>
    })",
                        {i32({3}, {-7, 2147483647, 300}), i32({3}, {2, 2, 3})});
  expectNear(r[0], {-14, -2, 900});
  expectNear(r[1], {-4, 1073741823, 100});
  expectNear(r[2], {2147483644, 1073741823, 100});
  expectNear(r[3], {1073741822, 536870911, 37});
  expectNear(r[4], {4294967289, 2147483647, 300});
  expectNear(r[5], {-7, -1, 44});
  expectNear(r[6], {4294967289, 2147483647, 300});
  expectNear(r[7], {0, 0, 0});
}

TEST(Elements, unary_functions_agree_with_their_definitions) {
  auto r = evaluateText(R"(
    func.func @f(%x: tensor<1xf32>) -> (tensor<1xf32>, tensor<1xf32>,
        tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) {
      %a = math.erf %x : tensor<1xf32>
      %b = math.rsqrt %x : tensor<1xf32>
      %c = math.exp2 %x : tensor<1xf32>
      %d = math.roundeven %x : tensor<1xf32>
      %e = math.fma %x, %x, %a : tensor<1xf32>
      %p = math.powf %x, %x : tensor<1xf32>
      return %a, %b, %c, %d, %e, %p : tensor<1xf32>, tensor<1xf32>,
        tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>
    })",
                        {f32({1}, {2.5})});
  double erf = 0.99959304798255504106; // erf(2.5)
  expectNear(r[0], {erf});
  expectNear(r[1], {0.63245553203367586640});
  expectNear(r[2], {5.65685424949238019520});
  expectNear(r[3], {2});
  expectNear(r[4], {6.25 + erf});
  expectNear(r[5], {9.88211768802618541250});
}

TEST(Elements, bitcasts_see_the_encoding) {
  auto r = evaluateText(
      R"(
    func.func @f(%x: tensor<2xf32>, %y: tensor<2xi16>)
        -> (tensor<2xi32>, tensor<2xbf16>) {
      %a = arith.bitcast %x : tensor<2xf32> to tensor<2xi32>
      %b = arith.bitcast %y : tensor<2xi16> to tensor<2xbf16>
      return %a, %b : tensor<2xi32>, tensor<2xbf16>
    })",
      {f32({2}, {1, -2}), tensor(DType::I16, {2}, {0x3F80, -16384})});
  expectNear(r[0], {0x3F800000, -1073741824});
  expectNear(r[1], {1, -2});
}

TEST(Elements, truncf_rounds_to_even_once_in_declared_mode_only) {
  // 1 + 2^-8 + 2^-30 lies above the midpoint of two bf16 numbers; rounding
  // through f32 first would tie and go down.
  std::string text = R"(
    func.func @f(%x: tensor<5xf64>) -> (tensor<5xbf16>, tensor<5xf16>) {
      %a = arith.truncf %x : tensor<5xf64> to tensor<5xbf16>
      %b = arith.truncf %x : tensor<5xf64> to tensor<5xf16>
      return %a, %b : tensor<5xbf16>, tensor<5xf16>
    })";
  Doubles values = {1 + std::ldexp(1, -8) + std::ldexp(1, -30),
                    1 + std::ldexp(1, -8), 65520, std::ldexp(1.5, -25), -1e300};
  std::vector<HostTensor> inputs = {tensor(DType::F64, {5}, values)};
  expectNear(evaluateText(text, inputs)[0], values, 0);
  auto r = evaluateText(text, inputs, ReferenceMode::Declared);
  expectNear(r[0],
             {1 + std::ldexp(1, -7), 1, 65536, std::ldexp(1.5, -25), -inf}, 0);
  expectNear(r[1],
             {1 + std::ldexp(1, -8), 1 + std::ldexp(1, -8), inf,
              std::ldexp(1, -24), -inf},
             0);
}
