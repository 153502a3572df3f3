//===- TensorValue.h - a value while it is evaluated ------------*- C++ -*-===//
//
// Doubles or 64-bit integers behind a shared pointer, so that reshapes and
// repeated operands copy nothing and a value dies with its last user. Integers
// are kept sign-extended from their width, i1 as 0 or 1. Scalars are tensors of
// rank 0. A splat stores one element for all.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_REFERENCE_TENSORVALUE_H
#define HEDDLE_RUNTIME_REFERENCE_TENSORVALUE_H

#include "Rounding.h"
#include "heddle/Reference/Evaluator.h"

#include "mlir/IR/BuiltinTypes.h"

#include <memory>

namespace heddle::reference {

using Shape = llvm::SmallVector<int64_t, 6>;

struct TensorValue {
  Shape shape;
  bool isInteger = false;
  bool splat = false;
  std::shared_ptr<double[]> real;     // when !isInteger
  std::shared_ptr<int64_t[]> integer; // when isInteger

  int64_t numElements() const;
  int64_t numStored() const { return splat ? 1 : numElements(); }
  double realAt(int64_t i) const { return real[splat ? 0 : i]; }
  int64_t integerAt(int64_t i) const { return integer[splat ? 0 : i]; }

  /// Storage with undefined contents.
  static TensorValue uninitialized(llvm::ArrayRef<int64_t> shape,
                                   bool isInteger);
  static TensorValue splatReal(llvm::ArrayRef<int64_t> shape, double value);
  static TensorValue splatInteger(llvm::ArrayRef<int64_t> shape, int64_t value);

  /// The same elements under another shape of equal size.
  TensorValue reshaped(llvm::ArrayRef<int64_t> newShape) const;
  /// The same value with every element stored; shares storage where it can.
  TensorValue dense() const;
  /// The same value in dense storage that nobody else sees. Takes the storage
  /// over when `value` was its last owner.
  static TensorValue unique(TensorValue &&value);
};

/// Row-major strides in elements.
Shape rowMajorStrides(llvm::ArrayRef<int64_t> shape);

/// Whether values of this element type are kept as integers.
bool isIntegerElement(mlir::Type type);
/// The element type of a tensor, or the scalar type itself.
mlir::Type elementTypeOf(mlir::Type type);
/// The shape of a static ranked tensor; empty for a scalar.
llvm::ArrayRef<int64_t> shapeOf(mlir::Type type);
/// Bits of an integer type; 64 for index.
unsigned integerWidth(mlir::Type type);
/// The host element type that holds `type`, if there is one.
std::optional<DType> hostTypeOf(mlir::Type type);

/// How declared mode rounds what is stored as `type` (or a tensor of it): the
/// 16-bit floats change, f32 stays f64. Exact mode rounds nothing.
Rounding storageRounding(mlir::Type type, const ReferenceOptions &options);
/// Rounds every element, in place, so.
void roundForStorage(TensorValue &value, mlir::Type type,
                     const ReferenceOptions &options);

TensorValue fromHost(const HostTensor &tensor);
ReferenceTensor toReference(const TensorValue &value);

} // namespace heddle::reference

#endif // HEDDLE_RUNTIME_REFERENCE_TENSORVALUE_H
