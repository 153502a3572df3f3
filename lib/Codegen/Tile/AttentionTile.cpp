//===- AttentionTile.cpp - the tile program of attention ------------------===//
//
// Online softmax (Milakov and Gimelshein, arXiv:1805.02867; tiled as in
// FlashAttention, arXiv:2205.14135): per query tile the running maximum m, the
// running sum l and the unnormalised output acc are carried over key tiles.
// The maximum is carried in the log2 domain: m = max(s) * f, and a weight is
// 2^(s * f - m) in one fused multiply-add. Rounding m moves all weights of a row
// by one factor, also the sum and the output carried so far, so that it cancels;
// the fused product is exact for scores near each other, however far from 0 both
// are, as softmax's shift invariance asks for. Where the target multiplies
// 16-bit operands, f takes in the scale and the query stays as it is in memory.
//
// Key tiles come in two loops: one over tiles that the mask leaves whole, with
// no mask code, one over mixed tiles. Empty tiles are in neither. In mixed
// tiles an absent pair has score -inf and weight -1 (0 on matrix units), and the
// second product skips such weights, so that no value row behind a mask is ever
// touched.
//
//===----------------------------------------------------------------------===//

#include "TileRuns.h"
#include "heddle/Codegen/Tile/KernelBody.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace heddle;

static constexpr double kInf = std::numeric_limits<double>::infinity();
static constexpr double kLog2e = 1.4426950408889634;

namespace {
struct Carried {
  Value m, l, acc;
  SmallVector<Value> all() const { return {m, l, acc}; }
};

class AttentionBuilder {
public:
  AttentionBuilder(AttentionOp op, const TileTarget &target, OpBuilder &b)
      : op(op), target(target), t(b, op.getLoc()), b(b), loc(op.getLoc()) {}

  LogicalResult build();

private:
  /// The whole of a head dimension, which matrix units take in steps of 16.
  AxisRange headDim(int64_t dim) {
    if (!target.matrixUnits || dim % 16 == 0)
      return AxisRange::tile({}, dim, dim);
    return AxisRange::tile(t.index(0), llvm::alignTo(dim, 16), dim);
  }
  void chooseTiles();
  void chooseF32Tiles(int64_t widest);
  AxisRange head(Value h, int64_t heads) { return AxisRange::point(h, heads); }
  SmallVector<AxisRange> ranges(Value batch, Value h, int64_t heads,
                                AxisRange seq, AxisRange dim);
  Carried keyLoop(TileKind kind, Carried state);
  Carried keyTile(Value keyTile, bool mixed, Carried state);
  IRMapping emitUniformScoreOps();
  Value scores(Value keyOffset, Value keys, bool mixed);
  Value visible(OpBuilder &nb, Location l, Value i, Value j);
  void finish(Carried state);

  AttentionOp op;
  TileTarget target;
  TileBuilder t;
  OpBuilder &b;
  Location loc;
  int64_t queryTile = 0, keyTileSize = 0, numQueryTiles = 0;
  int64_t warps = 4, stages = 0; // on a GPU; 0 stages: the default
  bool tf32 = false;
  MaskTiling tiling;
  bool dynamicMask = false; // depends on operands: no tile is known to be full
  bool plainScores = true;  // no score region and no bias
  /// Scores are raw products, which toLog2 scales; else they are scaled before.
  bool rawScores = false;
  double toLog2 = kLog2e;
  Value batch, headIndex, keyHead, queryTileIndex, queryOffset;
  Value query; // scaled tile
};
} // namespace

