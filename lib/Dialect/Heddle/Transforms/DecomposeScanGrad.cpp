//===- DecomposeScanGrad.cpp - gradients of linear scans, written out -----===//
//
// With e_t the whole effect of h_t on the value and g_t the cotangent of h_t,
//   e_t = conj(a_{t+1}) e_{t+1} + g_t,
// a scan the other way round, and then db_t = e_t, da_t = e_t conj(h_{t-1}),
// dh_{-1} = conj(a_0) e_0. A reset at t cuts both scans between t-1 and t. The
// gradient of a complex value is the pair of gradients of its real and
// imaginary part, each taken as a real number: that is where the conjugates
// come from.
//
// "Before" and "after" are in walking order; with `reverse` they change sides.
//
// Axes: b batch, t position, d channel.
//
//===----------------------------------------------------------------------===//

#include "AxisBuilder.h"
#include "heddle/Dialect/Heddle/Differentiation/Differentiation.h"
#include "heddle/Dialect/Heddle/Transforms/Passes.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace heddle {
#define GEN_PASS_DEF_DECOMPOSESCANGRADPASS
#include "heddle/Dialect/Heddle/Transforms/Passes.h.inc"
} // namespace heddle

using namespace mlir;
using namespace heddle;

namespace {
/// A real value, or real and imaginary part.
struct Pair {
  Value real, imag;
};

class Decomposer : AxisBuilder {
public:
  Decomposer(RewriterBase &rewriter, LinearScanGradOp op)
      : AxisBuilder(rewriter, op.getLoc()), rewriter(rewriter), op(op),
        wide(accumulatorOf(op.getH().getType().getElementType())),
        shape(op.getH().getType().getShape()), length(shape[1]) {}

  void run();

private:
  int64_t extent(char axis) const override {
    return shape[axis == 'b' ? 0 : axis == 't' ? 1 : 2];
  }
  Value widen(Value v) { return v ? castElements(b, loc, v, wide) : v; }
  StringRef decayAxes() { return op.hasConstantDecay() ? "d" : "btd"; }
  Value noState() { return zeros({shape[0], 1, shape[2]}, wide); }

  // Positions in time, axis 1.
  int64_t first() { return op.getReverse() ? length - 1 : 0; }
  int64_t last() { return length - 1 - first(); }
  /// (B, D) -> (B, 1, D), and (B, L, D) -> (B, D).
  Value asStep(Value state) { return reshape(state, {shape[0], 1, shape[2]}); }
  Value stateAt(Value v, int64_t position) {
    return reshape(slice(v, position, 1), {shape[0], shape[2]});
  }
  Value neighbours(Value v, Value edge, bool before);

  Value upstream(Value dh, Value dfinal);
  Pair effects();
  /// The real or imaginary part of x conj(y), of real values with only v[0] and
  /// v[1], else v = (x, y, x imag, y imag).
  Value productWithConjugate(ValueRange v, bool imag, OpBuilder &b);
  Value decayGradient(Pair e, bool imag);
  Value initialGradient(Pair e, bool imag);

  RewriterBase &rewriter;
  LinearScanGradOp op;
  Type wide;
  ArrayRef<int64_t> shape; // (B, L, D)
  int64_t length;
};
} // namespace

/// At each position what `v` has one step before (or after); `edge` where there
/// is none.
Value Decomposer::neighbours(Value v, Value edge, bool before) {
  if (length == 1)
    return edge;
  bool left = before != op.getReverse();
  Value rest = slice(v, left ? 0 : 1, length - 1);
  SmallVector<Value> parts =
      left ? SmallVector<Value>{edge, rest} : SmallVector<Value>{rest, edge};
  return tensor::ConcatOp::create(b, loc, v.getType(), 1, parts);
}

/// The cotangent of h, with that of the final state at the last step.
Value Decomposer::upstream(Value dh, Value dfinal) {
  Value g = widen(dh);
  if (!dfinal)
    return g;
  Value step =
      arith::AddFOp::create(b, loc, slice(g, last(), 1), asStep(widen(dfinal)));
  SmallVector<OpFoldResult> offsets(3, b.getIndexAttr(0)),
      strides(3, b.getIndexAttr(1)),
      sizes{b.getIndexAttr(shape[0]), b.getIndexAttr(1),
            b.getIndexAttr(shape[2])};
  offsets[1] = b.getIndexAttr(last());
  return tensor::InsertSliceOp::create(b, loc, step, g, offsets, sizes,
                                       strides);
}

Pair Decomposer::effects() {
  bool complex = op.isComplex();
  Pair g{upstream(op.getDh(), op.getDfinalState()),
         complex ? upstream(op.getDhImag(), op.getDfinalStateImag()) : Value()};
  auto decay = [&](Value a) {
    a = widen(a);
    return op.hasConstantDecay() ? a
                                 : neighbours(a, noState(), /*before=*/false);
  };
  Value a = decay(op.getA()), aImag;
  if (complex)
    aImag = arith::NegFOp::create(b, loc, decay(op.getAImag()));
  Type type = g.real.getType();
  auto scan = LinearScanOp::create(
      b, loc, type, complex ? type : Type(), Type(), Type(), a, g.real, aImag,
      g.imag, Value(), Value(), op.getResetIds(), !op.getReverse());
  return {scan.getH(), scan.getHImag()};
}

