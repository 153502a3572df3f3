//===- DecomposeAttention.cpp - attention as plain linalg -----------------===//
//
// Score tensors have the axes (b, g, r, i, j): batch, key head, query head
// within the group of that key head, query row, key. Heads are split by
// expand_shape, so that every indexing map only picks axes.
//
//===----------------------------------------------------------------------===//

#include "AxisBuilder.h"
#include "heddle/Dialect/Heddle/Transforms/Passes.h"

#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

#include <limits>

using namespace mlir;
using namespace heddle;

namespace heddle {
#define GEN_PASS_DEF_DECOMPOSEATTENTIONPASS
#include "heddle/Dialect/Heddle/Transforms/Passes.h.inc"
} // namespace heddle

namespace {
/// Axes of a score, and the two head_dim axes of contractions.
enum : unsigned { kBatch, kGroup, kRepeat, kRow, kKey, kDim };

/// Writes one attention op out.
class Decomposer {
public:
  Decomposer(RewriterBase &b, AttentionOp op)
      : b(b), op(op), loc(op.getLoc()), f32(b.getF32Type()) {}

  void run();

private:
  using Body = function_ref<Value(OpBuilder &, ValueRange)>;

  // Building blocks.
  Value constant(double value, OpBuilder &b) {
    return arith::ConstantOp::create(b, loc, b.getF32FloatAttr(value));
  }
  Value index(int64_t value, OpBuilder &b) {
    return arith::ConstantIndexOp::create(b, loc, value);
  }
  Value minusInf(OpBuilder &b) {
    return constant(-std::numeric_limits<double>::infinity(), b);
  }
  Value isMinusInf(Value v, OpBuilder &b) {
    return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, v,
                                 minusInf(b));
  }
  Value extend(Value v, OpBuilder &b) {
    return v.getType().isF32() ? v : arith::ExtFOp::create(b, loc, f32, v);
  }
  Value truncate(Value v, Type type, OpBuilder &b) {
    return v.getType() == type ? v : arith::TruncFOp::create(b, loc, type, v);
  }
  Value filled(ArrayRef<int64_t> shape, double value);
  static FloatAttr lowestFinite(FloatType type) {
    return FloatAttr::get(
        type, APFloat::getLargest(type.getFloatSemantics(), /*Negative=*/true));
  }
  Value splitHeads(Value v, unsigned axis);
  Value mergeHeads(Value v, unsigned axis);

  /// A generic over `numLoops` axes whose operands are indexed by the axes
  /// listed for each. Axes of size 1 in an operand read element 0.
  Value generic(unsigned numLoops, ArrayRef<Value> inputs,
                ArrayRef<SmallVector<unsigned>> axes, Value init,
                ArrayRef<unsigned> initAxes, Body body);

  // Steps.
  SmallVector<unsigned> inLayout(ArrayRef<unsigned> heads, unsigned length,
                                 unsigned dim);
  Value products();
  Value maskedScores(Value products);
  Value score(Value s, ArrayRef<Value> position, OpBuilder &b);
  Value staticMask(MaskAttr mask, Value i, Value j, OpBuilder &b);
  Value reduceKeys(Value scores, double init, Body combine);

  RewriterBase &b;
  AttentionOp op;
  Location loc;
  Type f32;
  int64_t batch, groups, repeat, rows, keys;
  bool masked = false; // whether a score can be -inf
};
} // namespace

//===----------------------------------------------------------------------===//
// Building blocks
//===----------------------------------------------------------------------===//

Value Decomposer::filled(ArrayRef<int64_t> shape, double value) {
  Value empty = tensor::EmptyOp::create(b, loc, shape, f32);
  return linalg::FillOp::create(b, loc, constant(value, b), empty).getResult(0);
}

/// H -> (Hk, H / Hk), or (1, 1) where heads broadcast.
Value Decomposer::splitHeads(Value v, unsigned axis) {
  auto type = cast<RankedTensorType>(v.getType());
  SmallVector<int64_t> shape;
  SmallVector<ReassociationIndices> reassociation;
  for (auto [i, size] : llvm::enumerate(type.getShape())) {
    reassociation.push_back({static_cast<int64_t>(shape.size())});
    if (i != axis) {
      shape.push_back(size);
      continue;
    }
    reassociation.back().push_back(shape.size() + 1);
    bool broadcasts = size == 1;
    shape.push_back(broadcasts ? 1 : groups);
    shape.push_back(broadcasts ? 1 : repeat);
  }
  return tensor::ExpandShapeOp::create(
      b, loc, RankedTensorType::get(shape, type.getElementType()), v,
      reassociation);
}

