//===- SplitReductions.cpp - long reductions become sums of parts ---------===//

#include "heddle/Codegen/Tile/RowsAnalysis.h"
#include "heddle/Dialect/Heddle/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

namespace heddle {
#define GEN_PASS_DEF_SPLITREDUCTIONSPASS
#include "heddle/Dialect/Heddle/Transforms/Passes.h.inc"
} // namespace heddle

using namespace mlir;
using namespace heddle;

/// Elements of a part, about, and the most that stay in one.
static constexpr int64_t kPartLength = 512, kMaxLength = 1024;
/// With so many results each is a sum of its own up to a greater length.
static constexpr int64_t kManyResults = 4096, kMaxOwnLength = 8192;
/// Most elements that one scalar loop adds up.
static constexpr int64_t kMaxScalarLength = 512;
/// Results that a reduction to rank 0 of one long axis has first.
static constexpr int64_t kLanes = 256;

namespace {
/// Splits the reductions of one function.
class Splitter {
public:
  explicit Splitter(func::FuncOp function)
      : function(function), b(function.getContext()) {}
  LogicalResult run();

private:
  void split(linalg::GenericOp op);
  linalg::GenericOp widen(linalg::GenericOp op);
  void keepLastAxis(linalg::GenericOp op, unsigned kept);
  void foldLongAxis(linalg::GenericOp op);
  void splitLoops(linalg::GenericOp op);
  Value joinParts(linalg::GenericOp op, Value parts, int64_t numPartAxes);
  Value tailOf(linalg::GenericOp op, unsigned loop, int64_t begin);
  Value neutral(linalg::GenericOp op, ArrayRef<int64_t> shape);
  linalg::GenericOp reduce(linalg::GenericOp op, ValueRange inputs,
                           ArrayRef<AffineMap> maps,
                           ArrayRef<utils::IteratorType> iterators, Value init,
                           Type window = {});
  Value cast(Value v, Type element);

  func::FuncOp function;
  IRRewriter b;
  SmallVector<linalg::GenericOp> work;
};
} // namespace

static ArrayRef<int64_t> shapeOf(Value v) {
  return llvm::cast<RankedTensorType>(v.getType()).getShape();
}

static Type elementOf(Value v) {
  return llvm::cast<RankedTensorType>(v.getType()).getElementType();
}

static bool canSplit(linalg::GenericOp op) {
  return op.getNumReductionLoops() > 0 && op.getNumResults() == 1 &&
         !op.hasDynamicShape() && !op.hasIndexSemantics() &&
         !isRowsContraction(op) && matchCombiner(op) &&
         llvm::all_of(op->getOperandTypes(), llvm::IsaPred<RankedTensorType>) &&
         llvm::all_of(op.getIndexingMapsArray(), [](AffineMap m) {
           return m.isProjectedPermutation(/*allowZeroInResults=*/false);
         });
}

/// Whether some op spreads v over what it was reduced from: a statistic of rows,
/// which is made with the rows at hand.
static bool isSpread(Value v) {
  return llvm::any_of(v.getUsers(), [&](Operation *user) {
    auto op = dyn_cast<linalg::LinalgOp>(user);
    if (!op)
      return isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(user);
    for (OpOperand *operand : op.getDpsInputOperands())
      if (operand->get() == v &&
          op.getMatchingIndexingMap(operand).getNumResults() <
              op.getNumLoops())
        return true;
    return op.getNumReductionLoops() == 0 && op->getNumResults() == 1 &&
           isSpread(op->getResult(0));
  });
}

/// Length of parts of an axis: near `wanted`, a divisor where there is one.
static int64_t partLength(int64_t extent, int64_t wanted) {
  for (int64_t step = 0; step <= wanted; ++step)
    for (int64_t length : {wanted + step, wanted - step})
      if (length > 0 && 2 * length >= wanted && extent % length == 0)
        return length;
  return wanted;
}

