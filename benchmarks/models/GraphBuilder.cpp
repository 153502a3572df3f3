//===- GraphBuilder.cpp - writes model graphs as contract M ---------------===//

#include "models/GraphBuilder.h"

#include "heddle/Dialect/Heddle/IR/Heddle.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"
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
  names.push_back(name.str());
  types.push_back(RankedTensorType::get(shape, element));
}

void GraphBuilder::begin(StringRef name, bool isPublic) {
  if (!module)
    module = ModuleOp::create(builder.getUnknownLoc());
  builder.setInsertionPointToEnd(module->getBody());
  function = func::FuncOp::create(builder, loc(), name,
                                  builder.getFunctionType(types, {}));
  if (!isPublic)
    function.setPrivate();
  index.clear();
  for (auto [i, argName] : llvm::enumerate(names)) {
    function.setArgAttr(i, "heddle.arg_name", builder.getStringAttr(argName));
    index[argName] = i;
  }
  builder.setInsertionPointToStart(function.addEntryBlock());
}

Value GraphBuilder::get(StringRef name) const {
  return function->getRegion(0).getArgument(index.lookup(name));
}

ValueRange GraphBuilder::arguments() { return function.getArguments(); }

void GraphBuilder::end(ValueRange results) {
  func::ReturnOp::create(builder, loc(), results);
  function.setFunctionType(builder.getFunctionType(types, TypeRange(results)));
  names.clear();
  types.clear();
}

OwningOpRef<ModuleOp> GraphBuilder::finish() {
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

/// The extents of the axes `out`, which the operands have.
static SmallVector<int64_t> shapeOf(ArrayRef<Operand> operands, StringRef out) {
  SmallVector<int64_t> shape(out.size(), 1);
  for (const Operand &operand : operands)
    for (auto [axis, size] :
         llvm::zip(operand.axes, tensorType(operand.value).getShape()))
      if (size_t at = out.find(axis); at != StringRef::npos)
        shape[at] = size;
  return shape;
}

Value GraphBuilder::generic(ArrayRef<Operand> operands, Value init,
                            StringRef out, Body body) {
  std::string loops = out.str();
  for (const Operand &operand : operands)
    for (char axis : operand.axes)
      if (loops.find(axis) == std::string::npos)
        loops += axis;
  auto mapOf = [&](StringRef axes) {
    SmallVector<AffineExpr> exprs;
    for (char axis : axes)
      exprs.push_back(builder.getAffineDimExpr(loops.find(axis)));
    return AffineMap::get(loops.size(), 0, exprs, builder.getContext());
  };
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  for (const Operand &operand : operands) {
    inputs.push_back(operand.value);
    maps.push_back(mapOf(operand.axes));
  }
  maps.push_back(mapOf(out));
  SmallVector<utils::IteratorType> iterators(loops.size(),
                                             utils::IteratorType::reduction);
  std::fill_n(iterators.begin(), out.size(), utils::IteratorType::parallel);
  auto op = linalg::GenericOp::create(
      builder, loc(), init.getType(), inputs, init, maps, iterators,
      [&](OpBuilder &b, Location l, ValueRange args) {
        // The body does not see the initial value.
        Value result = body(b, l, args.drop_back());
        if (loops.size() > out.size())
          result = arith::AddFOp::create(b, l, args.back(), result);
        linalg::YieldOp::create(b, l, result);
      });
  return op.getResult(0);
}

Value GraphBuilder::map(ArrayRef<Operand> operands, StringRef out, Type element,
                        Body body) {
  return generic(operands, empty(shapeOf(operands, out), element), out, body);
}

Value GraphBuilder::mapAll(ArrayRef<Value> operands, Type element, Body body) {
  constexpr StringRef letters = "abcdefgh";
  StringRef axes = letters.take_front(tensorType(operands[0]).getRank());
  SmallVector<Operand> named;
  for (Value operand : operands)
    named.push_back({operand, axes});
  return map(named, axes, element, body);
}

Value GraphBuilder::sum(ArrayRef<Operand> operands, StringRef out, Body term) {
  return generic(operands, zeros(shapeOf(operands, out)), out, term);
}

Value GraphBuilder::sum(Operand operand, StringRef out) {
  return sum(ArrayRef(operand), out,
             [](OpBuilder &, Location, ValueRange v) { return v[0]; });
}

Value GraphBuilder::product(Operand left, Operand right, StringRef out) {
  return sum({left, right}, out,
             [&](OpBuilder &b, Location l, ValueRange v) -> Value {
               return arith::MulFOp::create(b, l, convert(b, l, v[0], f32()),
                                            convert(b, l, v[1], f32()));
             });
}

Value GraphBuilder::cast(Value input, Type element) {
  if (tensorType(input).getElementType() == element)
    return input;
  return mapAll({input}, element, [&](OpBuilder &b, Location l, ValueRange v) {
    return convert(b, l, v[0], element);
  });
}

Value GraphBuilder::matmul(Value lhs, Value rhs) {
  int64_t leading = tensorType(lhs).getRank() - 1;
  if (leading == 1) {
    Value init =
        zeros({tensorType(lhs).getDimSize(0), tensorType(rhs).getDimSize(1)});
    return linalg::MatmulOp::create(builder, loc(), TypeRange{init.getType()},
                                    ValueRange{lhs, rhs}, ValueRange{init})
        .getResult(0);
  }
  std::string rows = StringRef("abcdef").take_front(leading).str();
  return product({lhs, rows + "k"}, {rhs, "kn"}, rows + "n");
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

Value GraphBuilder::reshape(Value input, ArrayRef<int64_t> shape) {
  RankedTensorType from = tensorType(input);
  auto to = RankedTensorType::get(shape, from.getElementType());
  if (from == to)
    return input;
  auto groups = getReassociationIndicesForReshape(from, to);
  if (to.getRank() > from.getRank())
    return tensor::ExpandShapeOp::create(builder, loc(), to, input, *groups);
  return tensor::CollapseShapeOp::create(builder, loc(), to, input, *groups);
}

Value GraphBuilder::slice(Value input, int64_t axis, int64_t offset,
                          int64_t size) {
  ArrayRef<int64_t> shape = tensorType(input).getShape();
  SmallVector<OpFoldResult> offsets(shape.size(), builder.getIndexAttr(0)),
      sizes, strides(shape.size(), builder.getIndexAttr(1));
  for (int64_t d : shape)
    sizes.push_back(builder.getIndexAttr(d));
  offsets[axis] = builder.getIndexAttr(offset);
  sizes[axis] = builder.getIndexAttr(size);
  return tensor::ExtractSliceOp::create(builder, loc(), input, offsets, sizes,
                                        strides);
}

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
