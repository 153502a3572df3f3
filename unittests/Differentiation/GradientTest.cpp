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
// Whole models
//===----------------------------------------------------------------------===//

// Differences take a run for each element, so that shapes are as small as they
// can be. Roundings of 16 bits, which are judged by their largest, need enough
// elements to have one.
using Builder = Status (*)(mlir::MLIRContext &, bool narrow, bench::Model &);

bench::TransformerConfig transformerConfig(bool narrow) {
  bench::TransformerConfig config;
  config.batch = 2;
  config.tokens = narrow ? 65 : 3;
  config.modelDim = narrow ? 64 : 16;
  config.heads = 2;
  config.layers = 1;
  config.dtype = narrow ? DType::BF16 : DType::F32;
  return config;
}

template <bench::ScanCell cell>
Status stateSpace(mlir::MLIRContext &context, bool narrow, bench::Model &model) {
  bench::StateSpaceConfig config;
  config.cell = cell;
  config.batch = 2;
  config.tokens = narrow ? 65 : 3;
  config.modelDim = narrow ? 64 : 16;
  config.state = narrow ? 16 : 4;
  config.layers = narrow ? 1 : 2; // one in each direction
  config.dtype = narrow ? DType::BF16 : DType::F32;
  return bench::buildStateSpace(context, config, model);
}

struct NamedModel {
  const char *name;
  Builder build;
};
const NamedModel kModels[] = {
    {"transformer",
     [](mlir::MLIRContext &context, bool narrow, bench::Model &model) {
       return bench::buildTransformer(context, transformerConfig(narrow), model);
     }},
    {"diffusion",
     [](mlir::MLIRContext &context, bool narrow, bench::Model &model) {
       return bench::buildDiffusion(context, transformerConfig(narrow), model);
     }},
    {"mlp",
     [](mlir::MLIRContext &context, bool narrow, bench::Model &model) {
       bench::MlpConfig config;
       config.batch = narrow ? 65 : 3;
       config.width = narrow ? 64 : 8;
       config.dtype = narrow ? DType::BF16 : DType::F32;
       return bench::buildMlp(context, config, model);
     }},
    {"mamba", stateSpace<bench::ScanCell::Mamba>},
    {"ssd", stateSpace<bench::ScanCell::Ssd>},
    {"lru", stateSpace<bench::ScanCell::Lru>},
};

class Models : public testing::TestWithParam<NamedModel> {
protected:
  void run(bool narrow, llvm::function_ref<void(ModelGradients &)> check) {
    mlir::DialectRegistry registry;
    registerCompilerDialects(registry);
    mlir::MLIRContext context(registry);
    bench::Model model;
    Status status = GetParam().build(context, narrow, model);
    ASSERT_TRUE(status.ok()) << status.message;
    auto function =
        model.module->lookupSymbol<mlir::func::FuncOp>(model.function);
    // Weights that keep the size of activations, as trained ones do.
    mlir::OpBuilder b(&context);
    for (auto [i, type] : llvm::enumerate(function.getArgumentTypes())) {
      auto tensor = llvm::cast<mlir::RankedTensorType>(type);
      if (narrow || tensor.getRank() != 2)
        continue;
      double range = std::sqrt(3.0 / tensor.getDimSize(0));
      function.setArgAttr(i, "test.low", b.getF64FloatAttr(-range));
      function.setArgAttr(i, "test.high", b.getF64FloatAttr(range));
    }
    ModelGradients gradients(function);
    check(gradients);
  }
};

TEST_P(Models, gradients_agree_with_central_differences_and_on_the_cpu) {
  run(false, [](ModelGradients &g) {
    g.checkAgainstDifferences(/*most=*/8);
    g.checkOnCpu();
  });
}

TEST_P(Models, bf16_gradients_on_the_cpu_round_no_more_than_the_model) {
  run(true, [](ModelGradients &g) { g.checkOnCpu(); });
}

INSTANTIATE_TEST_SUITE_P(Suites, Models, testing::ValuesIn(kModels),
                         [](const auto &info) {
                           return std::string(info.param.name);
                         });
} // namespace
