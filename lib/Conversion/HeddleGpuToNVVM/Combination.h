//===- Combination.h - combining scalars of lanes ---------------*- C++ -*-===//
//
// What reductions and scans do with two groups of scalars, one scalar for each
// of their inputs.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_LIB_CONVERSION_HEDDLEGPUTONVVM_COMBINATION_H
#define HEDDLE_LIB_CONVERSION_HEDDLEGPUTONVVM_COMBINATION_H

#include "LaneCode.h"

namespace heddle_gpu {

/// x combined with y, in this order, by the op's kind or, without one, its
/// region.
llvm::SmallVector<mlir::Value> combine(mlir::OpBuilder &b, mlir::Location loc,
                                       std::optional<CombineKind> kind,
                                       mlir::Region &region, mlir::ValueRange x,
                                       mlir::ValueRange y);

/// The value of the lane whose number differs in `bit` (1, 2, 4, 8 or 16).
mlir::Value exchange(mlir::OpBuilder &b, mlir::Location loc, mlir::Value v,
                     int64_t bit);

void populateScanPatterns(const LaneTypes &types,
                          mlir::RewritePatternSet &patterns);

} // namespace heddle_gpu

#endif // HEDDLE_LIB_CONVERSION_HEDDLEGPUTONVVM_COMBINATION_H
