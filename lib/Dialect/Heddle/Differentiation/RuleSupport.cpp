//===- RuleSupport.cpp - what gradient rules are written with -------------===//

#include "Adjoint.h"
#include "heddle/Dialect/Heddle/Differentiation/Differentiation.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
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

Value heddle::castCotangent(OpBuilder &b, Location loc, Value cotangent,
                            Type element) {
  Value wide = sourceOfCast<arith::TruncFOp>(cotangent);
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
