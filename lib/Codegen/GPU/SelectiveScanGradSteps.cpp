//===- SelectiveScanGradSteps.cpp - walks over a span ---------------------===//
//
// States before a line of steps are kept in shared memory. A line is a group of
// steps, whose states are in registers, or two of them, where registers are
// few: the states before the second are made twice then. Each thread has a
// place of its own for the states of a line, and puts its part of the sums over
// channels there once it has used them.
//
// Steps are numbered in the span; `offset` is the number of its first one in
// the chunk.
//
//===----------------------------------------------------------------------===//

#include "SelectiveScanGrad.h"

#include <limits>

using namespace mlir;
using namespace heddle;

//===----------------------------------------------------------------------===//
// The walks
//===----------------------------------------------------------------------===//

Value SelectiveGrad::startsAt(Value t) {
  if (!resets)
    return {};
  return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::ONE,
                               get(resets, t), number(0.0));
}

void SelectiveGrad::openChunk(Value chunk) {
  if (in.initialState && !op.getFresh())
    return;
  starts = equal(chunk, 0);
  if (stretch)
    starts = both(starts, equal(stretch, 0));
}

/// The step size in the decay. A positive rate may overflow in it: the first
/// step takes no state along, and infinity times zero would be NaN.
Value SelectiveGrad::decaySize(Value t, Value dt) {
  if (!starts)
    return dt;
  // Not zero, which an infinite rate turns into NaN.
  return select(both(starts, equal(t, 0)),
                number(std::numeric_limits<float>::min()), dt);
}

/// The states after step t of a chunk.
ThreadBuilder::Values SelectiveGrad::advance(Value t, ValueRange states) {
  Values sizes = get(xs, mul(place(t, owner), 2), 2), brow = rowOf(bs, t);
  Value resets = startsAt(t), x = times(sizes[0], sizes[1]);
  Value size = decaySize(t, sizes[0]);
  Values next;
  for (int64_t k = 0; k < shape.perLane; ++k) {
    Value kept = times(exp2(times(size, rate[k])), states[k]);
    if (resets)
      kept = select(resets, number(0.0), kept);
    next.push_back(fma(x, brow[k], kept));
  }
  return next;
}

/// Lines of steps of a span; what is left is a part of one.
Value SelectiveGrad::wholeLines(Value first) {
  return div(stepsOf(first), grad.stepsOfLine());
}

/// The place of number k, the first of a run, that this thread has in a line.
Value SelectiveGrad::placeOf(Value line, int64_t k) {
  Value at = add(mul(line, shape.perLane / shape.width), k / shape.width);
  return mul(add(mul(at, shape.threads()), thread), shape.width);
}

void SelectiveGrad::keep(ValueRange states, Value shared, Value line) {
  for (int64_t k = 0; k < shape.perLane; k += shape.width)
    put(states.slice(k, shape.width), shared, placeOf(line, k));
}

ThreadBuilder::Values SelectiveGrad::kept(Value shared, Value line) {
  Values states;
  for (int64_t k = 0; k < shape.perLane; k += shape.width)
    llvm::append_range(states, get(shared, placeOf(line, k), shape.width));
  return states;
}

/// Keeps the states before each span of a chunk but the last; returns those.
ThreadBuilder::Values SelectiveGrad::walkSpans(Value spans, ValueRange states) {
  if (grad.spans == 1)
    return llvm::to_vector_of<Value>(states);
  return loop(index(0), add(spans, -1), states,
              [&](Value span, ValueRange before) {
                keep(before, lines, span);
                Value offset = mul(span, shape.steps);
                return loop(index(0), index(shape.steps), before,
                            [&](Value t, ValueRange h) {
                              return advance(add(offset, t), h);
                            });
              });
}

/// Keeps the state before each line of steps.
void SelectiveGrad::walkForward(Value first, Value offset, ValueRange states) {
  Value lines = wholeLines(first);
  Values last =
      loop(index(0), lines, states, [&](Value line, ValueRange before) {
        keep(before, stack, line);
        Values h = llvm::to_vector_of<Value>(before);
        Value begin = add(offset, mul(line, grad.stepsOfLine()));
        for (int64_t u = 0; u < grad.stepsOfLine(); ++u)
          h = advance(add(begin, u), h);
        return h;
      });
  if (endsInLine())
    when(below(mul(lines, grad.stepsOfLine()), stepsOf(first)),
         [&] { keep(last, stack, lines); });
}

