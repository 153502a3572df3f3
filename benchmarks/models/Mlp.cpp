//===- Mlp.cpp - the perceptron of the training loop ----------------------===//

#include "models/Network.h"

using namespace mlir;

namespace heddle::bench {

namespace {

class Mlp final : public Network {
public:
  explicit Mlp(const MlpConfig &config) : config(config) {}

  void parameters(Layers &layers) const override {
    layers.declareLinear("in", kFeatures, config.width);
    layers.declareLinear("hidden", config.width, config.width);
    layers.declareLinear("out", config.width, kFeatures);
  }
  void inputs(Layers &layers) const override {
    layers.graph.argument("x", {config.batch, kFeatures}, layers.element);
  }
  Value forward(Layers &layers) const override {
    Value h = layers.gelu(layers.linear("in", layers.graph.get("x")));
    h = layers.gelu(layers.linear("hidden", h));
    return layers.linear("out", h);
  }

private:
  static constexpr int64_t kFeatures = 16;
  const MlpConfig &config;
};

} // namespace

Status buildMlp(MLIRContext &context, const MlpConfig &config, Model &model) {
  return buildNetwork(context, Mlp(config), config.dtype, config.op, model);
}

} // namespace heddle::bench
