//===- StateSpace.cpp - blocks round a scan -------------------------------===//

#include "models/Network.h"

#include "heddle/Dialect/Heddle/IR/Heddle.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace heddle::bench {

namespace {

/// Channels of the data; the expansion of a block's perceptron.
constexpr int64_t kData = 16, kExpand = 4;

class StateSpace final : public Network {
public:
  explicit StateSpace(const StateSpaceConfig &config)
      : config(config), rows(config.batch * config.tokens), d(config.modelDim) {
  }

  void parameters(Layers &layers) const override;
  void inputs(Layers &layers) const override {
    layers.graph.argument("x", {config.batch, config.tokens, kData},
                          layers.element);
  }
  Value forward(Layers &layers) const override;

private:
  Value mamba(Layers &layers, Value u, bool reverse) const;
  Value ssd(Layers &layers, Value u, bool reverse) const;
  Value lru(Layers &layers, Value u, bool reverse) const;
  Value cell(Layers &layers, Value u, bool reverse) const;
  /// (rows, n) -> (batch, tokens, n).
  Value sequences(Layers &layers, Value v, int64_t n) const {
    return layers.graph.reshape(v, {config.batch, config.tokens, n});
  }
  Value toRows(Layers &layers, Value v) const {
    return layers.graph.reshape(v, {rows, d});
  }

