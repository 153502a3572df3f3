//===- AttentionGradScores.cpp - between the products of attention_grad ---===//
//
// Probabilities and the gradient of scores, pair by pair: scale, score region,
// bias and masks in either orientation of the tile.
//
//===----------------------------------------------------------------------===//

#include "AttentionGradTile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <limits>

using namespace mlir;
using namespace heddle;

static constexpr double kInf = std::numeric_limits<double>::infinity();
static constexpr double kLog2e = 1.4426950408889634;

/// Adds the tile of an operand of shape (B|1, H|1, Sq|1, Sk|1).
void AttentionGradBuilder::addPairTile(PairInputs &inputs, int &slot,
                                       Value operand, const Place &place) {
  auto shape = cast<RankedTensorType>(operand.getType()).getShape();
  bool ofQuery = shape[2] != 1 || op.getQueryLength() == 1;
  bool ofKey = shape[3] != 1 || op.getKeyLength() == 1;
  AxisRange query = AxisRange::tile(place.queryOffset, queryTile, shape[2]);
  AxisRange key = AxisRange::tile(place.keyOffset, keyTile, shape[3]);
  SmallVector<AxisRange> ranges{
      AxisRange::point(shape[0] == 1 ? Value() : place.batch, shape[0]),
      AxisRange::point(shape[1] == 1 ? Value() : place.head, shape[1]),
      ofQuery ? query : AxisRange::point({}, 1),
      ofKey ? key : AxisRange::point({}, 1)};
  Value tile = t.load(bufferOf(operand), ranges, 0.0);
  SmallVector<int64_t> dims;
  if (ofQuery && ofKey) {
    dims = {0, 1};
    if (rowsAreKeys)
      tile = t.transpose(tile);
  } else if (ofQuery) {
    dims = {rowsAreKeys ? 1 : 0};
  } else if (ofKey) {
    dims = {rowsAreKeys ? 0 : 1};
  }
  slot = inputs.values.size();
  inputs.values.push_back(tile);
  inputs.dims.push_back(dims);
}

AttentionGradBuilder::PairInputs
AttentionGradBuilder::pairInputs(const Place &place) {
  PairInputs inputs;
  if (op.getBias())
    addPairTile(inputs, inputs.bias, op.getBias(), place);
  hoistScoreOps(inputs, place);
  if (!place.mixed)
    return inputs;
  if (op.getMaskTensor())
    addPairTile(inputs, inputs.mask, op.getMaskTensor(), place);
  if (op.getQuerySegments()) {
    AxisRange batch = AxisRange::point(place.batch, op.getBatch());
    inputs.querySegments = inputs.values.size();
    inputs.values.push_back(t.load(bufferOf(op.getQuerySegments()),
                                   {batch, queries(place.queryOffset)}));
    inputs.dims.push_back({rowsAreKeys ? 1 : 0});
    inputs.keySegments = inputs.values.size();
    inputs.values.push_back(t.load(bufferOf(op.getKeySegments()),
                                   {batch, keys(place.keyOffset)}));
    inputs.dims.push_back({rowsAreKeys ? 0 : 1});
  }
  if (op.getKeyLengths()) {
    Value whole = op.getKeyLengths();
    Value length = tensor::ExtractOp::create(b, loc, whole, place.batch);
    inputs.keyLimit =
        arith::IndexCastOp::create(b, loc, b.getIndexType(), length);
  }
  // Where keys are rows what is behind the last one is not stored.
  if ((!rowsAreKeys || whole) && op.getKeyLength() % keyTile != 0) {
    Value sk = t.index(op.getKeyLength());
    inputs.keyLimit =
        inputs.keyLimit
            ? arith::MinSIOp::create(b, loc, inputs.keyLimit, sk).getResult()
            : sk;
  }
  return inputs;
}

