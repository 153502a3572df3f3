//===- ScanTile.cpp - the tile programs of scans --------------------------===//

#include "ScanBuilder.h"
#include "heddle/Dialect/Heddle/IR/ScanChunks.h"

using namespace mlir;
using namespace heddle;

LogicalResult heddle::buildScanTile(func::FuncOp kernel,
                                    const TileTarget &target) {
  OpBuilder b(kernel.getBody().front().getTerminator());
  for (Operation &op : kernel.getBody().front()) {
    if (isScanOverChunks(&op))
      return op.emitOpError("expected a scan over all of time on a CPU, got "
                            "chunks of it; heddle-chunk-scans is for GPUs");
    if (auto scan = dyn_cast<LinearScanOp>(op))
      return buildLinearScan(scan, target, b);
    if (auto scan = dyn_cast<LinearScanGradOp>(op))
      return buildLinearScanGrad(scan, target, b);
    if (auto scan = dyn_cast<SelectiveScanOp>(op))
      return buildSelectiveScan(scan, target, b);
    if (auto scan = dyn_cast<SelectiveScanGradOp>(op))
      return buildSelectiveScanGrad(scan, target, b);
  }
  return kernel.emitError("expected a scan in a kernel of family scan");
}
