//===- Passes.h - tile programs and CPU code --------------------*- C++ -*-===//

#ifndef HEDDLE_CODEGEN_PASSES_H
#define HEDDLE_CODEGEN_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace heddle {

#define GEN_PASS_DECL
#include "heddle/Codegen/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "heddle/Codegen/Passes.h.inc"

} // namespace heddle

#endif // HEDDLE_CODEGEN_PASSES_H
