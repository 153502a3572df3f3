//===- ScanBuilder.h - what the tile programs of scans share ----*- C++ -*-===//
//
// Private to lib/Codegen/Tile. The blocks of a scan are (batch entry,
// channels): channels are the rows of all tiles, state entries the columns, and
// time is a sequential loop whose carried state stays on chip. Reversed time is
// index arithmetic; a reset selects zero for the state that a step starts from.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_LIB_CODEGEN_TILE_SCANBUILDER_H
#define HEDDLE_LIB_CODEGEN_TILE_SCANBUILDER_H

#include "heddle/Codegen/Tile/TileBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace heddle {

/// f32 arithmetic in the body of a generic.
struct Scalars {
  mlir::OpBuilder &b;
  mlir::Location loc;
  using Value = mlir::Value;

  Value number(double v) {
    return mlir::arith::ConstantOp::create(b, loc, b.getF32FloatAttr(v));
  }
  Value add(Value x, Value y) {
    return mlir::arith::AddFOp::create(b, loc, x, y);
  }
  Value sub(Value x, Value y) {
    return mlir::arith::SubFOp::create(b, loc, x, y);
  }
  Value mul(Value x, Value y) {
    return mlir::arith::MulFOp::create(b, loc, x, y);
  }
  Value exp2(Value x) { return mlir::math::Exp2Op::create(b, loc, x); }
  /// y where `cond` (null: never) holds, else x.
  Value unless(Value cond, Value x, double y) {
    return cond ? mlir::arith::SelectOp::create(b, loc, cond, number(y), x)
                      .getResult()
                : x;
  }
  Value sigmoid(Value x);
  /// log(1 + e^x), x itself above 20; and its derivative.
  Value softplus(Value x);
  Value softplusSlope(Value x);
};

/// Emits the ops of one block of a scan.
class ScanBuilder {
public:
  using Dims = llvm::SmallVector<int64_t>;
  using Body = llvm::function_ref<mlir::Value(Scalars &, mlir::ValueRange)>;

  ScanBuilder(mlir::OpBuilder &builder, mlir::Location loc, int64_t length,
              bool reverse, mlir::Value resetIds)
      : t(builder, loc), b(builder), loc(loc), length(length), reverse(reverse),
        resetIds(resetIds) {}

  /// The position in memory of a step in walking order.
  mlir::Value position(mlir::Value step);
  /// Whether a new segment starts at a position (i1; null: nothing resets).
  mlir::Value startsSegment(mlir::Value position);
  /// Whether no state comes before the step at a position: one that resets
  /// (i1 or null), or the first of a scan without an initial state (i1; null:
  /// all have a state).
  mlir::Value startsScan(mlir::Value position, mlir::Value resets,
                         bool hasState);

  /// Steps that are loaded and stored together: `size` positions from `first`
  /// on, of which the last chunk in memory may have fewer.
  struct Chunk {
    int64_t size;
    mlir::Value first, steps;
    bool ragged; // whether some chunk has fewer
  };
  /// The chunk that walking order meets as number `walk` of the chunks.
  Chunk chunkAt(mlir::Value walk, int64_t size);

  /// The block's channels of `buffer` (B, L, D) or (D) or (B, D).
  mlir::Value channels(mlir::Value buffer, mlir::Value position = {});
  /// Those of a chunk: (channels, positions).
  mlir::Value channels(mlir::Value buffer, const Chunk &chunk);
  /// The states of the block's channels: `buffer` (B, D, N) or (D, N).
  mlir::Value states(mlir::Value buffer);
  /// The row of `buffer` (B, L, N) or (B, L, G, N) that the block's channels
  /// read at a position.
  mlir::Value stateRow(mlir::Value buffer, mlir::Value position);
  /// Stores with the same places.
  void storeChannels(mlir::Value tile, mlir::Value buffer,
                     mlir::Value position = {});
  void storeChannels(mlir::Value tile, mlir::Value buffer, const Chunk &chunk);
  void storeStates(mlir::Value tile, mlir::Value buffer);

