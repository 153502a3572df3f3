//===- ScanThreads.h - scans as programs of threads -------------*- C++ -*-===//
//
// On a GPU a step of a scan is too little work for a tile: what counts is which
// thread holds which state. The builders here write what one thread does, with
// exchanges in its warp and shared buffers; docs/scans.md describes both forms.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_CODEGEN_GPU_SCANTHREADS_H
#define HEDDLE_CODEGEN_GPU_SCANTHREADS_H

#include "heddle/Codegen/Tile/TileBuilder.h"

namespace heddle {

/// Writes a kernel of family `scan` as an scf.forall over (blocks, threads)
/// whose body works on scalars, memref.alloc in shared memory, gpu.shuffle and
/// gpu.barrier, and marks it `heddle.threads`. Emits an error and fails for a
/// scan with more states to a channel than lanes hold: 1024, the gradient 256.
llvm::LogicalResult buildScanThreads(mlir::func::FuncOp kernel,
                                     const TileTarget &target);

/// What the gradient of a selective scan wants of memory on a GPU. It does not
/// depend on the chip.
struct SelectiveGradPlan {
  int64_t parts;      // of db and dc, a leading axis
  int64_t scratch[2]; // its shape, of f32; zeros: none
  int64_t chunk;      // steps between chunk_states that it reads; 0: none
  bool inOwnType;     // db and dc, which are whole, have the types of b and c
};
SelectiveGradPlan selectiveGradPlan(SelectiveScanGradOp op);

/// Chunks of time to cut a scan or the gradient of one into, so that its blocks
/// fill a GPU of `target.threads` multiprocessors; 1 where they do anyway, or
/// where time is too short. Sizes are not 0.
int64_t scanTimeChunks(mlir::Operation *op, const TileTarget &target);

} // namespace heddle

#endif // HEDDLE_CODEGEN_GPU_SCANTHREADS_H
