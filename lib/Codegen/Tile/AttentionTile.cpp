//===- AttentionTile.cpp - the tile program of attention ------------------===//
//
// Online softmax (Milakov and Gimelshein, arXiv:1805.02867; tiled as in
// FlashAttention, arXiv:2205.14135): per query tile the running maximum m, the
// running sum l and the unnormalised output acc are carried over key tiles.
// A weight is 2^(s * f - shift) in one fused multiply-add, shift = max(s) * f.
// Rounding the shift moves all weights of a row by one factor, also the sum and
// the output carried so far, so that it cancels; the fused product is exact for
// scores near each other, however far from 0 both are, as softmax's shift
// invariance asks for. Where the target multiplies 16-bit operands, f takes in
// the scale and the query stays as it is in memory.
//
// Where matrix units take the weights rounded to 16 bits, their product with a
// constant tile is the sum of the rounded weights: cheaper than additions, and
// the rounding of sum and output cancels. Where the row statistic is a result
// the sum is of unrounded weights.
//
// The maximum starts at the lowest number whose shift is finite: rows without a
// visible key so far have weights 2^(-inf - shift) = 0 and need no case of
// their own.
//
// Key tiles come in two loops: one over tiles that the mask leaves whole, with
// no mask code, one over mixed tiles. Empty tiles are in neither. In mixed
// tiles an absent pair has score -inf and weight -1 (0 on matrix units), and
// the second product skips such weights, so that no value row behind a mask is
// ever touched.
//
//===----------------------------------------------------------------------===//

#include "AttentionTile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace heddle;

AttentionProblem heddle::attentionProblem(AttentionOp op) {
  AttentionProblem p;
  p.batch = op.getBatch();
  p.heads = op.getQueryHeads();
  p.keyHeads = op.getKeyHeads();
  p.queryLength = op.getQueryLength();
  p.keyLength = op.getKeyLength();
  p.queryDim = op.getQueryHeadDim();
  p.valueDim = op.getValueHeadDim();
  if (getElementTypeOrSelf(op.getQuery().getType()).isF32()) {
    bool tf32 = op.getPrecision() == Precision::TF32 ||
                op->getParentOfType<func::FuncOp>()->hasAttr(kKernelTf32);
    p.kind = tf32 ? AttentionProducts::Tf32 : AttentionProducts::Fma;
  }
  p.masksByOperands = op.getQuerySegments() || op.getKeyLengths() ||
                      op.getMaskTensor() || op.getBias();
  if (MaskAttr mask = op.getMaskAttr())
    p.masksByBands = mask.getKind() != MaskKind::Causal &&
                     mask.getKind() != MaskKind::CausalUpperLeft &&
                     mask.getKind() != MaskKind::CausalLowerRight;
  if (!op.getMaskAttr() || p.queryLength == 0 || p.keyLength == 0)
    return p;
  constexpr int64_t kBlock = 64;
  MaskTiling tiling = analyzeMask(op.getMaskAttr(), p.queryLength, p.keyLength,
                                  kBlock, kBlock, op.getLoc());
  double visible = 0;
  for (const TileIntervals &intervals : tiling.perQueryTile)
    for (const TileInterval &i : intervals)
      visible += (i.end - i.begin) * (i.kind == TileKind::Full ? 1.0 : 0.5);
  p.visible = visible / (double(llvm::divideCeil(p.queryLength, kBlock)) *
                         llvm::divideCeil(p.keyLength, kBlock));
  return p;
}