/// Rows of query tiles that the grid computes for nothing cost time, and so
/// does packing keys for few rows.
void AttentionBuilder::chooseTiles() {
  if (target.queryTile && target.keyTile) {
    queryTile = target.queryTile;
    keyTileSize = target.keyTile;
    warps = std::max<int64_t>(1, queryTile / 16);
    numQueryTiles = llvm::divideCeil(op.getQueryLength(), queryTile);
    return;
  }
  int64_t sq = op.getQueryLength(), sk = op.getKeyLength();
  if (target.matrixUnits) {
    // What the registers hold: a warp has 16 rows of scores and of the output.
    int64_t widest = std::max(op.getQueryHeadDim(), op.getValueHeadDim());
    if (getElementTypeOrSelf(op.getQuery().getType()).isF32()) {
      chooseF32Tiles(widest);
    } else {
      queryTile = widest <= 64 && sq > 64 ? 128 : 64;
      keyTileSize = widest <= 128 ? 64 : 32;
      warps = queryTile / 16;
    }
    numQueryTiles = llvm::divideCeil(sq, queryTile);
    return;
  }
  int64_t lanes = target.lanes;
  double best = kInf;
  int64_t largest = op.getMask() ? 128 : 192;
  for (int64_t rows = lanes; rows <= std::max(largest, lanes); rows += lanes) {
    int64_t tiles = llvm::divideCeil(sq, rows);
    double cost = static_cast<double>(tiles * rows) * (1.0 + 12.0 / rows);
    if (cost < best - 1e-9) {
      best = cost;
      queryTile = rows;
    }
  }
  // Smaller key tiles follow the edge of a mask more closely. Without keys
  // there are no tiles; the size only has to be positive.
  int64_t most = op.getMask() ? 144 : 288, wanted = op.getMask() ? 128 : 256;
  int64_t tiles = std::max<int64_t>(1, llvm::divideCeil(sk, wanted));
  keyTileSize = std::max<int64_t>(1, llvm::divideCeil(sk, tiles));
  // An exact divisor nearby saves the ragged tile.
  for (int64_t size = most; size >= most / 2; --size)
    if (sk > most && sk % size == 0) {
      keyTileSize = size;
      break;
    }
  numQueryTiles = llvm::divideCeil(sq, queryTile);
}

/// Tiles of f32 on a GPU: four warps, whose accumulators and operands leave
/// room for two blocks on a multiprocessor. Multiply-adds want square pieces in
/// each thread, up to 8x8; the matrix unit gives each warp 16 rows.
void AttentionBuilder::chooseF32Tiles(int64_t widest) {
  bool small = op.getQueryLength() <= 64;
  warps = 4;
  if (tf32) {
    queryTile = 64;
    keyTileSize = widest <= 64 ? 64 : widest <= 128 ? 32 : 16;
    stages = widest <= 128 ? 0 : 1;
    return;
  }
  queryTile = widest <= 64 && !small ? 128 : widest <= 128 ? 64 : 32;
  keyTileSize = widest <= 192 ? 32 : 16;
  stages = 1;
}

SmallVector<AxisRange> AttentionBuilder::ranges(Value batchIndex, Value h,
                                                int64_t heads, AxisRange seq,
                                                AxisRange dim) {
  AxisRange bt = AxisRange::point(batchIndex, op.getBatch());
  if (op.getLayout() == AttentionLayout::BSHD)
    return {bt, seq, head(h, heads), dim};
  return {bt, head(h, heads), seq, dim};
}