Value Decomposer::mergeHeads(Value v, unsigned axis) {
  auto type = cast<RankedTensorType>(v.getType());
  SmallVector<ReassociationIndices> reassociation;
  for (int64_t i = 0; i < type.getRank(); ++i) {
    if (i == axis + 1)
      reassociation.back().push_back(i);
    else
      reassociation.push_back({i});
  }
  return tensor::CollapseShapeOp::create(b, loc, v, reassociation);
}

Value Decomposer::generic(unsigned numLoops, ArrayRef<Value> inputs,
                          ArrayRef<SmallVector<unsigned>> axes, Value init,
                          ArrayRef<unsigned> initAxes, Body body) {
  ArrayRef<int64_t> initShape =
      cast<RankedTensorType>(init.getType()).getShape();
  SmallVector<int64_t> loopSizes(numLoops, 1);
  for (auto [axis, size] : llvm::zip(initAxes, initShape))
    loopSizes[axis] = size;
  SmallVector<AffineMap> maps;
  auto addMap = [&](Value v, ArrayRef<unsigned> axes) {
    SmallVector<AffineExpr> exprs;
    for (auto [axis, size] :
         llvm::zip(axes, cast<RankedTensorType>(v.getType()).getShape())) {
      bool broadcasts = size == 1 && loopSizes[axis] != 1;
      exprs.push_back(broadcasts ? b.getAffineConstantExpr(0)
                                 : b.getAffineDimExpr(axis));
    }
    maps.push_back(AffineMap::get(numLoops, 0, exprs, b.getContext()));
  };
  for (auto [v, a] : llvm::zip(inputs, axes))
    addMap(v, a);
  addMap(init, initAxes);
  SmallVector<utils::IteratorType> iterators(numLoops,
                                             utils::IteratorType::reduction);
  for (unsigned axis : initAxes)
    iterators[axis] = utils::IteratorType::parallel;
  return linalg::GenericOp::create(
             b, loc, init.getType(), inputs, init, maps, iterators,
             [&](OpBuilder &nested, Location, ValueRange args) {
               linalg::YieldOp::create(nested, loc, body(nested, args));
             })
      .getResult(0);
}

SmallVector<unsigned> Decomposer::inLayout(ArrayRef<unsigned> heads,
                                           unsigned length, unsigned dim) {
  SmallVector<unsigned> axes = {kBatch};
  bool bshd = op.getLayout() == AttentionLayout::BSHD;
  if (bshd)
    axes.push_back(length);
  llvm::append_range(axes, heads);
  if (!bshd)
    axes.push_back(length);
  axes.push_back(dim);
  return axes;
}

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

/// q.k, accumulated in f32.
Value Decomposer::products() {
  unsigned headAxis = op.getLayout() == AttentionLayout::BSHD ? 2 : 1;
  Value query = splitHeads(op.getQuery(), headAxis);
  return generic(
      6, {query, op.getKey()},
      {inLayout({kGroup, kRepeat}, kRow, kDim), inLayout({kGroup}, kKey, kDim)},
      filled({batch, groups, repeat, rows, keys}, 0.0),
      {kBatch, kGroup, kRepeat, kRow, kKey},
      [&](OpBuilder &b, ValueRange args) -> Value {
        Value q = extend(args[0], b), k = extend(args[1], b);
        Value product = arith::MulFOp::create(b, loc, q, k);
        return arith::AddFOp::create(b, loc, args[2], product);
      });
}

/// The op's score region on one score.
Value Decomposer::score(Value s, ArrayRef<Value> position, OpBuilder &b) {
  if (op.getScore().empty())
    return s;
  Block &region = op.getScore().front();
  IRMapping mapping;
  mapping.map(region.getArgument(0), s);
  for (auto [arg, value] :
       llvm::zip(region.getArguments().drop_front(), position))
    mapping.map(arg, value);
  for (Operation &inner : region.without_terminator())
    b.clone(inner, mapping);
  return mapping.lookupOrDefault(region.getTerminator()->getOperand(0));
}

