//===- DecomposeSsd.cpp - ssd as chunked products -------------------------===//
//
// The chunked form of state-space duality (Dao and Gu, "Transformers are SSMs",
// 2024, section 6): within a chunk a masked product of decayed scores, between
// chunks a first-order recurrence over one state per chunk.
//
// Axes are named by letters: b batch, n chunk, g group, r head within its
// group, t and s and j positions within a chunk, k and d the two axes of a
// state.
//
//===----------------------------------------------------------------------===//

#include "AxisBuilder.h"
#include "heddle/Dialect/Heddle/Transforms/Passes.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace mlir;
using namespace heddle;

namespace heddle {
#define GEN_PASS_DEF_DECOMPOSESSDPASS
#include "heddle/Dialect/Heddle/Transforms/Passes.h.inc"
} // namespace heddle

/// exp of it is 0 in f32 beside what a chunk's other logs may add, and sums of
/// it are finite: -inf times 0 would be NaN.
static constexpr double kLowestLogDecay = -1024;

namespace {
/// Running sums of a chunk's log decays, in two parts. The coarse parts of the
/// logs are multiples of a power of two so large that no sum of a chunk rounds,
/// what is left adds up to less than one such multiple per two positions. The
/// difference of two running sums is then as exact as adding the logs between
/// them one by one, whatever they add up to.
struct LogSums {
  Value coarse, fine;
  StringRef axes;
};

/// Writes one ssd op out.
class Decomposer : AxisBuilder {
public:
  Decomposer(RewriterBase &rewriter, SsdOp op, int64_t chunk)
      : AxisBuilder(rewriter, op.getLoc()), rewriter(rewriter), op(op),
        chunk(chunk) {}

  void run();

private:
  int64_t extent(char axis) const override;
  Value equal(Value x, Value y, OpBuilder &b) {
    return compare(arith::CmpFPredicate::OEQ, x, y, b);
  }

  void measure();
  Value chunked(Value v, ArrayRef<int64_t> heads);
  Value positions(function_ref<bool(int64_t, int64_t)> holds);
  void countResets();
  std::pair<Value, Value> running(Value part);
  void sumLogs();
  SmallVector<Named> operandsOf(const LogSums &sums);
  Value clamped(Value log, OpBuilder &b);
  Value decayFactor(const LogSums &sums, const LogSums *from, StringRef at);
  Value within(Value query, Value key, Value value);
  Value scanStates(Value decays, Value states, Value initial, Value &final);
  void finish(Value out, Value final);

  RewriterBase &rewriter;
  SsdOp op;
  Type element;
  int64_t chunk;
  int64_t batch, length, chunks, groups, repeat, keyDim, valueDim;
  bool reverse = false;
  Value upTo;           // (t, j): j is not after t
  LogSums upToT, whole; // bntgr, bngr: the logs up to t, and all of them
  Value resets,
      resetsTotal; // bnt, bn: resets since the chunk began; none: null
};
} // namespace

int64_t Decomposer::extent(char axis) const {
  switch (axis) {
  case 'b':
    return batch;
  case 'n':
    return chunks;
  case 'g':
    return groups;
  case 'r':
    return repeat;
  case 'k':
    return keyDim;
  case 'd':
    return valueDim;
  default:
    return chunk;
  }
}

void Decomposer::measure() {
  auto query = cast<RankedTensorType>(op.getQuery().getType());
  auto value = cast<RankedTensorType>(op.getValue().getType());
  element = query.getElementType();
  batch = query.getDimSize(0);
  length = query.getDimSize(1);
  groups = query.getDimSize(2);
  keyDim = query.getDimSize(3);
  repeat = value.getDimSize(2) / groups;
  valueDim = value.getDimSize(3);
  reverse = op.getReverse();
  chunk = std::min(chunk, length);
  chunks = length == 0 ? 0 : llvm::divideCeil(length, chunk);
}

