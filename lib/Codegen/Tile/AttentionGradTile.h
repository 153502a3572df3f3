//===- AttentionGradTile.h - builds tile programs of attention_grad -*- C++
//-*-===//
//
// AttentionGradTile.cpp has the kernel of d_query, AttentionGradKeys.cpp those of
// d_key and d_value and of all three, AttentionGradBias.cpp the one of d_bias,
// AttentionGradScores.cpp what happens between the products.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_LIB_CODEGEN_TILE_ATTENTIONGRADTILE_H
#define HEDDLE_LIB_CODEGEN_TILE_ATTENTIONGRADTILE_H

#include "TileRuns.h"
#include "heddle/Codegen/Tile/KernelBody.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/Support/MathExtras.h"

namespace heddle {

class AttentionGradBuilder {
public:
  AttentionGradBuilder(AttentionGradOp op, const TileTarget &target,
                       mlir::OpBuilder &b)
      : op(op), target(target), t(b, op.getLoc()), b(b), loc(op.getLoc()),
        f32(b.getF32Type()) {}

  llvm::LogicalResult build();

private:
  using Values = llvm::SmallVector<mlir::Value>;

  /// A tile of scores: its rows are queries, or keys where rowsAreKeys.
  struct Place {
    mlir::Value batch, head, queryOffset, keyOffset;
    bool mixed;
  };
  /// Operands that decide about pairs, as inputs of an elementwise op.
  struct PairInputs {
    Values values;
    llvm::SmallVector<llvm::SmallVector<int64_t>> dims;
    int bias = -1, mask = -1, querySegments = -1, keySegments = -1;
    mlir::Value keyLimit;
    mlir::IRMapping hoisted; // of the score region
  };
  /// Statistics of the queries of a tile, rank 1.
  struct Statistics {
    mlir::Value lse, dots;
  };

  // AttentionGradTile.cpp
  void chooseTiles();
  /// Opens the grid of (batch, heads, tiles of `length`), leaves the builder in
  /// it, and returns its indices.
  Values beginGrid(int64_t batch, int64_t heads, int64_t length, int64_t tile);
  void buildQueries();
  AxisRange headDim(int64_t dim);
  AxisRange queries(mlir::Value offset, bool full = false);
  AxisRange keys(mlir::Value offset, bool full = false);
  mlir::Value load(mlir::Value operand, mlir::Value batch, mlir::Value head,
                   int64_t heads, AxisRange sequence, int64_t dim);
  mlir::Value scaledQuery(mlir::Value batch, mlir::Value head,
                          AxisRange sequence);
  mlir::Value statistic(mlir::Value operand, mlir::Value batch,
                        mlir::Value head, AxisRange sequence, double pad);
  mlir::Value finiteLse(mlir::Value batch, mlir::Value head,
                        AxisRange sequence);
  mlir::Value dotsOf(mlir::Value dOut, mlir::Value batch, mlir::Value head,
                     AxisRange sequence);
  mlir::Value narrow(mlir::Value tile, mlir::Type element);
  mlir::Value product(mlir::Value left, mlir::Value right, mlir::Value sum,
                      bool transposed, Guard guard = Guard::None);
  mlir::Value zeros(int64_t rows, int64_t cols);
  void storeGradient(mlir::Value tile, double factor, mlir::Value result,
                     mlir::Value batch, mlir::Value head, int64_t heads,
                     AxisRange sequence, int64_t dim);
  TileRuns runs() const;

  // AttentionGradKeys.cpp
  void buildKeys();
  void buildWhole();
  void maskAbsentKeys();
  void keyTileGradients(mlir::Value batch, mlir::Value keyHead,
                        mlir::Value tile);
  mlir::Value transposedKeys(mlir::Value batch, mlir::Value keyHead,
                             AxisRange rows);
  void addToQueries(mlir::Value keysTransposed, mlir::Value ds,
                    const Place &place);

  // AttentionGradBias.cpp
  void buildBias();
  mlir::Value biasPairs(mlir::Value batch, mlir::Value head, mlir::Value row,
                        mlir::Value col);

  // AttentionGradScores.cpp
  PairInputs pairInputs(const Place &place);
  void addPairTile(PairInputs &inputs, int &slot, mlir::Value operand,
                   const Place &place);
  void hoistScoreOps(PairInputs &inputs, const Place &place);
  mlir::Value position(mlir::OpBuilder &nb, bool ofKey, const Place &place,
                       mlir::Type type);
  std::pair<mlir::Value, mlir::Value> applyScore(mlir::OpBuilder &nb,
                                                 mlir::Value score,
                                                 const PairInputs &inputs,
                                                 const Place &place);
  mlir::Value isVisible(mlir::OpBuilder &nb, mlir::ValueRange args,
                        const PairInputs &inputs, const Place &place);
  /// exp(score - lse); absent pairs are -1 (0 on matrix units).
  mlir::Value probabilities(mlir::Value scores, mlir::Value lse,
                            const PairInputs &inputs, const Place &place);
  /// p (dp - dots), times the derivative of the score region where `through`
  /// it; 0 for absent pairs.
  mlir::Value scoreGradient(mlir::Value scores, mlir::Value p, mlir::Value dp,
                            mlir::Value dots, const PairInputs &inputs,
                            const Place &place, bool through);

  AttentionGradOp op;
  TileTarget target;
  TileBuilder t;
  mlir::OpBuilder &b;
  mlir::Location loc;
  mlir::Type f32;
  bool rowsAreKeys = false;
  bool whole = false; // one kernel for d_query, d_key and d_value
  int64_t queryTile = 0, keyTile = 0;
  MaskTiling tiling;
};

} // namespace heddle

#endif // HEDDLE_LIB_CODEGEN_TILE_ATTENTIONGRADTILE_H
