//===- MaskFolds.h - simpler masks of attention and its gradient -*- C++ -*-===//

#ifndef HEDDLE_LIB_DIALECT_HEDDLE_IR_MASKFOLDS_H
#define HEDDLE_LIB_DIALECT_HEDDLE_IR_MASKFOLDS_H

#include "heddle/Dialect/Heddle/IR/Heddle.h"

#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

namespace heddle {

template <typename Op>
struct SimplifyMask : mlir::OpRewritePattern<Op> {
  using mlir::OpRewritePattern<Op>::OpRewritePattern;
  mlir::LogicalResult
  matchAndRewrite(Op op, mlir::PatternRewriter &rewriter) const override {
    MaskAttr mask = op.getMaskAttr();
    if (!mask || mask.simplify() == mask)
      return rewriter.notifyMatchFailure(op, "the mask is simple");
    rewriter.modifyOpInPlace(op, [&] { op.setMaskAttr(mask.simplify()); });
    return mlir::success();
  }
};

/// A mask tensor that is true everywhere masks nothing.
template <typename Op>
struct DropFullMaskTensor : mlir::OpRewritePattern<Op> {
  using mlir::OpRewritePattern<Op>::OpRewritePattern;
  mlir::LogicalResult
  matchAndRewrite(Op op, mlir::PatternRewriter &rewriter) const override {
    mlir::DenseElementsAttr mask;
    if (!op.getMaskTensor() ||
        !mlir::matchPattern(op.getMaskTensor(), mlir::m_Constant(&mask)) ||
        !mask.isSplat() || !mask.template getSplatValue<bool>())
      return rewriter.notifyMatchFailure(op, "no constant mask of all true");
    rewriter.modifyOpInPlace(op, [&] { op.getMaskTensorMutable().clear(); });
    return mlir::success();
  }
};

} // namespace heddle

#endif // HEDDLE_LIB_DIALECT_HEDDLE_IR_MASKFOLDS_H
