//===- LinearScanTile.cpp - tile programs of linear recurrences -----------===//
//
// One pass over memory: a block walks over time with the states of a long run
// of channels on chip.
//
//===----------------------------------------------------------------------===//

#include "ScanBuilder.h"

#include "heddle/Codegen/Tile/KernelBody.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace heddle;

/// Channels to a block of a linear scan: long runs of memory, as long as the
/// grid feeds the workers. States and inputs of a step stay in the first cache.
static int64_t linearRows(int64_t batch, int64_t channels,
                          const TileTarget &target) {
  int64_t rows = 1024, wanted = 2 * target.threads;
  auto blocks = [&] {
    return batch * static_cast<int64_t>(llvm::divideCeil(channels, rows));
  };
  while (rows > target.lanes && (rows / 2 >= channels || blocks() < wanted))
    rows /= 2;
  return std::max(rows, target.lanes);
}

/// Opens the grid of a scan over `type` (B, L, D), and leaves the builder in
/// it.
static void openGrid(ScanBuilder &s, RankedTensorType type,
                     const TileTarget &target) {
  int64_t batch = type.getDimSize(0), channels = type.getDimSize(2);
  int64_t size = linearRows(batch, channels, target);
  SmallVector<OpFoldResult> grid = {
      s.b.getIndexAttr(batch),
      s.b.getIndexAttr(llvm::divideCeil(channels, size))};
  auto forall =
      scf::ForallOp::create(s.b, s.loc, grid, ValueRange{}, std::nullopt);
  s.b.setInsertionPoint(forall.getTerminator());
  s.batch = forall.getInductionVar(0);
  s.rows = AxisRange::tile(s.t.mulAdd(forall.getInductionVar(1), size), size,
                           channels);
}

/// The states in `state` (null: zero).
static Value statesOf(ScanBuilder &s, Value state) {
  Value buffer = bufferOf(state);
  return buffer ? s.channels(buffer)
                : s.t.fill({s.rows.size}, s.b.getF32Type(), 0.0);
}

/// Stores values of a step, or of all steps without a position, in the type of
/// the destination.
static void store(ScanBuilder &s, Value tile, Value to, Value at) {
  Value buffer = destinationOf(to);
  Type element = cast<MemRefType>(buffer.getType()).getElementType();
  if (!element.isF32())
    tile = s.overChannels(
        {tile}, [](Scalars &, ValueRange v) { return v[0]; }, element);
  s.storeChannels(tile, buffer, at);
}

LogicalResult heddle::buildLinearScan(LinearScanOp op, const TileTarget &target,
                                      OpBuilder &b) {
  auto type = op.getB().getType();
  ScanBuilder s(b, op.getLoc(), type.getDimSize(1), op.getReverse(),
                bufferOf(op.getResetIds()));
  OpBuilder::InsertionGuard guard(b);
  openGrid(s, type, target);
  bool complex = op.isComplex(), constant = op.hasConstantDecay();
  SmallVector<Value> carried = {statesOf(s, op.getInitialState())};
  if (complex)
    carried.push_back(statesOf(s, op.getInitialStateImag()));
  Value a = bufferOf(op.getA()), aImag = bufferOf(op.getAImag());
  Value decay, decayImag;
  if (constant) {
    decay = s.channels(a);
    if (complex)
      decayImag = s.channels(aImag);
  }
  SmallVector<Value> last = s.loop(
      s.t.index(0), s.t.index(s.length), carried,
      [&](Value step, ValueRange h) -> SmallVector<Value> {
        Value at = s.position(step);
        // No product: a decay may be infinite, its state is zero.
        Value starts =
            s.startsScan(at, s.startsSegment(at), bool(op.getInitialState()));
        auto choose = [&](Scalars &e, Value input, Value sum) -> Value {
          return starts
                     ? arith::SelectOp::create(e.b, e.loc, starts, input, sum)
                           .getResult()
                     : sum;
        };
        Value ar = constant ? decay : s.channels(a, at);
        Value br = s.channels(bufferOf(op.getB()), at);
        if (!complex) {
          Value next =
              s.overChannels({h[0], ar, br}, [&](Scalars &e, ValueRange v) {
                return choose(e, v[2], e.add(v[2], e.mul(v[1], v[0])));
              });
          store(s, next, op.getH(), at);
          return {next};
        }
        Value ai = constant ? decayImag : s.channels(aImag, at);
        Value bi = s.channels(bufferOf(op.getBImag()), at);
        // (ar + i ai) (hr + i hi) + br + i bi
        Value re = s.overChannels(
            {h[0], h[1], ar, ai, br}, [&](Scalars &e, ValueRange v) {
              return choose(
                  e, v[4],
                  e.add(e.sub(v[4], e.mul(v[3], v[1])), e.mul(v[2], v[0])));
            });
        Value im = s.overChannels(
            {h[0], h[1], ar, ai, bi}, [&](Scalars &e, ValueRange v) {
              return choose(
                  e, v[4],
                  e.add(e.add(v[4], e.mul(v[3], v[0])), e.mul(v[2], v[1])));
            });
        store(s, re, op.getH(), at);
        store(s, im, op.getHImag(), at);
        return {re, im};
      });
  if (op.getFinalState())
    s.storeChannels(last[0], destinationOf(op.getFinalState()));
  if (op.getFinalStateImag())
    s.storeChannels(last[1], destinationOf(op.getFinalStateImag()));
  return success();
}

