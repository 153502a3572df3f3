//===- DecomposeSelectiveScan.cpp - selective scans as linear ones --------===//
//
// Axes: b batch, t position, d channel, n state; g group and r channel of the
// group where an operand has groups.
//
//===----------------------------------------------------------------------===//

#include "AxisBuilder.h"
#include "heddle/Dialect/Heddle/Differentiation/Differentiation.h"
#include "heddle/Dialect/Heddle/Transforms/Passes.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace heddle {
#define GEN_PASS_DEF_DECOMPOSESELECTIVESCANPASS
#include "heddle/Dialect/Heddle/Transforms/Passes.h.inc"
} // namespace heddle

using namespace mlir;
using namespace heddle;

namespace {
class Decomposer : AxisBuilder {
public:
  Decomposer(RewriterBase &rewriter, SelectiveScanOp op)
      : AxisBuilder(rewriter, op.getLoc()), rewriter(rewriter), op(op),
        shape(op.getU().getType().getShape()),
        states(op.getA().getType().getDimSize(1)) {}

  void run();

private:
  int64_t extent(char axis) const override {
    switch (axis) {
    case 'b':
      return shape[0];
    case 't':
      return shape[1];
    case 'd':
      return shape[2];
    case 'g':
      return groups;
    case 'r':
      return shape[2] / groups;
    default:
      return states;
    }
  }
  Value widen(Value v) { return castElements(b, loc, v, f32); }
  Named perChannel(Value v);
  Value stepSizes();
  Value output(Value h);

  RewriterBase &rewriter;
  SelectiveScanOp op;
  ArrayRef<int64_t> shape; // (B, L, D)
  int64_t states, groups = 1;
};
} // namespace

/// b or c; with groups, a row for each channel.
Named Decomposer::perChannel(Value v) {
  v = widen(v);
  ArrayRef<int64_t> own = cast<RankedTensorType>(v.getType()).getShape();
  if (own.size() == 3)
    return {v, "btn"};
  groups = own[2];
  Value spread =
      map({{v, "btgn"}}, "btgrn", f32,
          [](OpBuilder &, ValueRange args) -> Value { return args[0]; });
  return {reshape(spread, {shape[0], shape[1], shape[2], states}), "btdn"};
}

Value Decomposer::stepSizes() {
  SmallVector<Named> inputs = {{widen(op.getDelta()), "btd"}};
  if (Value bias = op.getDeltaBias())
    inputs.push_back({widen(bias), "d"});
  return map(inputs, "btd", f32, [&](OpBuilder &b, ValueRange args) {
    Value x = inputs.size() > 1 ? add(args[0], args[1], b) : args[0];
    if (!op.getDeltaSoftplus())
      return x;
    // No exponential overflows, in derivatives either.
    Value large = compare(arith::CmpFPredicate::OGT, x, constant(20.0, b), b);
    Value small = select(large, constant(0.0, b), x, b);
    Value soft = math::Log1pOp::create(b, loc, exp(small, b));
    return select(large, x, soft, b);
  });
}

/// y, from the states (B, L, D, N).
Value Decomposer::output(Value h) {
  Value read = product({h, "btdn"}, perChannel(op.getC()), "btd");
  SmallVector<Named> inputs = {{read, "btd"}};
  auto push = [&](Value v, StringRef axes) {
    if (v)
      inputs.push_back({widen(v), axes});
    return inputs.size() - 1;
  };
  if (op.getD())
    push(op.getU(), "btd");
  size_t skip = push(op.getD(), "d"), gate = push(op.getZ(), "btd");
  return map(inputs, "btd", f32, [&](OpBuilder &b, ValueRange args) {
    Value y = args[0];
    if (op.getD())
      y = add(y, multiply(args[skip], args[skip - 1], b), b);
    if (!op.getZ())
      return y;
    Value z = args[gate];
    Value falling = exp(arith::NegFOp::create(b, loc, z), b);
    Value sigmoid = arith::DivFOp::create(b, loc, constant(1.0, b),
                                          add(constant(1.0, b), falling, b));
    return multiply(y, multiply(z, sigmoid, b), b);
  });
}

void Decomposer::run() {
  b.setInsertionPoint(op);
  Type element = op.getY().getType().getElementType();
  SmallVector<int64_t> state = {shape[0], shape[2], states},
                       full = {shape[0], shape[1], shape[2], states},
                       flat = {shape[0], shape[1], shape[2] * states};
  SmallVector<Value> results;
  if (shape[1] == 0) {
    results.push_back(zeros(shape, element));
    Value initial = op.getInitialState();
    if (op.getFinalState())
      results.push_back(initial ? initial : zeros(state, f32));
    rewriter.replaceOp(op, results);
    return;
  }
  Value dt = stepSizes();
  Value decay = map({{dt, "btd"}, {op.getA(), "dn"}}, "btdn", f32,
                    [&](OpBuilder &b, ValueRange args) {
                      return exp(multiply(args[0], args[1], b), b);
                    });
  Value drive =
      map({{dt, "btd"}, {widen(op.getU()), "btd"}, perChannel(op.getB())},
          "btdn", f32, [&](OpBuilder &b, ValueRange args) {
            return multiply(multiply(args[0], args[1], b), args[2], b);
          });
  auto flatState = RankedTensorType::get({shape[0], flat[2]}, f32);
  Value initial = op.getInitialState();
  if (initial)
    initial = reshape(initial, flatState.getShape());
  Value none;
  auto scan = LinearScanOp::create(
      b, loc, RankedTensorType::get(flat, f32), Type(),
      op.getFinalState() ? flatState : Type(), Type(), reshape(decay, flat),
      reshape(drive, flat), none, none, initial, none, op.getResetIds(),
      op.getReverse());
  results.push_back(
      castElements(b, loc, output(reshape(scan.getH(), full)), element));
  if (op.getFinalState())
    results.push_back(reshape(scan.getFinalState(), state));
  rewriter.replaceOp(op, results);
}

LogicalResult heddle::decomposeSelectiveScan(RewriterBase &rewriter,
                                             SelectiveScanOp op) {
  if (failed(expectStaticShapes(op)))
    return failure();
  if (op.getChunkStates())
    return op.emitOpError("expected no chunk_states where a scan is written "
                          "out; heddle-keep-scan-states adds them later");
  if (op.numChunks() > 1)
    return op.emitOpError("expected a scan over all of time, got one over "
                          "chunks; decompose it before heddle-chunk-scans");
  Decomposer(rewriter, op).run();
  return success();
}

namespace {
struct DecomposeSelectiveScanPass
    : heddle::impl::DecomposeSelectiveScanPassBase<DecomposeSelectiveScanPass> {
  void runOnOperation() override {
    if (failed(rewriteEach<SelectiveScanOp>(getOperation(), decomposeSelectiveScan)))
      signalPassFailure();
  }
};
} // namespace