/// (B, L, ...) -> (B, chunks, chunk, heads...), the tail filled with zeros: a
/// log decay of zero and a key of zero leave the state as it is.
Value Decomposer::chunked(Value v, ArrayRef<int64_t> heads) {
  auto type = cast<RankedTensorType>(v.getType());
  int64_t tail = chunks * chunk - length;
  if (tail > 0) {
    SmallVector<OpFoldResult> low(type.getRank(), b.getIndexAttr(0)),
        high(type.getRank(), b.getIndexAttr(0));
    high[1] = b.getIndexAttr(tail);
    SmallVector<int64_t> shape(type.getShape());
    shape[1] = chunks * chunk;
    Value zero =
        arith::ConstantOp::create(b, loc, b.getZeroAttr(type.getElementType()));
    v = tensor::PadOp::create(b, loc, type.clone(shape), v, low, high, zero);
  }
  SmallVector<int64_t> shape = {batch, chunks, chunk};
  llvm::append_range(shape, heads);
  auto result = RankedTensorType::get(shape, type.getElementType());
  // Axis 1 splits in two; the head axis, where `heads` has one more.
  SmallVector<ReassociationIndices> split = {{0}, {1, 2}};
  int64_t next = 3, extra = shape.size() - type.getRank() - 1;
  for (int64_t d = 2; d < type.getRank(); ++d) {
    split.push_back({next++});
    for (; extra > 0; --extra)
      split.back().push_back(next++);
  }
  return tensor::ExpandShapeOp::create(b, loc, result, v, split);
}

/// A constant (chunk, chunk) matrix of ones where (row, column) holds.
Value Decomposer::positions(function_ref<bool(int64_t, int64_t)> holds) {
  SmallVector<float> values;
  for (int64_t row = 0; row < chunk; ++row)
    for (int64_t col = 0; col < chunk; ++col)
      values.push_back(holds(row, col) ? 1.0f : 0.0f);
  auto type = RankedTensorType::get({chunk, chunk}, f32);
  return arith::ConstantOp::create(
      b, loc, DenseElementsAttr::get(type, ArrayRef<float>(values)));
}

/// The number of resets from the chunk's beginning up to each position: two
/// positions of a chunk are of one segment where it is the same.
void Decomposer::countResets() {
  Value ids = op.getResetIds();
  if (!ids || length < 2)
    return; // the first position does not reset
  Value here = slice(ids, reverse ? 0 : 1, length - 1);
  Value before = slice(ids, reverse ? 1 : 0, length - 1);
  AffineMap identity = b.getMultiDimIdentityMap(2);
  Value changes =
      linalg::GenericOp::create(
          b, loc, RankedTensorType::get({batch, length - 1}, f32),
          ValueRange{here, before},
          ValueRange{tensor::EmptyOp::create(
              b, loc, ArrayRef<int64_t>{batch, length - 1}, f32)},
          ArrayRef<AffineMap>{identity, identity, identity},
          ArrayRef<utils::IteratorType>{utils::IteratorType::parallel,
                                        utils::IteratorType::parallel},
          [&](OpBuilder &nested, Location, ValueRange args) {
            Value differ = arith::CmpIOp::create(
                nested, loc, arith::CmpIPredicate::ne, args[0], args[1]);
            Value one = constant(1.0, nested), zero = constant(0.0, nested);
            linalg::YieldOp::create(nested, loc,
                                    select(differ, one, zero, nested));
          })
          .getResult(0);
  int64_t tail = chunks * chunk - length;
  SmallVector<OpFoldResult> low = {b.getIndexAttr(0),
                                   b.getIndexAttr(reverse ? 0 : 1)};
  SmallVector<OpFoldResult> high = {b.getIndexAttr(0),
                                    b.getIndexAttr(tail + (reverse ? 1 : 0))};
  auto padded = RankedTensorType::get({batch, chunks * chunk}, f32);
  Value flags = tensor::PadOp::create(b, loc, padded, changes, low, high,
                                      constant(0.0, b));
  auto [upTo, all] = running(reshape(flags, {batch, chunks, chunk, 1, 1}));
  resets = reshape(upTo, {batch, chunks, chunk});
  resetsTotal = reshape(all, {batch, chunks});
}