//===----------------------------------------------------------------------===//
// The gradient
//===----------------------------------------------------------------------===//

namespace {
/// A real tile or the two parts of a complex one.
struct Pair {
  Value re, im;
};
} // namespace

LogicalResult heddle::buildLinearScanGrad(LinearScanGradOp op,
                                          const TileTarget &target,
                                          OpBuilder &b) {
  bool complex = op.isComplex(), constant = op.hasConstantDecay();
  if (constant && !op.getPartialSums())
    return op.emitOpError(
        "expected partial_sums; run heddle-split-scans first");
  auto type = op.getH().getType();
  ScanBuilder s(b, op.getLoc(), type.getDimSize(1), op.getReverse(),
                bufferOf(op.getResetIds()));
  OpBuilder::InsertionGuard guard(b);
  openGrid(s, type, target);

  auto pairOf = [&](Value re, Value im, auto make) -> Pair {
    return {make(re), complex ? make(im) : Value()};
  };
  auto states = [&](Value v) { return statesOf(s, v); };
  Pair initial = pairOf(op.getInitialState(), op.getInitialStateImag(), states);
  Pair g = pairOf(op.getDfinalState(), op.getDfinalStateImag(), states);
  Pair decay;
  if (constant)
    decay = pairOf(op.getA(), op.getAImag(),
                   [&](Value v) { return s.channels(bufferOf(v)); });
  // Carried are db of the step that the walk comes from, and its decay, so that
  // their product and the cotangent are one multiply-add: where a decay is near
  // one, products that are rounded alone drift. Then the sums over time. The
  // decay is not read again, as da may lie over it.
  SmallVector<Value> carried = {g.re};
  if (complex)
    carried.push_back(g.im);
  for (int part = 0; part < (complex ? 2 : 1); ++part)
    carried.push_back(s.t.fill({s.rows.size}, b.getF32Type(), 0.0));

  // x conj(y) and, with the parts of x exchanged, its imaginary part.
  auto real = [&](Scalars &e, Value xr, Value xi, Value yr, Value yi) {
    return complex ? e.add(e.mul(xr, yr), e.mul(xi, yi)) : e.mul(xr, yr);
  };
  auto imag = [&](Scalars &e, Value xr, Value xi, Value yr, Value yi) {
    return e.sub(e.mul(xi, yr), e.mul(xr, yi));
  };
  auto inputs = [&](Pair x, Pair y, ArrayRef<Value> more = {}) {
    SmallVector<Value> all = {x.re, y.re};
    if (complex)
      all.append({x.im, y.im});
    all.append(more.begin(), more.end());
    return all;
  };
  auto part = [&](ValueRange v, unsigned i) {
    return complex ? v[i] : Value();
  };

  SmallVector<Value> last = s.loop(
      s.t.index(0), s.t.index(s.length), carried,
      [&](Value i, ValueRange values) -> SmallVector<Value> {
        Value step =
            arith::SubIOp::create(b, s.loc, s.t.index(s.length - 1), i);
        Value at = s.position(step), resets = s.startsSegment(at);
        Value isLast = arith::CmpIOp::create(b, s.loc, arith::CmpIPredicate::eq,
                                             i, s.t.index(0));
        Value resetsLater = s.startsSegment(s.position(arith::MinSIOp::create(
            b, s.loc, s.t.mulAdd(step, 1, 1), s.t.index(s.length - 1))));
        // The first step reads a place that it does not use.
        Value isFirst = arith::CmpIOp::create(
            b, s.loc, arith::CmpIPredicate::eq, step, s.t.index(0));
        Value previous = s.position(arith::MaxSIOp::create(
            b, s.loc, s.t.mulAdd(step, 1, -1), s.t.index(0)));
        auto here = [&](Value v) { return s.channels(bufferOf(v), at); };
        auto earlier = [&](Value v) {
          return s.channels(bufferOf(v), previous);
        };
        unsigned parts = complex ? 2 : 1;
        Pair later{values[0], part(values, 1)};
        Pair laterDecay =
            constant ? decay : Pair{values[parts], part(values, parts + 1)};
        Pair dh = pairOf(op.getDh(), op.getDhImag(), here);
        Pair h = pairOf(op.getH(), op.getHImag(), earlier);
        Pair a = constant ? decay : pairOf(op.getA(), op.getAImag(), here);
        // The cotangent of the last state has no decay before it.
        auto gradient = [&](Value dh, bool imaginary) {
          return s.overChannels(
              inputs(later, laterDecay, dh),
              [&](Scalars &e, ValueRange v) -> Value {
                Value dh = v.back(), xi = part(v, 2), yi = part(v, 3);
                Value first = e.mul(imaginary ? xi : v[0], v[1]);
                Value sum = e.add(dh, first);
                if (complex)
                  sum = imaginary ? e.sub(sum, e.mul(v[0], yi))
                                  : e.add(sum, e.mul(xi, yi));
                if (resetsLater)
                  sum =
                      arith::SelectOp::create(e.b, e.loc, resetsLater, dh, sum);
                Value last = e.add(imaginary ? xi : v[0], dh);
                return arith::SelectOp::create(e.b, e.loc, isLast, last, sum);
              });
        };
        auto choose = [&](Scalars &e, ValueRange v) -> Value {
          return arith::SelectOp::create(e.b, e.loc, isFirst, v[0], v[1]);
        };
        Pair db{gradient(dh.re, false), {}};
        Pair before{s.overChannels({initial.re, h.re}, choose), {}};
        if (complex) {
          db.im = gradient(dh.im, true);
          before.im = s.overChannels({initial.im, h.im}, choose);
        }
        // With a constant over time da is a sum.
        auto product = [&](Pair x, Pair y, bool imaginary, Value sum) {
          return s.overChannels(
              sum ? inputs(x, y, sum) : inputs(x, y),
              [&](Scalars &e, ValueRange v) {
                Value p = imaginary
                              ? imag(e, v[0], part(v, 2), v[1], part(v, 3))
                              : real(e, v[0], part(v, 2), v[1], part(v, 3));
                p = e.unless(resets, p, 0.0);
                return sum ? e.add(v.back(), p) : p;
              });
        };
        Pair da{product(db, before, false, constant ? values[parts] : Value()),
                {}};
        if (complex)
          da.im =
              product(db, before, true, constant ? values[parts + 1] : Value());
        if (!constant)
          store(s, da.re, op.getDa(), at);
        store(s, db.re, op.getDb(), at);
        if (complex && !constant)
          store(s, da.im, op.getDaImag(), at);
        if (complex)
          store(s, db.im, op.getDbImag(), at);
        Pair kept = constant ? da : a;
        SmallVector<Value> all = {db.re};
        if (complex)
          all.push_back(db.im);
        all.push_back(kept.re);
        if (complex)
          all.push_back(kept.im);
        return all;
      });
  Pair first{last[0], part(last, 1)};
  if (s.length > 0) {
    Pair a = constant ? decay : Pair{last[complex ? 2 : 1], part(last, 3)};
    Pair db = first;
    first.re = s.overChannels(inputs(db, a), [&](Scalars &e, ValueRange v) {
      return real(e, v[0], part(v, 2), v[1], part(v, 3));
    });
    if (complex)
      first.im = s.overChannels(inputs(db, a), [&](Scalars &e, ValueRange v) {
        return imag(e, v[0], part(v, 2), v[1], part(v, 3));
      });
  }
  if (op.getDinitialState())
    s.storeChannels(first.re, destinationOf(op.getDinitialState()));
  if (op.getDinitialStateImag())
    s.storeChannels(first.im, destinationOf(op.getDinitialStateImag()));
  if (constant)
    s.storeChannels(last[complex ? 2 : 1], destinationOf(op.getDa()));
  if (constant && complex)
    s.storeChannels(last[3], destinationOf(op.getDaImag()));
  return success();
}
