//===- Diffusion.cpp - a denoiser whose norms follow the time -------------===//

#include "models/Network.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <cmath>

using namespace mlir;

namespace heddle::bench {

namespace {

/// Channels of the data, learned frequencies, and channels of the condition.
constexpr int64_t kData = 8, kFrequencies = 32, kCondition = 128;
constexpr double kTwoPi = 6.283185307179586;

class Diffusion final : public Network {
public:
  explicit Diffusion(const TransformerConfig &config) : config(config) {}

  void parameters(Layers &layers) const override;
  void inputs(Layers &layers) const override {
    layers.graph.argument("x", {config.batch, config.tokens, kData},
                          layers.element);
    layers.graph.argument("t", {config.batch}, layers.element);
  }
  Value forward(Layers &layers) const override;

private:
  Value condition(Layers &layers) const;
  Value addPositions(Layers &layers, Value h) const;
  Value affine(Layers &layers, StringRef name, Value x, Value c) const;

  const TransformerConfig &config;
};

void Diffusion::parameters(Layers &layers) const {
  int64_t d = config.modelDim;
  layers.declareLinear("in", kData, d);
  layers.parameter("time.frequencies", {kFrequencies});
  layers.declareLinear("time.up", 2 * kFrequencies, kCondition);
  layers.declareLinear("time.down", kCondition, kCondition);
  for (int64_t i = 0; i < config.layers; ++i) {
    layers.prefix = "layers." + std::to_string(i) + ".";
    for (const char *half : {"1", "2"}) {
      layers.declareNorm(std::string("ln") + half, d);
      layers.declareLinear(std::string("affine") + half + ".up", kCondition,
                           2 * d);
      layers.declareLinear(std::string("affine") + half + ".down", 2 * d,
                           2 * d);
    }
    for (const char *projection : {"query", "key", "value", "out"})
      layers.declareLinear(std::string("attn.") + projection, d, d);
    layers.declareLinear("mlp.up", d, 4 * d);
    layers.declareLinear("mlp.down", 4 * d, d);
  }
  layers.prefix.clear();
  layers.declareLinear("out", d, kData);
}

/// [cos f, sin f] of f = 2 pi t W through a perceptron: (batch, 128).
Value Diffusion::condition(Layers &layers) const {
  GraphBuilder &graph = layers.graph;
  Value angles = graph.map(
      {{graph.get("t"), "b"}, {layers.param("time.frequencies"), "f"}}, "bf",
      graph.f32(), [&](OpBuilder &b, Location l, ValueRange v) -> Value {
        Value t = GraphBuilder::convert(b, l, v[0], graph.f32());
        Value turns = arith::MulFOp::create(b, l, t, v[1]);
        return arith::MulFOp::create(b, l, turns,
                                     GraphBuilder::constant(b, l, kTwoPi));
      });
  Value cosines = layers.apply(
      {angles}, [](OpBuilder &b, Location l, ValueRange v) -> Value {
        return math::CosOp::create(b, l, v[0]);
      });
  Value sines = layers.apply(
      {angles}, [](OpBuilder &b, Location l, ValueRange v) -> Value {
        return math::SinOp::create(b, l, v[0]);
      });
  Value features = tensor::ConcatOp::create(graph.ops(), graph.loc(), /*dim=*/1,
                                            ValueRange{cosines, sines});
  Value hidden = layers.silu(layers.linear("time.up", features));
  return layers.linear("time.down", hidden);
}

/// Adds sin(p / 10000^(2 i / d)) to channel i < d / 2 and the cosine of the
/// same to channel d / 2 + i, for position p. They are a constant: angles of
/// thousands have lost their digits in f32.
Value Diffusion::addPositions(Layers &layers, Value h) const {
  GraphBuilder &graph = layers.graph;
  int64_t d = config.modelDim;
  std::vector<float> values;
  for (int64_t p = 0; p < config.tokens; ++p)
    for (int64_t i = 0; i < d; ++i) {
      double angle = p * std::pow(1e4, -2.0 * (i % (d / 2)) / d);
      values.push_back(
          static_cast<float>(i < d / 2 ? std::sin(angle) : std::cos(angle)));
    }
  auto type = RankedTensorType::get({config.tokens, d}, graph.f32());
  Value waves = arith::ConstantOp::create(
      graph.ops(), graph.loc(),
      DenseElementsAttr::get(type, ArrayRef<float>(values)));
  return graph.map({{h, "btd"}, {waves, "td"}}, "btd", layers.element,
                   [&](OpBuilder &b, Location l, ValueRange v) -> Value {
                     Value wide =
                         GraphBuilder::convert(b, l, v[0], graph.f32());
                     Value sum = arith::AddFOp::create(b, l, wide, v[1]);
                     return GraphBuilder::convert(b, l, sum, layers.element);
                   });
}

/// x (1 + s) + b with [s, b] from the condition.
Value Diffusion::affine(Layers &layers, StringRef name, Value x,
                        Value c) const {
  GraphBuilder &graph = layers.graph;
  int64_t d = config.modelDim;
  Value hidden = layers.gelu(layers.linear((name + ".up").str(), c));
  Value both = layers.linear((name + ".down").str(), hidden);
  Value scale = graph.slice(both, 1, 0, d), shift = graph.slice(both, 1, d, d);
  return graph.map(
      {{x, "btd"}, {scale, "bd"}, {shift, "bd"}}, "btd", layers.element,
      [&](OpBuilder &b, Location l, ValueRange v) -> Value {
        auto wide = [&](Value x) {
          return GraphBuilder::convert(b, l, x, graph.f32());
        };
        Value one = GraphBuilder::constant(b, l, 1.0);
        Value factor = arith::AddFOp::create(b, l, wide(v[1]), one);
        Value scaled = arith::MulFOp::create(b, l, wide(v[0]), factor);
        Value sum = arith::AddFOp::create(b, l, scaled, wide(v[2]));
        return GraphBuilder::convert(b, l, sum, layers.element);
      });
}

Value Diffusion::forward(Layers &layers) const {
  layers.prefix.clear();
  Value c = condition(layers);
  Value h = addPositions(layers, layers.linear("in", layers.graph.get("x")));
  for (int64_t i = 0; i < config.layers; ++i) {
    layers.prefix = "layers." + std::to_string(i) + ".";
    Value q = affine(layers, "affine1", layers.layerNorm("ln1", h), c);
    h = layers.add(h, layers.attention("attn", q, config.batch, config.tokens,
                                       config.heads, config.attention));
    Value m = affine(layers, "affine2", layers.layerNorm("ln2", h), c);
    Value hidden = layers.gelu(layers.linear("mlp.up", m));
    h = layers.add(h, layers.linear("mlp.down", hidden));
  }
  layers.prefix.clear();
  return layers.linear("out", h);
}

} // namespace

Status buildDiffusion(MLIRContext &context, const TransformerConfig &config,
                      Model &model) {
  if (Status s = headsDivide(config.modelDim, config.heads); !s)
    return s;
  if (config.modelDim % 2 != 0)
    return Status::error("expected an even model_dim, got " +
                         std::to_string(config.modelDim) +
                         "; positions are pairs of sine and cosine");
  return buildNetwork(context, Diffusion(config), config.dtype, config.op,
                      model);
}

} // namespace heddle::bench
