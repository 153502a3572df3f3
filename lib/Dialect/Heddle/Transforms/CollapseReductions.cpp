//===- CollapseReductions.cpp - one reduction loop where several do -------===//

#include "heddle/Codegen/Tile/RowsAnalysis.h"
#include "heddle/Dialect/Heddle/Transforms/Passes.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace heddle {
#define GEN_PASS_DEF_COLLAPSEREDUCTIONSPASS
#include "heddle/Dialect/Heddle/Transforms/Passes.h.inc"
} // namespace heddle

using namespace mlir;
using namespace heddle;

/// Whether a contraction's kernel makes v, with elementwise ops behind it.
static bool comesFromContraction(Value v) {
  auto op = v.getDefiningOp<linalg::GenericOp>();
  if (!op || op.getNumReductionLoops() > 0)
    return op && isRowsContraction(op);
  return llvm::any_of(op.getDpsInputs(), [](Value in) {
    return in.hasOneUse() && comesFromContraction(in);
  });
}

/// Whether a kernel that reads v computes it from what is in memory.
static bool isRecomputed(Value v) {
  auto op = v.getDefiningOp<linalg::GenericOp>();
  return op && op.getNumReductionLoops() == 0 && isRowsGeneric(op) &&
         op.getNumDpsInputs() > 0 && !comesFromContraction(v);
}

/// Reduction loops that lie side by side, in one order, in every operand that
/// has one of them.
static SmallVector<ReassociationIndices>
adjacentReductions(linalg::GenericOp op) {
  SmallVector<unsigned> reduced;
  op.getReductionDims(reduced);
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  SmallVector<ReassociationIndices> groups;
  ReassociationIndices group;
  auto close = [&] {
    if (group.size() > 1)
      groups.push_back(group);
    group.clear();
  };
  for (unsigned dim : reduced) {
    ReassociationIndices longer = group;
    longer.push_back(dim);
    if (!linalg::areDimSequencesPreserved(maps, {longer}))
      close();
    group.push_back(dim);
  }
  close();
  return groups;
}

namespace {
struct CollapseReductions
    : heddle::impl::CollapseReductionsPassBase<CollapseReductions> {
  void runOnOperation() override {
    SmallVector<linalg::GenericOp> ops;
    getOperation().walk([&](linalg::GenericOp op) {
      bool projections =
          llvm::all_of(op.getIndexingMapsArray(), [](AffineMap m) {
            return m.isProjectedPermutation(/*allowZeroInResults=*/false);
          });
      if (projections && !op.hasDynamicShape() && !op.hasIndexSemantics() &&
          op.getNumReductionLoops() > 1)
        ops.push_back(op);
    });
    // Asked of the whole function before views make operands of memory.
    llvm::erase_if(ops, [](linalg::GenericOp op) {
      return (isRowsContraction(op) || isRowsGeneric(op)) &&
             llvm::any_of(op.getDpsInputs(), isRecomputed);
    });
    IRRewriter rewriter(&getContext());
    for (linalg::GenericOp op : ops) {
      SmallVector<ReassociationIndices> groups = adjacentReductions(op);
      if (groups.empty())
        continue;
      rewriter.setInsertionPoint(op);
      FailureOr<linalg::CollapseResult> result =
          linalg::collapseOpIterationDims(op, groups, rewriter);
      if (succeeded(result))
        rewriter.replaceOp(op, result->results);
    }
  }
};
} // namespace
