//===- InlineCalls.h - functions that models call ---------------*- C++ -*-===//

#ifndef HEDDLE_DIALECT_HEDDLE_TRANSFORMS_INLINECALLS_H
#define HEDDLE_DIALECT_HEDDLE_TRANSFORMS_INLINECALLS_H

#include "mlir/Pass/Pass.h"

namespace heddle {

/// `heddle-inline-calls`: every func.call becomes the body of its function, and
/// private functions that only calls named go. An error for a function that
/// calls itself, that has no body, or that has branches.
std::unique_ptr<mlir::Pass> createInlineCallsPass();
void registerInlineCallsPass();

} // namespace heddle

#endif // HEDDLE_DIALECT_HEDDLE_TRANSFORMS_INLINECALLS_H
