//===- NetworksTest.cpp - whole models have the published sizes -----------===//

#include "ModelTestSupport.h"
#include "ResultFile.h"
#include "models/Training.h"
#include "models/Unet.h"

#include "gtest/gtest.h"

using namespace heddle;
using namespace heddle::bench;

namespace {

double argumentMiB(const Model &model) {
  int64_t bytes = 0;
  for (mlir::Type type : functionOf(model).getArgumentTypes())
    bytes += byteSize(type);
  return toMiB(bytes);
}

/// Results, and the table of pointers that comes with several.
double resultMiB(const Model &model) {
  auto types = functionOf(model).getResultTypes();
  int64_t bytes = types.size() > 1 ? 8 * types.size() : 0;
  for (mlir::Type type : types)
    bytes += byteSize(type);
  return toMiB(bytes);
}

/// Builds what a published row measured; false where none of these models is
/// that.
bool buildRow(mlir::MLIRContext &context, const Row &row, Model &model) {
  std::string suite = row.value("suite", ""), op = row.value("op", "");
  DType dtype = dtypeNamed(row.value("dtype", "float32"));
  ModelOp function;
  function.train = op == "train_step" || op == "bare_jit";
  function.donate = row.value("variant", "") == "donate";
  if (suite == "transformer") {
    TransformerConfig config;
    config.tokens = row["tokens"];
    config.dtype = dtype;
    config.op = function;
    EXPECT_TRUE(buildTransformer(context, config, model).ok());
    return row["attention"] != "no_attention" || function.train;
  }
  if (suite == "diffusion") {
    TransformerConfig config;
    config.tokens = row["tokens"];
    config.dtype = dtype;
    config.op = function;
    EXPECT_TRUE(buildDiffusion(context, config, model).ok());
    return row["attention"] != "no_attention" || function.train;
  }
  if (suite == "ssm") {
    StateSpaceConfig config;
    config.cell = row["cell"] == "mamba" ? ScanCell::Mamba
                  : row["cell"] == "ssd" ? ScanCell::Ssd
                                         : ScanCell::Lru;
    config.tokens = row["tokens"];
    config.dtype = dtype;
    config.op = function;
    EXPECT_TRUE(buildStateSpace(context, config, model).ok());
    return true;
  }
  if (suite == "unet") {
    UnetConfig config;
    config.resolution = row["resolution"];
    config.dtype = dtype;
    config.op = function;
    EXPECT_TRUE(buildUnet(context, config, model).ok());
    return true;
  }
  if (suite == "train_loop" && op == "bare_jit") {
    MlpConfig config;
    config.width = row["width"];
    config.batch = row["batch"];
    config.op = function;
    config.op.clipNorm = 10;
    EXPECT_TRUE(buildMlp(context, config, model).ok());
    return true;
  }
  return false;
}

TEST(Networks, parameters_arguments_and_results_are_the_published_ones) {
  Row document;
  ASSERT_TRUE(
      readResultFile(HEDDLE_REFERENCE_DIR "/nn_rtx3090.json", document).ok());
  mlir::MLIRContext context;
  std::map<std::string, int> compared;
  for (const Row &row : document["results"]) {
    Model model;
    if (row.contains("measure") || !buildRow(context, row, model))
      continue;
    SCOPED_TRACE(row.dump());
    ASSERT_TRUE(model.module);
    if (row.contains("params")) {
      EXPECT_EQ(model.params, row["params"].get<int64_t>());
    }
    if (!row.contains("xla_arg_mb"))
      continue;
    EXPECT_EQ(argumentMiB(model), row["xla_arg_mb"].get<double>());
    EXPECT_EQ(resultMiB(model), row["xla_out_mb"].get<double>());
    ++compared[row["suite"].get<std::string>()];
  }
  EXPECT_GE(compared["transformer"], 30);
  EXPECT_GE(compared["diffusion"], 30);
  EXPECT_GE(compared["ssm"], 10);
  EXPECT_GE(compared["unet"], 10);
  EXPECT_EQ(compared["train_loop"], 2);
}

TEST(Networks, a_step_returns_the_new_state_in_the_order_of_its_arguments) {
  mlir::MLIRContext context;
  MlpConfig config;
  config.op.train = config.op.donate = true;
  Model model;
  ASSERT_TRUE(buildMlp(context, config, model).ok());
  EXPECT_EQ(model.leaves, 6);
  auto function = functionOf(model);
  ASSERT_EQ(function.getNumArguments(), 3u * 6 + 2);
  ASSERT_EQ(function.getNumResults(), 3u * 6 + 2);
  ASSERT_EQ(model.results.size(), 3u * 6 + 2);
  for (unsigned i = 0; i < 3 * 6 + 1; ++i) {
    EXPECT_EQ(function.getArgumentTypes()[i], function.getResultTypes()[i]);
    EXPECT_TRUE(function.getArgAttr(i, "heddle.donated"));
    EXPECT_EQ(argumentName(model, i), model.results[i]);
  }
  EXPECT_FALSE(function.getArgAttr(3 * 6 + 1, "heddle.donated"));
  EXPECT_EQ(model.results.back(), "loss");
}

TEST(Networks, momentum_keeps_one_velocity_for_each_parameter) {
  mlir::MLIRContext context;
  MlpConfig config;
  config.op.train = true;
  config.op.optimizer = Optimizer::Momentum;
  Model model;
  ASSERT_TRUE(buildMlp(context, config, model).ok());
  auto function = functionOf(model);
  ASSERT_EQ(function.getNumArguments(), 2u * 6 + 1);
  ASSERT_EQ(function.getNumResults(), 2u * 6 + 1);
  for (unsigned i = 0; i < 6; ++i) {
    EXPECT_EQ(argumentName(model, 6 + i), "velocity." + argumentName(model, i));
    EXPECT_EQ(function.getArgumentTypes()[6 + i],
              function.getArgumentTypes()[i]);
  }
  EXPECT_EQ(model.results.back(), "loss");
}

TEST(Networks, a_run_of_steps_takes_data_and_returns_a_loss_for_each) {
  mlir::MLIRContext context;
  MlpConfig config;
  config.op.train = config.op.donate = true;
  config.op.steps = 50;
  Model model;
  ASSERT_TRUE(buildMlp(context, config, model).ok());
  EXPECT_EQ(model.function, "fit");
  auto function = functionOf(model);
  ASSERT_EQ(function.getNumArguments(), 3u * 6 + 3);
  auto data = mlir::cast<mlir::RankedTensorType>(
      function.getArgumentTypes()[3 * 6 + 1]);
  EXPECT_EQ(argumentName(model, 3 * 6 + 1), "x");
  EXPECT_EQ(data.getDimSize(0), kDataBatches * config.batch);
  EXPECT_EQ(argumentName(model, 3 * 6 + 2), "seed");
  auto losses =
      mlir::cast<mlir::RankedTensorType>(function.getResultTypes().back());
  EXPECT_EQ(losses.getShape(), llvm::ArrayRef<int64_t>{50});
  EXPECT_EQ(model.results.back(), "losses");
  for (unsigned i = 0; i <= 3 * 6 + 2; ++i)
    EXPECT_EQ(bool(function.getArgAttr(i, "heddle.donated")), i <= 3 * 6);
}

TEST(Networks, odd_sizes_build) {
  mlir::MLIRContext context;
  TransformerConfig diffusion;
  diffusion.batch = 1;
  diffusion.tokens = 3;
  diffusion.modelDim = 6;
  diffusion.heads = 3;
  diffusion.layers = 1;
  Model model;
  EXPECT_TRUE(buildDiffusion(context, diffusion, model).ok());
  diffusion.modelDim = 3;
  EXPECT_EQ(buildDiffusion(context, diffusion, model).message,
            "expected an even model_dim, got 3; positions are pairs of sine "
            "and cosine");
  for (ScanCell cell : {ScanCell::Mamba, ScanCell::Ssd, ScanCell::Lru}) {
    StateSpaceConfig config;
    config.cell = cell;
    config.batch = 1;
    config.tokens = 1;
    config.modelDim = 3;
    config.layers = 2;
    config.state = 5;
    EXPECT_TRUE(buildStateSpace(context, config, model).ok());
  }
}

} // namespace