/// Sums over the positions of a chunk up to each one, (bntgr), and over all of
/// them, (bngr). A scan, which is a kernel of its own: a sum that fuses into
/// what reads it would be made again for every pair of positions.
std::pair<Value, Value> Decomposer::running(Value part) {
  auto type = cast<RankedTensorType>(part.getType());
  ArrayRef<int64_t> shape = type.getShape();
  int64_t heads = shape[3] * shape[4];
  SmallVector<ReassociationIndices> merge = {{0, 1}, {2}, {3, 4}};
  Value flat = tensor::CollapseShapeOp::create(b, loc, part, merge);
  auto ones = RankedTensorType::get({heads}, f32);
  Value one =
      arith::ConstantOp::create(b, loc, DenseElementsAttr::get(ones, 1.0f));
  auto total = RankedTensorType::get({batch * chunks, heads}, f32);
  auto scan = LinearScanOp::create(b, loc, flat.getType(), Type(), total,
                                   Type(), one, flat, Value(), Value(), Value(),
                                   Value(), Value(), reverse);
  Value upTo = tensor::ExpandShapeOp::create(b, loc, type, scan.getH(), merge);
  auto perChunk =
      RankedTensorType::get({batch, chunks, shape[3], shape[4]}, f32);
  Value all = tensor::ExpandShapeOp::create(
      b, loc, perChunk, scan.getFinalState(),
      SmallVector<ReassociationIndices>{{0, 1}, {2, 3}});
  return {upTo, all};
}

/// The log decays, as running sums.
void Decomposer::sumLogs() {
  Value logs = chunked(op.getLogDecay(), {groups, repeat});
  logs = map({{logs, "bnjgr"}}, "bnjgr", f32,
             [&](OpBuilder &b, ValueRange args) -> Value {
               return arith::MaximumFOp::create(b, loc, extend(args[0], b),
                                                constant(kLowestLogDecay, b));
             });
  // Sums of a chunk are below 2^24 of it.
  double unit = std::exp2(llvm::Log2_64_Ceil(chunk) - 14.0);
  Value coarse = map({{logs, "bnjgr"}}, "bnjgr", f32,
                     [&](OpBuilder &b, ValueRange args) -> Value {
                       Value units =
                           multiply(args[0], constant(1.0 / unit, b), b);
                       units = math::RoundEvenOp::create(b, loc, units);
                       return multiply(units, constant(unit, b), b);
                     });
  Value fine = map({{logs, "bnjgr"}, {coarse, "bnjgr"}}, "bnjgr", f32,
                   [&](OpBuilder &b, ValueRange args) {
                     return subtract(args[0], args[1], b);
                   });
  auto [coarseUpTo, coarseAll] = running(coarse);
  auto [fineUpTo, fineAll] = running(fine);
  upToT = {coarseUpTo, fineUpTo, "bntgr"};
  whole = {coarseAll, fineAll, "bngr"};
}

SmallVector<Named> Decomposer::operandsOf(const LogSums &sums) {
  return {{sums.coarse, sums.axes}, {sums.fine, sums.axes}};
}

/// exp of the sums, or of what is left of them after `from`; 0 where a reset
/// lies between. `at` are the axes of positions.
Value Decomposer::decayFactor(const LogSums &sums, const LogSums *from,
                              StringRef at) {
  SmallVector<Named> inputs = operandsOf(sums);
  if (from)
    llvm::append_range(inputs, operandsOf(*from));
  unsigned logs = inputs.size();
  if (resets && at != "bn")
    inputs.push_back({resets, at});
  if (resets && (from || at == "bn"))
    inputs.push_back({resetsTotal, "bn"});
  StringRef axes = from ? from->axes : sums.axes;
  return map(inputs, axes, f32, [&](OpBuilder &b, ValueRange args) -> Value {
    auto part = [&](unsigned i) {
      return from ? subtract(args[i], args[i + 2], b) : args[i];
    };
    Value log = clamped(add(part(0), part(1), b), b);
    if (!resets)
      return exp(log, b);
    Value zero = constant(0.0, b);
    Value reaches = equal(args[logs], from ? Value(args[logs + 1]) : zero, b);
    // Selected on both sides of exp, so that a log that does not count can
    // neither overflow nor make a gradient of NaN.
    Value finite = select(reaches, log, zero, b);
    return select(reaches, exp(finite, b), zero, b);
  });
}

