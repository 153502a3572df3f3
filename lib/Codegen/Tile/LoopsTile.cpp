//===- LoopsTile.cpp - kernels of one op that no tile builder takes -------===//
//
// The op becomes loops over its result on the kernel's buffers, one scalar at a
// time: correct for every structured op, meant for what is rare. Blocks share
// one axis of the result.
//
//===----------------------------------------------------------------------===//

#include "heddle/Codegen/Tile/LoopsTile.h"
#include "LoopsBody.h"
#include "heddle/Codegen/Tile/KernelBody.h"
#include "heddle/Dialect/Heddle/IR/Heddle.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace heddle;

/// Points of the iteration space that are worth a block of their own.
static constexpr int64_t kPointsPerBlock = 2048;

namespace {
using ReadFn = function_ref<Value(ValueRange)>;

/// A box of the result: positions offset + i * stride for i < size, per axis.
struct Box {
  SmallVector<int64_t> offsets, sizes, strides;

  static Box whole(ArrayRef<int64_t> shape) {
    return {SmallVector<int64_t>(shape.size(), 0), SmallVector<int64_t>(shape),
            SmallVector<int64_t>(shape.size(), 1)};
  }
};

/// Emits the loops of one op into a grid of blocks.
class LoopsBuilder {
public:
  LoopsBuilder(func::FuncOp kernel, Operation *op, const TileTarget &target)
      : kernel(kernel), op(op), target(target), b(kernel.getContext()),
        loc(op->getLoc()) {}
  LogicalResult build();

private:
  LogicalResult generic(linalg::GenericOp generic);
  LogicalResult scatterGeneric(linalg::GenericOp generic);
  LogicalResult generate(tensor::GenerateOp generate);
  LogicalResult pad(tensor::PadOp pad);
  LogicalResult extractSlice(tensor::ExtractSliceOp slice);
  LogicalResult insertSlice(tensor::InsertSliceOp insert);
  LogicalResult concat(tensor::ConcatOp concat);

  void openGrid(ArrayRef<int64_t> extents, int64_t points);
  void overBox(const Box &box, function_ref<void(ValueRange)> body);
  LogicalResult write(Value source, Value dest, const Box &box,
                      const llvm::SmallBitVector &dropped = {});
  FailureOr<SmallVector<Value>> body(linalg::GenericOp generic,
                                     ValueRange loops, ValueRange accumulators);
  Value initial(Value init, ValueRange position);
  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(b, loc, value);
  }
  SmallVector<Value> indices(ArrayRef<int64_t> values) {
    return llvm::map_to_vector(values, [&](int64_t v) { return index(v); });
  }
  SmallVector<Value> at(AffineMap map, ValueRange loops);

  func::FuncOp kernel;
  Operation *op;
  const TileTarget &target;
  OpBuilder b;
  Location loc;
  int64_t sharedAxis = -1; // the axis that blocks share; -1: one block
  Value begin, end;        // this block's positions along it
};
} // namespace

//===----------------------------------------------------------------------===//
// Loops and blocks
//===----------------------------------------------------------------------===//

/// Opens the grid over an axis of `extents`: the outermost that feeds all
/// workers, else the longest.
void LoopsBuilder::openGrid(ArrayRef<int64_t> extents, int64_t points) {
  for (auto [axis, extent] : llvm::enumerate(extents)) {
    if (sharedAxis >= 0 && extent <= extents[sharedAxis])
      continue;
    sharedAxis = axis;
    if (extent >= 2 * target.threads)
      break;
  }
  int64_t extent = sharedAxis >= 0 ? extents[sharedAxis] : 1;
  int64_t blocks =
      std::min({extent, 4 * target.threads, points / kPointsPerBlock});
  int64_t chunk = llvm::divideCeil(extent, std::max<int64_t>(1, blocks));
  blocks = std::max<int64_t>(1, llvm::divideCeil(extent, chunk));
  b.setInsertionPoint(kernel.getBody().front().getTerminator());
  auto grid = scf::ForallOp::create(
      b, loc, SmallVector<OpFoldResult>{b.getIndexAttr(blocks)}, ValueRange{},
      std::nullopt);
  b.setInsertionPointToStart(grid.getBody());
  if (blocks == 1) {
    sharedAxis = -1;
    return;
  }
  begin = arith::MulIOp::create(b, loc, grid.getInductionVar(0), index(chunk));
  end = arith::AddIOp::create(b, loc, begin, index(chunk));
  if (extent % chunk != 0)
    end = arith::MinSIOp::create(b, loc, end, index(extent));
}

