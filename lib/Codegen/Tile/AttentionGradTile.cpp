//===- AttentionGradTile.cpp - tile programs of attention's gradient ------===//
//
// The backward pass of FlashAttention (arXiv:2205.14135, algorithm 4) without
// atomics: one kernel has tiles of queries and carries d_query over tiles of
// keys; another has tiles of keys and carries d_key and d_value over the query
// heads of a key head and over tiles of queries. The second works on transposed
// scores, so that in both kernels what was computed is the left operand of the
// next product and everything loaded is a right one. Probabilities come from
// the row statistic that the forward pass kept; `dots`, the row sum of d_out *
// out, is made by the first kernel and read by the second. Where there are key
// heads enough to feed all workers one kernel does both (AttentionGradKeys.cpp).
//
// Queries are scaled when they are loaded (scores otherwise, on matrix units).
// A query that does not exist has lse +inf: its probabilities are 0 whatever
// its scores are.
//
//===----------------------------------------------------------------------===//

#include "AttentionGradTile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <limits>

using namespace mlir;
using namespace heddle;

static constexpr double kInf = std::numeric_limits<double>::infinity();

/// Rows of the carried tiles cost registers and cache, columns only cache; rows
/// that do not exist cost time.
void AttentionGradBuilder::chooseTiles() {
  int64_t sq = op.getQueryLength(), sk = op.getKeyLength();
  int64_t widest = std::max(op.getQueryHeadDim(), op.getValueHeadDim());
  int64_t rows = rowsAreKeys ? sk : sq, cols = rowsAreKeys ? sq : sk;
  int64_t rowTile = 64, colTile = widest <= 64 ? 64 : 32;
  if (!target.matrixUnits) {
    int64_t lanes = target.lanes, most = op.getMask() ? 128 : 192;
    double best = kInf;
    for (int64_t size = lanes; size <= std::max(most, lanes); size += lanes) {
      double cost = static_cast<double>(llvm::divideCeil(rows, size) * size) *
                    (1.0 + 12.0 / size);
      if (cost < best - 1e-9) {
        best = cost;
        rowTile = size;
      }
    }
    // Two tiles of scores, the loaded tiles and the carried ones share a cache.
    int64_t wanted = op.getMask() || widest > 64 ? 128 : 256;
    int64_t limit = wanted + wanted / 8;
    int64_t tiles = std::max<int64_t>(1, llvm::divideCeil(cols, wanted));
    colTile = std::max<int64_t>(1, llvm::divideCeil(cols, tiles));
    // An exact divisor nearby saves the ragged tile.
    for (int64_t size = limit; size >= limit / 2 && cols > limit; --size)
      if (cols % size == 0) {
        colTile = size;
        break;
      }
  }
  queryTile = rowsAreKeys ? colTile : rowTile;
  keyTile = rowsAreKeys ? rowTile : colTile;
  if (target.queryTile && target.keyTile) {
    queryTile = target.queryTile;
    keyTile = target.keyTile;
  }
}

//===----------------------------------------------------------------------===//
// Loads and stores
//===----------------------------------------------------------------------===//

/// The whole of a head dimension, which matrix units take in steps of 16.
AxisRange AttentionGradBuilder::headDim(int64_t dim) {
  if (!target.matrixUnits || dim % 16 == 0)
    return AxisRange::tile({}, dim, dim);
  return AxisRange::tile(t.index(0), llvm::alignTo(dim, 16), dim);
}

AxisRange AttentionGradBuilder::queries(Value offset, bool full) {
  AxisRange range = AxisRange::tile(offset, queryTile, op.getQueryLength());
  range.aligned |= full;
  return range;
}

AxisRange AttentionGradBuilder::keys(Value offset, bool full) {
  AxisRange range = AxisRange::tile(offset, keyTile, op.getKeyLength());
  range.aligned |= full;
  return range;
}

