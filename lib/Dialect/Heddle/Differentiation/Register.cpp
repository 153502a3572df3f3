//===- Register.cpp - all gradient rules ----------------------------------===//

#include "Rules.h"
#include "heddle/Dialect/Heddle/Differentiation/Differentiation.h"

void heddle::registerDifferentiation(mlir::DialectRegistry &registry) {
  registerAttentionRules(registry);
  registerElementwiseRules(registry);
  registerLayerScanRule(registry);
  registerLinalgRules(registry);
  registerLinearScanRule(registry);
  registerTensorRules(registry);
  registerSelectiveScanRule(registry);
}
