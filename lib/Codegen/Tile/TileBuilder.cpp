//===- TileBuilder.cpp - emits the ops of a tile program ------------------===//

#include "heddle/Codegen/Tile/TileBuilder.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace heddle;

Value TileBuilder::index(int64_t value) {
  return arith::ConstantIndexOp::create(b, loc, value);
}

Value TileBuilder::constant(Type type, double value) {
  if (isa<FloatType>(type))
    return arith::ConstantOp::create(b, loc, b.getFloatAttr(type, value));
  return arith::ConstantOp::create(
      b, loc, b.getIntegerAttr(type, static_cast<int64_t>(value)));
}

Value TileBuilder::mulAdd(Value a, int64_t scale, int64_t add) {
  if (scale != 1)
    a = arith::MulIOp::create(b, loc, a, index(scale));
  if (add != 0)
    a = arith::AddIOp::create(b, loc, a, index(add));
  return a;
}

static void splitRanges(TileBuilder &t, ArrayRef<AxisRange> ranges,
                        SmallVector<OpFoldResult> &offsets,
                        SmallVector<OpFoldResult> &sizes,
                        SmallVector<int64_t> &tileShape,
                        SmallVector<int64_t> &sliceShape, bool &ragged) {
  ragged = false;
  for (const AxisRange &r : ranges) {
    offsets.push_back(r.offset ? OpFoldResult(r.offset)
                               : OpFoldResult(t.b.getIndexAttr(0)));
    if (r.isPoint) {
      sizes.push_back(t.b.getIndexAttr(1));
      continue;
    }
    tileShape.push_back(r.size);
    bool inside = r.offset ? r.aligned : r.size <= r.extent;
    if (inside) {
      sizes.push_back(t.b.getIndexAttr(r.size));
      sliceShape.push_back(r.size);
      continue;
    }
    ragged = true;
    sliceShape.push_back(ShapedType::kDynamic);
    if (!r.offset) {
      sizes.push_back(t.index(r.extent).getDefiningOp()->getResult(0));
      continue;
    }
    // min(size, extent - offset)
    AffineExpr d0 = t.b.getAffineDimExpr(0);
    AffineMap map = AffineMap::get(
        1, 0, {t.b.getAffineConstantExpr(r.size), r.extent - d0},
        t.b.getContext());
    sizes.push_back(
        affine::AffineMinOp::create(t.b, t.loc, map, r.offset).getResult());
  }
}

Value TileBuilder::load(Value buffer, ArrayRef<AxisRange> ranges, double pad) {
  auto type = cast<MemRefType>(buffer.getType());
  Value &whole = tensorOf[buffer];
  if (!whole) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(buffer.getParentBlock());
    whole = bufferization::ToTensorOp::create(
        b, loc, RankedTensorType::get(type.getShape(), type.getElementType()),
        buffer, /*restrict=*/true);
  }
  SmallVector<OpFoldResult> offsets, sizes;
  SmallVector<int64_t> tileShape, sliceShape;
  bool ragged;
  splitRanges(*this, ranges, offsets, sizes, tileShape, sliceShape, ragged);
  SmallVector<OpFoldResult> strides(ranges.size(), b.getIndexAttr(1));
  Value slice = tensor::ExtractSliceOp::create(
      b, loc, RankedTensorType::get(sliceShape, type.getElementType()), whole,
      offsets, sizes, strides);
  if (!ragged)
    return slice;
  SmallVector<OpFoldResult> low(tileShape.size(), b.getIndexAttr(0)), high;
  unsigned axis = 0;
  for (auto [range, size] : llvm::zip(ranges, sizes)) {
    if (range.isPoint)
      continue;
    if (ShapedType::isDynamic(sliceShape[axis++]))
      high.push_back(
          arith::SubIOp::create(b, loc, index(range.size), cast<Value>(size))
              .getResult());
    else
      high.push_back(b.getIndexAttr(0));
  }
  return tensor::PadOp::create(
      b, loc, RankedTensorType::get(tileShape, type.getElementType()), slice,
      low, high, constant(type.getElementType(), pad));
}

Value TileBuilder::fill(ArrayRef<int64_t> shape, Type element, double value) {
  Value empty = tensor::EmptyOp::create(b, loc, shape, element);
  return linalg::FillOp::create(b, loc, constant(element, value), empty)
      .getResult(0);
}

