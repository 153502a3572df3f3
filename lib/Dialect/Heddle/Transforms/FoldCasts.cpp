//===- FoldCasts.cpp - a widening that is rounded back is nothing ---------===//

#include "heddle/Dialect/Heddle/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace heddle {
#define GEN_PASS_DEF_FOLDCASTSPASS
#include "heddle/Dialect/Heddle/Transforms/Passes.h.inc"
} // namespace heddle

using namespace mlir;
using namespace heddle;

/// Whether a generic does nothing but cast every element.
template <typename CastOp>
static bool onlyCasts(linalg::GenericOp op) {
  if (op.getNumDpsInputs() != 1 || op.getNumResults() != 1 ||
      op.getNumReductionLoops() != 0 ||
      !llvm::all_of(op.getIndexingMapsArray(),
                    [](AffineMap m) { return m.isIdentity(); }))
    return false;
  Block &body = op.getRegion().front();
  auto cast = body.getTerminator()->getOperand(0).getDefiningOp<CastOp>();
  return cast && cast.getIn() == body.getArgument(0);
}

/// The operand of a cast of whole tensors, in either form; else null.
template <typename CastOp>
static Value castOperand(Operation *op) {
  if (auto cast = dyn_cast_or_null<CastOp>(op))
    return cast.getIn();
  if (auto generic = dyn_cast_or_null<linalg::GenericOp>(op);
      generic && onlyCasts<CastOp>(generic))
    return generic.getDpsInputs()[0];
  return {};
}

namespace {
struct FoldCasts : heddle::impl::FoldCastsPassBase<FoldCasts> {
  void runOnOperation() override {
    getOperation().walk([](Operation *op) {
      Value wide = castOperand<arith::TruncFOp>(op);
      if (!wide)
        return;
      Value narrow = castOperand<arith::ExtFOp>(wide.getDefiningOp());
      if (narrow && narrow.getType() == op->getResult(0).getType())
        op->getResult(0).replaceAllUsesWith(narrow);
    });
  }
};
} // namespace
