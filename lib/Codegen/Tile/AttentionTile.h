//===- AttentionTile.h - builds the tile program of attention ---*- C++ -*-===//
//
// The builder's parts: AttentionTile.cpp has the algorithm, AttentionScores.cpp
// what happens to a score before the softmax.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_LIB_CODEGEN_TILE_ATTENTIONTILE_H
#define HEDDLE_LIB_CODEGEN_TILE_ATTENTIONTILE_H

#include "TileRuns.h"
#include "heddle/Codegen/Tile/AttentionProblem.h"
#include "heddle/Codegen/Tile/KernelBody.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

namespace heddle {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kLog2e = 1.4426950408889634;

/// Columns of a tile that holds parts of the sums of weights: the fewest that
/// matrix units take.
constexpr int64_t kSumColumns = 8;

/// What goes from key tile to key tile: per row the largest score so far, what
/// exponents subtract for it, and the sum of weights; the unnormalised output.
struct Carried {
  mlir::Value largest, shift, sum, acc;

  llvm::SmallVector<mlir::Value> all() const {
    return {largest, shift, sum, acc};
  }
  static Carried of(mlir::ValueRange v) { return {v[0], v[1], v[2], v[3]}; }
};

class AttentionBuilder {
public:
  AttentionBuilder(AttentionOp op, const TileTarget &target, mlir::OpBuilder &b)
      : op(op), target(target), t(b, op.getLoc()), b(b), loc(op.getLoc()) {}

  /// Chooses tiles for a GPU; those that were asked for have queries.
  llvm::LogicalResult chooseGpuTiles(const GpuTarget &gpu,
                                     const AttentionTiles &wanted);

  llvm::LogicalResult build();

private:
  /// The whole of a head dimension, which matrix units take in steps of 16.
  AxisRange headDim(int64_t dim) {
    if (!target.matrixUnits || dim % 16 == 0)
      return AxisRange::tile({}, dim, dim);
    return AxisRange::tile(t.index(0), llvm::alignTo(dim, 16), dim);
  }
  void chooseTiles();
  Carried start();
  mlir::Value shiftOf(mlir::Value largest);
  AxisRange head(mlir::Value h, int64_t heads) {
    return AxisRange::point(h, heads);
  }
  llvm::SmallVector<AxisRange> ranges(mlir::Value batch, mlir::Value h,
                                      int64_t heads, AxisRange seq,
                                      AxisRange dim);
  Carried keyLoop(TileKind kind, Carried state);
  Carried keyTile(mlir::Value keyTile, bool mixed, Carried state);
  mlir::IRMapping emitUniformScoreOps();
  mlir::Value scores(mlir::Value keyOffset, mlir::Value keys, bool mixed);
  void finish(Carried state);

  AttentionOp op;
  TileTarget target;
  TileBuilder t;
  mlir::OpBuilder &b;
  mlir::Location loc;
  int64_t queryTile = 0, keyTileSize = 0, numQueryTiles = 0;
  int64_t warps = 0, stages = 0, minBlocks = 0; // on a GPU
  int registerLimit = 0;                         // 0: none
  bool tf32 = false; // products of f32 on matrix units
  MaskTiling tiling;
  bool dynamicMask = false; // depends on operands: no tile is known to be full
  bool plainScores = true;  // no score region and no bias
  /// Scores are raw products, which toLog2 scales; else they are scaled before.
  bool rawScores = false;
  bool sumByProduct = false; // the carried sum has kSumColumns parts
  double toLog2 = kLog2e;
  mlir::Value batch, headIndex, keyHead, queryTileIndex, queryOffset;
  mlir::Value query; // scaled tile
};

} // namespace heddle

#endif // HEDDLE_LIB_CODEGEN_TILE_ATTENTIONTILE_H
