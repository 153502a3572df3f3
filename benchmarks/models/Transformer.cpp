//===- Transformer.cpp - pre-norm transformer blocks ----------------------===//

#include "models/Network.h"

using namespace mlir;

namespace heddle::bench {

namespace {

class Transformer final : public Network {
public:
  explicit Transformer(const TransformerConfig &config) : config(config) {}

  void parameters(Layers &layers) const override {
    int64_t d = config.modelDim;
    for (int64_t i = 0; i < config.layers; ++i) {
      layers.prefix = "layers." + std::to_string(i) + ".";
      layers.declareNorm("ln1", d);
      for (const char *projection : {"query", "key", "value", "out"})
        layers.declareLinear(std::string("attn.") + projection, d, d);
      layers.declareNorm("ln2", d);
      layers.declareLinear("mlp.up", d, 4 * d);
      layers.declareLinear("mlp.down", 4 * d, d);
    }
  }

  void inputs(Layers &layers) const override {
    layers.graph.argument("x", shape(), layers.element);
  }

  Value forward(Layers &layers) const override {
    Value x = layers.graph.reshape(
        layers.graph.get("x"), {config.batch * config.tokens, config.modelDim});
    for (int64_t i = 0; i < config.layers; ++i) {
      layers.prefix = "layers." + std::to_string(i) + ".";
      Value attended =
          layers.attention("attn", layers.layerNorm("ln1", x), config.batch,
                           config.tokens, config.heads, config.attention);
      Value h = layers.add(x, attended);
      Value hidden = layers.linear("mlp.up", layers.layerNorm("ln2", h));
      x = layers.add(h, layers.linear("mlp.down", layers.gelu(hidden)));
    }
    return layers.graph.reshape(x, shape());
  }

private:
  SmallVector<int64_t> shape() const {
    return {config.batch, config.tokens, config.modelDim};
  }
  const TransformerConfig &config;
};

} // namespace

Status headsDivide(int64_t modelDim, int64_t heads) {
  if (heads > 0 && modelDim % heads == 0)
    return Status();
  return Status::error("expected model_dim divisible by heads, got " +
                       std::to_string(modelDim) + " and " +
                       std::to_string(heads) + "; set another number of heads");
}

Status buildTransformer(MLIRContext &context, const TransformerConfig &config,
                        Model &model) {
  if (Status s = headsDivide(config.modelDim, config.heads); !s)
    return s;
  return buildNetwork(context, Transformer(config), config.dtype, config.op,
                      model);
}

} // namespace heddle::bench
