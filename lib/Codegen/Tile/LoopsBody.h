//===- LoopsBody.h - bodies of structured ops on scalars --------*- C++ -*-===//
//
// Values of bf16 and f16 live as f32 while they are computed with: a sum in
// their own type would lose its digits. They are rounded where they are stored
// and where the body truncates.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_LIB_CODEGEN_TILE_LOOPSBODY_H
#define HEDDLE_LIB_CODEGEN_TILE_LOOPSBODY_H

#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace heddle {

/// The type that values of `element` have while they are computed with.
mlir::Type computeType(mlir::Type element);

/// The number `attr` (an integer or a float) in the type it is computed with.
mlir::Value computeConstant(mlir::OpBuilder &b, mlir::Location loc,
                            mlir::TypedAttr attr);

/// One element of a buffer, in the type it is computed with, and back.
mlir::Value loadScalar(mlir::OpBuilder &b, mlir::Location loc,
                       mlir::Value buffer, mlir::ValueRange position);
void storeScalar(mlir::OpBuilder &b, mlir::Location loc, mlir::Value value,
                 mlir::Value buffer, mlir::ValueRange position);

/// The element that a splat constant or a fill holds everywhere, in the type
/// it is computed with; null where `v` is neither.
mlir::Value splatElement(mlir::OpBuilder &b, mlir::Location loc, mlir::Value v);

/// Emits the ops of a body without its terminator on `args`, values of its
/// arguments in the types they are computed with (null: not used), and returns
/// the yielded values. `indexOf` gives the position along a loop for
/// linalg.index. Emits an error at an op that has no scalar form.
llvm::FailureOr<llvm::SmallVector<mlir::Value>>
emitScalarBody(mlir::OpBuilder &b, mlir::Block &body, mlir::ValueRange args,
               llvm::function_ref<mlir::Value(unsigned)> indexOf);

} // namespace heddle

#endif // HEDDLE_LIB_CODEGEN_TILE_LOOPSBODY_H
