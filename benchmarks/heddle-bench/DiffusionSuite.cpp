//===- DiffusionSuite.cpp - the diffusion model ---------------------------===//

#include "ModelSuite.h"

namespace heddle::bench {

namespace {

class DiffusionSuite final : public ModelSuite {
public:
  std::string name() const override { return "diffusion"; }
  std::string summary() const override {
    return "a denoiser of transformer blocks that follow the time t, x (batch, "
           "tokens, 8), t (batch)";
  }
  std::vector<Row> rows() const override {
    return attentionModelRows(name(), "bfloat16", 4096);
  }
  std::vector<std::string> settableKeys() const override {
    return {"batch", "heads", "tokens", "layers", "model_dim"};
  }

protected:
  Status build(const Row &row, mlir::MLIRContext &context,
               Model &model) const override {
    DiffusionConfig config;
    config.batch = rowInt(row, "batch");
    config.tokens = rowInt(row, "tokens");
    config.modelDim = rowInt(row, "model_dim");
    config.layers = rowInt(row, "layers");
    config.heads = rowInt(row, "heads");
    config.attention = row.at("attention") != "no_attention";
    config.dtype = rowDType(row);
    config.op = modelOp(row);
    return buildDiffusion(context, config, model);
  }
};

} // namespace

std::unique_ptr<Suite> makeDiffusionSuite() {
  return std::make_unique<DiffusionSuite>();
}

} // namespace heddle::bench
