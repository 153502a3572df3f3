//===- SelectiveScanRule.cpp - the gradient rule of selective scan --------===//

#include "Rules.h"
#include "heddle/Dialect/Heddle/Differentiation/Differentiation.h"
#include "heddle/Dialect/Heddle/IR/DifferentiableOpInterface.h"
#include "heddle/Dialect/Heddle/IR/Heddle.h"

using namespace mlir;
using namespace heddle;

namespace {
/// One op gives all gradients, from the operands alone: no result is kept.
struct SelectiveScanRule
    : DifferentiableOpInterface::ExternalModel<SelectiveScanRule,
                                               SelectiveScanOp> {
  LogicalResult differentiate(Operation *op, OpBuilder &builder,
                              ArrayRef<Value> cotangents,
                              const llvm::BitVector &needed,
                              SmallVectorImpl<Value> &gradients) const {
    auto scan = cast<SelectiveScanOp>(op);
    Location loc = op->getLoc();
    Value dy = cotangents[0];
    if (!dy)
      dy = zeros(builder, loc, scan.getY().getType());
    Value dfinal = scan.getFinalState() ? cotangents[1] : Value();
    if (scan.getChunkStates() && cotangents.back())
      return op->emitOpError("expected no gradient through chunk_states; use "
                             "final_state of shorter scans");
    auto typeOf = [](Value v) { return v ? v.getType() : Type(); };
    auto grad = SelectiveScanGradOp::create(
        builder, loc, scan.getU().getType(), scan.getDelta().getType(),
        scan.getA().getType(), scan.getB().getType(), scan.getC().getType(),
        typeOf(scan.getD()), typeOf(scan.getZ()), typeOf(scan.getDeltaBias()),
        typeOf(scan.getInitialState()), /*scratch=*/Type(), scan.getU(),
        scan.getDelta(), scan.getA(), scan.getB(), scan.getC(), scan.getD(),
        scan.getZ(), scan.getDeltaBias(), scan.getInitialState(),
        scan.getResetIds(), dy, dfinal, /*chunk_states=*/Value(),
        scan.getDeltaSoftplusAttr(), scan.getReverseAttr(),
        /*chunk=*/IntegerAttr(),
        /*partial_sums=*/IntegerAttr(), /*fresh=*/UnitAttr());
    // Gradients are in the order of the float operands that are there.
    unsigned next = 0;
    for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
      if (operand == scan.getResetIds())
        continue;
      Value gradient = grad->getResult(next++);
      if (needed.test(i))
        gradients[i] = gradient;
    }
    return success();
  }
};
} // namespace

void heddle::registerSelectiveScanRule(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, HeddleDialect *) {
    SelectiveScanOp::attachInterface<SelectiveScanRule>(*context);
  });
}