/// Carries g and da.
ThreadBuilder::Values SelectiveGrad::walkBackward(Value first, Value offset,
                                                  ValueRange carried) {
  Value lines = wholeLines(first);
  Values values = llvm::to_vector_of<Value>(carried);
  if (endsInLine()) {
    Value begin = mul(lines, grad.stepsOfLine()), end = stepsOf(first);
    values = when(
        below(begin, end),
        [&] { return goBackLine(begin, offset, lines, end, values); },
        [&] { return values; });
  }
  return loop(index(0), lines, values, [&](Value i, ValueRange v) {
    Value line = sub(add(lines, -1), i);
    return goBackLine(mul(line, grad.stepsOfLine()), offset, line, Value(), v);
  });
}

/// Goes back over a line of steps from `first` on. Steps from `end` on (null:
/// none) do not exist: they leave nothing but numbers that nobody reads.
ThreadBuilder::Values SelectiveGrad::goBackLine(Value first, Value offset,
                                                Value line, Value end,
                                                ValueRange carried) {
  Values before = kept(stack, line);
  if (grad.groupsOfLine == 1)
    return goBack(first, offset, line, index(0), end, before, carried);
  Value count = index(grad.groupsOfLine);
  if (end)
    count = div(add(sub(end, first), together - 1), together);
  return loop(index(0), count, carried, [&](Value i, ValueRange carried) {
    Value group = sub(add(count, -1), i), skipped = mul(group, together);
    Value begin = add(offset, first);
    Values h = loop(index(0), skipped, before, [&](Value t, ValueRange h) {
      return advance(add(begin, t), h);
    });
    return goBack(add(first, skipped), offset, line, group, end, h, carried);
  });
}

/// Goes back over a group of a line from the states before it.
ThreadBuilder::Values SelectiveGrad::goBack(Value first, Value offset,
                                            Value line, Value group, Value end,
                                            Values h, ValueRange carried) {
  Values g = llvm::to_vector_of<Value>(carried.take_front(shape.perLane));
  Values da = llvm::to_vector_of<Value>(carried.drop_front(shape.perLane));
  struct Step {
    Value dt, x, starts;
    Values brow, decay, kept, h;
  };
  SmallVector<Step, 0> steps(together);
  for (auto [u, step] : llvm::enumerate(steps)) {
    Value t = add(add(offset, first), u);
    Values sizes = get(xs, mul(place(t, owner), 2), 2);
    step.dt = sizes[0];
    step.x = times(sizes[0], sizes[1]);
    step.starts = startsAt(t);
    step.brow = rowOf(bs, t);
    Value size = decaySize(t, step.dt);
    for (int64_t k = 0; k < shape.perLane; ++k) {
      Value decay = exp2(times(size, rate[k])), kept = times(decay, h[k]);
      if (step.starts)
        kept = select(step.starts, number(0.0), kept);
      h[k] = fma(step.x, step.brow[k], kept);
      step.decay.push_back(decay);
      step.kept.push_back(kept);
    }
    step.h = h;
  }
  Values dx(together), drate(together), out(together);
  Values terms(2 * together * shape.perLane);
  for (int64_t u = together - 1; u >= 0; --u) {
    Step &step = steps[u];
    Value t = add(first, u), ds = get(dss, place(t, owner));
    Value exists = end ? below(t, end) : Value();
    Values crow = rowOf(cs, t);
    auto accumulate = [&](Value &sum, int64_t k, Value p, Value q) {
      p = ofState(k, p);
      sum = sum ? fma(p, q, sum) : times(p, q);
    };
    for (int64_t k = 0; k < shape.perLane; ++k) {
      Value q = fma(crow[k], ds, g[k]), qk = times(q, step.kept[k]);
      Value before = times(step.decay[k], q), sum = fma(qk, step.dt, da[k]);
      if (step.starts)
        before = select(step.starts, number(0.0), before);
      g[k] = exists ? select(exists, before, g[k]) : before;
      da[k] = exists ? select(exists, sum, da[k]) : sum;
      accumulate(dx[u], k, q, step.brow[k]);
      accumulate(drate[u], k, qk, rate[k]);
      if (in.z)
        accumulate(out[u], k, step.h[k], crow[k]);
      terms[2 * u * shape.perLane + k] = times(q, step.x);
      terms[(2 * u + 1) * shape.perLane + k] = times(step.h[k], ds);
    }
  }
  Values sums = shareSums(terms, 32 / shape.lanes, shape.lanes);
  int64_t numSums = sums.size();
  for (int64_t j = 0, run; j < numSums; j += run) {
    run = std::min(shape.width, numSums - j);
    if (!llvm::isPowerOf2_64(run))
      run = 1;
    put(ValueRange(sums).slice(j, run), stack,
        add(add(placeOf(line, j), j % shape.width), mul(group, numSums)));
  }
  putStates(dx, dxs, first);
  putStates(drate, drates, first);
  if (in.z)
    putStates(out, outs, first);
  llvm::append_range(g, da);
  return g;
}

