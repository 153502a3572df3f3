//===- TransformerSuite.cpp - the transformer and the diffusion model -----===//

#include "ModelSuite.h"

namespace heddle::bench {

namespace {

/// A model of transformer blocks.
struct BlockModel {
  const char *name, *summary;
  int donatedTokens; // of the row whose step is donated
  Status (*build)(mlir::MLIRContext &, const TransformerConfig &, Model &);
};

constexpr BlockModel kTransformer = {
    "transformer", "pre-norm transformer blocks, x (batch, tokens, model_dim)",
    1024, buildTransformer};
constexpr BlockModel kDiffusion = {
    "diffusion",
    "a denoiser of transformer blocks that follow the time t, x (batch, "
    "tokens, 8), t (batch)",
    4096, buildDiffusion};

class BlockModelSuite final : public ModelSuite {
public:
  explicit BlockModelSuite(const BlockModel &model) : blocks(model) {}

  std::string name() const override { return blocks.name; }
  std::string summary() const override { return blocks.summary; }
  std::vector<Row> rows() const override {
    return attentionModelRows(name(), "bfloat16", blocks.donatedTokens);
  }
  std::vector<std::string> settableKeys() const override {
    return {"batch", "heads", "tokens", "layers", "model_dim"};
  }

protected:
  Status build(const Row &row, mlir::MLIRContext &context,
               Model &model) const override {
    TransformerConfig config;
    config.batch = rowInt(row, "batch");
    config.tokens = rowInt(row, "tokens");
    config.modelDim = rowInt(row, "model_dim");
    config.layers = rowInt(row, "layers");
    config.heads = rowInt(row, "heads");
    config.attention = row.at("attention") != "no_attention";
    config.dtype = rowDType(row);
    config.op = modelOp(row);
    return blocks.build(context, config, model);
  }

private:
  const BlockModel &blocks;
};

} // namespace

std::unique_ptr<Suite> makeTransformerSuite() {
  return std::make_unique<BlockModelSuite>(kTransformer);
}

std::unique_ptr<Suite> makeDiffusionSuite() {
  return std::make_unique<BlockModelSuite>(kDiffusion);
}

} // namespace heddle::bench
