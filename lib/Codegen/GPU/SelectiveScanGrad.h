//===- SelectiveScanGrad.h - the gradient of a selective scan ---*- C++ -*-===//
//
// Private to lib/Codegen/GPU. Chunks of steps are walked from the last one. A
// chunk starts from states that the forward scan left, or that a walk of the
// block's own over all chunks did: into its part of db and dc, where the sums
// of that chunk come last, or, if the part has sums of other tiles already,
// into scratch memory. It is cut into spans: a walk forward keeps the states
// before each span in shared memory, then, span by span from the last, the
// states of the span are made again into shared memory, one of a line of a few
// steps, and a walk backward uses them. Each thread puts its part of the sums
// over channels in the place of the states that it has used.
//
// A block takes its tiles of channels one after the other and adds their sums
// onto the part of db and dc that it owns.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_LIB_CODEGEN_GPU_SELECTIVESCANGRAD_H
#define HEDDLE_LIB_CODEGEN_GPU_SELECTIVESCANGRAD_H

#include "SelectiveThreads.h"

namespace heddle {

/// `steps` are those of a span.
struct SelectiveGradShape : SelectiveShape {
  int64_t spans;        // to a chunk
  int64_t together;     // steps of a group, whose states are in registers
  int64_t groupsOfLine; // for which one state is kept
  int64_t groups;       // of channels
  int64_t blocks;       // to a group
  int64_t tilesOfBlock; // at most, in turn

  int64_t chunk() const { return spans * steps; }
  int64_t stepsOfLine() const { return together * groupsOfLine; }
  /// Lines of states in `stack`.
  int64_t linesOfStack() const {
    return llvm::divideCeil(steps, stepsOfLine());
  }
};

SelectiveGradShape selectiveGradShape(SelectiveScanGradOp op);

/// Blocks that share a row of db or dc, which have so many groups.
inline int64_t sharersOf(const SelectiveGradShape &s, int64_t groups) {
  return std::max<int64_t>(1, s.groups / groups * s.blocks);
}

class SelectiveGrad : public SelectiveThreads {
public:
  SelectiveGrad(SelectiveScanGradOp op, mlir::func::FuncOp kernel,
                const SelectiveOperands &in, const SelectiveGradShape &shape)
      : SelectiveThreads(kernel, op.getLoc(), in, shape, op.numChunks()),
        op(op), grad(shape), together(shape.together) {}
  void build();

private:
  /// What a walk backward carries.
  struct Carried {
    Values g, da;
    Value dd, dbias; // null where absent
  };
  /// Numbers of this thread's columns.
  struct Span {
    Values dy, z;
  };

  ValueRange take(ValueRange &values, int64_t count) {
    ValueRange front = values.take_front(count);
    values = values.drop_front(count);
    return front;
  }
  Values flat(const Carried &carried);
  Carried unflat(ValueRange values);

  //===--- chunks ---------------------------------------------------------===//
  int64_t chunks() const { return llvm::divideCeil(span, grad.chunk()); }
  Value lastChunk();
  Value spansOf(Value first);
  Values loadInputs(Value first);
  void putInputs(ValueRange values, Value first);
  Values loadSpan(Value first);
  Span putSpan(ValueRange values, Value first);
  void copyRows(Value buffer, Value first, Value shared, Value firstRow = {});
  void openChunk(Value chunk);
  Value startsAt(Value t);
  Value decaySize(Value t, Value dt);
  Values advance(Value t, ValueRange states);
  int64_t numbersOfInputs() const {
    return fewRegisters()
               ? 0
               : grad.spans * (2 * columnsPerThread() + rowsPerThread());
  }
  int64_t numbersOfSpan() const {
    return (in.z ? 2 : 1) * columnsPerThread() +
           (fewRegisters() ? 0 : rowsPerThread());
  }
  /// Whether a chunk is read while the one before is walked, which takes
  /// registers that groups of steps and many states need.
  bool readsAhead() const { return together == 1 && !fewRegisters(); }
  /// Whether states or what a chunk reads take most registers of a thread, or
  /// threads have few.
  bool fewRegisters() const {
    int64_t numbers = grad.spans * (2 * columnsPerThread() + rowsPerThread());
    return shape.perLane > 8 || shape.threads() > 256 || numbers > 48;
  }

  //===--- states at the start of chunks ----------------------------------===//
  /// Whether the forward scan left them.
  bool hasStates() {
    return op.getChunkStates() &&
           static_cast<int64_t>(*op.getChunk()) == grad.chunk();
  }
  Values placeOfStates(Value chunk, int64_t k);
  Value placeInRows(bool second, Value chunk, int64_t k, Values &at);
  void saveStates(ValueRange states, Value chunk);
  Values loadStatesOf(Value chunk);
  Values statesAtChunks();

  //===--- walks ----------------------------------------------------------===//
  Value wholeLines(Value first);
  /// Whether time ends within a line; stretches of it do not.
  bool endsInLine() const { return length % grad.stepsOfLine() != 0; }
  Value placeOf(Value line, int64_t k);
  void keep(ValueRange states, Value shared, Value line);
  Values kept(Value shared, Value line);
  Values walkSpans(Value spans, ValueRange states);
  void walkForward(Value first, Value offset, ValueRange states);
  Values walkBackward(Value first, Value offset, ValueRange carried);
  Values goBackLine(Value first, Value offset, Value line, Value end,
                    ValueRange carried);
  Values goBack(Value first, Value offset, Value line, Value group, Value end,
                Values h, ValueRange carried);
  void putStates(ValueRange terms, Value shared, Value first);

  //===--- results --------------------------------------------------------===//
  Value placeOfSum(Value m, Value part, Value line, Value group);
  void storeRowsOf(Value result, Value first, int64_t number);
  Value slopeOf(Value dt);
  void finish(Value first, Value offset, const Span &span, Carried &sums);
  void storeColumnSum(Value sum, Value result);
  void walkSpan(Value first, Value offset, ValueRange states,
                ValueRange numbers, Carried &carried,
                llvm::function_ref<void()> whileWalking);
  void walkChunk(Value first, ValueRange states, ValueRange numbers,
                 Carried &carried, llvm::function_ref<void()> whileWalking);
  void walkTile(Value number);

  SelectiveScanGradOp op;
  SelectiveGradShape grad;
  int64_t together;
  Value turn;   // of this block's tiles; null: it has one
  Value starts; // i1: the chunk begins with no state; null: none does
  // Shared, of a chunk: (dt, u), rows of b, states before spans. Of a span: ds,
  // rows of c, states before groups of steps, sums over states.
  Value xs, bs, lines, dss, cs, stack, dxs, drates, outs;
};

} // namespace heddle

#endif // HEDDLE_LIB_CODEGEN_GPU_SELECTIVESCANGRAD_H
