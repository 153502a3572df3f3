//===- HeddleFolds.cpp - folders and canonicalization patterns ------------===//

#include "MaskFolds.h"
#include "heddle/Dialect/Heddle/IR/Heddle.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace heddle;

Operation *HeddleDialect::materializeConstant(OpBuilder &builder,
                                              Attribute value, Type type,
                                              Location loc) {
  return arith::ConstantOp::materialize(builder, value, type, loc);
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

namespace {
/// An lse that nobody reads is not computed.
struct DropUnusedLse : OpRewritePattern<AttentionOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AttentionOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.getLse() || !op.getLse().use_empty())
      return rewriter.notifyMatchFailure(op, "lse is absent or used");
    auto narrow = AttentionOp::create(
        rewriter, op.getLoc(), op.getOut().getType(), /*lse=*/Type(),
        op.getQuery(), op.getKey(), op.getValue(), op.getBias(),
        op.getQuerySegments(), op.getKeySegments(), op.getKeyLengths(),
        op.getMaskTensor(), op.getSinks(), op.getLayout(), op.getScaleAttr(),
        op.getMaskAttr(), op.getPrecision());
    narrow->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    rewriter.inlineRegionBefore(op.getScore(), narrow.getScore(),
                                narrow.getScore().end());
    rewriter.replaceAllUsesWith(op.getOut(), narrow.getOut());
    rewriter.eraseOp(op);
    return success();
  }
};

/// A score region that yields its score is none.
struct DropIdentityScore : OpRewritePattern<AttentionOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AttentionOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getScore().empty())
      return rewriter.notifyMatchFailure(op, "has no score region");
    Block &body = op.getScore().front();
    if (body.getTerminator()->getOperand(0) != body.getArgument(0))
      return rewriter.notifyMatchFailure(op, "the score region computes");
    rewriter.modifyOpInPlace(op, [&] { rewriter.eraseBlock(&body); });
    return success();
  }
};
} // namespace

void AttentionOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                              MLIRContext *context) {
  patterns.add<DropUnusedLse, DropIdentityScore, SimplifyMask<AttentionOp>,
               DropFullMaskTensor<AttentionOp>>(context);
}

//===----------------------------------------------------------------------===//
// Scans: a final state that nobody reads is not stored
//===----------------------------------------------------------------------===//

/// The final state, and those at the boundaries of chunks.
static LogicalResult dropStates(SelectiveScanOp op, PatternRewriter &rewriter) {
  auto kept = [](Value states) {
    return states && !states.use_empty() ? states.getType() : Type();
  };
  Type final = kept(op.getFinalState()), chunks = kept(op.getChunkStates());
  if (!final == !op.getFinalState() && !chunks == !op.getChunkStates())
    return rewriter.notifyMatchFailure(op, "all states are used");
  auto narrow = SelectiveScanOp::create(
      rewriter, op.getLoc(), op.getY().getType(), final, chunks, op.getU(),
      op.getDelta(), op.getA(), op.getB(), op.getC(), op.getD(), op.getZ(),
      op.getDeltaBias(), op.getInitialState(), op.getResetIds(),
      op.getDeltaSoftplus(), op.getReverse(),
      chunks ? op.getChunkAttr() : IntegerAttr(), op.getFresh());
  narrow->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  rewriter.replaceAllUsesWith(op.getY(), narrow.getY());
  if (final)
    rewriter.replaceAllUsesWith(op.getFinalState(), narrow.getFinalState());
  if (chunks)
    rewriter.replaceAllUsesWith(op.getChunkStates(), narrow.getChunkStates());
  rewriter.eraseOp(op);
  return success();
}

static LogicalResult dropFinalState(SsdOp op, PatternRewriter &rewriter) {
  if (!op.getFinalState() || !op.getFinalState().use_empty())
    return rewriter.notifyMatchFailure(op, "final state is absent or used");
  auto narrow = SsdOp::create(rewriter, op.getLoc(), op.getOut().getType(),
                              /*final_state=*/Type(), op.getQuery(),
                              op.getKey(), op.getValue(), op.getLogDecay(),
                              op.getInitialState(), op.getResetIds(),
                              op.getLogDecayNonpositive(), op.getReverse());
  narrow->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  rewriter.replaceAllUsesWith(op.getOut(), narrow.getOut());
  rewriter.eraseOp(op);
  return success();
}

