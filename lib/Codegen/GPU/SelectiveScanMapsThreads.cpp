//===- SelectiveScanMapsThreads.cpp - what stretches of time do to states -===//
//
// The walk of the selective scan, or of the cotangents of its states, without
// what reads these: from zero, with the sum of the sizes of steps, which is the
// log of all decays but for a rate.
//
//===----------------------------------------------------------------------===//

#include "SelectiveThreads.h"

#include <limits>

using namespace mlir;
using namespace heddle;

namespace {
class Maps : public SelectiveThreads {
public:
  Maps(SelectiveScanMapsOp op, func::FuncOp kernel, const SelectiveOperands &in,
       const SelectiveShape &shape)
      : SelectiveThreads(kernel, op.getLoc(), in, shape, op.numChunks(),
                         op.numChunks() - 1),
        op(op) {
    // Both walks of a gradient have the chunks of the walk forward.
    shortFirst = op.getGradient();
  }
  void build();

private:
  /// Of a state over a time; finite, as it multiplies states of zero.
  Value decay(Value time, int64_t k) {
    return arith::MinNumFOp::create(b, loc, exp2(times(time, rate[k])),
                                    number(std::numeric_limits<float>::max()));
  }
  Values load(Value first);
  Values step(Value t, ValueRange carried);
  Values walk(ValueRange states, Value &sum, Value &cut);
  void store(ValueRange states, Value sum, Value cut);

  SelectiveScanMapsOp op;
  Value xs, bs; // shared: (dt, what rows of b are multiplied by), rows of b
};
} // namespace

/// What a chunk reads: u, delta, z, rows of b.
ThreadBuilder::Values Maps::load(Value first) {
  return loadChunk(first, [&](bool whole, Values &values) {
    loadColumns(in.u, first, whole, values);
    loadColumns(in.delta, first, whole, values);
    if (in.z)
      loadColumns(in.z, first, whole, values);
    loadRows(in.b, first, whole, values);
  });
}

/// One step of the states, the sum of sizes, and whether a segment started.
ThreadBuilder::Values Maps::step(Value t, ValueRange carried) {
  Values sizes = get(xs, mul(place(t, owner), 2), 2);
  Values brow = rowOf(bs, t), next;
  Value starts, cut = carried[shape.perLane + 1];
  if (resets) {
    Value here = get(resets, t);
    starts = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::ONE, here,
                                   number(0.0));
    cut = plus(cut, here);
  }
  auto unlessStarts = [&](Value x) {
    return starts ? select(starts, number(0.0), x) : x;
  };
  for (int64_t k = 0; k < shape.perLane; ++k) {
    Value kept = decay(sizes[0], k);
    // In a walk backward the decay comes after what a step adds.
    if (op.getGradient())
      next.push_back(
          unlessStarts(times(kept, fma(sizes[1], brow[k], carried[k]))));
    else
      next.push_back(
          fma(kept, unlessStarts(carried[k]), times(sizes[1], brow[k])));
  }
  next.append({plus(carried[shape.perLane], sizes[0]), cut});
  return next;
}

/// Walks over a chunk; sets `sum` to its sizes and adds its resets to `cut`.
ThreadBuilder::Values Maps::walk(ValueRange states, Value &sum, Value &cut) {
  int64_t together = std::min<int64_t>(4, shape.steps);
  Values carried = llvm::to_vector_of<Value>(states);
  carried.append({number(0.0), cut});
  carried = loop(index(0), index(shape.steps / together), carried,
                 [&](Value i, ValueRange values) {
                   Values next = llvm::to_vector_of<Value>(values);
                   for (int64_t t = 0; t < together; ++t)
                     next = step(add(mul(i, together), t), next);
                   return next;
                 });
  cut = carried.pop_back_val();
  sum = carried.pop_back_val();
  return carried;
}

/// The map of this stretch enters the next one; the first is entered by the
/// identity.
void Maps::store(ValueRange states, Value sum, Value cut) {
  Values decays;
  for (int64_t k = 0; k < shape.perLane; ++k) {
    decays.push_back(decay(sum, k));
    if (resets)
      decays[k] = select(isZero(cut), decays[k],
                         number(std::numeric_limits<double>::quiet_NaN()));
  }
  Value decay = destinationOf(op.getDecay());
  Value state = destinationOf(op.getState());
  Value entry = slot(add(stretch, 1)), first = equal(stretch, 0);
  Value start = slot(index(0));
  storeStates(decays, decay, {batch, entry});
  storeStates(states, state, {batch, entry});
  Values ones(shape.perLane, number(1.0)), zeros(shape.perLane, number(0.0));
  storeStates(ones, decay, {batch, start}, first);
  storeStates(zeros, state, {batch, start}, first);
}

