//===- SelectiveScanGradThreads.cpp - its gradient on a GPU ---------------===//
//
// A walk forward leaves the states at the start of each chunk in the block's
// own part of db and dc, where the sums of that chunk come last. Then, chunk by
// chunk from the last, the states of the chunk are made again into shared
// memory, and a walk backward uses them. Each thread puts its part of the sums
// over channels in the place of the states that it has used.
//
//===----------------------------------------------------------------------===//

#include "SelectiveThreads.h"

using namespace mlir;
using namespace heddle;

static constexpr double kLn2 = 0.6931471805599453;

/// Does not depend on a target: partial sums are laid out before there is one.
static SelectiveShape gradientShape(const SelectiveOperands &in) {
  SelectiveShape s{};
  s.width = in.states <= 8 ? 2 : 4;
  // At most 16 lanes: half a warp's states make room for two rows of sums. At
  // least 4, as a thread keeps what 4 steps of a chunk read in registers.
  constexpr int64_t kMaxColumns = 4;
  s.splitInto(in.states, 8, 16);
  if (s.lanes < 4)
    s.split(in.states, 4);
  // Divisions of positions by other sizes take more registers than the states.
  s.perLane = llvm::PowerOf2Ceil(s.perLane);
  s.padded = s.perLane * s.lanes;
  // Shared memory for the states of a chunk, which has at least half as many
  // steps as the block has channels.
  int64_t room = s.padded <= 32 ? 8192 : 16384;
  auto fits = [&](int64_t channels, int64_t steps) {
    return channels * steps * s.padded <= room &&
           steps <= kMaxColumns * s.lanes;
  };
  s.channels = std::min<int64_t>(64, llvm::PowerOf2Ceil(in.groupSize));
  while (s.channels > 1 &&
         (!fits(s.channels, std::max<int64_t>(s.channels / 2, 8)) ||
          s.threads() > 256))
    s.channels /= 2;
  while (s.lanes < 16 &&
         (s.threads() < 32 || (s.threads() < 128 && s.perLane > s.width)))
    s.split(in.states, 2 * s.lanes);
  s.channels = std::max(s.channels, 32 / s.lanes);
  s.steps = 32;
  while (s.steps > 1 && s.steps > s.channels / 2 && !fits(s.channels, s.steps))
    s.steps /= 2;
  // A single chunk keeps nothing.
  if (in.length < s.steps)
    s.steps = llvm::PowerOf2Ceil(std::max<int64_t>(1, in.length));
  s.count(in);
  return s;
}

/// Blocks that share a row of db or dc.
static int64_t sharersOf(const SelectiveOperands &in, const SelectiveShape &s,
                         int64_t groups) {
  return std::max<int64_t>(1, in.channels / groups / in.groupSize *
                                  s.tilesPerGroup);
}

static int64_t groupsOf(Value rows) {
  auto type = cast<ShapedType>(rows.getType());
  return type.getRank() == 4 ? type.getDimSize(2) : 1;
}

int64_t heddle::selectiveScanThreadParts(SelectiveScanGradOp op,
                                         const TileTarget &) {
  SelectiveOperands in = SelectiveOperands::of(op);
  SelectiveShape s = gradientShape(in);
  return std::max(sharersOf(in, s, groupsOf(op.getB())),
                  sharersOf(in, s, groupsOf(op.getC())));
}