static LogicalResult dropFinalState(LinearScanOp op,
                                    PatternRewriter &rewriter) {
  // The parts of a complex state come together, so they go together.
  if (!op.getFinalState() || !op.getFinalState().use_empty() ||
      (op.getFinalStateImag() && !op.getFinalStateImag().use_empty()))
    return rewriter.notifyMatchFailure(op, "final state is absent or used");
  auto narrow = LinearScanOp::create(
      rewriter, op.getLoc(), op.getH().getType(),
      op.getHImag() ? op.getHImag().getType() : Type(), /*final_state=*/Type(),
      /*final_state_imag=*/Type(), op.getA(), op.getB(), op.getAImag(),
      op.getBImag(), op.getInitialState(), op.getInitialStateImag(),
      op.getResetIds(), op.getReverse(), op.getNanResets(), op.getFresh());
  narrow->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  rewriter.replaceAllUsesWith(op.getH(), narrow.getH());
  if (op.getHImag())
    rewriter.replaceAllUsesWith(op.getHImag(), narrow.getHImag());
  rewriter.eraseOp(op);
  return success();
}

/// Over no step at all the states leave as they came, zero where none came.
/// `states` are final states with the initial ones; other results are empty.
static LogicalResult
returnIncomingStates(Operation *op, Value sequence,
                     ArrayRef<std::pair<Value, Value>> states,
                     PatternRewriter &rewriter) {
  if (cast<RankedTensorType>(sequence.getType()).getDimSize(1) != 0)
    return rewriter.notifyMatchFailure(op, "has steps");
  auto isStatic = [](Type t) { return cast<ShapedType>(t).hasStaticShape(); };
  if (!llvm::all_of(op->getResultTypes(), isStatic))
    return rewriter.notifyMatchFailure(op, "needs static shapes");
  SmallVector<Value> results;
  for (Value result : op->getResults()) {
    Value incoming;
    for (auto [outgoing, from] : states)
      if (outgoing == result)
        incoming = from;
    results.push_back(incoming ? incoming
                               : arith::ConstantOp::create(
                                     rewriter, op->getLoc(),
                                     rewriter.getZeroAttr(result.getType()))
                                     .getResult());
  }
  rewriter.replaceOp(op, results);
  return success();
}

void SelectiveScanOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                                  MLIRContext *context) {
  patterns.add(+[](SelectiveScanOp op, PatternRewriter &rewriter) {
    return returnIncomingStates(op, op.getU(),
                                {{op.getFinalState(), op.getInitialState()}},
                                rewriter);
  });
  patterns.add(+[](SelectiveScanOp op, PatternRewriter &rewriter) {
    return dropStates(op, rewriter);
  });
}
void SelectiveScanGradOp::getCanonicalizationPatterns(
    RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add(+[](SelectiveScanGradOp op, PatternRewriter &rewriter) {
    return returnIncomingStates(
        op, op.getU(), {{op.getDinitialState(), op.getDfinalState()}},
        rewriter);
  });
}
void LinearScanGradOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                                   MLIRContext *context) {
  patterns.add(+[](LinearScanGradOp op, PatternRewriter &rewriter) {
    return returnIncomingStates(
        op, op.getH(),
        {{op.getDinitialState(), op.getDfinalState()},
         {op.getDinitialStateImag(), op.getDfinalStateImag()}},
        rewriter);
  });
}
void SsdOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                        MLIRContext *context) {
  patterns.add(+[](SsdOp op, PatternRewriter &rewriter) {
    return returnIncomingStates(op, op.getValue(),
                                {{op.getFinalState(), op.getInitialState()}},
                                rewriter);
  });
  patterns.add(+[](SsdOp op, PatternRewriter &rewriter) {
    return dropFinalState(op, rewriter);
  });
}
void LinearScanOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                               MLIRContext *context) {
  patterns.add(+[](LinearScanOp op, PatternRewriter &rewriter) {
    return returnIncomingStates(
        op, op.getB(),
        {{op.getFinalState(), op.getInitialState()},
         {op.getFinalStateImag(), op.getInitialStateImag()}},
        rewriter);
  });
  patterns.add(+[](LinearScanOp op, PatternRewriter &rewriter) {
    return dropFinalState(op, rewriter);
  });
}

