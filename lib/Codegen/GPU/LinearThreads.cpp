//===- LinearThreads.cpp - walks of linear recurrences --------------------===//

#include "LinearThreads.h"

#include <limits>

using namespace mlir;
using namespace heddle;

void LinearThreads::open(const TileTarget &target) {
  channels = std::min<int64_t>(
      32, llvm::PowerOf2Ceil(std::max<int64_t>(1, numChannels)));
  int64_t tiles = linearScanTiles(numChannels);
  steps = std::clamp<int64_t>(span, 1, complex ? 4 : 8);
  // Loads in flight are what hides memory, so that a device that the channels
  // do not fill gets more threads to each.
  int64_t blocks = numBatches * walked * tiles;
  int64_t threads = blocks < 2 * target.threads ? 512 : 256;
  int64_t wanted = std::max<int64_t>(1, llvm::divideCeil(span, steps));
  ranks = std::min<int64_t>(llvm::PowerOf2Ceil(wanted), threads / channels);
  openGrid(std::max<int64_t>(1, blocks), channels * ranks);
  kernel->setAttr(kKernelTile,
                  b.getStringAttr("c" + Twine(channels) + "_t" + Twine(ranks) +
                                  "x" + Twine(steps)));
  openStretch(div(block, tiles));
  lane = rem(thread, channels);
  rank = div(thread, channels);
  channel = add(mul(rem(block, tiles), channels), lane);
  if (numChannels % channels != 0)
    isChannel = below(channel, numChannels);
}

/// A number of the channel, which one thread reads for all.
Value LinearThreads::loadOnce(Value buffer, ValueRange at) {
  if (ranks == 1)
    return load(buffer, at, isChannel);
  Value all = shared(channels);
  when(equal(rank, 0), [&] { put(load(buffer, at, isChannel), all, lane); });
  barrier();
  return get(all, lane);
}

/// A thread's steps from `first` on. Threads whose steps all exist read them
/// side by side, without a branch between.
SmallVector<LinearThreads::Step>
LinearThreads::readSteps(Value first, bool ragged, const Walk &walk) {
  SmallVector<Step> all(steps);
  auto parts = [](Step &s) {
    SmallVector<Value *> places;
    for (Pair *p : {&s.decay, &s.input, &s.before})
      for (Value *v : {&p->re, &p->im})
        places.push_back(v);
    places.push_back(&s.resets);
    return places;
  };
  auto readAll = [&](bool guarded) {
    Values values;
    for (auto [i, s] : llvm::enumerate(all)) {
      s = Step();
      s.step = add(first, i);
      if (guarded)
        s.valid = both(isChannel, isStep(s.step));
      walk.read(s);
      for (Value *v : parts(s))
        if (*v)
          values.push_back(*v);
    }
    return values;
  };
  Value whole = isChannel;
  if (ragged)
    whole = both(whole, isStep(add(first, steps - 1)));
  Values values = when(
      whole, [&] { return readAll(false); }, [&] { return readAll(true); });
  const Value *next = values.begin();
  for (auto [i, s] : llvm::enumerate(all)) {
    for (Value *v : parts(s))
      if (*v)
        *v = *next++;
    s.step = add(first, i);
    s.exists = ragged ? isStep(s.step) : Value();
    s.valid = both(isChannel, s.exists);
  }
  return all;
}

/// The state after a step; one that does not exist passes the state on.
Pair LinearThreads::step(const Walk &walk, const Step &s, Pair state) {
  Pair after = walk.next(s, state);
  return s.exists ? selectPair(s.exists, after, state) : after;
}

LinearThreads::Power LinearThreads::power(Pair decay, int64_t exponent) {
  Type f32 = b.getF32Type(), f64 = b.getF64Type();
  auto wide = [&](Value v) -> Value {
    return v ? arith::ExtFOp::create(b, loc, f64, v).getResult() : Value();
  };
  auto narrow = [&](Value v) -> Value {
    return v ? arith::TruncFOp::create(b, loc, f32, v).getResult() : Value();
  };
  auto rest = [&](Value exact, Value high) -> Value {
    return exact ? narrow(minus(exact, wide(high))) : Value();
  };
  Pair square{wide(decay.re), wide(decay.im)}, product;
  for (int64_t rest = exponent; rest > 0; rest /= 2) {
    if (rest % 2 != 0)
      product = product.re ? multiply(product, square) : square;
    if (rest > 1)
      square = multiply(square, square);
  }
  Power power;
  power.high = {narrow(product.re), narrow(product.im)};
  power.low = {rest(product.re, power.high.re),
               rest(product.im, power.high.im)};
  return power;
}

