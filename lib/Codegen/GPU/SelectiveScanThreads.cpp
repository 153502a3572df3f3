//===- SelectiveScanThreads.cpp - the selective scan on a GPU -------------===//
//
// One walk over time with the states in registers. While a chunk is walked,
// what the next one reads is under way from global memory to registers.
//
//===----------------------------------------------------------------------===//

#include "SelectiveThreads.h"

using namespace mlir;
using namespace heddle;

namespace {
class Forward : public SelectiveThreads {
public:
  Forward(SelectiveScanOp op, func::FuncOp kernel, const SelectiveOperands &in,
          const SelectiveShape &shape)
      : SelectiveThreads(kernel, op.getLoc(), in, shape, op.numChunks()),
        op(op) {}
  void build();

private:
  Values load(Value first);
  Values step(Value t, ValueRange states, Value &sum);
  Values walk(ValueRange states);
  void keep(ValueRange states, Value first);
  void finish(Value first, ValueRange u, ValueRange z);

  SelectiveScanOp op;
  Value xs, bs, cs, ys; // shared: (dt, dt u), rows of b and c, sums over states
};
} // namespace

/// What a chunk reads: u, delta, z, rows of b and c.
ThreadBuilder::Values Forward::load(Value first) {
  return loadChunk(first, [&](bool whole, Values &values) {
    loadColumns(in.u, first, whole, values);
    loadColumns(in.delta, first, whole, values);
    if (in.z)
      loadColumns(in.z, first, whole, values);
    loadRows(in.b, first, whole, values);
    loadRows(in.c, first, whole, values);
  });
}

/// One step: fills `sum` with this lane's part of y.
ThreadBuilder::Values Forward::step(Value t, ValueRange states, Value &sum) {
  Values sizes = get(xs, mul(place(t, owner), 2), 2);
  Values brow = rowOf(bs, t), crow = rowOf(cs, t);
  Value starts;
  if (resets)
    starts = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::ONE,
                                   get(resets, t), number(0.0));
  // An infinite decay would make NaN of a state of zero.
  Value dt = starts ? select(starts, number(0.0), sizes[0]) : sizes[0];
  Values next, sums(shape.width);
  for (int64_t k = 0; k < shape.perLane; ++k) {
    Value before = starts ? select(starts, number(0.0), states[k]) : states[k];
    next.push_back(
        fma(exp2(times(dt, rate[k])), before, times(sizes[1], brow[k])));
    Value &part = sums[k % shape.width];
    Value h = ofState(k, next[k]);
    part = part ? fma(h, crow[k], part) : times(h, crow[k]);
  }
  // Several chains, then a tree.
  for (size_t half = sums.size() / 2; half > 0; half /= 2)
    for (size_t i = 0; i < half; ++i)
      sums[i] = plus(sums[i], sums[i + half]);
  sum = sums[0];
  return next;
}

/// Walks over a chunk, a few steps at once, whose sums lanes share.
ThreadBuilder::Values Forward::walk(ValueRange states) {
  int64_t together = shape.perLane > 16 ? 1 : shape.perLane > 8 ? 2 : 4;
  together = std::min(together, shape.steps);
  return loop(index(0), index(shape.steps / together), states,
              [&](Value i, ValueRange h) {
                Value first = mul(i, together);
                Values next = llvm::to_vector_of<Value>(h), sums(together);
                for (int64_t t = 0; t < together; ++t)
                  next = step(add(first, t), next, sums[t]);
                sums = shareSums(sums, shape.lanes);
                // Bits of the lane say which steps it has, from the highest on.
                Value at = first;
                int64_t share = together, bits = 1;
                for (; bits < shape.lanes && share > 1; bits *= 2) {
                  share /= 2;
                  at = add(at, mul(rem(div(part, bits), 2), share));
                }
                when(bits < shape.lanes ? below(part, bits) : Value(), [&] {
                  for (int64_t t = 0; t < share; ++t)
                    put(sums[t], ys, place(add(at, t), owner));
                });
                return next;
              });
}