  /// A tile without contents, one column of a tile, and a tile with another
  /// column.
  mlir::Value undefined(llvm::ArrayRef<int64_t> shape);
  mlir::Value column(mlir::Value tile, mlir::Value at);
  mlir::Value withColumn(mlir::Value tile, mlir::Value at, mlir::Value column);

  /// Elementwise over the channels, over channels x states and over channels x
  /// positions of a chunk. Inputs of narrow floats are widened for the body,
  /// its value is narrowed to `element`. `dims` as in TileBuilder::elementwise.
  mlir::Value overChannels(llvm::ArrayRef<mlir::Value> inputs, Body body,
                           mlir::Type element = {});
  mlir::Value overStates(llvm::ArrayRef<mlir::Value> inputs,
                         llvm::ArrayRef<Dims> dims, Body body);
  mlir::Value overTime(const Chunk &chunk, llvm::ArrayRef<mlir::Value> inputs,
                       llvm::ArrayRef<Dims> dims, Body body,
                       mlir::Type element = {});
  /// Sums of body(inputs) over the states of each channel.
  mlir::Value sumStates(llvm::ArrayRef<mlir::Value> inputs,
                        llvm::ArrayRef<Dims> dims, Body body);
  /// Sums of body(inputs) over the positions of a chunk for each channel.
  mlir::Value sumTime(const Chunk &chunk, llvm::ArrayRef<mlir::Value> inputs,
                      llvm::ArrayRef<Dims> dims, Body body);
  /// Sums of body(inputs) over the block's channels for each state.
  mlir::Value sumChannels(llvm::ArrayRef<mlir::Value> inputs,
                          llvm::ArrayRef<Dims> dims, Body body);

  /// body(step, carried) for begin <= step < end.
  llvm::SmallVector<mlir::Value>
  loop(mlir::Value begin, mlir::Value end, mlir::ValueRange carried,
       llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value,
                                                         mlir::ValueRange)>
           body);
  /// The same over the columns of a chunk in walking order, or against it.
  llvm::SmallVector<mlir::Value> overColumns(
      const Chunk &chunk, bool backwards, mlir::ValueRange carried,
      llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value,
                                                        mlir::ValueRange)>
          body);

  TileBuilder t;
  mlir::OpBuilder &b;
  mlir::Location loc;
  int64_t length;
  bool reverse;
  mlir::Value resetIds;  // buffer (B, L) or null
  mlir::Value batch;     // of this block
  AxisRange rows;        // channels of this block
  int64_t numStates = 0; // N; 0 where states are one per channel

private:
  mlir::Value sum(int64_t cols, llvm::ArrayRef<mlir::Value> inputs,
                  llvm::ArrayRef<Dims> dims, int64_t kept, Body body);
  llvm::SmallVector<AxisRange> channelRanges(mlir::Value buffer,
                                             const AxisRange *time);
  llvm::SmallVector<AxisRange> stateRanges(mlir::Value buffer);
  mlir::Value element(mlir::Value buffer, mlir::ValueRange indices);
};

/// Builders of the single ops; `b` stands where the program goes.
llvm::LogicalResult buildLinearScan(LinearScanOp op, const TileTarget &target,
                                    mlir::OpBuilder &b);
llvm::LogicalResult buildLinearScanGrad(LinearScanGradOp op,
                                        const TileTarget &target,
                                        mlir::OpBuilder &b);
llvm::LogicalResult buildSelectiveScan(SelectiveScanOp op,
                                       const TileTarget &target,
                                       mlir::OpBuilder &b);

llvm::LogicalResult buildSelectiveScanGrad(SelectiveScanGradOp op,
                                           const TileTarget &target,
                                           mlir::OpBuilder &b);

} // namespace heddle

#endif // HEDDLE_LIB_CODEGEN_TILE_SCANBUILDER_H
