//===- HeddleTiling.cpp - attention over batch, heads and query rows ------===//
//
// TilingInterface of heddle.attention. A tile is an attention op on slices that
// counts its rows, heads and batch entries from 0: the score region gets the
// offsets added, and where that cannot be expressed (a mask over row positions,
// heads that straddle groups) the tile is refused.
//
//===----------------------------------------------------------------------===//

#include "heddle/Dialect/Heddle/IR/Heddle.h"

#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace heddle;

using Sizes = SmallVector<OpFoldResult>;

/// (b, h, i, d) in the order of the layout.
static Sizes inLayout(AttentionOp op, OpFoldResult b, OpFoldResult h,
                      OpFoldResult i, OpFoldResult d) {
  if (op.getLayout() == AttentionLayout::BSHD)
    return {b, i, h, d};
  return {b, h, i, d};
}

LogicalResult
AttentionOp::reifyResultShapes(OpBuilder &b,
                               ReifiedRankedShapedTypeDims &shapes) {
  Sizes query = tensor::getMixedSizes(b, getLoc(), getQuery());
  Sizes out = query;
  out[3] = tensor::getMixedSize(b, getLoc(), getValue(), 3);
  shapes.push_back(out);
  bool bshd = getLayout() == AttentionLayout::BSHD;
  if (getLse())
    shapes.push_back({query[0], query[bshd ? 2 : 1], query[bshd ? 1 : 2]});
  return success();
}

SmallVector<utils::IteratorType> AttentionOp::getLoopIteratorTypes() {
  return SmallVector<utils::IteratorType>(3, utils::IteratorType::parallel);
}

SmallVector<Range> AttentionOp::getIterationDomain(OpBuilder &b) {
  bool bshd = getLayout() == AttentionLayout::BSHD;
  SmallVector<Range> domain;
  for (unsigned axis : {0, bshd ? 2 : 1, bshd ? 1 : 2})
    domain.push_back({b.getIndexAttr(0),
                      tensor::getMixedSize(b, getLoc(), getQuery(), axis),
                      b.getIndexAttr(1)});
  return domain;
}

/// The key heads that query heads [offset, offset + size) read.
static FailureOr<std::pair<OpFoldResult, OpFoldResult>>
keyHeadsOf(AttentionOp op, OpBuilder &b, OpFoldResult offset,
           OpFoldResult size) {
  int64_t heads = op.getQueryHeads(), keyHeads = op.getKeyHeads();
  if (ShapedType::isDynamic(heads) || ShapedType::isDynamic(keyHeads))
    return failure();
  if (heads == keyHeads)
    return std::pair(offset, size);
  if (keyHeads == 1)
    return std::pair<OpFoldResult, OpFoldResult>(b.getIndexAttr(0),
                                                 b.getIndexAttr(1));
  std::optional<int64_t> o = getConstantIntValue(offset);
  std::optional<int64_t> n = getConstantIntValue(size);
  int64_t group = heads / keyHeads;
  if (!o || !n || *n <= 0)
    return failure();
  bool wholeGroups = *o % group == 0 && *n % group == 0;
  bool insideGroup = *o / group == (*o + *n - 1) / group;
  if (!wholeGroups && !insideGroup)
    return failure();
  return std::pair<OpFoldResult, OpFoldResult>(
      b.getIndexAttr(*o / group), b.getIndexAttr(wholeGroups ? *n / group : 1));
}

/// Clones the score region with the offsets added to its positions.
static void cloneScore(AttentionOp op, AttentionOp tile, OpBuilder &b,
                       OpFoldResult batch, OpFoldResult head,
                       OpFoldResult row) {
  if (op.getScore().empty())
    return;
  OpFoldResult offsets[] = {batch, head, row};
  SmallVector<Value> starts;
  b.setInsertionPoint(tile);
  for (OpFoldResult offset : offsets)
    starts.push_back(isZeroInteger(offset) ? Value()
                                           : getValueOrCreateConstantIndexOp(
                                                 b, op.getLoc(), offset));
  Block &from = op.getScore().front();
  SmallVector<Location> locs(from.getNumArguments(), op.getLoc());
  Block *body =
      b.createBlock(&tile.getScore(), {}, from.getArgumentTypes(), locs);
  IRMapping mapping;
  mapping.map(from.getArguments(), body->getArguments());
  for (auto [number, start] : llvm::enumerate(starts))
    if (start) {
      // Argument 0 is the score, the positions follow.
      Value shifted = arith::AddIOp::create(
          b, op.getLoc(), body->getArgument(number + 1), start);
      mapping.map(from.getArgument(number + 1), shifted);
    }
  for (Operation &inner : from)
    b.clone(inner, mapping);
}

