//===- LoopsTile.cpp - kernels of one op that no tile builder takes -------===//
//
// The op becomes loops over its result on the kernel's buffers, one scalar at a
// time: correct for every structured op, meant for what is rare.
//
//===----------------------------------------------------------------------===//

#include "heddle/Codegen/Tile/LoopsTile.h"
#include "LoopsBuilder.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace heddle;

/// Points of the iteration space that are worth a block of their own.
static constexpr int64_t kPointsPerBlock = 2048;
/// Blocks of a GPU's grid; threads take several elements where there are more.
static constexpr int64_t kMaxGpuBlocks = 1 << 20;

//===----------------------------------------------------------------------===//
// Loops and blocks
//===----------------------------------------------------------------------===//

void LoopsBuilder::makeGrid(ArrayRef<int64_t> sizes) {
  b.setInsertionPoint(kernel.getBody().front().getTerminator());
  SmallVector<OpFoldResult> bounds = getAsIndexOpFoldResult(
      b.getContext(), sizes.drop_back(isGpu() ? 0 : sizes.size() - 1));
  auto grid = scf::ForallOp::create(b, loc, bounds, ValueRange{}, std::nullopt);
  b.setInsertionPointToStart(grid.getBody());
  if (!isGpu()) {
    begin = grid.getInductionVar(0);
    return;
  }
  kernel->setAttr(kKernelTile, b.getStringAttr("t" + Twine(sizes[1])));
  step = sizes[0] * sizes[1];
  first = arith::AddIOp::create(
      b, loc,
      arith::MulIOp::create(b, loc, grid.getInductionVar(0), index(sizes[1])),
      grid.getInductionVar(1));
}

void LoopsBuilder::openSingle() { makeGrid({1, 1}); }

/// On a CPU over an axis of `extents`: the outermost that feeds all workers,
/// else the longest.
void LoopsBuilder::openGrid(ArrayRef<int64_t> extents, int64_t points,
                            int64_t minBlocks) {
  if (isGpu()) {
    int64_t count = llvm::product_of(extents);
    int64_t blocks = llvm::divideCeil(count, target.blockThreads);
    makeGrid(
        {std::clamp<int64_t>(blocks, 1, kMaxGpuBlocks), target.blockThreads});
    return;
  }
  for (auto [axis, extent] : llvm::enumerate(extents)) {
    if (sharedAxis >= 0 && extent <= extents[sharedAxis])
      continue;
    sharedAxis = axis;
    if (extent >= 2 * target.threads)
      break;
  }
  int64_t extent = sharedAxis >= 0 ? extents[sharedAxis] : 1;
  int64_t blocks = std::min(4 * target.threads, points / kPointsPerBlock);
  blocks = std::clamp<int64_t>(std::max(blocks, minBlocks), 1, extent);
  chunk = llvm::divideCeil(extent, blocks);
  blocks = std::max<int64_t>(1, llvm::divideCeil(extent, chunk));
  makeGrid({blocks, 1});
  if (blocks == 1) {
    sharedAxis = -1;
    return;
  }
  begin = arith::MulIOp::create(b, loc, begin, index(chunk));
  end = arith::AddIOp::create(b, loc, begin, index(chunk));
  if (extent % chunk != 0)
    end = arith::MinSIOp::create(b, loc, end, index(extent));
}

void LoopsBuilder::nest(ArrayRef<int64_t> extents,
                        function_ref<void(Positions)> body) {
  SmallVector<int64_t> zeros(extents.size(), 0), ones(extents.size(), 1);
  scf::buildLoopNest(b, loc, indices(zeros), indices(extents), indices(ones),
                     [&](OpBuilder &, Location, ValueRange ivs) { body(ivs); });
}

SmallVector<Value> LoopsBuilder::nest(
    ArrayRef<int64_t> extents, ValueRange start,
    function_ref<SmallVector<Value>(Positions, ValueRange)> body) {
  SmallVector<int64_t> zeros(extents.size(), 0), ones(extents.size(), 1);
  scf::LoopNest loops = scf::buildLoopNest(
      b, loc, indices(zeros), indices(extents), indices(ones), start,
      [&](OpBuilder &, Location, ValueRange ivs, ValueRange carried) {
        SmallVector<Value> next = body(ivs, carried);
        return scf::ValueVector(next.begin(), next.end());
      });
  return SmallVector<Value>(loops.results);
}

