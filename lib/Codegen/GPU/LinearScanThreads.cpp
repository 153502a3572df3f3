//===- LinearScanThreads.cpp - linear recurrences on a GPU ----------------===//
//
// One pass over memory each: the scan, its gradient, and the maps of chunks.
//
//===----------------------------------------------------------------------===//

#include "LinearThreads.h"

#include <limits>

using namespace mlir;
using namespace heddle;

//===----------------------------------------------------------------------===//
// Forward
//===----------------------------------------------------------------------===//

LogicalResult heddle::buildLinearScanThreads(LinearScanOp op,
                                             func::FuncOp kernel,
                                             const TileTarget &target) {
  using Step = LinearThreads::Step;
  bool complex = op.isComplex(), fixed = op.hasConstantDecay();
  LinearThreads t(kernel, op.getLoc(), op.getB().getType(), op.getReverse(),
                  bufferOf(op.getResetIds()), complex, op.numChunks());
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
    if (!op.getNanResets())
      return;
    Value starts = t.isNan(s.decay.re);
    s.decay = t.zeroWhere(starts, s.decay);
    s.resets = s.resets ? t.either(s.resets, starts) : starts;
  };
  auto decay = [&](const Step &s) { return fixed ? fixedDecay : s.decay; };
  bool hasState = op.getInitialState() && !op.getFresh();
  auto next = [&](const Step &s, Pair h) {
    Pair after = t.multiplyAdd(decay(s), h, s.input);
    Value starts = s.resets;
    if (!hasState) {
      Value isFirst = t.equal(t.inTime(s.step), 0);
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
                  bufferOf(op.getResetIds()), complex, op.numChunks());
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
    Value isFirst = t.equal(t.inTime(s.step), t.length - 1);
    Value previous = t.neighbor(s.step, 1);
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
  Value part = t.partOfTime();
  t.storeChannel(t.sumOverRanks(da.re), op.getDa(), part);
  if (complex)
    t.storeChannel(t.sumOverRanks(da.im), op.getDaImag(), part);
  return success();
}

//===----------------------------------------------------------------------===//
// Maps of stretches
//===----------------------------------------------------------------------===//

LogicalResult heddle::buildLinearScanMapsThreads(LinearScanMapsOp op,
                                                 func::FuncOp kernel,
                                                 const TileTarget &target) {
  using Step = LinearThreads::Step;
  using Values = ThreadBuilder::Values;
  bool complex = op.isComplex(), fixed = op.hasConstantDecay();
  bool gradient = op.getGradient();
  // What the last stretch makes of its state enters no other.
  LinearThreads t(kernel, op.getLoc(), op.getB().getType(),
                  op.getReverse() != gradient, bufferOf(op.getResetIds()),
                  complex, op.numChunks(), op.numChunks() - 1);
  t.open(target);
  auto conjugated = [&](Pair x) { return gradient ? t.conjugate(x) : x; };
  Pair fixedDecay;
  if (fixed)
    fixedDecay = conjugated(t.pair(op.getA(), op.getAImag(), [&](Value v) {
      return t.loadChannel(v);
    }));
  auto read = [&](Step &s) {
    Value at = t.position(s.step);
    auto here = [&](Value v) {
      return t.load(bufferOf(v), {t.batch, at, t.channel}, s.valid);
    };
    if (!fixed)
      s.decay = t.pair(op.getA(), op.getAImag(), here);
    s.input = t.pair(op.getB(), op.getBImag(), here);
    s.resets = t.startsSegment(s.step, s.valid, /*backward=*/gradient);
  };
  auto decay = [&](const Step &s) {
    return fixed ? fixedDecay : conjugated(s.decay);
  };
  auto next = [&](const Step &s, Pair h) {
    if (gradient)
      return t.zeroWhere(s.resets,
                         t.multiply(decay(s), t.plusPair(h, s.input)));
    Pair after = t.multiplyAdd(decay(s), h, s.input);
    Value starts = t.equal(s.step, 0);
    if (s.resets)
      starts = t.either(starts, s.resets);
    return t.selectPair(starts, s.input, after);
  };
  auto fresh = [&](const Step &s) {
    return gradient ? next(s, t.constant(0.0)) : s.input;
  };
  // Each thread multiplies the decays of its own steps, in any order.
  auto times = [&](Pair x, Pair y) { return t.limit(t.multiply(x, y)); };
  auto visit = [&](const Step &s, Pair, ValueRange carried) -> Values {
    Values result;
    if (!fixed) {
      Pair before = t.take(carried), after = times(decay(s), before);
      t.append(result,
               s.exists ? t.selectPair(s.exists, after, before) : after);
    }
    if (s.resets)
      result.push_back(t.select(s.resets, t.number(1.0), carried[0]));
    return result;
  };
  Values carried;
  if (!fixed)
    t.append(carried, t.constant(1.0));
  if (op.getResetIds())
    carried.push_back(t.number(0.0));
  Values last = t.run(t.constant(0.0), carried,
                      {fixedDecay, read, decay, next, fresh, visit});
  ValueRange values(last);
  Pair state = t.take(values);
  Values folded = t.foldOverRanks(
      llvm::to_vector_of<Value>(values), [&](ValueRange x, ValueRange y) {
        Values both;
        if (!fixed) {
          Pair first = t.take(x);
          t.append(both, times(first, t.take(y)));
        }
        if (!x.empty())
          both.push_back(t.plus(x[0], y[0]));
        return both;
      });
  values = folded;
  Pair product = fixed ? t.overStretch(fixedDecay) : t.take(values);
  if (!values.empty())
    product.re = t.select(t.isZero(values[0]), product.re,
                          t.number(std::numeric_limits<double>::quiet_NaN()));
  auto store = [&](Pair map, Value re, Value im, Value entry, Value where) {
    t.storeChannel(map.re, re, {t.batch, entry}, where);
    if (complex)
      t.storeChannel(map.im, im, {t.batch, entry}, where);
  };
  Value entry = t.slot(t.add(t.stretch, 1)), first = t.equal(t.stretch, 0);
  Value start = t.slot(t.index(0));
  store(product, op.getDecay(), op.getDecayImag(), entry, {});
  store(state, op.getState(), op.getStateImag(), entry, {});
  // The identity enters the first one.
  store(t.constant(1.0), op.getDecay(), op.getDecayImag(), start, first);
  store(t.constant(0.0), op.getState(), op.getStateImag(), start, first);
  return success();
}