static SmallVector<AxisRange> inLayout(AttentionGradOp op, AxisRange batch,
                                       AxisRange sequence, AxisRange head,
                                       AxisRange dim) {
  if (op.getLayout() == AttentionLayout::BSHD)
    return {batch, sequence, head, dim};
  return {batch, head, sequence, dim};
}

Value AttentionGradBuilder::load(Value operand, Value batch, Value head,
                                 int64_t heads, AxisRange sequence,
                                 int64_t dim) {
  return t.load(bufferOf(operand),
                inLayout(op, AxisRange::point(batch, op.getBatch()), sequence,
                         AxisRange::point(head, heads), headDim(dim)));
}

Value AttentionGradBuilder::scaledQuery(Value batch, Value head,
                                        AxisRange sequence) {
  int64_t dqk = op.getQueryHeadDim();
  Value raw = load(op.getQuery(), batch, head, op.getQueryHeads(), sequence,
                   dqk);
  if (target.matrixUnits)
    return raw;
  return t.elementwise(
      {raw}, {{0, 1}}, {queryTile, dqk}, f32,
      [&](OpBuilder &nb, ValueRange args) -> Value {
        Value x = args[0];
        if (x.getType() != f32)
          x = arith::ExtFOp::create(nb, loc, f32, x);
        Value scale = arith::ConstantOp::create(
            nb, loc, nb.getFloatAttr(f32, op.getEffectiveScale()));
        return arith::MulFOp::create(nb, loc, x, scale);
      });
}

Value AttentionGradBuilder::statistic(Value operand, Value batch, Value head,
                                      AxisRange sequence, double pad) {
  return t.load(bufferOf(operand),
                {AxisRange::point(batch, op.getBatch()),
                 AxisRange::point(head, op.getQueryHeads()), sequence},
                pad);
}

/// The lse of the queries; +inf where there is no key to see, or no query.
Value AttentionGradBuilder::finiteLse(Value batch, Value head,
                                      AxisRange sequence) {
  Value lse = statistic(op.getLse(), batch, head, sequence, kInf);
  return t.elementwise(
      {lse}, {{0}}, {queryTile}, f32,
      [&](OpBuilder &nb, ValueRange args) -> Value {
        auto number = [&](double v) -> Value {
          return arith::ConstantOp::create(nb, loc, nb.getFloatAttr(f32, v));
        };
        Value none = arith::CmpFOp::create(nb, loc, arith::CmpFPredicate::OEQ,
                                           args[0], number(-kInf));
        return arith::SelectOp::create(nb, loc, none, number(kInf), args[0]);
      });
}

/// The row sums of d_out * out, less d_lse.
Value AttentionGradBuilder::dotsOf(Value dOut, Value batch, Value head,
                                   AxisRange sequence) {
  if (op.getRowDots())
    return statistic(op.getRowDots(), batch, head, sequence, 0.0);
  int64_t dv = op.getValueHeadDim();
  Value out = load(op.getOut(), batch, head, op.getQueryHeads(), sequence, dv);
  Value products = t.elementwise(
      {dOut, out}, {{0, 1}, {0, 1}}, {queryTile, headDim(dv).size}, f32,
      [&](OpBuilder &nb, ValueRange args) -> Value {
        auto wide = [&](Value x) -> Value {
          return x.getType() == f32
                     ? x
                     : arith::ExtFOp::create(nb, loc, f32, x).getResult();
        };
        return arith::MulFOp::create(nb, loc, wide(args[0]), wide(args[1]));
      });
  Value dots = t.reduceCols(products, t.fill({queryTile}, f32, 0.0),
                            [&](OpBuilder &nb, ValueRange args) -> Value {
                              return arith::AddFOp::create(nb, loc, args[1],
                                                           args[0]);
                            });
  if (!op.getDLse())
    return dots;
  Value dLse = statistic(op.getDLse(), batch, head, sequence, 0.0);
  return t.elementwise({dots, dLse}, {{0}, {0}}, {queryTile}, f32,
                       [&](OpBuilder &nb, ValueRange args) -> Value {
                         return arith::SubFOp::create(nb, loc, args[0],
                                                      args[1]);
                       });
}

