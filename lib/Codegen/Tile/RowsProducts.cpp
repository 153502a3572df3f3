//===- RowsProducts.cpp - tiles of contractions ---------------------------===//

#include "RowsBuilder.h"
#include "heddle/Codegen/Tile/KernelBody.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace heddle;

static Type elementOf(Value v) {
  return cast<RankedTensorType>(v.getType()).getElementType();
}

/// A tile in f32, or rounded from it.
Value RowsBuilder::convert(Value tile, Type to) {
  if (elementOf(tile) == to)
    return tile;
  auto type = cast<RankedTensorType>(tile.getType());
  return t.elementwise({tile}, {{0, 1}}, type.getShape(), to,
                       [&](OpBuilder &nb, ValueRange args) -> Value {
                         if (to.isF32())
                           return arith::ExtFOp::create(nb, loc, to, args[0]);
                         return arith::TruncFOp::create(nb, loc, to, args[0]);
                       });
}

/// Whether the right operand has its columns before the depth.
static bool isRightTransposed(linalg::GenericOp op, const RowsContraction &c) {
  for (AffineExpr e : op.getIndexingMapsArray()[1].getResults()) {
    unsigned d = cast<AffineDimExpr>(e).getPosition();
    if (d == c.k || d == c.n)
      return d == c.n;
  }
  return false;
}

/// Adds the product over `size` steps of the depth from `offset` on (null: 0).
/// With `ragged` the tile reaches over the end of the depth.
Value RowsBuilder::depthStep(linalg::GenericOp op, const RowsContraction &c,
                             ArrayRef<TileDim> loops, Value offset,
                             int64_t size, Value acc, bool ragged) {
  int64_t depth = op.getStaticLoopRanges()[c.k];
  OpOperand &left = *op.getDpsInputOperand(0), &right = *op.getDpsInputOperand(1);
  SmallVector<TileDim> inner(loops);
  inner[c.k] = TileDim::tile(offset, size, depth, 1);
  inner[c.k].range.aligned = !ragged;
  Value a = get(left.get(), project(left, inner));
  // The right operand's axes in memory order become its tile axes.
  bool transposed = isRightTransposed(op, c);
  SmallVector<TileDim> rightLoops(inner);
  rightLoops[c.k].axis = transposed ? 1 : 0;
  rightLoops[c.n].axis = transposed ? 0 : 1;
  Value r = get(right.get(), project(right, rightLoops));
  // A prologue may have turned the zeros of the padding into anything.
  auto zeroBeyondDepth = [&](Value v, int64_t axis) {
    auto type = cast<RankedTensorType>(v.getType());
    return t.elementwise(
        {v}, {{0, 1}}, type.getShape(), type.getElementType(),
        [&](OpBuilder &nb, ValueRange args) -> Value {
          Value k = linalg::IndexOp::create(nb, loc, axis);
          Value rest = t.index(depth);
          if (offset)
            rest = arith::SubIOp::create(nb, loc, rest, offset);
          Value inside = arith::CmpIOp::create(
              nb, loc, arith::CmpIPredicate::slt, k, rest);
          Value zero = arith::ConstantOp::create(
              nb, loc, nb.getZeroAttr(type.getElementType()));
          return arith::SelectOp::create(nb, loc, inside, args[0], zero);
        });
  };
  if (ragged && !bufferOf(left.get()))
    a = zeroBeyondDepth(a, 1);
  if (ragged && !bufferOf(right.get()))
    r = zeroBeyondDepth(r, transposed ? 1 : 0);
  Type operandType = elementOf(a);
  // The matrix unit takes 16 bits as they are, and both of one type.
  if (!target.matrixUnits || operandType != elementOf(r) ||
      operandType.getIntOrFloatBitWidth() != 16)
    operandType = b.getF32Type();
  return t.contract(convert(a, operandType), convert(r, operandType), acc,
                    transposed);
}

/// Adds the product over the whole depth, in blocks.
Value RowsBuilder::depthLoop(linalg::GenericOp op, const RowsContraction &c,
                             ArrayRef<TileDim> loops, Value acc) {
  int64_t depth = op.getStaticLoopRanges()[c.k];
  OpOperand &left = *op.getDpsInputOperand(0);
  int64_t block = depth;
  if (hasContraction(left.get()))
    block = std::min<int64_t>(depth, shape.hiddenTile);
  else if (target.matrixUnits)
    block = shape.depthTile;
  else if (depth > 512) // row statistics of the left operand are made ahead
    block = shape.depthTile;
  // Matrix units multiply 16 steps of the depth at a time.
  auto whole = [&](int64_t size) -> int64_t {
    return target.matrixUnits ? llvm::alignTo(size, 16) : size;
  };
  if (block >= depth)
    return depthStep(op, c, loops, {}, whole(depth), acc, whole(depth) != depth);
  SmallVector<TileDim> full(loops);
  full[c.k] = TileDim::tile({}, depth, depth, 1);
  SmallVector<bool> unknown;
  for (AffineExpr e : op.getMatchingIndexingMap(&left).getResults())
    unknown.push_back(cast<AffineDimExpr>(e).getPosition() == c.k);
  prefetch(left.get(), project(left, full), unknown);
  int64_t trips = depth / block, rest = depth % block;
  Value sum = loop(trips, acc, [&](Value i, Value before) {
    return depthStep(op, c, loops, t.mulAdd(i, block), block, before, false);
  });
  // What is left of the depth is a block of its own size.
  if (rest)
    sum = depthStep(op, c, loops, t.index(trips * block), whole(rest), sum,
                    whole(rest) != rest);
  return sum;
}

Value RowsBuilder::contraction(linalg::GenericOp op, const TileDims &dims) {
  RowsContraction c = *matchRowsContraction(op);
  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  SmallVector<TileDim> loops(extents.size());
  AffineMap outMap = op.getIndexingMapsArray().back();
  for (auto [i, e] : llvm::enumerate(outMap.getResults()))
    loops[cast<AffineDimExpr>(e).getPosition()] = dims[i];
  Type accType = b.getF32Type();
  Value init = op.getDpsInits()[0];
  std::optional<double> fill = constantFill(init);
  Value acc = fill ? t.fill(tileShape(dims), accType, *fill)
                   : convert(get(init, dims), accType);
  std::function<Value(size_t, Value)> nest = [&](size_t level, Value sum) {
    if (level == c.outer.size())
      return depthLoop(op, c, loops, sum);
    int64_t extent = extents[c.outer[level]];
    return loop(extent, sum, [&](Value i, Value before) {
      loops[c.outer[level]] = TileDim::point(i, extent);
      return nest(level + 1, before);
    });
  };
  return convert(nest(0, acc), elementOf(op.getResult(0)));
}
