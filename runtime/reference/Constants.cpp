//===- Constants.cpp - attributes to values -------------------------------===//

#include "Constants.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/DialectResourceBlobManager.h"

using namespace mlir;

namespace heddle::reference {

static double toDouble(APFloat value) {
  bool losesInfo;
  value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                &losesInfo);
  return value.convertToDouble();
}

static int64_t toInteger(const APInt &value) {
  return value.getBitWidth() == 1 ? static_cast<int64_t>(value.getZExtValue())
                                  : value.getSExtValue();
}

static FailureOr<TensorValue> evaluateResource(arith::ConstantOp op,
                                               DenseResourceElementsAttr attr) {
  RankedTensorType type = cast<RankedTensorType>(attr.getType());
  AsmResourceBlob *blob = attr.getRawHandle().getBlob();
  std::optional<DType> dtype = hostTypeOf(type);
  if (!blob || !dtype)
    return op.emitError("expected a dense_resource with data, found none for '")
           << attr.getRawHandle().getKey() << "'; attach the resource";
  HostTensor host;
  host.type = {*dtype, std::vector<int64_t>(type.getShape().begin(),
                                            type.getShape().end())};
  ArrayRef<char> data = blob->getData();
  if (static_cast<int64_t>(data.size()) != host.type.byteSize())
    return op.emitError("expected ")
           << host.type.byteSize() << " bytes in dense_resource '"
           << attr.getRawHandle().getKey() << "', found " << data.size();
  host.bytes.assign(data.begin(), data.end());
  return fromHost(host);
}

FailureOr<TensorValue> evaluateConstant(arith::ConstantOp op) {
  Attribute attr = op.getValue();
  if (auto value = dyn_cast<FloatAttr>(attr))
    return TensorValue::splatReal({}, toDouble(value.getValue()));
  if (auto value = dyn_cast<IntegerAttr>(attr))
    return TensorValue::splatInteger({}, toInteger(value.getValue()));
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(attr))
    return evaluateResource(op, resource);
  auto dense = dyn_cast<DenseElementsAttr>(attr);
  if (!dense)
    return op.emitError("expected a dense, splat or dense_resource constant, "
                        "found ")
           << attr;
  ArrayRef<int64_t> shape = dense.getType().getShape();
  bool isInteger = isIntegerElement(dense.getElementType());
  if (dense.isSplat() && dense.getNumElements() > 0)
    return isInteger ? TensorValue::splatInteger(
                           shape, toInteger(dense.getSplatValue<APInt>()))
                     : TensorValue::splatReal(
                           shape, toDouble(dense.getSplatValue<APFloat>()));
  TensorValue value = TensorValue::uninitialized(shape, isInteger);
  int64_t i = 0;
  if (isInteger)
    for (const APInt &element : dense.getValues<APInt>())
      value.integer[i++] = toInteger(element);
  else if (dense.getElementType().isF32())
    for (float element : dense.getValues<float>())
      value.real[i++] = element;
  else
    for (const APFloat &element : dense.getValues<APFloat>())
      value.real[i++] = toDouble(element);
  return value;
}

} // namespace heddle::reference
