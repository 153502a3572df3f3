//===- GraphOpsTest.cpp - indexing, random bits, regions ------------------===//

#include "TestModule.h"
#include "heddle/Reference/Philox.h"

#include "mlir/IR/Builders.h"

#include <gtest/gtest.h>

using namespace heddle;
using namespace heddle::test;

TEST(Gather, clip_takes_the_nearest_row_and_drop_reads_zero) {
  auto text = [](int mode) {
    return R"(
      func.func @f(%t: tensor<3x2xf32>, %i: tensor<4xi32>) -> tensor<4x2xf32> {
        %r = heddle.gather %t[%i] {mode = )" +
           std::to_string(mode) + R"( : i32}
          : tensor<3x2xf32>, tensor<4xi32> -> tensor<4x2xf32>
        return %r : tensor<4x2xf32>
      })";
  };
  std::vector<HostTensor> inputs = {f32({3, 2}, {1, 2, 3, 4, 5, 6}),
                                    i32({4}, {2, -1, 0, 3})};
  expectNear(evaluateText(text(0), inputs)[0], {5, 6, 1, 2, 1, 2, 5, 6});
  expectNear(evaluateText(text(1), inputs)[0], {5, 6, 0, 0, 1, 2, 0, 0});
}

TEST(ScatterAdd, repeated_rows_add_up_and_drop_writes_nothing) {
  auto text = [](int mode) {
    return R"(
      func.func @f(%u: tensor<4x1xf32>, %b: tensor<3x1xf32>, %i: tensor<4xi32>)
          -> tensor<3x1xf32> {
        %r = heddle.scatter_add %u into %b[%i] {mode = )" +
           std::to_string(mode) + R"( : i32}
          : tensor<4x1xf32>, tensor<3x1xf32>, tensor<4xi32>
        return %r : tensor<3x1xf32>
      })";
  };
  std::vector<HostTensor> inputs = {f32({4, 1}, {1, 2, 4, 8}),
                                    f32({3, 1}, {10, 20, 30}),
                                    i32({4}, {1, 1, -1, 7})};
  expectNear(evaluateText(text(0), inputs)[0], {14, 23, 38});
  expectNear(evaluateText(text(1), inputs)[0], {10, 23, 30});
}

TEST(RandomBits, philox_reproduces_the_published_vectors) {
  // Known answers of the Random123 distribution for philox4x32 with 10 rounds.
  EXPECT_EQ(philox4x32(0, 0, 0),
            (std::array<uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c,
                                     0x9b00dbd8}));
  EXPECT_EQ(philox4x32(~0ull, ~0ull, ~0ull),
            (std::array<uint32_t, 4>{0x408f276d, 0x41c83b0e, 0xa20bc7c6,
                                     0x6d5451fd}));
  EXPECT_EQ(philox4x32(0x299f31d0a4093822ull, 0x85a308d3243f6a88ull,
                       0x0370734413198a2eull),
            (std::array<uint32_t, 4>{0xd16cfe09, 0x94fdcceb, 0x5001e420,
                                     0x24126ea1}));
}

TEST(RandomBits, elements_take_the_words_of_consecutive_counters) {
  auto bits = [](double seed, double offset) {
    return evaluateText(R"(
      func.func @f(%s: tensor<i64>, %o: tensor<i64>) -> tensor<2x3xi32> {
        %r = heddle.random_bits %s, %o : tensor<i64>, tensor<i64>
          -> tensor<2x3xi32>
        return %r : tensor<2x3xi32>
      })",
                        {tensor(DType::I64, {}, {seed}),
                         tensor(DType::I64, {}, {offset})})[0]
        .integer;
  };
  std::vector<int64_t> zero = bits(0, 0);
  EXPECT_EQ(zero[0], int32_t(0x6627e8d5));
  EXPECT_EQ(zero[3], int32_t(0x9b00dbd8));
  std::vector<int64_t> next = bits(0, 1);
  EXPECT_EQ(zero[4], next[0]);
  EXPECT_EQ(zero[5], next[1]);
  EXPECT_NE(bits(1, 0)[0], zero[0]);
  // The counter carries into its high half.
  EXPECT_EQ(bits(0, -1)[4], int32_t(philox4x32(0, 0, 1)[0]));
}

TEST(Name, passes_its_value_on) {
  auto r = evaluateText(R"(
    func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
      %n = heddle.name %x "kept" : tensor<2xf32>
      %r = arith.mulf %n, %x : tensor<2xf32>
      return %r : tensor<2xf32>
    })",
                        {f32({2}, {2, 3})});
  expectNear(r[0], {4, 9});
}

TEST(ValueAndGrad, is_refused_until_differentiated) {
  TestModule module(R"(
    func.func private @loss(%x: tensor<2xf32>) -> tensor<f32> {
      %z = arith.constant dense<0.0> : tensor<f32>
      return %z : tensor<f32>
    }
    func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
      %v, %g = heddle.value_and_grad @loss(%x) wrt [0]
        : (tensor<2xf32>) -> (tensor<f32>, tensor<2xf32>)
      return %g : tensor<2xf32>
    })");
  ASSERT_TRUE(module.parsed()) << module.diagnostics;
  EXPECT_TRUE(module.run({f32({2}, {1, 2})}).empty());
  EXPECT_NE(module.diagnostics.find(
                "unsupported 'heddle.value_and_grad': differentiate the module "
                "first"),
            std::string::npos)
      << module.diagnostics;
}

