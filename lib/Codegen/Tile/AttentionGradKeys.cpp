//===- AttentionGradKeys.cpp - tile programs with tiles of keys -----------===//
//
// d_key and d_value of a tile of keys are carried over the queries of a group of
// heads. A block that owns all tiles of a key head can form d_query as well: it
// adds (d_query)^T = key^T ds^T of each pair of tiles to memory that no other
// block writes, in a fixed order, and saves computing the scores twice.
//
//===----------------------------------------------------------------------===//

#include "AttentionGradTile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <limits>

using namespace mlir;
using namespace heddle;

static constexpr double kInf = std::numeric_limits<double>::infinity();

/// Rows of absent keys reach d_query, so that they need the mask: the ragged
/// last tile of keys is mixed.
void AttentionGradBuilder::maskAbsentKeys() {
  if (op.getKeyLength() % keyTile == 0 || tiling.perKeyTile.empty())
    return;
  TileIntervals merged;
  for (TileInterval i : tiling.perKeyTile.back()) {
    i.kind = TileKind::Partial;
    if (!merged.empty() && merged.back().end == i.begin)
      merged.back().end = i.end;
    else
      merged.push_back(i);
  }
  tiling.perKeyTile.back() = merged;
}

/// The tile of keys as (d_qk, keys), with the scale. A number that is not finite
/// becomes 0: its scores, and so the ds of visible pairs, are no numbers already,
/// and it must not meet the 0 of an absent pair.
Value AttentionGradBuilder::transposedKeys(Value batch, Value keyHead,
                                           AxisRange rows) {
  int64_t dqk = op.getQueryHeadDim();
  Value tile =
      t.transpose(load(op.getKey(), batch, keyHead, op.getKeyHeads(), rows, dqk));
  return t.elementwise(
      {tile}, {{0, 1}}, {dqk, keyTile}, f32,
      [&](OpBuilder &nb, ValueRange args) -> Value {
        auto number = [&](double v) -> Value {
          return arith::ConstantOp::create(nb, loc, nb.getFloatAttr(f32, v));
        };
        Value x = args[0];
        if (x.getType() != f32)
          x = arith::ExtFOp::create(nb, loc, f32, x);
        Value finite = arith::CmpFOp::create(
            nb, loc, arith::CmpFPredicate::OLT,
            math::AbsFOp::create(nb, loc, x), number(kInf));
        Value scaled = arith::MulFOp::create(nb, loc, x,
                                             number(op.getEffectiveScale()));
        return arith::SelectOp::create(nb, loc, finite, scaled, number(0.0));
      });
}

void AttentionGradBuilder::addToQueries(Value keysTransposed, Value ds,
                                        const Place &place) {
  Value sum = product(keysTransposed, ds, zeros(op.getQueryHeadDim(), queryTile),
                      /*transposed=*/false);
  bool bshd = op.getLayout() == AttentionLayout::BSHD;
  Value offsets[] = {place.batch, bshd ? place.queryOffset : place.head,
                     bshd ? place.head : place.queryOffset, t.index(0)};
  TileStoreOp::create(b, loc, sum, destinationOf(op.getDQuery()), offsets,
                      ArrayRef<int64_t>{3, bshd ? 1 : 2}, /*accumulate=*/true);
}