/// A generic that only casts.
Value Splitter::cast(Value v, Type element) {
  if (elementOf(v) == element)
    return v;
  Location loc = v.getLoc();
  int64_t rank = shapeOf(v).size();
  Value out = tensor::EmptyOp::create(b, loc, shapeOf(v), element);
  AffineMap identity = b.getMultiDimIdentityMap(rank);
  SmallVector<utils::IteratorType> parallel(rank,
                                            utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             b, loc, out.getType(), v, out, {identity, identity}, parallel,
             [&](OpBuilder &nb, Location l, ValueRange args) {
               Value to;
               if (element.getIntOrFloatBitWidth() >
                   args[0].getType().getIntOrFloatBitWidth())
                 to = arith::ExtFOp::create(nb, l, element, args[0]);
               else
                 to = arith::TruncFOp::create(nb, l, element, args[0]);
               linalg::YieldOp::create(nb, l, to);
             })
      .getResult(0);
}

/// Sums of 16-bit values in f32, rounded once.
linalg::GenericOp Splitter::widen(linalg::GenericOp op) {
  Type element = elementOf(op.getResult(0)), f32 = b.getF32Type();
  Operation *combiner = matchCombiner(op);
  if (!(element.isBF16() || element.isF16()) ||
      !isa<arith::AddFOp, arith::MulFOp>(combiner))
    return op;
  b.setInsertionPoint(op);
  Location loc = op.getLoc();
  Value init = op.getDpsInits()[0];
  Attribute constant;
  Value start = init;
  if (auto fill = init.getDefiningOp<linalg::FillOp>())
    start = fill.getInputs()[0];
  if (matchPattern(start, m_Constant(&constant))) {
    if (auto splat = dyn_cast<SplatElementsAttr>(constant))
      constant = splat.getSplatValue<Attribute>();
  }
  if (auto number = dyn_cast_or_null<FloatAttr>(constant)) {
    Value wide = arith::ConstantOp::create(
        b, loc, b.getFloatAttr(f32, number.getValueAsDouble()));
    Value empty = tensor::EmptyOp::create(b, loc, shapeOf(init), f32);
    init = linalg::FillOp::create(b, loc, wide, empty).getResult(0);
  } else {
    init = cast(init, f32);
  }
  auto wide = linalg::GenericOp::create(
      b, loc, init.getType(), op.getDpsInputs(), init,
      op.getIndexingMapsArray(), op.getIteratorTypesArray(),
      [&](OpBuilder &nb, Location l, ValueRange args) {
        IRMapping mapping;
        Block &body = op.getRegion().front();
        mapping.map(body.getArguments().drop_back(), args.drop_back());
        Value next;
        for (Operation &inner : body.without_terminator())
          if (&inner != combiner)
            nb.clone(inner, mapping);
        for (Value v : combiner->getOperands())
          if (v != body.getArguments().back())
            next = arith::ExtFOp::create(nb, l, f32, mapping.lookupOrDefault(v));
        OperationState state(l, combiner->getName());
        state.addOperands({args.back(), next});
        state.addAttributes(combiner->getAttrs());
        state.addTypes(f32);
        linalg::YieldOp::create(nb, l, nb.create(state)->getResult(0));
      });
  b.replaceOp(op, cast(wide.getResult(0), element));
  return wide;
}

/// A tensor to which reductions with op's combiner add nothing.
Value Splitter::neutral(linalg::GenericOp op, ArrayRef<int64_t> shape) {
  Value number = arith::ConstantOp::create(
      b, op.getLoc(), *arith::getNeutralElement(matchCombiner(op)));
  Value empty = tensor::EmptyOp::create(b, op.getLoc(), shape,
                                        elementOf(op.getResult(0)));
  return linalg::FillOp::create(b, op.getLoc(), number, empty).getResult(0);
}

