//===- LinearScanThreads.cpp - linear recurrences on a GPU ----------------===//
//
// One pass over memory. A block has up to 32 channels, and its threads share
// the time of a chunk: each reads a few steps of one channel, composes them
// into one map state -> state, and the maps of the chunk are composed through
// shared memory (Blelloch, "Prefix Sums and Their Applications", 1990). Each
// thread then walks over its steps, which are still in registers, from the
// state it got. The walk backward of the gradient is the same with other maps.
//
//===----------------------------------------------------------------------===//

#include "ScanThreads.h"

using namespace mlir;
using namespace heddle;

namespace {
/// A real number, or the two parts of a complex one.
struct Pair {
  Value re, im; // im: null for a real one
};

class LinearThreads : public ScanThreads {
public:
  LinearThreads(func::FuncOp kernel, Location loc, RankedTensorType type,
                bool reverse, Value resetIds, bool complex)
      : ScanThreads(kernel, loc, type.getDimSize(1), reverse, resetIds),
        complex(complex), numBatches(type.getDimSize(0)),
        numChannels(type.getDimSize(2)) {}

  /// One step as it was read.
  struct Step {
    Value step;   // number in the walk
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
    function_ref<void(Step &)> read;
    function_ref<Pair(const Step &)> decay;
    function_ref<Pair(const Step &, Pair state)> next;
    /// The state after a step that no state comes before.
    function_ref<Pair(const Step &)> fresh;
    /// Sees each step with the state before it; returns what is carried beside
    /// the state.
    function_ref<Values(const Step &, Pair state, ValueRange)> visit;
  };

  void open(const TileTarget &target);
  /// Walks over all steps from `state` on; returns the last state and what is
  /// carried beside it.
  Values run(Pair state, ValueRange carried, const Walk &walk);
  /// A state of this channel, zero where there is none.
  Value loadState(Value state) {
    return state ? loadOnce(bufferOf(state), {batch, channel}) : number(0.0);
  }
  Value loadChannel(Value vector) {
    return loadOnce(bufferOf(vector), channel);
  }
  /// Stores a number of the channel, which one thread does, into a result.
  void storeState(Value number, Value result) {
    if (result)
      store(number, destinationOf(result), {batch, channel},
            both(isChannel, equal(rank, 0)));
  }
  /// The sum of a number over the threads of a channel, in those with rank 0.
  Value sumOverRanks(Value x);