/// A log decay of several positions: where single ones are known not to be
/// positive, no rounding makes their sum so.
Value Decomposer::clamped(Value log, OpBuilder &b) {
  if (!op.getLogDecayNonpositive())
    return log;
  Value zero = constant(0.0, b);
  Value above = compare(arith::CmpFPredicate::OGT, log, zero, b);
  return select(above, zero, log, b);
}

/// What a chunk's own positions give: (bntgrd).
Value Decomposer::within(Value query, Value key, Value value) {
  Value scores = product({query, "bntgk"}, {key, "bnsgk"}, "bngts");
  SmallVector<Named> inputs = {{upToT.coarse, "bntgr"}, {upToT.fine, "bntgr"},
                               {upToT.coarse, "bnsgr"}, {upToT.fine, "bnsgr"},
                               {scores, "bngts"},       {upTo, "ts"}};
  if (resets) {
    inputs.push_back({resets, "bnt"});
    inputs.push_back({resets, "bns"});
  }
  Value weights = map(
      inputs, "bngrts", element, [&](OpBuilder &b, ValueRange args) -> Value {
        Value zero = constant(0.0, b);
        Value visible = compare(arith::CmpFPredicate::OGT, args[5], zero, b);
        if (resets)
          visible = arith::AndIOp::create(b, loc, visible,
                                          equal(args[6], args[7], b));
        Value log = add(subtract(args[0], args[2], b),
                        subtract(args[1], args[3], b), b);
        log = select(visible, clamped(log, b), zero, b);
        Value weight = multiply(exp(log, b), args[4], b);
        return truncate(select(visible, weight, zero, b), element, b);
      });
  return product({weights, "bngrts"}, {value, "bnsgrd"}, "bntgrd");
}

/// The state that enters each chunk, of decays (bngr) and the states that the
/// chunks add (bngrkd); null where no chunk is entered with one.
Value Decomposer::scanStates(Value decays, Value states, Value initial,
                             Value &final) {
  int64_t flat = groups * repeat * keyDim * valueDim;
  SmallVector<int64_t> split = {batch, groups, repeat, keyDim, valueDim};
  if (chunks == 1) {
    Value own = reshape(states, split);
    final = own;
    if (initial)
      final = map({{initial, "bgrkd"},
                   {reshape(decays, {batch, groups, repeat}), "bgr"},
                   {own, "bgrkd"}},
                  "bgrkd", f32, [&](OpBuilder &b, ValueRange args) -> Value {
                    return arith::AddFOp::create(
                        b, loc, multiply(args[0], args[1], b), args[2]);
                  });
    if (!initial)
      return {};
    return reshape(initial, {batch, 1, groups, repeat, keyDim, valueDim});
  }
  Value spread = map({{decays, "bngr"}}, "bngrkd", f32,
                     [](OpBuilder &, ValueRange args) { return args[0]; });
  Value a = reshape(spread, {batch, chunks, flat});
  Value added = reshape(states, {batch, chunks, flat});
  Value first = initial ? reshape(initial, {batch, flat}) : Value();
  auto stateType = RankedTensorType::get({batch, flat}, f32);
  auto scan = LinearScanOp::create(b, loc, added.getType(), Type(), stateType,
                                   Type(), a, added, Value(), Value(), first,
                                   Value(), Value(), reverse);
  final = reshape(scan.getFinalState(), split);
  // The state that leaves a chunk enters the next one.
  Value leaving = slice(scan.getH(), reverse ? 1 : 0, chunks - 1);
  Value start =
      first ? reshape(first, {batch, 1, flat}) : zeros({batch, 1, flat}, f32);
  SmallVector<Value> parts = {start, leaving};
  if (reverse)
    std::swap(parts[0], parts[1]);
  Value entering = tensor::ConcatOp::create(b, loc, /*dim=*/1, parts);
  return reshape(entering, {batch, chunks, groups, repeat, keyDim, valueDim});
}

