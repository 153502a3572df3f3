//===- Training.cpp - losses, steps and runs of them ----------------------===//

#include "models/Training.h"

#include "heddle/Dialect/Heddle/IR/Heddle.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>
#include <numeric>

using namespace mlir;

namespace heddle::bench {

namespace {

constexpr double kLearningRate = 1e-3, kBeta1 = 0.9, kBeta2 = 0.999,
                 kEpsilon = 1e-8, kMomentum = 0.9;

/// Emits the loss and the functions round it.
class Trainer {
public:
  Trainer(Layers &layers, const Network &network, const ModelOp &op)
      : layers(layers), graph(layers.graph), network(network), op(op) {}

  void loss();
  void step();
  void fit();
  std::vector<std::string> stateNames() const;

private:
  /// What one step makes of the state.
  struct Advanced {
    SmallVector<Value> state;
    Value loss;
  };
  Advanced advance(ValueRange state, ValueRange inputs);
  void adam(ValueRange state, ValueRange gradients, Advanced &advanced);
  void momentum(ValueRange state, ValueRange gradients, Advanced &advanced);
  SmallVector<Value> drawn(ValueRange data, Value seed, Value offset);
  void declareState();
  void donateState();

  Value sumOfSquares(Value v);
  Value scalar(ArrayRef<Value> operands, GraphBuilder::Body body) {
    return graph.mapAll(operands, graph.f32(), body);
  }
  Value correction(Value count, double beta);
  Value clipFactor(ValueRange gradients);
  Value scaled(Value gradient, Value factor);
  /// keep average + add sample, of the sample's square with `squares`.
  Value blended(Value average, Value sample, double keep, double add,
                bool squares = false);
  Value updated(Value parameter, Value mu, Value nu, Value c1, Value c2);

  bool isAdam() const { return op.optimizer == Optimizer::Adam; }
  size_t numLeaves() const { return layers.leaves.size(); }

