//===- FuseKernels.cpp - groups graph ops into kernels --------------------===//

#include "Fuser.h"
#include "heddle/Codegen/Tile/KernelBody.h"
#include "heddle/Dialect/Heddle/IR/Heddle.h"
#include "heddle/Dialect/Heddle/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace heddle {
#define GEN_PASS_DEF_FUSEKERNELSPASS
#include "heddle/Dialect/Heddle/Transforms/Passes.h.inc"
} // namespace heddle

using namespace mlir;
using namespace heddle;

/// Users come after what they use: one walk backwards finds all that is dead.
static void eraseDead(func::FuncOp function) {
  SmallVector<Operation *> ops;
  for (Operation &op : function.getBody().front().without_terminator())
    ops.push_back(&op);
  for (Operation *op : llvm::reverse(ops))
    if (isOpTriviallyDead(op))
      op->erase();
}

LogicalResult Fuser::run() {
  decide();
  groupReturned();
  SmallVector<Operation *> ops;
  for (Operation &op : function.getBody().front())
    ops.push_back(&op);
  for (Operation *op : ops) {
    OpClass c = classify(op);
    if (c == OpClass::Attention) {
      if (failed(outlineOp(op, isa<AttentionOp>(op) ? "attention"
                                                : "attention_grad")))
        return failure();
    } else if (c == OpClass::Scan) {
      if (failed(outlineOp(op, "scan")))
        return failure();
    } else if (c == OpClass::Loops &&
               !op->hasTrait<OpTrait::IsTerminator>() && !isa<LaunchOp>(op)) {
      if (failed(outlineOp(op, "loops")))
        return failure();
    } else if (op->getNumResults() == 1 && kept.contains(op->getResult(0)) &&
               (c == OpClass::Rows || c == OpClass::Contraction)) {
      if (grouped.contains(op))
        continue;
      auto group = groups.find(op);
      if (failed(group != groups.end() ? outline(group->second)
                                       : outline(op->getResult(0))))
        return failure();
    } else if (c == OpClass::Free && op->getNumResults() == 1 &&
               kept.contains(op->getResult(0))) {
      // A constant that is returned or handed to a view.
      if (isa<linalg::FillOp>(op) && failed(outlineOp(op, "loops")))
        return failure();
    }
  }
  eraseDead(function); // what was outlined has no users left
  return success();
}

/// An op over an empty iteration space leaves its initial values as they are,
/// and a tensor without elements is a constant: no kernel has to handle either.
static void removeEmptyLoops(func::FuncOp f) {
  SmallVector<Operation *> ops;
  for (Operation &op : f.getBody().front())
    ops.push_back(&op);
  for (Operation *op : ops) {
    if (auto generic = dyn_cast<linalg::GenericOp>(op);
        generic && llvm::is_contained(generic.getStaticLoopRanges(), 0))
      generic.replaceAllUsesWith(ValueRange(generic.getDpsInits()));
    if (op->hasTrait<OpTrait::ConstantLike>())
      continue;
    for (Value v : op->getResults()) {
      auto type = dyn_cast<RankedTensorType>(v.getType());
      if (!type || !type.hasStaticShape() || type.getNumElements() != 0)
        continue;
      OpBuilder b(op);
      v.replaceAllUsesWith(arith::ConstantOp::create(
          b, op->getLoc(),
          DenseElementsAttr::get(type, ArrayRef<Attribute>())));
    }
  }
}

/// Scans and attention read their operands from memory: one that is the same
/// number everywhere is written there by an elementwise kernel.
static void materializeSplats(func::FuncOp f) {
  SmallVector<OpOperand *> operands;
  f.walk([&](Operation *op) {
    if (isa<AttentionOp, AttentionGradOp, LinearScanOp, LinearScanGradOp,
            LinearScanMapsOp, SelectiveScanOp, SelectiveScanGradOp,
            SelectiveScanMapsOp>(op))
      for (OpOperand &operand : op->getOpOperands())
        operands.push_back(&operand);
  });
  for (OpOperand *operand : operands) {
    auto type = cast<RankedTensorType>(operand->get().getType());
    DenseElementsAttr dense;
    if (type.getNumElements() == 0 ||
        !matchPattern(operand->get(), m_Constant(&dense)) || !dense.isSplat())
      continue;
    OpBuilder b(operand->getOwner());
    Location loc = operand->getOwner()->getLoc();
    Value empty = tensor::EmptyOp::create(b, loc, type.getShape(),
                                          type.getElementType());
    SmallVector<utils::IteratorType> iterators(type.getRank(),
                                               utils::IteratorType::parallel);
    auto write = linalg::GenericOp::create(
        b, loc, type, ValueRange(), empty,
        b.getMultiDimIdentityMap(type.getRank()), iterators,
        [&](OpBuilder &b, Location loc, ValueRange) {
          Value element = arith::ConstantOp::create(
              b, loc, cast<TypedAttr>(dense.getSplatValue<Attribute>()));
          linalg::YieldOp::create(b, loc, element);
        });
    operand->set(write.getResult(0));
  }
}

/// Kernels and buffers hold tensors: a scalar between ops has no place.
static LogicalResult refuseScalars(func::FuncOp f) {
  for (Operation &op : f.getBody().front()) {
    if (op.hasTrait<OpTrait::ConstantLike>())
      continue;
    for (Type t : op.getResultTypes())
      if (!isa<RankedTensorType>(t))
        return op.emitOpError("expected a tensor result outside of regions, "
                              "got ")
               << t << "; keep the value in a tensor of rank 0";
  }
  return success();
}

namespace {
struct FuseKernels : heddle::impl::FuseKernelsPassBase<FuseKernels> {
  using FuseKernelsPassBase::FuseKernelsPassBase;

  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    KernelsByBody byBody;
    TileTarget target;
    target.lanes = lanes;
    target.threads = threads;
    target.matrixUnits = matrixUnits;
    SmallVector<func::FuncOp> entries;
    for (auto f : getOperation().getOps<func::FuncOp>())
      if (!f.isExternal() && !f->hasAttr(kKernelFamily))
        entries.push_back(f);
    for (func::FuncOp f : entries) {
      IRRewriter rewriter(&getContext());
      if (failed(decomposeSoftmax(rewriter, f)))
        return signalPassFailure();
      SmallVector<linalg::LinalgOp> named;
      f.walk([&](linalg::LinalgOp op) {
        if (!isa<linalg::GenericOp, linalg::FillOp>(op))
          named.push_back(op);
      });
      for (linalg::LinalgOp op : named) {
        rewriter.setInsertionPoint(op);
        if (failed(linalg::generalizeNamedOp(rewriter, op))) {
          op->emitOpError("cannot be written as a linalg.generic");
          return signalPassFailure();
        }
      }
      removeEmptyLoops(f);
      materializeSplats(f);
      eraseDead(f);
      if (failed(refuseScalars(f)) ||
          failed(Fuser(f, symbols, byBody, target).run()))
        return signalPassFailure();
    }
  }
};
} // namespace
