//===- LinearThreads.h - walks of linear recurrences ------------*- C++ -*-===//
//
// Private to lib/Codegen/GPU. A block has up to 32 channels, and its threads
// share the time of a chunk: each reads a few steps of one channel, composes
// them into one map state -> state, and the maps of the chunk are composed
// through shared memory (Blelloch, "Prefix Sums and Their Applications", 1990).
// Each thread then walks over its steps, which are still in registers, from the
// state it got. The walk backward of the gradient is the same with other maps.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_LIB_CODEGEN_GPU_LINEARTHREADS_H
#define HEDDLE_LIB_CODEGEN_GPU_LINEARTHREADS_H

#include "ScanThreads.h"

namespace heddle {

/// A real number, or the two parts of a complex one.
struct Pair {
  mlir::Value re, im; // im: null for a real one
};

class LinearThreads : public ScanThreads {
public:
  LinearThreads(mlir::func::FuncOp kernel, mlir::Location loc,
                mlir::RankedTensorType type, bool reverse, Value resetIds,
                bool complex, int64_t stretches, int64_t walked = 0)
      : ScanThreads(kernel, loc, type.getDimSize(1), reverse, resetIds,
                    stretches, walked),
        complex(complex), numBatches(type.getDimSize(0)),
        numChannels(type.getDimSize(2)) {}

  /// One step as it was read.
  struct Step {
    Value step;   // number in the stretch
    Value exists; // i1 or null: there is such a step
    Value valid;  // i1 or null: and such a channel
    Value resets; // i1 or null
    Pair decay;   // null where it is constant over time
    Pair input;   // what a state gets
    Pair before;  // backward: the state before the step
  };
  /// What a walk does: `read` has step and valid filled in.
  struct Walk {
    Pair fixed; // a decay that is constant over time, or null
    llvm::function_ref<void(Step &)> read;
    llvm::function_ref<Pair(const Step &)> decay;
    llvm::function_ref<Pair(const Step &, Pair state)> next;
    /// The state after a step that no state comes before.
    llvm::function_ref<Pair(const Step &)> fresh;
    /// Sees each step with the state before it; returns what is carried beside
    /// the state.
    llvm::function_ref<Values(const Step &, Pair state, ValueRange)> visit;
  };

  void open(const TileTarget &target);
  /// Walks over all steps from `state` on; returns the last state and what is
  /// carried beside it.
  Values run(Pair state, ValueRange carried, const Walk &walk);
  /// A state of this channel that enters the stretch, or all of them; zero
  /// where there is none.
  Value loadState(Value state) {
    if (!state)
      return number(0.0);
    if (extentsOf(state) == 3)
      return loadOnce(bufferOf(state), {batch, slot(stretch), channel});
    return loadOnce(bufferOf(state), {batch, channel});
  }
  Value loadChannel(Value vector) {
    return loadOnce(bufferOf(vector), channel);
  }
  /// Stores a number of the channel, which one thread does, into a result.
  void storeChannel(Value number, Value result, ValueRange leading,
                    Value where = {}) {
    Values at(leading.begin(), leading.end());
    at.push_back(channel);
    store(number, destinationOf(result), at,
          both(where, both(isChannel, equal(rank, 0))));
  }
  /// The same of what leaves the last stretch; without a result nothing.
  void storeState(Value number, Value result) {
    if (result)
      storeChannel(number, result, batch,
                   stretch ? equal(stretch, stretches - 1) : Value());
  }
  /// The sum of a number over the threads of a channel, in those with rank 0.
  Value sumOverRanks(Value x);
  /// Numbers of the threads of a channel combined in a tree, in those with
  /// rank 0.
  Values
  foldOverRanks(Values x,
                llvm::function_ref<Values(ValueRange, ValueRange)> combine);

  //===--- complex numbers ------------------------------------------------===//
  Pair pair(Value re, Value im, llvm::function_ref<Value(Value)> of) {
    Value first = of(re);
    return {first, complex ? of(im) : Value()};
  }
  Pair constant(double re) {
    return {number(re), complex ? number(0.0) : Value()};
  }
  Pair multiply(Pair x, Pair y) { return multiplyAdd(x, y, {}); }
  /// x y + z, z null: x y.
  Pair multiplyAdd(Pair x, Pair y, Pair z) {
    auto sum = [&](Value p, Value q, Value r) {
      return r ? fma(p, q, r) : times(p, q);
    };
    if (!complex)
      return {sum(x.re, y.re, z.re), {}};
    Value minus = mlir::arith::NegFOp::create(b, loc, x.im);
    return {fma(minus, y.im, sum(x.re, y.re, z.re)),
            fma(x.im, y.re, sum(x.re, y.im, z.im))};
  }
  Pair conjugate(Pair x) {
    return {x.re, complex
                      ? mlir::arith::NegFOp::create(b, loc, x.im).getResult()
                      : Value()};
  }
  Pair plusPair(Pair x, Pair y) {
    return {plus(x.re, y.re), complex ? plus(x.im, y.im) : Value()};
  }
  Pair selectPair(Value condition, Pair x, Pair y) {
    return {select(condition, x.re, y.re),
            complex ? select(condition, x.im, y.im) : Value()};
  }
  Pair zeroWhere(Value condition, Pair x) {
    return condition ? selectPair(condition, constant(0.0), x) : x;
  }
  /// The largest number in place of what is larger, or is not a number.
  Pair limit(Pair x);
  /// A decay to the number of steps of a stretch, limited.
  Pair overStretch(Pair decay) { return limit(power(decay, span).high); }
  void append(Values &values, Pair x) {
    values.push_back(x.re);
    if (complex)
      values.push_back(x.im);
  }
  /// Takes a pair off the front of `values`.
  Pair take(ValueRange &values) {
    Pair x{values[0], complex ? values[1] : Value()};
    values = values.drop_front(complex ? 2 : 1);
    return x;
  }

  bool complex;
  int64_t numBatches, numChannels;
  int64_t channels = 1, ranks = 1, steps = 1; // of a block; of a thread
  Value lane, rank;         // channel in the block; place in time in the chunk
  Value channel, isChannel; // number; i1 or null

private:
  static int64_t extentsOf(Value tensor) {
    return llvm::cast<mlir::RankedTensorType>(tensor.getType()).getRank();
  }
  Value loadOnce(Value buffer, ValueRange at);

  /// A power of a decay, to about 48 bits: the same factor comes again with
  /// each chunk, and so would its error.
  struct Power {
    Pair high, low;
  };
  Power power(Pair decay, int64_t exponent);
  llvm::SmallVector<Step> readSteps(Value first, bool ragged, const Walk &walk);
  Pair step(const Walk &walk, const Step &s, Pair state);
  Pair compose(Value buffer, Value chunk, const Walk &walk,
               llvm::ArrayRef<Step> steps, Pair state, Pair &mine);

  Power whole, rest; // of all steps of a thread; of those of the last one
};

} // namespace heddle

#endif // HEDDLE_LIB_CODEGEN_GPU_LINEARTHREADS_H