  Layers &layers;
  GraphBuilder &graph;
  const Network &network;
  const ModelOp &op;
  SmallVector<RankedTensorType> inputTypes; // of the loss, behind the leaves
  SmallVector<std::string> inputNames;
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
  for (Value input : graph.arguments().drop_front(numLeaves())) {
    inputTypes.push_back(cast<RankedTensorType>(input.getType()));
    unsigned number = cast<BlockArgument>(input).getArgNumber();
    inputNames.push_back(
        graph.current()
            .getArgAttrOfType<StringAttr>(number, "heddle.arg_name")
            .str());
  }
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

Value Trainer::blended(Value average, Value sample, double keep, double add,
                       bool squares) {
  return graph.mapAll({average, sample}, graph.f32(),
                      [&](OpBuilder &b, Location l, ValueRange v) -> Value {
                        Value old = arith::MulFOp::create(
                            b, l, v[0], GraphBuilder::constant(b, l, keep));
                        Value added = v[1];
                        if (add != 1)
                          added = arith::MulFOp::create(
                              b, l, added, GraphBuilder::constant(b, l, add));
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

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

std::vector<std::string> Trainer::stateNames() const {
  std::vector<std::string> names = layers.leaves;
  for (const char *kind : {"mu.", "nu.", "velocity."})
    if (isAdam() != (StringRef(kind) == "velocity."))
      for (size_t i = 0; i < numLeaves(); ++i)
        names.push_back(kind + layers.leaves[i]);
  if (isAdam())
    names.push_back("count");
  return names;
}

void Trainer::declareState() {
  std::vector<std::string> names = stateNames();
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] == "count")
      graph.argument("count", {}, graph.ops().getI32Type());
    else
      graph.argument(names[i], layers.shapes[i % numLeaves()], graph.f32());
  }
}

void Trainer::donateState() {
  if (!op.donate)
    return;
  for (size_t i = 0; i < stateNames().size(); ++i)
    graph.current().setArgAttr(i, "heddle.donated", graph.ops().getUnitAttr());
}

void Trainer::adam(ValueRange state, ValueRange gradients, Advanced &advanced) {
  size_t n = numLeaves();
  Value count = graph.mapAll(
      {state.back()}, graph.ops().getI32Type(),
      [](OpBuilder &b, Location l, ValueRange v) -> Value {
        Value one = arith::ConstantOp::create(b, l, b.getI32IntegerAttr(1));
        return arith::AddIOp::create(b, l, v[0], one);
      });
  Value c1 = correction(count, kBeta1), c2 = correction(count, kBeta2);
  SmallVector<Value> news, mus, nus;
  for (size_t i = 0; i < n; ++i) {
    mus.push_back(blended(state[n + i], gradients[i], kBeta1, 1 - kBeta1));
    nus.push_back(blended(state[2 * n + i], gradients[i], kBeta2, 1 - kBeta2,
                          /*squares=*/true));
    news.push_back(updated(state[i], mus[i], nus[i], c1, c2));
  }
  advanced.state = news;
  llvm::append_range(advanced.state, mus);
  llvm::append_range(advanced.state, nus);
  advanced.state.push_back(count);
}

/// v = 0.9 v + g; p -= 1e-3 v.
void Trainer::momentum(ValueRange state, ValueRange gradients,
                       Advanced &advanced) {
  size_t n = numLeaves();
  SmallVector<Value> news, velocities;
  for (size_t i = 0; i < n; ++i) {
    velocities.push_back(blended(state[n + i], gradients[i], kMomentum, 1));
    news.push_back(blended(state[i], velocities[i], 1, -kLearningRate));
  }
  advanced.state = news;
  llvm::append_range(advanced.state, velocities);
}

Trainer::Advanced Trainer::advance(ValueRange state, ValueRange inputs) {
  ValueRange parameters = state.take_front(numLeaves());
  SmallVector<Value> operands(parameters);
  llvm::append_range(operands, inputs);
  SmallVector<Type> types = {RankedTensorType::get({}, graph.f32())};
  llvm::append_range(types, parameters.getTypes());
  SmallVector<int64_t> wrt(numLeaves());
  std::iota(wrt.begin(), wrt.end(), 0);
  auto gradient = ValueAndGradOp::create(graph.ops(), graph.loc(), types,
                                         "loss", operands, wrt);
  SmallVector<Value> gradients(gradient.getGradients());
  if (op.clipNorm > 0) {
    Value factor = clipFactor(gradients);
    for (Value &g : gradients)
      g = scaled(g, factor);
  }
  Advanced advanced;
  advanced.loss = gradient.getValue();
  if (isAdam())
    adam(state, gradients, advanced);
  else
    momentum(state, gradients, advanced);
  return advanced;
}

void Trainer::step() {
  declareState();
  network.inputs(layers);
  graph.begin("train_step");
  donateState();
  size_t size = stateNames().size();
  ValueRange arguments = graph.arguments();
  Advanced advanced =
      advance(arguments.take_front(size), arguments.drop_front(size));
  advanced.state.push_back(advanced.loss);
  graph.end(advanced.state);
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

/// One batch of each of the data, the same entries of all.
SmallVector<Value> Trainer::drawn(ValueRange data, Value seed, Value offset) {
  OpBuilder &ops = graph.ops();
  int64_t batch = inputTypes.front().getDimSize(0);
  auto wordType = RankedTensorType::get({batch}, ops.getI32Type());
  Value words = RandomBitsOp::create(ops, graph.loc(), wordType, seed, offset);
  Value entries =
      graph.mapAll({words}, ops.getI32Type(),
                   [&](OpBuilder &b, Location l, ValueRange v) -> Value {
                     Value count = arith::ConstantOp::create(
                         b, l, b.getI32IntegerAttr(kDataBatches * batch));
                     return arith::RemUIOp::create(b, l, v[0], count);
                   });
  SmallVector<Value> batches;
  for (auto [from, type] : llvm::zip(data, inputTypes))
    batches.push_back(GatherOp::create(ops, graph.loc(), type, from, entries,
                                       IndexMode::Clip));
  return batches;
}

void Trainer::fit() {
  OpBuilder &ops = graph.ops();
  declareState();
  for (auto [name, type] : llvm::zip(inputNames, inputTypes)) {
    SmallVector<int64_t> shape(type.getShape());
    shape[0] *= kDataBatches;
    graph.argument(name, shape, type.getElementType());
  }
  graph.argument("seed", {}, ops.getI64Type());
  graph.begin("fit");
  donateState();

  // A block of random bits has four words.
  int64_t stride = (inputTypes.front().getDimSize(0) + 3) / 4;
  SmallVector<int64_t> offsets;
  for (int64_t i = 0; i < op.steps; ++i)
    offsets.push_back(i * stride);
  auto offsetsType = RankedTensorType::get({op.steps}, ops.getI64Type());
  Value stacked = arith::ConstantOp::create(
      ops, graph.loc(), DenseElementsAttr::get(offsetsType, ArrayRef(offsets)));

  size_t size = stateNames().size();
  ValueRange arguments = graph.arguments();
  ValueRange state = arguments.take_front(size),
             invariant = arguments.drop_front(size);
  SmallVector<Type> results(state.getTypes()), inner(state.getTypes());
  results.push_back(RankedTensorType::get({op.steps}, graph.f32()));
  inner.push_back(RankedTensorType::get({}, ops.getI64Type()));
  llvm::append_range(inner, invariant.getTypes());
  auto scan = LayerScanOp::create(ops, graph.loc(), results, state, stacked,
                                  invariant, RematPolicyAttr(), UnitAttr());
  {
    OpBuilder::InsertionGuard guard(ops);
    SmallVector<Location> locations(inner.size(), graph.loc());
    Block *body = ops.createBlock(&scan.getBody(), {}, inner, locations);
    ValueRange values = body->getArguments();
    SmallVector<Value> inputs = drawn(values.drop_front(size + 1).drop_back(),
                                      values.back(), values[size]);
    Advanced advanced = advance(values.take_front(size), inputs);
    advanced.state.push_back(advanced.loss);
    YieldOp::create(ops, graph.loc(), advanced.state);
  }
  graph.end(scan.getResults());
}

} // namespace

void buildTraining(Layers &layers, const Network &network, const ModelOp &op,
                   Model &model) {
  Trainer trainer(layers, network, op);
  trainer.loss();
  if (op.steps > 0)
    trainer.fit();
  else
    trainer.step();
  model.function = op.steps > 0 ? "fit" : "train_step";
  model.results = trainer.stateNames();
  model.results.push_back(op.steps > 0 ? "losses" : "loss");
}

} // namespace heddle::bench
