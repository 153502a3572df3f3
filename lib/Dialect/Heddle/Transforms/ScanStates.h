//===- ScanStates.h - which scans have the states of a gradient -*- C++ -*-===//
//
// Private to lib/Dialect/Heddle/Transforms.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_LIB_DIALECT_HEDDLE_TRANSFORMS_SCANSTATES_H
#define HEDDLE_LIB_DIALECT_HEDDLE_TRANSFORMS_SCANSTATES_H

#include "heddle/Dialect/Heddle/IR/Heddle.h"

namespace heddle {

/// Whether a scan that starts from `initial` (null: from no state) walks
/// through the states that a gradient needs, and stands before it in its block.
/// What follows the states, c, d and z, may differ.
inline bool hasStatesOf(SelectiveScanOp scan, mlir::Value initial,
                        SelectiveScanGradOp grad) {
  return scan->getBlock() == grad->getBlock() && scan->isBeforeInBlock(grad) &&
         scan.getU() == grad.getU() && scan.getDelta() == grad.getDelta() &&
         scan.getA() == grad.getA() && scan.getB() == grad.getB() &&
         scan.getDeltaBias() == grad.getDeltaBias() &&
         initial == grad.getInitialState() &&
         scan.getResetIds() == grad.getResetIds() &&
         scan.getDeltaSoftplus() == grad.getDeltaSoftplus() &&
         scan.getReverse() == grad.getReverse();
}

} // namespace heddle

#endif // HEDDLE_LIB_DIALECT_HEDDLE_TRANSFORMS_SCANSTATES_H