/// The first i with offset + i * stride >= position.
static Value firstFrom(OpBuilder &b, Location loc, Value position,
                       int64_t offset, int64_t stride) {
  auto constant = [&](int64_t v) {
    return arith::ConstantIndexOp::create(b, loc, v);
  };
  Value i = position;
  if (offset != 0)
    i = arith::SubIOp::create(b, loc, i, constant(offset));
  if (stride != 1)
    i = arith::CeilDivSIOp::create(b, loc, i, constant(stride));
  return i;
}

/// Loops over what this block has of a box; `body` gets i of each axis.
void LoopsBuilder::overBox(const Box &box,
                           function_ref<void(ValueRange)> body) {
  SmallVector<int64_t> zeros(box.sizes.size(), 0), ones(box.sizes.size(), 1);
  SmallVector<Value> lower = indices(zeros), upper = indices(box.sizes);
  if (sharedAxis >= 0) {
    int64_t offset = box.offsets[sharedAxis], stride = box.strides[sharedAxis],
            size = box.sizes[sharedAxis];
    Value &low = lower[sharedAxis], &high = upper[sharedAxis];
    bool clipped = offset != 0 || stride != 1;
    Value first = firstFrom(b, loc, begin, offset, stride);
    low = clipped ? arith::MaxSIOp::create(b, loc, first, low) : first;
    high = arith::MinSIOp::create(
        b, loc, firstFrom(b, loc, end, offset, stride), index(size));
  }
  scf::buildLoopNest(b, loc, lower, upper, indices(ones),
                     [&](OpBuilder &, Location, ValueRange ivs) { body(ivs); });
}

/// Positions of an operand with map `map` at loop positions `loops`.
SmallVector<Value> LoopsBuilder::at(AffineMap map, ValueRange loops) {
  SmallVector<Value> position;
  for (AffineExpr e : map.getResults()) {
    if (auto dim = dyn_cast<AffineDimExpr>(e))
      position.push_back(loops[dim.getPosition()]);
    else if (auto constant = dyn_cast<AffineConstantExpr>(e))
      position.push_back(index(constant.getValue()));
    else
      position.push_back(affine::AffineApplyOp::create(
          b, loc, AffineMap::get(map.getNumDims(), 0, e), loops));
  }
  return position;
}

//===----------------------------------------------------------------------===//
// linalg.generic
//===----------------------------------------------------------------------===//

/// What an accumulator starts with. Nothing may depend on the elements of
/// tensor.empty, so that zero does for them.
Value LoopsBuilder::initial(Value init, ValueRange position) {
  if (Value buffer = bufferOf(init))
    return loadScalar(b, loc, buffer, position);
  if (init.getDefiningOp<tensor::EmptyOp>()) {
    Type element = cast<RankedTensorType>(init.getType()).getElementType();
    return computeConstant(b, loc, b.getZeroAttr(computeType(element)));
  }
  return splatElement(b, loc, init);
}

/// One point of the iteration space.
FailureOr<SmallVector<Value>> LoopsBuilder::body(linalg::GenericOp generic,
                                                 ValueRange loops,
                                                 ValueRange accumulators) {
  Block &block = generic.getRegion().front();
  SmallVector<Value> args;
  for (OpOperand *operand : generic.getDpsInputOperands()) {
    Value v = operand->get();
    if (generic.getMatchingBlockArgument(operand).use_empty())
      args.push_back({}); // a window, say, that has a shape only
    else if (Value buffer = bufferOf(v))
      args.push_back(loadScalar(
          b, loc, buffer, at(generic.getMatchingIndexingMap(operand), loops)));
    else if (Value splat = splatElement(b, loc, v))
      args.push_back(splat);
    else
      return generic.emitOpError("expected operands in memory or constant");
  }
  llvm::append_range(args, accumulators);
  return emitScalarBody(b, block, args,
                        [&](unsigned loop) { return loops[loop]; });
}

/// Whether each result has one element per point of the parallel loops.
static bool resultsFollowParallelLoops(linalg::GenericOp generic) {
  unsigned numParallel = generic.getNumParallelLoops();
  for (OpOperand &init : generic.getDpsInitsMutable()) {
    AffineMap map = generic.getMatchingIndexingMap(&init);
    if (map.getNumResults() != numParallel ||
        !map.isProjectedPermutation(/*allowZeroInResults=*/false))
      return false;
    for (AffineExpr e : map.getResults())
      if (generic
              .getIteratorTypesArray()[cast<AffineDimExpr>(e).getPosition()] !=
          utils::IteratorType::parallel)
        return false;
  }
  return true;
}