namespace {
class Backward : public SelectiveThreads {
public:
  Backward(SelectiveScanGradOp op, func::FuncOp kernel,
           const SelectiveOperands &in, const SelectiveShape &shape)
      : SelectiveThreads(kernel, op.getLoc(), in, shape), op(op) {}
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
  void loadBoth(Value first, bool whole, Values &values);
  void putBoth(Value first, ValueRange &ahead);
  void putSizes(const Columns &columns, bool backward);
  Value startsAt(Value t);
  Values advance(Value t, ValueRange states);
  Values statesAtChunks();
  void saveStates(ValueRange states, Value first);
  Values loadStatesOf(Value chunk);
  Values loadBefore(Value chunk);
  /// Whether the rows of a chunk are read a chunk ahead: many states to a lane
  /// leave no registers for that.
  bool rowsAhead() const { return shape.perLane <= 8; }
  int64_t numbersOfChunk() const {
    int64_t columns = (in.z ? 4 : 3) * columnsPerThread();
    return rowsAhead() ? columns + 2 * rowsPerThread() : columns;
  }
  Value boundary(Value result, Value first, SmallVector<Value> &at, int64_t k);
  Value stackPlace(Value t, int64_t k);
  void walkForward(Value first, ValueRange states);
  Values walkBackward(Value first, ValueRange carried);
  void storeRowsOf(Value result, Value first, int64_t number);
  void finish(Value first, const Columns &columns, Sums &sums);
  void storeColumnSum(Value sum, Value result);

  SelectiveScanGradOp op;
  // Shared: (dt, dt u), ds, rows of b and c, states, sums over states.
  Value xs, dss, bs, cs, stack, dxs, drates, outs;
};
} // namespace

//===----------------------------------------------------------------------===//
// Chunks
//===----------------------------------------------------------------------===//

ThreadBuilder::Values Backward::loadForward(Value first) {
  return loadChunk(first, [&](bool whole, Values &values) {
    loadColumns(in.u, first, whole, values);
    loadColumns(in.delta, first, whole, values);
    loadRows(in.b, first, whole, values);
  });
}

ThreadBuilder::Values Backward::loadBackward(Value first) {
  return loadChunk(first, [&](bool whole, Values &values) {
    loadColumns(in.u, first, whole, values);
    loadColumns(in.delta, first, whole, values);
    loadColumns(bufferOf(op.getDy()), first, whole, values);
    if (in.z)
      loadColumns(in.z, first, whole, values);
    if (rowsAhead())
      loadBoth(first, whole, values);
  });
}

void Backward::loadBoth(Value first, bool whole, Values &values) {
  loadRows(in.b, first, whole, values);
  loadRows(in.c, first, whole, values);
}

/// Rows of b and c of a chunk, from `ahead` where they were read before.
void Backward::putBoth(Value first, ValueRange &ahead) {
  Values now;
  if (!rowsAhead())
    now = loadChunk(first, [&](bool whole, Values &values) {
      loadBoth(first, whole, values);
    });
  ValueRange rows = now;
  ValueRange &from = rowsAhead() ? ahead : rows;
  putRows(take(from, rowsPerThread()), bs);
  putRows(take(from, rowsPerThread()), cs);
}

void Backward::putSizes(const Columns &columns, bool backward) {
  for (int64_t i = 0; i < columnsPerThread(); ++i) {
    auto [dt, x] = sizes(columns.u[i], columns.delta[i]);
    Value ds;
    if (backward) {
      ds = columns.dy[i];
      if (in.z) {
        Value z = columns.z[i];
        ds = times(ds, times(z, sigmoid(z)));
      }
    }
    Value numbers[2] = {dt, x};
    when(hasColumn(i), [&] {
      Value at = place(columnStep(i), column);
      put(ValueRange(numbers), xs, mul(at, 2));
      if (backward)
        put(ds, dss, at);
    });
  }
}

Value Backward::startsAt(Value t) {
  if (!resets)
    return {};
  return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::ONE,
                               get(resets, t), number(0.0));
}

ThreadBuilder::Values Backward::advance(Value t, ValueRange states) {
  Values sizes = get(xs, mul(place(t, owner), 2), 2), brow = rowOf(bs, t);
  Value starts = startsAt(t);
  Values next;
  for (int64_t k = 0; k < shape.perLane; ++k) {
    Value before = starts ? select(starts, number(0.0), states[k]) : states[k];
    next.push_back(
        fma(exp2(times(sizes[0], rate[k])), before, times(sizes[1], brow[k])));
  }
  return next;
}

//===----------------------------------------------------------------------===//
// States at the start of chunks
//===----------------------------------------------------------------------===//