  const StateSpaceConfig &config;
  const int64_t rows, d;
};

void StateSpace::parameters(Layers &layers) const {
  layers.declareLinear("in", kData, d);
  for (int64_t i = 0; i < config.layers; ++i) {
    layers.prefix = "layers." + std::to_string(i) + ".";
    layers.declareNorm("ln_a", d);
    layers.declareNorm("ln_b", d);
    switch (config.cell) {
    case ScanCell::Mamba:
      layers.parameter("cell.a_log", {config.state, d});
      for (const char *name : {"cell.b", "cell.c"})
        layers.declareLinear(name, d, config.state);
      layers.declareLinear("cell.dt", d, d);
      layers.parameter("cell.skip", {d});
      break;
    case ScanCell::Ssd:
      for (const char *name : {"cell.query", "cell.key", "cell.value"})
        layers.declareLinear(name, d, d);
      layers.declareLinear("cell.alpha", d, 1);
      break;
    case ScanCell::Lru:
      for (const char *name : {"cell.nu", "cell.theta", "cell.gamma"})
        layers.parameter(name, {d});
      for (const char *name : {"cell.b_real", "cell.b_imag", "cell.c_real",
                               "cell.c_imag", "cell.skip"})
        layers.declareLinear(name, d, d, /*bias=*/false);
      break;
    }
    layers.declareLinear("mix", d, d);
    layers.declareLinear("gate", d, d);
    layers.declareNorm("ln_c", d);
    layers.declareLinear("mlp.up", d, kExpand * d);
    layers.declareLinear("mlp.down", kExpand * d, d);
  }
  layers.prefix.clear();
  layers.declareNorm("ln", d);
  layers.declareLinear("out", d, kData);
}

/// dt = softplus(Linear u), B and C from u, A = -exp(a_log)^T.
Value StateSpace::mamba(Layers &layers, Value u, bool reverse) const {
  GraphBuilder &graph = layers.graph;
  Value a = graph.map({{layers.param("cell.a_log"), "sd"}}, "ds", graph.f32(),
                      [](OpBuilder &b, Location l, ValueRange v) -> Value {
                        Value exp = math::ExpOp::create(b, l, v[0]);
                        return arith::NegFOp::create(b, l, exp);
                      });
  Value b = sequences(layers, layers.linear("cell.b", u), config.state);
  Value c = sequences(layers, layers.linear("cell.c", u), config.state);
  Value dt = sequences(layers, layers.linear("cell.dt", u), d);
  Value input = sequences(layers, u, d), none;
  auto scan = SelectiveScanOp::create(
      graph.ops(), graph.loc(), input.getType(), Type(), input, dt, a, b, c,
      layers.param("cell.skip"), none, none, none, none,
      /*delta_softplus=*/true, reverse);
  return toRows(layers, scan.getY());
}

/// One head; the log decay is raw, so that it has either sign.
Value StateSpace::ssd(Layers &layers, Value u, bool reverse) const {
  GraphBuilder &graph = layers.graph;
  auto head = [&](StringRef name) {
    return graph.reshape(layers.linear(name, u),
                         {config.batch, config.tokens, 1, d});
  };
  Value query = head("cell.query"), key = head("cell.key"),
        value = head("cell.value"), none;
  Value decay =
      sequences(layers, layers.linear("cell.alpha", u, graph.f32()), 1);
  auto scan = SsdOp::create(graph.ops(), graph.loc(), value.getType(), Type(),
                            query, key, value, decay, none, none,
                            /*log_decay_nonpositive=*/false, reverse);
  return toRows(layers, scan.getOut());
}

/// lam = exp(-exp(nu) + i exp(theta)); the state is f32 throughout.
Value StateSpace::lru(Layers &layers, Value u, bool reverse) const {
  GraphBuilder &graph = layers.graph;
  Type f32 = graph.f32();
  auto lambda = [&](bool imaginary) {
    return graph.mapAll(
        {layers.param("cell.nu"), layers.param("cell.theta")}, f32,
        [&](OpBuilder &b, Location l, ValueRange v) -> Value {
          Value decay = arith::NegFOp::create(
              b, l, math::ExpOp::create(b, l, v[0]).getResult());
          Value radius = math::ExpOp::create(b, l, decay);
          Value phase = math::ExpOp::create(b, l, v[1]);
          Value part = imaginary ? math::SinOp::create(b, l, phase).getResult()
                                 : math::CosOp::create(b, l, phase).getResult();
          return arith::MulFOp::create(b, l, radius, part);
        });
  };
  auto driven = [&](StringRef name) {
    Value product = layers.linear(name, u, f32);
    Value scaled =
        graph.map({{product, "rd"}, {layers.param("cell.gamma"), "d"}}, "rd",
                  f32, [](OpBuilder &b, Location l, ValueRange v) -> Value {
                    Value gain = math::ExpOp::create(b, l, v[1]);
                    return arith::MulFOp::create(b, l, v[0], gain);
                  });
    return sequences(layers, scaled, d);
  };
  Value real = driven("cell.b_real"), imag = driven("cell.b_imag"), none;
  auto scan = LinearScanOp::create(
      graph.ops(), graph.loc(), real.getType(), imag.getType(), Type(), Type(),
      lambda(false), real, lambda(true), imag, none, none, none, reverse);
  auto read = [&](StringRef name, Value h) {
    return layers.linear(name, graph.cast(h, layers.element), f32);
  };
  Value fromReal = read("cell.c_real", toRows(layers, scan.getH()));
  Value fromImag = read("cell.c_imag", toRows(layers, scan.getHImag()));
  Value skip = layers.linear("cell.skip", u, f32);
  return layers.apply({fromReal, fromImag, skip},
                      [](OpBuilder &b, Location l, ValueRange v) -> Value {
                        Value y = arith::SubFOp::create(b, l, v[0], v[1]);
                        return arith::AddFOp::create(b, l, y, v[2]);
                      });
}

Value StateSpace::cell(Layers &layers, Value u, bool reverse) const {
  switch (config.cell) {
  case ScanCell::Mamba:
    return mamba(layers, u, reverse);
  case ScanCell::Ssd:
    return ssd(layers, u, reverse);
  case ScanCell::Lru:
    return lru(layers, u, reverse);
  }
  llvm_unreachable("every cell is handled above");
}

Value StateSpace::forward(Layers &layers) const {
  GraphBuilder &graph = layers.graph;
  layers.prefix.clear();
  Value h = layers.linear("in", graph.reshape(graph.get("x"), {rows, kData}));
  for (int64_t i = 0; i < config.layers; ++i) {
    layers.prefix = "layers." + std::to_string(i) + ".";
    Value u = layers.layerNorm("ln_b", layers.layerNorm("ln_a", h));
    Value a = layers.gelu(cell(layers, u, /*reverse=*/i % 2 == 1));
    Value gated = layers.apply(
        {layers.linear("mix", a), layers.linear("gate", a)},
        [](OpBuilder &b, Location l, ValueRange v) -> Value {
          Value exp =
              math::ExpOp::create(b, l, arith::NegFOp::create(b, l, v[1]));
          Value one = GraphBuilder::constant(b, l, 1.0);
          return arith::DivFOp::create(b, l, v[0],
                                       arith::AddFOp::create(b, l, one, exp));
        });
    h = layers.add(h, gated);
    Value hidden =
        layers.gelu(layers.linear("mlp.up", layers.layerNorm("ln_c", h)));
    h = layers.add(h, layers.gelu(layers.linear("mlp.down", hidden)));
  }
  layers.prefix.clear();
  Value out = layers.linear("out", layers.layerNorm("ln", h));
  return graph.reshape(out, {config.batch, config.tokens, kData});
}

} // namespace

Status buildStateSpace(MLIRContext &context, const StateSpaceConfig &config,
                       Model &model) {
  return buildNetwork(context, StateSpace(config), config.dtype, config.op,
                      model);
}

} // namespace heddle::bench