/// Whether (i, j) is in the mask, as an i1.
Value Decomposer::staticMask(MaskAttr mask, Value i, Value j, OpBuilder &b) {
  using Predicate = arith::CmpIPredicate;
  auto compare = [&](Predicate predicate, Value x, Value y) -> Value {
    return arith::CmpIOp::create(b, loc, predicate, x, y);
  };
  auto shifted = [&](Value v, int64_t by) -> Value {
    return by == 0 ? v : arith::AddIOp::create(b, loc, v, index(by, b));
  };
  ArrayRef<int64_t> values = mask.getValues();
  switch (mask.getKind()) {
  case MaskKind::Causal:
  case MaskKind::CausalUpperLeft:
    return compare(Predicate::sge, i, j);
  case MaskKind::CausalLowerRight:
    return compare(Predicate::sge, shifted(i, keys - rows), j);
  case MaskKind::Window: {
    Value left = compare(Predicate::sge, j, shifted(i, -values[0]));
    Value right = compare(Predicate::sle, j, shifted(i, values[1]));
    return arith::AndIOp::create(b, loc, left, right);
  }
  case MaskKind::Prefix:
    return compare(Predicate::slt, j, index(values[0], b));
  case MaskKind::BlockDiagonal: {
    Value size = index(values[0], b);
    Value rowBlock = arith::DivUIOp::create(b, loc, i, size);
    Value keyBlock = arith::DivUIOp::create(b, loc, j, size);
    return compare(Predicate::eq, rowBlock, keyBlock);
  }
  case MaskKind::AffineSet: {
    IntegerSet set = mask.getSet();
    Value holds, zero = index(0, b);
    for (unsigned c = 0, e = set.getNumConstraints(); c < e; ++c) {
      Value value =
          affine::expandAffineExpr(b, loc, set.getConstraint(c), {i, j}, {});
      Value term =
          compare(set.isEq(c) ? Predicate::eq : Predicate::sge, value, zero);
      holds = holds ? arith::AndIOp::create(b, loc, holds, term) : term;
    }
    return holds;
  }
  case MaskKind::Union:
  case MaskKind::Intersection: {
    Value holds;
    for (MaskAttr term : mask.getTerms()) {
      Value value = staticMask(term, i, j, b);
      if (!holds)
        holds = value;
      else if (mask.getKind() == MaskKind::Union)
        holds = arith::OrIOp::create(b, loc, holds, value);
      else
        holds = arith::AndIOp::create(b, loc, holds, value);
    }
    return holds;
  }
  }
  llvm_unreachable("every mask kind is handled above");
}

