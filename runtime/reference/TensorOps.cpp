//===- TensorOps.cpp - tensor dialect and linalg.softmax ------------------===//

#include "Ops.h"
#include "Parallel.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/TypeSwitch.h"

#include <limits>

using namespace mlir;

namespace heddle::reference {

//===----------------------------------------------------------------------===//
// Copies between strided boxes
//===----------------------------------------------------------------------===//

namespace {
/// A box in a tensor: where it starts and how far apart its elements are.
struct Box {
  int64_t base = 0;
  Shape strides;
};
} // namespace

template <typename T>
static void copyBox(const T *from, const Box &source, T *to, const Box &target,
                    ArrayRef<int64_t> sizes) {
  if (llvm::is_contained(sizes, 0))
    return;
  if (sizes.empty()) {
    to[target.base] = from[source.base];
    return;
  }
  unsigned last = sizes.size() - 1;
  Shape point(sizes.size(), 0);
  for (;;) {
    int64_t s = source.base, t = target.base;
    for (unsigned d = 0; d < last; ++d) {
      s += point[d] * source.strides[d];
      t += point[d] * target.strides[d];
    }
    for (int64_t i = 0; i < sizes[last]; ++i)
      to[t + i * target.strides[last]] = from[s + i * source.strides[last]];
    int64_t d = static_cast<int64_t>(last) - 1;
    while (d >= 0 && ++point[d] == sizes[d])
      point[d--] = 0;
    if (d < 0)
      return;
  }
}

static void copyBox(const TensorValue &from, const Box &source, TensorValue &to,
                    const Box &target, ArrayRef<int64_t> sizes) {
  if (from.isInteger)
    copyBox(from.integer.get(), source, to.integer.get(), target, sizes);
  else
    copyBox(from.real.get(), source, to.real.get(), target, sizes);
}

/// The value of an index operand or attribute of `op`.
static int64_t indexOf(Operation *op, ArrayRef<TensorValue> operands,
                       OpFoldResult index) {
  if (std::optional<int64_t> constant = getConstantIntValue(index))
    return *constant;
  auto it = llvm::find(op->getOperands(), cast<Value>(index));
  return operands[std::distance(op->getOperands().begin(), it)].integerAt(0);
}

/// Offsets, sizes and strides of a slice op with their values filled in.
static LogicalResult resolveSlice(OffsetSizeAndStrideOpInterface op,
                                  ArrayRef<TensorValue> operands,
                                  ArrayRef<int64_t> shape, Shape &sizes,
                                  Box &box) {
  auto resolve = [&](OpFoldResult value) {
    return indexOf(op, operands, value);
  };
  Shape tensorStrides = rowMajorStrides(shape);
  SmallVector<OpFoldResult> offsets = op.getMixedOffsets(),
                            extents = op.getMixedSizes(),
                            steps = op.getMixedStrides();
  for (unsigned d = 0; d < shape.size(); ++d) {
    int64_t offset = resolve(offsets[d]), size = resolve(extents[d]),
            step = resolve(steps[d]);
    int64_t last = offset + (size - 1) * step;
    if (size < 0 || offset < 0 || offset > shape[d] ||
        (size > 0 && (last < 0 || last >= shape[d])))
      return op->emitError(
                 "expected the slice inside the tensor, found offset ")
             << offset << ", size " << size << " and stride " << step
             << " on axis " << d << " of extent " << shape[d];
    sizes.push_back(size);
    box.base += offset * tensorStrides[d];
    box.strides.push_back(step * tensorStrides[d]);
  }
  return success();
}

static LogicalResult extractSlice(tensor::ExtractSliceOp op, Operands operands,
                                  Results &results) {
  TensorValue source = operands[0];
  Shape sizes;
  Box box;
  if (failed(resolveSlice(op, operands, source.shape, sizes, box)))
    return failure();
  ArrayRef<int64_t> shape = op.getType().getShape();
  if (source.splat) {
    results.push_back(source.reshaped(shape));
    return success();
  }
  TensorValue result = TensorValue::uninitialized(shape, source.isInteger);
  copyBox(source, box, result, {0, rowMajorStrides(sizes)}, sizes);
  results.push_back(std::move(result));
  return success();
}

static LogicalResult insertSlice(tensor::InsertSliceOp op, Operands operands,
                                 Results &results) {
  TensorValue source = operands[0].dense();
  TensorValue result = TensorValue::unique(std::move(operands[1]));
  Shape sizes;
  Box box;
  if (failed(resolveSlice(op, operands, result.shape, sizes, box)))
    return failure();
  copyBox(source, {0, rowMajorStrides(sizes)}, result, box, sizes);
  results.push_back(std::move(result));
  return success();
}

//===----------------------------------------------------------------------===//
// Ops whose elements are computed by a region
//===----------------------------------------------------------------------===//

/// Runs the region on every index of `result`.
static LogicalResult fillByRegion(Operation *op, Block &block,
                                  const ReferenceOptions &options,
                                  Capture capture, TensorValue &result) {
  FailureOr<ElementProgram> program =
      ElementProgram::compileBlock(block, options, capture);
  if (failed(program))
    return failure();
  ElementFrame frame(*program);
  int64_t count = result.numElements();
  Shape strides = rowMajorStrides(result.shape);
  for (int64_t begin = 0; begin < count; begin += kVectorLength) {
    int64_t n = std::min(kVectorLength, count - begin);
    for (auto [d, reg] : llvm::enumerate(program->inputs))
      for (int64_t e = 0; e < n; ++e)
        frame.integer(reg)[e] = (begin + e) / strides[d] % result.shape[d];
    if (!frame.run(n))
      return op->emitError("expected every index of tensor.extract inside its "
                           "tensor, found one outside");
    Register value = program->results[0];
    if (result.isInteger)
      std::copy_n(frame.integer(value), n, result.integer.get() + begin);
    else
      std::copy_n(frame.real(value), n, result.real.get() + begin);
  }
  return success();
}

static LogicalResult pad(tensor::PadOp op, Operands operands,
                         const ReferenceOptions &options, Capture capture,
                         Results &results) {
  TensorValue source = operands[0].dense();
  TensorValue result = TensorValue::uninitialized(op.getResultType().getShape(),
                                                  source.isInteger);
  Box box{0, rowMajorStrides(result.shape)};
  for (auto [d, low] : llvm::enumerate(op.getMixedLowPad())) {
    int64_t amount = indexOf(op, operands, low);
    if (amount < 0 || amount + source.shape[d] > result.shape[d])
      return op.emitError("expected padding of at least 0 that fits the "
                          "result, found ")
             << amount << " on axis " << d;
    box.base += amount * box.strides[d];
  }
  if (failed(
          fillByRegion(op, op.getRegion().front(), options, capture, result)))
    return failure();
  copyBox(source, {0, rowMajorStrides(source.shape)}, result, box,
          source.shape);
  results.push_back(std::move(result));
  return success();
}

static LogicalResult generate(tensor::GenerateOp op,
                              const ReferenceOptions &options, Capture capture,
                              Results &results) {
  auto type = cast<RankedTensorType>(op.getType());
  TensorValue result = TensorValue::uninitialized(
      type.getShape(), isIntegerElement(type.getElementType()));
  if (failed(fillByRegion(op, op.getBody().front(), options, capture, result)))
    return failure();
  roundForStorage(result, type, options);
  results.push_back(std::move(result));
  return success();
}

//===----------------------------------------------------------------------===//
// The rest
//===----------------------------------------------------------------------===//

/// Memory that nothing has written: NaN, or a bit pattern no one expects.
static TensorValue undefined(RankedTensorType type) {
  if (!isIntegerElement(type.getElementType()))
    return TensorValue::splatReal(type.getShape(),
                                  std::numeric_limits<double>::quiet_NaN());
  unsigned width = integerWidth(type);
  int64_t pattern = width == 1 ? 1 : 0x5A5A5A5A5A5A5A5A >> (64 - width);
  return TensorValue::splatInteger(type.getShape(), pattern);
}

static LogicalResult concat(tensor::ConcatOp op, Operands operands,
                            Results &results) {
  TensorValue result = TensorValue::uninitialized(
      op.getResultType().getShape(),
      isIntegerElement(op.getResultType().getElementType()));
  Shape strides = rowMajorStrides(result.shape);
  int64_t at = 0, axis = op.getDim();
  for (const TensorValue &operand : operands) {
    TensorValue source = operand.dense();
    copyBox(source, {0, rowMajorStrides(source.shape)}, result,
            {at * strides[axis], strides}, source.shape);
    at += source.shape[axis];
  }
  results.push_back(std::move(result));
  return success();
}

static LogicalResult extractOrInsert(Operation *op, Operands operands,
                                     Results &results) {
  bool inserts = isa<tensor::InsertOp>(op);
  TensorValue &tensor = operands[inserts ? 1 : 0];
  int64_t offset = 0;
  for (auto [d, index] :
       llvm::enumerate(operands.drop_front(inserts ? 2 : 1))) {
    int64_t i = index.integerAt(0);
    if (i < 0 || i >= tensor.shape[d])
      return op->emitError("expected index ")
             << d << " within [0, " << tensor.shape[d] << "), found " << i;
    offset = offset * tensor.shape[d] + i;
  }
  if (!inserts) {
    results.push_back(
        tensor.isInteger
            ? TensorValue::splatInteger({}, tensor.integerAt(offset))
            : TensorValue::splatReal({}, tensor.realAt(offset)));
    return success();
  }
  TensorValue result = TensorValue::unique(std::move(tensor));
  if (result.isInteger)
    result.integer[offset] = operands[0].integerAt(0);
  else
    result.real[offset] = operands[0].realAt(0);
  results.push_back(std::move(result));
  return success();
}

static LogicalResult fromElements(tensor::FromElementsOp op, Operands operands,
                                  Results &results) {
  TensorValue result = TensorValue::uninitialized(
      op.getType().getShape(), isIntegerElement(op.getType().getElementType()));
  for (auto [i, operand] : llvm::enumerate(operands)) {
    if (result.isInteger)
      result.integer[i] = operand.integerAt(0);
    else
      result.real[i] = operand.realAt(0);
  }
  results.push_back(std::move(result));
  return success();
}

bool isTensorOp(Operation *op) {
  return isa<tensor::EmptyOp, tensor::ExtractSliceOp, tensor::InsertSliceOp,
             tensor::PadOp, tensor::ConcatOp, tensor::ExpandShapeOp,
             tensor::CollapseShapeOp, tensor::ReshapeOp, tensor::CastOp,
             tensor::SplatOp, tensor::FromElementsOp, tensor::ExtractOp,
             tensor::InsertOp, tensor::GenerateOp, tensor::DimOp>(op);
}

LogicalResult evaluateTensorOp(Operation *op, Operands operands,
                               const ReferenceOptions &options, Capture capture,
                               Results &results) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](tensor::ExtractSliceOp o) {
        return extractSlice(o, operands, results);
      })
      .Case([&](tensor::InsertSliceOp o) {
        return insertSlice(o, operands, results);
      })
      .Case([&](tensor::PadOp o) {
        return pad(o, operands, options, capture, results);
      })
      .Case([&](tensor::GenerateOp o) {
        return generate(o, options, capture, results);
      })
      .Case([&](tensor::ConcatOp o) { return concat(o, operands, results); })
      .Case([&](tensor::FromElementsOp o) {
        return fromElements(o, operands, results);
      })
      .Case<tensor::ExtractOp, tensor::InsertOp>(
          [&](Operation *o) { return extractOrInsert(o, operands, results); })
      .Case([&](tensor::EmptyOp o) {
        results.push_back(undefined(o.getType()));
        return success();
      })
      .Case([&](tensor::DimOp o) {
        int64_t axis = operands[1].integerAt(0);
        if (axis < 0 || axis >= static_cast<int64_t>(operands[0].shape.size()))
          return LogicalResult(o.emitError("expected an axis below ")
                               << operands[0].shape.size() << ", found "
                               << axis);
        results.push_back(
            TensorValue::splatInteger({}, operands[0].shape[axis]));
        return success();
      })
      .Case([&](tensor::SplatOp o) {
        TensorValue value = operands[0];
        value.splat = true;
        results.push_back(value.reshaped(o.getType().getShape()));
        return success();
      })
      .Default([&](Operation *o) { // reshapes and casts: the same elements
        results.push_back(
            operands[0].reshaped(shapeOf(o->getResult(0).getType())));
        return success();
      });
}

LogicalResult evaluateSoftmax(linalg::SoftmaxOp op, Operands operands,
                              const ReferenceOptions &options,
                              Results &results) {
  TensorValue input = operands[0].dense();
  TensorValue result = TensorValue::uninitialized(input.shape, false);
  int64_t axis = op.getDimension();
  int64_t length = input.shape[axis];
  int64_t inner = rowMajorStrides(input.shape)[axis];
  int64_t rows = length ? input.numElements() / length : 0;
  int threads = workerCount(options.threads);
  parallelFor(threads, rows, 64, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      int64_t base = row / inner * inner * length + row % inner;
      const double *x = input.real.get() + base;
      double *y = result.real.get() + base;
      double max = -std::numeric_limits<double>::infinity(), sum = 0.0;
      for (int64_t i = 0; i < length; ++i)
        max = std::fmax(max, x[i * inner]);
      for (int64_t i = 0; i < length; ++i)
        sum += y[i * inner] = std::exp(x[i * inner] - max);
      for (int64_t i = 0; i < length; ++i)
        y[i * inner] /= sum;
    }
  });
  roundForStorage(result, op->getResult(0).getType(), options);
  results.push_back(std::move(result));
  return success();
}

} // namespace heddle::reference
