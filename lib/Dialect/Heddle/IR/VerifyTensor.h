//===- VerifyTensor.h - shape and type checks of verifiers ------*- C++ -*-===//
//
// Private to the dialect's verifiers: one check of a tensor's rank, sizes and
// element type, with one error text that names all three.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_LIB_DIALECT_HEDDLE_IR_VERIFYTENSOR_H
#define HEDDLE_LIB_DIALECT_HEDDLE_IR_VERIFYTENSOR_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"

namespace heddle {

/// An axis as a verifier expects it. A dynamic size on either side fits.
struct Axis {
  llvm::StringRef name;
  int64_t size = mlir::ShapedType::kDynamic;
  bool orOne = false; // 1 fits too (broadcasting)
};

/// The element types that a verifier accepts. Float: f16, bf16 or f32.
enum class Elements { Float, F32, I32, I1 };

/// Whether gradients are taken with respect to `type`: f16, bf16, f32, f64.
bool isDifferentiableFloat(mlir::Type type);

/// Whether two sizes can be equal at run time.
inline bool sizesFit(int64_t a, int64_t b) {
  return a == b || mlir::ShapedType::isDynamic(a) ||
         mlir::ShapedType::isDynamic(b);
}

/// Checks that `value` (null: absent, fine) is a tensor over `axes` with
/// elements of the given kind; otherwise emits "expected <what> ..." at `op`.
llvm::LogicalResult verifyTensor(mlir::Operation *op, llvm::StringRef what,
                                 mlir::Value value, llvm::ArrayRef<Axis> axes,
                                 Elements elements);

/// The same with one exact element type.
llvm::LogicalResult verifyTensor(mlir::Operation *op, llvm::StringRef what,
                                 mlir::Value value, llvm::ArrayRef<Axis> axes,
                                 mlir::Type element);

/// Checks that `type` and `wanted` agree up to dynamic sizes.
llvm::LogicalResult verifyType(mlir::Operation *op, const llvm::Twine &what,
                               mlir::Type type, mlir::Type wanted);

/// Checks that there are at least two chunks of time (`scanChunkSteps`), and each
/// has a step; a dynamic number fits.
llvm::LogicalResult verifyScanChunks(mlir::Operation *op, int64_t length,
                                     int64_t chunks);

} // namespace heddle

#endif // HEDDLE_LIB_DIALECT_HEDDLE_IR_VERIFYTENSOR_H