LogicalResult AttentionBuilder::build() {
  tf32 = target.matrixUnits &&
         (op.getPrecision() == Precision::TF32 ||
          op->getParentOfType<func::FuncOp>()->hasAttr(kKernelTf32));
  chooseTiles();
  tiling = analyzeMask(op.getMaskAttr(), op.getQueryLength(), op.getKeyLength(),
                       queryTile, keyTileSize, loc);
  dynamicMask = op.getQuerySegments() || op.getKeyLengths() ||
                op.getMaskTensor() || op.getBias();
  plainScores = op.getScore().empty() && !op.getBias();
  double scale = op.getEffectiveScale();
  // A positive factor keeps the order of scores.
  rawScores = target.matrixUnits && plainScores && scale > 0;
  if (rawScores)
    toLog2 = scale * kLog2e;
  int64_t heads = op.getQueryHeads(), group = heads / op.getKeyHeads();

  SmallVector<OpFoldResult> grid{b.getIndexAttr(op.getBatch()),
                                 b.getIndexAttr(heads),
                                 b.getIndexAttr(numQueryTiles)};
  auto forall = scf::ForallOp::create(b, loc, grid, ValueRange{}, std::nullopt);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(forall.getTerminator());
  batch = forall.getInductionVar(0);
  headIndex = forall.getInductionVar(1);
  queryTileIndex = forall.getInductionVar(2);
  keyHead = group == 1
                ? headIndex
                : arith::DivUIOp::create(b, loc, headIndex, t.index(group));
  queryOffset = t.mulAdd(queryTileIndex, queryTile);

  int64_t dqk = op.getQueryHeadDim(), dv = op.getValueHeadDim();
  Value raw =
      t.load(bufferOf(op.getQuery()),
             ranges(batch, headIndex, heads,
                    AxisRange::tile(queryOffset, queryTile, op.getQueryLength()),
                    headDim(dqk)));
  Type f32 = b.getF32Type();
  query = raw;
  if (!target.matrixUnits)
    query = t.elementwise(
        {raw}, {{0, 1}}, {queryTile, dqk}, f32,
        [&](OpBuilder &nb, ValueRange args) -> Value {
          Value x = args[0];
          if (x.getType() != f32)
            x = arith::ExtFOp::create(nb, loc, f32, x);
          Value s = arith::ConstantOp::create(nb, loc,
                                              nb.getFloatAttr(f32, scale));
          return arith::MulFOp::create(nb, loc, x, s);
        });

  Carried state;
  if (op.getSinks()) {
    // The sink joins the softmax as one more logit that has no value.
    Value sink =
        t.load(bufferOf(op.getSinks()), {AxisRange::point(headIndex, heads)});
    state.m = t.elementwise(
        {sink}, {{}}, {queryTile}, f32,
        [&](OpBuilder &nb, ValueRange args) -> Value {
          Value c =
              arith::ConstantOp::create(nb, loc, nb.getFloatAttr(f32, kLog2e));
          return arith::MulFOp::create(nb, loc, args[0], c);
        });
    // Not quite 1: the rounding of m is in every weight.
    state.l = t.elementwise(
        {sink, state.m}, {{}, {0}}, {queryTile}, f32,
        [&](OpBuilder &nb, ValueRange args) -> Value {
          Value c =
              arith::ConstantOp::create(nb, loc, nb.getFloatAttr(f32, kLog2e));
          Value from = arith::NegFOp::create(nb, loc, args[1]);
          Value weight = math::Exp2Op::create(
              nb, loc, math::FmaOp::create(nb, loc, args[0], c, from));
          Value inf =
              arith::ConstantOp::create(nb, loc, nb.getFloatAttr(f32, kInf));
          Value one =
              arith::ConstantOp::create(nb, loc, nb.getFloatAttr(f32, 1.0));
          Value size = math::AbsFOp::create(nb, loc, args[1]);
          Value infinite = arith::CmpFOp::create(
              nb, loc, arith::CmpFPredicate::OEQ, size, inf);
          return arith::SelectOp::create(nb, loc, infinite, one, weight);
        });
  } else {
    state.m = t.fill({queryTile}, f32, -kInf);
    state.l = t.fill({queryTile}, f32, 0.0);
  }
  state.acc = t.fill({queryTile, headDim(dv).size}, f32, 0.0);
  state = keyLoop(TileKind::Full, state);
  state = keyLoop(TileKind::Partial, state);
  finish(state);
  op->getParentOfType<func::FuncOp>()->setAttr(
      kKernelTile,
      b.getStringAttr("q" + Twine(queryTile) + "_k" + Twine(keyTileSize)));
  auto kernel = op->getParentOfType<func::FuncOp>();
  if (target.matrixUnits)
    kernel->setAttr(kKernelWarps, b.getI64IntegerAttr(warps));
  if (stages)
    kernel->setAttr(kKernelStages, b.getI64IntegerAttr(stages));
  if (tf32)
    kernel->setAttr(kKernelTf32, b.getUnitAttr());
  return success();
}

/// Loops over the key tiles of one kind that this query tile visits.
Carried AttentionBuilder::keyLoop(TileKind kind, Carried state) {
  TileRuns runs{tiling.perQueryTile, queryTile, keyTileSize, op.getKeyLength(),
                /*allMixed=*/dynamicMask};
  SmallVector<Value> done = forTiles(
      t, runs, queryTileIndex, kind, state.all(),
      [&](Value tile, ArrayRef<Value> from) {
        return keyTile(tile, kind == TileKind::Partial,
                       {from[0], from[1], from[2]})
            .all();
      });
  return {done[0], done[1], done[2]};
}

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
        Value absent = arith::ConstantOp::create(nb, loc,
                                                 nb.getFloatAttr(f32, -kInf));
        return arith::SelectOp::create(nb, loc, ok, x, absent);
      });
}

