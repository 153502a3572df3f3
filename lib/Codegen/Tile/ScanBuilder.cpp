//===- ScanBuilder.cpp - what the tile programs of scans share ------------===//

#include "ScanBuilder.h"

#include "heddle/Codegen/Tile/KernelBody.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace heddle;

//===----------------------------------------------------------------------===//
// Scalar functions
//===----------------------------------------------------------------------===//

Value Scalars::sigmoid(Value x) {
  Value e = math::ExpOp::create(b, loc, arith::NegFOp::create(b, loc, x));
  return arith::DivFOp::create(b, loc, number(1.0), add(number(1.0), e));
}

Value Scalars::softplus(Value x) {
  Value small =
      math::Log1pOp::create(b, loc, math::ExpOp::create(b, loc, x).getResult());
  Value large =
      arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGT, x, number(20.0));
  return arith::SelectOp::create(b, loc, large, x, small);
}

Value Scalars::softplusSlope(Value x) {
  Value large =
      arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGT, x, number(20.0));
  return arith::SelectOp::create(b, loc, large, number(1.0), sigmoid(x));
}

//===----------------------------------------------------------------------===//
// Time
//===----------------------------------------------------------------------===//

Value ScanBuilder::position(Value step) {
  return reverse ? arith::SubIOp::create(b, loc, t.index(length - 1), step)
                       .getResult()
                 : step;
}

Value ScanBuilder::element(Value buffer, ValueRange indices) {
  auto type = cast<MemRefType>(buffer.getType());
  Value whole;
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(buffer.getParentBlock());
    whole = bufferization::ToTensorOp::create(
        b, loc, RankedTensorType::get(type.getShape(), type.getElementType()),
        buffer, /*restrict=*/true);
  }
  return tensor::ExtractOp::create(b, loc, whole, indices);
}

Value ScanBuilder::startsSegment(Value position) {
  if (!resetIds)
    return {};
  // The first step has no step before it and is compared with itself.
  Value before = t.mulAdd(position, 1, reverse ? 1 : -1);
  before = reverse
               ? arith::MinSIOp::create(b, loc, before, t.index(length - 1))
                     .getResult()
               : arith::MaxSIOp::create(b, loc, before, t.index(0)).getResult();
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne,
                               element(resetIds, {batch, position}),
                               element(resetIds, {batch, before}));
}

Value ScanBuilder::startsScan(Value position, Value resets, bool hasState) {
  if (hasState)
    return resets;
  Value first = t.index(reverse ? std::max<int64_t>(length - 1, 0) : 0);
  Value isFirst =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, position, first);
  return resets ? arith::OrIOp::create(b, loc, resets, isFirst).getResult()
                : isFirst;
}

ScanBuilder::Chunk ScanBuilder::chunkAt(Value walk, int64_t size) {
  int64_t count = llvm::divideCeil(length, size);
  Value number = walk;
  if (reverse)
    number = arith::SubIOp::create(b, loc, t.index(count - 1), walk);
  Chunk chunk{size, t.mulAdd(number, size), t.index(size), length % size != 0};
  if (!chunk.ragged)
    return chunk;
  AffineExpr d0 = b.getAffineDimExpr(0);
  AffineMap map = AffineMap::get(
      1, 0, {b.getAffineConstantExpr(size), length - d0}, b.getContext());
  chunk.steps = affine::AffineMinOp::create(b, loc, map, chunk.first);
  return chunk;
}

SmallVector<Value> ScanBuilder::overColumns(
    const Chunk &chunk, bool backwards, ValueRange carried,
    function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  return loop(
      t.index(0), chunk.steps, carried, [&](Value step, ValueRange values) {
        Value at = step;
        if (backwards != reverse)
          at =
              arith::SubIOp::create(b, loc, t.mulAdd(chunk.steps, 1, -1), step);
        return body(at, values);
      });
}

SmallVector<Value>
ScanBuilder::loop(Value begin, Value end, ValueRange carried,
                  function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  auto loop = scf::ForOp::create(b, loc, begin, end, t.index(1), carried);
  OpBuilder::InsertionGuard guard(b);
  if (carried.empty())
    b.setInsertionPoint(loop.getBody()->getTerminator());
  else
    b.setInsertionPointToEnd(loop.getBody());
  SmallVector<Value> next =
      body(loop.getInductionVar(), loop.getRegionIterArgs());
  if (!carried.empty())
    scf::YieldOp::create(b, loc, next);
  return llvm::to_vector_of<Value>(loop.getResults());
}

