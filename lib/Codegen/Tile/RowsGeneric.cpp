//===- RowsGeneric.cpp - tiles of elementwise ops and reductions ----------===//

#include "RowsBuilder.h"
#include "heddle/Codegen/Tile/KernelBody.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace heddle;

/// Iteration dims (rows 0, columns 1) of a tile over `dims`, in a nest whose
/// tile axes are `nest`.
static SmallVector<int64_t> loopDims(const TileDims &dims,
                                     ArrayRef<TileDim> nest) {
  bool hasRows =
      llvm::any_of(nest, [](const TileDim &d) { return d.axis == 0; });
  SmallVector<int64_t> r;
  for (int axis : {0, 1})
    for (const TileDim &d : dims)
      if (d.axis == axis)
        r.push_back(hasRows ? axis : 0);
  return r;
}

/// Clones a scalar region; arith only, no index access.
static Value cloneBody(OpBuilder &nb, Region &region, ValueRange args) {
  IRMapping mapping;
  Block &block = region.front();
  for (auto [arg, value] : llvm::zip(block.getArguments(), args))
    if (value)
      mapping.map(arg, value);
  for (Operation &op : block.without_terminator())
    nb.clone(op, mapping);
  return mapping.lookupOrDefault(block.getTerminator()->getOperand(0));
}

static Type elementOf(Value v) {
  return cast<RankedTensorType>(v.getType()).getElementType();
}

TileDims RowsBuilder::project(OpOperand &operand, ArrayRef<TileDim> loops) {
  auto op = cast<linalg::GenericOp>(operand.getOwner());
  AffineMap map = op.getMatchingIndexingMap(&operand);
  TileDims dims;
  for (auto [i, e] : llvm::enumerate(map.getResults())) {
    OperandAxis axis = *matchOperandAxis(e, map.getNumDims());
    TileDim d = loops[axis.dim];
    if (!axis.isPlain()) {
      Value start = axis.part < 0 ? t.index(axis.offset)
                                  : t.mulAdd(loops[axis.part].range.offset,
                                             axis.partSize, axis.offset);
      d.range.offset =
          d.range.offset
              ? arith::AddIOp::create(b, loc, start, d.range.offset).getResult()
              : start;
      d.range.extent =
          cast<RankedTensorType>(operand.get().getType()).getDimSize(i);
    }
    dims.push_back(d);
  }
  return dims;
}

Value RowsBuilder::generic(linalg::GenericOp op, const TileDims &dims) {
  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  SmallVector<TileDim> loops(extents.size());
  AffineMap outMap = op.getIndexingMapsArray().back();
  for (auto [i, e] : llvm::enumerate(outMap.getResults()))
    loops[cast<AffineDimExpr>(e).getPosition()] = dims[i];
  if (op.getNumReductionLoops() == 0)
    return elementwise(op, dims, loops);
  unsigned inner = innerReduction(op);
  SmallVector<unsigned> outer;
  op.getReductionDims(outer);
  llvm::erase(outer, inner);
  Value sum = get(op.getDpsInits()[0], dims);
  // Reductions but the inner one are loops round it.
  std::function<Value(size_t, Value)> nest = [&](size_t depth, Value acc) {
    if (depth == outer.size())
      return reduceInner(op, loops, acc);
    int64_t extent = extents[outer[depth]];
    return loop(extent, acc, [&](Value i, Value before) {
      loops[outer[depth]] = TileDim::point(i, extent);
      return nest(depth + 1, before);
    });
  };
  return nest(0, sum);
}

Value RowsBuilder::elementwise(linalg::GenericOp op, const TileDims &dims,
                               ArrayRef<TileDim> loops) {
  TileDims nest(loops);
  SmallVector<Value> inputs;
  SmallVector<SmallVector<int64_t>> inputDims;
  for (OpOperand *operand : op.getDpsInputOperands()) {
    TileDims d = project(*operand, loops);
    inputs.push_back(get(operand->get(), d));
    inputDims.push_back(loopDims(d, nest));
  }
  OpOperand &init = op.getDpsInitsMutable()[0];
  bool usesInit = op.payloadUsesValueFromOperand(&init);
  if (usesInit) {
    inputs.push_back(get(init.get(), dims));
    inputDims.push_back(loopDims(dims, nest));
  }
  return t.elementwise(inputs, inputDims, tileShape(nest),
                       elementOf(op.getResult(0)),
                       [&](OpBuilder &nb, ValueRange args) {
                         SmallVector<Value> all(args.begin(), args.end());
                         if (!usesInit)
                           all.push_back(Value());
                         return cloneBody(nb, op.getRegion(), all);
                       });
}