/// The same reduction of other inputs; `window`, the element type of a last input
/// that the body does not read, says how long a loop is.
linalg::GenericOp Splitter::reduce(linalg::GenericOp op, ValueRange inputs,
                                   ArrayRef<AffineMap> maps,
                                   ArrayRef<utils::IteratorType> iterators,
                                   Value init, Type window) {
  return linalg::GenericOp::create(
      b, op.getLoc(), init.getType(), inputs, init, maps, iterators,
      [&](OpBuilder &nb, Location l, ValueRange args) {
        Block &body = op.getRegion().front();
        IRMapping mapping;
        mapping.map(body.getArguments().drop_back(),
                    args.drop_back(window ? 2 : 1));
        mapping.map(body.getArguments().back(), args.back());
        for (Operation &inner : body.without_terminator())
          nb.clone(inner, mapping);
        linalg::YieldOp::create(
            nb, l, mapping.lookup(body.getTerminator()->getOperand(0)));
      });
}

/// Reduces the leading axes of `parts` into op's initial value.
Value Splitter::joinParts(linalg::GenericOp op, Value parts,
                          int64_t numPartAxes) {
  Location loc = op.getLoc();
  ArrayRef<int64_t> shape = shapeOf(parts);
  int64_t rank = shape.size() - numPartAxes;
  if (numPartAxes > 1) {
    SmallVector<ReassociationIndices> groups(1);
    for (int64_t d = 0; d < numPartAxes; ++d)
      groups[0].push_back(d);
    for (int64_t d = 0; d < rank; ++d)
      groups.push_back({numPartAxes + d});
    parts = tensor::CollapseShapeOp::create(b, loc, parts, groups);
  }
  // Result axes in order, then the parts.
  SmallVector<AffineExpr> own, all{b.getAffineDimExpr(rank)};
  for (int64_t d = 0; d < rank; ++d)
    own.push_back(b.getAffineDimExpr(d));
  llvm::append_range(all, own);
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::parallel);
  iterators.push_back(utils::IteratorType::reduction);
  MLIRContext *context = b.getContext();
  Value init = op.getDpsInits()[0];
  Operation *combiner = matchCombiner(op);
  auto joined = linalg::GenericOp::create(
      b, loc, init.getType(), parts, init,
      {AffineMap::get(rank + 1, 0, all, context),
       AffineMap::get(rank + 1, 0, own, context)},
      iterators, [&](OpBuilder &nb, Location l, ValueRange args) {
        IRMapping mapping;
        mapping.map(combiner->getOperands(), ValueRange{args[1], args[0]});
        linalg::YieldOp::create(nb, l,
                                nb.clone(*combiner, mapping)->getResult(0));
      });
  work.push_back(joined);
  return joined.getResult(0);
}

/// Rank 0: loop `kept`, of the axis that is contiguous in memory, stays at first.
void Splitter::keepLastAxis(linalg::GenericOp op, unsigned kept) {
  b.setInsertionPoint(op);
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  maps.back() = AffineMap::get(op.getNumLoops(), 0, b.getAffineDimExpr(kept));
  SmallVector<utils::IteratorType> iterators = op.getIteratorTypesArray();
  iterators[kept] = utils::IteratorType::parallel;
  auto rows = reduce(op, op.getDpsInputs(), maps, iterators,
                     neutral(op, {op.getStaticLoopRanges()[kept]}));
  work.push_back(rows);
  b.replaceOp(op, joinParts(op, rows.getResult(0), 1));
}