/// Leaves the states before a chunk of the gradient that starts here.
void Forward::keep(ValueRange states, Value first) {
  if (!op.getChunkStates())
    return;
  int64_t chunk = *op.getChunk();
  Value zero = index(0), starts = below(zero, first);
  if (chunk != shape.steps)
    starts = both(starts, equal(rem(first, chunk), 0));
  when(starts, [&] {
    storeStates(states, destinationOf(op.getChunkStates()),
                {batch, add(div(first, chunk), -1)});
  });
}

void Forward::finish(Value first, ValueRange u, ValueRange z) {
  for (int64_t i = 0; i < columnsPerThread(); ++i) {
    when(hasStep(first, i), [&] {
      Value y = get(ys, place(columnStep(i), column));
      if (skip)
        y = fma(skip, u[i], y);
      if (in.z)
        y = times(y, times(z[i], sigmoid(z[i])));
      storeColumn(y, destinationOf(op.getY()), first, i);
    });
  }
}

void Forward::build() {
  open();
  loadConstants();
  xs = shared(2 * shape.steps * shape.channels);
  ys = shared(shape.steps * shape.channels);
  bs = shared(shape.steps * shape.padded);
  cs = shared(shape.steps * shape.padded);
  if (resetIds)
    resets = shared(shape.steps);
  int64_t columns = columnsPerThread(), rows = rowsPerThread();
  Values carried = initialStates();
  llvm::append_range(carried, load(index(0)));
  Values last = loop(
      index(0), index(numChunks()), carried, [&](Value i, ValueRange values) {
        auto take = [&](int64_t count) {
          ValueRange front = values.take_front(count);
          values = values.drop_front(count);
          return front;
        };
        Value first = mul(i, shape.steps);
        ValueRange states = take(shape.perLane), u = take(columns),
                   delta = take(columns), z = take(in.z ? columns : 0);
        putRows(take(rows), bs);
        putRows(take(rows), cs);
        putResets(first);
        keep(states, first);
        for (int64_t c = 0; c < columns; ++c)
          when(hasColumn(c), [&] {
            auto [dt, x] = sizes(u[c], delta[c]);
            // A step that does not exist leaves the states as they are.
            if (isRagged(shape.steps))
              dt = select(isStep(add(first, columnStep(c))), dt, number(0.0));
            // Nor has the first step a state before it.
            if (!in.initialState || op.getFresh())
              dt = select(equal(inTime(add(first, columnStep(c))), 0),
                          number(0.0), dt);
            put(ValueRange{dt, x}, xs, mul(place(columnStep(c), column), 2));
          });
        barrier();
        Values ahead = load(add(first, shape.steps));
        Values result = walk(states);
        barrier();
        finish(first, u, z);
        llvm::append_range(result, ahead);
        return result;
      });
  if (op.getFinalState())
    storeStates(ValueRange(last).take_front(shape.perLane),
                destinationOf(op.getFinalState()), batch,
                stretch ? equal(stretch, stretches - 1) : Value());
}

LogicalResult heddle::buildSelectiveScanThreads(SelectiveScanOp op,
                                                func::FuncOp kernel,
                                                const TileTarget &target) {
  SelectiveOperands in = SelectiveOperands::of(op);
  SelectiveOperands stretches = in;
  stretches.batch *= op.numChunks();
  SelectiveShape shape = selectiveShape(stretches, target);
  // States leave between chunks.
  while (op.getChunkStates() && *op.getChunk() % shape.steps != 0)
    shape.steps /= 2;
  if (shape.perLane > 32)
    return op.emitOpError("expected at most 1024 states to a channel on a GPU, "
                          "got ")
           << in.states << "; use --target=cpu";
  Forward(op, kernel, in, shape).build();
  return success();
}
