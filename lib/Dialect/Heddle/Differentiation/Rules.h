//===- Rules.h - registration of the gradient rules, by file ----*- C++ -*-===//

#ifndef HEDDLE_LIB_DIALECT_HEDDLE_DIFFERENTIATION_RULES_H
#define HEDDLE_LIB_DIALECT_HEDDLE_DIFFERENTIATION_RULES_H

#include "mlir/IR/DialectRegistry.h"

namespace heddle {

void registerAttentionRules(mlir::DialectRegistry &registry);
void registerElementwiseRules(mlir::DialectRegistry &registry);
void registerLayerScanRule(mlir::DialectRegistry &registry);
void registerLinalgRules(mlir::DialectRegistry &registry);
void registerLinearScanRule(mlir::DialectRegistry &registry);
void registerTensorRules(mlir::DialectRegistry &registry);
void registerSelectiveScanRule(mlir::DialectRegistry &registry);

} // namespace heddle

#endif // HEDDLE_LIB_DIALECT_HEDDLE_DIFFERENTIATION_RULES_H
