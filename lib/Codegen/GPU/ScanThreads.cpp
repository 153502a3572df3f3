//===- ScanThreads.cpp - scans as programs of threads ---------------------===//

#include "ScanThreads.h"

using namespace mlir;
using namespace heddle;

LogicalResult heddle::buildScanThreads(func::FuncOp kernel,
                                       const TileTarget &target) {
  for (Operation &op : kernel.getBody().front()) {
    if (auto scan = dyn_cast<LinearScanOp>(op))
      return buildLinearScanThreads(scan, kernel, target);
    if (auto scan = dyn_cast<LinearScanGradOp>(op))
      return buildLinearScanGradThreads(scan, kernel, target);
    if (auto scan = dyn_cast<LinearScanMapsOp>(op))
      return buildLinearScanMapsThreads(scan, kernel, target);
    if (auto scan = dyn_cast<SelectiveScanMapsOp>(op))
      return buildSelectiveScanMapsThreads(scan, kernel, target);
    if (auto scan = dyn_cast<SelectiveScanOp>(op))
      return buildSelectiveScanThreads(scan, kernel, target);
    if (auto scan = dyn_cast<SelectiveScanGradOp>(op))
      return buildSelectiveScanGradThreads(scan, kernel, target);
  }
  return kernel.emitError("expected a scan in a kernel of family scan");
}