/// Rank 0 of one long axis: the axis becomes rows of `kLanes`.
void Splitter::foldLongAxis(linalg::GenericOp op) {
  b.setInsertionPoint(op);
  Location loc = op.getLoc();
  int64_t length = op.getStaticLoopRanges()[0];
  int64_t whole = length / kLanes * kLanes, rest = length - whole;
  auto slice = [&](Value v, int64_t begin, int64_t size) -> Value {
    if (size == length)
      return v;
    return tensor::ExtractSliceOp::create(
        b, loc, v, SmallVector<OpFoldResult>{b.getIndexAttr(begin)},
        SmallVector<OpFoldResult>{b.getIndexAttr(size)},
        SmallVector<OpFoldResult>{b.getIndexAttr(1)});
  };
  SmallVector<Value> folded, tails;
  for (Value v : op.getDpsInputs()) {
    auto type = RankedTensorType::get({whole / kLanes, kLanes}, elementOf(v));
    folded.push_back(tensor::ExpandShapeOp::create(
        b, loc, type, slice(v, 0, whole),
        SmallVector<ReassociationIndices>{{0, 1}}));
    if (rest)
      tails.push_back(slice(v, whole, rest));
  }
  Value init = op.getDpsInits()[0];
  if (rest)
    init = reduce(op, tails, op.getIndexingMapsArray(),
                  op.getIteratorTypesArray(), init)
               .getResult(0);
  SmallVector<AffineMap> maps(folded.size(), b.getMultiDimIdentityMap(2));
  maps.push_back(AffineMap::get(2, 0, b.getContext()));
  SmallVector<utils::IteratorType> iterators(2, utils::IteratorType::reduction);
  auto two = reduce(op, folded, maps, iterators, init);
  work.push_back(two);
  b.replaceOp(op, two.getResults());
}

/// The positions from `begin` on of one reduction loop.
Value Splitter::tailOf(linalg::GenericOp op, unsigned loop, int64_t begin) {
  unsigned numLoops = op.getNumLoops();
  AffineExpr d = b.getAffineDimExpr(loop);
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  AffineMap init = maps.pop_back_val();
  for (AffineMap &map : maps)
    map = map.replace(d, d + begin, numLoops, 0);
  maps.push_back(AffineMap::get(numLoops, 0, d));
  maps.push_back(init);
  SmallVector<Value> inputs = op.getDpsInputs();
  Type element = elementOf(op.getResult(0));
  inputs.push_back(tensor::EmptyOp::create(
      b, op.getLoc(),
      ArrayRef<int64_t>{op.getStaticLoopRanges()[loop] - begin}, element));
  return reduce(op, inputs, maps, op.getIteratorTypesArray(),
                op.getDpsInits()[0], element)
      .getResult(0);
}

/// Inner reduction loops stay as long as their product is short; the next one is
/// cut into parts, and those outside of it give a part each.
void Splitter::splitLoops(linalg::GenericOp op) {
  SmallVector<unsigned> reduced;
  op.getReductionDims(reduced);
  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  int64_t inside = 1;
  int cut = reduced.size() - 1;
  while (cut >= 0 && inside * extents[reduced[cut]] <= kMaxLength)
    inside *= extents[reduced[cut--]];
  if (cut < 0)
    return;
  b.setInsertionPoint(op);
  unsigned loop = reduced[cut], numLoops = op.getNumLoops();
  int64_t length =
      partLength(extents[loop], std::max<int64_t>(1, kPartLength / inside));
  int64_t numParts = extents[loop] / length, rest = extents[loop] % length;
  Type element = elementOf(op.getResult(0));
  SmallVector<utils::IteratorType> iterators = op.getIteratorTypesArray();
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  AffineMap init = maps.pop_back_val();
  SmallVector<Value> inputs = op.getDpsInputs();
  SmallVector<AffineExpr> out;
  SmallVector<int64_t> shape;
  for (unsigned d : ArrayRef(reduced).take_front(cut)) {
    iterators[d] = utils::IteratorType::parallel;
    out.push_back(b.getAffineDimExpr(d));
    shape.push_back(extents[d]);
  }
  bool window = length > 1;
  AffineExpr d = b.getAffineDimExpr(loop), part = b.getAffineDimExpr(numLoops);
  if (window) {
    for (AffineMap &map : maps)
      map = map.replace(d, part * length + d, numLoops + 1, 0);
    maps.push_back(AffineMap::get(numLoops + 1, 0, d));
    inputs.push_back(tensor::EmptyOp::create(b, op.getLoc(),
                                             ArrayRef<int64_t>{length}, element));
    iterators.push_back(utils::IteratorType::parallel);
    out.push_back(part);
  } else {
    iterators[loop] = utils::IteratorType::parallel;
    out.push_back(d);
  }
  shape.push_back(numParts);
  int64_t numPartAxes = shape.size();
  llvm::append_range(out, init.getResults());
  llvm::append_range(shape, shapeOf(op.getResult(0)));
  maps.push_back(
      AffineMap::get(numLoops + window, 0, out, b.getContext()));
  Value parts = reduce(op, inputs, maps, iterators, neutral(op, shape),
                       window ? element : Type())
                    .getResult(0);
  if (rest)
    op.getDpsInitsMutable()[0].set(tailOf(op, loop, extents[loop] - rest));
  b.replaceOp(op, joinParts(op, parts, numPartAxes));
}

