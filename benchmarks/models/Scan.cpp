//===- Scan.cpp - one scan, and its gradients -----------------------------===//

#include "models/GraphBuilder.h"
#include "models/Models.h"

#include "heddle/Dialect/Heddle/IR/Heddle.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace heddle::bench {

namespace {

class ScanGraph {
public:
  ScanGraph(GraphBuilder &graph, const ScanConfig &config, Type element)
      : graph(graph), config(config), element(element) {}

  /// Declares the operands; returns how many there are.
  unsigned operands();
  /// Declares the cotangents of the results.
  void cotangents();
  SmallVector<Value> results();
  /// sum(y g) over the results y.
  void loss();

  GraphBuilder &graph;
  const ScanConfig &config;
  Type element;

private:
  bool isComplex() const { return config.kind == ScanKind::LinearComplex; }
  SmallVector<int64_t> sequence(int64_t channels) const {
    return {config.batch, config.seq, channels};
  }
  SmallVector<int64_t> state() const {
    if (config.kind == ScanKind::Selective)
      return {config.batch, config.channels, config.state};
    return {config.batch, config.channels};
  }
  /// In the order of the results.
  SmallVector<StringRef> cotangentNames() const {
    if (isComplex())
      return {"g", "g_imag", "g_state", "g_state_imag"};
    return {"g", "g_state"};
  }
  Value weightedSum(Value y, Value weights);
};

unsigned ScanGraph::operands() {
  unsigned count = 0;
  auto add = [&](StringRef name, ArrayRef<int64_t> shape, Type type) {
    graph.argument(name, shape, type);
    ++count;
  };
  SmallVector<int64_t> full = sequence(config.channels),
                       states = sequence(config.state);
  switch (config.kind) {
  case ScanKind::Selective:
    add("u", full, element);
    add("delta", full, element);
    add("a", {config.channels, config.state}, graph.f32());
    add("b", states, element);
    add("c", states, element);
    add("d", {config.channels}, graph.f32());
    break;
  case ScanKind::Linear:
    add("decay", full, element);
    add("b", full, element);
    break;
  case ScanKind::LinearComplex:
    for (const char *name : {"decay_real", "b", "decay_imag", "b_imag"})
      add(name, full, element);
    break;
  }
  add("initial_state", state(), graph.f32());
  if (isComplex())
    add("initial_state_imag", state(), graph.f32());
  return count;
}

void ScanGraph::cotangents() {
  for (StringRef name : cotangentNames())
    if (name.starts_with("g_state"))
      graph.argument(name, state(), graph.f32());
    else
      graph.argument(name, sequence(config.channels), element);
}

SmallVector<Value> ScanGraph::results() {
  OpBuilder &ops = graph.ops();
  Value none, initial = graph.get("initial_state");
  if (config.kind == ScanKind::Selective) {
    Value u = graph.get("u");
    auto scan = SelectiveScanOp::create(
        ops, graph.loc(), u.getType(), initial.getType(), u, graph.get("delta"),
        graph.get("a"), graph.get("b"), graph.get("c"), graph.get("d"), none,
        none, initial, none, /*delta_softplus=*/true, /*reverse=*/false);
    return {scan.getY(), scan.getFinalState()};
  }
  bool complex = isComplex();
  Value b = graph.get("b");
  auto scan = LinearScanOp::create(
      ops, graph.loc(), b.getType(), complex ? b.getType() : Type(),
      initial.getType(), complex ? initial.getType() : Type(),
      graph.get(complex ? "decay_real" : "decay"), b,
      complex ? graph.get("decay_imag") : none,
      complex ? graph.get("b_imag") : none, initial,
      complex ? graph.get("initial_state_imag") : none, none,
      /*reverse=*/false);
  return SmallVector<Value>(scan->getResults());
}

/// In f32, one axis after the other.
Value ScanGraph::weightedSum(Value y, Value weights) {
  size_t rank = cast<RankedTensorType>(y.getType()).getRank();
  StringRef axes = rank == 3 ? "btd" : "bd";
  Value sum =
      graph.sum({{y, axes}, {weights, axes}}, rank == 3 ? "bd" : "b",
                [&](OpBuilder &b, Location l, ValueRange v) -> Value {
                  auto wide = [&](Value x) {
                    return GraphBuilder::convert(b, l, x, graph.f32());
                  };
                  return arith::MulFOp::create(b, l, wide(v[0]), wide(v[1]));
                });
  if (rank == 3)
    sum = graph.sum({sum, "bd"}, "b");
  return graph.sum({sum, "b"}, "");
}

void ScanGraph::loss() {
  operands();
  cotangents();
  graph.begin("loss", /*isPublic=*/false);
  Value total;
  for (auto [y, name] : llvm::zip_equal(results(), cotangentNames())) {
    Value term = weightedSum(y, graph.get(name));
    total =
        total
            ? graph.mapAll({total, term}, graph.f32(),
                           [](OpBuilder &b, Location l, ValueRange v) -> Value {
                             return arith::AddFOp::create(b, l, v[0], v[1]);
                           })
            : term;
  }
  graph.end(total);
}

} // namespace

Status buildScan(MLIRContext &context, const ScanConfig &config, Model &model) {
  GraphBuilder graph(context);
  ScanGraph scan(graph, config, floatType(context, config.dtype));
  model.function = config.backward ? "scan_grad" : "scan";
  if (!config.backward) {
    scan.operands();
    graph.begin(model.function);
    graph.end(scan.results());
  } else {
    scan.loss();
    unsigned count = scan.operands();
    scan.cotangents();
    graph.begin(model.function);
    SmallVector<Value> arguments(graph.arguments());
    SmallVector<Value> results = scan.results();
    SmallVector<Type> types = {RankedTensorType::get({}, graph.f32())};
    SmallVector<int64_t> wrt;
    for (unsigned i = 0; i < count; ++i) {
      types.push_back(arguments[i].getType());
      wrt.push_back(i);
    }
    auto gradients = ValueAndGradOp::create(graph.ops(), graph.loc(), types,
                                            "loss", arguments, wrt);
    model.results = {"result"};
    for (size_t i = 1; i < results.size(); ++i)
      model.results.push_back("result " + std::to_string(i));
    for (unsigned i = 0; i < count; ++i)
      model.results.push_back("gradient of operand " + std::to_string(i));
    llvm::append_range(results, gradients.getGradients());
    graph.end(results);
  }
  model.module = graph.finish();
  if (!model.module)
    return Status::error("expected a graph that verifies, the verifier refused "
                         "it; see its diagnostic");
  return Status();
}

} // namespace heddle::bench