/// Emits the ops of the score region that depend on batch and head only, such
/// as the slope of a head read from a table, as scalars ahead of the tile.
void AttentionGradBuilder::hoistScoreOps(PairInputs &inputs,
                                         const Place &place) {
  if (op.getScore().empty())
    return;
  Block &region = op.getScore().front();
  inputs.hoisted.map(region.getArgument(1), place.batch);
  inputs.hoisted.map(region.getArgument(2), place.head);
  for (Operation &inner : region.without_terminator()) {
    bool uniform = llvm::all_of(inner.getOperands(), [&](Value v) {
      return v.getParentRegion() != &op.getScore() ||
             inputs.hoisted.contains(v);
    });
    if (uniform)
      b.clone(inner, inputs.hoisted);
  }
}

Value AttentionGradBuilder::position(OpBuilder &nb, bool ofKey,
                                     const Place &place, Type type) {
  Value offset = ofKey ? place.keyOffset : place.queryOffset;
  Value index = linalg::IndexOp::create(nb, loc, ofKey == rowsAreKeys ? 0 : 1);
  if (!type.isIndex()) {
    index = arith::IndexCastOp::create(nb, loc, type, index);
    offset = arith::IndexCastOp::create(nb, loc, type, offset);
  }
  return arith::AddIOp::create(nb, loc, index, offset);
}

/// The score after the score region, and its derivative (null: 1).
std::pair<Value, Value>
AttentionGradBuilder::applyScore(OpBuilder &nb, Value score,
                                 const PairInputs &inputs, const Place &place) {
  if (target.matrixUnits)
    score = arith::MulFOp::create(
        nb, loc, score,
        arith::ConstantOp::create(
            nb, loc, nb.getFloatAttr(f32, op.getEffectiveScale())));
  if (op.getScore().empty())
    return {score, {}};
  Block &region = op.getScore().front();
  IRMapping mapping;
  Value given[] = {score, place.batch, place.head,
                   position(nb, false, place, nb.getIndexType()),
                   position(nb, true, place, nb.getIndexType())};
  mapping.map(region.getArguments(), ValueRange(given));
  for (Operation &inner : region.without_terminator()) {
    if (inner.getNumResults() == 0 ||
        !inputs.hoisted.contains(inner.getResult(0))) {
      nb.clone(inner, mapping);
      continue;
    }
    for (Value v : inner.getResults())
      mapping.map(v, inputs.hoisted.lookup(v));
  }
  auto yielded = region.getTerminator()->getOperands();
  return {mapping.lookupOrDefault(yielded[0]),
          mapping.lookupOrDefault(yielded[1])};
}

/// Whether a pair of a mixed tile is visible; null: every one is.
Value AttentionGradBuilder::isVisible(OpBuilder &nb, ValueRange args,
                                      const PairInputs &inputs,
                                      const Place &place) {
  Value ok;
  auto also = [&](Value v) {
    ok = ok ? arith::AndIOp::create(nb, loc, ok, v).getResult() : v;
  };
  auto below = [&](Value x, Value limit) {
    if (x.getType() != limit.getType())
      limit = arith::IndexCastOp::create(nb, loc, x.getType(), limit);
    also(arith::CmpIOp::create(nb, loc, arith::CmpIPredicate::slt, x, limit));
  };
  Type type = needsIndex(op.getMaskAttr()) ? Type(nb.getIndexType())
                                           : Type(nb.getI32Type());
  Value i = position(nb, false, place, type);
  Value j = position(nb, true, place, type);
  if (inputs.bias >= 0) {
    // A bias at or below the lowest finite number masks.
    Value bias = args[inputs.bias];
    auto element = cast<FloatType>(bias.getType());
    Value lowest = arith::ConstantOp::create(
        nb, loc,
        nb.getFloatAttr(element, APFloat::getLargest(
                                     element.getFloatSemantics(), true)));
    also(arith::CmpFOp::create(nb, loc, arith::CmpFPredicate::UGT, bias,
                               lowest));
  }
  if (op.getMaskAttr())
    also(emitMaskTerm(nb, loc, op.getMaskAttr(), i, j, op.getQueryLength(),
                      op.getKeyLength()));
  if (inputs.keyLimit)
    below(j, inputs.keyLimit);
  if (rowsAreKeys && op.getQueryLength() % queryTile != 0)
    below(i, arith::ConstantIndexOp::create(nb, loc, op.getQueryLength()));
  if (inputs.mask >= 0)
    also(args[inputs.mask]);
  if (inputs.querySegments >= 0)
    also(arith::CmpIOp::create(nb, loc, arith::CmpIPredicate::eq,
                               args[inputs.querySegments],
                               args[inputs.keySegments]));
  return ok;
}

