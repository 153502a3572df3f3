//===- SelectiveThreads.h - who holds what in a selective scan --*- C++ -*-===//
//
// Private to lib/Codegen/GPU. A block has a batch entry and `channels` channels
// of one group. The states of a channel are split over `lanes` neighbouring
// lanes of a warp, which hold `perLane` each in registers, in runs of `width`:
// state n lies in lane (n / width) % lanes, so that neighbouring lanes read
// neighbouring runs of b and c. For work that is the same for all steps, sizes
// and gates, threads are (step, channel) instead: channel `column`, steps
// `row`, `row` + lanes, and so on.
//
// Chunks of `steps` steps pass through shared memory: (dt, dt u) of the block's
// channels, the rows of b and c, and what the walk makes of them.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_LIB_CODEGEN_GPU_SELECTIVETHREADS_H
#define HEDDLE_LIB_CODEGEN_GPU_SELECTIVETHREADS_H

#include "ScanThreads.h"
#include "heddle/Codegen/Tile/SelectiveOperands.h"

namespace heddle {

struct SelectiveShape {
  int64_t channels, lanes, width, perLane, steps;
  int64_t padded;        // states, with those that do not exist
  int64_t tilesPerGroup; // blocks to a group
  int64_t tiles;         // blocks to a batch entry

  int64_t threads() const { return channels * lanes; }
  std::string name() const;
  /// Splits the states of a channel over a number of lanes, or over so many
  /// that a lane has at most `most`.
  void split(int64_t states, int64_t over);
  void splitInto(int64_t states, int64_t most, int64_t maxLanes = 32);
  /// Counts blocks, once the channels are known.
  void count(const SelectiveOperands &in);
};

/// Of the forward walk.
SelectiveShape selectiveShape(const SelectiveOperands &in,
                              const TileTarget &target);

class SelectiveThreads : public ScanThreads {
public:
  SelectiveThreads(mlir::func::FuncOp kernel, mlir::Location loc,
                   const SelectiveOperands &in, const SelectiveShape &shape,
                   int64_t stretches = 1, int64_t walked = 0)
      : ScanThreads(kernel, loc, in.length, in.reverse, in.resetIds, stretches,
                    walked),
        in(in), shape(shape) {}

  /// The grid, with a block for each tile.
  void open();
  /// The grid; threads do not have channels yet.
  void openBlocks(int64_t blocksOfBatch);
  /// Takes a tile of a group of channels.
  void openTile(Value group, Value number);
  /// rate = a * log2 e of this lane's states; bias and skip of the column.
  void loadConstants();
  Values initialStates();
  /// Elements of a (.., D, N) buffer for this lane's states.
  Values loadStates(mlir::Value buffer, bool batched);
  void storeStates(ValueRange states, mlir::Value buffer, ValueRange leading,
                   mlir::Value where = {});

  //===--- chunks ---------------------------------------------------------===//
  /// Elements (step, column) of a chunk in a (B, L, D) buffer, steps from
  /// `first` on; zero where there are none. `whole`: all steps exist.
  void loadColumns(mlir::Value buffer, Value first, bool whole, Values &values);
  void storeColumn(Value number, mlir::Value buffer, Value first, int64_t i);
  /// Rows of b or c of a chunk, spread over the threads.
  void loadRows(mlir::Value buffer, Value first, bool whole, Values &values);
  void putRows(ValueRange values, Value shared, Value firstRow = {});
  /// Calls `body` in two forms, with and without a check of each step.
  Values loadChunk(Value first,
                   llvm::function_ref<void(bool whole, Values &)> body);
  void putResets(Value first, Value firstPlace = {}, bool backward = false);
  /// This lane's states in row `step` of a shared buffer of rows.
  Values rowOf(Value shared, Value step);
  /// (dt, dt u) of a column.
  std::pair<Value, Value> sizes(Value u, Value delta);
  Value rawSize(Value delta) { return bias ? plus(delta, bias) : delta; }

  int64_t columnsPerThread() const {
    return llvm::divideCeil(shape.steps, shape.lanes);
  }
  int64_t rowsPerThread() const {
    return llvm::divideCeil(shape.steps * shape.padded, shape.threads());
  }
  /// Number in the chunk of column value i, and whether the chunk has it.
  Value columnStep(int64_t i) { return add(row, i * shape.lanes); }
  Value hasColumn(int64_t i) {
    return shape.steps % shape.lanes == 0 ? Value()
                                          : below(columnStep(i), shape.steps);
  }
  /// The same, and whether there is such a step.
  Value hasStep(Value first, int64_t i) {
    if (!isRagged(shape.steps))
      return hasColumn(i);
    return both(hasColumn(i), isStep(add(first, columnStep(i))));
  }
  /// Steps of a chunk that exist.
  Value stepsOf(Value first);
  /// The place of (step, channel of this block) in an array of a chunk.
  Value place(Value step, Value channel) {
    return add(mul(step, shape.channels), channel);
  }
  /// Number of state k of this lane.
  Value state(int64_t k) {
    return add(mul(part, shape.width),
               k / shape.width * shape.width * shape.lanes + k % shape.width);
  }
  /// Whether there is one; null where every lane has it.
  Value isState(int64_t k) {
    int64_t last = (shape.lanes - 1) * shape.width +
                   k / shape.width * shape.width * shape.lanes +
                   k % shape.width;
    if (last < in.states)
      return {};
    // States of a run are there or not together, mostly.
    return below(state(in.states % shape.width == 0 ? k - k % shape.width : k),
                 in.states);
  }
  /// A number about state k, zero where there is none: infinite sizes of steps
  /// make NaN of states that do not exist.
  Value ofState(int64_t k, Value x) {
    Value exists = isState(k);
    return exists ? select(exists, x, number(0.0)) : x;
  }
  int64_t numChunks() const { return llvm::divideCeil(span, shape.steps); }

  SelectiveOperands in;
  SelectiveShape shape;
  Value tile, base;        // block in the batch entry; first channel
  Value owner, part;       // as holder of states: channel in the block, lane
  Value column, row;       // otherwise
  Value isOwner, isColumn; // i1 or null: there is such a channel
  Values rate;
  Value bias, skip; // null where absent
  Value resets;     // shared: 1.0 where a step starts a segment; or null
};

} // namespace heddle

#endif // HEDDLE_LIB_CODEGEN_GPU_SELECTIVETHREADS_H
