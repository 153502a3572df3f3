//===- Heddle.h - the heddle dialect: attributes and ops --------*- C++ -*-===//
//
// Graph-level attention, scans, remat and differentiation ops. The .td files
// beside this header are the documentation (see docs/dialect/Heddle.md).
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_DIALECT_HEDDLE_IR_HEDDLE_H
#define HEDDLE_DIALECT_HEDDLE_IR_HEDDLE_H

#include "heddle/Dialect/Heddle/IR/KnownAttributes.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/IntegerSet.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/TilingInterface.h"

namespace heddle {
/// The terms a mask is built from; see `MaskAttr`.
enum class MaskKind {
  Causal,
  CausalUpperLeft,
  CausalLowerRight,
  Window,
  Prefix,
  BlockDiagonal,
  AffineSet,
  Union,
  Intersection
};

/// Chunks of time that states of a scan belong to: axis 1 where the states have
/// one axis more than `rank`.
inline int64_t scanChunks(mlir::RankedTensorType states, int64_t rank) {
  return states.getRank() > rank ? states.getDimSize(1) : 1;
}
/// Steps of a chunk; the last one may have fewer. Multiples of 16 fit the steps
/// that kernels take at once.
inline int64_t scanChunkSteps(int64_t length, int64_t chunks) {
  return chunks <= 1 ? length : (length + chunks * 16 - 1) / (chunks * 16) * 16;
}
} // namespace heddle

#include "heddle/Dialect/Heddle/IR/HeddleDialect.h.inc"
#include "heddle/Dialect/Heddle/IR/HeddleEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "heddle/Dialect/Heddle/IR/HeddleAttrs.h.inc"
#define GET_OP_CLASSES
#include "heddle/Dialect/Heddle/IR/HeddleOps.h.inc"

#endif // HEDDLE_DIALECT_HEDDLE_IR_HEDDLE_H
