//===- SelectiveScanGradThreads.cpp - its gradient on a GPU ---------------===//
//
// The order of tiles, chunks and spans, and what a block writes of them.
//
//===----------------------------------------------------------------------===//

#include "SelectiveScanGrad.h"

using namespace mlir;
using namespace heddle;

static constexpr double kLn2 = 0.6931471805599453;

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// The derivative of softplus where that is `dt`: 1 - e^-dt, by its series
/// where the difference would cancel.
Value SelectiveGrad::slopeOf(Value dt) {
  // dt (1 - dt/2 (1 - dt/3 (...))); the first term left out is below 2^-26.
  Value small = number(1.0);
  for (int i = 8; i > 1; --i)
    small = fma(times(dt, number(-1.0 / i)), small, number(1.0));
  Value large = minus(number(1.0), exp(arith::NegFOp::create(b, loc, dt)));
  Value isSmall =
      arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT, dt, number(0.5));
  return select(isSmall, times(dt, small), large);
}

void SelectiveGrad::finish(Value first, Value offset, const Span &span,
                           Carried &sums) {
  for (int64_t i = 0; i < columnsPerThread(); ++i) {
    Values read = when(
        hasStep(first, i),
        [&] {
          Value at = place(columnStep(i), column);
          Values all = {get(dxs, at), get(drates, at), get(dss, at)};
          Value ofChunk = place(add(offset, columnStep(i)), column);
          llvm::append_range(all, get(xs, mul(ofChunk, 2), 2));
          if (in.z)
            all.push_back(get(outs, at));
          return all;
        },
        [&] { return Values(in.z ? 6 : 5, number(0.0)); });
    Value dx = read[0], drate = read[1], ds = read[2];
    Value dt = read[3], u = read[4], du = times(dx, dt);
    if (skip)
      du = fma(skip, ds, du);
    Value ddelta = fma(dx, u, times(drate, number(kLn2)));
    if (in.softplus)
      ddelta = times(ddelta, slopeOf(dt));
    if (sums.dd)
      sums.dd = fma(ds, u, sums.dd);
    if (sums.dbias)
      sums.dbias = plus(sums.dbias, ddelta);
    storeColumn(du, destinationOf(op.getDu()), first, i);
    storeColumn(ddelta, destinationOf(op.getDdelta()), first, i);
    if (!in.z)
      continue;
    Value s = read[5], z = span.z[i];
    if (skip)
      s = fma(skip, u, s);
    // silu'(z) = sigmoid + z sigmoid (1 - sigmoid)
    Value half = sigmoid(z);
    Value slope = fma(times(z, half), minus(number(1.0), half), half);
    storeColumn(times(times(span.dy[i], s), slope), destinationOf(op.getDz()),
                first, i);
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
    store(all, destinationOf(result), {partOfTime(), add(base, column)},
          isColumn);
  });
  barrier();
}

//===----------------------------------------------------------------------===//
// The block
//===----------------------------------------------------------------------===//

ThreadBuilder::Values SelectiveGrad::flat(const Carried &carried) {
  Values values(carried.g);
  llvm::append_range(values, carried.da);
  for (Value v : {carried.dd, carried.dbias})
    if (v)
      values.push_back(v);
  return values;
}

SelectiveGrad::Carried SelectiveGrad::unflat(ValueRange values) {
  Carried carried;
  carried.g = take(values, shape.perLane);
  carried.da = take(values, shape.perLane);
  if (op.getDd())
    carried.dd = take(values, 1)[0];
  if (op.getDdeltaBias())
    carried.dbias = take(values, 1)[0];
  return carried;
}