/// The matrix unit's operand; elsewhere products take f32 as it is.
Value AttentionGradBuilder::narrow(Value tile, Type element) {
  auto type = cast<RankedTensorType>(tile.getType());
  if (!target.matrixUnits || element == type.getElementType())
    return tile;
  return t.elementwise({tile}, {{0, 1}}, type.getShape(), element,
                       [&](OpBuilder &nb, ValueRange args) -> Value {
                         return arith::TruncFOp::create(nb, loc, element,
                                                        args[0]);
                       });
}

Value AttentionGradBuilder::product(Value left, Value right, Value sum,
                                    bool transposed, Guard guard) {
  Type element = cast<RankedTensorType>(right.getType()).getElementType();
  return t.contract(narrow(left, element), right, sum, transposed, guard);
}

Value AttentionGradBuilder::zeros(int64_t rows, int64_t cols) {
  return t.fill({rows, cols}, f32, 0.0);
}

void AttentionGradBuilder::storeGradient(Value tile, double factor,
                                         Value result, Value batch, Value head,
                                         int64_t heads, AxisRange sequence,
                                         int64_t dim) {
  auto type = cast<RankedTensorType>(tile.getType());
  Type element = cast<RankedTensorType>(result.getType()).getElementType();
  if (factor != 1.0 || element != f32)
    tile = t.elementwise(
        {tile}, {{0, 1}}, type.getShape(), element,
        [&](OpBuilder &nb, ValueRange args) -> Value {
          Value x = args[0];
          if (factor != 1.0)
            x = arith::MulFOp::create(
                nb, loc, x,
                arith::ConstantOp::create(nb, loc,
                                          nb.getFloatAttr(f32, factor)));
          if (element == f32)
            return x;
          return arith::TruncFOp::create(nb, loc, element, x);
        });
  t.store(tile, destinationOf(result),
          inLayout(op, AxisRange::point(batch, op.getBatch()), sequence,
                   AxisRange::point(head, heads), headDim(dim)));
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

SmallVector<Value> AttentionGradBuilder::beginGrid(int64_t batch,
                                                   int64_t heads,
                                                   int64_t length,
                                                   int64_t tile) {
  SmallVector<OpFoldResult> grid{
      b.getIndexAttr(batch), b.getIndexAttr(heads),
      b.getIndexAttr(llvm::divideCeil(length, tile))};
  auto forall = scf::ForallOp::create(b, loc, grid, ValueRange{}, std::nullopt);
  b.setInsertionPoint(forall.getTerminator());
  return SmallVector<Value>(forall.getInductionVars());
}

TileRuns AttentionGradBuilder::runs() const {
  AttentionGradOp grad = op;
  TileRuns runs;
  runs.perTile = rowsAreKeys ? tiling.perKeyTile : tiling.perQueryTile;
  runs.outerTile = rowsAreKeys ? keyTile : queryTile;
  runs.innerTile = rowsAreKeys ? queryTile : keyTile;
  runs.innerLength = rowsAreKeys ? grad.getQueryLength() : grad.getKeyLength();
  // A bias and a score region may hide pairs as well.
  runs.allMixed = grad.getQuerySegments() || grad.getKeyLengths() ||
                  grad.getMaskTensor() || grad.getBias() ||
                  !grad.getScore().empty();
  return runs;
}

void AttentionGradBuilder::buildQueries() {
  int64_t heads = op.getQueryHeads(), keyHeads = op.getKeyHeads();
  int64_t dqk = op.getQueryHeadDim(), dv = op.getValueHeadDim();
  Values at = beginGrid(op.getBatch(), heads, op.getQueryLength(), queryTile);
  Value batch = at[0], head = at[1];
  Value keyHead = head;
  if (heads != keyHeads)
    keyHead = arith::DivUIOp::create(b, loc, head, t.index(op.getGroupSize()));
  Value queryOffset = t.mulAdd(at[2], queryTile);
  AxisRange rows = queries(queryOffset);
  Value dOut = load(op.getDOut(), batch, head, heads, rows, dv);
  Value dots = dotsOf(dOut, batch, head, rows);
  if (op.getRowDotsOut())
    t.store(dots, destinationOf(op.getRowDotsOut()),
            {AxisRange::point(batch, op.getBatch()),
             AxisRange::point(head, heads), rows});
  if (!op.getDQuery())
    return;
  Value query = scaledQuery(batch, head, rows);
  Value lse = finiteLse(batch, head, rows);
  Values state{zeros(queryTile, headDim(dqk).size)};
  for (TileKind kind : {TileKind::Full, TileKind::Partial}) {
    bool mixed = kind == TileKind::Partial;
    state = forTiles(
        t, runs(), at[2], kind, state,
        [&](Value tile, ArrayRef<Value> carried) -> Values {
          Place place{batch, head, queryOffset, t.mulAdd(tile, keyTile), mixed};
          AxisRange cols = keys(place.keyOffset, !mixed);
          Value key = load(op.getKey(), batch, keyHead, keyHeads, cols, dqk);
          Value scores =
              product(query, key, zeros(queryTile, keyTile), true);
          Value value = load(op.getValue(), batch, keyHead, keyHeads, cols, dv);
          Value dp = product(dOut, value, zeros(queryTile, keyTile), true);
          PairInputs inputs = pairInputs(place);
          Value p = probabilities(scores, lse, inputs, place);
          Value ds = scoreGradient(scores, p, dp, dots, inputs, place, true);
          return {product(ds, key, carried[0], false,
                          mixed ? Guard::Zero : Guard::None)};
        });
  }
  storeGradient(state[0], op.getEffectiveScale(), op.getDQuery(), batch, head,
                heads, rows, dqk);
}

LogicalResult AttentionGradBuilder::build() {
  bool ofKeys = op.getDKey() || op.getDValue();
  bool ofBias = static_cast<bool>(op.getDBias());
  whole = op.getDQuery() && op.getDKey() && op.getDValue() &&
          !op.getRowDotsOut() && !target.matrixUnits;
  bool ofQueries = !whole && (op.getDQuery() || op.getRowDotsOut());
  if (ofQueries + ofKeys + ofBias != 1 || op.getDSinks() ||
      (!ofQueries && !op.getRowDots() && !(op.getDValue() && !op.getDKey())))
    return op.emitOpError("expected the gradients of one kernel; run "
                          "heddle-split-attention-grad first");
  auto biasShape = ofBias ? cast<RankedTensorType>(op.getDBias().getType())
                                .getShape()
                          : ArrayRef<int64_t>();
  // A bias that all queries share is summed over the columns of its keys.
  rowsAreKeys = ofKeys || (ofBias && biasShape[2] == 1 &&
                           op.getQueryLength() != 1);
  chooseTiles();
  tiling = analyzeMask(op.getMaskAttr(), op.getQueryLength(), op.getKeyLength(),
                       queryTile, keyTile, loc);
  if (whole)
    maskAbsentKeys();
  {
    OpBuilder::InsertionGuard guard(b);
    if (ofQueries)
      buildQueries();
    else if (whole)
      buildWhole();
    else if (ofKeys)
      buildKeys();
    else
      buildBias();
  }
  auto kernel = op->getParentOfType<func::FuncOp>();
  kernel->setAttr(kKernelTile, b.getStringAttr("q" + Twine(queryTile) + "_k" +
                                               Twine(keyTile)));
  if (target.matrixUnits)
    kernel->setAttr(kKernelWarps,
                    b.getI64IntegerAttr((rowsAreKeys ? keyTile : queryTile) /
                                        16));
  return success();
}

LogicalResult heddle::buildAttentionGradTile(func::FuncOp kernel,
                                             const TileTarget &target) {
  AttentionGradOp op = *kernel.getOps<AttentionGradOp>().begin();
  OpBuilder b(op);
  return AttentionGradBuilder(op, target, b).build();
}