/// Rows of query tiles that the grid computes for nothing cost time, and so
/// does packing keys for few rows.
void AttentionBuilder::chooseTiles() {
  if (target.queryTile && target.keyTile) {
    queryTile = target.queryTile;
    keyTileSize = target.keyTile;
    numQueryTiles = llvm::divideCeil(op.getQueryLength(), queryTile);
    return;
  }
  int64_t sq = op.getQueryLength(), sk = op.getKeyLength();
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

Carried AttentionBuilder::keyLoop(TileKind kind, Carried state) {
  TileRuns runs{tiling.perQueryTile, queryTile, keyTileSize, op.getKeyLength(),
                /*allMixed=*/dynamicMask};
  return Carried::of(forTiles(t, runs, queryTileIndex, kind, state.all(),
                              [&](Value tile, ArrayRef<Value> from) {
                                return keyTile(tile, kind == TileKind::Partial,
                                               Carried::of(from))
                                    .all();
                              }));
}

/// The configuration that was asked for, or the fastest of those that fit.
LogicalResult AttentionBuilder::chooseGpuTiles(const GpuTarget &gpu,
                                               const AttentionTiles &wanted) {
  AttentionProblem problem = attentionProblem(op);
  AttentionCost chosen;
  if (wanted.queries) {
    chosen = costOf(wanted, problem, gpu);
  } else if (auto all = listAttentionTiles(problem, gpu); !all.empty()) {
    chosen = all.front();
  } else {
    return op.emitOpError("expected head dimensions up to 256 on ")
           << gpu.name << ", got " << problem.queryDim << " and "
           << problem.valueDim << "; use --target=cpu";
  }
  std::string error;
  if (failed(checkFit(chosen, problem, gpu, error)))
    return op.emitOpError(error);
  queryTile = chosen.tiles.queries;
  keyTileSize = chosen.tiles.keys;
  warps = chosen.tiles.warps;
  stages = chosen.tiles.stages;
  minBlocks = chosen.occupancy.blocksPerSM;
  // Score regions and row statistics may need more.
  if (op.getScore().empty() && !op.getLse())
    registerLimit = chosen.registerLimit;
  tf32 = problem.kind == AttentionProducts::Tf32;
  numQueryTiles = llvm::divideCeil(op.getQueryLength(), queryTile);
  return success();
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
  if (!queryTile)
    chooseTiles();
  tiling = analyzeMask(op.getMaskAttr(), op.getQueryLength(), op.getKeyLength(),
                       queryTile, keyTileSize, loc);
  dynamicMask = op.getQuerySegments() || op.getKeyLengths() ||
                op.getMaskTensor() || op.getBias();
  plainScores = op.getScore().empty() && !op.getBias();
  double scale = op.getEffectiveScale();
  // A positive factor keeps the order of scores.
  rawScores = target.matrixUnits && plainScores && scale > 0;
  sumByProduct = target.matrixUnits && !op.getLse() &&
                 !getElementTypeOrSelf(op.getQuery().getType()).isF32();
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

  int64_t dqk = op.getQueryHeadDim();
  Value raw = t.load(
      bufferOf(op.getQuery()),
      ranges(batch, headIndex, heads,
             AxisRange::tile(queryOffset, queryTile, op.getQueryLength()),
             headDim(dqk)));
  Type f32 = b.getF32Type();
  query = raw;
  if (!target.matrixUnits)
    query = t.elementwise({raw}, {{0, 1}}, {queryTile, dqk}, f32,
                          [&](OpBuilder &nb, ValueRange args) -> Value {
                            Value x = args[0];
                            if (x.getType() != f32)
                              x = arith::ExtFOp::create(nb, loc, f32, x);
                            Value s = arith::ConstantOp::create(
                                nb, loc, nb.getFloatAttr(f32, scale));
                            return arith::MulFOp::create(nb, loc, x, s);
                          });

  Carried state = start();
  state = keyLoop(TileKind::Full, state);
  state = keyLoop(TileKind::Partial, state);
  finish(state);
  auto kernel = op->getParentOfType<func::FuncOp>();
  std::string name = ("q" + Twine(queryTile) + "_k" + Twine(keyTileSize)).str();
  if (target.matrixUnits) {
    name = AttentionTiles{queryTile, keyTileSize, warps, stages}.name();
    kernel->setAttr(kKernelWarps, b.getI64IntegerAttr(warps));
    kernel->setAttr(kKernelStages,
                    b.getI64IntegerAttr(std::max<int64_t>(stages, 1)));
    kernel->setAttr(kKernelMinBlocks, b.getI64IntegerAttr(minBlocks));
    if (registerLimit)
      kernel->setAttr(kKernelRegisters, b.getI64IntegerAttr(registerLimit));
    if (stages == 1)
      kernel->setAttr(kKernelTurns, b.getUnitAttr());
    if (tf32)
      kernel->setAttr(kKernelTf32, b.getUnitAttr());
  }
  kernel->setAttr(kKernelTile, b.getStringAttr(name));
  return success();
}

/// Before the first key tile. The sink joins the softmax as one more logit that
/// has no value.
Carried AttentionBuilder::start() {
  Type f32 = b.getF32Type();
  double lowest =
      -0.5 * std::numeric_limits<float>::max() / std::max(1.0, toLog2);
  auto number = [&](OpBuilder &nb, double value) -> Value {
    return arith::ConstantOp::create(nb, loc, nb.getFloatAttr(f32, value));
  };
  Carried state;
  state.acc = t.fill({queryTile, headDim(op.getValueHeadDim()).size}, f32, 0.0);
  if (!op.getSinks()) {
    state.largest = t.fill({queryTile}, f32, lowest);
    state.shift = t.fill({queryTile}, f32, lowest * toLog2);
    state.sum = sumByProduct ? t.fill({queryTile, kSumColumns}, f32, 0.0)
                             : t.fill({queryTile}, f32, 0.0);
    return state;
  }
  Value sink = t.load(bufferOf(op.getSinks()),
                      {AxisRange::point(headIndex, op.getQueryHeads())});
  state.largest = t.elementwise(
      {sink}, {{}}, {queryTile}, f32,
      [&](OpBuilder &nb, ValueRange args) -> Value {
        Value score = arith::MulFOp::create(nb, loc, args[0],
                                            number(nb, kLog2e / toLog2));
        Value more = arith::CmpFOp::create(nb, loc, arith::CmpFPredicate::UGT,
                                           score, number(nb, lowest));
        return arith::SelectOp::create(nb, loc, more, score,
                                       number(nb, lowest));
      });
  state.shift = shiftOf(state.largest);
  // Not quite 1: the rounding of the shift is in every weight.
  state.sum = t.elementwise(
      {sink, state.shift}, {{}, {0}}, {queryTile}, f32,
      [&](OpBuilder &nb, ValueRange args) -> Value {
        Value from = arith::NegFOp::create(nb, loc, args[1]);
        Value weight = math::Exp2Op::create(
            nb, loc,
            math::FmaOp::create(nb, loc, args[0], number(nb, kLog2e), from));
        Value size = math::AbsFOp::create(nb, loc, args[1]);
        Value infinite = arith::CmpFOp::create(
            nb, loc, arith::CmpFPredicate::OEQ, size, number(nb, kInf));
        return arith::SelectOp::create(nb, loc, infinite, number(nb, 1.0),
                                       weight);
      });
  if (sumByProduct)
    state.sum = t.elementwise(
        {state.sum}, {{0}}, {queryTile, kSumColumns}, f32,
        [&](OpBuilder &nb, ValueRange args) -> Value {
          return arith::MulFOp::create(nb, loc, args[0],
                                       number(nb, 1.0 / kSumColumns));
        });
  return state;
}

/// What exponents subtract for the largest score of a row.
Value AttentionBuilder::shiftOf(Value largest) {
  Type f32 = b.getF32Type();
  return t.elementwise(
      {largest}, {{0}}, {queryTile}, f32,
      [&](OpBuilder &nb, ValueRange args) -> Value {
        return arith::MulFOp::create(
            nb, loc, args[0],
            arith::ConstantOp::create(nb, loc, nb.getFloatAttr(f32, toLog2)));
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
    if (target.matrixUnits ||
        cast<RankedTensorType>(v.getType()).getElementType() == f32)
      return v;
    return t.elementwise({v}, {{0, 1}}, {keyTileSize, dim}, f32,
                         [&](OpBuilder &nb, ValueRange args) -> Value {
                           return arith::ExtFOp::create(nb, loc, f32, args[0]);
                         });
  };
  Value keys =
      widened(t.load(bufferOf(op.getKey()),
                     ranges(batch, keyHead, keyHeads, seq, headDim(dqk))),
              dqk);
  Value s = scores(keyOffset, keys, mixed);
  Value values =
      widened(t.load(bufferOf(op.getValue()),
                     ranges(batch, keyHead, keyHeads, seq, headDim(dv))),
              dv);

  auto larger = [&](OpBuilder &nb, Value x, Value than) -> Value {
    // Keeps `than` where x is NaN.
    Value more =
        arith::CmpFOp::create(nb, loc, arith::CmpFPredicate::OGT, x, than);
    return arith::SelectOp::create(nb, loc, more, x, than);
  };
  auto number = [&](OpBuilder &nb, double value) -> Value {
    return arith::ConstantOp::create(nb, loc, nb.getFloatAttr(f32, value));
  };
  Value largest = t.reduceCols(s, state.largest,
                               [&](OpBuilder &nb, ValueRange args) -> Value {
                                 return larger(nb, args[0], args[1]);
                               });
  Value shift = shiftOf(largest);
  Value alpha = t.elementwise(
      {state.shift, shift}, {{0}, {0}}, {queryTile}, f32,
      [&](OpBuilder &nb, ValueRange args) -> Value {
        return math::Exp2Op::create(
            nb, loc, arith::SubFOp::create(nb, loc, args[0], args[1]));
      });
  auto product = [&](OpBuilder &nb, ValueRange args) -> Value {
    return arith::MulFOp::create(nb, loc, args[0], args[1]);
  };
  Value acc = t.elementwise({state.acc, alpha}, {{0, 1}, {0}},
                            {queryTile, headDim(dv).size}, f32, product);
  Value p = t.elementwise(
      {s, shift}, {{0, 1}, {0}}, {queryTile, keyTileSize}, f32,
      [&](OpBuilder &nb, ValueRange args) -> Value {
        Value from = arith::NegFOp::create(nb, loc, args[1]);
        Value weight = math::Exp2Op::create(
            nb, loc,
            math::FmaOp::create(nb, loc, args[0], number(nb, toLog2), from));
        if (!mixed || target.matrixUnits)
          return weight; // 0 where the score is -inf
        Value absent = arith::CmpFOp::create(nb, loc, arith::CmpFPredicate::OEQ,
                                             args[0], number(nb, -kInf));
        return arith::SelectOp::create(nb, loc, absent, number(nb, -1.0),
                                       weight);
      });
  Type element = cast<RankedTensorType>(values.getType()).getElementType();
  Value rounded = p;
  if (element != f32) // the matrix unit's operand
    rounded = t.elementwise({p}, {{0, 1}}, {queryTile, keyTileSize}, element,
                            [&](OpBuilder &nb, ValueRange args) -> Value {
                              return arith::TruncFOp::create(nb, loc, element,
                                                             args[0]);
                            });
  Value sum;
  if (sumByProduct) {
    sum = t.elementwise({state.sum, alpha}, {{0, 1}, {0}},
                        {queryTile, kSumColumns}, f32, product);
    sum = t.contract(
        rounded,
        t.fill({keyTileSize, kSumColumns}, element, 1.0 / kSumColumns), sum,
        /*transposedB=*/false);
  } else if (target.matrixUnits) {
    // -0 is what addition leaves as it is. A sum of its own, which the carried
    // one takes in by one fused multiply-add.
    Value here =
        t.reduceCols(p, t.fill({queryTile}, f32, -0.0),
                     [&](OpBuilder &nb, ValueRange args) -> Value {
                       return arith::AddFOp::create(nb, loc, args[1], args[0]);
                     });
    sum = t.elementwise({state.sum, alpha, here}, {{0}, {0}, {0}}, {queryTile},
                        f32, [&](OpBuilder &nb, ValueRange args) -> Value {
                          return math::FmaOp::create(nb, loc, args[0], args[1],
                                                     args[2]);
                        });
  } else {
    sum = t.elementwise({state.sum, alpha}, {{0}, {0}}, {queryTile}, f32,
                        product);
    sum = t.reduceCols(p, sum, [&](OpBuilder &nb, ValueRange args) -> Value {
      Value more = arith::AddFOp::create(nb, loc, args[1], args[0]);
      if (!mixed)
        return more;
      Value absent = arith::CmpFOp::create(nb, loc, arith::CmpFPredicate::OLT,
                                           args[0], number(nb, 0.0));
      return arith::SelectOp::create(nb, loc, absent, args[1], more);
    });
  }
  Guard guard = !mixed               ? Guard::None
                : target.matrixUnits ? Guard::Zero
                                     : Guard::Negative;
  acc = t.contract(rounded, values, acc, /*transposedB=*/false, guard);
  return {largest, shift, sum, acc};
}

void AttentionBuilder::finish(Carried state) {
  Type f32 = b.getF32Type();
  if (sumByProduct)
    state.sum =
        t.reduceCols(state.sum, t.fill({queryTile}, f32, 0.0),
                     [&](OpBuilder &nb, ValueRange args) -> Value {
                       return arith::AddFOp::create(nb, loc, args[1], args[0]);
                     });
  auto outType = cast<RankedTensorType>(op.getOut().getType());
  Type element = outType.getElementType();
  int64_t dv = op.getValueHeadDim(), heads = op.getQueryHeads();
  auto isZero = [&](OpBuilder &nb, Value x) -> Value {
    Value zero = arith::ConstantOp::create(nb, loc, nb.getFloatAttr(f32, 0.0));
    return arith::CmpFOp::create(nb, loc, arith::CmpFPredicate::OEQ, x, zero);
  };
  Value inverse = t.elementwise(
      {state.sum}, {{0}}, {queryTile}, f32,
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
      element, [&](OpBuilder &nb, ValueRange args) -> Value {
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
      {state.shift, state.sum}, {{0}, {0}}, {queryTile}, f32,
      [&](OpBuilder &nb, ValueRange args) -> Value {
        Value inf =
            arith::ConstantOp::create(nb, loc, nb.getFloatAttr(f32, -kInf));
        Value log = math::LogOp::create(nb, loc, args[1]);
        Value ln2 = arith::ConstantOp::create(nb, loc,
                                              nb.getFloatAttr(f32, 1 / kLog2e));
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
  return AttentionBuilder(op, target, b).build();
}

LogicalResult heddle::buildAttentionTile(func::FuncOp kernel,
                                         const TileTarget &target,
                                         const GpuTarget &gpu,
                                         const AttentionTiles &tiles) {
  AttentionOp op = *kernel.getOps<AttentionOp>().begin();
  OpBuilder b(op);
  AttentionBuilder builder(op, target, b);
  if (failed(builder.chooseGpuTiles(gpu, tiles)))
    return failure();
  return builder.build();
}
