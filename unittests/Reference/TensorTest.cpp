//===- TensorTest.cpp - tensor ops, constants, control flow, errors -------===//

#include "TestModule.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace heddle;
using namespace heddle::test;

static constexpr double nan_ = std::numeric_limits<double>::quiet_NaN();

TEST(Tensor, slices_and_pads_move_boxes) {
  auto r = evaluateText(
      R"(
    func.func @f(%x: tensor<3x4xf32>, %i: tensor<i32>)
        -> (tensor<2x2xf32>, tensor<4xf32>, tensor<3x4xf32>, tensor<4x7xf32>) {
      %s = tensor.extract_slice %x[1, 0] [2, 2] [1, 2]
        : tensor<3x4xf32> to tensor<2x2xf32>
      %i32 = tensor.extract %i[] : tensor<i32>
      %row = arith.index_cast %i32 : i32 to index
      %one = tensor.extract_slice %x[%row, 0] [1, 4] [1, 1]
        : tensor<3x4xf32> to tensor<4xf32>
      %ins = tensor.insert_slice %s into %x[0, 1] [2, 2] [1, 1]
        : tensor<2x2xf32> into tensor<3x4xf32>
      %c = arith.constant 9.0 : f32
      %p = tensor.pad %x low[1, 2] high[0, 1] {
      ^bb0(%a: index, %b: index):
        tensor.yield %c : f32
      } : tensor<3x4xf32> to tensor<4x7xf32>
      return %s, %one, %ins, %p : tensor<2x2xf32>, tensor<4xf32>,
        tensor<3x4xf32>, tensor<4x7xf32>
    })",
      {f32({3, 4}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}), i32({}, {2})});
  expectNear(r[0], {4, 6, 8, 10});
  expectNear(r[1], {8, 9, 10, 11});
  expectNear(r[2], {0, 4, 6, 3, 4, 8, 10, 7, 8, 9, 10, 11});
  expectNear(r[3], {9, 9, 9, 9, 9, 9, 9, 9, 9, 0, 1, 2,  3,  9,
                    9, 9, 4, 5, 6, 7, 9, 9, 9, 8, 9, 10, 11, 9});
}

TEST(Tensor, empty_is_nan_until_written) {
  auto r = evaluateText(R"(
    func.func @f() -> (tensor<2xf32>, tensor<3xf32>) {
      %e = tensor.empty() : tensor<2xf32>
      %c = arith.constant 4.0 : f32
      %i = arith.constant 1 : index
      %w = tensor.insert %c into %e[%i] : tensor<2xf32>
      %s = tensor.splat %c : tensor<1xf32>
      %cat = tensor.concat dim(0) %s, %w
        : (tensor<1xf32>, tensor<2xf32>) -> tensor<3xf32>
      return %e, %cat : tensor<2xf32>, tensor<3xf32>
    })",
                        {});
  expectNear(r[0], {nan_, nan_});
  expectNear(r[1], {4, nan_, 4});
}

TEST(Tensor, generate_from_elements_and_reshapes) {
  auto r = evaluateText(R"(
    func.func @f(%x: tensor<2x3xf32>) -> (tensor<2x3xi32>, tensor<3x2xf32>,
        tensor<6xf32>, tensor<2xf32>) {
      %g = tensor.generate {
      ^bb0(%i: index, %j: index):
        %ten = arith.constant 10 : index
        %m = arith.muli %i, %ten : index
        %s = arith.addi %m, %j : index
        %r = arith.index_cast %s : index to i32
        tensor.yield %r : i32
      } : tensor<2x3xi32>
      %flat = tensor.collapse_shape %x [[0, 1]] : tensor<2x3xf32> into tensor<6xf32>
      %e = tensor.expand_shape %flat [[0, 1]] output_shape [3, 2]
        : tensor<6xf32> into tensor<3x2xf32>
      %c = arith.constant 1 : index
      %a = tensor.extract %x[%c, %c] : tensor<2x3xf32>
      %fe = tensor.from_elements %a, %a : tensor<2xf32>
      return %g, %e, %flat, %fe : tensor<2x3xi32>, tensor<3x2xf32>,
        tensor<6xf32>, tensor<2xf32>
    })",
                        {f32({2, 3}, {1, 2, 3, 4, 5, 6})});
  expectNear(r[0], {0, 1, 2, 10, 11, 12});
  EXPECT_EQ(r[1].shape, (std::vector<int64_t>{3, 2}));
  expectNear(r[1], {1, 2, 3, 4, 5, 6});
  expectNear(r[3], {5, 5});
}

