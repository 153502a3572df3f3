//===- Stages.h - the passes of each stage ----------------------*- C++ -*-===//

#ifndef HEDDLE_LIB_PIPELINES_STAGES_H
#define HEDDLE_LIB_PIPELINES_STAGES_H

#include "heddle/Codegen/CPU/CpuTarget.h"
#include "heddle/Codegen/GPU/AttentionTiles.h"
#include "heddle/Codegen/Tile/TileBuilder.h"
#include "heddle/Pipelines/Pipelines.h"
#include "heddle/Target/GpuTarget.h"

#include "mlir/Pass/PassManager.h"

namespace heddle {

/// What the stages up to tile programs know of a target.
TileTarget tileTarget(const CpuTarget &cpu);
TileTarget tileTarget(const GpuTarget &gpu);

void addModelStage(mlir::OpPassManager &pm, llvm::StringRef target);
void addDifferentiateStage(mlir::OpPassManager &pm);
/// `scanChunks`: chunks of time of every scan on a GPU; 0: chosen, 1: none.
void addFuseStage(mlir::OpPassManager &pm, const TileTarget &target,
                  int64_t scanChunks = 0);
void addPlanStage(mlir::OpPassManager &pm);
void addTileStage(mlir::OpPassManager &pm, const TileTarget &target,
                  F32Precision precision = F32Precision::Ieee,
                  const GpuTarget *gpu = nullptr,
                  const AttentionTiles &attention = {});
void addCpuStage(mlir::OpPassManager &pm, const std::string &cpu);
void addLlvmStage(mlir::OpPassManager &pm, const CpuTarget &target);

} // namespace heddle

#endif // HEDDLE_LIB_PIPELINES_STAGES_H