void Splitter::split(linalg::GenericOp op) {
  if (!canSplit(op))
    return;
  op = widen(op);
  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  SmallVector<unsigned> reduced;
  op.getReductionDims(reduced);
  int64_t length = 1;
  for (unsigned d : reduced)
    length *= extents[d];
  int64_t results = llvm::product_of(shapeOf(op.getResult(0)));
  if (op.getNumParallelLoops() == 0) {
    if (length <= kMaxScalarLength)
      return;
    if (op.getNumLoops() == 1)
      return foldLongAxis(op);
    OpOperand *largest = op.getDpsInputOperand(0);
    for (OpOperand *operand : op.getDpsInputOperands())
      if (op.getMatchingIndexingMap(operand).getNumResults() >
          op.getMatchingIndexingMap(largest).getNumResults())
        largest = operand;
    return keepLastAxis(
        op, op.getMatchingIndexingMap(largest).getDimPosition(
                op.getMatchingIndexingMap(largest).getNumResults() - 1));
  }
  if (length > kMaxOwnLength ||
      (length > kMaxLength && results < kManyResults &&
       !isSpread(op.getResult(0))))
    splitLoops(op);
}

LogicalResult heddle::decomposeSoftmax(RewriterBase &rewriter,
                                       func::FuncOp function) {
  SmallVector<linalg::SoftmaxOp> ops;
  function.walk([&](linalg::SoftmaxOp op) { ops.push_back(op); });
  for (linalg::SoftmaxOp op : ops) {
    rewriter.setInsertionPoint(op);
    FailureOr<SmallVector<Value>> parts = op.decomposeOperation(rewriter);
    if (failed(parts))
      return op->emitOpError("cannot be decomposed");
    rewriter.replaceOp(op, *parts);
  }
  return success();
}

LogicalResult Splitter::run() {
  if (failed(decomposeSoftmax(b, function)))
    return failure();
  SmallVector<linalg::LinalgOp> named;
  function.walk([&](linalg::LinalgOp op) {
    if (isa<linalg::ReduceOp, linalg::DotOp>(op))
      named.push_back(op);
    else if (auto generic = dyn_cast<linalg::GenericOp>(op.getOperation()))
      work.push_back(generic);
  });
  for (linalg::LinalgOp op : named) {
    b.setInsertionPoint(op);
    FailureOr<linalg::GenericOp> generic = linalg::generalizeNamedOp(b, op);
    if (failed(generic))
      return op.emitOpError("cannot be written as a linalg.generic");
    work.push_back(*generic);
  }
  while (!work.empty())
    split(work.pop_back_val());
  return success();
}

namespace {
struct SplitReductions
    : heddle::impl::SplitReductionsPassBase<SplitReductions> {
  void runOnOperation() override {
    if (failed(Splitter(getOperation()).run()))
      signalPassFailure();
  }
};
} // namespace