/// A span from the states before it. `whileWalking` emits what may be under way
/// meanwhile.
void SelectiveGrad::walkSpan(Value first, Value offset, ValueRange states,
                             ValueRange numbers, Carried &carried,
                             function_ref<void()> whileWalking) {
  Span span = putSpan(numbers, first);
  barrier();
  whileWalking();
  walkForward(first, offset, states);
  Values both(carried.g);
  llvm::append_range(both, carried.da);
  Values walked = walkBackward(first, offset, both);
  ValueRange rest(walked);
  carried.g = take(rest, shape.perLane);
  carried.da = take(rest, shape.perLane);
  barrier();
  finish(first, offset, span, carried);
  storeRowsOf(op.getDb(), first, 0);
  storeRowsOf(op.getDc(), first, 1);
}

/// A chunk whose inputs are in shared memory, `numbers` those of its last span.
void SelectiveGrad::walkChunk(Value first, ValueRange states,
                              ValueRange numbers, Carried &carried,
                              function_ref<void()> whileWalking) {
  Value spans = spansOf(first);
  if (grad.spans == 1)
    return walkSpan(first, index(0), states, numbers, carried, whileWalking);
  barrier();
  whileWalking();
  Values values = walkSpans(spans, states);
  llvm::append_range(values, numbers);
  llvm::append_range(values, flat(carried));
  Values last = loop(index(0), spans, values, [&](Value i, ValueRange values) {
    ValueRange h = take(values, shape.perLane);
    ValueRange now = take(values, numbersOfSpan());
    Carried c = unflat(values);
    Value number = sub(add(spans, -1), i), zero = index(0);
    Value offset = mul(number, shape.steps), begin = add(first, offset);
    Values ahead;
    auto loadAhead = [&] {
      ahead = when(
          below(zero, number),
          [&] { return loadSpan(sub(begin, index(shape.steps))); },
          [&] { return Values(numbersOfSpan(), this->number(0.0)); });
    };
    walkSpan(begin, offset, h, now, c, [&] {
      if (!fewRegisters())
        loadAhead();
    });
    Values next = when(
        below(zero, number), [&] { return kept(lines, add(number, -1)); },
        [&] { return Values(shape.perLane, this->number(0.0)); });
    if (fewRegisters())
      loadAhead();
    llvm::append_range(next, ahead);
    llvm::append_range(next, flat(c));
    return next;
  });
  carried =
      unflat(ValueRange(last).drop_front(shape.perLane + numbersOfSpan()));
}

void SelectiveGrad::walkTile(Value number) {
  openTile(div(tile, grad.blocks), number);
  loadConstants();
  Value end = lastChunk(), walkedChunks = add(end, 1);
  auto loadAll = [&](Value first) {
    Values numbers = loadInputs(first);
    Value lastSpan = add(first, mul(add(spansOf(first), -1), shape.steps));
    llvm::append_range(numbers, loadSpan(lastSpan));
    return numbers;
  };
  Values values = statesAtChunks();
  if (readsAhead())
    llvm::append_range(values, loadAll(mul(end, grad.chunk())));
  int64_t ahead = values.size();
  Carried carried;
  carried.g = Values(shape.perLane, this->number(0.0));
  if (op.getDfinalState())
    carried.g = loadStates(bufferOf(op.getDfinalState()), /*batched=*/true);
  carried.da = Values(shape.perLane, this->number(0.0));
  if (op.getDd())
    carried.dd = this->number(0.0);
  if (op.getDdeltaBias())
    carried.dbias = this->number(0.0);
  llvm::append_range(values, flat(carried));
  values =
      loop(index(0), walkedChunks, values, [&](Value i, ValueRange values) {
        Value chunk = sub(end, i);
        Value first = mul(chunk, grad.chunk()), zero = index(0);
        ValueRange states = take(values, shape.perLane);
        openChunk(chunk);
        Values now;
        if (!readsAhead())
          now = loadAll(first);
        ValueRange numbers =
            readsAhead() ? take(values, numbersOfInputs() + numbersOfSpan())
                         : ValueRange(now);
        Carried c = unflat(values);
        putInputs(take(numbers, numbersOfInputs()), first);
        // What the chunk before reads, and the states that it starts from:
        // where they are many, registers do not hold them over the walks.
        Values next;
        auto loadBefore = [&] {
          Values none(ahead, this->number(0.0));
          if (chunks() <= 1) {
            next = none;
            return;
          }
          next = when(
              below(zero, chunk),
              [&] {
                Value before = add(chunk, -1);
                Values values = loadStatesOf(before);
                if (readsAhead())
                  llvm::append_range(values,
                                     loadAll(mul(before, grad.chunk())));
                return values;
              },
              [&] { return none; });
        };
        walkChunk(first, states, numbers, c, [&] {
          if (!fewRegisters())
            loadBefore();
        });
        if (fewRegisters())
          loadBefore();
        llvm::append_range(next, flat(c));
        return next;
      });
  carried = unflat(ValueRange(values).drop_front(ahead));
  // Rows of the last span have been read.
  if (op.getDd() || op.getDdeltaBias())
    barrier();
  storeStates(carried.da, destinationOf(op.getDa()), partOfTime());
  if (op.getDinitialState())
    storeStates(carried.g, destinationOf(op.getDinitialState()), batch,
                stretch ? equal(stretch, 0) : Value());
  if (op.getDd())
    storeColumnSum(carried.dd, op.getDd());
  if (op.getDdeltaBias())
    storeColumnSum(carried.dbias, op.getDdeltaBias());
}