//===----------------------------------------------------------------------===//
// Loads and stores
//===----------------------------------------------------------------------===//

static int64_t extent(Value buffer, int64_t axis) {
  return cast<MemRefType>(buffer.getType()).getDimSize(axis);
}

SmallVector<AxisRange> ScanBuilder::channelRanges(Value buffer,
                                                  const AxisRange *time) {
  int64_t rank = cast<MemRefType>(buffer.getType()).getRank();
  SmallVector<AxisRange> ranges;
  if (rank > 1)
    ranges.push_back(AxisRange::point(batch, extent(buffer, 0)));
  if (time)
    ranges.push_back(*time);
  ranges.push_back(rows);
  return ranges;
}

SmallVector<AxisRange> ScanBuilder::stateRanges(Value buffer) {
  SmallVector<AxisRange> ranges;
  if (cast<MemRefType>(buffer.getType()).getRank() > 2)
    ranges.push_back(AxisRange::point(batch, extent(buffer, 0)));
  ranges.push_back(rows);
  ranges.push_back(AxisRange::tile({}, numStates, numStates));
  return ranges;
}

Value ScanBuilder::channels(Value buffer, Value position) {
  AxisRange time = AxisRange::point(position, length);
  return t.load(buffer, channelRanges(buffer, position ? &time : nullptr));
}

Value ScanBuilder::channels(Value buffer, const Chunk &chunk) {
  AxisRange time = AxisRange::tile(chunk.first, chunk.size, length);
  return t.transpose(t.load(buffer, channelRanges(buffer, &time)));
}

Value ScanBuilder::states(Value buffer) {
  return t.load(buffer, stateRanges(buffer));
}

Value ScanBuilder::stateRow(Value buffer, Value position) {
  SmallVector<AxisRange> ranges = {AxisRange::point(batch, extent(buffer, 0)),
                                   AxisRange::point(position, length)};
  if (cast<MemRefType>(buffer.getType()).getRank() == 4) {
    int64_t groups = extent(buffer, 2);
    Value group = arith::DivUIOp::create(b, loc, rows.offset,
                                         t.index(rows.extent / groups));
    ranges.push_back(AxisRange::point(group, groups));
  }
  ranges.push_back(AxisRange::tile({}, numStates, numStates));
  return t.load(buffer, ranges);
}

void ScanBuilder::storeChannels(Value tile, Value buffer, Value position) {
  AxisRange time = AxisRange::point(position, length);
  t.store(tile, buffer, channelRanges(buffer, position ? &time : nullptr));
}

void ScanBuilder::storeChannels(Value tile, Value buffer, const Chunk &chunk) {
  // Rows of the tile are channels, the last axis.
  TileStoreOp::create(b, loc, tile, buffer,
                      ValueRange{batch, chunk.first, rows.offset},
                      ArrayRef<int64_t>{2, 1}, /*accumulate=*/false);
}

void ScanBuilder::storeStates(Value tile, Value buffer) {
  t.store(tile, buffer, stateRanges(buffer));
}

//===----------------------------------------------------------------------===//
// Arithmetic on tiles
//===----------------------------------------------------------------------===//

/// Calls body with f32 values and narrows what it returns.
static Value inF32(OpBuilder &nested, Location loc, ValueRange args,
                   ScanBuilder::Body body, Type element) {
  SmallVector<Value> wide;
  for (Value v : args)
    wide.push_back(
        v.getType().isF32()
            ? v
            : arith::ExtFOp::create(nested, loc, nested.getF32Type(), v)
                  .getResult());
  Scalars scalars{nested, loc};
  Value result = body(scalars, wide);
  if (element.isF32())
    return result;
  return arith::TruncFOp::create(nested, loc, element, result);
}

Value ScanBuilder::undefined(ArrayRef<int64_t> shape) {
  return tensor::EmptyOp::create(b, loc, shape, b.getF32Type());
}

Value ScanBuilder::column(Value tile, Value at) {
  auto type = cast<RankedTensorType>(tile.getType());
  OpFoldResult zero = b.getIndexAttr(0), one = b.getIndexAttr(1);
  return tensor::ExtractSliceOp::create(
      b, loc, RankedTensorType::get({rows.size}, type.getElementType()), tile,
      ArrayRef<OpFoldResult>{zero, at},
      ArrayRef<OpFoldResult>{b.getIndexAttr(rows.size), one},
      ArrayRef<OpFoldResult>{one, one});
}