/// d_key and d_value of one tile of keys, stored; adds to d_query where `whole`.
void AttentionGradBuilder::keyTileGradients(Value batch, Value keyHead,
                                            Value tile) {
  int64_t heads = op.getQueryHeads(), keyHeads = op.getKeyHeads();
  int64_t group = op.getGroupSize();
  int64_t dqk = op.getQueryHeadDim(), dv = op.getValueHeadDim();
  Value keyOffset = t.mulAdd(tile, keyTile);
  AxisRange rows = keys(keyOffset);
  bool wantKey = static_cast<bool>(op.getDKey());
  bool wantValue = static_cast<bool>(op.getDValue());
  Value key = load(op.getKey(), batch, keyHead, keyHeads, rows, dqk);
  Value value, keysTransposed;
  Values state;
  if (wantKey) {
    value = load(op.getValue(), batch, keyHead, keyHeads, rows, dv);
    state.push_back(zeros(keyTile, headDim(dqk).size));
  }
  if (wantValue)
    state.push_back(zeros(keyTile, headDim(dv).size));
  if (whole)
    keysTransposed = transposedKeys(batch, keyHead, rows);

  auto queryTiles = [&](Value head, Values state) {
    for (TileKind kind : {TileKind::Full, TileKind::Partial}) {
      bool mixed = kind == TileKind::Partial;
      state = forTiles(
          t, runs(), tile, kind, state,
          [&](Value other, ArrayRef<Value> carried) -> Values {
            Place place{batch, head, t.mulAdd(other, queryTile), keyOffset,
                        mixed};
            AxisRange cols = queries(place.queryOffset, !mixed);
            Value query = scaledQuery(batch, head, cols);
            Value lse = finiteLse(batch, head, cols);
            Value scores = product(key, query, zeros(keyTile, queryTile), true);
            Value dOut = load(op.getDOut(), batch, head, heads, cols, dv);
            PairInputs inputs = pairInputs(place);
            Values next;
            Value p, dp;
            if (wantKey)
              dp = product(value, dOut, zeros(keyTile, queryTile), true);
            p = probabilities(scores, lse, inputs, place);
            if (wantKey) {
              Value dots = dotsOf({}, batch, head, cols);
              Value ds = scoreGradient(scores, p, dp, dots, inputs, place, true);
              next.push_back(product(ds, query, carried[0], false,
                                     mixed ? Guard::Zero : Guard::None));
              if (whole)
                addToQueries(keysTransposed, ds, place);
            }
            Guard present = !mixed               ? Guard::None
                            : target.matrixUnits ? Guard::Zero
                                                 : Guard::Negative;
            if (wantValue)
              next.push_back(product(p, dOut, carried.back(), false, present));
            return next;
          });
    }
    return state;
  };
  if (group == 1)
    state = queryTiles(keyHead, state);
  else
    state = forRange(t, t.index(0), t.index(group), state,
                     [&](Value member, ArrayRef<Value> carried) {
                       Value head = arith::AddIOp::create(
                           b, loc, t.mulAdd(keyHead, group), member);
                       return queryTiles(head, Values(carried));
                     });
  // Scaled queries have the scale in them.
  double factor = target.matrixUnits ? op.getEffectiveScale() : 1.0;
  if (wantKey)
    storeGradient(state.front(), factor, op.getDKey(), batch, keyHead, keyHeads,
                  rows, dqk);
  if (wantValue)
    storeGradient(state.back(), 1.0, op.getDValue(), batch, keyHead, keyHeads,
                  rows, dv);
}

void AttentionGradBuilder::buildKeys() {
  Values at = beginGrid(op.getBatch(), op.getKeyHeads(), op.getKeyLength(),
                        keyTile);
  keyTileGradients(at[0], at[1], at[2]);
}

void AttentionGradBuilder::buildWhole() {
  int64_t group = op.getGroupSize(), dqk = op.getQueryHeadDim();
  Values at = beginGrid(op.getBatch(), op.getKeyHeads(), 1, 1);
  int64_t queryTiles = llvm::divideCeil(op.getQueryLength(), queryTile);
  int64_t keyTiles = llvm::divideCeil(op.getKeyLength(), keyTile);
  forRange(t, t.index(0), t.index(group), {}, [&](Value member,
                                                  ArrayRef<Value>) -> Values {
    Value head = arith::AddIOp::create(b, loc, t.mulAdd(at[1], group), member);
    forRange(t, t.index(0), t.index(queryTiles), {},
             [&](Value tile, ArrayRef<Value>) -> Values {
               storeGradient(zeros(queryTile, dqk), 1.0, op.getDQuery(), at[0],
                             head, op.getQueryHeads(),
                             queries(t.mulAdd(tile, queryTile)), dqk);
               return {};
             });
    return {};
  });
  forRange(t, t.index(0), t.index(keyTiles), {},
           [&](Value tile, ArrayRef<Value>) -> Values {
             keyTileGradients(at[0], at[1], tile);
             return {};
           });
}