//===----------------------------------------------------------------------===//
// Checkpoint
//===----------------------------------------------------------------------===//

namespace {
/// Policy none keeps what differentiation asks for, as no region would.
struct InlineFreeCheckpoint : OpRewritePattern<CheckpointOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(CheckpointOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getPolicy().getKind() != RematKind::None)
      return rewriter.notifyMatchFailure(op, "the policy restricts");
    Block &body = op.getBody().front();
    Operation *yield = body.getTerminator();
    rewriter.inlineBlockBefore(&body, op, op.getInputs());
    rewriter.replaceOp(op, yield->getOperands());
    rewriter.eraseOp(yield);
    return success();
  }
};

/// Inputs that the region does not read and results that nobody reads go; a
/// result that is an input is that input.
struct NarrowCheckpoint : OpRewritePattern<CheckpointOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(CheckpointOp op,
                                PatternRewriter &rewriter) const override {
    Block &body = op.getBody().front();
    Operation *yield = body.getTerminator();
    bool changed = false;
    for (auto [value, result] :
         llvm::zip(yield->getOperands(), op.getOutputs())) {
      auto arg = dyn_cast<BlockArgument>(value);
      if (!arg || arg.getOwner() != &body || result.use_empty())
        continue;
      rewriter.replaceAllUsesWith(result, op.getInputs()[arg.getArgNumber()]);
      changed = true;
    }
    BitVector unusedResults(op.getNumResults()),
        unusedArgs(op.getNumOperands());
    for (Value result : op.getOutputs())
      unusedResults[cast<OpResult>(result).getResultNumber()] =
          result.use_empty();
    if (unusedResults.any())
      rewriter.modifyOpInPlace(yield,
                               [&] { yield->eraseOperands(unusedResults); });
    for (BlockArgument arg : body.getArguments())
      unusedArgs[arg.getArgNumber()] = arg.use_empty();
    if (unusedResults.none() && unusedArgs.none())
      return success(changed);

    SmallVector<Value> inputs, used;
    SmallVector<Type> types;
    for (auto [i, input] : llvm::enumerate(op.getInputs()))
      if (!unusedArgs[i])
        inputs.push_back(input);
    for (auto [i, result] : llvm::enumerate(op.getOutputs()))
      if (!unusedResults[i]) {
        used.push_back(result);
        types.push_back(result.getType());
      }
    rewriter.modifyOpInPlace(op, [&] { body.eraseArguments(unusedArgs); });
    auto narrow = CheckpointOp::create(rewriter, op.getLoc(), types, inputs,
                                       op.getPolicyAttr());
    narrow->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    rewriter.inlineRegionBefore(op.getBody(), narrow.getBody(),
                                narrow.getBody().end());
    for (auto [from, to] : llvm::zip(used, narrow.getOutputs()))
      rewriter.replaceAllUsesWith(from, to);
    rewriter.eraseOp(op);
    return success();
  }
};
} // namespace

void CheckpointOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                               MLIRContext *context) {
  patterns.add<InlineFreeCheckpoint, NarrowCheckpoint>(context);
}

//===----------------------------------------------------------------------===//
// LayerScan
//===----------------------------------------------------------------------===//

