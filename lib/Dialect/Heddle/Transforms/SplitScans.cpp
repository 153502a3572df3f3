//===- SplitScans.cpp - sums over blocks leave the scan kernels -----------===//

#include "heddle/Codegen/GPU/ScanThreads.h"
#include "heddle/Codegen/Tile/TileBuilder.h"
#include "heddle/Dialect/Heddle/IR/Heddle.h"
#include "heddle/Dialect/Heddle/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"

#include <numeric>

namespace heddle {
#define GEN_PASS_DEF_SPLITSCANSPASS
#include "heddle/Dialect/Heddle/Transforms/Passes.h.inc"
} // namespace heddle

using namespace mlir;
using namespace heddle;

/// Reassociation that merges axes begin to end - 1 of `rank` into one.
static SmallVector<ReassociationIndices> merge(int64_t begin, int64_t end,
                                               int64_t rank) {
  SmallVector<ReassociationIndices> groups;
  for (int64_t d = 0; d < rank; ++d) {
    if (d <= begin || d >= end)
      groups.emplace_back();
    groups.back().push_back(d);
  }
  return groups;
}

/// The sum of the rows of a (rows, count) tensor, given as one of rank 1: on a
/// GPU each thread adds one column, neighbours side by side.
static Value sumStrided(OpBuilder &b, Location loc, Value flat, Value init,
                        int64_t rows) {
  int64_t count = cast<RankedTensorType>(init.getType()).getDimSize(0);
  AffineExpr column = b.getAffineDimExpr(0), row = b.getAffineDimExpr(1);
  auto map = [&](AffineExpr e) {
    return AffineMap::get(2, 0, e, b.getContext());
  };
  // The map says nothing of the number of rows: another operand does.
  Value all = tensor::EmptyOp::create(b, loc, ArrayRef<int64_t>{rows},
                                      b.getF32Type());
  return linalg::GenericOp::create(
             b, loc, init.getType(), ValueRange{flat, all}, init,
             {map(row * count + column), map(row), map(column)},
             {utils::IteratorType::parallel, utils::IteratorType::reduction},
             [](OpBuilder &nested, Location l, ValueRange args) {
               Value next = arith::AddFOp::create(nested, l, args[2], args[0]);
               linalg::YieldOp::create(nested, l, next);
             })
      .getResult(0);
}

/// Parts that one kernel reads side by side.
static constexpr int64_t kFewParts = 16;

/// The same for few rows, added up in registers and stored as `element`.
static Value sumFew(OpBuilder &b, Location loc, Value flat, int64_t rows,
                    Type element) {
  int64_t count =
      cast<RankedTensorType>(flat.getType()).getNumElements() / rows;
  SmallVector<Value> slices;
  for (int64_t row = 0; row < rows; ++row)
    slices.push_back(tensor::ExtractSliceOp::create(
        b, loc, flat, ArrayRef<OpFoldResult>{b.getIndexAttr(row * count)},
        ArrayRef<OpFoldResult>{b.getIndexAttr(count)},
        ArrayRef<OpFoldResult>{b.getIndexAttr(1)}));
  Value init =
      tensor::EmptyOp::create(b, loc, ArrayRef<int64_t>{count}, element);
  SmallVector<AffineMap> maps(rows + 1, b.getMultiDimIdentityMap(1));
  return linalg::GenericOp::create(
             b, loc, init.getType(), slices, init, maps,
             {utils::IteratorType::parallel},
             [&](OpBuilder &nested, Location l, ValueRange args) {
               Value sum = args[0];
               for (Value row : args.drop_back().drop_front())
                 sum = arith::AddFOp::create(nested, l, sum, row);
               if (sum.getType() != element)
                 sum = arith::TruncFOp::create(nested, l, element, sum);
               linalg::YieldOp::create(nested, l, sum);
             })
      .getResult(0);
}

/// The sum of `parts` over its leading axis, in the element type of `type`.
static Value sumParts(OpBuilder &b, Location loc, Value parts,
                      RankedTensorType type, const TileTarget &target) {
  auto partsType = cast<RankedTensorType>(parts.getType());
  int64_t rank = partsType.getRank(), rows = partsType.getDimSize(0);
  auto shaped = [&](ArrayRef<int64_t> shape) {
    return RankedTensorType::get(shape, partsType.getElementType());
  };
  Value sum;
  if (rows == 1) {
    sum = tensor::CollapseShapeOp::create(b, loc, shaped(type.getShape()),
                                          parts, merge(0, 2, rank));
  } else {
    int64_t count = type.getNumElements();
    Value flat = parts;
    bool strided = target.matrixUnits, few = strided && rows <= kFewParts;
    if (strided)
      flat = tensor::CollapseShapeOp::create(
          b, loc, shaped({partsType.getNumElements()}), parts,
          merge(0, rank, rank));
    else if (rank > 2)
      flat = tensor::CollapseShapeOp::create(
          b, loc, shaped({partsType.getDimSize(0), count}), parts,
          merge(1, rank, rank));
    auto init = [&]() -> Value {
      Value zero = arith::ConstantOp::create(
          b, loc, b.getZeroAttr(partsType.getElementType()));
      Value empty = tensor::EmptyOp::create(b, loc, ArrayRef<int64_t>{count},
                                            partsType.getElementType());
      return linalg::FillOp::create(b, loc, zero, empty).getResult(0);
    };
    if (few)
      sum = sumFew(b, loc, flat, rows, type.getElementType());
    else if (strided)
      sum = sumStrided(b, loc, flat, init(), rows);
    else
      sum =
          linalg::ReduceOp::create(
              b, loc, flat, init(), ArrayRef<int64_t>{0},
              [](OpBuilder &nested, Location l, ValueRange args) {
                Value next = arith::AddFOp::create(nested, l, args[1], args[0]);
                linalg::YieldOp::create(nested, l, next);
              })
              .getResult(0);
    if (rank > 2)
      sum = tensor::ExpandShapeOp::create(
          b, loc,
          type.clone(cast<RankedTensorType>(sum.getType()).getElementType()),
          sum, merge(0, rank - 1, rank - 1));
  }
  if (type == sum.getType())
    return sum;
  return arith::TruncFOp::create(b, loc, type, sum);
}

