//===- CheckTest.cpp - what a check finds ---------------------------------===//

#include "Check.h"
#include "Values.h"

#include "heddle/Reference/Evaluator.h"

#include "gtest/gtest.h"

#include <algorithm>

using namespace heddle;
using namespace heddle::bench;

namespace {

/// A graph, seeded inputs, and the result that declared roundings give.
class CheckTest : public testing::Test {
protected:
  CheckTest() : session(context, options()) {}

  static RunOptions options() {
    RunOptions options;
    options.threads = 2;
    return options;
  }

  void prepare() {
    auto function =
        model.module.get().lookupSymbol<mlir::func::FuncOp>(model.function);
    for (mlir::BlockArgument argument : function.getArguments()) {
      unsigned i = argument.getArgNumber();
      NamedTensorType type;
      type.name =
          function.getArgAttrOfType<mlir::StringAttr>(i, "heddle.arg_name")
              .str();
      type.type = tensorType(argument.getType());
      inputs.push_back(makeValues(type, 0, i, 2));
    }
    ReferenceOptions mode;
    mode.mode = ReferenceMode::Declared;
    llvm::SmallVector<ReferenceTensor> results;
    ASSERT_TRUE(mlir::succeeded(evaluate(function, inputs, mode, results)));
    outputs.resize(results.size());
    for (auto [n, result] : llvm::enumerate(results)) {
      HostTensor &to = outputs[n];
      to = HostTensor(tensorType(function.getResultTypes()[n]));
      for (int64_t i = 0; i < result.numElements(); ++i)
        storeElement(to.bytes.data(), to.type.dtype, i, result.real[i]);
    }
  }

  void prepareAttention(DType dtype, bool backward = false) {
    AttentionConfig config;
    config.backward = backward;
    config.batch = 2;
    config.heads = 3;
    config.seq = 100;
    config.headDim = 8;
    config.causal = true;
    config.dtype = dtype;
    ASSERT_TRUE(buildAttention(context, config, model).ok());
    prepare();
  }

  Row stored(const Checker &checker) {
    Row row;
    checker.store(row, outputs);
    return row;
  }

  static TensorType tensorType(mlir::Type type) {
    auto tensor = mlir::cast<mlir::RankedTensorType>(type);
    DType dtype = tensor.getElementType().isBF16()  ? DType::BF16
                  : tensor.getElementType().isF16() ? DType::F16
                                                    : DType::F32;
    return {dtype, {tensor.getShape().begin(), tensor.getShape().end()}};
  }

