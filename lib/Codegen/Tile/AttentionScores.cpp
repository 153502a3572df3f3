//===- AttentionScores.cpp - scores and their masks -----------------------===//

#include "AttentionTile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace heddle;

/// Emits the ops of the score region that depend on batch and head only, such
/// as the slope of a head read from a table, as scalars ahead of the tile.
IRMapping AttentionBuilder::emitUniformScoreOps() {
  IRMapping hoisted;
  if (op.getScore().empty())
    return hoisted;
  Block &region = op.getScore().front();
  hoisted.map(region.getArgument(1), batch);
  hoisted.map(region.getArgument(2), headIndex);
  for (Operation &inner : region.without_terminator()) {
    bool uniform = llvm::all_of(inner.getOperands(), [&](Value v) {
      return v.getParentRegion() != &op.getScore() || hoisted.contains(v);
    });
    if (uniform)
      b.clone(inner, hoisted);
  }
  return hoisted;
}

/// The tile of scores; absent pairs are -inf. Scaled unless rawScores.
Value AttentionBuilder::scores(Value keyOffset, Value keys, bool mixed) {
  Type f32 = b.getF32Type();
  Value s = t.contract(query, keys, t.fill({queryTile, keyTileSize}, f32, 0.0),
                       /*transposedB=*/true);
  bool scaleHere = target.matrixUnits && !rawScores;
  if (!mixed && plainScores && !scaleHere)
    return s;

  SmallVector<Value> inputs{s};
  SmallVector<SmallVector<int64_t>> dims{{0, 1}};
  auto pairTile = [&](Value operand, double pad) {
    // (B|1, H|1, Sq|1, Sk|1)
    auto shape = cast<RankedTensorType>(operand.getType()).getShape();
    SmallVector<int64_t> d;
    SmallVector<AxisRange> r{
        AxisRange::point(shape[0] == 1 ? Value() : batch, shape[0]),
        AxisRange::point(shape[1] == 1 ? Value() : headIndex, shape[1])};
    if (shape[2] == 1 && op.getQueryLength() != 1) {
      r.push_back(AxisRange::point({}, 1));
    } else {
      r.push_back(AxisRange::tile(queryOffset, queryTile, shape[2]));
      d.push_back(0);
    }
    if (shape[3] == 1 && op.getKeyLength() != 1) {
      r.push_back(AxisRange::point({}, 1));
    } else {
      r.push_back(AxisRange::tile(keyOffset, keyTileSize, shape[3]));
      d.push_back(1);
    }
    inputs.push_back(t.load(bufferOf(operand), r, pad));
    dims.push_back(d);
    return inputs.size() - 1;
  };
  size_t bias = 0, segmentsQ = 0, segmentsK = 0, maskInput = 0;
  if (op.getBias())
    bias = pairTile(op.getBias(), 0.0);
  Value keyLimit;
  if (mixed) {
    if (op.getMaskTensor())
      maskInput = pairTile(op.getMaskTensor(), 0.0);
    if (op.getQuerySegments()) {
      AxisRange bt = AxisRange::point(batch, op.getBatch());
      inputs.push_back(t.load(
          bufferOf(op.getQuerySegments()),
          {bt, AxisRange::tile(queryOffset, queryTile, op.getQueryLength())}));
      dims.push_back({0});
      segmentsQ = inputs.size() - 1;
      inputs.push_back(t.load(
          bufferOf(op.getKeySegments()),
          {bt, AxisRange::tile(keyOffset, keyTileSize, op.getKeyLength())}));
      dims.push_back({1});
      segmentsK = inputs.size() - 1;
    }
    if (op.getKeyLengths()) {
      Value whole = op.getKeyLengths();
      Value length = tensor::ExtractOp::create(b, loc, whole, batch);
      keyLimit = arith::IndexCastOp::create(b, loc, b.getIndexType(), length);
    }
    if (op.getKeyLength() % keyTileSize != 0) {
      Value sk = t.index(op.getKeyLength());
      keyLimit = keyLimit
                     ? arith::MinSIOp::create(b, loc, keyLimit, sk).getResult()
                     : sk;
    }
  }
  IRMapping hoisted = emitUniformScoreOps();
  return t.elementwise(
      inputs, dims, {queryTile, keyTileSize}, f32,
      [&](OpBuilder &nb, ValueRange args) -> Value {
        Value x = args[0];
        Type positionType = nb.getI32Type();
        if (needsIndex(op.getMaskAttr()))
          positionType = nb.getIndexType();
        auto as = [&](Value v, Type type) -> Value {
          return v.getType() == type
                     ? v
                     : arith::IndexCastOp::create(nb, loc, type, v).getResult();
        };
        auto position = [&](int64_t dim, Value offset, Type type) -> Value {
          return arith::AddIOp::create(
              nb, loc, as(linalg::IndexOp::create(nb, loc, dim), type),
              as(offset, type));
        };
        Value i = position(0, queryOffset, positionType);
        Value j = position(1, keyOffset, positionType);
        if (scaleHere)
          x = arith::MulFOp::create(
              nb, loc, x,
              arith::ConstantOp::create(
                  nb, loc, nb.getFloatAttr(f32, op.getEffectiveScale())));
        if (!op.getScore().empty()) {
          Block &region = op.getScore().front();
          IRMapping mapping;
          Value given[] = {x, batch, headIndex,
                           position(0, queryOffset, nb.getIndexType()),
                           position(1, keyOffset, nb.getIndexType())};
          for (auto [arg, value] : llvm::zip(region.getArguments(), given))
            mapping.map(arg, value);
          for (Operation &inner : region.without_terminator()) {
            if (!hoisted.contains(inner.getResult(0))) {
              nb.clone(inner, mapping);
              continue;
            }
            for (Value v : inner.getResults())
              mapping.map(v, hoisted.lookup(v));
          }
          x = mapping.lookupOrDefault(region.getTerminator()->getOperand(0));
        }
        if (bias) {
          Value v = args[bias];
          if (v.getType() != f32)
            v = arith::ExtFOp::create(nb, loc, f32, v);
          x = arith::AddFOp::create(nb, loc, x, v);
        }
        if (!mixed)
          return x;
        Value ok;
        auto also = [&](Value v) {
          ok = ok ? arith::AndIOp::create(nb, loc, ok, v).getResult() : v;
        };
        if (bias) {
          // A bias at or below the lowest finite number masks.
          Type element = args[bias].getType();
          const llvm::fltSemantics &sem =
              cast<FloatType>(element).getFloatSemantics();
          Value lowest = arith::ConstantOp::create(
              nb, loc,
              nb.getFloatAttr(element, APFloat::getLargest(sem, true)));
          also(arith::CmpFOp::create(nb, loc, arith::CmpFPredicate::UGT,
                                     args[bias], lowest));
        }
        if (op.getMaskAttr())
          also(emitMaskTerm(nb, loc, op.getMaskAttr(), i, j,
                            op.getQueryLength(), op.getKeyLength()));
        if (keyLimit)
          also(arith::CmpIOp::create(nb, loc, arith::CmpIPredicate::slt, j,
                                     as(keyLimit, positionType)));
        if (maskInput)
          also(args[maskInput]);
        if (segmentsQ)
          also(arith::CmpIOp::create(nb, loc, arith::CmpIPredicate::eq,
                                     args[segmentsQ], args[segmentsK]));
        if (!ok)
          return x;
        Value absent =
            arith::ConstantOp::create(nb, loc, nb.getFloatAttr(f32, -kInf));
        return arith::SelectOp::create(nb, loc, ok, x, absent);
      });
}
