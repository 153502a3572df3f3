//===- SelectiveScanGrad.h - the gradient of a selective scan ---*- C++ -*-===//
//
// Private to lib/Codegen/GPU. A walk forward leaves the states at the start of
// each chunk in the block's own part of db and dc, where the sums of that chunk
// come last. Then, chunk by chunk from the last, the states of the chunk are
// made again into shared memory, one of a group of steps, and a walk backward
// uses them. Each thread puts its part of the sums over channels in the place
// of the states that it has used.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_LIB_CODEGEN_GPU_SELECTIVESCANGRAD_H
#define HEDDLE_LIB_CODEGEN_GPU_SELECTIVESCANGRAD_H

#include "SelectiveThreads.h"

namespace heddle {

/// Blocks that share a row of db or dc.
inline int64_t sharersOf(const SelectiveOperands &in, const SelectiveShape &s,
                         int64_t groups) {
  return std::max<int64_t>(1, in.channels / groups / in.groupSize *
                                  s.tilesPerGroup);
}

/// Steps whose states follow from one that is kept, with the sums of all of
/// them in its place: lanes of the same states, 32 / lanes, share two rows of a
/// step.
inline int64_t stepsTogether(const SelectiveShape &s) {
  int64_t room = 16 / s.lanes, registers = 16 / s.perLane;
  return std::min({room, std::max<int64_t>(1, registers), s.steps});
}

class SelectiveGrad : public SelectiveThreads {
public:
  SelectiveGrad(SelectiveScanGradOp op, mlir::func::FuncOp kernel,
                const SelectiveOperands &in, const SelectiveShape &shape)
      : SelectiveThreads(kernel, op.getLoc(), in, shape), op(op),
        together(stepsTogether(shape)) {}
  void build();

private:
  /// Numbers of a thread about its columns of a chunk.
  struct Columns {
    Values u, delta, dy, z;
  };
  struct Sums {
    Value dd, dbias; // null where absent
  };

  ValueRange take(ValueRange &values, int64_t count) {
    ValueRange front = values.take_front(count);
    values = values.drop_front(count);
    return front;
  }
  Values loadForward(Value first);
  Values loadBackward(Value first);
  void copyRows(Value buffer, Value first, Value shared);
  void putSizes(const Columns &columns, bool backward);
  Value startsAt(Value t);
  Values advance(Value t, ValueRange states);
  Values statesAtChunks();
  void saveStates(ValueRange states, Value first);
  Values loadStatesOf(Value chunk);
  Values loadBefore(Value chunk);
  /// Whether a chunk is read while the one before is walked, which takes
  /// registers that groups of steps and many states need.
  bool readsAhead() const { return together == 1 && !manyStates(); }
  /// Whether states alone take most registers of a thread.
  bool manyStates() const { return shape.perLane > 8; }
  int64_t numbersOfChunk() const {
    return (in.z ? 4 : 3) * columnsPerThread() +
           (manyStates() ? 0 : 2 * rowsPerThread());
  }
  Value boundary(Value result, Value first, Values &at, int64_t k);
  Value wholeGroups(Value first);
  bool isRagged() const { return length % together != 0; }
  int64_t lines() const;
  Value stackPlace(Value line, int64_t k);
  void keep(ValueRange states, Value line);
  void walkForward(Value first, ValueRange states);
  Values walkBackward(Value first, ValueRange carried);
  Values goBack(Value first, Value line, int64_t count, ValueRange carried);
  void putStates(ValueRange terms, Value shared, Value first);
  Value placeOfSum(Value m, Value part, Value line, int64_t count);
  void storeRowsOf(Value result, Value first, int64_t number);
  void finish(Value first, const Columns &columns, Sums &sums);
  void storeColumnSum(Value sum, Value result);

  SelectiveScanGradOp op;
  int64_t together; // steps, for which one state is kept
  // Shared: (dt, dt u), ds, rows of b and c, states, sums over states.
  Value xs, dss, bs, cs, stack, dxs, drates, outs;
};

} // namespace heddle

#endif // HEDDLE_LIB_CODEGEN_GPU_SELECTIVESCANGRAD_H
