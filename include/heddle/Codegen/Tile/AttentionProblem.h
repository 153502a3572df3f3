//===- AttentionProblem.h - what an attention op computes -------*- C++ -*-===//

#ifndef HEDDLE_CODEGEN_TILE_ATTENTIONPROBLEM_H
#define HEDDLE_CODEGEN_TILE_ATTENTIONPROBLEM_H

#include "heddle/Codegen/GPU/AttentionTiles.h"
#include "heddle/Codegen/Tile/TileBuilder.h"
#include "heddle/Dialect/Heddle/IR/Heddle.h"

namespace heddle {

/// The sizes of an op; of its masks the static one counts, in blocks of 64.
AttentionProblem attentionProblem(AttentionOp op);

/// buildAttentionTile for a GPU, with the given tiles, or, where `tiles` has no
/// queries, the fastest that fit. Tiles that do not fit are an error.
llvm::LogicalResult buildAttentionTile(mlir::func::FuncOp kernel,
                                       const TileTarget &target,
                                       const GpuTarget &gpu,
                                       const AttentionTiles &tiles);

} // namespace heddle

#endif // HEDDLE_CODEGEN_TILE_ATTENTIONPROBLEM_H
