//===- LoopsTile.h - kernels of one op as plain loops -----------*- C++ -*-===//

#ifndef HEDDLE_CODEGEN_TILE_LOOPSTILE_H
#define HEDDLE_CODEGEN_TILE_LOOPSTILE_H

#include "heddle/Codegen/Tile/TileBuilder.h"

namespace heddle {

/// Rewrites the one op of a kernel of family `loops` as an scf.forall over
/// blocks of scf.for loops on the kernel's buffers. Sums of bf16 and f16 are
/// formed in f32 and rounded once. Temporaries are memref.alloc in the
/// scf.forall, private to a block. Emits an error and fails for an op that has
/// no such form.
llvm::LogicalResult buildLoopsKernel(mlir::func::FuncOp kernel,
                                     const TileTarget &target);

} // namespace heddle

#endif // HEDDLE_CODEGEN_TILE_LOOPSTILE_H