/// Replaces `op` by `whole`, whose results may have a leading axis of parts.
static void replaceBySums(IRRewriter &b, Operation *op, Operation *whole,
                          const TileTarget &target) {
  for (auto [from, to] : llvm::zip(op->getResults(), whole->getResults())) {
    if (from.use_empty())
      continue;
    Value value = to;
    if (from.getType() != to.getType())
      value = sumParts(b, op->getLoc(), to,
                       cast<RankedTensorType>(from.getType()), target);
    b.replaceAllUsesWith(from, value);
  }
  b.eraseOp(op);
}

static void split(SelectiveScanGradOp op, const TileTarget &target) {
  IRRewriter b(op);
  // Without channels there is nothing to add up.
  if (op.getU().getType().getDimSize(2) == 0) {
    for (Value result : op->getResults())
      b.replaceAllUsesWith(
          result,
          arith::ConstantOp::create(
              b, op.getLoc(),
              b.getZeroAttr(cast<RankedTensorType>(result.getType()))));
    b.eraseOp(op);
    return;
  }
  SelectiveGradPlan plan = {};
  if (target.matrixUnits)
    plan = selectiveGradPlan(op);
  else
    plan.parts = selectiveScanParts(op, target);
  int64_t parts = plan.parts;
  Type f32 = b.getF32Type(), scratch;
  if (plan.scratch[0] > 0)
    scratch = RankedTensorType::get(plan.scratch, f32);
  // A CPU makes the states again.
  Value chunkStates = target.matrixUnits ? op.getChunkStates() : Value();
  auto open = [&](Value gradient, int64_t leading) -> Type {
    if (!gradient)
      return {};
    auto type = cast<RankedTensorType>(gradient.getType());
    SmallVector<int64_t> shape(type.getShape());
    shape.insert(shape.begin(), leading);
    return RankedTensorType::get(shape, f32);
  };
  auto typeOf = [](Value v) { return v ? v.getType() : Type(); };
  auto rows = [&](Value gradient) -> Type {
    auto type = cast<RankedTensorType>(open(gradient, parts));
    Type own = cast<RankedTensorType>(gradient.getType()).getElementType();
    return plan.inOwnType ? type.clone(own) : type;
  };
  int64_t batch = op.getU().getType().getDimSize(0) * op.numChunks();
  auto whole = SelectiveScanGradOp::create(
      b, op.getLoc(), op.getDu().getType(), op.getDdelta().getType(),
      open(op.getDa(), batch), rows(op.getDb()), rows(op.getDc()),
      open(op.getDd(), batch), typeOf(op.getDz()),
      open(op.getDdeltaBias(), batch), typeOf(op.getDinitialState()), scratch,
      op.getU(), op.getDelta(), op.getA(), op.getB(), op.getC(), op.getD(),
      op.getZ(), op.getDeltaBias(), op.getInitialState(), op.getResetIds(),
      op.getDy(), op.getDfinalState(), chunkStates, op.getDeltaSoftplusAttr(),
      op.getReverseAttr(), chunkStates ? op.getChunkAttr() : IntegerAttr(),
      b.getI64IntegerAttr(parts), op.getFreshAttr());
  replaceBySums(b, op, whole, target);
}

/// The same for an `a` that is constant over time: one part per batch entry, and
/// chunk of time.
static void split(LinearScanGradOp op, const TileTarget &target) {
  IRRewriter b(op);
  Type ofA = RankedTensorType::get(
      {op.getH().getType().getDimSize(0) * op.numChunks(),
       op.getH().getType().getDimSize(2)},
      b.getF32Type());
  auto typeOf = [](Value v) { return v ? v.getType() : Type(); };
  auto whole = LinearScanGradOp::create(
      b, op.getLoc(), ofA, op.getDb().getType(), op.isComplex() ? ofA : Type(),
      typeOf(op.getDbImag()), typeOf(op.getDinitialState()),
      typeOf(op.getDinitialStateImag()), op.getA(), op.getH(), op.getDh(),
      op.getAImag(), op.getHImag(), op.getDhImag(), op.getInitialState(),
      op.getInitialStateImag(), op.getDfinalState(), op.getDfinalStateImag(),
      op.getResetIds(), op.getReverseAttr(), b.getUnitAttr());
  replaceBySums(b, op, whole, target);
}

namespace {
struct SplitScans : heddle::impl::SplitScansPassBase<SplitScans> {
  using SplitScansPassBase::SplitScansPassBase;

  void runOnOperation() override {
    TileTarget target;
    target.lanes = lanes;
    target.threads = threads;
    target.matrixUnits = matrixUnits;
    SmallVector<SelectiveScanGradOp> ops;
    getOperation().walk([&](SelectiveScanGradOp op) {
      if (!op.getPartialSums())
        ops.push_back(op);
    });
    for (SelectiveScanGradOp op : ops)
      split(op, target);
    SmallVector<LinearScanGradOp> linear;
    getOperation().walk([&](LinearScanGradOp op) {
      if (op.hasConstantDecay() && !op.getPartialSums())
        linear.push_back(op);
    });
    for (LinearScanGradOp op : linear)
      split(op, target);
  }
};
} // namespace
