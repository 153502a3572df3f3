//===- Transformer.cpp - pre-norm transformer blocks ----------------------===//

#include "models/GraphBuilder.h"
#include "models/Models.h"

#include "heddle/Dialect/Heddle/IR/Heddle.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace heddle::bench {

namespace {

constexpr double kNormEps = 1e-6;

/// Emits the layers of one configuration into a graph.
class Emitter {
public:
  Emitter(GraphBuilder &graph, const TransformerConfig &config, Type element)
      : graph(graph), config(config), element(element) {}

  /// Declares the parameters and x; returns the parameter count.
  int64_t declare();
  /// (rows, d) -> (rows, d) through layer `layer`.
  Value layer(int64_t layer, Value x);

private:
  Value param(StringRef name) { return graph.get(prefix + name.str()); }
  Value layerNorm(StringRef name, Value x);
  Value linear(StringRef name, Value x);
  Value gelu(Value x);
  Value add(Value a, Value b);
  Value attention(Value x);

  GraphBuilder &graph;
  const TransformerConfig &config;
  Type element; // compute dtype
  std::string prefix;
};

int64_t Emitter::declare() {
  int64_t d = config.modelDim, params = 0;
  auto parameter = [&](const std::string &name, ArrayRef<int64_t> shape) {
    graph.argument(prefix + name, shape, graph.f32());
    params += ShapedType::getNumElements(shape);
  };
  auto declareLinear = [&](const std::string &name, int64_t in, int64_t out) {
    parameter(name + ".kernel", {in, out});
    parameter(name + ".bias", {out});
  };
  auto declareNorm = [&](const std::string &name) {
    parameter(name + ".scale", {d});
    parameter(name + ".bias", {d});
  };
  for (int64_t i = 0; i < config.layers; ++i) {
    prefix = "layers." + std::to_string(i) + ".";
    declareNorm("ln1");
    for (const char *projection : {"query", "key", "value", "out"})
      declareLinear(std::string("attn.") + projection, d, d);
    declareNorm("ln2");
    declareLinear("mlp.up", d, 4 * d);
    declareLinear("mlp.down", 4 * d, d);
  }
  graph.argument("x", {config.batch, config.tokens, d}, element);
  return params;
}

Value Emitter::layerNorm(StringRef name, Value x) {
  double cols = static_cast<double>(config.modelDim);
  Type f32 = graph.f32();
  Value wide = graph.cast(x, f32);
  Value sum = graph.reduceCols(
      wide, [](OpBuilder &b, Location l, ValueRange v) -> Value {
        return arith::AddFOp::create(b, l, v[1], v[0]);
      });
  Value mean = graph.mapRows(
      sum, f32, [&](OpBuilder &b, Location l, ValueRange v) -> Value {
        return arith::DivFOp::create(b, l, v[0],
                                     GraphBuilder::constant(b, l, cols));
      });
  Value centred =
      graph.map({{wide}, {mean, Axes::Rows}}, f32,
                [](OpBuilder &b, Location l, ValueRange v) -> Value {
                  return arith::SubFOp::create(b, l, v[0], v[1]);
                });
  Value squares = graph.reduceCols(
      centred, [](OpBuilder &b, Location l, ValueRange v) -> Value {
        Value square = arith::MulFOp::create(b, l, v[0], v[0]);
        return arith::AddFOp::create(b, l, v[1], square);
      });
  Value rstd = graph.mapRows(
      squares, f32, [&](OpBuilder &b, Location l, ValueRange v) -> Value {
        Value variance = arith::DivFOp::create(
            b, l, v[0], GraphBuilder::constant(b, l, cols));
        Value shifted = arith::AddFOp::create(
            b, l, variance, GraphBuilder::constant(b, l, kNormEps));
        return math::RsqrtOp::create(b, l, shifted);
      });
  Value normed =
      graph.map({{centred},
                 {rstd, Axes::Rows},
                 {param((name + ".scale").str()), Axes::Cols},
                 {param((name + ".bias").str()), Axes::Cols}},
                f32, [](OpBuilder &b, Location l, ValueRange v) -> Value {
                  Value unit = arith::MulFOp::create(b, l, v[0], v[1]);
                  Value scaled = arith::MulFOp::create(b, l, unit, v[2]);
                  return arith::AddFOp::create(b, l, scaled, v[3]);
                });
  return graph.cast(normed, element);
}

Value Emitter::linear(StringRef name, Value x) {
  Value kernel = graph.cast(param((name + ".kernel").str()), element);
  Value bias = graph.cast(param((name + ".bias").str()), element);
  Value product = graph.matmul(x, kernel);
  return graph.map({{product}, {bias, Axes::Cols}}, element,
                   [&](OpBuilder &b, Location l, ValueRange v) -> Value {
                     Value wide =
                         GraphBuilder::convert(b, l, v[1], graph.f32());
                     Value sum = arith::AddFOp::create(b, l, v[0], wide);
                     return GraphBuilder::convert(b, l, sum, element);
                   });
}

/// 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))), in f32.
Value Emitter::gelu(Value x) {
  return graph.map(
      {{x}}, element, [&](OpBuilder &b, Location l, ValueRange v) -> Value {
        auto number = [&](double c) { return GraphBuilder::constant(b, l, c); };
        auto mul = [&](Value p, Value q) -> Value {
          return arith::MulFOp::create(b, l, p, q);
        };
        Value in = GraphBuilder::convert(b, l, v[0], graph.f32());
        Value cube = mul(mul(in, in), in);
        Value inner =
            arith::AddFOp::create(b, l, in, mul(number(0.044715), cube));
        Value tanh =
            math::TanhOp::create(b, l, mul(number(0.7978845608028654), inner));
        Value one = arith::AddFOp::create(b, l, tanh, number(1.0));
        Value out = mul(mul(number(0.5), in), one);
        return GraphBuilder::convert(b, l, out, element);
      });
}

Value Emitter::add(Value a, Value b) {
  return graph.map({{a}, {b}}, element,
                   [&](OpBuilder &ops, Location l, ValueRange v) -> Value {
                     Value p = GraphBuilder::convert(ops, l, v[0], graph.f32());
                     Value q = GraphBuilder::convert(ops, l, v[1], graph.f32());
                     Value sum = arith::AddFOp::create(ops, l, p, q);
                     return GraphBuilder::convert(ops, l, sum, element);
                   });
}

Value Emitter::attention(Value x) {
  int64_t shape[] = {config.batch, config.tokens, config.heads,
                     config.modelDim / config.heads};
  Value query = linear("attn.query", x);
  Value key = linear("attn.key", x);
  Value value = linear("attn.value", x);
  // Without attention the query and key projections are dead code: their
  // parameters stay in the signature and are never read.
  if (!config.attention)
    return linear("attn.out", value);
  query = graph.expandRows(query, shape, /*splitLast=*/true);
  key = graph.expandRows(key, shape, /*splitLast=*/true);
  value = graph.expandRows(value, shape, /*splitLast=*/true);
  Value none;
  auto op = AttentionOp::create(graph.ops(), graph.loc(), query.getType(),
                                Type(), query, key, value, none, none, none,
                                none, none, none, AttentionLayout::BSHD,
                                FloatAttr(), MaskAttr(), Precision::IEEE);
  return linear("attn.out", graph.collapseHeads(op.getOut()));
}

Value Emitter::layer(int64_t layer, Value x) {
  prefix = "layers." + std::to_string(layer) + ".";
  Value h = add(x, attention(layerNorm("ln1", x)));
  Value hidden = gelu(linear("mlp.up", layerNorm("ln2", h)));
  return add(h, linear("mlp.down", hidden));
}

} // namespace

Status buildTransformer(MLIRContext &context, const TransformerConfig &config,
                        Model &model) {
  if (config.modelDim % config.heads != 0)
    return Status::error("expected model_dim divisible by heads, got " +
                         std::to_string(config.modelDim) + " and " +
                         std::to_string(config.heads) +
                         "; set another number of heads");
  GraphBuilder graph(context);
  Emitter emitter(graph, config, floatType(context, config.dtype));
  model.params = emitter.declare();
  model.function = "forward";
  graph.begin(model.function);
  Value x = graph.collapseToRows(graph.get("x"));
  for (int64_t i = 0; i < config.layers; ++i)
    x = emitter.layer(i, x);
  int64_t shape[] = {config.batch, config.tokens, config.modelDim};
  model.module = graph.finish(graph.expandRows(x, shape, /*splitLast=*/false));
  if (!model.module)
    return Status::error("expected a graph that verifies, the verifier "
                         "refused it; see its diagnostic");
  return Status();
}

} // namespace heddle::bench