/// Divisions of 32 bits where they do, as those of 64 are slow on a GPU.
SmallVector<Value> LoopsBuilder::positionsOf(Value linear,
                                             ArrayRef<int64_t> shape) {
  SmallVector<Value> positions(shape.size());
  bool narrow = llvm::product_of(shape) <= INT32_MAX;
  Type type = narrow ? b.getI32Type() : b.getI64Type();
  Value rest = arith::IndexCastOp::create(b, loc, type, linear);
  for (int64_t d = shape.size() - 1; d >= 0; --d) {
    Value at = rest;
    if (d > 0) {
      Value extent = arith::ConstantOp::create(
          b, loc, b.getIntegerAttr(type, std::max<int64_t>(1, shape[d])));
      at = arith::RemUIOp::create(b, loc, rest, extent);
      rest = arith::DivUIOp::create(b, loc, rest, extent);
    }
    positions[d] = arith::IndexCastOp::create(b, loc, b.getIndexType(), at);
  }
  return positions;
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

void LoopsBuilder::overBox(const Box &box, function_ref<void(Positions)> body) {
  overBox(
      box, box.sizes.size(), [](Positions) { return SmallVector<Value>(); },
      [&](Positions i, ValueRange) { body(i); });
}

void LoopsBuilder::overBox(const Box &box, unsigned leading,
                           function_ref<SmallVector<Value>(Positions)> prefix,
                           function_ref<void(Positions, ValueRange)> body) {
  unsigned rank = box.sizes.size();
  if (isGpu()) {
    int64_t count = llvm::product_of(box.sizes);
    if (count == 0)
      return;
    auto loop = scf::ForOp::create(b, loc, first, index(count), index(step));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    SmallVector<Value> i = positionsOf(loop.getInductionVar(), box.sizes);
    body(i, prefix(ArrayRef(i).take_front(leading)));
    return;
  }
  SmallVector<int64_t> zeros(rank, 0), ones(rank, 1);
  SmallVector<Value> lower = indices(zeros), upper = indices(box.sizes),
                     steps = indices(ones);
  if (sharedAxis >= 0) {
    int64_t offset = box.offsets[sharedAxis], stride = box.strides[sharedAxis],
            size = box.sizes[sharedAxis];
    Value &low = lower[sharedAxis], &high = upper[sharedAxis];
    bool clipped = offset != 0 || stride != 1;
    Value from = firstFrom(b, loc, begin, offset, stride);
    low = clipped ? arith::MaxSIOp::create(b, loc, from, low) : from;
    high = arith::MinSIOp::create(
        b, loc, firstFrom(b, loc, end, offset, stride), index(size));
  }
  scf::buildLoopNest(
      b, loc, ArrayRef(lower).take_front(leading),
      ArrayRef(upper).take_front(leading), ArrayRef(steps).take_front(leading),
      [&](OpBuilder &, Location, ValueRange outer) {
        SmallVector<Value> shared = prefix(outer);
        scf::buildLoopNest(b, loc, ArrayRef(lower).drop_front(leading),
                           ArrayRef(upper).drop_front(leading),
                           ArrayRef(steps).drop_front(leading),
                           [&](OpBuilder &, Location, ValueRange inner) {
                             SmallVector<Value> all(outer);
                             llvm::append_range(all, inner);
                             body(all, shared);
                           });
      });
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

/// Each element is one of the source where the box has it, else the
/// destination's. Blocks of a CPU write twice what the box covers, which is
/// faster; threads may not.
LogicalResult LoopsBuilder::insertSlice(tensor::InsertSliceOp insert) {
  std::optional<Box> box = boxOf(insert);
  if (!box)
    return insert.emitOpError("expected constant offsets, sizes and strides");
  if (llvm::any_of(box->strides, [](int64_t s) { return s < 1; }))
    return insert.emitOpError("expected strides of 1 or more");
  auto type = insert.getType();
  Value dest = destinationOf(insert);
  llvm::SmallBitVector dropped = insert.getDroppedDims();
  openGrid(type.getShape(), type.getNumElements());
  if (!isGpu())
    return failure(
        failed(write(insert.getDest(), dest, Box::whole(type.getShape()))) ||
        failed(write(insert.getSource(), dest, *box, dropped)));
  bool hasBase = !insert.getDest().getDefiningOp<tensor::EmptyOp>();
  if (!isReadable(insert.getSource()) || !isReadable(insert.getDest()))
    return insert.emitOpError("expected operands in memory or constant");
  overBox(Box::whole(type.getShape()), [&](Positions to) {
    Value inside;
    SmallVector<Value> from;
    for (auto [d, p] : llvm::enumerate(to)) {
      Value i = p;
      if (box->offsets[d] != 0)
        i = arith::SubIOp::create(b, loc, i, index(box->offsets[d]));
      if (box->strides[d] != 1) {
        Value stride = index(box->strides[d]);
        inside = both(inside, compare(arith::CmpIPredicate::eq,
                                      arith::RemSIOp::create(b, loc, i, stride),
                                      index(0)));
        i = arith::FloorDivSIOp::create(b, loc, i, stride);
      }
      // Below the box the difference is negative: large as unsigned.
      if (box->offsets[d] != 0 || box->sizes[d] != type.getDimSize(d))
        inside = both(inside, compare(arith::CmpIPredicate::ult, i,
                                      index(box->sizes[d])));
      if (!dropped[d])
        from.push_back(i);
    }
    auto put = [&](Value tensor, Positions at) {
      storeScalar(b, loc, element(tensor, at), dest, to);
    };
    if (!inside)
      return put(insert.getSource(), from);
    auto branch = scf::IfOp::create(b, loc, inside, hasBase);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    put(insert.getSource(), from);
    if (!hasBase)
      return;
    b.setInsertionPointToStart(branch.elseBlock());
    put(insert.getDest(), to);
  });
  return success();
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
  if (auto o = dyn_cast<GatherOp>(op))
    return gather(o);
  if (auto o = dyn_cast<ScatterAddOp>(op))
    return scatterAdd(o);
  if (auto o = dyn_cast<RandomBitsOp>(op))
    return randomBits(o);
  return op->emitOpError("has no kernel yet; run it with --device=reference");
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