Value AttentionGradBuilder::probabilities(Value scores, Value lse,
                                          const PairInputs &inputs,
                                          const Place &place) {
  Values operands(inputs.values);
  SmallVector<SmallVector<int64_t>> dims(inputs.dims);
  size_t own = operands.size();
  operands.append({scores, lse});
  dims.push_back({0, 1});
  dims.push_back({rowsAreKeys ? 1 : 0});
  auto shape = cast<RankedTensorType>(scores.getType()).getShape();
  return t.elementwise(
      operands, dims, shape, f32,
      [&](OpBuilder &nb, ValueRange args) -> Value {
        auto number = [&](double v) -> Value {
          return arith::ConstantOp::create(nb, loc, nb.getFloatAttr(f32, v));
        };
        Value x = applyScore(nb, args[own], inputs, place).first;
        if (inputs.bias >= 0) {
          Value bias = args[inputs.bias];
          if (bias.getType() != f32)
            bias = arith::ExtFOp::create(nb, loc, f32, bias);
          x = arith::AddFOp::create(nb, loc, x, bias);
        }
        // The difference first: it is exact for scores near a distant lse.
        auto weight = [&](Value score) -> Value {
          Value d = arith::SubFOp::create(nb, loc, score, args[own + 1]);
          return math::Exp2Op::create(
              nb, loc, arith::MulFOp::create(nb, loc, d, number(kLog2e)));
        };
        if (!place.mixed)
          return weight(x);
        if (Value ok = isVisible(nb, args, inputs, place))
          x = arith::SelectOp::create(nb, loc, ok, x, number(-kInf));
        Value absent = arith::CmpFOp::create(nb, loc, arith::CmpFPredicate::OEQ,
                                             x, number(-kInf));
        return arith::SelectOp::create(
            nb, loc, absent, number(target.matrixUnits ? 0.0 : -1.0),
            weight(x));
      });
}

Value AttentionGradBuilder::scoreGradient(Value scores, Value p, Value dp,
                                          Value dots, const PairInputs &inputs,
                                          const Place &place, bool through) {
  Values operands{p, dp, dots};
  SmallVector<SmallVector<int64_t>> dims{
      {0, 1}, {0, 1}, {rowsAreKeys ? 1 : 0}};
  through &= !op.getScore().empty();
  if (through) {
    operands.push_back(scores);
    dims.push_back({0, 1});
  }
  auto shape = cast<RankedTensorType>(scores.getType()).getShape();
  return t.elementwise(
      operands, dims, shape, f32,
      [&](OpBuilder &nb, ValueRange args) -> Value {
        Value d = arith::SubFOp::create(nb, loc, args[1], args[2]);
        d = arith::MulFOp::create(nb, loc, args[0], d);
        if (through)
          if (Value by = applyScore(nb, args[3], inputs, place).second)
            d = arith::MulFOp::create(nb, loc, d, by);
        if (!place.mixed)
          return d;
        Value zero =
            arith::ConstantOp::create(nb, loc, nb.getFloatAttr(f32, 0.0));
        Value absent = arith::CmpFOp::create(
            nb, loc,
            target.matrixUnits ? arith::CmpFPredicate::OEQ
                               : arith::CmpFPredicate::OLT,
            args[0], zero);
        return arith::SelectOp::create(nb, loc, absent, zero, d);
      });
}