void SelectiveGrad::build() {
  openBlocks(grad.groups * grad.blocks);
  std::string name = shape.name();
  if (grad.spans > 1)
    name += "x" + std::to_string(grad.spans);
  kernel->setAttr(kKernelTile, b.getStringAttr(name));
  int64_t cells = shape.steps * shape.channels;
  int64_t line = shape.threads() * shape.perLane;
  xs = shared(2 * grad.chunk() * shape.channels);
  bs = shared(grad.chunk() * shape.padded);
  if (grad.spans > 1)
    lines = shared((grad.spans - 1) * line);
  dss = shared(cells);
  cs = shared(shape.steps * shape.padded);
  stack = shared(grad.linesOfStack() * line);
  dxs = shared(cells);
  drates = shared(cells);
  if (in.z)
    outs = shared(cells);
  if (resetIds)
    resets = shared(grad.chunk());
  Value first = mul(rem(tile, grad.blocks), grad.tilesOfBlock);
  if (grad.tilesOfBlock == 1)
    return walkTile(first);
  Value left = sub(index(shape.tilesPerGroup), first);
  Value count = arith::MinSIOp::create(b, loc, left, index(grad.tilesOfBlock));
  loop(index(0), count, {}, [&](Value i, ValueRange) {
    turn = i;
    walkTile(add(first, i));
    return Values();
  });
}

LogicalResult heddle::buildSelectiveScanGradThreads(SelectiveScanGradOp op,
                                                    func::FuncOp kernel,
                                                    const TileTarget &) {
  std::optional<int64_t> parts = op.getPartialSums();
  SelectiveGradPlan plan = selectiveGradPlan(op);
  auto scratch = op.getScratch()
                     ? cast<RankedTensorType>(op.getScratch().getType())
                     : RankedTensorType();
  bool hasScratch = scratch
                        ? scratch.getShape() == ArrayRef<int64_t>(plan.scratch)
                        : plan.scratch[0] == 0;
  if (!parts || *parts != plan.parts || !hasScratch)
    return op.emitOpError("expected partial_sums and scratch of a GPU; run "
                          "heddle-split-scans with matrix-units first");
  SelectiveOperands in = SelectiveOperands::of(op);
  SelectiveGradShape shape = selectiveGradShape(op);
  if (shape.perLane > 16)
    return op.emitOpError("expected at most 256 states to a channel on a GPU, "
                          "got ")
           << in.states << "; use --target=cpu";
  SelectiveGrad(op, kernel, in, shape).build();
  return success();
}
