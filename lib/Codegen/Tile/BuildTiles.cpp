//===- BuildTiles.cpp - kernel bodies become tile programs ----------------===//

#include "heddle/Codegen/GPU/ScanThreads.h"
#include "heddle/Codegen/Passes.h"
#include "heddle/Codegen/Tile/AttentionProblem.h"
#include "heddle/Codegen/Tile/KernelBody.h"
#include "heddle/Codegen/Tile/LoopsTile.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/RegionUtils.h"

namespace heddle {
#define GEN_PASS_DEF_BUILDTILESPASS
#define GEN_PASS_DEF_VERIFYTILESPASS
#include "heddle/Codegen/Passes.h.inc"
} // namespace heddle

using namespace mlir;
using namespace heddle;

namespace {
struct BuildTiles : heddle::impl::BuildTilesPassBase<BuildTiles> {
  using BuildTilesPassBase::BuildTilesPassBase;

  void runOnOperation() override {
    TileTarget target;
    target.lanes = lanes;
    target.threads = threads;
    target.blockThreads = blockThreads;
    target.matrixUnits = matrixUnits;
    target.queryTile = queryTile;
    target.keyTile = keyTile;
    const GpuTarget *chip = &GpuTarget::all().front();
    std::string error;
    if (!gpu.empty() && failed(GpuTarget::parse(gpu, chip, error))) {
      getOperation().emitError(error);
      return signalPassFailure();
    }
    AttentionTiles tiles{queryTile, keyTile,
                         warps ? warps : std::max<int64_t>(1, queryTile / 16),
                         stages};
    for (auto kernel : getOperation().getOps<func::FuncOp>()) {
      auto family = kernel->getAttrOfType<StringAttr>(kKernelFamily);
      if (!family || kernel->hasAttr(kKernelThreads)) // built already
        continue;
      if (kernel.getNumResults() != 0) {
        kernel.emitError("expected a kernel on buffers; run "
                         "heddle-plan-memory first");
        return signalPassFailure();
      }
      LogicalResult built =
          family.getValue() == "attention"
              ? matrixUnits ? buildAttentionTile(kernel, target, *chip, tiles)
                            : buildAttentionTile(kernel, target)
          : family.getValue() == "attention_grad"
              ? buildAttentionGradTile(kernel, target)
          : family.getValue() == "loops"   ? buildLoopsKernel(kernel, target)
          : family.getValue() == "scan" && target.blockThreads > 1
              ? buildScanThreads(kernel, target)
          : family.getValue() == "scan"    ? buildScanTile(kernel, target)
                                           : buildRowsTile(kernel, target);
      if (failed(built))
        return signalPassFailure();
      // The graph ops are dead once nothing writes their results out.
      for (auto write : llvm::make_early_inc_range(
               kernel.getOps<bufferization::MaterializeInDestinationOp>()))
        write.erase();
      IRRewriter rewriter(&getContext());
      (void)runRegionDCE(rewriter, kernel->getRegions());
    }
  }
};

struct VerifyTiles : heddle::impl::VerifyTilesPassBase<VerifyTiles> {
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<func::FuncOp>()) {
      auto family = kernel->getAttrOfType<StringAttr>(kKernelFamily);
      if (!family || family.getValue() == "loops" ||
          kernel->hasAttr(kKernelThreads))
        continue;
      auto grids = kernel.getOps<scf::ForallOp>();
      if (!llvm::hasSingleElement(grids)) {
        kernel.emitError("contract T: expected one scf.forall over the grid");
        return signalPassFailure();
      }
      WalkResult result = kernel.walk([&](Operation *op) {
        if (op == kernel.getOperation() || isa<linalg::GenericOp>(op->getParentOp()))
          return WalkResult::advance();
        bool known =
            isa<scf::ForallOp, scf::InParallelOp, scf::ForOp, scf::YieldOp,
                tensor::ExtractSliceOp, tensor::InsertSliceOp,
                tensor::ExtractOp, tensor::PadOp,
                tensor::YieldOp, tensor::EmptyOp, linalg::GenericOp,
                linalg::FillOp, linalg::TransposeOp, linalg::YieldOp,
                linalg::IndexOp, bufferization::ToTensorOp, TileStoreOp,
                func::ReturnOp>(op) ||
            isa<affine::AffineDialect, arith::ArithDialect, math::MathDialect>(
                op->getDialect());
        if (!known) {
          op->emitOpError("contract T: is not in the list of tile ops");
          return WalkResult::interrupt();
        }
        for (Type t : op->getResultTypes())
          if (auto tensor = dyn_cast<RankedTensorType>(t);
              tensor && !tensor.hasStaticShape() &&
              !isa<tensor::ExtractSliceOp>(op)) {
            op->emitOpError("contract T: expected a static tile, got ") << t;
            return WalkResult::interrupt();
          }
        return WalkResult::advance();
      });
      if (result.wasInterrupted())
        return signalPassFailure();
    }
  }
};
} // namespace