FailureOr<TilingResult>
AttentionOp::getTiledImplementation(OpBuilder &b,
                                    ArrayRef<OpFoldResult> offsets,
                                    ArrayRef<OpFoldResult> sizes) {
  OpBuilder::InsertionGuard guard(b);
  Location loc = getLoc();
  OpFoldResult zero = b.getIndexAttr(0), one = b.getIndexAttr(1);
  bool bshd = getLayout() == AttentionLayout::BSHD;
  bool allRows = isZeroInteger(offsets[2]) &&
                 getConstantIntValue(sizes[2]) == getQueryLength();
  if (!allRows && getMask() && getMask()->dependsOnQueryPosition())
    return emitOpError() << "expected a mask without query positions to tile "
                            "query rows, got "
                         << getMaskAttr() << "; tile batch and heads only";
  auto keyHeads = keyHeadsOf(*this, b, offsets[1], sizes[1]);
  if (failed(keyHeads))
    return emitOpError() << "expected tiles of whole head groups at constant "
                            "offsets, got query heads "
                         << getQueryHeads() << " over key heads "
                         << getKeyHeads() << "; tile batch and rows only";

  TilingResult result;
  auto slice = [&](Value v, Sizes from, Sizes extent) -> Value {
    if (!v)
      return v;
    Sizes strides(from.size(), one);
    auto op = tensor::ExtractSliceOp::create(b, loc, v, from, extent, strides);
    result.generatedSlices.push_back(op);
    return op;
  };
  // Axes of extent 1 broadcast: every tile reads all of them.
  OpFoldResult keyLength = tensor::getMixedSize(b, loc, getKey(), bshd ? 1 : 2);
  auto sliceScores = [&](Value v) -> Value {
    if (!v)
      return v;
    Sizes from = {offsets[0], offsets[1], offsets[2], zero};
    Sizes extent = {sizes[0], sizes[1], sizes[2], keyLength};
    for (auto [axis, size] :
         llvm::enumerate(cast<RankedTensorType>(v.getType()).getShape()))
      if (size == 1) {
        from[axis] = zero;
        extent[axis] = one;
      }
    return slice(v, from, extent);
  };
  auto dim = [&](Value v) { return tensor::getMixedSize(b, loc, v, 3); };

  Value query = slice(
      getQuery(), inLayout(*this, offsets[0], offsets[1], offsets[2], zero),
      inLayout(*this, sizes[0], sizes[1], sizes[2], dim(getQuery())));
  auto sliceKeys = [&](Value v) {
    return slice(
        v, inLayout(*this, offsets[0], keyHeads->first, zero, zero),
        inLayout(*this, sizes[0], keyHeads->second, keyLength, dim(v)));
  };
  Value key = sliceKeys(getKey()), value = sliceKeys(getValue());
  Value bias = sliceScores(getBias());
  Value querySegments =
      slice(getQuerySegments(), {offsets[0], offsets[2]}, {sizes[0], sizes[2]});
  Value keySegments =
      slice(getKeySegments(), {offsets[0], zero}, {sizes[0], keyLength});
  Value keyLengths = slice(getKeyLengths(), {offsets[0]}, {sizes[0]});
  Value maskTensor = sliceScores(getMaskTensor());
  Value sinks = slice(getSinks(), {offsets[1]}, {sizes[1]});
  Type lse = getLse() ? inferLseType(query.getType(), getLayout())
                      : RankedTensorType();
  auto tile = AttentionOp::create(
      b, loc, inferOutType(query.getType(), value.getType()), lse, query, key,
      value, bias, querySegments, keySegments, keyLengths, maskTensor, sinks,
      getLayout(), getScaleAttr(), getMaskAttr(), getPrecision());
  tile->setDiscardableAttrs((*this)->getDiscardableAttrDictionary());
  cloneScore(*this, tile, b, offsets[0], offsets[1], offsets[2]);
  result.tiledOps.push_back(tile);
  llvm::append_range(result.tiledValues, tile->getResults());
  return result;
}

LogicalResult AttentionOp::getResultTilePosition(
    OpBuilder &b, unsigned resultNumber, ArrayRef<OpFoldResult> offsets,
    ArrayRef<OpFoldResult> sizes, SmallVector<OpFoldResult> &resultOffsets,
    SmallVector<OpFoldResult> &resultSizes) {
  if (resultNumber == 1) {
    resultOffsets.assign(offsets.begin(), offsets.end());
    resultSizes.assign(sizes.begin(), sizes.end());
    return success();
  }
  OpFoldResult dim = tensor::getMixedSize(b, getLoc(), getValue(), 3);
  resultOffsets =
      inLayout(*this, offsets[0], offsets[1], offsets[2], b.getIndexAttr(0));
  resultSizes = inLayout(*this, sizes[0], sizes[1], sizes[2], dim);
  return success();
}
