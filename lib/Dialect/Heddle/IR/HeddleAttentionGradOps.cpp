//===- HeddleAttentionGradOps.cpp - verifier of attention's gradient ------===//

#include "MaskFolds.h"
#include "VerifyAttention.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace heddle;

int64_t AttentionGradOp::getBatch() { return sizeOf(getQuery(), 0); }
int64_t AttentionGradOp::getQueryHeads() {
  return sizeOf(getQuery(), headAxis(*this));
}
int64_t AttentionGradOp::getKeyHeads() {
  return sizeOf(getKey(), headAxis(*this));
}
int64_t AttentionGradOp::getQueryLength() {
  return sizeOf(getQuery(), lengthAxis(*this));
}
int64_t AttentionGradOp::getKeyLength() {
  return sizeOf(getKey(), lengthAxis(*this));
}
int64_t AttentionGradOp::getQueryHeadDim() { return sizeOf(getQuery(), 3); }
int64_t AttentionGradOp::getValueHeadDim() { return sizeOf(getValue(), 3); }
double AttentionGradOp::getEffectiveScale() { return effectiveScale(*this); }

//===----------------------------------------------------------------------===//
// Verifier
//===----------------------------------------------------------------------===//

/// Whether `gradient` is the f32 form of a gradient of `primal`.
static bool isUnrounded(Value gradient, Value primal) {
  auto type = cast<RankedTensorType>(gradient.getType());
  return type.getElementType().isF32() &&
         type.getShape() == cast<RankedTensorType>(primal.getType()).getShape();
}

static LogicalResult verifyGradients(AttentionGradOp op) {
  /*attention_grad_c6*/
  if (op.getDBias() && !op.getBias())
    return op.emitOpError() << "expected bias with d_bias, got none";
  if (op.getDSinks() && !op.getSinks())
    return op.emitOpError() << "expected sinks with d_sinks, got none";
  if (op->getNumResults() == 0)
    return op.emitOpError() << "expected at least one gradient, got none";
  /*attention_grad_c5*/
  for (auto [name, gradient, primal] :
       {std::tuple<StringRef, Value, Value>{"d_query", op.getDQuery(),
                                            op.getQuery()},
        {"d_key", op.getDKey(), op.getKey()},
        {"d_value", op.getDValue(), op.getValue()},
        {"d_bias", op.getDBias(), op.getBias()},
        {"d_sinks", op.getDSinks(), op.getSinks()}})
    if (gradient && !isUnrounded(gradient, primal) &&
        failed(verifyType(op, name, gradient.getType(), primal.getType())))
      return failure();
  return success();
}

LogicalResult AttentionGradOp::verify() {
  /*attention_grad_c1*/
  if (failed(verifyQueryKeyValue(*this)) || failed(verifyScoreOperands(*this)))
    return failure();
  Axis batch{"B", getBatch()}, length{"Sq", getQueryLength()},
      heads{"H", getQueryHeads()};
  Type element = getQuery().getType().getElementType();
  /*attention_grad_c2*/
  for (auto [name, value] : {std::pair<StringRef, Value>{"d_out", getDOut()},
                             {"out", getOut()}})
    if (failed(verifyTensor(
            *this, name, value,
            inLayout(*this, batch, length, heads, {"d_v", getValueHeadDim()}),
            element)))
      return failure();
  /*attention_grad_c3*/
  for (auto [name, value] : {std::pair<StringRef, Value>{"lse", getLse()},
                             {"d_lse", getDLse()},
                             {"row_dots", getRowDots()},
                             {"the result row_dots", getRowDotsOut()}})
    if (failed(verifyTensor(*this, name, value, {batch, heads, length},
                            Elements::F32)))
      return failure();
  /*attention_grad_c4*/
  if (!getOut() == !getRowDots())
    return emitOpError() << "expected out or row_dots, got "
                         << (getOut() ? "both" : "neither");
  if (getDLse() && !getOut())
    return emitOpError() << "expected d_lse with out, got it with row_dots, "
                            "which has it taken off already";
  return verifyGradients(*this);
}

LogicalResult AttentionGradOp::verifyRegions() {
  return verifyScoreRegion(*this, getScore(), /*results=*/2);
}

//===----------------------------------------------------------------------===//
// Canonicalization
//===----------------------------------------------------------------------===//

namespace {
/// A gradient that nobody reads is not computed.
struct DropUnusedGradients : OpRewritePattern<AttentionGradOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AttentionGradOp op,
                                PatternRewriter &rewriter) const override {
    bool some = llvm::any_of(op->getResults(),
                             [](Value v) { return !v.use_empty(); });
    bool all = llvm::all_of(op->getResults(),
                            [](Value v) { return !v.use_empty(); });
    if (!some || all)
      return rewriter.notifyMatchFailure(op, "all gradients are used or dead");
    auto used = [](Value v) {
      return v && !v.use_empty() ? v.getType() : Type();
    };
    auto narrow = AttentionGradOp::create(
        rewriter, op.getLoc(), used(op.getDQuery()), used(op.getDKey()),
        used(op.getDValue()), used(op.getDBias()), used(op.getDSinks()),
        used(op.getRowDotsOut()), op.getQuery(), op.getKey(), op.getValue(),
        op.getLse(), op.getDOut(), op.getOut(), op.getRowDots(), op.getDLse(),
        op.getBias(), op.getQuerySegments(), op.getKeySegments(),
        op.getKeyLengths(), op.getMaskTensor(), op.getSinks(), op.getLayout(),
        op.getScaleAttr(), op.getMaskAttr(), op.getPrecision());
    narrow->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    rewriter.inlineRegionBefore(op.getScore(), narrow.getScore(),
                                narrow.getScore().end());
    unsigned next = 0;
    for (Value old : op->getResults())
      if (!old.use_empty())
        rewriter.replaceAllUsesWith(old, narrow->getResult(next++));
    rewriter.eraseOp(op);
    return success();
  }
};
} // namespace

void AttentionGradOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                                  MLIRContext *context) {
  patterns.add<DropUnusedGradients, SimplifyMask<AttentionGradOp>,
               DropFullMaskTensor<AttentionGradOp>>(context);
}