/// Arguments of a body of which only some are read, the value so far last.
static SmallVector<Value> spread(ArrayRef<bool> isRead, ValueRange args,
                                 Value last) {
  SmallVector<Value> all;
  size_t next = 0;
  for (bool read : isRead)
    all.push_back(read ? args[next++] : Value());
  all.push_back(last);
  return all;
}

static Value combine(OpBuilder &nb, Operation *combiner, Value a, Value b) {
  IRMapping mapping;
  mapping.map(combiner->getOperand(0), a);
  mapping.map(combiner->getOperand(1), b);
  return nb.clone(*combiner, mapping)->getResult(0);
}

/// What a reduction joins, with its neutral element where columns lie beyond
/// the row's end.
Value RowsBuilder::termsInside(linalg::GenericOp op, ArrayRef<TileDim> loops,
                               ArrayRef<Value> inputs,
                               ArrayRef<SmallVector<int64_t>> dims,
                               ArrayRef<bool> isRead) {
  Operation *combiner = matchCombiner(op);
  Value before = op.getRegion().front().getArguments().back();
  Value term = combiner->getOperand(combiner->getOperand(0) == before);
  const AxisRange &columns = loops[innerReduction(op)].range;
  TypedAttr neutral = *arith::getNeutralElement(combiner);
  return t.elementwise(
      inputs, dims, tileShape(TileDims(loops)), term.getType(),
      [&](OpBuilder &nb, ValueRange args) -> Value {
        IRMapping mapping;
        Block &block = op.getRegion().front();
        SmallVector<Value> all = spread(isRead, args, Value());
        for (auto [arg, value] : llvm::zip(block.getArguments(), all))
          if (value)
            mapping.map(arg, value);
        for (Operation &inner : block.without_terminator())
          if (&inner != combiner)
            nb.clone(inner, mapping);
        Value end = t.index(columns.extent);
        if (columns.offset)
          end = arith::SubIOp::create(nb, loc, end, columns.offset);
        Value inside =
            arith::CmpIOp::create(nb, loc, arith::CmpIPredicate::slt,
                                  linalg::IndexOp::create(nb, loc, 1), end);
        Value none = arith::ConstantOp::create(nb, loc, neutral);
        return arith::SelectOp::create(nb, loc, inside,
                                       mapping.lookupOrDefault(term), none);
      });
}

/// Reduces a tile whose columns are a range of the inner reduction into `init`,
/// with as many inputs as the graph op reads.
Value RowsBuilder::reduceTile(linalg::GenericOp op, ArrayRef<TileDim> loops,
                              Value init) {
  SmallVector<Value> inputs;
  SmallVector<SmallVector<int64_t>> dims;
  auto map = [&](ArrayRef<int64_t> d) {
    SmallVector<AffineExpr> exprs;
    for (int64_t i : d)
      exprs.push_back(b.getAffineDimExpr(i));
    return AffineMap::get(2, 0, exprs, b.getContext());
  };
  SmallVector<bool> isRead;
  for (OpOperand *operand : op.getDpsInputOperands()) {
    // One that has a shape only says how long parts are.
    isRead.push_back(op.payloadUsesValueFromOperand(operand));
    if (!isRead.back())
      continue;
    TileDims d = project(*operand, loops);
    inputs.push_back(get(operand->get(), d));
    dims.push_back(loopDims(d, loops));
  }
  if (!loops[innerReduction(op)].range.aligned) {
    inputs = {termsInside(op, loops, inputs, dims, isRead)};
    dims = {{0, 1}};
    isRead.clear();
  }
  SmallVector<AffineMap> maps;
  for (ArrayRef<int64_t> d : dims)
    maps.push_back(map(d));
  maps.push_back(map({0}));
  utils::IteratorType iterators[] = {utils::IteratorType::parallel,
                                     utils::IteratorType::reduction};
  return linalg::GenericOp::create(
             b, loc, init.getType(), inputs, init, maps, iterators,
             [&](OpBuilder &nb, Location l, ValueRange args) {
               Value next;
               if (isRead.empty())
                 next = combine(nb, matchCombiner(op), args[1], args[0]);
               else
                 next =
                     cloneBody(nb, op.getRegion(),
                               spread(isRead, args.drop_back(), args.back()));
               linalg::YieldOp::create(nb, l, next);
             })
      .getResult(0);
}