/// Puts sums over the states of a channel, a term of each step from `first` on.
void SelectiveGrad::putStates(ValueRange terms, Value shared, Value first) {
  Values sums = shareSums(llvm::to_vector_of<Value>(terms), shape.lanes);
  // Bits of the lane say which steps it has, from the highest on.
  int64_t share = terms.size(), bits = 1;
  for (; bits < shape.lanes && share > 1; bits *= 2) {
    share /= 2;
    first = add(first, mul(rem(div(part, bits), 2), share));
  }
  when(bits < shape.lanes ? below(part, bits) : Value(), [&] {
    for (int64_t u = 0; u < share; ++u)
      put(sums[u], shared, place(add(first, u), owner));
  });
}

//===----------------------------------------------------------------------===//
// Sums over channels
//===----------------------------------------------------------------------===//

/// Where the first warp has term m of those that a part of its lanes share for
/// a group of steps of a line.
Value SelectiveGrad::placeOfSum(Value m, Value part, Value line, Value group) {
  int64_t terms = 2 * together * shape.perLane;
  Value lane = part;
  for (int64_t bit = shape.lanes; bit < 32 && terms % 2 == 0; bit *= 2) {
    terms /= 2;
    lane = add(lane, mul(rem(div(m, terms), 2), bit));
  }
  Value j = add(rem(m, terms), mul(group, terms));
  line = add(mul(line, shape.perLane / shape.width), div(j, shape.width));
  return add(mul(add(mul(line, shape.threads()), lane), shape.width),
             rem(j, shape.width));
}

/// Sums what the warps have of a row, number 0 of b and 1 of c, and stores it,
/// or adds it to what the block's tiles before this one have.
void SelectiveGrad::storeRowsOf(Value result, Value first, int64_t number) {
  Value buffer = destinationOf(result);
  auto type = cast<MemRefType>(buffer.getType()); // (S, B, L, [G,] N)
  int64_t groups = type.getRank() == 5 ? type.getDimSize(3) : 1;
  int64_t sharers = sharersOf(grad, groups);
  int64_t elements = shape.steps * shape.padded;
  auto storeOne = [&](Value at) {
    Value t = div(at, shape.padded), n = rem(at, shape.padded);
    Value step = add(first, t), exists;
    if (elements % shape.threads() != 0)
      exists = below(at, elements);
    if (in.states != shape.padded)
      exists = both(exists, below(n, in.states));
    if (isRagged(shape.steps))
      exists = both(exists, isStep(step));
    // Which lane has state n, and which of its states that is.
    Value run = div(n, shape.width);
    Value k = add(mul(div(run, shape.lanes), shape.width), rem(n, shape.width));
    k = add(k, number * shape.perLane);
    Value part = rem(run, shape.lanes);
    Value from = placeOfSum(add(k, mul(rem(t, together), 2 * shape.perLane)),
                            part, div(t, grad.stepsOfLine()),
                            rem(div(t, together), grad.groupsOfLine));
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
        if (part == 0 && turn) {
          Value zero = index(0);
          sum = plus(load(buffer, to, below(zero, turn)), sum);
        }
        // Parts beyond those that share the row are zero.
        Value there = part + sharers <= type.getDimSize(0)
                          ? Value()
                          : below(to[0], type.getDimSize(0));
        store(part == 0 ? sum : this->number(0.0), buffer, to, there);
      }
    });
  };
  if (!fewRegisters()) {
    for (int64_t i = 0; i < rowsPerThread(); ++i)
      storeOne(add(thread, i * shape.threads()));
    return;
  }
  // Unrolled, the addresses of all would lie in registers.
  loop(index(0), index(rowsPerThread()), {}, [&](Value i, ValueRange) {
    storeOne(add(thread, mul(i, shape.threads())));
    return Values();
  });
}
