//===- AttentionGradBias.cpp - the tile program of attention's d_bias -----===//
//
// A bias is shared by the heads and batch entries along its axes of extent 1,
// and by queries or keys. Each block owns a part of d_bias and visits, in order,
// all pairs that read it: no sum is formed in memory.
//
//===----------------------------------------------------------------------===//

#include "AttentionGradTile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace heddle;

/// The gradient of the scores of one tile, from loads on.
Value AttentionGradBuilder::biasPairs(Value batch, Value head, Value row,
                                      Value col) {
  int64_t heads = op.getQueryHeads(), keyHeads = op.getKeyHeads();
  int64_t dqk = op.getQueryHeadDim(), dv = op.getValueHeadDim();
  Value keyHead = head;
  if (heads != keyHeads)
    keyHead = arith::DivUIOp::create(b, loc, head, t.index(op.getGroupSize()));
  Value queryOffset = t.mulAdd(rowsAreKeys ? col : row, queryTile);
  Value keyOffset = t.mulAdd(rowsAreKeys ? row : col, keyTile);
  Place place{batch, head, queryOffset, keyOffset, /*mixed=*/true};
  AxisRange ofQueries = queries(queryOffset), ofKeys = keys(keyOffset);
  Value query = scaledQuery(batch, head, ofQueries);
  Value key = load(op.getKey(), batch, keyHead, keyHeads, ofKeys, dqk);
  Value dOut = load(op.getDOut(), batch, head, heads, ofQueries, dv);
  Value value = load(op.getValue(), batch, keyHead, keyHeads, ofKeys, dv);
  int64_t rows = rowsAreKeys ? keyTile : queryTile;
  int64_t cols = rowsAreKeys ? queryTile : keyTile;
  if (rowsAreKeys) {
    std::swap(query, key);
    std::swap(dOut, value);
  }
  Value scores = product(query, key, zeros(rows, cols), true);
  Value dp = product(dOut, value, zeros(rows, cols), true);
  PairInputs inputs = pairInputs(place);
  Value p = probabilities(scores, finiteLse(batch, head, ofQueries), inputs,
                          place);
  return scoreGradient(scores, p, dp, dotsOf({}, batch, head, ofQueries),
                       inputs, place, /*through=*/false);
}

void AttentionGradBuilder::buildBias() {
  auto type = cast<RankedTensorType>(op.getDBias().getType());
  ArrayRef<int64_t> shape = type.getShape();
  Value destination = destinationOf(op.getDBias());
  int64_t rows = rowsAreKeys ? keyTile : queryTile;
  int64_t cols = rowsAreKeys ? queryTile : keyTile;
  int64_t rowLength = rowsAreKeys ? op.getKeyLength() : op.getQueryLength();
  int64_t colLength = rowsAreKeys ? op.getQueryLength() : op.getKeyLength();
  bool perPair = shape[rowsAreKeys ? 2 : 3] != 1 || colLength == 1;
  Values at = beginGrid(shape[0], shape[1], rowLength, rows);
  AxisRange batchRange = AxisRange::point(shape[0] == 1 ? Value() : at[0],
                                          shape[0]);
  AxisRange headRange = AxisRange::point(shape[1] == 1 ? Value() : at[1],
                                         shape[1]);
  AxisRange rowRange =
      AxisRange::tile(t.mulAdd(at[2], rows), rows, rowLength);

  // Over the batch entries and heads that share this part.
  auto overOwners = [&](Values state,
                        function_ref<Values(Value, Value, ArrayRef<Value>)>
                            body) -> Values {
    int64_t batches = shape[0] == 1 ? op.getBatch() : 1;
    int64_t heads = shape[1] == 1 ? op.getQueryHeads() : 1;
    auto overHeads = [&](Value batch, Values carried) -> Values {
      if (heads == 1)
        return body(batch, shape[1] == 1 ? t.index(0) : at[1], carried);
      return forRange(t, t.index(0), t.index(heads), carried,
                      [&](Value head, ArrayRef<Value> inner) {
                        return body(batch, head, inner);
                      });
    };
    if (batches == 1)
      return overHeads(shape[0] == 1 ? t.index(0) : at[0], state);
    return forRange(t, t.index(0), t.index(batches), state,
                    [&](Value batch, ArrayRef<Value> inner) {
                      return overHeads(batch, Values(inner));
                    });
  };
  auto narrowed = [&](Value tile) -> Value {
    Type element = type.getElementType();
    if (element == f32)
      return tile;
    auto shaped = cast<RankedTensorType>(tile.getType());
    SmallVector<int64_t> dims = llvm::to_vector(
        llvm::seq<int64_t>(0, shaped.getRank()));
    return t.elementwise({tile}, {dims}, shaped.getShape(), element,
                         [&](OpBuilder &nb, ValueRange args) -> Value {
                           return arith::TruncFOp::create(nb, loc, element,
                                                          args[0]);
                         });
  };
  TileRuns visited = runs();

  if (!perPair) {
    Values state{t.fill({rows}, f32, 0.0)};
    state = overOwners(state, [&](Value batch, Value head,
                                  ArrayRef<Value> carried) -> Values {
      return forTiles(t, visited, at[2], TileKind::Partial, Values(carried),
                      [&](Value col, ArrayRef<Value> sums) -> Values {
                        Value ds = biasPairs(batch, head, at[2], col);
                        return {t.reduceCols(
                            ds, sums[0],
                            [&](OpBuilder &nb, ValueRange args) -> Value {
                              return arith::AddFOp::create(nb, loc, args[1],
                                                           args[0]);
                            })};
                      });
    });
    SmallVector<AxisRange> ranges{batchRange, headRange,
                                  AxisRange::point({}, 1), rowRange};
    if (!rowsAreKeys)
      std::swap(ranges[2], ranges[3]);
    t.store(narrowed(state[0]), destination, ranges);
    return;
  }

  // Tiles that the mask leaves out are zero.
  auto colRange = [&](Value col) {
    return AxisRange::tile(t.mulAdd(col, cols), cols, colLength);
  };
  forRange(t, t.index(0), t.index(llvm::divideCeil(colLength, cols)), {},
           [&](Value col, ArrayRef<Value>) -> Values {
             t.store(t.fill({rows, cols}, type.getElementType(), 0.0),
                     destination,
                     {batchRange, headRange, rowRange, colRange(col)});
             return {};
           });
  forTiles(t, visited, at[2], TileKind::Partial, {},
           [&](Value col, ArrayRef<Value>) -> Values {
             Values sum = overOwners(
                 {zeros(rows, cols)},
                 [&](Value batch, Value head,
                     ArrayRef<Value> carried) -> Values {
                   Value ds = biasPairs(batch, head, at[2], col);
                   return {t.elementwise(
                       {carried[0], ds}, {{0, 1}, {0, 1}}, {rows, cols}, f32,
                       [&](OpBuilder &nb, ValueRange args) -> Value {
                         return arith::AddFOp::create(nb, loc, args[0],
                                                      args[1]);
                       })};
                 });
             t.store(narrowed(sum[0]), destination,
                     {batchRange, headRange, rowRange, colRange(col)});
             return {};
           });
}