/// The inner reduction, whole or in pieces that are reduced on their own first.
Value RowsBuilder::reduceInner(linalg::GenericOp op, ArrayRef<TileDim> loops,
                               Value init) {
  unsigned inner = innerReduction(op);
  int64_t length = op.getStaticLoopRanges()[inner];
  SmallVector<TileDim> at(loops);
  Operation *combiner = matchCombiner(op);
  int64_t piece = shape.reduceTile;
  if (piece == 0 || piece >= length || !combiner) {
    at[inner] = whole(length);
    return reduceTile(op, at, init);
  }
  for (OpOperand *operand : op.getDpsInputOperands()) {
    AffineMap map = op.getMatchingIndexingMap(operand);
    SmallVector<bool> unknown;
    bool plain = op.payloadUsesValueFromOperand(operand);
    for (AffineExpr e : map.getResults()) {
      OperandAxis axis = *matchOperandAxis(e, map.getNumDims());
      plain &= axis.isPlain();
      unknown.push_back(axis.dim == inner);
    }
    at[inner] = TileDim::tile({}, length, length, 1);
    if (plain)
      prefetch(operand->get(), project(*operand, at), unknown);
  }
  auto type = cast<RankedTensorType>(init.getType());
  auto neutral = *arith::getNeutralElement(combiner);
  double value =
      isa<FloatAttr>(neutral)
          ? cast<FloatAttr>(neutral).getValueAsDouble()
          : static_cast<double>(
                cast<IntegerAttr>(neutral).getValue().getSExtValue());
  // `kept` of the columns are within the row.
  auto add = [&](Value offset, int64_t size, int64_t kept, Value acc) -> Value {
    at[inner] = TileDim::tile(offset, size, length, 1);
    at[inner].range.aligned = size == kept;
    Value part = reduceTile(
        op, at, t.fill(type.getShape(), type.getElementType(), value));
    return t.elementwise({acc, part}, {{0}, {0}}, type.getShape(),
                         type.getElementType(),
                         [&](OpBuilder &nb, ValueRange args) {
                           return combine(nb, combiner, args[0], args[1]);
                         });
  };
  int64_t trips = length / piece, rest = length % piece;
  Value sum = loop(trips, init, [&](Value i, Value acc) {
    return add(t.mulAdd(i, piece), piece, piece, acc);
  });
  if (rest == 0)
    return sum;
  return add(t.index(trips * piece),
             shape.padColumns ? llvm::PowerOf2Ceil(rest) : rest, rest, sum);
}

Value RowsBuilder::loop(int64_t trips, Value start,
                        function_ref<Value(Value, Value)> body) {
  auto loop =
      scf::ForOp::create(b, loc, t.index(0), t.index(trips), t.index(1), start);
  size_t scope = made.size();
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(loop.getBody());
    Value next = body(loop.getInductionVar(), loop.getRegionIterArg(0));
    scf::YieldOp::create(b, loc, next);
  }
  made.truncate(scope);
  return loop.getResult(0);
}

void RowsBuilder::prefetch(Value v, const TileDims &dims,
                           ArrayRef<bool> unknown) {
  if (llvm::none_of(unknown, [](bool u) { return u; })) {
    if (!constantFill(v))
      get(v, dims);
    return;
  }
  auto op = v.getDefiningOp<linalg::GenericOp>();
  if (!op || bufferOf(v))
    return;
  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  SmallVector<TileDim> loops(extents.size());
  SmallVector<bool> loopUnknown(extents.size(), false);
  AffineMap outMap = op.getIndexingMapsArray().back();
  for (auto [i, e] : llvm::enumerate(outMap.getResults())) {
    loops[cast<AffineDimExpr>(e).getPosition()] = dims[i];
    loopUnknown[cast<AffineDimExpr>(e).getPosition()] = unknown[i];
  }
  bool isContraction = isRowsContraction(op);
  for (auto [i, extent] : llvm::enumerate(extents))
    if (loops[i].range.extent == 1 && extent != 1)
      loops[i] = TileDim::tile({}, extent, extent, 1);
  for (OpOperand *operand : op.getDpsInputOperands()) {
    AffineMap map = op.getMatchingIndexingMap(operand);
    // The right operand of an inner contraction is loaded where it is used.
    if (isContraction && operand->getOperandNumber() == 1)
      continue;
    SmallVector<bool> u;
    for (AffineExpr e : map.getResults()) {
      OperandAxis axis = *matchOperandAxis(e, map.getNumDims());
      if (!axis.isPlain())
        return;
      u.push_back(loopUnknown[axis.dim]);
    }
    prefetch(operand->get(), project(*operand, loops), u);
  }
}