Value Decomposer::productWithConjugate(ValueRange v, bool imag, OpBuilder &b) {
  if (!op.isComplex())
    return multiply(v[0], v[1], b);
  if (imag)
    return subtract(multiply(v[2], v[1], b), multiply(v[0], v[3], b), b);
  return add(multiply(v[0], v[1], b), multiply(v[2], v[3], b), b);
}

/// da_t = e_t conj(h_{t-1}) where no reset cuts them, summed over batch entries
/// and time where a is constant.
Value Decomposer::decayGradient(Pair e, bool imag) {
  auto previous = [&](Value h, Value initial) {
    Value edge = initial ? asStep(widen(initial)) : noState();
    return neighbours(widen(h), edge, /*before=*/true);
  };
  SmallVector<Named> inputs = {
      {e.real, "btd"}, {previous(op.getH(), op.getInitialState()), "btd"}};
  if (op.isComplex()) {
    inputs.push_back({e.imag, "btd"});
    inputs.push_back(
        {previous(op.getHImag(), op.getInitialStateImag()), "btd"});
  }
  unsigned parts = inputs.size();
  if (Value ids = op.getResetIds()) {
    inputs.push_back({ids, "bt"});
    inputs.push_back(
        {neighbours(ids, slice(ids, first(), 1), /*before=*/true), "bt"});
  }
  auto body = [&](OpBuilder &b, ValueRange args) -> Value {
    Value product = productWithConjugate(args, imag, b);
    if (!op.getResetIds())
      return product;
    Value joined = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                         args[parts], args[parts + 1]);
    Value zero =
        arith::ConstantOp::create(b, loc, b.getZeroAttr(product.getType()));
    return select(joined, product, zero, b);
  };
  if (!op.hasConstantDecay())
    return map(inputs, "btd", wide, body);
  bool perEntry = op.getPartialSums();
  SmallVector<int64_t> sums = {shape[2]};
  if (perEntry)
    sums.insert(sums.begin(), shape[0]);
  return generic(inputs, zeros(sums, wide), perEntry ? "bd" : "d",
                 [&](OpBuilder &b, ValueRange args) {
                   return add(args.back(), body(b, args), b);
                 });
}

/// dh_{-1} = conj(a_0) e_0
Value Decomposer::initialGradient(Pair e, bool imag) {
  auto decay = [&](Value a) -> Named {
    a = widen(a);
    if (op.hasConstantDecay())
      return {a, "d"};
    return {stateAt(a, first()), "bd"};
  };
  SmallVector<Named> inputs = {{stateAt(e.real, first()), "bd"},
                               decay(op.getA())};
  if (op.isComplex()) {
    inputs.push_back({stateAt(e.imag, first()), "bd"});
    inputs.push_back(decay(op.getAImag()));
  }
  return map(inputs, "bd", wide, [&](OpBuilder &b, ValueRange args) {
    return productWithConjugate(args, imag, b);
  });
}

void Decomposer::run() {
  b.setInsertionPoint(op);
  SmallVector<Value> results;
  auto give = [&](Value result, auto make) {
    if (!result)
      return;
    Type element = getElementTypeOrSelf(result.getType());
    results.push_back(
        result.use_empty()
            ? zeros(cast<RankedTensorType>(result.getType()).getShape(),
                    element)
            : castElements(b, loc, make(), element));
  };
  Pair e;
  if (length > 0)
    e = effects();
  // Over no step the states are one.
  auto decay = [&](bool imag) -> Value {
    if (length > 0)
      return decayGradient(e, imag);
    return zeros(op.getDa().getType().getShape(), wide);
  };
  auto effect = [&](bool imag) -> Value {
    if (length > 0)
      return imag ? e.imag : e.real;
    return zeros(shape, wide);
  };
  auto initial = [&](bool imag) -> Value {
    if (length > 0)
      return initialGradient(e, imag);
    Value final = imag ? op.getDfinalStateImag() : op.getDfinalState();
    return final ? final : zeros({shape[0], shape[2]}, wide);
  };
  give(op.getDa(), [&] { return decay(false); });
  give(op.getDb(), [&] { return effect(false); });
  give(op.getDaImag(), [&] { return decay(true); });
  give(op.getDbImag(), [&] { return effect(true); });
  give(op.getDinitialState(), [&] { return initial(false); });
  give(op.getDinitialStateImag(), [&] { return initial(true); });
  rewriter.replaceOp(op, results);
}

LogicalResult heddle::decomposeLinearScanGrad(RewriterBase &rewriter,
                                              LinearScanGradOp op) {
  if (failed(expectStaticShapes(op)))
    return failure();
  if (op.numChunks() > 1)
    return op.emitOpError("expected a scan over all of time, got one over "
                          "chunks; decompose it before heddle-chunk-scans");
  Decomposer(rewriter, op).run();
  return success();
}

namespace {
struct DecomposeScanGradPass
    : heddle::impl::DecomposeScanGradPassBase<DecomposeScanGradPass> {
  using DecomposeScanGradPassBase::DecomposeScanGradPassBase;

  void runOnOperation() override {
    if (failed(rewriteEach<LinearScanGradOp>(getOperation(),
                                             decomposeLinearScanGrad)))
      signalPassFailure();
  }
};
} // namespace
