//===- RuleSupport.cpp - what gradient rules are written with -------------===//

#include "Adjoint.h"
#include "heddle/Dialect/Heddle/Differentiation/Differentiation.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace heddle;

Type heddle::accumulatorOf(Type element) {
  return element.getIntOrFloatBitWidth() < 32
             ? Float32Type::get(element.getContext())
             : element;
}

Type heddle::withElement(Type type, Type element) {
  auto shaped = dyn_cast<ShapedType>(type);
  return shaped ? Type(shaped.clone(element)) : element;
}

Value heddle::constantLike(OpBuilder &b, Location loc, Type type,
                           double value) {
  auto element = cast<FloatType>(getElementTypeOrSelf(type));
  TypedAttr attr = b.getFloatAttr(element, value);
  if (auto shaped = dyn_cast<ShapedType>(type))
    attr = DenseElementsAttr::get(shaped, Attribute(attr));
  return arith::ConstantOp::create(b, loc, attr);
}

Value heddle::zeros(OpBuilder &b, Location loc, Type type) {
  return constantLike(b, loc, type, 0.0);
}

Value heddle::castElements(OpBuilder &b, Location loc, Value value,
                           Type element) {
  Type from = getElementTypeOrSelf(value.getType());
  if (from == element)
    return value;
  unsigned width = from.getIntOrFloatBitWidth(),
           wanted = element.getIntOrFloatBitWidth();
  if (width == wanted) // f16 and bf16
    return castElements(b, loc, castElements(b, loc, value, b.getF32Type()),
                        element);
  Type type = withElement(value.getType(), element);
  if (width < wanted)
    return arith::ExtFOp::create(b, loc, type, value);
  auto widened = value.getDefiningOp<arith::ExtFOp>();
  if (widened && getElementTypeOrSelf(widened.getIn().getType()) == element)
    return widened.getIn();
  return arith::TruncFOp::create(b, loc, type, value);
}

Operation *heddle::definingCast(Value value, Value &source) {
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<arith::TruncFOp, arith::ExtFOp>(op)) {
    source = op->getOperand(0);
    return op;
  }
  auto generic = dyn_cast_or_null<linalg::GenericOp>(op);
  if (!generic || generic.getNumDpsInputs() != 1 ||
      generic->getNumResults() != 1 || generic.getNumReductionLoops() != 0 ||
      !llvm::all_of(generic.getIndexingMapsArray(),
                    [](AffineMap map) { return map.isIdentity(); }))
    return nullptr;
  Block &body = *generic.getBody();
  Operation *cast = body.getTerminator()->getOperand(0).getDefiningOp();
  if (!isa_and_nonnull<arith::TruncFOp, arith::ExtFOp>(cast) ||
      cast->getOperand(0) != body.getArgument(0))
    return nullptr;
  source = generic.getDpsInputs()[0];
  return cast;
}

Value heddle::roundedFrom(Value value) {
  Value source;
  return isa_and_nonnull<arith::TruncFOp>(definingCast(value, source))
             ? source
             : Value();
}

Value heddle::widenedFrom(Value value) {
  Value source;
  return isa_and_nonnull<arith::ExtFOp>(definingCast(value, source)) ? source
                                                                     : Value();
}

/// A cotangent as it was before it was rounded, also behind views; else null.
static Value beforeRounding(OpBuilder &b, Location loc, Value cotangent) {
  if (Value wide = roundedFrom(cotangent))
    return wide;
  Operation *view = cotangent.getDefiningOp();
  if (!isa_and_nonnull<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(view))
    return {};
  Value wide = beforeRounding(b, loc, view->getOperand(0));
  if (!wide)
    return {};
  OperationState state(loc, view->getName());
  state.addOperands(wide);
  state.addOperands(view->getOperands().drop_front());
  state.addTypes(withElement(cotangent.getType(),
                             getElementTypeOrSelf(wide.getType())));
  state.propertiesAttr = view->getPropertiesAsAttribute();
  return b.create(state)->getResult(0);
}

Value heddle::castCotangent(OpBuilder &b, Location loc, Value cotangent,
                            Type element) {
  Value wide = beforeRounding(b, loc, cotangent);
  unsigned wanted = element.getIntOrFloatBitWidth();
  auto width = [](Value v) {
    return getElementTypeOrSelf(v.getType()).getIntOrFloatBitWidth();
  };
  if (wide && width(cotangent) < wanted && width(wide) <= wanted)
    return castElements(b, loc, wide, element);
  return castElements(b, loc, cotangent, element);
}

Value heddle::addContributions(OpBuilder &b, Location loc,
                               ArrayRef<Value> values) {
  Value first, sum;
  Type element, accumulator;
  for (Value v : values) {
    if (!v)
      continue;
    if (!first) {
      first = v;
      element = getElementTypeOrSelf(v.getType());
      accumulator = accumulatorOf(element);
      continue;
    }
    if (!sum)
      sum = castCotangent(b, loc, first, accumulator);
    Value next = castCotangent(b, loc, v, accumulator);
    sum = arith::AddFOp::create(b, loc, sum, next);
  }
  return sum ? castElements(b, loc, sum, element) : first;
}
