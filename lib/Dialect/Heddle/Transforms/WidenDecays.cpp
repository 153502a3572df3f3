//===- WidenDecays.cpp - decays that stay are computed in f64 -------------===//

#include "heddle/Dialect/Heddle/IR/Heddle.h"
#include "heddle/Dialect/Heddle/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/PatternMatch.h"

namespace heddle {
#define GEN_PASS_DEF_WIDENDECAYSPASS
#include "heddle/Dialect/Heddle/Transforms/Passes.h.inc"
} // namespace heddle

using namespace mlir;
using namespace heddle;

/// Bodies grow where a value is used twice: none gets longer than this.
static constexpr size_t kMostOps = 128;

static bool isF32OrBool(Type type) { return type.isF32() || type.isInteger(1); }

/// Whether an op of a body means the same on f64.
static bool canWiden(Operation &op) {
  if (isa<linalg::YieldOp>(op))
    return true;
  if (!isa<arith::ArithDialect, math::MathDialect>(op.getDialect()) ||
      op.getNumRegions() > 0 || !llvm::all_of(op.getResultTypes(), isF32OrBool))
    return false;
  return isa<arith::ExtFOp>(op) ||
         llvm::all_of(op.getOperandTypes(), isF32OrBool);
}

/// The elementwise op on f32 that makes `v`, if it has a form in f64.
static linalg::GenericOp widenable(Value v) {
  auto op = v.getDefiningOp<linalg::GenericOp>();
  if (!op || op.getNumResults() != 1 || op.hasDynamicShape() ||
      op.getNumParallelLoops() != op.getNumLoops() ||
      !getElementTypeOrSelf(v).isF32())
    return {};
  if (op.payloadUsesValueFromOperand(op.getDpsInitOperand(0)) ||
      op.getBody()->getOperations().size() > kMostOps ||
      !llvm::all_of(*op.getBody(), canWiden))
    return {};
  return op;
}

/// A copy of `op` into whose body go, as far as they are elementwise, the ops
/// that make its operands.
static linalg::GenericOp fuseOperands(IRRewriter &rewriter,
                                      linalg::GenericOp op) {
  auto copy = cast<linalg::GenericOp>(rewriter.clone(*op));
  for (unsigned i = 0; i < copy.getNumDpsInputs();) {
    OpOperand &operand = copy->getOpOperand(i++);
    linalg::GenericOp producer = widenable(operand.get());
    if (!producer || producer->getBlock() != copy->getBlock() ||
        producer.getBody()->getOperations().size() +
                copy.getBody()->getOperations().size() >
            kMostOps)
      continue;
    // Other users keep the value in f32.
    rewriter.setInsertionPoint(copy);
    Operation *own = rewriter.clone(*producer);
    operand.set(own->getResult(0));
    FailureOr<linalg::ElementwiseOpFusionResult> fused = failure();
    if (linalg::areElementwiseOpsFusable(&operand))
      fused = linalg::fuseElementwiseOps(rewriter, &operand);
    if (failed(fused)) {
      operand.set(producer->getResult(0));
      rewriter.eraseOp(own);
      continue;
    }
    auto next = cast<linalg::GenericOp>(fused->fusedOp);
    rewriter.eraseOp(copy);
    rewriter.eraseOp(own);
    copy = next;
    i = 0;
  }
  return copy;
}

/// Makes the body compute in f64 and round once.
static void widenBody(IRRewriter &rewriter, linalg::GenericOp op) {
  Block &body = *op.getBody();
  Type f64 = rewriter.getF64Type();
  DenseMap<Value, Value> wide;
  auto widen = [&](OpOperand &operand) {
    Value v = operand.get();
    if (!v.getType().isF32())
      return;
    // What the body computes is wide already.
    Value &w = wide[v];
    if (!w) {
      OpBuilder::InsertionGuard guard(rewriter);
      rewriter.setInsertionPointToStart(&body);
      w = arith::ExtFOp::create(rewriter, op.getLoc(), f64, v);
    }
    operand.set(w);
  };
  SmallVector<Operation *> ops;
  for (Operation &inner : body.without_terminator())
    ops.push_back(&inner);
  for (Operation *inner : ops) {
    for (OpOperand &operand : inner->getOpOperands())
      widen(operand);
    if (auto constant = dyn_cast<arith::ConstantOp>(inner))
      if (auto value = dyn_cast<FloatAttr>(constant.getValue()))
        constant.setValueAttr(
            FloatAttr::get(f64, value.getValue().convertToDouble()));
    for (Value result : inner->getResults())
      if (result.getType().isF32())
        result.setType(f64);
  }
  Operation *yield = body.getTerminator();
  rewriter.setInsertionPoint(yield);
  widen(yield->getOpOperand(0));
  yield->setOperand(0, arith::TruncFOp::create(rewriter, op.getLoc(),
                                               rewriter.getF32Type(),
                                               yield->getOperand(0)));
}

namespace {
struct WidenDecays : heddle::impl::WidenDecaysPassBase<WidenDecays> {
  void runOnOperation() override {
    SetVector<Value> decays;
    getOperation().walk([&](Operation *op) {
      auto add = [&](auto scan) {
        if (!scan.hasConstantDecay())
          return;
        decays.insert(scan.getA());
        if (scan.isComplex())
          decays.insert(scan.getAImag());
      };
      if (auto scan = dyn_cast<LinearScanOp>(op))
        add(scan);
      else if (auto scan = dyn_cast<LinearScanGradOp>(op))
        add(scan);
      else if (auto scan = dyn_cast<LinearScanMapsOp>(op))
        add(scan);
    });
    IRRewriter rewriter(&getContext());
    for (Value decay : decays) {
      linalg::GenericOp op = widenable(decay);
      if (!op)
        continue;
      rewriter.setInsertionPoint(op);
      linalg::GenericOp fused = fuseOperands(rewriter, op);
      widenBody(rewriter, fused);
      rewriter.replaceAllUsesWith(decay, fused->getResult(0));
      rewriter.eraseOp(op);
    }
  }
};
} // namespace
