//===- PointerBase.h - which memory a pointer leads to ----------*- C++ -*-===//

#ifndef HEDDLE_DIALECT_HEDDLENVVM_TRANSFORMS_POINTERBASE_H
#define HEDDLE_DIALECT_HEDDLENVVM_TRANSFORMS_POINTERBASE_H

#include "mlir/IR/Value.h"

namespace heddle::nvvm {

/// What a pointer leads back to.
struct PointerBase {
  enum Kind { Unknown, Parameter, Local, Constant, Shared } kind = Unknown;
  unsigned parameter = 0; // of the function that holds the pointer
  bool operator==(const PointerBase &o) const {
    return kind == o.kind && parameter == o.parameter;
  }
};

/// Follows address arithmetic, casts, selects and branches.
PointerBase findPointerBase(mlir::Value pointer);

/// Whether an access through `pointer` is one of local or constant memory, which
/// is what it is on a CPU too.
bool isLocalOrConstant(mlir::Value pointer);

} // namespace heddle::nvvm

#endif // HEDDLE_DIALECT_HEDDLENVVM_TRANSFORMS_POINTERBASE_H