  mlir::MLIRContext context;
  Session session;
  Model model;
  std::vector<HostTensor> inputs;
  std::vector<HostTensor> outputs = std::vector<HostTensor>(3); // at most
  HostTensor &output = outputs.front();
};

TEST_F(CheckTest, a_right_result_passes_whole_and_sampled) {
  for (DType dtype : {DType::F32, DType::BF16, DType::F16}) {
    inputs.clear();
    prepareAttention(dtype);
    Checker whole(session, dtype), sampled(session, dtype);
    ASSERT_TRUE(whole.whole({model, inputs, outputs}).ok());
    ASSERT_TRUE(
        sampled.attentionRows({model, inputs, outputs}, {0, 31, 99}).ok());
    for (const Checker *checker : {&whole, &sampled}) {
      Row row = stored(*checker);
      EXPECT_EQ(row["correct"], true) << row.dump();
      EXPECT_EQ(row["finite"], true);
      EXPECT_LE(row["rel_err"].get<double>(), 4.5e-3);
    }
  }
}

TEST_F(CheckTest, gradients_pass_whole_and_sampled) {
  for (DType dtype : {DType::F32, DType::BF16}) {
    inputs.clear();
    prepareAttention(dtype, /*backward=*/true);
    ASSERT_EQ(outputs.size(), 3u);
    Checker whole(session, dtype), sampled(session, dtype);
    whole.judgeAsGradients();
    sampled.judgeAsGradients();
    ASSERT_TRUE(whole.whole({model, inputs, outputs}).ok());
    ASSERT_TRUE(
        sampled.attentionRows({model, inputs, outputs}, {0, 31, 99}).ok());
    for (const Checker *checker : {&whole, &sampled})
      EXPECT_EQ(stored(*checker)["correct"], true) << stored(*checker).dump();
  }
}

TEST_F(CheckTest, a_wrong_gradient_of_a_value_is_found_and_named) {
  prepareAttention(DType::F32, /*backward=*/true);
  outputs[2].as<float>()[17] += 0.1f;
  Checker checker(session, DType::F32);
  ASSERT_TRUE(checker.whole({model, inputs, outputs}).ok());
  Row row = stored(checker);
  EXPECT_EQ(row["correct"], false);
  EXPECT_NE(row["wrong"].get<std::string>().find("d_value"), std::string::npos);
}

TEST_F(CheckTest, a_wrong_sampled_row_of_d_query_is_found) {
  prepareAttention(DType::F32, /*backward=*/true);
  outputs[0].as<float>()[31 * 3 * 8] += 0.1f; // row 31
  Checker checker(session, DType::F32);
  ASSERT_TRUE(checker.attentionRows({model, inputs, outputs}, {0, 31}).ok());
  EXPECT_EQ(stored(checker)["correct"], false);
}

TEST_F(CheckTest, one_wrong_element_of_the_last_head_is_found) {
  prepareAttention(DType::F32);
  int64_t last = output.type.numElements() - 1;
  output.as<float>()[last] += 0.1f;
  Checker whole(session, DType::F32);
  ASSERT_TRUE(whole.whole({model, inputs, outputs}).ok());
  Row row = stored(whole);
  EXPECT_EQ(row["correct"], false);
  EXPECT_NEAR(row["max_abs_err"].get<double>(), 0.1, 1e-3);
  EXPECT_TRUE(row.contains("wrong"));
  Checker sampled(session, DType::F32);
  ASSERT_TRUE(sampled.attentionRows({model, inputs, outputs}, {0, 99}).ok());
  EXPECT_EQ(stored(sampled)["correct"], false);
}

TEST_F(CheckTest, a_nan_outside_the_samples_is_found) {
  prepareAttention(DType::F32);
  output.as<float>()[5 * 3 * 8] = std::nanf(""); // row 5
  Checker checker(session, DType::F32);
  ASSERT_TRUE(checker.attentionRows({model, inputs, outputs}, {0, 99}).ok());
  Row row = stored(checker);
  EXPECT_EQ(row["finite"], false);
  EXPECT_EQ(row["correct"], false);
}

TEST_F(CheckTest, a_result_that_was_never_written_is_wrong) {
  prepareAttention(DType::BF16);
  std::fill(output.bytes.begin(), output.bytes.end(), 0xff);
  Checker checker(session, DType::BF16);
  ASSERT_TRUE(checker.whole({model, inputs, outputs}).ok());
  EXPECT_EQ(stored(checker)["correct"], false);
}

TEST_F(CheckTest, a_failing_part_is_not_hidden_by_a_passing_one) {
  prepareAttention(DType::F32);
  std::vector<HostTensor> good = outputs;
  output.as<float>()[0] += 1.0f;
  Checker checker(session, DType::F32);
  ASSERT_TRUE(checker.whole({model, inputs, outputs}).ok());
  ASSERT_TRUE(checker.whole({model, inputs, good}).ok());
  EXPECT_EQ(stored(checker)["correct"], false);
}

TEST_F(CheckTest, a_16_bit_model_is_judged_by_its_declared_roundings) {
  TransformerConfig config;
  config.batch = 1;
  config.tokens = 33;
  config.modelDim = 64;
  config.heads = 2;
  config.layers = 2;
  config.dtype = DType::BF16;
  ASSERT_TRUE(buildTransformer(context, config, model).ok());
  prepare();
  Checker checker(session, DType::BF16);
  checker.judgeAsModel();
  ASSERT_TRUE(checker.whole({model, inputs, outputs}).ok());
  Row row = stored(checker);
  EXPECT_EQ(row["correct"], true) << row.dump();
  // Above what one op may lose, which is why the cap of one op is no rule here.
  EXPECT_GT(row["rel_err"].get<double>(), 4.5e-3);

  storeElement(output.bytes.data(), DType::BF16, 7, 1.5);
  Checker wrong(session, DType::BF16);
  wrong.judgeAsModel();
  ASSERT_TRUE(wrong.whole({model, inputs, outputs}).ok());
  EXPECT_EQ(stored(wrong)["correct"], false);
}

TEST_F(CheckTest, errors_of_the_reference_device_are_the_rows) {
  prepareAttention(DType::F32);
  inputs.pop_back();
  Checker checker(session, DType::F32);
  Status status = checker.whole({model, inputs, outputs});
  EXPECT_EQ(status.message.rfind("check: ", 0), 0u) << status.message;
}

TEST(SampleRows, hold_every_tile_edge_and_64_others) {
  std::vector<int64_t> rows = sampleRows(3000, 0);
  EXPECT_TRUE(std::is_sorted(rows.begin(), rows.end()));
  for (int64_t tile : {32, 64, 96, 128, 192})
    for (int64_t row = 0; row < 3000; ++row)
      if (row % tile == 0 || row % tile == tile - 1 || row == 2999)
        EXPECT_TRUE(std::binary_search(rows.begin(), rows.end(), row)) << row;
  int64_t others = std::count_if(rows.begin(), rows.end(), [](int64_t row) {
    return row % 32 != 0 && row % 32 != 31 && row != 2999;
  });
  EXPECT_EQ(others, 64);
  EXPECT_NE(sampleRows(3000, 1), rows);
}

TEST(SampleRows, short_axes_are_whole) {
  EXPECT_EQ(sampleRows(1, 0), std::vector<int64_t>{0});
  EXPECT_EQ(sampleRows(40, 0).size(), 40u);
  EXPECT_TRUE(sampleRows(0, 0).empty());
}

TEST(SliceLeading, is_one_entry_of_the_batch) {
  HostTensor tensor({DType::F32, {3, 2}});
  for (int i = 0; i < 6; ++i)
    tensor.as<float>()[i] = static_cast<float>(i);
  HostTensor slice = sliceLeading(tensor, 2);
  EXPECT_EQ(slice.type.shape, (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(slice.as<float>()[0], 4.0f);
  EXPECT_EQ(slice.as<float>()[1], 5.0f);
}

} // namespace
