//===- SplitAttentionGrad.cpp - one attention_grad per kernel -------------===//
//
// d_query with row_dots, d_key with d_value, d_bias. A kernel owns what it
// writes, so that no gradient is summed in memory by two of them; what the
// kernels share, the dots of d_out and out, is made by the first. Where there
// are key heads enough for all workers, one kernel makes d_query, d_key and
// d_value: five products in the place of seven. d_sinks and a
// bias that all pairs of a head share are small sums, left to linalg.
//
//===----------------------------------------------------------------------===//

#include "heddle/Dialect/Heddle/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

#include <limits>

namespace heddle {
#define GEN_PASS_DEF_SPLITATTENTIONGRADPASS
#include "heddle/Dialect/Heddle/Transforms/Passes.h.inc"
} // namespace heddle

using namespace mlir;
using namespace heddle;

namespace {
/// Result types of a part; null: not a result.
struct Wanted {
  Type query, key, value, bias, rowDots;
};

class Splitter {
public:
  Splitter(AttentionGradOp op, bool whole)
      : op(op), b(op), loc(op.getLoc()), f32(b.getF32Type()), whole(whole) {}
  void run();

private:
  AttentionGradOp part(Wanted wanted, Value rowDots);
  Value zeros(ArrayRef<int64_t> shape);
  Value sumOverLast(Value tensor);
  Value biasGradient(Value rowDots);
  Value sinksGradient(Value rowDots);

  AttentionGradOp op;
  OpBuilder b;
  Location loc;
  Type f32;
  bool whole; // d_query, d_key and d_value stay together
};
} // namespace

/// The op with fewer results; with `rowDots` in the place of out.
AttentionGradOp Splitter::part(Wanted wanted, Value rowDots) {
  auto made = AttentionGradOp::create(
      b, loc, wanted.query, wanted.key, wanted.value, wanted.bias,
      /*d_sinks=*/Type(), wanted.rowDots, op.getQuery(), op.getKey(),
      op.getValue(), op.getLse(), op.getDOut(),
      rowDots ? Value() : op.getOut(), rowDots,
      rowDots ? Value() : op.getDLse(), op.getBias(), op.getQuerySegments(),
      op.getKeySegments(), op.getKeyLengths(), op.getMaskTensor(),
      /*sinks=*/Value(), op.getLayout(), op.getScaleAttr(), op.getMaskAttr(),
      op.getPrecision());
  IRMapping mapping;
  op.getScore().cloneInto(&made.getScore(), mapping);
  return made;
}

Value Splitter::zeros(ArrayRef<int64_t> shape) {
  Value empty = tensor::EmptyOp::create(b, loc, shape, f32);
  Value zero = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(0.0));
  return linalg::FillOp::create(b, loc, zero, empty).getResult(0);
}

/// The sum over the last axis of an f32 tensor.
Value Splitter::sumOverLast(Value tensor) {
  auto type = cast<RankedTensorType>(tensor.getType());
  unsigned rank = type.getRank();
  AffineMap in = b.getMultiDimIdentityMap(rank);
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::parallel);
  iterators.back() = utils::IteratorType::reduction;
  return linalg::GenericOp::create(
             b, loc,
             RankedTensorType::get(type.getShape().drop_back(), f32), tensor,
             zeros(type.getShape().drop_back()),
             ArrayRef<AffineMap>{in, in.dropResult(rank - 1)}, iterators,
             [&](OpBuilder &nb, Location l, ValueRange args) {
               Value sum = arith::AddFOp::create(nb, l, args[1], args[0]);
               linalg::YieldOp::create(nb, l, sum);
             })
      .getResult(0);
}

/// A bias that all pairs of a head share: the sums of the queries, summed.
Value Splitter::biasGradient(Value rowDots) {
  auto type = cast<RankedTensorType>(op.getDBias().getType());
  bool shared = type.getDimSize(2) == 1 && type.getDimSize(3) == 1 &&
                op.getQueryLength() > 1 && op.getKeyLength() > 1;
  Wanted wanted;
  wanted.bias = type;
  if (!shared)
    return part(wanted, rowDots).getDBias();
  // The kernel's bias is (.., Sq, 1): the one of the op, repeated.
  SmallVector<int64_t> shape(type.getShape());
  shape[2] = op.getQueryLength();
  auto perQuery = RankedTensorType::get(shape, type.getElementType());
  Value empty =
      tensor::EmptyOp::create(b, loc, shape, type.getElementType());
  AffineExpr d[4];
  bindDims(b.getContext(), d[0], d[1], d[2], d[3]);
  AffineMap identity = b.getMultiDimIdentityMap(4);
  Value flat = tensor::CollapseShapeOp::create(
      b, loc, op.getBias(),
      ArrayRef<ReassociationIndices>{{0}, {1, 2, 3}});
  SmallVector<utils::IteratorType> iterators(4, utils::IteratorType::parallel);
  Value repeated =
      linalg::GenericOp::create(
          b, loc, perQuery, flat, empty,
          ArrayRef<AffineMap>{AffineMap::get(4, 0, {d[0], d[1]}, b.getContext()),
                              identity},
          iterators,
          [&](OpBuilder &nb, Location l, ValueRange args) {
            linalg::YieldOp::create(nb, l, args[0]);
          })
          .getResult(0);
  wanted.bias = perQuery.clone(f32);
  AttentionGradOp rows = part(wanted, rowDots);
  rows.getBiasMutable().assign(repeated);
  Value sums = tensor::CollapseShapeOp::create(
      b, loc, rows.getDBias(), ArrayRef<ReassociationIndices>{{0}, {1}, {2, 3}});
  Value sum = sumOverLast(sums); // rounded once
  if (type.getElementType() != f32)
    sum = arith::TruncFOp::create(
        b, loc,
        cast<RankedTensorType>(sum.getType()).clone(type.getElementType()),
        sum);
  return tensor::ExpandShapeOp::create(
      b, loc, type, sum, ArrayRef<ReassociationIndices>{{0}, {1, 2, 3}});
}

