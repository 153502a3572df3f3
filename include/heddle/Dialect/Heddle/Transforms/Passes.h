//===- Passes.h - passes on the heddle dialect ------------------*- C++ -*-===//

#ifndef HEDDLE_DIALECT_HEDDLE_TRANSFORMS_PASSES_H
#define HEDDLE_DIALECT_HEDDLE_TRANSFORMS_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace heddle {

#define GEN_PASS_DECL
#include "heddle/Dialect/Heddle/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "heddle/Dialect/Heddle/Transforms/Passes.h.inc"

} // namespace heddle

#endif // HEDDLE_DIALECT_HEDDLE_TRANSFORMS_PASSES_H
