//===- LinearScanRule.cpp - the gradient rule of linear scan --------------===//

#include "Rules.h"
#include "heddle/Dialect/Heddle/Differentiation/Differentiation.h"
#include "heddle/Dialect/Heddle/IR/DifferentiableOpInterface.h"
#include "heddle/Dialect/Heddle/IR/Heddle.h"

using namespace mlir;
using namespace heddle;

/// No steps: the states are one.
static void passStates(LinearScanOp op, ArrayRef<Value> cotangents,
                       SmallVectorImpl<Value> &gradients) {
  for (auto [state, final] :
       {std::pair{op.getInitialStateMutable(), op.getFinalState()},
        {op.getInitialStateImagMutable(), op.getFinalStateImag()}})
    if (!state.empty() && final)
      gradients[state[0].getOperandNumber()] =
          cotangents[cast<OpResult>(final).getResultNumber()];
}

namespace {
/// One op gives all gradients, from the decay, the states and their cotangents.
struct LinearScanRule
    : DifferentiableOpInterface::ExternalModel<LinearScanRule, LinearScanOp> {
  LogicalResult differentiate(Operation *operation, OpBuilder &b,
                              ArrayRef<Value> cotangents,
                              const llvm::BitVector &needed,
                              SmallVectorImpl<Value> &gradients) const {
    auto op = cast<LinearScanOp>(operation);
    if (!op.getB().getType().hasStaticShape())
      return op.emitOpError(
          "cannot be differentiated: expected static tensors");
    if (op.getB().getType().getDimSize(1) == 0) {
      passStates(op, cotangents, gradients);
      return success();
    }
    Location loc = op.getLoc();
    auto cotangentOf = [&](Value result) {
      return result ? cotangents[cast<OpResult>(result).getResultNumber()]
                    : Value();
    };
    auto orZeros = [&](Value cotangent, Value like) {
      return cotangent || !like ? cotangent : zeros(b, loc, like.getType());
    };
    Value dh = orZeros(cotangentOf(op.getH()), op.getH());
    Value dhImag = orZeros(cotangentOf(op.getHImag()), op.getHImag());
    // The parts of a complex state come together.
    Value dfinal = cotangentOf(op.getFinalState());
    Value dfinalImag = cotangentOf(op.getFinalStateImag());
    if (op.isComplex() && (dfinal || dfinalImag)) {
      Value like = dfinal ? dfinal : dfinalImag;
      dfinal = orZeros(dfinal, like);
      dfinalImag = orZeros(dfinalImag, like);
    }
    auto typeOf = [](Value v) { return v ? v.getType() : Type(); };
    auto grad = LinearScanGradOp::create(
        b, loc, op.getA().getType(), op.getB().getType(), typeOf(op.getAImag()),
        typeOf(op.getBImag()), typeOf(op.getInitialState()),
        typeOf(op.getInitialStateImag()), op.getA(), op.getH(), dh,
        op.getAImag(), op.getHImag(), dhImag, op.getInitialState(),
        op.getInitialStateImag(), dfinal, dfinalImag, op.getResetIds(),
        op.getReverseAttr(), /*partial_sums=*/UnitAttr());
    auto set = [&](MutableOperandRange operand, Value gradient) {
      if (!operand.empty() && needed.test(operand[0].getOperandNumber()))
        gradients[operand[0].getOperandNumber()] = gradient;
    };
    set(op.getAMutable(), grad.getDa());
    set(op.getBMutable(), grad.getDb());
    set(op.getAImagMutable(), grad.getDaImag());
    set(op.getBImagMutable(), grad.getDbImag());
    set(op.getInitialStateMutable(), grad.getDinitialState());
    set(op.getInitialStateImagMutable(), grad.getDinitialStateImag());
    return success();
  }
};
} // namespace

void heddle::registerLinearScanRule(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, HeddleDialect *) {
    LinearScanOp::attachInterface<LinearScanRule>(*context);
  });
}
