//===- Layers.cpp - layers that the models share --------------------------===//

#include "models/Layers.h"

#include "heddle/Dialect/Heddle/IR/Heddle.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace heddle::bench {

static constexpr double kNormEps = 1e-6;

static RankedTensorType tensorType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// The letters of the axes of x but the last one.
static std::string leadingAxes(Value x) {
  return StringRef("abcdefgh").take_front(tensorType(x).getRank() - 1).str();
}

void Layers::parameter(StringRef name, ArrayRef<int64_t> shape) {
  leaves.push_back(prefix + name.str());
  shapes.emplace_back(shape);
  numParameters += ShapedType::getNumElements(shape);
  graph.argument(leaves.back(), shape, graph.f32());
}

void Layers::declareLinear(StringRef name, int64_t in, int64_t out, bool bias) {
  parameter((name + ".kernel").str(), {in, out});
  if (bias)
    parameter((name + ".bias").str(), {out});
}

void Layers::declareNorm(StringRef name, int64_t channels) {
  parameter((name + ".scale").str(), {channels});
  parameter((name + ".bias").str(), {channels});
}

Value Layers::param(StringRef name) { return graph.get(prefix + name.str()); }

Value Layers::apply(ArrayRef<Value> operands, GraphBuilder::Body body) {
  return graph.mapAll(
      operands, element, [&](OpBuilder &b, Location l, ValueRange args) {
        SmallVector<Value> wide;
        for (Value v : args)
          wide.push_back(GraphBuilder::convert(b, l, v, graph.f32()));
        return GraphBuilder::convert(b, l, body(b, l, wide), element);
      });
}

Value Layers::linear(StringRef name, Value x, Type to) {
  Type result = to ? to : element;
  Value kernel = graph.cast(param((name + ".kernel").str()), element);
  Value product = graph.matmul(x, kernel);
  std::string bias = prefix + (name + ".bias").str();
  if (!llvm::is_contained(leaves, bias))
    return graph.cast(product, result);
  std::string rows = leadingAxes(x), all = rows + "z";
  return graph.map(
      {{product, all}, {graph.cast(graph.get(bias), element), "z"}}, all,
      result, [&](OpBuilder &b, Location l, ValueRange v) -> Value {
        Value wide = GraphBuilder::convert(b, l, v[1], graph.f32());
        Value sum = arith::AddFOp::create(b, l, v[0], wide);
        return GraphBuilder::convert(b, l, sum, result);
      });
}

Value Layers::layerNorm(StringRef name, Value x) {
  double channels = static_cast<double>(tensorType(x).getShape().back());
  Type f32 = graph.f32();
  std::string rows = leadingAxes(x), all = rows + "z";
  Value wide = graph.cast(x, f32);
  Value mean =
      graph.mapAll({graph.sum({wide, all}, rows)}, f32,
                   [&](OpBuilder &b, Location l, ValueRange v) -> Value {
                     return arith::DivFOp::create(
                         b, l, v[0], GraphBuilder::constant(b, l, channels));
                   });
  Value centred =
      graph.map({{wide, all}, {mean, rows}}, all, f32,
                [](OpBuilder &b, Location l, ValueRange v) -> Value {
                  return arith::SubFOp::create(b, l, v[0], v[1]);
                });
  Value squares =
      graph.sum({{centred, all}}, rows,
                [](OpBuilder &b, Location l, ValueRange v) -> Value {
                  return arith::MulFOp::create(b, l, v[0], v[0]);
                });
  Value rstd = graph.mapAll(
      {squares}, f32, [&](OpBuilder &b, Location l, ValueRange v) -> Value {
        Value variance = arith::DivFOp::create(
            b, l, v[0], GraphBuilder::constant(b, l, channels));
        Value shifted = arith::AddFOp::create(
            b, l, variance, GraphBuilder::constant(b, l, kNormEps));
        return math::RsqrtOp::create(b, l, shifted);
      });
  Value normed =
      graph.map({{centred, all},
                 {rstd, rows},
                 {param((name + ".scale").str()), "z"},
                 {param((name + ".bias").str()), "z"}},
                all, f32, [](OpBuilder &b, Location l, ValueRange v) -> Value {
                  Value unit = arith::MulFOp::create(b, l, v[0], v[1]);
                  Value scaled = arith::MulFOp::create(b, l, unit, v[2]);
                  return arith::AddFOp::create(b, l, scaled, v[3]);
                });
  return graph.cast(normed, element);
}

Value Layers::gelu(Value x) {
  return apply({x}, [](OpBuilder &b, Location l, ValueRange v) -> Value {
    auto number = [&](double c) { return GraphBuilder::constant(b, l, c); };
    auto mul = [&](Value p, Value q) -> Value {
      return arith::MulFOp::create(b, l, p, q);
    };
    Value in = v[0];
    Value cube = mul(mul(in, in), in);
    Value inner = arith::AddFOp::create(b, l, in, mul(number(0.044715), cube));
    Value tanh =
        math::TanhOp::create(b, l, mul(number(0.7978845608028654), inner));
    Value one = arith::AddFOp::create(b, l, tanh, number(1.0));
    return mul(mul(number(0.5), in), one);
  });
}

/// x / (1 + exp(-x)).
Value Layers::silu(Value x) {
  return apply({x}, [](OpBuilder &b, Location l, ValueRange v) -> Value {
    Value exp = math::ExpOp::create(b, l, arith::NegFOp::create(b, l, v[0]));
    Value one = GraphBuilder::constant(b, l, 1.0);
    return arith::DivFOp::create(b, l, v[0],
                                 arith::AddFOp::create(b, l, one, exp));
  });
}

Value Layers::add(Value a, Value b) {
  return apply({a, b}, [](OpBuilder &ops, Location l, ValueRange v) -> Value {
    return arith::AddFOp::create(ops, l, v[0], v[1]);
  });
}

Value Layers::attention(StringRef name, Value x, int64_t batch, int64_t tokens,
                        int64_t heads, bool attend) {
  auto of = [&](StringRef part) { return (name + part).str(); };
  Value query = linear(of(".query"), x);
  Value key = linear(of(".key"), x);
  Value value = linear(of(".value"), x);
  // Without attention the query and key projections are dead code: their
  // parameters stay in the signature and are never read.
  if (!attend)
    return linear(of(".out"), value);
  int64_t channels = tensorType(x).getShape().back();
  int64_t split[] = {batch, tokens, heads, channels / heads};
  query = graph.reshape(query, split);
  key = graph.reshape(key, split);
  value = graph.reshape(value, split);
  Value none;
  auto op = AttentionOp::create(graph.ops(), graph.loc(), query.getType(),
                                Type(), query, key, value, none, none, none,
                                none, none, none, AttentionLayout::BSHD,
                                FloatAttr(), MaskAttr(), Precision::IEEE);
  return linear(of(".out"),
                graph.reshape(op.getOut(), tensorType(x).getShape()));
}

} // namespace heddle::bench