/// scale, score region, bias, then -inf where masked.
Value Decomposer::maskedScores(Value products) {
  const SmallVector<unsigned> all = {kBatch, kGroup, kRepeat, kRow, kKey};
  SmallVector<Value> inputs = {products};
  SmallVector<SmallVector<unsigned>> axes = {all};
  auto add = [&](Value v, SmallVector<unsigned> where) -> unsigned {
    if (!v)
      return 0; // argument 0 is the product, so 0 says "absent"
    inputs.push_back(v);
    axes.push_back(where);
    return inputs.size() - 1;
  };
  auto split = [&](Value v) { return v ? splitHeads(v, 1) : v; };
  unsigned bias = add(split(op.getBias()), all);
  unsigned maskTensor = add(split(op.getMaskTensor()), all);
  unsigned querySegments = add(op.getQuerySegments(), {kBatch, kRow});
  unsigned keySegments = add(op.getKeySegments(), {kBatch, kKey});
  unsigned keyLengths = add(op.getKeyLengths(), {kBatch});
  masked = bias || maskTensor || querySegments || keyLengths ||
           op.getMaskAttr() || !op.getScore().empty();

  Value init =
      tensor::EmptyOp::create(b, loc, {batch, groups, repeat, rows, keys}, f32);
  return generic(
      5, inputs, axes, init, all, [&](OpBuilder &b, ValueRange args) -> Value {
        auto position = [&](unsigned axis) -> Value {
          return linalg::IndexOp::create(b, loc, axis);
        };
        Value s = arith::MulFOp::create(b, loc, args[0],
                                        constant(op.getEffectiveScale(), b));
        if (!op.getScore().empty()) {
          Value group = position(kGroup), size = index(repeat, b);
          Value first = arith::MulIOp::create(b, loc, group, size);
          Value within = position(kRepeat);
          Value head = arith::AddIOp::create(b, loc, first, within);
          s = score(s, {position(kBatch), head, position(kRow), position(kKey)},
                    b);
        }
        Value visible;
        auto require = [&](Value condition) {
          visible = visible ? arith::AndIOp::create(b, loc, visible, condition)
                            : condition;
        };
        if (bias) {
          // Graphs spell masks as -inf or as the lowest finite number. A NaN
          // is no mask: it is unordered, and counts as above.
          Value lowest = arith::ConstantOp::create(
              b, loc, lowestFinite(cast<FloatType>(args[bias].getType())));
          require(arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UGT,
                                        args[bias], lowest));
          s = arith::AddFOp::create(b, loc, s, extend(args[bias], b));
        }
        // A set without constraints holds everywhere and yields no value.
        if (op.getMaskAttr()) {
          Value i = position(kRow), j = position(kKey);
          if (Value holds = staticMask(op.getMaskAttr(), i, j, b))
            require(holds);
        }
        if (maskTensor)
          require(args[maskTensor]);
        if (querySegments)
          require(arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                        args[querySegments],
                                        args[keySegments]));
        if (keyLengths) {
          Value length = arith::IndexCastOp::create(b, loc, b.getIndexType(),
                                                    args[keyLengths]);
          require(arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt,
                                        position(kKey), length));
        }
        return visible
                   ? arith::SelectOp::create(b, loc, visible, s, minusInf(b))
                   : s;
      });
}

/// A reduction of (b, g, r, i, j) over j.
Value Decomposer::reduceKeys(Value scores, double init, Body combine) {
  return generic(5, {scores}, {{kBatch, kGroup, kRepeat, kRow, kKey}},
                 filled({batch, groups, repeat, rows}, init),
                 {kBatch, kGroup, kRepeat, kRow}, combine);
}

//===----------------------------------------------------------------------===//
// The whole
//===----------------------------------------------------------------------===//

