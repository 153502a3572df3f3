//===- HeddleGpuFolds.cpp - folders and canonicalization patterns ---------===//

#include "heddle/Dialect/HeddleGpu/IR/HeddleGpu.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace heddle_gpu;

/// A splat is one in every layout and shape.
static OpFoldResult refoldSplat(Attribute input, Type type) {
  auto splat = dyn_cast_or_null<SplatElementsAttr>(input);
  if (!splat)
    return {};
  return SplatElementsAttr::get(cast<ShapedType>(type),
                                splat.getSplatValue<Attribute>());
}

OpFoldResult BroadcastOp::fold(FoldAdaptor adaptor) {
  if (getInput().getType() == getResult().getType())
    return getInput();
  return refoldSplat(adaptor.getInput(), getResult().getType());
}

OpFoldResult TransOp::fold(FoldAdaptor adaptor) {
  ArrayRef<int64_t> permutation = getPermutation();
  bool identity = true;
  for (auto [i, d] : llvm::enumerate(permutation))
    identity &= d == static_cast<int64_t>(i);
  if (identity)
    return getInput();
  if (OpFoldResult splat = refoldSplat(adaptor.getInput(), getType()))
    return splat;
  auto inner = getInput().getDefiningOp<TransOp>();
  if (!inner)
    return {};
  SmallVector<int64_t> both;
  for (int64_t d : permutation)
    both.push_back(inner.getPermutation()[d]);
  setPermutation(both);
  getInputMutable().assign(inner.getInput());
  return getResult();
}

OpFoldResult ConvertLayoutOp::fold(FoldAdaptor adaptor) {
  if (getInput().getType() == getResult().getType())
    return getInput();
  if (OpFoldResult splat = refoldSplat(adaptor.getInput(), getType()))
    return splat;
  // The layout between has no meaning.
  if (auto inner = getInput().getDefiningOp<ConvertLayoutOp>()) {
    getInputMutable().assign(inner.getInput());
    return getResult();
  }
  return {};
}

namespace {
/// What is computed from nothing is computed in the layout that is wanted.
struct ConvertOfIota : OpRewritePattern<ConvertLayoutOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ConvertLayoutOp op,
                                PatternRewriter &rewriter) const override {
    auto iota = op.getInput().getDefiningOp<IotaOp>();
    if (!iota)
      return rewriter.notifyMatchFailure(op, "the input is no iota");
    rewriter.replaceOpWithNewOp<IotaOp>(op, op.getType(), iota.getAxisAttr(),
                                        iota.getStart());
    return success();
  }
};

struct ConvertOfSplat : OpRewritePattern<ConvertLayoutOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ConvertLayoutOp op,
                                PatternRewriter &rewriter) const override {
    auto splat = op.getInput().getDefiningOp<tensor::SplatOp>();
    if (!splat)
      return rewriter.notifyMatchFailure(op, "the input is no splat");
    rewriter.replaceOpWithNewOp<tensor::SplatOp>(
        op, op.getType(), splat.getInput(), ValueRange());
    return success();
  }
};
} // namespace

void ConvertLayoutOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                                  MLIRContext *context) {
  patterns.add<ConvertOfIota, ConvertOfSplat>(context);
}
