//===- VerifyTensor.cpp - shape and type checks of verifiers --------------===//

#include "VerifyTensor.h"
#include "heddle/Dialect/Heddle/IR/Heddle.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace heddle;

bool heddle::isDifferentiableFloat(Type type) {
  return type.isF16() || type.isBF16() || type.isF32() || type.isF64();
}

static bool accepts(Elements elements, Type type) {
  switch (elements) {
  case Elements::Float:
    return type.isF16() || type.isBF16() || type.isF32();
  case Elements::F32:
    return type.isF32();
  case Elements::I32:
    return type.isSignlessInteger(32);
  case Elements::I1:
    return type.isSignlessInteger(1);
  }
  return false;
}

static StringRef describe(Elements elements) {
  switch (elements) {
  case Elements::Float:
    return "float (f16, bf16 or f32)";
  case Elements::F32:
    return "f32";
  case Elements::I32:
    return "i32";
  case Elements::I1:
    return "i1";
  }
  return "";
}

static bool shapeFits(RankedTensorType type, ArrayRef<Axis> axes) {
  if (type.getRank() != static_cast<int64_t>(axes.size()))
    return false;
  for (auto [size, axis] : llvm::zip(type.getShape(), axes))
    if (!sizesFit(size, axis.size) && !(axis.orOne && size == 1))
      return false;
  return true;
}

/// What makes the tensor fit. A result only has to be declared so.
static void advise(InFlightDiagnostic &diag, Operation *op, Value value,
                   ArrayRef<Axis> axes, bool elementFits) {
  auto type = cast<RankedTensorType>(value.getType());
  if (value.getDefiningOp() == op) {
    diag << "; declare the result so";
    return;
  }
  if (type.getRank() != static_cast<int64_t>(axes.size())) {
    diag << "; reshape it to rank " << axes.size();
    return;
  }
  for (auto [size, axis] : llvm::zip(type.getShape(), axes)) {
    if (sizesFit(size, axis.size) || (axis.orOne && size == 1))
      continue;
    diag << "; make its axis " << axis.name << " " << axis.size << " long";
    return;
  }
  if (!elementFits)
    diag << "; cast it";
}

static LogicalResult emitExpected(Operation *op, StringRef what,
                                  ArrayRef<Axis> axes, const Twine &element,
                                  Value value, bool elementFits) {
  InFlightDiagnostic diag = op->emitOpError()
                            << "expected " << what << " of shape (";
  llvm::interleaveComma(axes, diag, [&](const Axis &axis) {
    diag << axis.name;
    if (!ShapedType::isDynamic(axis.size))
      diag << "=" << axis.size;
    if (axis.orOne && axis.size != 1)
      diag << " or 1";
  });
  diag << ") and element type " << element << ", got " << value.getType();
  advise(diag, op, value, axes, elementFits);
  return diag;
}

LogicalResult heddle::verifyTensor(Operation *op, StringRef what, Value value,
                                   ArrayRef<Axis> axes, Elements elements) {
  if (!value)
    return success();
  auto type = cast<RankedTensorType>(value.getType());
  bool elementFits = accepts(elements, type.getElementType());
  if (shapeFits(type, axes) && elementFits)
    return success();
  return emitExpected(op, what, axes, describe(elements), value, elementFits);
}

LogicalResult heddle::verifyTensor(Operation *op, StringRef what, Value value,
                                   ArrayRef<Axis> axes, Type element) {
  if (!value)
    return success();
  auto type = cast<RankedTensorType>(value.getType());
  bool elementFits = type.getElementType() == element;
  if (shapeFits(type, axes) && elementFits)
    return success();
  std::string name;
  llvm::raw_string_ostream(name) << element;
  return emitExpected(op, what, axes, name, value, elementFits);
}

LogicalResult heddle::verifyType(Operation *op, const Twine &what, Type type,
                                 Type wanted) {
  auto a = dyn_cast<RankedTensorType>(type);
  auto b = dyn_cast<RankedTensorType>(wanted);
  bool fits = a && b ? a.getElementType() == b.getElementType() &&
                           succeeded(verifyCompatibleShape(a, b))
                     : type == wanted;
  if (fits)
    return success();
  return op->emitOpError() << "expected " << what << " of type " << wanted
                           << ", got " << type
                           << "; convert an operand, declare a result so";
}

LogicalResult heddle::verifyScanChunks(Operation *op, int64_t length,
                                       int64_t chunks) {
  if (ShapedType::isDynamic(length) || ShapedType::isDynamic(chunks))
    return success();
  if (chunks < 2)
    return op->emitOpError("expected at least 2 chunks, got ") << chunks;
  int64_t steps = scanChunkSteps(length, chunks);
  if ((chunks - 1) * steps < length)
    return success();
  return op->emitOpError("expected chunks that all have steps, got ")
         << chunks << " chunks of " << steps << " steps for " << length
         << "; use fewer";
}
