//===- AxisBuilder.cpp - structured ops on axes that have names -----------===//

#include "AxisBuilder.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace heddle;

LogicalResult heddle::expectStaticShapes(Operation *op) {
  for (Type type : op->getOperandTypes())
    if (auto tensor = dyn_cast<RankedTensorType>(type);
        tensor && !tensor.hasStaticShape())
      return op->emitOpError() << "expected static shapes to decompose, got "
                               << tensor << "; specialise the function first";
  return success();
}

Value AxisBuilder::zeros(ArrayRef<int64_t> shape, Type type) {
  Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(type));
  Value empty = tensor::EmptyOp::create(b, loc, shape, type);
  return linalg::FillOp::create(b, loc, zero, empty).getResult(0);
}

Value AxisBuilder::slice(Value v, int64_t offset, int64_t size) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(v.getType()).getShape();
  SmallVector<OpFoldResult> offsets(shape.size(), b.getIndexAttr(0)), sizes,
      strides(shape.size(), b.getIndexAttr(1));
  for (int64_t d : shape)
    sizes.push_back(b.getIndexAttr(d));
  offsets[1] = b.getIndexAttr(offset);
  sizes[1] = b.getIndexAttr(size);
  return tensor::ExtractSliceOp::create(b, loc, v, offsets, sizes, strides);
}

Value AxisBuilder::reshape(Value v, ArrayRef<int64_t> shape) {
  auto type = cast<RankedTensorType>(v.getType());
  auto result = RankedTensorType::get(shape, type.getElementType());
  if (type == result)
    return v;
  bool expands = result.getRank() > type.getRank();
  auto groups = getReassociationIndicesForReshape(type, result);
  if (expands)
    return tensor::ExpandShapeOp::create(b, loc, result, v, *groups);
  return tensor::CollapseShapeOp::create(b, loc, result, v, *groups);
}

SmallVector<int64_t> AxisBuilder::shapeOf(StringRef axes) const {
  return llvm::map_to_vector(axes, [&](char axis) { return extent(axis); });
}

Value AxisBuilder::generic(ArrayRef<Named> inputs, Value init,
                           StringRef outAxes, Body body) {
  std::string loops = outAxes.str();
  for (const Named &input : inputs)
    for (char axis : input.axes)
      if (loops.find(axis) == std::string::npos)
        loops += axis;
  auto mapOf = [&](StringRef axes) {
    SmallVector<AffineExpr> exprs;
    for (char axis : axes)
      exprs.push_back(b.getAffineDimExpr(loops.find(axis)));
    return AffineMap::get(loops.size(), 0, exprs, b.getContext());
  };
  SmallVector<Value> values;
  SmallVector<AffineMap> maps;
  for (const Named &input : inputs) {
    values.push_back(input.value);
    maps.push_back(mapOf(input.axes));
  }
  maps.push_back(mapOf(outAxes));
  SmallVector<utils::IteratorType> iterators(loops.size(),
                                             utils::IteratorType::reduction);
  std::fill_n(iterators.begin(), outAxes.size(), utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             b, loc, init.getType(), values, init, maps, iterators,
             [&](OpBuilder &nested, Location, ValueRange args) {
               linalg::YieldOp::create(nested, loc, body(nested, args));
             })
      .getResult(0);
}

Value AxisBuilder::map(ArrayRef<Named> inputs, StringRef outAxes, Type type,
                       Body body) {
  Value init = tensor::EmptyOp::create(b, loc, shapeOf(outAxes), type);
  return generic(inputs, init, outAxes, body);
}

Value AxisBuilder::sum(Named input, StringRef outAxes) {
  return generic({input}, zeros(shapeOf(outAxes), f32), outAxes,
                 [&](OpBuilder &b, ValueRange args) -> Value {
                   return arith::AddFOp::create(b, loc, args[1], args[0]);
                 });
}

Value AxisBuilder::product(Named left, Named right, StringRef outAxes) {
  return generic({left, right}, zeros(shapeOf(outAxes), f32), outAxes,
                 [&](OpBuilder &b, ValueRange args) -> Value {
                   Value p =
                       multiply(extend(args[0], b), extend(args[1], b), b);
                   return arith::AddFOp::create(b, loc, args[2], p);
                 });
}
