//===- Network.cpp - forward functions and training steps -----------------===//

#include "models/Network.h"

#include "heddle/Dialect/Heddle/IR/Heddle.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>

using namespace mlir;

namespace heddle::bench {

namespace {

/// Adam (Kingma and Ba, 2015), with the usual constants.
constexpr double kLearningRate = 1e-3, kBeta1 = 0.9, kBeta2 = 0.999,
                 kEpsilon = 1e-8;

/// Emits the loss and the step round it.
class Trainer {
public:
  Trainer(Layers &layers, const Network &network, const ModelOp &op)
      : layers(layers), graph(layers.graph), network(network), op(op) {}

  void loss();
  void step();

private:
  Value sumOfSquares(Value v);
  Value scalar(ArrayRef<Value> operands, GraphBuilder::Body body) {
    return graph.mapAll(operands, graph.f32(), body);
  }
  Value correction(Value count, double beta);
  Value clipFactor(ValueRange gradients);
  Value scaled(Value gradient, Value factor);
  Value decayed(Value average, Value sample, double beta, bool squares);
  Value updated(Value parameter, Value mu, Value nu, Value c1, Value c2);

  Layers &layers;
  GraphBuilder &graph;
  const Network &network;
  const ModelOp &op;
};

/// In f32, one axis after the other: partial sums keep their digits.
Value Trainer::sumOfSquares(Value v) {
  StringRef axes = "abcdefgh";
  int64_t rank = cast<RankedTensorType>(v.getType()).getRank();
  bool first = true;
  for (; rank > 0; --rank, first = false)
    v = graph.sum(
        {{v, axes.take_front(rank)}}, axes.take_front(rank - 1),
        [&](OpBuilder &b, Location l, ValueRange x) -> Value {
          Value wide = GraphBuilder::convert(b, l, x[0], graph.f32());
          return first ? arith::MulFOp::create(b, l, wide, wide).getResult()
                       : wide;
        });
  return v;
}

/// mean(model(x)^2).
void Trainer::loss() {
  layers.prefix.clear();
  network.parameters(layers);
  network.inputs(layers);
  graph.begin("loss", /*isPublic=*/false);
  Value y = network.forward(layers);
  double count = cast<RankedTensorType>(y.getType()).getNumElements();
  graph.end(scalar({sumOfSquares(y)},
                   [&](OpBuilder &b, Location l, ValueRange v) -> Value {
                     return arith::MulFOp::create(
                         b, l, v[0], GraphBuilder::constant(b, l, 1 / count));
                   }));
}

/// 1 - beta^count.
Value Trainer::correction(Value count, double beta) {
  return scalar({count}, [&](OpBuilder &b, Location l, ValueRange v) -> Value {
    Value steps = arith::SIToFPOp::create(b, l, graph.f32(), v[0]);
    Value log = GraphBuilder::constant(b, l, std::log(beta));
    Value power = math::ExpOp::create(
        b, l, arith::MulFOp::create(b, l, steps, log).getResult());
    return arith::SubFOp::create(b, l, GraphBuilder::constant(b, l, 1.0),
                                 power);
  });
}

/// min(1, clipNorm / norm of all gradients).
Value Trainer::clipFactor(ValueRange gradients) {
  SmallVector<Value> squares;
  for (Value gradient : gradients)
    squares.push_back(sumOfSquares(gradient));
  return scalar(squares, [&](OpBuilder &b, Location l, ValueRange v) -> Value {
    Value sum = v[0];
    for (Value term : v.drop_front())
      sum = arith::AddFOp::create(b, l, sum, term);
    Value norm = math::SqrtOp::create(b, l, sum);
    Value ratio = arith::DivFOp::create(
        b, l, GraphBuilder::constant(b, l, op.clipNorm), norm);
    return arith::MinimumFOp::create(b, l, ratio,
                                     GraphBuilder::constant(b, l, 1.0));
  });
}

static std::string axesOf(Value v) {
  return StringRef("abcdefgh")
      .take_front(cast<RankedTensorType>(v.getType()).getRank())
      .str();
}

Value Trainer::scaled(Value gradient, Value factor) {
  std::string axes = axesOf(gradient);
  return graph.map({{gradient, axes}, {factor, ""}}, axes, graph.f32(),
                   [](OpBuilder &b, Location l, ValueRange v) -> Value {
                     return arith::MulFOp::create(b, l, v[0], v[1]);
                   });
}

/// beta average + (1 - beta) sample, of the sample's square with `squares`.
Value Trainer::decayed(Value average, Value sample, double beta, bool squares) {
  return graph.mapAll({average, sample}, graph.f32(),
                      [&](OpBuilder &b, Location l, ValueRange v) -> Value {
                        Value old = arith::MulFOp::create(
                            b, l, v[0], GraphBuilder::constant(b, l, beta));
                        Value added = arith::MulFOp::create(
                            b, l, v[1], GraphBuilder::constant(b, l, 1 - beta));
                        if (squares)
                          added = arith::MulFOp::create(b, l, added, v[1]);
                        return arith::AddFOp::create(b, l, old, added);
                      });
}

Value Trainer::updated(Value parameter, Value mu, Value nu, Value c1,
                       Value c2) {
  std::string axes = axesOf(parameter);
  return graph.map(
      {{parameter, axes}, {mu, axes}, {nu, axes}, {c1, ""}, {c2, ""}}, axes,
      graph.f32(), [](OpBuilder &b, Location l, ValueRange v) -> Value {
        Value mean = arith::DivFOp::create(b, l, v[1], v[3]);
        Value square = arith::DivFOp::create(b, l, v[2], v[4]);
        Value root =
            arith::AddFOp::create(b, l, math::SqrtOp::create(b, l, square),
                                  GraphBuilder::constant(b, l, kEpsilon));
        Value direction = arith::DivFOp::create(b, l, mean, root);
        Value change = arith::MulFOp::create(
            b, l, direction, GraphBuilder::constant(b, l, kLearningRate));
        return arith::SubFOp::create(b, l, v[0], change);
      });
}

void Trainer::step() {
  OpBuilder &ops = graph.ops();
  int64_t numLeaves = layers.leaves.size();
  std::vector<std::string> names = layers.leaves;
  auto shapes = layers.shapes;
  for (const char *state : {"", "mu.", "nu."})
    for (int64_t i = 0; i < numLeaves; ++i)
      graph.argument(state + names[i], shapes[i], graph.f32());
  graph.argument("count", {}, ops.getI32Type());
  network.inputs(layers);
  graph.begin("train_step");
  if (op.donate)
    for (int64_t i = 0; i <= 3 * numLeaves; ++i)
      graph.current().setArgAttr(i, "heddle.donated", ops.getUnitAttr());

  SmallVector<Value> arguments(graph.arguments()), parameters, inputs;
  parameters.assign(arguments.begin(), arguments.begin() + numLeaves);
  inputs = parameters;
  inputs.append(arguments.begin() + 3 * numLeaves + 1, arguments.end());
  SmallVector<Type> types = {RankedTensorType::get({}, graph.f32())};
  SmallVector<int64_t> wrt;
  for (int64_t i = 0; i < numLeaves; ++i) {
    types.push_back(parameters[i].getType());
    wrt.push_back(i);
  }
  auto gradient =
      ValueAndGradOp::create(ops, graph.loc(), types, "loss", inputs, wrt);
  SmallVector<Value> gradients(gradient.getGradients());
  if (op.clipNorm > 0) {
    Value factor = clipFactor(gradients);
    for (Value &g : gradients)
      g = scaled(g, factor);
  }
  Value count = graph.mapAll(
      {arguments[3 * numLeaves]}, ops.getI32Type(),
      [](OpBuilder &b, Location l, ValueRange v) -> Value {
        Value one = arith::ConstantOp::create(b, l, b.getI32IntegerAttr(1));
        return arith::AddIOp::create(b, l, v[0], one);
      });
  Value c1 = correction(count, kBeta1), c2 = correction(count, kBeta2);
  SmallVector<Value> news, mus, nus;
  for (int64_t i = 0; i < numLeaves; ++i) {
    mus.push_back(decayed(arguments[numLeaves + i], gradients[i], kBeta1,
                          /*squares=*/false));
    nus.push_back(decayed(arguments[2 * numLeaves + i], gradients[i], kBeta2,
                          /*squares=*/true));
    news.push_back(updated(parameters[i], mus[i], nus[i], c1, c2));
  }
  SmallVector<Value> results = news;
  llvm::append_range(results, mus);
  llvm::append_range(results, nus);
  results.push_back(count);
  results.push_back(gradient.getValue());
  graph.end(results);
}

} // namespace

Status buildNetwork(MLIRContext &context, const Network &network, DType dtype,
                    const ModelOp &op, Model &model) {
  GraphBuilder graph(context);
  Layers layers(graph, floatType(context, dtype));
  if (op.train) {
    Trainer trainer(layers, network, op);
    trainer.loss();
    trainer.step();
    model.function = "train_step";
    for (const char *state : {"", "mu.", "nu."})
      for (size_t i = 0; i < layers.leaves.size(); ++i)
        model.results.push_back(state + layers.leaves[i]);
    model.results.insert(model.results.end(), {"count", "loss"});
  } else {
    network.parameters(layers);
    network.inputs(layers);
    model.function = "forward";
    graph.begin(model.function);
    graph.end(network.forward(layers));
  }
  model.params = layers.numParameters;
  model.leaves = layers.leaves.size();
  model.module = graph.finish();
  if (!model.module)
    return Status::error("expected a graph that verifies, the verifier "
                         "refused it; see its diagnostic");
  return Status();
}

} // namespace heddle::bench
