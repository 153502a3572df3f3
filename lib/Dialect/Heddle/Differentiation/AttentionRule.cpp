//===- AttentionRule.cpp - the gradient rule of attention -----------------===//
//
// One heddle.attention_grad, whose residuals are query, key, value, out and lse.
// A forward op without an lse gets one: it is made again with it, and what read
// the old op reads the new one, so that attention still runs once.
//
//===----------------------------------------------------------------------===//

#include "Rules.h"
#include "heddle/Dialect/Heddle/Differentiation/Differentiation.h"
#include "heddle/Dialect/Heddle/IR/DifferentiableOpInterface.h"
#include "heddle/Dialect/Heddle/IR/Heddle.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace heddle;

/// The op, or one in its place that has an lse. The old one is left without
/// uses.
static AttentionOp withLse(AttentionOp op) {
  if (op.getLse())
    return op;
  OpBuilder b(op);
  auto wide = AttentionOp::create(
      b, op.getLoc(), op.getOut().getType(),
      AttentionOp::inferLseType(op.getQuery().getType(), op.getLayout()),
      op.getQuery(), op.getKey(), op.getValue(), op.getBias(),
      op.getQuerySegments(), op.getKeySegments(), op.getKeyLengths(),
      op.getMaskTensor(), op.getSinks(), op.getLayout(), op.getScaleAttr(),
      op.getMaskAttr(), op.getPrecision());
  wide->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  IRMapping mapping;
  op.getScore().cloneInto(&wide.getScore(), mapping);
  op.getOut().replaceAllUsesWith(wide.getOut());
  return wide;
}

/// The score region with a second result, its derivative with respect to the
/// score.
static LogicalResult addScoreDerivative(AttentionOp forward,
                                        AttentionGradOp grad) {
  if (forward.getScore().empty())
    return success();
  IRMapping mapping;
  forward.getScore().cloneInto(&grad.getScore(), mapping);
  Block &body = grad.getScore().front();
  Operation *yield = body.getTerminator();
  OpBuilder b(yield);
  Value score = body.getArgument(0), result = yield->getOperand(0);
  Value one = constantLike(b, yield->getLoc(), result.getType(), 1.0);
  SmallVector<Value> derivative;
  if (failed(differentiateBlock(b, body, score, result, one, derivative)))
    return failure();
  if (!derivative[0]) // the scores do not depend on query and key
    derivative[0] = zeros(b, yield->getLoc(), result.getType());
  yield->setOperands({result, derivative[0]});
  return success();
}

static LogicalResult differentiateAttention(AttentionOp op, OpBuilder &b,
                                            ArrayRef<Value> cotangents,
                                            const llvm::BitVector &needed,
                                            SmallVectorImpl<Value> &gradients) {
  if (needed.none())
    return success();
  auto indexOf = [&](unsigned group) -> int {
    auto [begin, length] = op.getODSOperandIndexAndLength(group);
    return length ? static_cast<int>(begin) : -1;
  };
  // Groups of operands as the op declares them.
  int query = indexOf(0), key = indexOf(1), value = indexOf(2),
      bias = indexOf(3), sinks = indexOf(8);
  auto wanted = [&](int operand) -> Type {
    return operand >= 0 && needed.test(operand)
               ? op->getOperand(operand).getType()
               : Type();
  };
  AttentionOp forward = withLse(op);
  Location loc = op.getLoc();
  Value dOut = cotangents[0];
  if (!dOut)
    dOut = zeros(b, loc, op.getOut().getType());
  Value dLse = cotangents.size() > 1 ? cotangents[1] : Value();
  auto grad = AttentionGradOp::create(
      b, loc, wanted(query), wanted(key), wanted(value), wanted(bias),
      wanted(sinks), /*row_dots=*/Type(), op.getQuery(), op.getKey(),
      op.getValue(), forward.getLse(), dOut, forward.getOut(),
      /*row_dots=*/Value(), dLse, op.getBias(), op.getQuerySegments(),
      op.getKeySegments(), op.getKeyLengths(), op.getMaskTensor(),
      op.getSinks(), op.getLayout(), op.getScaleAttr(), op.getMaskAttr(),
      op.getPrecision());
  if (failed(addScoreDerivative(op, grad)))
    return failure();
  for (auto [operand, gradient] :
       {std::pair<int, Value>{query, grad.getDQuery()},
        {key, grad.getDKey()},
        {value, grad.getDValue()},
        {bias, grad.getDBias()},
        {sinks, grad.getDSinks()}})
    if (operand >= 0)
      gradients[operand] = gradient;
  return success();
}

namespace {
struct AttentionRule
    : DifferentiableOpInterface::ExternalModel<AttentionRule, AttentionOp> {
  LogicalResult differentiate(Operation *op, OpBuilder &b,
                              ArrayRef<Value> cotangents,
                              const llvm::BitVector &needed,
                              SmallVectorImpl<Value> &gradients) const {
    return differentiateAttention(cast<AttentionOp>(op), b, cotangents, needed,
                                  gradients);
  }
};
} // namespace

void heddle::registerAttentionRules(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, HeddleDialect *) {
    AttentionOp::attachInterface<AttentionRule>(*context);
  });
}