  //===--- complex numbers ------------------------------------------------===//
  Pair pair(Value re, Value im, function_ref<Value(Value)> of) {
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
    Value minus = arith::NegFOp::create(b, loc, x.im);
    return {fma(minus, y.im, sum(x.re, y.re, z.re)),
            fma(x.im, y.re, sum(x.re, y.im, z.im))};
  }
  Pair conjugate(Pair x) {
    return {x.re, complex ? arith::NegFOp::create(b, loc, x.im).getResult()
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
  Value loadOnce(Value buffer, ValueRange at);

  /// A power of a decay, to about 48 bits: the same factor comes again with
  /// each chunk, and so would its error.
  struct Power {
    Pair high, low;
  };
  Power power(Pair decay, int64_t exponent);
  SmallVector<Step> readSteps(Value first, bool ragged, const Walk &walk);
  Pair step(const Walk &walk, const Step &s, Pair state);
  Pair compose(Value buffer, Value chunk, const Walk &walk,
               ArrayRef<Step> steps, Pair state, Pair &mine);

  Power whole, rest; // of all steps of a thread; of those of the last one
};
} // namespace

void LinearThreads::open(const TileTarget &target) {
  channels = std::min<int64_t>(
      32, llvm::PowerOf2Ceil(std::max<int64_t>(1, numChannels)));
  int64_t tiles = llvm::divideCeil(numChannels, channels);
  steps = std::clamp<int64_t>(length, 1, complex ? 4 : 8);
  // Loads in flight are what hides memory, so that a device that the channels
  // do not fill gets more threads to each.
  int64_t threads = numBatches * tiles < 2 * target.threads ? 512 : 256;
  int64_t wanted = std::max<int64_t>(1, llvm::divideCeil(length, steps));
  ranks = std::min<int64_t>(llvm::PowerOf2Ceil(wanted), threads / channels);
  openGrid(std::max<int64_t>(1, numBatches * tiles), channels * ranks);
  kernel->setAttr(kKernelTile,
                  b.getStringAttr("c" + Twine(channels) + "_t" + Twine(ranks) +
                                  "x" + Twine(steps)));
  batch = div(block, tiles);
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
        s.valid = both(isChannel, below(s.step, length));
      walk.read(s);
      for (Value *v : parts(s))
        if (*v)
          values.push_back(*v);
    }
    return values;
  };
  Value whole = isChannel;
  if (ragged)
    whole = both(whole, below(add(first, steps - 1), length));
  Values values = when(
      whole, [&] { return readAll(false); }, [&] { return readAll(true); });
  const Value *next = values.begin();
  for (auto [i, s] : llvm::enumerate(all)) {
    for (Value *v : parts(s))
      if (*v)
        *v = *next++;
    s.step = add(first, i);
    s.exists = ragged ? below(s.step, length) : Value();
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
  Pair a{wide(decay.re), wide(decay.im)}, product = a;
  for (int64_t i = 1; i < exponent; ++i)
    product = multiply(product, a);
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
      if (last != 0)
        next = selectPair(below(add(first, all - 1), length), next, by(rest));
      if (length % (ranks * all) != 0) {
        // Steps that do not exist pass the state on.
        Value none = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge,
                                           first, index(length));
        next = selectPair(none, state, next);
      }
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
  int64_t count = llvm::divideCeil(length, chunk);
  bool ragged = length % chunk != 0;
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
  return loop(index(0), index(count), start, [&](Value i, ValueRange values) {
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

//===----------------------------------------------------------------------===//
// Forward
//===----------------------------------------------------------------------===//

LogicalResult heddle::buildLinearScanThreads(LinearScanOp op,
                                             func::FuncOp kernel,
                                             const TileTarget &target) {
  using Step = LinearThreads::Step;
  bool complex = op.isComplex(), fixed = op.hasConstantDecay();
  LinearThreads t(kernel, op.getLoc(), op.getB().getType(), op.getReverse(),
                  bufferOf(op.getResetIds()), complex);
  t.open(target);
  Pair state = t.pair(op.getInitialState(), op.getInitialStateImag(),
                      [&](Value v) { return t.loadState(v); });
  Pair fixedDecay;
  if (fixed)
    fixedDecay = t.pair(op.getA(), op.getAImag(),
                        [&](Value v) { return t.loadChannel(v); });
  auto read = [&](Step &s) {
    Value at = t.position(s.step);
    auto here = [&](Value v) {
      return t.load(bufferOf(v), {t.batch, at, t.channel}, s.valid);
    };
    if (!fixed)
      s.decay = t.pair(op.getA(), op.getAImag(), here);
    s.input = t.pair(op.getB(), op.getBImag(), here);
    s.resets = t.startsSegment(s.step, s.valid);
  };
  auto decay = [&](const Step &s) { return fixed ? fixedDecay : s.decay; };
  bool hasState = static_cast<bool>(op.getInitialState());
  auto next = [&](const Step &s, Pair h) {
    Pair after = t.multiplyAdd(decay(s), h, s.input);
    Value starts = s.resets;
    if (!hasState) {
      Value isFirst = t.equal(s.step, 0);
      starts = starts ? t.either(starts, isFirst) : isFirst;
    }
    // No product: a decay may be infinite, its state is zero.
    return starts ? t.selectPair(starts, s.input, after) : after;
  };
  auto fresh = [](const Step &s) { return s.input; };
  auto visit = [&](const Step &s, Pair h, ValueRange) -> LinearThreads::Values {
    Pair after = next(s, h);
    ThreadBuilder::Values at = {t.batch, t.position(s.step), t.channel};
    t.when(s.valid, [&] {
      t.store(after.re, destinationOf(op.getH()), at);
      if (complex)
        t.store(after.im, destinationOf(op.getHImag()), at);
    });
    return {};
  };
  LinearThreads::Values last =
      t.run(state, {}, {fixedDecay, read, decay, next, fresh, visit});
  t.storeState(last[0], op.getFinalState());
  if (complex)
    t.storeState(last[1], op.getFinalStateImag());
  return success();
}

//===----------------------------------------------------------------------===//
// The gradient
//===----------------------------------------------------------------------===//

LogicalResult heddle::buildLinearScanGradThreads(LinearScanGradOp op,
                                                 func::FuncOp kernel,
                                                 const TileTarget &target) {
  using Step = LinearThreads::Step;
  bool complex = op.isComplex(), fixed = op.hasConstantDecay();
  if (fixed && !op.getPartialSums())
    return op.emitOpError(
        "expected partial_sums; run heddle-split-scans first");
  // Steps are numbered in the order of the walk backward.
  LinearThreads t(kernel, op.getLoc(), op.getH().getType(), !op.getReverse(),
                  bufferOf(op.getResetIds()), complex);
  t.open(target);
  auto stateOf = [&](Value v) { return t.loadState(v); };
  Pair initial =
      t.pair(op.getInitialState(), op.getInitialStateImag(), stateOf);
  Pair cotangent =
      t.pair(op.getDfinalState(), op.getDfinalStateImag(), stateOf);
  Pair fixedDecay;
  if (fixed)
    fixedDecay = t.conjugate(t.pair(op.getA(), op.getAImag(),
                                    [&](Value v) { return t.loadChannel(v); }));
  auto read = [&](Step &s) {
    Value at = t.position(s.step);
    auto here = [&](Value v) {
      return t.load(bufferOf(v), {t.batch, at, t.channel}, s.valid);
    };
    if (!fixed)
      s.decay = t.pair(op.getA(), op.getAImag(), here);
    s.input = t.pair(op.getDh(), op.getDhImag(), here);
    // The last step of this walk starts from the initial state.
    Value isFirst = t.equal(s.step, t.length - 1);
    Value previous = t.position(arith::MinSIOp::create(
        t.b, t.loc, t.add(s.step, 1), t.index(t.length - 1)));
    auto earlier = [&](Value v) {
      return t.load(bufferOf(v), {t.batch, previous, t.channel}, s.valid);
    };
    s.before = t.selectPair(isFirst, initial,
                            t.pair(op.getH(), op.getHImag(), earlier));
    s.resets = t.startsSegment(s.step, s.valid, /*backward=*/true);
  };
  auto decay = [&](const Step &s) {
    return fixed ? fixedDecay : t.conjugate(s.decay);
  };
  auto next = [&](const Step &s, Pair g) {
    return t.zeroWhere(s.resets, t.multiply(decay(s), t.plusPair(g, s.input)));
  };
  auto fresh = [&](const Step &s) { return next(s, t.constant(0.0)); };
  auto visit = [&](const Step &s, Pair g,
                   ValueRange sums) -> LinearThreads::Values {
    Pair db = t.plusPair(g, s.input), before = t.conjugate(s.before);
    ThreadBuilder::Values at = {t.batch, t.position(s.step), t.channel};
    LinearThreads::Values carried;
    Pair da;
    if (fixed) {
      Pair sum = t.take(sums);
      Pair more = t.zeroWhere(s.resets, t.multiply(db, before));
      more = t.plusPair(sum, more);
      t.append(carried, s.valid ? t.selectPair(s.valid, more, sum) : more);
    } else {
      da = t.zeroWhere(s.resets, t.multiply(db, before));
    }
    t.when(s.valid, [&] {
      t.store(db.re, destinationOf(op.getDb()), at);
      if (complex)
        t.store(db.im, destinationOf(op.getDbImag()), at);
      if (fixed)
        return;
      t.store(da.re, destinationOf(op.getDa()), at);
      if (complex)
        t.store(da.im, destinationOf(op.getDaImag()), at);
    });
    return carried;
  };
  LinearThreads::Values sums;
  if (fixed)
    t.append(sums, t.constant(0.0));
  LinearThreads::Values last =
      t.run(cotangent, sums, {fixedDecay, read, decay, next, fresh, visit});
  ValueRange rest(last);
  Pair g = t.take(rest);
  t.storeState(g.re, op.getDinitialState());
  if (complex)
    t.storeState(g.im, op.getDinitialStateImag());
  if (!fixed)
    return success();
  Pair da = t.take(rest);
  t.storeState(t.sumOverRanks(da.re), op.getDa());
  if (complex)
    t.storeState(t.sumOverRanks(da.im), op.getDaImag());
  return success();
}