/// Where db or dc holds state k of this thread's channel for a chunk: the row
/// of a step for each channel, those of dc once the steps are used up. Returns
/// whether the row is one of this result (null: always).
Value Backward::boundary(Value result, Value first, SmallVector<Value> &at,
                         int64_t k) {
  Value buffer = destinationOf(result);
  auto type = cast<MemRefType>(buffer.getType()); // (S, B, L, [G,] N)
  int64_t groups = type.getRank() == 5 ? type.getDimSize(3) : 1;
  bool second = result == op.getDc();
  Value line = second ? add(owner, -shape.steps) : owner;
  at = {rem(tile, sharersOf(in, shape, groups)), batch,
        position(add(first, line))};
  if (type.getRank() == 5)
    at.push_back(div(base, in.channels / groups));
  at.push_back(state(k));
  if (second)
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, owner,
                                 index(shape.steps));
  return shape.channels > shape.steps ? below(owner, shape.steps) : Value();
}

void Backward::saveStates(ValueRange states, Value first) {
  for (int64_t k = 0; k < shape.perLane; ++k) {
    SmallVector<Value> at;
    Value here = boundary(op.getDb(), first, at, k);
    Value exists = both(isState(k), isOwner);
    store(states[k], destinationOf(op.getDb()), at, both(exists, here));
    if (shape.channels <= shape.steps)
      continue;
    here = boundary(op.getDc(), first, at, k);
    store(states[k], destinationOf(op.getDc()), at, both(exists, here));
  }
}

/// The states that a chunk, not the last one, starts from; zeros before the
/// first chunk.
ThreadBuilder::Values Backward::loadStatesOf(Value chunk) {
  Value zero = index(0);
  auto zeros = [&] { return Values(shape.perLane, number(0.0)); };
  return when(
      below(zero, chunk),
      [&] {
        Value first = mul(chunk, shape.steps);
        Values states;
        for (int64_t k = 0; k < shape.perLane; ++k) {
          SmallVector<Value> at;
          Value exists = both(isState(k), isOwner);
          Value here = boundary(op.getDb(), first, at, k);
          Value v = load(destinationOf(op.getDb()), at, both(exists, here));
          if (shape.channels > shape.steps) {
            SmallVector<Value> other;
            Value there = boundary(op.getDc(), first, other, k);
            Value w =
                load(destinationOf(op.getDc()), other, both(exists, there));
            v = select(there, w, v);
          }
          states.push_back(v);
        }
        return states;
      },
      [&] {
        if (!in.initialState)
          return zeros();
        return when(
            equal(chunk, 0), [&] { return initialStates(); }, zeros);
      });
}

/// Walks over all chunks but the last; returns the states before that.
ThreadBuilder::Values Backward::statesAtChunks() {
  Values carried = initialStates();
  if (numChunks() <= 1)
    return carried;
  int64_t columns = columnsPerThread(), rows = rowsPerThread();
  llvm::append_range(carried, loadForward(index(0)));
  Values last =
      loop(index(0), index(numChunks() - 1), carried,
           [&](Value i, ValueRange values) {
             Value first = mul(i, shape.steps);
             Values states = take(values, shape.perLane);
             Columns c;
             c.u = take(values, columns);
             c.delta = take(values, columns);
             putRows(take(values, rows), bs);
             putResets(first);
             putSizes(c, /*backward=*/false);
             Value zero = index(0);
             when(below(zero, i), [&] { saveStates(states, first); });
             barrier();
             Value next = add(i, 1);
             Values none(2 * columns + rows, number(0.0));
             Values ahead = when(
                 below(next, numChunks() - 1),
                 [&] { return loadForward(mul(next, shape.steps)); },
                 [&] { return none; });
             Values result =
                 loop(index(0), index(shape.steps), states,
                      [&](Value t, ValueRange h) { return advance(t, h); });
             barrier();
             llvm::append_range(result, ahead);
             return result;
           });
  last.resize(shape.perLane);
  return last;
}

/// What the chunk before this one reads, and the states that it starts from.
ThreadBuilder::Values Backward::loadBefore(Value chunk) {
  Values none(shape.perLane + numbersOfChunk(), number(0.0));
  if (numChunks() <= 1)
    return none;
  Value zero = index(0);
  return when(
      below(zero, chunk),
      [&] {
        Value before = add(chunk, -1);
        Values values = loadStatesOf(before);
        llvm::append_range(values, loadBackward(mul(before, shape.steps)));
        return values;
      },
      [&] { return none; });
}