TEST(Tensor, constants_of_every_spelling) {
  auto r = evaluateText(R"(
    func.func @f() -> (tensor<2xf16>, tensor<2xi1>, tensor<2xi64>,
        tensor<2xf32>, tensor<3xbf16>) {
      %a = arith.constant dense<[0.5, -2.0]> : tensor<2xf16>
      %b = arith.constant dense<[true, false]> : tensor<2xi1>
      %c = arith.constant dense<[9007199254740993, -1]> : tensor<2xi64>
      %d = arith.constant dense_resource<blob> : tensor<2xf32>
      %e = arith.constant dense<3.0> : tensor<3xbf16>
      return %a, %b, %c, %d, %e : tensor<2xf16>, tensor<2xi1>, tensor<2xi64>,
        tensor<2xf32>, tensor<3xbf16>
    }
    {-#
      dialect_resources: {
        builtin: { blob: "0x040000000000803F00000040" }
      }
    #-})",
                        {});
  expectNear(r[0], {0.5, -2});
  expectNear(r[1], {1, 0});
  EXPECT_EQ(r[2].integer, (std::vector<int64_t>{9007199254740993, -1}));
  expectNear(r[3], {1, 2});
  expectNear(r[4], {3, 3, 3});
}

TEST(Tensor, a_gather_in_a_generic_body_checks_its_indices) {
  std::string text = R"(
    #id = affine_map<(i) -> (i)>
    func.func @f(%t: tensor<3xf32>, %n: tensor<2xi32>) -> tensor<2xf32> {
      %e = tensor.empty() : tensor<2xf32>
      %r = linalg.generic {indexing_maps = [#id, #id],
          iterator_types = ["parallel"]}
          ins(%n : tensor<2xi32>) outs(%e : tensor<2xf32>) {
      ^bb0(%k: i32, %o: f32):
        %i = arith.index_cast %k : i32 to index
        %v = tensor.extract %t[%i] : tensor<3xf32>
        linalg.yield %v : f32
      } -> tensor<2xf32>
      return %r : tensor<2xf32>
    })";
  expectNear(evaluateText(text, {f32({3}, {5, 6, 7}), i32({2}, {2, 0})})[0],
             {7, 5});
  TestModule module(text);
  EXPECT_TRUE(module.run({f32({3}, {5, 6, 7}), i32({2}, {3, 0})}).empty());
  EXPECT_NE(module.diagnostics.find("expected every index inside its tensor"),
            std::string::npos)
      << module.diagnostics;
}

TEST(ControlFlow, calls_loops_and_branches_are_walked) {
  auto r = evaluateText(R"(
    func.func private @double(%x: tensor<2xf32>) -> tensor<2xf32> {
      %r = arith.addf %x, %x : tensor<2xf32>
      return %r : tensor<2xf32>
    }
    func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c3 = arith.constant 3 : index
      %y = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %x) -> tensor<2xf32> {
        %first = arith.cmpi eq, %i, %c0 : index
        %n = scf.if %first -> tensor<2xf32> {
          %d = func.call @double(%a) : (tensor<2xf32>) -> tensor<2xf32>
          scf.yield %d : tensor<2xf32>
        } else {
          %s = arith.addf %a, %x : tensor<2xf32>
          scf.yield %s : tensor<2xf32>
        }
        scf.yield %n : tensor<2xf32>
      }
      return %y : tensor<2xf32>
    })",
                        {f32({2}, {1, 10})});
  expectNear(r[0], {4, 40});
}

TEST(Errors, wrong_inputs_are_named) {
  std::string text = R"(
    func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
      return %x : tensor<2xf32>
    })";
  auto message = [&](const std::vector<HostTensor> &inputs) {
    TestModule module(text);
    EXPECT_TRUE(module.run(inputs).empty());
    return module.diagnostics;
  };
  EXPECT_NE(message({}).find("expected 1 inputs, found 0"), std::string::npos);
  EXPECT_NE(message({f32({3}, {1, 2, 3})})
                .find("expected input 0 of type float32[2], found float32[3]"),
            std::string::npos);
  EXPECT_NE(message({i32({2}, {1, 2})})
                .find("expected input 0 of type float32[2], found int32[2]"),
            std::string::npos);
}

TEST(Errors, all_unsupported_ops_are_listed_at_once) {
  TestModule module(R"(
    func.func private @g(%x: tensor<2xf32>) -> tensor<2xf32>
    func.func private @loop(%x: tensor<2xf32>) -> tensor<2xf32> {
      %r = func.call @loop(%x) : (tensor<2xf32>) -> tensor<2xf32>
      return %r : tensor<2xf32>
    }
    func.func @f(%x: tensor<2xf32>, %d: tensor<?xf32>, %w: tensor<1x2xf32>)
        -> tensor<2xf32> {
      %a = func.call @g(%x) : (tensor<2xf32>) -> tensor<2xf32>
      %b = func.call @loop(%a) : (tensor<2xf32>) -> tensor<2xf32>
      %c = arith.addf %d, %d : tensor<?xf32>
      %e = tensor.empty() : tensor<2xf32>
      %u = linalg.unpack %w outer_dims_perm = [0] inner_dims_pos = [0]
        inner_tiles = [2] into %e : tensor<1x2xf32> -> tensor<2xf32>
      return %b : tensor<2xf32>
    })");
  ASSERT_TRUE(module.parsed()) << module.diagnostics;
  EXPECT_TRUE(module.run({}).empty());
  for (const char *part :
       {"found 4 that the reference device cannot evaluate",
        "unsupported 'func.call': the called function has no body",
        "unsupported 'func.call': recursive calls are not supported",
        "unsupported 'arith.addf': expected static shapes",
        "unsupported 'linalg.unpack': not part of a model graph"})
    EXPECT_NE(module.diagnostics.find(part), std::string::npos)
        << part << " not in\n"
        << module.diagnostics;
}
