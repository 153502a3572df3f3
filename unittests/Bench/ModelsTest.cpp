//===- ModelsTest.cpp - the model graphs are the published models ---------===//

#include "ModelTestSupport.h"
#include "ResultFile.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

#include "gtest/gtest.h"

using namespace heddle;
using namespace heddle::bench;

namespace {

/// Bytes of the arguments that something reads once dead code is gone.
int64_t liveArgumentBytes(Model &model) {
  mlir::PassManager passes(model.module.get()->getContext());
  passes.addPass(mlir::createCanonicalizerPass());
  EXPECT_TRUE(mlir::succeeded(passes.run(*model.module)));
  int64_t bytes = 0;
  for (mlir::BlockArgument argument : functionOf(model).getArguments())
    if (!argument.use_empty())
      bytes += byteSize(argument.getType());
  return bytes;
}

std::string printed(const Model &model) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  model.module.get()->print(stream);
  return text;
}

TEST(Transformer, has_the_published_parameters_in_the_documented_order) {
  mlir::MLIRContext context;
  Model model;
  ASSERT_TRUE(buildTransformer(context, TransformerConfig(), model).ok());
  EXPECT_EQ(model.params, 3159040);
  ASSERT_EQ(functionOf(model).getNumArguments(), 4u * 16 + 1);
  const char *names[] = {
      "ln1.scale",         "ln1.bias",        "attn.query.kernel",
      "attn.query.bias",   "attn.key.kernel", "attn.key.bias",
      "attn.value.kernel", "attn.value.bias", "attn.out.kernel",
      "attn.out.bias",     "ln2.scale",       "ln2.bias",
      "mlp.up.kernel",     "mlp.up.bias",     "mlp.down.kernel",
      "mlp.down.bias"};
  for (int layer = 0; layer < 4; ++layer)
    for (int i = 0; i < 16; ++i)
      EXPECT_EQ(argumentName(model, layer * 16 + i),
                "layers." + std::to_string(layer) + "." + names[i]);
  EXPECT_EQ(argumentName(model, 64), "x");
}

TEST(Transformer, arg_and_out_bytes_are_the_published_ones) {
  Row document;
  ASSERT_TRUE(
      readResultFile(HEDDLE_REFERENCE_DIR "/nn_rtx3090.json", document).ok());
  mlir::MLIRContext context;
  int compared = 0;
  for (const Row &row : document["results"]) {
    if (row.value("suite", "") != "transformer" ||
        row.value("op", "") != "forward" || !row.contains("xla_arg_mb"))
      continue;
    TransformerConfig config;
    config.tokens = row["tokens"];
    config.dtype = dtypeNamed(row["dtype"]);
    config.attention = row["attention"] != "no_attention";
    Model model;
    ASSERT_TRUE(buildTransformer(context, config, model).ok());
    EXPECT_EQ(toMiB(liveArgumentBytes(model)), row["xla_arg_mb"].get<double>())
        << row.dump();
    EXPECT_EQ(toMiB(byteSize(functionOf(model).getResultTypes()[0])),
              row["xla_out_mb"].get<double>())
        << row.dump();
    ++compared;
  }
  EXPECT_GE(compared, 24);
}

TEST(Transformer, without_attention_keeps_the_unread_parameters) {
  mlir::MLIRContext context;
  TransformerConfig config;
  config.attention = false;
  Model model;
  ASSERT_TRUE(buildTransformer(context, config, model).ok());
  EXPECT_EQ(model.params, 3159040);
  EXPECT_EQ(functionOf(model).getNumArguments(), 65u);
  EXPECT_EQ(printed(model).find("heddle.attention"), std::string::npos);
}

TEST(Transformer, rounds_to_the_compute_dtype_and_has_no_fastmath) {
  mlir::MLIRContext context;
  TransformerConfig config;
  config.dtype = DType::BF16;
  Model model;
  ASSERT_TRUE(buildTransformer(context, config, model).ok());
  std::string text = printed(model);
  EXPECT_NE(text.find("arith.truncf"), std::string::npos);
  EXPECT_EQ(text.find("fastmath"), std::string::npos);
  config.dtype = DType::F32;
  ASSERT_TRUE(buildTransformer(context, config, model).ok());
  text = printed(model);
  EXPECT_EQ(text.find("arith.truncf"), std::string::npos);
  EXPECT_EQ(text.find("arith.extf"), std::string::npos);
}

TEST(Transformer, refuses_heads_that_do_not_divide_the_width) {
  mlir::MLIRContext context;
  TransformerConfig config;
  config.heads = 7;
  Model model;
  Status status = buildTransformer(context, config, model);
  EXPECT_EQ(status.message, "expected model_dim divisible by heads, got 256 "
                            "and 7; set another number of heads");
}

TEST(Transformer, odd_sizes_build) {
  mlir::MLIRContext context;
  TransformerConfig config;
  config.batch = 1;
  config.tokens = 1;
  config.modelDim = 3;
  config.heads = 3;
  config.layers = 1;
  Model model;
  ASSERT_TRUE(buildTransformer(context, config, model).ok());
  EXPECT_EQ(model.params, 12 * 9 + 13 * 3);
}

TEST(Attention, has_three_inputs_of_the_dtype_and_one_result) {
  mlir::MLIRContext context;
  for (DType dtype : {DType::F32, DType::BF16, DType::F16}) {
    AttentionConfig config;
    config.seq = 600;
    config.causal = true;
    config.dtype = dtype;
    Model model;
    ASSERT_TRUE(buildAttention(context, config, model).ok());
    int64_t bytes = int64_t(4) * 600 * 8 * 64 * byteWidth(dtype);
    EXPECT_EQ(liveArgumentBytes(model), 3 * bytes);
    EXPECT_EQ(byteSize(functionOf(model).getResultTypes()[0]), bytes);
    EXPECT_NE(printed(model).find("#heddle.mask<causal>"), std::string::npos);
  }
}

TEST(Matmul, accumulates_in_f32_and_stores_the_dtype) {
  mlir::MLIRContext context;
  MatmulConfig config;
  config.m = 3;
  config.k = 5;
  config.n = 7;
  config.dtype = DType::BF16;
  Model model;
  ASSERT_TRUE(buildMatmul(context, config, model).ok());
  std::string text = printed(model);
  EXPECT_NE(text.find("linalg.matmul"), std::string::npos);
  EXPECT_NE(text.find("outs(%1 : tensor<3x7xf32>)"), std::string::npos);
  EXPECT_NE(text.find("-> tensor<3x7xbf16>"), std::string::npos);
}

} // namespace