void Decomposer::run() {
  b.setInsertionPoint(op);
  batch = op.getBatch();
  groups = op.getKeyHeads();
  repeat = op.getGroupSize();
  rows = op.getQueryLength();
  keys = op.getKeyLength();
  const SmallVector<unsigned> all = {kBatch, kGroup, kRepeat, kRow, kKey};
  const SmallVector<unsigned> perRow = {kBatch, kGroup, kRepeat, kRow};
  const SmallVector<unsigned> perHead = {kGroup, kRepeat};
  int64_t rowShape[] = {batch, groups, repeat, rows};
  Value sinks = op.getSinks() ? splitHeads(op.getSinks(), 0) : Value();
  auto emptyRows = [&]() -> Value {
    return tensor::EmptyOp::create(b, loc, rowShape, f32);
  };

  Value scores = maskedScores(products());
  Value max =
      reduceKeys(scores, -std::numeric_limits<double>::infinity(),
                 [&](OpBuilder &b, ValueRange args) -> Value {
                   return arith::MaximumFOp::create(b, loc, args[0], args[1]);
                 });
  // m: the largest logit, the sink included; 0 where there is none, so that
  // exp(s - m) of a fully masked row is 0 and not exp(-inf + inf).
  SmallVector<Value> maxInputs = {max};
  SmallVector<SmallVector<unsigned>> maxAxes = {perRow};
  if (sinks) {
    maxInputs.push_back(sinks);
    maxAxes.push_back(perHead);
  }
  Value m = generic(4, maxInputs, maxAxes, emptyRows(), perRow,
                    [&](OpBuilder &b, ValueRange args) -> Value {
                      Value v = args[0];
                      if (sinks)
                        v = arith::MaximumFOp::create(b, loc, v, args[1]);
                      Value none = isMinusInf(v, b), zero = constant(0.0, b);
                      return arith::SelectOp::create(b, loc, none, zero, v);
                    });
  Value p = generic(
      5, {scores, m}, {all, perRow},
      tensor::EmptyOp::create(b, loc, {batch, groups, repeat, rows, keys}, f32),
      all, [&](OpBuilder &b, ValueRange args) -> Value {
        return math::ExpOp::create(
            b, loc, arith::SubFOp::create(b, loc, args[0], args[1]));
      });
  Value z = reduceKeys(p, 0.0, [&](OpBuilder &b, ValueRange args) -> Value {
    return arith::AddFOp::create(b, loc, args[0], args[1]);
  });
  if (sinks)
    z = generic(4, {z, m, sinks}, {perRow, perRow, perHead}, emptyRows(),
                perRow, [&](OpBuilder &b, ValueRange args) -> Value {
                  Value sink = math::ExpOp::create(
                      b, loc, arith::SubFOp::create(b, loc, args[2], args[1]));
                  return arith::AddFOp::create(b, loc, args[0], sink);
                });

  // p.v, with p rounded to the type of v and masked rows of v selected away.
  Type element = op.getValue().getType().getElementType();
  bool bshd = op.getLayout() == AttentionLayout::BSHD;
  int64_t dim = op.getValueHeadDim();
  SmallVector<int64_t> outShape =
      bshd ? SmallVector<int64_t>{batch, rows, groups, repeat, dim}
           : SmallVector<int64_t>{batch, groups, repeat, rows, dim};
  SmallVector<unsigned> outAxes = inLayout({kGroup, kRepeat}, kRow, kDim);
  SmallVector<Value> inputs = {p, op.getValue()};
  SmallVector<SmallVector<unsigned>> axes = {all,
                                             inLayout({kGroup}, kKey, kDim)};
  if (masked) {
    inputs.push_back(scores);
    axes.push_back(all);
  }
  Value sum =
      generic(6, inputs, axes, filled(outShape, 0.0), outAxes,
              [&](OpBuilder &b, ValueRange args) -> Value {
                Value weight = extend(truncate(args[0], element, b), b);
                Value value = extend(args[1], b);
                if (masked) {
                  Value hidden = isMinusInf(args[2], b);
                  Value zero = constant(0.0, b);
                  value = arith::SelectOp::create(b, loc, hidden, zero, value);
                }
                Value product = arith::MulFOp::create(b, loc, weight, value);
                return arith::AddFOp::create(b, loc, args.back(), product);
              });
  // Here the loops are (b, g, r, i, d): d takes the place of j.
  auto rowLoops = [](SmallVector<unsigned> axes) {
    for (unsigned &axis : axes)
      if (axis == kDim)
        axis = kKey;
    return axes;
  };
  Value out = generic(
      5, {sum, z}, {rowLoops(outAxes), perRow},
      tensor::EmptyOp::create(b, loc, outShape, element), rowLoops(outAxes),
      [&](OpBuilder &b, ValueRange args) -> Value {
        Value empty = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ,
                                            args[1], constant(0.0, b));
        Value divisor =
            arith::SelectOp::create(b, loc, empty, constant(1.0, b), args[1]);
        return truncate(arith::DivFOp::create(b, loc, args[0], divisor),
                        element, b);
      });
  SmallVector<Value> results = {mergeHeads(out, bshd ? 2 : 1)};
  if (op.getLse()) {
    Value lse =
        generic(4, {m, z}, {perRow, perRow}, emptyRows(), perRow,
                [&](OpBuilder &b, ValueRange args) -> Value {
                  return arith::AddFOp::create(
                      b, loc, args[0], math::LogOp::create(b, loc, args[1]));
                });
    results.push_back(mergeHeads(lse, 1));
  }
  b.replaceOp(op, results);
}

LogicalResult heddle::decomposeAttention(RewriterBase &rewriter,
                                         AttentionOp op) {
  if (failed(expectStaticShapes(op)))
    return failure();
  Decomposer(rewriter, op).run();
  return success();
}

namespace {
struct DecomposeAttentionPass
    : heddle::impl::DecomposeAttentionPassBase<DecomposeAttentionPass> {
  void runOnOperation() override {
    if (failed(rewriteEach<AttentionOp>(getOperation(), decomposeAttention)))
      signalPassFailure();
  }
};
} // namespace