/// Loops over the result's elements, inside them the reductions, whose values
/// stay in registers.
LogicalResult LoopsBuilder::generic(linalg::GenericOp generic) {
  for (auto [init, result] :
       llvm::zip(generic.getDpsInits(), generic.getResults())) {
    if (!destinationOf(result))
      return generic.emitOpError("expected every result in memory");
    if (!bufferOf(init) && !init.getDefiningOp<tensor::EmptyOp>() &&
        !splatElement(b, loc, init))
      return generic.emitOpError(
          "expected the initial value in memory or constant");
  }
  if (!resultsFollowParallelLoops(generic))
    return scatterGeneric(generic);
  SmallVector<unsigned> parallel, reduced;
  generic.getParallelDims(parallel);
  generic.getReductionDims(reduced);
  SmallVector<int64_t> ranges = generic.getStaticLoopRanges(), outer, inner;
  for (unsigned d : parallel)
    outer.push_back(ranges[d]);
  for (unsigned d : reduced)
    inner.push_back(ranges[d]);
  int64_t points = 1;
  for (int64_t extent : ranges)
    points *= extent;
  openGrid(outer, points);
  bool failedBody = false;
  overBox(Box::whole(outer), [&](ValueRange outerIvs) {
    SmallVector<Value> loops(ranges.size()), start;
    for (auto [d, iv] : llvm::zip(parallel, outerIvs))
      loops[d] = iv;
    SmallVector<SmallVector<Value>> positions;
    for (OpOperand &init : generic.getDpsInitsMutable()) {
      positions.push_back(at(generic.getMatchingIndexingMap(&init), loops));
      start.push_back(initial(init.get(), positions.back()));
    }
    SmallVector<int64_t> zeros(inner.size(), 0), ones(inner.size(), 1);
    scf::LoopNest nest = scf::buildLoopNest(
        b, loc, indices(zeros), indices(inner), indices(ones), start,
        [&](OpBuilder &, Location, ValueRange innerIvs, ValueRange carried) {
          for (auto [d, iv] : llvm::zip(reduced, innerIvs))
            loops[d] = iv;
          FailureOr<SmallVector<Value>> next = body(generic, loops, carried);
          failedBody |= failed(next);
          return failed(next) ? scf::ValueVector(carried.begin(), carried.end())
                              : scf::ValueVector(next->begin(), next->end());
        });
    for (auto [value, result, position] :
         llvm::zip(nest.results, generic.getResults(), positions))
      storeScalar(b, loc, value, destinationOf(result), position);
  });
  return failure(failedBody);
}

/// Several points meet in one element (an output map such as t * 2 + k): one
/// block in the order of the loops, sums of narrow types in a wider buffer.
LogicalResult LoopsBuilder::scatterGeneric(linalg::GenericOp generic) {
  openGrid({}, 1);
  SmallVector<Value> accumulators;
  for (auto [init, result] :
       llvm::zip(generic.getDpsInits(), generic.getResults())) {
    auto type = cast<RankedTensorType>(result.getType());
    Type element = type.getElementType(), wide = computeType(element);
    Value start = init, acc = destinationOf(result);
    if (wide != element)
      acc = memref::AllocOp::create(b, loc,
                                    MemRefType::get(type.getShape(), wide));
    accumulators.push_back(acc);
    overBox(Box::whole(type.getShape()), [&](ValueRange position) {
      storeScalar(b, loc, initial(start, position), acc, position);
    });
  }
  bool failedBody = false;
  overBox(Box::whole(generic.getStaticLoopRanges()), [&](ValueRange loops) {
    SmallVector<Value> before;
    SmallVector<SmallVector<Value>> positions;
    for (auto [init, acc] :
         llvm::zip(generic.getDpsInitsMutable(), accumulators)) {
      positions.push_back(at(generic.getMatchingIndexingMap(&init), loops));
      before.push_back(loadScalar(b, loc, acc, positions.back()));
    }
    FailureOr<SmallVector<Value>> next = body(generic, loops, before);
    failedBody |= failed(next);
    if (failed(next))
      return;
    for (auto [value, acc, position] :
         llvm::zip(*next, accumulators, positions))
      storeScalar(b, loc, value, acc, position);
  });
  for (auto [result, acc] : llvm::zip(generic.getResults(), accumulators)) {
    Value from = acc, dest = destinationOf(result);
    if (from == dest)
      continue;
    auto shape = cast<RankedTensorType>(result.getType()).getShape();
    overBox(Box::whole(shape), [&](ValueRange position) {
      storeScalar(b, loc, loadScalar(b, loc, from, position), dest, position);
    });
  }
  return failure(failedBody);
}

