//===- TensorValue.cpp - a value while it is evaluated --------------------===//

#include "TensorValue.h"
#include "Parallel.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace heddle::reference {

static int64_t productOf(ArrayRef<int64_t> shape) {
  int64_t n = 1;
  for (int64_t d : shape)
    n *= d;
  return n;
}

int64_t TensorValue::numElements() const { return productOf(shape); }

TensorValue TensorValue::uninitialized(ArrayRef<int64_t> shape,
                                       bool isInteger) {
  TensorValue value;
  value.shape.assign(shape.begin(), shape.end());
  value.isInteger = isInteger;
  size_t n = std::max<int64_t>(productOf(shape), 1);
  if (isInteger)
    value.integer.reset(new int64_t[n]);
  else
    value.real.reset(new double[n]);
  return value;
}

TensorValue TensorValue::splatReal(ArrayRef<int64_t> shape, double scalar) {
  TensorValue value;
  value.shape.assign(shape.begin(), shape.end());
  value.splat = true;
  value.real.reset(new double[1]{scalar});
  return value;
}

TensorValue TensorValue::splatInteger(ArrayRef<int64_t> shape, int64_t scalar) {
  TensorValue value;
  value.shape.assign(shape.begin(), shape.end());
  value.splat = true;
  value.isInteger = true;
  value.integer.reset(new int64_t[1]{scalar});
  return value;
}

TensorValue TensorValue::reshaped(ArrayRef<int64_t> newShape) const {
  TensorValue value = *this;
  value.shape.assign(newShape.begin(), newShape.end());
  return value;
}

static void copyElements(const TensorValue &from, TensorValue &to) {
  int64_t n = to.numElements();
  if (from.isInteger) {
    if (from.splat)
      std::fill_n(to.integer.get(), n, from.integer[0]);
    else
      std::copy_n(from.integer.get(), n, to.integer.get());
    return;
  }
  if (from.splat)
    std::fill_n(to.real.get(), n, from.real[0]);
  else
    std::copy_n(from.real.get(), n, to.real.get());
}

TensorValue TensorValue::dense() const {
  if (!splat)
    return *this;
  TensorValue value = uninitialized(shape, isInteger);
  copyElements(*this, value);
  return value;
}

TensorValue TensorValue::unique(TensorValue &&value) {
  bool sole = value.isInteger ? value.integer.use_count() == 1
                              : value.real.use_count() == 1;
  if (sole && !value.splat)
    return std::move(value);
  TensorValue copy = uninitialized(value.shape, value.isInteger);
  copyElements(value, copy);
  value = TensorValue();
  return copy;
}

Shape rowMajorStrides(ArrayRef<int64_t> shape) {
  Shape strides(shape.size(), 1);
  for (int64_t d = static_cast<int64_t>(shape.size()) - 2; d >= 0; --d)
    strides[d] = strides[d + 1] * shape[d + 1];
  return strides;
}

bool isIntegerElement(Type type) { return type.isIntOrIndex(); }

Type elementTypeOf(Type type) { return getElementTypeOrSelf(type); }

ArrayRef<int64_t> shapeOf(Type type) {
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    return tensor.getShape();
  return {};
}

unsigned integerWidth(Type type) {
  type = elementTypeOf(type);
  return type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
}

std::optional<DType> hostTypeOf(Type type) {
  type = elementTypeOf(type);
  if (type.isF32())
    return DType::F32;
  if (type.isF64())
    return DType::F64;
  if (type.isF16())
    return DType::F16;
  if (type.isBF16())
    return DType::BF16;
  if (type.isIndex())
    return DType::I64;
  if (!type.isSignlessInteger())
    return std::nullopt;
  switch (type.getIntOrFloatBitWidth()) {
  case 1:
    return DType::I1;
  case 8:
    return DType::I8;
  case 16:
    return DType::I16;
  case 32:
    return DType::I32;
  case 64:
    return DType::I64;
  }
  return std::nullopt;
}

Rounding storageRounding(Type type, const ReferenceOptions &options) {
  if (options.mode != ReferenceMode::Declared)
    return {};
  type = elementTypeOf(type);
  return {type.isBF16()  ? Rounding::BF16
          : type.isF16() ? Rounding::F16
                         : Rounding::None,
          options.draw};
}

void roundForStorage(TensorValue &value, Type type,
                     const ReferenceOptions &options) {
  Rounding rounding = storageRounding(type, options);
  if (rounding.isNone())
    return;
  int threads = workerCount(options.threads);
  double *data = value.real.get();
  parallelFor(threads, value.numStored(), 1 << 16,
              [&](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; ++i)
                  data[i] = roundTo(rounding, data[i]);
              });
}

TensorValue fromHost(const HostTensor &tensor) {
  DType type = tensor.type.dtype;
  bool integers = isInteger(type);
  TensorValue value = TensorValue::uninitialized(tensor.type.shape, integers);
  int64_t n = value.numElements();
  const void *data = tensor.bytes.data();
  for (int64_t i = 0; i < n; ++i) {
    if (integers)
      value.integer[i] = loadInteger(data, type, i);
    else
      value.real[i] = loadElement(data, type, i);
  }
  return value;
}

ReferenceTensor toReference(const TensorValue &value) {
  ReferenceTensor tensor;
  tensor.shape.assign(value.shape.begin(), value.shape.end());
  tensor.isInteger = value.isInteger;
  int64_t n = value.numElements();
  if (value.isInteger) {
    if (value.splat)
      tensor.integer.assign(n, value.integer[0]);
    else
      tensor.integer.assign(value.integer.get(), value.integer.get() + n);
  } else {
    if (value.splat)
      tensor.real.assign(n, value.real[0]);
    else
      tensor.real.assign(value.real.get(), value.real.get() + n);
  }
  return tensor;
}

} // namespace heddle::reference