namespace {
/// Stacked and invariant operands that the layer does not read go, except the
/// last stacked one: it says how many layers there are. So do per-layer outputs
/// that nobody reads.
struct NarrowLayerScan : OpRewritePattern<LayerScanOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(LayerScanOp op,
                                PatternRewriter &rewriter) const override {
    Block &body = op.getBody().front();
    size_t carried = op.getCarried().size();
    BitVector unusedResults(op.getNumResults()),
        unusedArgs(op.getNumOperands());
    for (OpResult result : op.getStackedResults())
      unusedResults[result.getResultNumber()] = result.use_empty();
    // Reads by yields of outputs that go do not count.
    auto isUnused = [&](BlockArgument arg) {
      return llvm::all_of(arg.getUses(), [&](OpOperand &use) {
        return use.getOwner() == body.getTerminator() &&
               unusedResults[use.getOperandNumber()];
      });
    };
    size_t stackedLeft = op.getStacked().size();
    for (BlockArgument arg : op.getStackedArgs())
      if (stackedLeft > 1 && isUnused(arg)) {
        unusedArgs.set(arg.getArgNumber());
        --stackedLeft;
      }
    for (BlockArgument arg : op.getInvariantArgs())
      unusedArgs[arg.getArgNumber()] = isUnused(arg);
    // L must stay known where it was.
    bool staticLayers = !ShapedType::isDynamic(op.getNumLayers());
    if (staticLayers &&
        llvm::all_of(llvm::enumerate(op.getStacked()), [&](auto it) {
          auto type = cast<RankedTensorType>(it.value().getType());
          return unusedArgs[carried + it.index()] || type.isDynamicDim(0);
        }))
      return rewriter.notifyMatchFailure(op, "would lose the layer count");
    if (unusedResults.none() && unusedArgs.none())
      return rewriter.notifyMatchFailure(op, "everything is used");

    Operation *yield = body.getTerminator();
    rewriter.modifyOpInPlace(yield,
                             [&] { yield->eraseOperands(unusedResults); });
    auto kept = [&](OperandRange operands, size_t begin) {
      SmallVector<Value> values;
      for (auto [i, v] : llvm::enumerate(operands))
        if (!unusedArgs[begin + i])
          values.push_back(v);
      return values;
    };
    SmallVector<Value> stacked = kept(op.getStacked(), carried);
    SmallVector<Value> invariant =
        kept(op.getInvariant(), carried + op.getStacked().size());
    SmallVector<Value> used;
    SmallVector<Type> types;
    for (OpResult result : op.getOutputs())
      if (!unusedResults[result.getResultNumber()]) {
        used.push_back(result);
        types.push_back(result.getType());
      }
    rewriter.modifyOpInPlace(op, [&] { body.eraseArguments(unusedArgs); });
    auto narrow = LayerScanOp::create(rewriter, op.getLoc(), types,
                                      op.getCarried(), stacked, invariant,
                                      op.getPolicyAttr(), op.getReverse());
    narrow->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    rewriter.inlineRegionBefore(op.getBody(), narrow.getBody(),
                                narrow.getBody().end());
    for (auto [from, to] : llvm::zip(used, narrow.getOutputs()))
      rewriter.replaceAllUsesWith(from, to);
    rewriter.eraseOp(op);
    return success();
  }
};
} // namespace

void LayerScanOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                              MLIRContext *context) {
  patterns.add<NarrowLayerScan>(context);
}

//===----------------------------------------------------------------------===//
// Gather and scatter_add
//===----------------------------------------------------------------------===//

OpFoldResult GatherOp::fold(FoldAdaptor adaptor) {
  // Every row of a splat table is the same; dropped rows read zero.
  auto table = dyn_cast_if_present<SplatElementsAttr>(adaptor.getTable());
  auto type = getOutput().getType();
  if (!table || !type.hasStaticShape())
    return {};
  if (getMode() == IndexMode::Drop) {
    Attribute zero = Builder(getContext()).getZeroAttr(type.getElementType());
    if (table.getSplatValue<Attribute>() != zero)
      return {};
  }
  return table.resizeSplat(type);
}

OpFoldResult ScatterAddOp::fold(FoldAdaptor adaptor) {
  // No updates, no change.
  if (llvm::is_contained(getUpdates().getType().getShape(), 0))
    return getBase();
  return {};
}
