//===- TransformerSuite.cpp - the transformer model -----------------------===//

#include "ModelSuite.h"

namespace heddle::bench {

namespace {

class TransformerSuite final : public ModelSuite {
public:
  std::string name() const override { return "transformer"; }
  std::string summary() const override {
    return "pre-norm transformer blocks, x (batch, tokens, model_dim)";
  }
  std::vector<Row> rows() const override {
    return attentionModelRows(name(), "bfloat16", 1024);
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
    return buildTransformer(context, config, model);
  }
};

} // namespace

std::unique_ptr<Suite> makeTransformerSuite() {
  return std::make_unique<TransformerSuite>();
}

} // namespace heddle::bench
