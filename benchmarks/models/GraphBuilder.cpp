//===- GraphBuilder.cpp - writes model graphs as contract M ---------------===//

#include "models/GraphBuilder.h"

#include "heddle/Dialect/Heddle/IR/Heddle.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;

namespace heddle::bench {

static RankedTensorType tensorType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

GraphBuilder::GraphBuilder(MLIRContext &context) : builder(&context) {
  context.loadDialect<HeddleDialect, arith::ArithDialect, func::FuncDialect,
                      linalg::LinalgDialect, math::MathDialect,
                      tensor::TensorDialect>();
}

void GraphBuilder::argument(StringRef name, ArrayRef<int64_t> shape,
                            Type element) {
  index[name] = names.size();
  names.push_back(name.str());
  types.push_back(RankedTensorType::get(shape, element));
}

void GraphBuilder::begin(StringRef name) {
  module = ModuleOp::create(builder.getUnknownLoc());
  builder.setInsertionPointToEnd(module->getBody());
  function = func::FuncOp::create(builder, loc(), name,
                                  builder.getFunctionType(types, {}));
  for (auto [i, argName] : llvm::enumerate(names))
    function.setArgAttr(i, "heddle.arg_name", builder.getStringAttr(argName));
  builder.setInsertionPointToStart(function.addEntryBlock());
}

Value GraphBuilder::get(StringRef name) const {
  return function->getRegion(0).getArgument(index.lookup(name));
}

OwningOpRef<ModuleOp> GraphBuilder::finish(ValueRange results) {
  func::ReturnOp::create(builder, loc(), results);
  function.setFunctionType(builder.getFunctionType(types, TypeRange(results)));
  if (failed(verify(*module)))
    return {};
  return std::move(module);
}

//===----------------------------------------------------------------------===//
// Generics
//===----------------------------------------------------------------------===//

Value GraphBuilder::empty(ArrayRef<int64_t> shape, Type element) {
  return tensor::EmptyOp::create(builder, loc(), shape, element);
}

Value GraphBuilder::zeros(ArrayRef<int64_t> shape) {
  Value zero =
      arith::ConstantOp::create(builder, loc(), builder.getF32FloatAttr(0.0f));
  Value init = empty(shape, f32());
  return linalg::FillOp::create(builder, loc(), zero, init).getResult(0);
}

Value GraphBuilder::generic(ArrayRef<Value> inputs, ArrayRef<AffineMap> maps,
                            Value init, AffineMap outMap,
                            ArrayRef<bool> reductionDims, Body body) {
  SmallVector<AffineMap> all(maps);
  all.push_back(outMap);
  SmallVector<utils::IteratorType> iterators;
  for (bool reduction : reductionDims)
    iterators.push_back(reduction ? utils::IteratorType::reduction
                                  : utils::IteratorType::parallel);
  auto op = linalg::GenericOp::create(
      builder, loc(), init.getType(), inputs, init, all, iterators,
      [&](OpBuilder &b, Location l, ValueRange args) {
        // An elementwise body does not see the (undefined) init value.
        bool reduces = llvm::is_contained(reductionDims, true);
        Value result = body(b, l, reduces ? args : args.drop_back());
        linalg::YieldOp::create(b, l, result);
      });
  return op.getResult(0);
}

Value GraphBuilder::map(ArrayRef<Operand> operands, Type element, Body body) {
  AffineExpr row, col;
  bindDims(builder.getContext(), row, col);
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  int64_t rows = 0, cols = 0;
  for (const Operand &operand : operands) {
    inputs.push_back(operand.value);
    ArrayRef<int64_t> shape = tensorType(operand.value).getShape();
    switch (operand.axes) {
    case Axes::Both:
      rows = shape[0];
      cols = shape[1];
      maps.push_back(builder.getMultiDimIdentityMap(2));
      break;
    case Axes::Rows:
      maps.push_back(AffineMap::get(2, 0, row));
      break;
    case Axes::Cols:
      maps.push_back(AffineMap::get(2, 0, col));
      break;
    }
  }
  return generic(inputs, maps, empty({rows, cols}, element),
                 builder.getMultiDimIdentityMap(2), {false, false}, body);
}

Value GraphBuilder::mapRows(ArrayRef<Value> operands, Type element, Body body) {
  SmallVector<AffineMap> maps(operands.size(),
                              builder.getMultiDimIdentityMap(1));
  return generic(operands, maps,
                 empty(tensorType(operands[0]).getShape(), element),
                 builder.getMultiDimIdentityMap(1), {false}, body);
}

Value GraphBuilder::reduceCols(Value input, Body body) {
  int64_t rows = tensorType(input).getDimSize(0);
  AffineMap rowMap = AffineMap::get(2, 0, builder.getAffineDimExpr(0));
  return generic(input, builder.getMultiDimIdentityMap(2), zeros({rows}),
                 rowMap, {false, true}, body);
}

Value GraphBuilder::cast(Value input, Type element) {
  RankedTensorType type = tensorType(input);
  if (type.getElementType() == element)
    return input;
  AffineMap identity = builder.getMultiDimIdentityMap(type.getRank());
  SmallVector<bool> parallel(type.getRank(), false);
  return generic(input, identity, empty(type.getShape(), element), identity,
                 parallel, [&](OpBuilder &b, Location l, ValueRange args) {
                   return convert(b, l, args[0], element);
                 });
}

Value GraphBuilder::matmul(Value lhs, Value rhs) {
  Value init =
      zeros({tensorType(lhs).getDimSize(0), tensorType(rhs).getDimSize(1)});
  return linalg::MatmulOp::create(builder, loc(), TypeRange{init.getType()},
                                  ValueRange{lhs, rhs}, ValueRange{init})
      .getResult(0);
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

Value GraphBuilder::collapseToRows(Value input) {
  int64_t rank = tensorType(input).getRank();
  SmallVector<ReassociationIndices> groups(2);
  for (int64_t i = 0; i < rank - 1; ++i)
    groups[0].push_back(i);
  groups[1].push_back(rank - 1);
  return tensor::CollapseShapeOp::create(builder, loc(), input, groups);
}

Value GraphBuilder::expandRows(Value input, ArrayRef<int64_t> shape,
                               bool splitLast) {
  int64_t rank = shape.size();
  int64_t lastAxes = splitLast ? 2 : 1;
  SmallVector<ReassociationIndices> groups(2);
  for (int64_t i = 0; i < rank; ++i)
    groups[i < rank - lastAxes ? 0 : 1].push_back(i);
  auto type = RankedTensorType::get(shape, tensorType(input).getElementType());
  return tensor::ExpandShapeOp::create(builder, loc(), type, input, groups);
}

Value GraphBuilder::collapseHeads(Value input) {
  SmallVector<ReassociationIndices> groups = {{0, 1}, {2, 3}};
  return tensor::CollapseShapeOp::create(builder, loc(), input, groups);
}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

Value GraphBuilder::constant(OpBuilder &b, Location loc, double value) {
  return arith::ConstantOp::create(
      b, loc, b.getF32FloatAttr(static_cast<float>(value)));
}

Value GraphBuilder::convert(OpBuilder &b, Location loc, Value value,
                            Type element) {
  unsigned from = value.getType().getIntOrFloatBitWidth();
  unsigned to = element.getIntOrFloatBitWidth();
  if (value.getType() == element)
    return value;
  if (from < to)
    return arith::ExtFOp::create(b, loc, element, value);
  return arith::TruncFOp::create(b, loc, element, value);
}

} // namespace heddle::bench
