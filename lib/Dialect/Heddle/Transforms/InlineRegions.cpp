//===- InlineRegions.cpp - removes remat and layer structure --------------===//

#include "heddle/Dialect/Heddle/IR/Heddle.h"
#include "heddle/Dialect/Heddle/Transforms/Passes.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

namespace heddle {
#define GEN_PASS_DEF_INLINEREGIONSPASS
#include "heddle/Dialect/Heddle/Transforms/Passes.h.inc"
} // namespace heddle

using namespace mlir;
using namespace heddle;

/// Clones the body with block arguments mapped and returns what it yields.
static SmallVector<Value> cloneBody(OpBuilder &b, Block &body,
                                    ValueRange arguments) {
  IRMapping mapping;
  mapping.map(body.getArguments(), arguments);
  for (Operation &op : body.without_terminator())
    b.clone(op, mapping);
  SmallVector<Value> results;
  for (Value v : body.getTerminator()->getOperands())
    results.push_back(mapping.lookupOrDefault(v));
  return results;
}

void heddle::inlineCheckpoint(CheckpointOp op) {
  OpBuilder b(op);
  op.replaceAllUsesWith(cloneBody(b, op.getBody().front(), op.getInputs()));
  op.erase();
}

/// Whether `op` is what unrollLayers makes of per-layer outputs.
static bool isStack(tensor::ConcatOp op) {
  return op.getDim() == 0 && llvm::all_of(op.getInputs(), [](Value v) {
    auto type = cast<RankedTensorType>(v.getType());
    auto layer = v.getDefiningOp<tensor::ExpandShapeOp>();
    return type.getDimSize(0) == 1 && layer &&
           layer.getSrcType().getShape() == type.getShape().drop_front();
  });
}

/// Layer `index` of a stacked operand, without the leading axis.
static Value layerSlice(OpBuilder &b, Location loc, Value stacked,
                        int64_t index) {
  auto type = cast<RankedTensorType>(stacked.getType());
  // A stack that another loop has put together: the layer as it was.
  if (auto concat = stacked.getDefiningOp<tensor::ConcatOp>())
    if (isStack(concat))
      return concat.getInputs()[index]
          .getDefiningOp<tensor::ExpandShapeOp>()
          .getSrc();
  SmallVector<OpFoldResult> offsets(type.getRank(), b.getIndexAttr(0));
  SmallVector<OpFoldResult> strides(type.getRank(), b.getIndexAttr(1));
  SmallVector<OpFoldResult> sizes;
  for (int64_t d : type.getShape())
    sizes.push_back(b.getIndexAttr(d));
  offsets[0] = b.getIndexAttr(index);
  sizes[0] = b.getIndexAttr(1);
  auto slice = RankedTensorType::get(type.getShape().drop_front(),
                                     type.getElementType());
  return tensor::ExtractSliceOp::create(b, loc, slice, stacked, offsets, sizes,
                                        strides);
}

/// v as a tensor whose first axis has size 1.
static Value withLeadingAxis(OpBuilder &b, Location loc, Value v) {
  auto type = cast<RankedTensorType>(v.getType());
  SmallVector<int64_t> shape{1};
  llvm::append_range(shape, type.getShape());
  SmallVector<ReassociationIndices> groups;
  for (int64_t d = 0; d < type.getRank(); ++d)
    groups.push_back(d == 0 ? ReassociationIndices{0, 1}
                            : ReassociationIndices{d + 1});
  return tensor::ExpandShapeOp::create(
      b, loc, RankedTensorType::get(shape, type.getElementType()), v, groups);
}

static void unrollLayers(LayerScanOp op) {
  OpBuilder b(op);
  int64_t layers =
      op.getStacked().empty()
          ? 0
          : cast<RankedTensorType>(op.getStacked()[0].getType()).getDimSize(0);
  size_t numCarried = op.getCarried().size();
  SmallVector<Value> carried(op.getCarried());
  // Per-layer outputs by layer, each with a leading axis of size 1.
  SmallVector<SmallVector<Value>> stacks(op.getStackedResults().size(),
                                         SmallVector<Value>(layers, Value()));
  for (int64_t i = 0; i < layers; ++i) {
    int64_t layer = op.getReverse() ? layers - 1 - i : i;
    SmallVector<Value> arguments(carried);
    for (Value stacked : op.getStacked())
      arguments.push_back(layerSlice(b, op.getLoc(), stacked, layer));
    llvm::append_range(arguments, op.getInvariant());
    SmallVector<Value> yielded = cloneBody(b, op.getBody().front(), arguments);
    for (auto [stack, v] :
         llvm::zip(stacks, ArrayRef(yielded).drop_front(numCarried)))
      stack[layer] = withLeadingAxis(b, op.getLoc(), v);
    yielded.truncate(numCarried);
    carried = std::move(yielded);
  }
  SmallVector<Value> results(carried);
  for (auto [stack, v] : llvm::zip(stacks, op.getStackedResults())) {
    auto type = cast<RankedTensorType>(v.getType());
    if (layers == 0)
      results.push_back(tensor::EmptyOp::create(b, op.getLoc(), type.getShape(),
                                                type.getElementType()));
    else
      results.push_back(
          tensor::ConcatOp::create(b, op.getLoc(), type, 0, stack));
  }
  op.replaceAllUsesWith(results);
  op.erase();
}

namespace {
struct InlineRegions : heddle::impl::InlineRegionsPassBase<InlineRegions> {
  void runOnOperation() override {
    if (getOperation().isExternal())
      return;
    // Outermost first: inlining exposes nested regions, so repeat.
    bool changed = true;
    while (changed) {
      changed = false;
      SmallVector<Operation *> ops;
      for (Operation &op : getOperation().getBody().front())
        if (isa<CheckpointOp, LayerScanOp, NameOp>(op))
          ops.push_back(&op);
      for (Operation *op : ops) {
        changed = true;
        if (auto checkpoint = dyn_cast<CheckpointOp>(op))
          inlineCheckpoint(checkpoint);
        else if (auto scan = dyn_cast<LayerScanOp>(op))
          unrollLayers(scan);
        else {
          op->getResult(0).replaceAllUsesWith(op->getOperand(0));
          op->erase();
        }
      }
    }
  }
};
} // namespace
