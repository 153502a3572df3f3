//===- SelectiveScanGradThreads.cpp - its gradient on a GPU ---------------===//
//
// The shape of a block, what it reads and what it writes of a chunk.
//
//===----------------------------------------------------------------------===//

#include "SelectiveScanGrad.h"

using namespace mlir;
using namespace heddle;

static constexpr double kLn2 = 0.6931471805599453;

/// Does not depend on a target: partial sums are laid out before there is one.
static SelectiveShape gradientShape(const SelectiveOperands &in) {
  SelectiveShape s{};
  s.width = in.states <= 8 ? 2 : 4;
  // At most 16 lanes: half a warp's states make room for two rows of sums. At
  // least 4, as a thread keeps what 8 steps of a chunk read in registers.
  constexpr int64_t kMaxColumns = 8;
  s.steps = 32;
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
    return channels * steps * s.padded <= room * stepsTogether(s) &&
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
  while (s.steps > 1 && s.steps > s.channels / 2 && !fits(s.channels, s.steps))
    s.steps /= 2;
  // A single chunk keeps nothing.
  if (in.length < s.steps)
    s.steps = llvm::PowerOf2Ceil(std::max<int64_t>(1, in.length));
  s.count(in);
  return s;
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

//===----------------------------------------------------------------------===//
// Chunks
//===----------------------------------------------------------------------===//

ThreadBuilder::Values SelectiveGrad::loadForward(Value first) {
  return loadChunk(first, [&](bool whole, Values &values) {
    loadColumns(in.u, first, whole, values);
    loadColumns(in.delta, first, whole, values);
    loadRows(in.b, first, whole, values);
  });
}

ThreadBuilder::Values SelectiveGrad::loadBackward(Value first) {
  return loadChunk(first, [&](bool whole, Values &values) {
    loadColumns(in.u, first, whole, values);
    loadColumns(in.delta, first, whole, values);
    loadColumns(bufferOf(op.getDy()), first, whole, values);
    if (in.z)
      loadColumns(in.z, first, whole, values);
    if (manyStates())
      return;
    loadRows(in.b, first, whole, values);
    loadRows(in.c, first, whole, values);
  });
}

/// Rows of one of b and c of a chunk, from memory.
void SelectiveGrad::copyRows(Value buffer, Value first, Value shared) {
  Values rows = loadChunk(first, [&](bool whole, Values &values) {
    loadRows(buffer, first, whole, values);
  });
  putRows(rows, shared);
}

void SelectiveGrad::putSizes(const Columns &columns, bool backward) {
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

Value SelectiveGrad::startsAt(Value t) {
  if (!resets)
    return {};
  return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::ONE,
                               get(resets, t), number(0.0));
}

ThreadBuilder::Values SelectiveGrad::advance(Value t, ValueRange states) {
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
Value SelectiveGrad::boundary(Value result, Value first, Values &at,
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

void SelectiveGrad::saveStates(ValueRange states, Value first) {
  for (int64_t k = 0; k < shape.perLane; ++k) {
    Values at;
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
ThreadBuilder::Values SelectiveGrad::loadStatesOf(Value chunk) {
  Value zero = index(0);
  auto zeros = [&] { return Values(shape.perLane, number(0.0)); };
  return when(
      below(zero, chunk),
      [&] {
        Value first = mul(chunk, shape.steps);
        Values states;
        for (int64_t k = 0; k < shape.perLane; ++k) {
          Values at;
          Value exists = both(isState(k), isOwner);
          Value here = boundary(op.getDb(), first, at, k);
          Value v = load(destinationOf(op.getDb()), at, both(exists, here));
          if (shape.channels > shape.steps) {
            Values other;
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
ThreadBuilder::Values SelectiveGrad::statesAtChunks() {
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
ThreadBuilder::Values SelectiveGrad::loadBefore(Value chunk) {
  Values none(shape.perLane + (readsAhead() ? numbersOfChunk() : 0),
              number(0.0));
  if (numChunks() <= 1)
    return none;
  Value zero = index(0);
  return when(
      below(zero, chunk),
      [&] {
        Value before = add(chunk, -1);
        Values values = loadStatesOf(before);
        if (readsAhead())
          llvm::append_range(values, loadBackward(mul(before, shape.steps)));
        return values;
      },
      [&] { return none; });
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

void SelectiveGrad::finish(Value first, const Columns &columns, Sums &sums) {
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
void SelectiveGrad::storeColumnSum(Value sum, Value result) {
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

void SelectiveGrad::build() {
  open();
  loadConstants();
  int64_t cells = shape.steps * shape.channels;
  xs = shared(2 * cells);
  dss = shared(cells);
  bs = shared(shape.steps * shape.padded);
  cs = shared(shape.steps * shape.padded);
  stack =
      shared(std::max<int64_t>(1, lines()) * shape.threads() * shape.perLane);
  dxs = shared(cells);
  drates = shared(cells);
  if (in.z)
    outs = shared(cells);
  if (resetIds)
    resets = shared(shape.steps);
  int64_t columns = columnsPerThread(), rows = rowsPerThread();
  int64_t count = numChunks();
  Values carried = statesAtChunks();
  if (readsAhead())
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
        Values now;
        if (!readsAhead())
          now = loadBackward(first);
        ValueRange numbers =
            readsAhead() ? take(values, numbersOfChunk()) : ValueRange(now);
        Columns c;
        c.u = take(numbers, columns);
        c.delta = take(numbers, columns);
        c.dy = take(numbers, columns);
        if (in.z)
          c.z = take(numbers, columns);
        if (manyStates()) {
          copyRows(in.b, first, bs);
          copyRows(in.c, first, cs);
        } else {
          putRows(take(numbers, rows), bs);
          putRows(take(numbers, rows), cs);
        }
        putResets(first);
        putSizes(c, /*backward=*/true);
        barrier();
        // What the chunk before reads, and the states that it starts from:
        // where they are many, registers do not hold them over the walks.
        Values ahead;
        if (!manyStates())
          ahead = loadBefore(chunk);
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
        if (manyStates())
          ahead = loadBefore(chunk);
        llvm::append_range(ahead, walked);
        for (Value v : {sums.dd, sums.dbias})
          if (v)
            ahead.push_back(v);
        return ahead;
      });
  ValueRange rest = ValueRange(last).drop_front(
      shape.perLane + (readsAhead() ? numbersOfChunk() : 0));
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
  SelectiveGrad(op, kernel, in, shape).build();
  return success();
}