Value ScanBuilder::withColumn(Value tile, Value at, Value column) {
  OpFoldResult zero = b.getIndexAttr(0), one = b.getIndexAttr(1);
  return tensor::InsertSliceOp::create(
      b, loc, column, tile, ArrayRef<OpFoldResult>{zero, at},
      ArrayRef<OpFoldResult>{b.getIndexAttr(rows.size), one},
      ArrayRef<OpFoldResult>{one, one});
}

Value ScanBuilder::overChannels(ArrayRef<Value> inputs, Body body,
                                Type element) {
  if (!element)
    element = b.getF32Type();
  SmallVector<Dims> dims(inputs.size(), Dims{0});
  return t.elementwise(inputs, dims, {rows.size}, element,
                       [&](OpBuilder &nested, ValueRange args) {
                         return inF32(nested, loc, args, body, element);
                       });
}

Value ScanBuilder::overStates(ArrayRef<Value> inputs, ArrayRef<Dims> dims,
                              Body body) {
  return t.elementwise(inputs, dims, {rows.size, numStates}, b.getF32Type(),
                       [&](OpBuilder &nested, ValueRange args) {
                         return inF32(nested, loc, args, body, b.getF32Type());
                       });
}

Value ScanBuilder::overTime(const Chunk &chunk, ArrayRef<Value> inputs,
                            ArrayRef<Dims> dims, Body body, Type element) {
  if (!element)
    element = b.getF32Type();
  return t.elementwise(inputs, dims, {rows.size, chunk.size}, element,
                       [&](OpBuilder &nested, ValueRange args) {
                         return inF32(nested, loc, args, body, element);
                       });
}

Value ScanBuilder::sum(int64_t cols, ArrayRef<Value> inputs,
                       ArrayRef<Dims> dims, int64_t kept, Body body) {
  auto map = [&](ArrayRef<int64_t> of) {
    SmallVector<AffineExpr> exprs;
    for (int64_t d : of)
      exprs.push_back(b.getAffineDimExpr(d));
    return AffineMap::get(2, 0, exprs, b.getContext());
  };
  SmallVector<AffineMap> maps;
  for (const Dims &d : dims)
    maps.push_back(map(d));
  maps.push_back(map({kept}));
  SmallVector<utils::IteratorType> iterators(2, utils::IteratorType::reduction);
  iterators[kept] = utils::IteratorType::parallel;
  Value init = t.fill({kept == 0 ? rows.size : cols}, b.getF32Type(), 0.0);
  return linalg::GenericOp::create(
             b, loc, init.getType(), inputs, init, maps, iterators,
             [&](OpBuilder &nested, Location l, ValueRange args) {
               Value term = inF32(nested, l, args.drop_back(), body,
                                  nested.getF32Type());
               linalg::YieldOp::create(
                   nested, l,
                   arith::AddFOp::create(nested, l, args.back(), term)
                       .getResult());
             })
      .getResult(0);
}

/// Zero where position `axis` of the iteration space is not below `limit`.
static Value whereBelow(Scalars &e, int64_t axis, Value limit, Value v) {
  Value at = linalg::IndexOp::create(e.b, e.loc, axis);
  Value outside =
      arith::CmpIOp::create(e.b, e.loc, arith::CmpIPredicate::sge, at, limit);
  return e.unless(outside, v, 0.0);
}

Value ScanBuilder::sumStates(ArrayRef<Value> inputs, ArrayRef<Dims> dims,
                             Body body) {
  return sum(numStates, inputs, dims, 0, body);
}

Value ScanBuilder::sumTime(const Chunk &chunk, ArrayRef<Value> inputs,
                           ArrayRef<Dims> dims, Body body) {
  if (!chunk.ragged)
    return sum(chunk.size, inputs, dims, 0, body);
  return sum(chunk.size, inputs, dims, 0, [&](Scalars &e, ValueRange args) {
    return whereBelow(e, 1, chunk.steps, body(e, args));
  });
}

Value ScanBuilder::sumChannels(ArrayRef<Value> inputs, ArrayRef<Dims> dims,
                               Body body) {
  if (rows.aligned)
    return sum(numStates, inputs, dims, 1, body);
  // Rows beyond the last channel hold what padding gives, which need not be 0.
  Value left = arith::SubIOp::create(b, loc, t.index(rows.extent), rows.offset);
  return sum(numStates, inputs, dims, 1, [&](Scalars &e, ValueRange args) {
    return whereBelow(e, 0, left, body(e, args));
  });
}