/// Replaces the op by (bntgrd) and (bgrkd).
void Decomposer::finish(Value out, Value final) {
  SmallVector<ReassociationIndices> merge = {{0}, {1, 2}, {3, 4}, {5}};
  out = tensor::CollapseShapeOp::create(b, loc, out, merge);
  if (chunks * chunk != length)
    out = slice(out, 0, length);
  SmallVector<Value> results = {out};
  if (op.getFinalState()) {
    SmallVector<ReassociationIndices> mergeHeads = {{0}, {1, 2}, {3}, {4}};
    results.push_back(
        tensor::CollapseShapeOp::create(b, loc, final, mergeHeads));
  }
  rewriter.replaceOp(op, results);
}

void Decomposer::run() {
  b.setInsertionPoint(op);
  measure();
  Value initial = op.getInitialState();
  // Without steps, or with states of no element, the state stays as it is.
  if (batch * length * groups * repeat * keyDim * valueDim == 0) {
    SmallVector<Value> results = {zeros(
        cast<RankedTensorType>(op.getOut().getType()).getShape(), element)};
    if (op.getFinalState())
      results.push_back(
          initial ? initial
                  : zeros({batch, groups * repeat, keyDim, valueDim}, f32));
    return rewriter.replaceOp(op, results);
  }
  if (initial)
    initial = tensor::ExpandShapeOp::create(
        b, loc,
        RankedTensorType::get({batch, groups, repeat, keyDim, valueDim}, f32),
        initial, SmallVector<ReassociationIndices>{{0}, {1, 2}, {3}, {4}});
  Value query = chunked(op.getQuery(), {groups, keyDim});
  Value key = chunked(op.getKey(), {groups, keyDim});
  Value value = chunked(op.getValue(), {groups, repeat, valueDim});
  upTo = positions(
      [&](int64_t t, int64_t j) { return reverse ? j >= t : j <= t; });
  countResets();
  sumLogs();
  Value startFactor = decayFactor(upToT, nullptr, "bnt");
  Value endFactor = decayFactor(whole, &upToT, "bnt");
  Value chunkFactor = decayFactor(whole, nullptr, "bn");

  auto decayed = [&](Value factor, Value v) {
    return map({{factor, "bntgr"}, {v, "bntgk"}}, "bngrtk", element,
               [&](OpBuilder &b, ValueRange args) -> Value {
                 return truncate(multiply(args[0], extend(args[1], b), b),
                                 element, b);
               });
  };
  Value states =
      product({decayed(endFactor, key), "bngrtk"}, {value, "bntgrd"}, "bngrkd");
  Value final;
  Value entering = scanStates(chunkFactor, states, initial, final);
  SmallVector<Named> parts = {{within(query, key, value), "bntgrd"}};
  if (entering)
    parts.push_back({product({decayed(startFactor, query), "bngrtk"},
                             {entering, "bngrkd"}, "bntgrd"),
                     "bntgrd"});
  Value out = map(parts, "bntgrd", element,
                  [&](OpBuilder &b, ValueRange args) -> Value {
                    Value all = args[0];
                    if (entering)
                      all = arith::AddFOp::create(b, loc, all, args[1]);
                    return truncate(all, element, b);
                  });
  finish(out, final);
}

LogicalResult heddle::decomposeSsd(RewriterBase &rewriter, SsdOp op,
                                   int64_t chunk) {
  if (chunk < 1)
    return op.emitOpError() << "expected a chunk of at least 1, got " << chunk;
  if (failed(expectStaticShapes(op)))
    return failure();
  Decomposer(rewriter, op, chunk).run();
  return success();
}

namespace {
struct DecomposeSsdPass : heddle::impl::DecomposeSsdPassBase<DecomposeSsdPass> {
  using DecomposeSsdPassBase::DecomposeSsdPassBase;

  void runOnOperation() override {
    auto rewrite = [&](RewriterBase &rewriter, SsdOp op) {
      return decomposeSsd(rewriter, op, chunk);
    };
    if (failed(rewriteEach<SsdOp>(getOperation(), rewrite)))
      signalPassFailure();
  }
};
} // namespace