//===----------------------------------------------------------------------===//
// Elements by position
//===----------------------------------------------------------------------===//

LogicalResult LoopsBuilder::generate(tensor::GenerateOp generate) {
  auto type = cast<RankedTensorType>(generate.getType());
  openGrid(type.getShape(), type.getNumElements());
  bool failedBody = false;
  overBox(Box::whole(type.getShape()), [&](ValueRange position) {
    FailureOr<SmallVector<Value>> value =
        emitScalarBody(b, generate.getBody().front(), position, {});
    failedBody |= failed(value);
    if (succeeded(value))
      storeScalar(b, loc, value->front(), destinationOf(generate), position);
  });
  return failure(failedBody);
}

/// Elements of the source, and around them what the body says.
LogicalResult LoopsBuilder::pad(tensor::PadOp pad) {
  RankedTensorType type = pad.getResultType(), sourceType = pad.getSourceType();
  SmallVector<int64_t> low;
  for (OpFoldResult l : pad.getMixedLowPad()) {
    std::optional<int64_t> constant = getConstantIntValue(l);
    if (!constant)
      return pad.emitOpError("expected constant padding widths");
    low.push_back(*constant);
  }
  Value source = bufferOf(pad.getSource());
  if (!source && !splatElement(b, loc, pad.getSource()))
    return pad.emitOpError("expected operands in memory or constant");
  openGrid(type.getShape(), type.getNumElements());
  bool failedBody = false;
  overBox(Box::whole(type.getShape()), [&](ValueRange position) {
    SmallVector<Value> inSource;
    Value inside = arith::ConstantIntOp::create(b, loc, 1, 1);
    for (auto [d, p] : llvm::enumerate(position)) {
      inSource.push_back(arith::SubIOp::create(b, loc, p, index(low[d])));
      // Below the source the difference is negative: large as unsigned.
      Value in = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult,
                                       inSource.back(),
                                       index(sourceType.getDimSize(d)));
      inside = arith::AndIOp::create(b, loc, inside, in);
    }
    auto choice = scf::IfOp::create(
        b, loc, inside,
        [&](OpBuilder &then, Location) {
          Value v = source ? loadScalar(then, loc, source, inSource)
                           : splatElement(then, loc, pad.getSource());
          scf::YieldOp::create(then, loc, v);
        },
        [&](OpBuilder &otherwise, Location) {
          FailureOr<SmallVector<Value>> value =
              emitScalarBody(otherwise, pad.getRegion().front(), position, {});
          failedBody |= failed(value);
          if (failed(value))
            value = SmallVector<Value>{computeConstant(
                otherwise, loc,
                otherwise.getZeroAttr(computeType(type.getElementType())))};
          scf::YieldOp::create(otherwise, loc, *value);
        });
    storeScalar(b, loc, choice.getResult(0), destinationOf(pad), position);
  });
  return failure(failedBody);
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// Copies the tensor `source` into a box of `dest`; axes of the box in
/// `dropped` are none of the source's.
LogicalResult LoopsBuilder::write(Value source, Value dest, const Box &box,
                                  const llvm::SmallBitVector &dropped) {
  if (source.getDefiningOp<tensor::EmptyOp>())
    return success();
  Value buffer = bufferOf(source);
  if (!buffer && !splatElement(b, loc, source))
    return op->emitOpError("expected operands in memory or constant");
  overBox(box, [&](ValueRange i) {
    SmallVector<Value> from, to;
    for (auto [d, iv] : llvm::enumerate(i)) {
      if (dropped.empty() || !dropped[d])
        from.push_back(iv);
      Value p = iv;
      if (box.strides[d] != 1)
        p = arith::MulIOp::create(b, loc, p, index(box.strides[d]));
      if (box.offsets[d] != 0)
        p = arith::AddIOp::create(b, loc, p, index(box.offsets[d]));
      to.push_back(p);
    }
    Value v = buffer ? memref::LoadOp::create(b, loc, buffer, from).getResult()
                     : splatElement(b, loc, source);
    storeScalar(b, loc, v, dest, to);
  });
  return success();
}

