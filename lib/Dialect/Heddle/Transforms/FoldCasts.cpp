//===- FoldCasts.cpp - a widening that is rounded back is nothing ---------===//

#include "heddle/Dialect/Heddle/Differentiation/Differentiation.h"
#include "heddle/Dialect/Heddle/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace heddle {
#define GEN_PASS_DEF_FOLDCASTSPASS
#include "heddle/Dialect/Heddle/Transforms/Passes.h.inc"
} // namespace heddle

using namespace mlir;
using namespace heddle;

namespace {
struct FoldCasts : heddle::impl::FoldCastsPassBase<FoldCasts> {
  void runOnOperation() override {
    getOperation().walk([](Operation *op) {
      if (op->getNumResults() != 1)
        return;
      Value wide = roundedFrom(op->getResult(0));
      Value narrow = wide ? widenedFrom(wide) : Value();
      if (narrow && narrow.getType() == op->getResult(0).getType())
        op->getResult(0).replaceAllUsesWith(narrow);
    });
  }
};
} // namespace