/// -exp(sinks[h] - lse) * dots, over queries, then over the batch.
Value Splitter::sinksGradient(Value rowDots) {
  int64_t batch = op.getBatch(), heads = op.getQueryHeads(),
          length = op.getQueryLength();
  AffineExpr h, n, i;
  bindDims(b.getContext(), h, n, i);
  auto map = [&](ArrayRef<AffineExpr> exprs) {
    return AffineMap::get(3, 0, exprs, b.getContext());
  };
  SmallVector<utils::IteratorType> iterators(3, utils::IteratorType::parallel);
  Value empty = tensor::EmptyOp::create(
      b, loc, ArrayRef<int64_t>{heads, batch, length}, f32);
  Value terms =
      linalg::GenericOp::create(
          b, loc, empty.getType(),
          ValueRange{op.getSinks(), op.getLse(), rowDots}, empty,
          ArrayRef<AffineMap>{map({h}), map({n, h, i}), map({n, h, i}),
                              map({h, n, i})},
          iterators,
          [&](OpBuilder &nb, Location l, ValueRange args) {
            auto number = [&](double v) -> Value {
              return arith::ConstantOp::create(nb, l, nb.getF32FloatAttr(v));
            };
            constexpr double inf = std::numeric_limits<double>::infinity();
            Value d = arith::SubFOp::create(nb, l, args[0], args[1]);
            Value p = math::ExpOp::create(nb, l, d);
            Value term = arith::MulFOp::create(
                nb, l, arith::NegFOp::create(nb, l, p), args[2]);
            // Nothing to see, or a sink that takes no part.
            auto is = [&](Value x, double v) -> Value {
              return arith::CmpFOp::create(nb, l, arith::CmpFPredicate::OEQ, x,
                                           number(v));
            };
            Value none = arith::OrIOp::create(nb, l, is(args[1], -inf),
                                              is(p, 0.0));
            linalg::YieldOp::create(
                nb, l,
                arith::SelectOp::create(nb, l, none, number(0.0), term)
                    .getResult());
          })
          .getResult(0);
  return sumOverLast(sumOverLast(terms));
}

void Splitter::run() {
  auto typeOf = [](Value v) { return v ? v.getType() : Type(); };
  auto replace = [](Value old, Value with) {
    if (old)
      old.replaceAllUsesWith(with);
  };
  Wanted ofKeys, ofQueries;
  ofKeys.key = typeOf(op.getDKey());
  ofKeys.value = typeOf(op.getDValue());
  ofQueries.query = typeOf(op.getDQuery());
  ofQueries.rowDots = typeOf(op.getRowDotsOut());
  Value rowDots = op.getRowDots();
  bool shared = op.getDKey() || op.getDBias() || op.getDSinks();
  if (!rowDots && shared)
    ofQueries.rowDots = op.getLse().getType();
  if (whole) {
    // Sums are formed in memory, so that they have to be f32.
    ofKeys.query = cast<RankedTensorType>(ofQueries.query).clone(f32);
    ofQueries.query = {};
  }
  if (ofQueries.query || ofQueries.rowDots) {
    AttentionGradOp made = part(ofQueries, rowDots);
    if (!whole)
      replace(op.getDQuery(), made.getDQuery());
    replace(op.getRowDotsOut(), made.getRowDotsOut());
    if (!rowDots)
      rowDots = made.getRowDotsOut();
  }
  if (ofKeys.key || ofKeys.value) {
    AttentionGradOp made = part(ofKeys, rowDots);
    if (whole) {
      Value sums = made.getDQuery();
      if (sums.getType() != op.getDQuery().getType())
        sums = arith::TruncFOp::create(b, loc, op.getDQuery().getType(), sums);
      replace(op.getDQuery(), sums);
    }
    replace(op.getDKey(), made.getDKey());
    replace(op.getDValue(), made.getDValue());
  }
  if (op.getDBias())
    replace(op.getDBias(), biasGradient(rowDots));
  if (op.getDSinks())
    replace(op.getDSinks(), sinksGradient(rowDots));
  op.erase();
}

namespace {
struct SplitAttentionGrad
    : heddle::impl::SplitAttentionGradPassBase<SplitAttentionGrad> {
  using SplitAttentionGradPassBase::SplitAttentionGradPassBase;

  void runOnOperation() override {
    SmallVector<AttentionGradOp> ops;
    getOperation().walk([&](AttentionGradOp op) {
      if (!llvm::all_of(op->getOperandTypes(), [](Type t) {
            return cast<RankedTensorType>(t).hasStaticShape();
          }))
        return;
      ops.push_back(op);
    });
    for (AttentionGradOp op : ops) {
      bool ofQueries = op.getDQuery() || op.getRowDotsOut();
      bool ofKeys = op.getDKey() || op.getDValue();
      bool needsDots = op.getDKey() && !op.getRowDots();
      int64_t blocks = op.getBatch() * op.getKeyHeads();
      bool feeds = blocks >= 4 * threads || blocks % threads == 0;
      bool whole = threads > 0 && feeds && op.getDQuery() && op.getDKey() &&
                   op.getDValue();
      if ((ofQueries && ofKeys) || needsDots || op.getSinks() || op.getDBias())
        Splitter(op, whole).run();
    }
  }
};
} // namespace
