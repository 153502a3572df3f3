//===- SelectiveScanGradChunks.cpp - what a gradient reads ----------------===//

#include "SelectiveScanGrad.h"

using namespace mlir;
using namespace heddle;

//===----------------------------------------------------------------------===//
// Chunks
//===----------------------------------------------------------------------===//

/// What the walks forward over a chunk read: u, delta and rows of b, span by
/// span. Where registers are few it is read where it is put.
ThreadBuilder::Values SelectiveGrad::loadInputs(Value first) {
  if (fewRegisters())
    return {};
  auto form = [&](bool whole) {
    Values values;
    for (int64_t span = 0; span < grad.spans; ++span) {
      Value begin = add(first, span * shape.steps);
      loadColumns(in.u, begin, whole, values);
      loadColumns(in.delta, begin, whole, values);
      loadRows(in.b, begin, whole, values);
    }
    return values;
  };
  if (!isRagged(grad.chunk()))
    return form(true);
  Value last = add(first, grad.chunk() - 1);
  return when(
      isStep(last), [&] { return form(true); }, [&] { return form(false); });
}

void SelectiveGrad::putInputs(ValueRange values, Value first) {
  int64_t columns = columnsPerThread();
  for (int64_t span = 0; span < grad.spans; ++span) {
    Value offset = index(span * shape.steps), begin = add(first, offset);
    Values read;
    if (fewRegisters()) {
      copyRows(in.b, begin, bs, offset);
      read = loadChunk(begin, [&](bool whole, Values &values) {
        loadColumns(in.u, begin, whole, values);
        loadColumns(in.delta, begin, whole, values);
      });
      values = read;
    }
    ValueRange u = take(values, columns), delta = take(values, columns);
    if (!fewRegisters())
      putRows(take(values, rowsPerThread()), bs, offset);
    putResets(begin, offset);
    for (int64_t i = 0; i < columns; ++i) {
      Value raw = rawSize(delta[i]);
      Value numbers[2] = {in.softplus ? softplus(raw) : raw, u[i]};
      when(hasColumn(i), [&] {
        Value at = place(add(offset, columnStep(i)), column);
        put(ValueRange(numbers), xs, mul(at, 2));
      });
    }
  }
}

/// What the walk backward over a span reads.
ThreadBuilder::Values SelectiveGrad::loadSpan(Value first) {
  return loadChunk(first, [&](bool whole, Values &values) {
    loadColumns(bufferOf(op.getDy()), first, whole, values);
    if (in.z)
      loadColumns(in.z, first, whole, values);
    if (!fewRegisters())
      loadRows(in.c, first, whole, values);
  });
}

SelectiveGrad::Span SelectiveGrad::putSpan(ValueRange values, Value first) {
  int64_t columns = columnsPerThread();
  Span span;
  span.dy = take(values, columns);
  if (in.z)
    span.z = take(values, columns);
  if (fewRegisters())
    copyRows(in.c, first, cs);
  else
    putRows(values, cs);
  for (int64_t i = 0; i < columns; ++i) {
    Value ds = span.dy[i];
    if (in.z)
      ds = times(ds, times(span.z[i], sigmoid(span.z[i])));
    when(hasColumn(i), [&] { put(ds, dss, place(columnStep(i), column)); });
  }
  return span;
}

/// Rows of one of b and c, from memory.
void SelectiveGrad::copyRows(Value buffer, Value first, Value shared,
                             Value firstRow) {
  Values rows = loadChunk(first, [&](bool whole, Values &values) {
    loadRows(buffer, first, whole, values);
  });
  putRows(rows, shared, firstRow);
}

/// The number of the last chunk that this stretch has.
Value SelectiveGrad::lastChunk() {
  int64_t last = std::max<int64_t>(0, chunks() - 1);
  return count && last > 0 ? div(add(count, -1), grad.chunk()) : index(last);
}

/// Spans of a chunk that have a step.
Value SelectiveGrad::spansOf(Value first) {
  if (grad.spans == 1 || !isRagged(grad.chunk()))
    return index(grad.spans);
  Value end =
      count ? add(count, shape.steps - 1) : index(span + shape.steps - 1);
  Value left = sub(end, first);
  return arith::MinSIOp::create(b, loc, div(left, shape.steps),
                                index(grad.spans));
}

//===----------------------------------------------------------------------===//
// States at the start of chunks
//===----------------------------------------------------------------------===//