/// Composes the maps of all threads of a channel, state -> a * state + v, or v
/// alone where a segment starts. `mine` becomes the state that this thread's
/// steps start from; returns that after the chunk.
Pair LinearThreads::compose(Value buffer, Value chunk, const Walk &walk,
                            ArrayRef<Step> steps, Pair state, Pair &mine) {
  bool fixed = static_cast<bool>(walk.fixed.re);
  Pair product = constant(1.0), sum = constant(0.0);
  Value cut;
  for (auto [i, s] : llvm::enumerate(steps)) {
    if (i > 0)
      sum = step(walk, s, sum);
    else
      sum = s.exists ? selectPair(s.exists, walk.fresh(s), sum) : walk.fresh(s);
    if (s.resets)
      cut = cut ? arith::OrIOp::create(b, loc, cut, s.resets).getResult()
                : s.resets;
    if (fixed)
      continue;
    Pair next = zeroWhere(s.resets, multiply(walk.decay(s), product));
    product = s.exists ? selectPair(s.exists, next, product) : next;
  }
  // An array per number of a map: neighbours are neighbouring threads.
  Values numbers;
  append(numbers, sum);
  if (!fixed)
    append(numbers, product);
  if (cut)
    numbers.push_back(select(cut, number(1.0), number(0.0)));
  int64_t size = channels * ranks, count = numbers.size();
  // Two buffers in turn: one barrier a chunk.
  Value offset = mul(rem(chunk, 2), count * size);
  for (auto [part, v] : llvm::enumerate(numbers))
    put(v, buffer, add(add(offset, part * size), thread));
  barrier();
  auto pass = [&](Value r) {
    mine = selectPair(
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, rank, r), state,
        mine);
    Values read;
    Value at = add(add(offset, lane), mul(r, channels));
    for (int64_t part = 0; part < count; ++part)
      read.push_back(get(buffer, add(at, part * size)));
    ValueRange values(read);
    Pair v = take(values), next;
    // A product of large decays may be infinite where a state of zero has to
    // stay out of it.
    Value skip = isZero(state.re);
    if (complex)
      skip = both(skip, isZero(state.im));
    if (!fixed) {
      next = multiplyAdd(take(values), state, v);
    } else {
      auto by = [&](const Power &a) {
        return multiplyAdd(a.high, state, multiplyAdd(a.low, state, v));
      };
      next = by(whole);
      int64_t all = this->steps, last = length % all;
      Value first = mul(add(mul(chunk, ranks), r), all);
      // Stretches have whole runs of steps but for the last one.
      if (last != 0)
        next = selectPair(isStep(add(first, all - 1)), next, by(rest));
      // Steps that do not exist pass the state on.
      if (isRagged(ranks * all))
        next = selectPair(isStep(first), next, state);
    }
    if (cut)
      skip =
          either(skip, arith::CmpFOp::create(b, loc, arith::CmpFPredicate::ONE,
                                             values[0], number(0.0)));
    state = selectPair(skip, v, next);
  };
  // Reads of a few maps are under way together.
  int64_t unrolled = std::min<int64_t>(ranks, 8);
  Values chain;
  append(chain, state);
  append(chain, state);
  chain = loop(index(0), index(ranks / unrolled), chain,
               [&](Value i, ValueRange values) {
                 state = take(values);
                 mine = take(values);
                 for (int64_t r = 0; r < unrolled; ++r)
                   pass(add(mul(i, unrolled), r));
                 Values next;
                 append(next, state);
                 append(next, mine);
                 return next;
               });
  ValueRange values(chain);
  state = take(values);
  mine = take(values);
  return state;
}

ThreadBuilder::Values LinearThreads::run(Pair state, ValueRange carried,
                                         const Walk &walk) {
  int64_t chunk = ranks * steps;
  int64_t chunks = llvm::divideCeil(span, chunk);
  bool ragged = isRagged(chunk);
  Value buffer;
  if (ranks > 1) {
    int64_t numbers = (complex ? 2 : 1) * (walk.fixed.re ? 1 : 2);
    numbers += resetIds ? 1 : 0;
    buffer = shared(2 * numbers * channels * ranks);
  }
  if (ranks > 1 && walk.fixed.re) {
    whole = power(walk.fixed, steps);
    rest = power(walk.fixed, std::max<int64_t>(1, length % steps));
  }
  Values start;
  append(start, state);
  llvm::append_range(start, carried);
  return loop(index(0), index(chunks), start, [&](Value i, ValueRange values) {
    Pair before = take(values);
    Value first = add(mul(i, chunk), mul(rank, steps));
    SmallVector<Step> all = readSteps(first, ragged, walk);
    Pair mine = before, after = before;
    if (ranks > 1)
      after = compose(buffer, i, walk, all, before, mine);
    Values more = llvm::to_vector_of<Value>(values);
    for (const Step &s : all) {
      more = walk.visit(s, mine, more);
      mine = step(walk, s, mine);
    }
    if (ranks == 1)
      after = mine;
    Values result;
    append(result, after);
    llvm::append_range(result, more);
    return result;
  });
}

Value LinearThreads::sumOverRanks(Value x) {
  if (ranks == 1)
    return x;
  Value buffer = shared(channels * ranks);
  put(x, buffer, thread);
  barrier();
  Value sum = get(buffer, lane);
  for (int64_t r = 1; r < ranks; ++r)
    sum = plus(sum, get(buffer, add(lane, r * channels)));
  return sum;
}

ThreadBuilder::Values LinearThreads::foldOverRanks(
    Values x, function_ref<Values(ValueRange, ValueRange)> combine) {
  if (ranks == 1)
    return x;
  int64_t size = channels * ranks;
  Value buffer = shared(x.size() * size);
  auto read = [&](Value at) {
    Values values;
    for (size_t i = 0; i < x.size(); ++i)
      values.push_back(get(buffer, add(at, i * size)));
    return values;
  };
  auto write = [&](ValueRange values) {
    for (auto [i, v] : llvm::enumerate(values))
      put(v, buffer, add(thread, i * size));
  };
  write(x);
  for (int64_t half = ranks / 2; half > 0; half /= 2) {
    barrier();
    when(below(rank, half), [&] {
      Values mine = read(thread);
      write(combine(mine, read(add(thread, half * channels))));
    });
  }
  // The thread that wrote last reads.
  return read(thread);
}

Pair LinearThreads::limit(Pair x) {
  Value most = number(std::numeric_limits<float>::max());
  Value least = number(-std::numeric_limits<float>::max());
  auto of = [&](Value v) -> Value {
    if (!v)
      return v;
    return arith::MinNumFOp::create(
        b, loc, arith::MaxNumFOp::create(b, loc, v, least), most);
  };
  return {of(x.re), of(x.im)};
}