//===----------------------------------------------------------------------===//
// One chunk
//===----------------------------------------------------------------------===//

/// The place of number k, the first of a run, that this thread has for step t.
Value Backward::stackPlace(Value t, int64_t k) {
  Value at = add(mul(t, shape.perLane / shape.width), k / shape.width);
  return mul(add(mul(at, shape.threads()), thread), shape.width);
}

/// Keeps the state before each step.
void Backward::walkForward(Value first, ValueRange states) {
  loop(index(0), stepsOf(first), states, [&](Value t, ValueRange h) {
    for (int64_t k = 0; k < shape.perLane; k += shape.width)
      put(h.slice(k, shape.width), stack, stackPlace(t, k));
    return advance(t, h);
  });
}

/// Carries g and da.
ThreadBuilder::Values Backward::walkBackward(Value first, ValueRange carried) {
  Value steps = stepsOf(first);
  return loop(index(0), steps, carried, [&](Value i, ValueRange values) {
    Value t = sub(add(steps, -1), i);
    ValueRange g = take(values, shape.perLane), da = values;
    Values sizes = get(xs, mul(place(t, owner), 2), 2);
    Value dt = sizes[0], x = sizes[1], ds = get(dss, place(t, owner));
    Values brow = rowOf(bs, t), crow = rowOf(cs, t), before;
    for (int64_t k = 0; k < shape.perLane; k += shape.width)
      llvm::append_range(before, get(stack, stackPlace(t, k), shape.width));
    Value starts = startsAt(t);
    Value dx, drate, out;
    auto accumulate = [&](Value &sum, int64_t k, Value p, Value q) {
      p = ofState(k, p);
      sum = sum ? fma(p, q, sum) : times(p, q);
    };
    Values nextG, nextDa, db, dc;
    for (int64_t k = 0; k < shape.perLane; ++k) {
      Value decay = exp2(times(dt, rate[k]));
      Value keptState = times(decay, before[k]);
      Value q = fma(crow[k], ds, g[k]), back = times(decay, q);
      if (starts) {
        keptState = select(starts, number(0.0), keptState);
        back = select(starts, number(0.0), back);
      }
      Value qk = times(q, keptState);
      Value h = fma(x, brow[k], keptState);
      nextG.push_back(back);
      nextDa.push_back(fma(qk, dt, da[k]));
      accumulate(dx, k, q, brow[k]);
      accumulate(drate, k, qk, rate[k]);
      if (in.z)
        accumulate(out, k, h, crow[k]);
      db.push_back(times(q, x));
      dc.push_back(times(h, ds));
    }
    // The states of this step were used: their place takes the sums.
    Values sums = shareSums(db, 32 / shape.lanes, shape.lanes);
    llvm::append_range(sums, shareSums(dc, 32 / shape.lanes, shape.lanes));
    for (int64_t j = 0; j < static_cast<int64_t>(sums.size());) {
      int64_t run = j % shape.width == 0 &&
                            j + shape.width <= static_cast<int64_t>(sums.size())
                        ? shape.width
                        : 1;
      put(ValueRange(sums).slice(j, run), stack,
          add(stackPlace(t, j), j % shape.width));
      j += run;
    }
    dx = sumLanes(dx, shape.lanes);
    drate = sumLanes(drate, shape.lanes);
    if (in.z)
      out = sumLanes(out, shape.lanes);
    when(shape.lanes == 1 ? Value() : equal(part, 0), [&] {
      Value at = place(t, owner);
      put(dx, dxs, at);
      put(drate, drates, at);
      if (in.z)
        put(out, outs, at);
    });
    Values next = nextG;
    llvm::append_range(next, nextDa);
    return next;
  });
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// Sums what the warps have of a row, number 0 of b and 1 of c, and stores it.
void Backward::storeRowsOf(Value result, Value first, int64_t number) {
  Value buffer = destinationOf(result);
  auto type = cast<MemRefType>(buffer.getType()); // (S, B, L, [G,] N)
  int64_t groups = type.getRank() == 5 ? type.getDimSize(3) : 1;
  int64_t sharers = sharersOf(in, shape, groups);
  int64_t elements = shape.steps * shape.padded;
  for (int64_t i = 0; i < rowsPerThread(); ++i) {
    Value at = add(thread, i * shape.threads());
    Value t = div(at, shape.padded), n = rem(at, shape.padded);
    Value step = add(first, t), exists;
    if (elements % shape.threads() != 0)
      exists = below(at, elements);
    if (in.states != shape.padded)
      exists = both(exists, below(n, in.states));
    if (length % shape.steps != 0)
      exists = both(exists, below(step, length));
    // Which lane has state n, and where among its numbers.
    Value run = div(n, shape.width);
    Value k = add(mul(div(run, shape.lanes), shape.width), rem(n, shape.width));
    Value lane = rem(run, shape.lanes);
    int64_t terms = shape.perLane;
    for (int64_t bit = shape.lanes; bit < 32 && terms % 2 == 0; bit *= 2) {
      terms /= 2;
      lane = add(lane, mul(rem(div(k, terms), 2), bit));
    }
    Value j = add(rem(k, terms), number * terms);
    Value line = add(mul(t, shape.perLane / shape.width), div(j, shape.width));
    Value from = add(mul(add(mul(line, shape.threads()), lane), shape.width),
                     rem(j, shape.width));
    when(exists, [&] {
      Value sum = get(stack, from);
      for (int64_t warp = 32; warp < shape.threads(); warp += 32)
        sum = plus(sum, get(stack, add(from, warp * shape.width)));
      Value own = rem(tile, sharers);
      for (int64_t part = 0; part < type.getDimSize(0); part += sharers) {
        Values to = {add(own, part), batch, position(step)};
        if (type.getRank() == 5)
          to.push_back(div(base, in.channels / groups));
        to.push_back(n);
        // Parts beyond those that share the row are zero.
        Value there = part + sharers <= type.getDimSize(0)
                          ? Value()
                          : below(to[0], type.getDimSize(0));
        store(part == 0 ? sum : this->number(0.0), buffer, to, there);
      }
    });
  }
}

void Backward::finish(Value first, const Columns &columns, Sums &sums) {
  for (int64_t i = 0; i < columnsPerThread(); ++i) {
    Value exists = hasStep(first, i);
    Values read = when(
        exists,
        [&] {
          Value at = place(columnStep(i), column);
          Values all = {get(dxs, at), get(drates, at), get(dss, at),
                        get(xs, mul(at, 2))};
          if (in.z)
            all.push_back(get(outs, at));
          return all;
        },
        [&] { return Values(in.z ? 5 : 4, number(0.0)); });
    Value dx = read[0], drate = read[1], ds = read[2], u = columns.u[i];
    Value du = times(dx, read[3]);
    if (skip)
      du = fma(skip, ds, du);
    Value ddelta = fma(dx, u, times(drate, number(kLn2)));
    if (in.softplus)
      ddelta = times(ddelta, softplusSlope(rawSize(columns.delta[i])));
    if (sums.dd)
      sums.dd = fma(ds, u, sums.dd);
    if (sums.dbias)
      sums.dbias = plus(sums.dbias, ddelta);
    storeColumn(du, destinationOf(op.getDu()), first, i);
    storeColumn(ddelta, destinationOf(op.getDdelta()), first, i);
    if (!in.z)
      continue;
    Value s = read[4], z = columns.z[i];
    if (skip)
      s = fma(skip, u, s);
    // silu'(z) = sigmoid + z sigmoid (1 - sigmoid)
    Value half = sigmoid(z);
    Value slope = fma(times(z, half), minus(number(1.0), half), half);
    storeColumn(times(times(columns.dy[i], s), slope),
                destinationOf(op.getDz()), first, i);
  }
}

/// Adds what the threads of a column have, in the order of their rows.
void Backward::storeColumnSum(Value sum, Value result) {
  put(sum, stack, thread);
  barrier();
  when(below(thread, shape.channels), [&] {
    Value all = get(stack, column);
    for (int64_t r = 1; r < shape.lanes; ++r)
      all = plus(all, get(stack, add(column, r * shape.channels)));
    store(all, destinationOf(result), {batch, add(base, column)}, isColumn);
  });
  barrier();
}

void Backward::build() {
  open();
  loadConstants();
  int64_t cells = shape.steps * shape.channels;
  xs = shared(2 * cells);
  dss = shared(cells);
  bs = shared(shape.steps * shape.padded);
  cs = shared(shape.steps * shape.padded);
  stack = shared(std::max(cells * shape.padded, shape.threads()));
  dxs = shared(cells);
  drates = shared(cells);
  if (in.z)
    outs = shared(cells);
  if (resetIds)
    resets = shared(shape.steps);
  int64_t columns = columnsPerThread();
  int64_t count = numChunks();
  Values carried = statesAtChunks();
  llvm::append_range(
      carried,
      loadBackward(index(std::max<int64_t>(0, (count - 1) * shape.steps))));
  Values g(shape.perLane, number(0.0));
  if (op.getDfinalState())
    g = loadStates(bufferOf(op.getDfinalState()), /*batched=*/true);
  llvm::append_range(carried, g);
  carried.append(shape.perLane, number(0.0)); // da
  if (op.getDd())
    carried.push_back(number(0.0));
  if (op.getDdeltaBias())
    carried.push_back(number(0.0));
  Values last =
      loop(index(0), index(count), carried, [&](Value i, ValueRange values) {
        Value chunk = sub(index(count - 1), i), first = mul(chunk, shape.steps);
        ValueRange states = take(values, shape.perLane);
        Columns c;
        c.u = take(values, columns);
        c.delta = take(values, columns);
        c.dy = take(values, columns);
        if (in.z)
          c.z = take(values, columns);
        putBoth(first, values);
        putResets(first);
        putSizes(c, /*backward=*/true);
        barrier();
        // What the chunk before reads, and the states that it starts from.
        Values ahead = loadBefore(chunk);
        walkForward(first, states);
        Values walked = walkBackward(first, take(values, 2 * shape.perLane));
        Sums sums;
        if (op.getDd())
          sums.dd = take(values, 1)[0];
        if (op.getDdeltaBias())
          sums.dbias = take(values, 1)[0];
        barrier();
        finish(first, c, sums);
        storeRowsOf(op.getDb(), first, 0);
        storeRowsOf(op.getDc(), first, 1);
        barrier();
        llvm::append_range(ahead, walked);
        for (Value v : {sums.dd, sums.dbias})
          if (v)
            ahead.push_back(v);
        return ahead;
      });
  ValueRange rest =
      ValueRange(last).drop_front(shape.perLane + numbersOfChunk());
  g = take(rest, shape.perLane);
  storeStates(take(rest, shape.perLane), destinationOf(op.getDa()), batch);
  if (op.getDinitialState())
    storeStates(g, destinationOf(op.getDinitialState()), batch);
  if (op.getDd())
    storeColumnSum(take(rest, 1)[0], op.getDd());
  if (op.getDdeltaBias())
    storeColumnSum(take(rest, 1)[0], op.getDdeltaBias());
}

LogicalResult heddle::buildSelectiveScanGradThreads(SelectiveScanGradOp op,
                                                    func::FuncOp kernel,
                                                    const TileTarget &target) {
  std::optional<int64_t> parts = op.getPartialSums();
  if (!parts || *parts != selectiveScanThreadParts(op, target))
    return op.emitOpError("expected partial_sums of a GPU; run "
                          "heddle-split-scans with matrix-units first");
  SelectiveOperands in = SelectiveOperands::of(op);
  SelectiveShape shape = gradientShape(in);
  if (shape.perLane > 16)
    return op.emitOpError("expected at most 256 states to a channel on a GPU, "
                          "got ")
           << in.states << "; use --target=cpu";
  Backward(op, kernel, in, shape).build();
  return success();
}
