//===- GradientTest.cpp - every gradient rule, judged by differences ------===//

#include "ModelGradients.h"

#include "heddle/Pipelines/Pipelines.h"
#include "models/Models.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace heddle;
using namespace heddle::test;

namespace {
class Gradients : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    mlir::DialectRegistry registry;
    registerCompilerDialects(registry);
    context = std::make_unique<mlir::MLIRContext>(registry);
    context->allowUnregisteredDialects();
    std::string path = TEST_INPUTS "/" + std::string(GetParam()) + ".mlir";
    module = mlir::parseSourceFile<mlir::ModuleOp>(path, context.get());
    ASSERT_TRUE(module) << path;
  }

  /// Every function without the attribute `unless`.
  void forEach(const char *unless,
               llvm::function_ref<void(ModelGradients &)> check) {
    for (auto f : module->getOps<mlir::func::FuncOp>()) {
      if (unless && f->hasAttr(unless))
        continue;
      SCOPED_TRACE(f.getName().str());
      ModelGradients gradients(f);
      check(gradients);
    }
  }

  std::unique_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

TEST_P(Gradients, agree_with_central_differences) {
  forEach(nullptr, [](ModelGradients &g) { g.checkAgainstDifferences(); });
}

TEST_P(Gradients, of_gradients_agree_with_central_differences) {
  forEach("test.first_order", [](ModelGradients &g) { g.checkSecondOrder(); });
}

TEST_P(Gradients, on_the_cpu_agree_with_the_reference_device) {
  forEach("test.no_cpu", [](ModelGradients &g) { g.checkOnCpu(); });
}

INSTANTIATE_TEST_SUITE_P(Files, Gradients,
                         testing::Values("attention", "elementwise",
                                         "structured", "windows", "movement",
                                         "scans", "layers"),
                         [](const auto &info) {
                           return std::string(info.param);
                         });

//===----------------------------------------------------------------------===//
// A whole model
//===----------------------------------------------------------------------===//

bench::Model transformer(mlir::MLIRContext &context, DType dtype) {
  // Differences take a run for each element. Roundings of 16 bits, which are
  // judged by their largest, need enough elements to have one.
  bool narrow = dtype == DType::BF16;
  bench::TransformerConfig config;
  config.batch = 2;
  config.tokens = narrow ? 65 : 3;
  config.modelDim = narrow ? 64 : 4;
  config.heads = 2;
  config.layers = 1;
  config.dtype = dtype;
  bench::Model model;
  Status status = bench::buildTransformer(context, config, model);
  EXPECT_TRUE(status.ok()) << status.message;
  return model;
}

TEST(Transformer, gradients_agree_with_central_differences_and_on_the_cpu) {
  mlir::DialectRegistry registry;
  registerCompilerDialects(registry);
  mlir::MLIRContext context(registry);
  bench::Model model = transformer(context, DType::F32);
  ModelGradients gradients(
      model.module->lookupSymbol<mlir::func::FuncOp>(model.function));
  gradients.checkAgainstDifferences();
  gradients.checkOnCpu();
}

TEST(Transformer, bf16_gradients_on_the_cpu_round_no_more_than_the_model) {
  mlir::DialectRegistry registry;
  registerCompilerDialects(registry);
  mlir::MLIRContext context(registry);
  bench::Model model = transformer(context, DType::BF16);
  ModelGradients gradients(
      model.module->lookupSymbol<mlir::func::FuncOp>(model.function));
  gradients.checkOnCpu();
}
} // namespace