void Maps::build() {
  open();
  loadConstants();
  xs = shared(2 * shape.steps * shape.channels);
  bs = shared(shape.steps * shape.padded);
  if (resetIds)
    resets = shared(shape.steps);
  int64_t columns = columnsPerThread(), rows = rowsPerThread();
  // States, the sum of sizes with what rounding left of it, resets.
  Values carried(shape.perLane + 3, number(0.0));
  llvm::append_range(carried, load(index(0)));
  Values last = loop(
      index(0), index(numChunks()), carried, [&](Value i, ValueRange values) {
        auto take = [&](int64_t count) {
          ValueRange front = values.take_front(count);
          values = values.drop_front(count);
          return front;
        };
        Value first = mul(i, shape.steps);
        ValueRange states = take(shape.perLane), sums = take(3),
                   u = take(columns), delta = take(columns),
                   z = take(in.z ? columns : 0);
        putRows(take(rows), bs);
        putResets(first, {}, op.getGradient());
        for (int64_t c = 0; c < columns; ++c)
          when(hasColumn(c), [&] {
            auto [dt, x] = sizes(u[c], delta[c]);
            if (op.getGradient())
              x = in.z ? times(u[c], times(z[c], sigmoid(z[c]))) : u[c];
            // A step that does not exist leaves the states as they are.
            if (isRagged(shape.steps))
              dt = select(isStep(add(first, columnStep(c))), dt, number(0.0));
            put(ValueRange{dt, x}, xs, mul(place(columnStep(c), column), 2));
          });
        barrier();
        Values ahead = load(add(first, shape.steps));
        Value sum, cut = sums[2];
        Values result = walk(states, sum, cut);
        // Compensated (Kahan, 1965): sizes are much alike, and so are the
        // errors of a sum that grows.
        Value term = minus(sum, sums[1]), total = plus(sums[0], term);
        result.append({total, minus(minus(total, sums[0]), term), cut});
        barrier();
        llvm::append_range(result, ahead);
        return result;
      });
  ValueRange values(last);
  store(values.take_front(shape.perLane), values[shape.perLane],
        values[shape.perLane + 2]);
}

LogicalResult heddle::buildSelectiveScanMapsThreads(SelectiveScanMapsOp op,
                                                    func::FuncOp kernel,
                                                    const TileTarget &target) {
  RankedTensorType u = op.getU().getType(), rows = op.getB().getType();
  SelectiveOperands in{};
  in.u = bufferOf(op.getU());
  in.delta = bufferOf(op.getDelta());
  in.a = bufferOf(op.getA());
  in.b = bufferOf(op.getB());
  in.z = bufferOf(op.getZ());
  in.deltaBias = bufferOf(op.getDeltaBias());
  in.resetIds = bufferOf(op.getResetIds());
  in.softplus = op.getDeltaSoftplus();
  in.reverse = op.getReverse() != op.getGradient();
  in.batch = u.getDimSize(0);
  in.length = u.getDimSize(1);
  in.channels = u.getDimSize(2);
  in.states = op.getA().getType().getDimSize(1);
  in.groupSize = std::max<int64_t>(1, selectiveGroup(in.channels, rows, rows));
  SelectiveOperands stretches = in;
  stretches.batch *= op.numChunks() - 1;
  // The number of stretches suits the kernel that follows: small blocks that
  // nearly fill the device will do.
  TileTarget nearly = target;
  int64_t blocks = stretches.batch * (in.channels / in.groupSize) *
                   llvm::divideCeil(in.groupSize, 32);
  if (4 * blocks >= 3 * target.threads)
    nearly.threads = std::min(target.threads, blocks);
  SelectiveShape shape = selectiveShape(stretches, nearly);
  if (shape.perLane > 32)
    return op.emitOpError("expected at most 1024 states to a channel on a GPU, "
                          "got ")
           << in.states << "; use --target=cpu";
  Maps(op, kernel, in, shape).build();
  return success();
}