/// Where state k before a chunk, not the first one, is. In scratch memory the
/// threads of a block lie side by side.
ThreadBuilder::Values SelectiveGrad::placeOfStates(Value chunk, int64_t k) {
  Value before = add(chunk, -1);
  if (hasStates())
    return {batch, before, add(base, owner), state(k)};
  Value at = mul(add(thread, k / shape.width * shape.threads()), shape.width);
  return {add(mul(block, chunks() - 2), before), add(at, k % shape.width)};
}

/// The same in rows of db or dc: the row of a step for each channel, those of
/// dc once the steps are used up. Returns whether the row is one of this result
/// (null: always).
Value SelectiveGrad::placeInRows(bool second, Value chunk, int64_t k,
                                 Values &at) {
  Value buffer = destinationOf(second ? op.getDc() : op.getDb());
  auto type = cast<MemRefType>(buffer.getType()); // (S, B, L, [G,] N)
  int64_t groups = type.getRank() == 5 ? type.getDimSize(3) : 1;
  Value line = second ? add(owner, -grad.chunk()) : owner;
  at = {rem(tile, sharersOf(grad, groups)), batch,
        position(add(mul(chunk, grad.chunk()), line))};
  if (type.getRank() == 5)
    at.push_back(div(base, in.channels / groups));
  at.push_back(state(k));
  if (second)
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, owner,
                                 index(grad.chunk()));
  return shape.channels > grad.chunk() ? below(owner, grad.chunk()) : Value();
}

void SelectiveGrad::saveStates(ValueRange states, Value chunk) {
  for (int64_t k = 0; k < shape.perLane; ++k) {
    if (op.getScratch()) {
      store(states[k], destinationOf(op.getScratch()), placeOfStates(chunk, k));
      continue;
    }
    for (bool second : {false, true}) {
      if (second && shape.channels <= grad.chunk())
        continue;
      Values at;
      Value here = placeInRows(second, chunk, k, at);
      store(states[k], destinationOf(second ? op.getDc() : op.getDb()), at,
            both(both(isState(k), isOwner), here));
    }
  }
}

/// The states that a chunk starts from.
ThreadBuilder::Values SelectiveGrad::loadStatesOf(Value chunk) {
  if (!hasStates() && chunks() <= 2)
    return initialStates();
  auto loadOne = [&](int64_t k) {
    Value exists = both(isState(k), isOwner);
    if (hasStates())
      return load(bufferOf(op.getChunkStates()), placeOfStates(chunk, k),
                  exists);
    if (op.getScratch())
      return load(destinationOf(op.getScratch()), placeOfStates(chunk, k));
    Values at;
    Value here = placeInRows(/*second=*/false, chunk, k, at);
    Value v = load(destinationOf(op.getDb()), at, both(exists, here));
    if (shape.channels <= grad.chunk())
      return v;
    Value there = placeInRows(/*second=*/true, chunk, k, at);
    Value w = load(destinationOf(op.getDc()), at, both(exists, there));
    return select(there, w, v);
  };
  Value zero = index(0);
  return when(
      below(zero, chunk),
      [&] {
        Values states;
        for (int64_t k = 0; k < shape.perLane; ++k)
          states.push_back(loadOne(k));
        return states;
      },
      [&] { return initialStates(); });
}

/// The states before the last chunk, with those before the others in memory.
ThreadBuilder::Values SelectiveGrad::statesAtChunks() {
  Value chunksBeforeLast = lastChunk();
  if (chunks() <= 1 || hasStates())
    return loadStatesOf(chunksBeforeLast);
  Values carried = initialStates();
  llvm::append_range(carried, loadInputs(index(0)));
  Values last = loop(
      index(0), chunksBeforeLast, carried, [&](Value i, ValueRange values) {
        Value first = mul(i, grad.chunk()), zero = index(0);
        ValueRange states = take(values, shape.perLane);
        openChunk(i);
        putInputs(values, first);
        if (chunks() > 2)
          when(below(zero, i), [&] { saveStates(states, i); });
        barrier();
        Value next = add(i, 1);
        Values none(numbersOfInputs(), number(0.0));
        Values ahead = when(
            below(next, chunksBeforeLast),
            [&] { return loadInputs(mul(next, grad.chunk())); },
            [&] { return none; });
        Values result =
            loop(index(0), index(grad.chunk()), states,
                 [&](Value t, ValueRange h) { return advance(t, h); });
        barrier();
        llvm::append_range(result, ahead);
        return result;
      });
  last.resize(shape.perLane);
  return last;
}
