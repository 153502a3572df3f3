//===- ScanChunks.cpp - how many chunks of time feed a GPU ----------------===//

#include "SelectiveScanGrad.h"

using namespace mlir;
using namespace heddle;

/// Inputs are read twice, and three launches take the place of one: below
/// this, blocks that wait for each other's states gain little.
static constexpr int64_t kFewestChunks = 8;
/// Two blocks to a multiprocessor hide each other's waits.
static constexpr int64_t kBlocksEach = 2;

/// `blocks` that the scan has without chunks, `wide` those of the widest tiles
/// of channels.
static int64_t chunksFor(int64_t length, int64_t fewestSteps, int64_t blocks,
                         int64_t wide, const TileTarget &target) {
  int64_t most = length / fewestSteps, wanted = kBlocksEach * target.threads;
  if (std::min(most, wanted / blocks) < kFewestChunks)
    return 1;
  return std::min(most, wanted / wide);
}

int64_t heddle::scanTimeChunks(Operation *op, const TileTarget &target) {
  if (auto scan = dyn_cast<SelectiveScanOp>(op)) {
    SelectiveOperands in = SelectiveOperands::of(scan);
    int64_t blocks = in.batch * selectiveShape(in, target).tiles;
    TileTarget small = target;
    small.threads = 1;
    int64_t wide = in.batch * selectiveShape(in, small).tiles;
    return chunksFor(in.length, /*fewestSteps=*/128, blocks, wide, target);
  }
  if (auto scan = dyn_cast<SelectiveScanGradOp>(op)) {
    SelectiveGradShape shape = selectiveGradShape(scan);
    int64_t blocks = extent(scan.getU(), 0) * shape.groups * shape.blocks;
    return chunksFor(extent(scan.getU(), 1), /*fewestSteps=*/128, blocks,
                     blocks, target);
  }
  Value states = isa<LinearScanOp>(op) ? cast<LinearScanOp>(op).getB()
                                       : cast<LinearScanGradOp>(op).getH();
  int64_t blocks = extent(states, 0) * linearScanTiles(extent(states, 2));
  return chunksFor(extent(states, 1), /*fewestSteps=*/256, blocks, blocks,
                   target);
}