Carried AttentionBuilder::keyTile(Value tile, bool mixed, Carried state) {
  Type f32 = b.getF32Type();
  int64_t dqk = op.getQueryHeadDim(), dv = op.getValueHeadDim();
  int64_t sk = op.getKeyLength(), keyHeads = op.getKeyHeads();
  Value keyOffset = t.mulAdd(tile, keyTileSize);
  AxisRange seq = AxisRange::tile(keyOffset, keyTileSize, sk);
  seq.aligned = !mixed || sk % keyTileSize == 0;
  auto widened = [&](Value v, int64_t dim) -> Value {
    if (target.matrixUnits || cast<RankedTensorType>(v.getType()).getElementType() == f32)
      return v;
    return t.elementwise({v}, {{0, 1}}, {keyTileSize, dim}, f32,
                         [&](OpBuilder &nb, ValueRange args) -> Value {
                           return arith::ExtFOp::create(nb, loc, f32, args[0]);
                         });
  };
  Value keys = widened(t.load(bufferOf(op.getKey()),
                              ranges(batch, keyHead, keyHeads, seq,
                                     headDim(dqk))),
                       dqk);
  Value s = scores(keyOffset, keys, mixed);
  Value values = widened(t.load(bufferOf(op.getValue()),
                                ranges(batch, keyHead, keyHeads, seq,
                                       headDim(dv))),
                         dv);

  auto larger = [&](OpBuilder &nb, Value x, Value than) -> Value {
    // Keeps `than` where x is NaN.
    Value more = arith::CmpFOp::create(nb, loc, arith::CmpFPredicate::OGT, x,
                                       than);
    return arith::SelectOp::create(nb, loc, more, x, than);
  };
  auto number = [&](OpBuilder &nb, double value) -> Value {
    return arith::ConstantOp::create(nb, loc, nb.getFloatAttr(f32, value));
  };
  Value rowMax = t.reduceCols(s, t.fill({queryTile}, f32, -kInf),
                              [&](OpBuilder &nb, ValueRange args) -> Value {
                                return larger(nb, args[0], args[1]);
                              });
  Value m = t.elementwise({rowMax, state.m}, {{0}, {0}}, {queryTile}, f32,
                          [&](OpBuilder &nb, ValueRange args) -> Value {
                            Value here = arith::MulFOp::create(
                                nb, loc, args[0], number(nb, toLog2));
                            return larger(nb, here, args[1]);
                          });
  // -inf - -inf is NaN: a row without any visible key so far subtracts 0.
  Value safe = t.elementwise(
      {m}, {{0}}, {queryTile}, f32, [&](OpBuilder &nb, ValueRange args) -> Value {
        Value none =
            arith::CmpFOp::create(nb, loc, arith::CmpFPredicate::OEQ, args[0],
                                  number(nb, -kInf));
        return arith::SelectOp::create(nb, loc, none, number(nb, 0.0), args[0]);
      });
  Value alpha = t.elementwise(
      {state.m, safe}, {{0}, {0}}, {queryTile}, f32,
      [&](OpBuilder &nb, ValueRange args) -> Value {
        return math::Exp2Op::create(
            nb, loc, arith::SubFOp::create(nb, loc, args[0], args[1]));
      });
  auto product = [&](OpBuilder &nb, ValueRange args) -> Value {
    return arith::MulFOp::create(nb, loc, args[0], args[1]);
  };
  Value l = t.elementwise({state.l, alpha}, {{0}, {0}}, {queryTile}, f32, product);
  Value acc = t.elementwise({state.acc, alpha}, {{0, 1}, {0}},
                            {queryTile, headDim(dv).size}, f32, product);
  Value p = t.elementwise(
      {s, safe}, {{0, 1}, {0}}, {queryTile, keyTileSize}, f32,
      [&](OpBuilder &nb, ValueRange args) -> Value {
        Value from = arith::NegFOp::create(nb, loc, args[1]);
        Value weight = math::Exp2Op::create(
            nb, loc,
            math::FmaOp::create(nb, loc, args[0], number(nb, toLog2), from));
        if (!mixed || target.matrixUnits)
          return weight; // 0 where the score is -inf
        Value absent =
            arith::CmpFOp::create(nb, loc, arith::CmpFPredicate::OEQ, args[0],
                                  number(nb, -kInf));
        return arith::SelectOp::create(nb, loc, absent, number(nb, -1.0),
                                       weight);
      });
  l = t.reduceCols(p, l, [&](OpBuilder &nb, ValueRange args) -> Value {
    Value sum = arith::AddFOp::create(nb, loc, args[1], args[0]);
    if (!mixed || target.matrixUnits)
      return sum;
    Value absent = arith::CmpFOp::create(nb, loc, arith::CmpFPredicate::OLT,
                                         args[0], number(nb, 0.0));
    return arith::SelectOp::create(nb, loc, absent, args[1], sum);
  });
  Guard guard = !mixed               ? Guard::None
                : target.matrixUnits ? Guard::Zero
                                     : Guard::Negative;
  Type element = cast<RankedTensorType>(values.getType()).getElementType();
  if (element != f32) // the matrix unit's operand
    p = t.elementwise({p}, {{0, 1}}, {queryTile, keyTileSize}, element,
                      [&](OpBuilder &nb, ValueRange args) -> Value {
                        return arith::TruncFOp::create(nb, loc, element,
                                                       args[0]);
                      });
  acc = t.contract(p, values, acc, /*transposedB=*/false, guard);
  return {m, l, acc};
}