Value TileBuilder::transpose(Value tile) {
  auto type = cast<RankedTensorType>(tile.getType());
  Value empty = tensor::EmptyOp::create(
      b, loc, {type.getDimSize(1), type.getDimSize(0)}, type.getElementType());
  return linalg::TransposeOp::create(b, loc, tile, empty,
                                     ArrayRef<int64_t>{1, 0})
      ->getResult(0);
}

static AffineMap projection(OpBuilder &b, unsigned numDims,
                            ArrayRef<int64_t> dims) {
  SmallVector<AffineExpr> exprs;
  for (int64_t d : dims)
    exprs.push_back(b.getAffineDimExpr(d));
  return AffineMap::get(numDims, 0, exprs, b.getContext());
}

Value TileBuilder::elementwise(ArrayRef<Value> inputs,
                               ArrayRef<SmallVector<int64_t>> dims,
                               ArrayRef<int64_t> shape, Type element,
                               BodyFn body) {
  SmallVector<AffineMap> maps;
  for (const SmallVector<int64_t> &d : dims)
    maps.push_back(projection(b, shape.size(), d));
  maps.push_back(b.getMultiDimIdentityMap(shape.size()));
  SmallVector<utils::IteratorType> iterators(shape.size(),
                                             utils::IteratorType::parallel);
  Value empty = tensor::EmptyOp::create(b, loc, shape, element);
  return linalg::GenericOp::create(
             b, loc, empty.getType(), inputs, empty, maps, iterators,
             [&](OpBuilder &nested, Location l, ValueRange args) {
               linalg::YieldOp::create(nested, l,
                                       body(nested, args.drop_back()));
             })
      .getResult(0);
}

Value TileBuilder::reduceCols(Value tile, Value init, BodyFn combine) {
  AffineMap maps[] = {b.getMultiDimIdentityMap(2), projection(b, 2, {0})};
  utils::IteratorType iterators[] = {utils::IteratorType::parallel,
                                     utils::IteratorType::reduction};
  return linalg::GenericOp::create(
             b, loc, init.getType(), tile, init, maps, iterators,
             [&](OpBuilder &nested, Location l, ValueRange args) {
               linalg::YieldOp::create(nested, l, combine(nested, args));
             })
      .getResult(0);
}

Value TileBuilder::contract(Value a, Value bTile, Value acc, bool transposedB,
                            Guard guard) {
  AffineMap maps[] = {
      projection(b, 3, {0, 2}),
      projection(b, 3, transposedB ? ArrayRef<int64_t>{1, 2}
                                   : ArrayRef<int64_t>{2, 1}),
      projection(b, 3, {0, 1})};
  utils::IteratorType iterators[] = {utils::IteratorType::parallel,
                                     utils::IteratorType::parallel,
                                     utils::IteratorType::reduction};
  Type accType = cast<RankedTensorType>(acc.getType()).getElementType();
  return linalg::GenericOp::create(
             b, loc, acc.getType(), ValueRange{a, bTile}, acc, maps, iterators,
             [&](OpBuilder &nested, Location l, ValueRange args) {
               auto widen = [&](Value v) -> Value {
                 return v.getType() == accType
                            ? v
                            : arith::ExtFOp::create(nested, l, accType, v);
               };
               Value product = arith::MulFOp::create(nested, l, widen(args[0]),
                                                     widen(args[1]));
               Value sum =
                   arith::AddFOp::create(nested, l, args[2], product);
               if (guard != Guard::None) {
                 Value zero = arith::ConstantOp::create(
                     nested, l, nested.getFloatAttr(args[0].getType(), 0.0));
                 // Unordered: a NaN weight is a present one.
                 Value present = arith::CmpFOp::create(
                     nested, l,
                     guard == Guard::Negative ? arith::CmpFPredicate::UGE
                                              : arith::CmpFPredicate::UNE,
                     args[0], zero);
                 sum = arith::SelectOp::create(nested, l, present, sum,
                                               args[2]);
               }
               linalg::YieldOp::create(nested, l, sum);
             })
      .getResult(0);
}

void TileBuilder::store(Value tile, Value buffer, ArrayRef<AxisRange> ranges) {
  SmallVector<Value> offsets;
  SmallVector<int64_t> dims;
  for (auto [axis, r] : llvm::enumerate(ranges)) {
    offsets.push_back(r.offset ? r.offset : index(0));
    if (!r.isPoint)
      dims.push_back(axis);
  }
  TileStoreOp::create(b, loc, tile, buffer, offsets, dims,
                      /*accumulate=*/false);
}