/// Adds a one-block region with the operand types as arguments, minus the
/// leading axis for those from `firstStacked` to `firstInvariant`.
static mlir::Block *addBody(mlir::OpBuilder &b, mlir::Operation *op,
                            unsigned firstStacked, unsigned firstInvariant) {
  mlir::Block *body = &op->getRegion(0).emplaceBlock();
  for (auto [i, type] : llvm::enumerate(op->getOperandTypes())) {
    auto tensorType = llvm::cast<mlir::RankedTensorType>(type);
    if (i >= firstStacked && i < firstInvariant)
      tensorType = mlir::RankedTensorType::get(
          tensorType.getShape().drop_front(), tensorType.getElementType());
    body->addArgument(tensorType, op->getLoc());
  }
  b.setInsertionPointToStart(body);
  return body;
}

/// A function without body contents, to be filled by a builder.
static const char *const shell = R"(
  func.func @f(%x: tensor<2xf32>, %w: tensor<3x2xf32>, %m: tensor<2xf32>)
      -> tensor<2xf32> {
    return %x : tensor<2xf32>
  })";

static mlir::Value arithmetic(mlir::OpBuilder &b, mlir::Location loc,
                              llvm::StringRef name, mlir::Value lhs,
                              mlir::Value rhs) {
  mlir::OperationState state(loc, name, {lhs, rhs}, {lhs.getType()});
  return b.create(state)->getResult(0);
}

TEST(LayerScan, layers_read_their_own_parameters_in_order) {
  for (bool reverse : {false, true}) {
    TestModule module(shell);
    mlir::func::FuncOp f = module.function();
    mlir::Operation *ret = f.getBody().front().getTerminator();
    mlir::OpBuilder b(ret);
    mlir::Location loc = f.getLoc();
    mlir::OperationState state(loc, LayerScanOp::getOperationName(),
                               f.getArguments(), {f.getArgument(0).getType()});
    state.addRegion();
    state.getOrAddProperties<LayerScanOp::Properties>().operandSegmentSizes = {
        1, 1, 1};
    if (reverse)
      state.getOrAddProperties<LayerScanOp::Properties>().reverse =
          b.getUnitAttr();
    mlir::Operation *scan = b.create(state);
    mlir::Block *body = addBody(b, scan, 1, 2);
    // h <- h * m + w[layer]
    mlir::Value product = arithmetic(b, loc, "arith.mulf", body->getArgument(0),
                                     body->getArgument(2));
    mlir::Value sum =
        arithmetic(b, loc, "arith.addf", product, body->getArgument(1));
    mlir::OperationState yield(loc, YieldOp::getOperationName(), {sum}, {});
    b.create(yield);
    ret->setOperand(0, scan->getResult(0));
    auto r = module.run(
        {f32({2}, {1, 2}), f32({3, 2}, {1, 2, 3, 4, 5, 6}), f32({2}, {2, 3})});
    ASSERT_EQ(r.size(), 1u) << module.diagnostics;
    if (reverse)
      expectNear(r[0], {((1 * 2 + 5) * 2 + 3) * 2 + 1.,
                        ((2 * 3 + 6) * 3 + 4) * 3 + 2.});
    else
      expectNear(r[0], {((1 * 2 + 1) * 2 + 3) * 2 + 5.,
                        ((2 * 3 + 2) * 3 + 4) * 3 + 6.});
  }
}

TEST(Checkpoint, evaluates_its_region_on_its_inputs) {
  TestModule module(shell);
  mlir::func::FuncOp f = module.function();
  mlir::Operation *ret = f.getBody().front().getTerminator();
  mlir::OpBuilder b(ret);
  mlir::Location loc = f.getLoc();
  mlir::OperationState state(loc, CheckpointOp::getOperationName(),
                             {f.getArgument(0), f.getArgument(2)},
                             {f.getArgument(0).getType()});
  state.addRegion();
  state.addAttribute("policy",
                     RematPolicyAttr::get(b.getContext(), RematKind::Full, {}));
  mlir::Operation *checkpoint = b.create(state);
  mlir::Block *body = addBody(b, checkpoint, 9, 9);
  mlir::Value difference = arithmetic(
      b, loc, "arith.subf", body->getArgument(1), body->getArgument(0));
  mlir::OperationState yield(loc, YieldOp::getOperationName(), {difference},
                             {});
  b.create(yield);
  ret->setOperand(0, checkpoint->getResult(0));
  auto r = module.run(
      {f32({2}, {1, 2}), f32({3, 2}, {1, 2, 3, 4, 5, 6}), f32({2}, {10, 20})});
  ASSERT_EQ(r.size(), 1u) << module.diagnostics;
  expectNear(r[0], {9, 18});
}