/// The box of a slice op; null where it depends on values.
template <typename SliceOp>
static std::optional<Box> boxOf(SliceOp slice) {
  std::optional<SmallVector<int64_t>> offsets =
      getConstantIntValues(slice.getMixedOffsets());
  std::optional<SmallVector<int64_t>> sizes =
      getConstantIntValues(slice.getMixedSizes());
  std::optional<SmallVector<int64_t>> strides =
      getConstantIntValues(slice.getMixedStrides());
  if (!offsets || !sizes || !strides)
    return std::nullopt;
  return Box{*offsets, *sizes, *strides};
}

LogicalResult LoopsBuilder::extractSlice(tensor::ExtractSliceOp slice) {
  std::optional<Box> box = boxOf(slice);
  if (!box)
    return slice.emitOpError("expected constant offsets, sizes and strides");
  Value source = bufferOf(slice.getSource());
  if (!source)
    return slice.emitOpError("expected operands in memory");
  llvm::SmallBitVector dropped = slice.getDroppedDims();
  auto type = slice.getType();
  openGrid(type.getShape(), type.getNumElements());
  overBox(Box::whole(type.getShape()), [&](ValueRange position) {
    SmallVector<Value> from;
    size_t next = 0;
    for (size_t d = 0; d < box->sizes.size(); ++d) {
      Value p = index(box->offsets[d]);
      if (!dropped[d])
        p = arith::AddIOp::create(
            b, loc, p,
            arith::MulIOp::create(b, loc, position[next++],
                                  index(box->strides[d])));
      from.push_back(p);
    }
    storeScalar(b, loc, memref::LoadOp::create(b, loc, source, from),
                destinationOf(slice), position);
  });
  return success();
}

LogicalResult LoopsBuilder::insertSlice(tensor::InsertSliceOp insert) {
  std::optional<Box> box = boxOf(insert);
  if (!box)
    return insert.emitOpError("expected constant offsets, sizes and strides");
  if (llvm::any_of(box->strides, [](int64_t s) { return s < 1; }))
    return insert.emitOpError("expected strides of 1 or more");
  auto type = insert.getType();
  Value dest = destinationOf(insert);
  openGrid(type.getShape(), type.getNumElements());
  return failure(
      failed(write(insert.getDest(), dest, Box::whole(type.getShape()))) ||
      failed(write(insert.getSource(), dest, *box, insert.getDroppedDims())));
}

LogicalResult LoopsBuilder::concat(tensor::ConcatOp concat) {
  RankedTensorType type = concat.getResultType();
  openGrid(type.getShape(), type.getNumElements());
  int64_t offset = 0;
  for (Value v : concat.getInputs()) {
    Box box = Box::whole(cast<RankedTensorType>(v.getType()).getShape());
    box.offsets[concat.getDim()] = offset;
    offset += box.sizes[concat.getDim()];
    if (failed(write(v, destinationOf(concat), box)))
      return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Driver
//===----------------------------------------------------------------------===//

LogicalResult LoopsBuilder::build() {
  b.setInsertionPoint(op);
  if (auto o = dyn_cast<linalg::GenericOp>(op))
    return generic(o);
  if (auto o = dyn_cast<tensor::GenerateOp>(op))
    return generate(o);
  if (auto o = dyn_cast<tensor::PadOp>(op))
    return pad(o);
  if (auto o = dyn_cast<tensor::ExtractSliceOp>(op))
    return extractSlice(o);
  if (auto o = dyn_cast<tensor::InsertSliceOp>(op))
    return insertSlice(o);
  if (auto o = dyn_cast<tensor::ConcatOp>(op))
    return concat(o);
  if (auto fill = dyn_cast<linalg::FillOp>(op)) {
    auto type = cast<RankedTensorType>(fill.getResult(0).getType());
    openGrid(type.getShape(), type.getNumElements());
    return write(fill.getResult(0), destinationOf(fill.getResult(0)),
                 Box::whole(type.getShape()));
  }
  return op->emitOpError("has no kernel on the CPU yet; run it with "
                         "--device=reference");
}

LogicalResult heddle::buildLoopsKernel(func::FuncOp kernel,
                                       const TileTarget &target) {
  SmallVector<Operation *> ops;
  for (Operation &op : kernel.getBody().front())
    if (!isa<bufferization::ToTensorOp,
             bufferization::MaterializeInDestinationOp, tensor::EmptyOp,
             func::ReturnOp>(op) &&
        !op.hasTrait<OpTrait::ConstantLike>() &&
        !(isa<linalg::FillOp>(op) && !destinationOf(op.getResult(0))))
      ops.push_back(&op);
  if (ops.size() != 1)
    return kernel.emitError()
           << "expected one op in a loop kernel, got " << ops.size();
  return LoopsBuilder(kernel, ops.front(), target).build();
}
