//===- KeepScanStates.cpp - states go from a scan to its gradient ---------===//

#include "ScanStates.h"

#include "heddle/Codegen/GPU/ScanThreads.h"
#include "heddle/Dialect/Heddle/IR/Heddle.h"
#include "heddle/Dialect/Heddle/IR/ScanChunks.h"
#include "heddle/Dialect/Heddle/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/PatternMatch.h"

namespace heddle {
#define GEN_PASS_DEF_KEEPSCANSTATESPASS
#include "heddle/Dialect/Heddle/Transforms/Passes.h.inc"
} // namespace heddle

using namespace mlir;
using namespace heddle;

/// The last scan before the gradient that has its states; null: there is none.
static SelectiveScanOp scanOf(SelectiveScanGradOp grad) {
  SelectiveScanOp last;
  for (Operation *user : grad.getU().getUsers()) {
    auto scan = dyn_cast<SelectiveScanOp>(user);
    if (!scan || isScanOverChunks(scan) ||
        !hasStatesOf(scan, scan.getInitialState(), grad))
      continue;
    if (!last || last->isBeforeInBlock(scan))
      last = scan;
  }
  return last;
}

/// The states of `scan` at the boundaries of chunks; null: it leaves others.
static Value statesOf(IRRewriter &b, SelectiveScanOp scan, int64_t chunk) {
  if (scan.getChunkStates())
    return static_cast<int64_t>(*scan.getChunk()) == chunk
               ? Value(scan.getChunkStates())
               : Value();
  auto u = scan.getU().getType(), a = scan.getA().getType();
  int64_t boundaries = llvm::divideCeil(u.getDimSize(1), chunk) - 1;
  Type states = RankedTensorType::get(
      {u.getDimSize(0), boundaries, u.getDimSize(2), a.getDimSize(1)},
      b.getF32Type());
  b.setInsertionPoint(scan);
  Value final = scan.getFinalState();
  auto keeping = SelectiveScanOp::create(
      b, scan.getLoc(), scan.getY().getType(), final ? final.getType() : Type(),
      states, scan.getU(), scan.getDelta(), scan.getA(), scan.getB(),
      scan.getC(), scan.getD(), scan.getZ(), scan.getDeltaBias(),
      scan.getInitialState(), scan.getResetIds(), scan.getDeltaSoftplus(),
      scan.getReverse(), b.getI64IntegerAttr(chunk));
  keeping->setDiscardableAttrs(scan->getDiscardableAttrDictionary());
  b.replaceAllUsesWith(scan.getY(), keeping.getY());
  if (final)
    b.replaceAllUsesWith(final, keeping.getFinalState());
  b.eraseOp(scan);
  return keeping.getChunkStates();
}

namespace {
struct KeepScanStates : heddle::impl::KeepScanStatesPassBase<KeepScanStates> {
  void runOnOperation() override {
    IRRewriter b(&getContext());
    SmallVector<SelectiveScanGradOp> grads;
    getOperation().walk([&](SelectiveScanGradOp op) {
      if (!op.getChunkStates() && !isScanOverChunks(op) &&
          op.getU().getType().hasStaticShape())
        grads.push_back(op);
    });
    for (SelectiveScanGradOp grad : grads) {
      int64_t chunk = selectiveGradPlan(grad).chunk;
      if (chunk == 0 || grad.getU().getType().getDimSize(1) <= chunk)
        continue;
      SelectiveScanOp scan = scanOf(grad);
      Value states = scan ? statesOf(b, scan, chunk) : Value();
      if (!states)
        continue;
      grad.getChunkStatesMutable().assign(states);
      grad.setChunk(chunk);
    }
  }
};
} // namespace