void AttentionBuilder::finish(Carried state) {
  Type f32 = b.getF32Type();
  auto outType = cast<RankedTensorType>(op.getOut().getType());
  Type element = outType.getElementType();
  int64_t dv = op.getValueHeadDim(), heads = op.getQueryHeads();
  auto isZero = [&](OpBuilder &nb, Value x) -> Value {
    Value zero = arith::ConstantOp::create(nb, loc, nb.getFloatAttr(f32, 0.0));
    return arith::CmpFOp::create(nb, loc, arith::CmpFPredicate::OEQ, x, zero);
  };
  Value inverse = t.elementwise(
      {state.l}, {{0}}, {queryTile}, f32,
      [&](OpBuilder &nb, ValueRange args) -> Value {
        Value zero =
            arith::ConstantOp::create(nb, loc, nb.getFloatAttr(f32, 0.0));
        Value one =
            arith::ConstantOp::create(nb, loc, nb.getFloatAttr(f32, 1.0));
        Value r = arith::DivFOp::create(nb, loc, one, args[0]);
        return arith::SelectOp::create(nb, loc, isZero(nb, args[0]), zero, r);
      });
  Value out = t.elementwise(
      {state.acc, inverse}, {{0, 1}, {0}}, {queryTile, headDim(dv).size},
      element,
      [&](OpBuilder &nb, ValueRange args) -> Value {
        Value v = arith::MulFOp::create(nb, loc, args[0], args[1]);
        if (element == f32)
          return v;
        return arith::TruncFOp::create(nb, loc, element, v);
      });
  AxisRange rows = AxisRange::tile(queryOffset, queryTile, op.getQueryLength());
  t.store(out, destinationOf(op.getOut()),
          ranges(batch, headIndex, heads, rows, headDim(dv)));
  if (!op.getLse())
    return;
  Value lse = t.elementwise(
      {state.m, state.l}, {{0}, {0}}, {queryTile}, f32,
      [&](OpBuilder &nb, ValueRange args) -> Value {
        Value inf =
            arith::ConstantOp::create(nb, loc, nb.getFloatAttr(f32, -kInf));
        Value log = math::LogOp::create(nb, loc, args[1]);
        Value ln2 =
            arith::ConstantOp::create(nb, loc, nb.getFloatAttr(f32, 1 / kLog2e));
        Value v = math::FmaOp::create(nb, loc, args[0], ln2, log);
        return arith::SelectOp::create(nb, loc, isZero(nb, args[1]), inf, v);
      });
  t.store(lse, destinationOf(op.getLse()),
          {AxisRange::point(batch, op.getBatch()),
           AxisRange::point(headIndex, heads), rows});
}

LogicalResult heddle::buildAttentionTile(func::FuncOp kernel,
                                         const TileTarget &target) {
  AttentionOp op = *kernel.getOps<AttentionOp>().begin();
  OpBuilder b(op);
  AttentionBuilder builder(op, target, b);
  if (failed(builder.build()))
    return failure();
  return success();
}
