//===- LinearScanRule.cpp - gradients of first-order recurrences ----------===//
//
// h_t = a_t h_{t-1} + b_t. With g_t the cotangent of h_t, the whole effect of h_t
// on the value is the scan the other way round
//   e_t = conj(a_{t+1}) e_{t+1} + g_t,
// and then db_t = e_t, da_t = e_t conj(h_{t-1}), dh_{-1} = conj(a_0) e_0. A reset
// at t cuts both scans between t-1 and t. The gradient of a complex value is the
// pair of gradients of its real and imaginary parts, each taken as a real number:
// that is where the conjugates come from.
//
// "Before" and "after" are in walking order; with `reverse` they change sides.
//
//===----------------------------------------------------------------------===//

#include "Adjoint.h"
#include "Rules.h"
#include "heddle/Dialect/Heddle/Differentiation/Differentiation.h"
#include "heddle/Dialect/Heddle/IR/DifferentiableOpInterface.h"
#include "heddle/Dialect/Heddle/IR/Heddle.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace heddle;

namespace {
/// A real value, or real and imaginary part.
struct Pair {
  Value real, imag;
};

class ScanGradient {
public:
  ScanGradient(OpBuilder &builder, LinearScanOp op, ArrayRef<Value> cotangents,
               const llvm::BitVector &needed, SmallVectorImpl<Value> &gradients)
      : b(builder), loc(op.getLoc()), op(op), cotangents(cotangents),
        needed(needed), gradients(gradients),
        wide(accumulatorOf(op.getB().getType().getElementType())),
        shape(op.getB().getType().getShape()), length(shape[1]) {}

  void run();

private:
  // Operands, of which the optional ones are ranges of at most one.
  bool wants(MutableOperandRange range) {
    return !range.empty() && needed.test(range[0].getOperandNumber());
  }
  void set(MutableOperandRange range, Value gradient) {
    if (wants(range) && gradient)
      gradients[range[0].getOperandNumber()] =
          castElements(b, loc, gradient,
                       cast<RankedTensorType>(range[0].get().getType())
                           .getElementType());
  }
  Value cotangentOf(Value result) {
    return result ? cotangents[cast<OpResult>(result).getResultNumber()]
                  : Value();
  }
  Value widen(Value v) { return v ? castElements(b, loc, v, wide) : v; }
  Value zerosOf(ArrayRef<int64_t> sizes) {
    return zeros(b, loc, RankedTensorType::get(sizes, wide));
  }

  // Positions in time, axis 1.
  int64_t first() { return op.getReverse() ? length - 1 : 0; }
  int64_t last() { return length - 1 - first(); }
  Value steps(Value v, int64_t begin, int64_t count);
  Value asStep(Value state);
  Value stateAt(Value v, int64_t position);
  Value neighbours(Value v, Value edge, bool before);

  Value upstream(Value h, Value finalState);
  Pair effects();
  void setDecay(Pair e);
  void setInitial(Pair e);

  OpBuilder &b;
  Location loc;
  LinearScanOp op;
  ArrayRef<Value> cotangents;
  const llvm::BitVector &needed;
  SmallVectorImpl<Value> &gradients;
  Type wide;
  ArrayRef<int64_t> shape; // (B, L, D)
  int64_t length;
};
} // namespace

Value ScanGradient::steps(Value v, int64_t begin, int64_t count) {
  auto type = cast<RankedTensorType>(v.getType());
  SmallVector<OpFoldResult> offsets(type.getRank(), b.getIndexAttr(0)),
      strides(type.getRank(), b.getIndexAttr(1)), sizes;
  for (int64_t d : type.getShape())
    sizes.push_back(b.getIndexAttr(d));
  offsets[1] = b.getIndexAttr(begin);
  sizes[1] = b.getIndexAttr(count);
  return tensor::ExtractSliceOp::create(b, loc, v, offsets, sizes, strides);
}

/// (B, D) -> (B, 1, D)
Value ScanGradient::asStep(Value state) {
  auto type = RankedTensorType::get(
      {shape[0], 1, shape[2]},
      cast<RankedTensorType>(state.getType()).getElementType());
  return tensor::ExpandShapeOp::create(b, loc, type, state,
                                       ArrayRef<ReassociationIndices>{{0, 1}, {2}});
}

/// (B, L, D) -> (B, D)
Value ScanGradient::stateAt(Value v, int64_t position) {
  return tensor::CollapseShapeOp::create(b, loc, steps(v, position, 1),
                                         ArrayRef<ReassociationIndices>{{0, 1}, {2}});
}

/// At each position what `v` has one step before (or after); `edge` where there
/// is none.
Value ScanGradient::neighbours(Value v, Value edge, bool before) {
  if (length == 1)
    return edge;
  bool left = before != op.getReverse();
  Value rest = steps(v, left ? 0 : 1, length - 1);
  SmallVector<Value> parts = left ? SmallVector<Value>{edge, rest}
                                  : SmallVector<Value>{rest, edge};
  return tensor::ConcatOp::create(b, loc, v.getType(), 1, parts);
}

/// The cotangent of h, with that of the final state at the last step.
Value ScanGradient::upstream(Value h, Value finalState) {
  Value g = widen(cotangentOf(h)), f = widen(cotangentOf(finalState));
  if (!g)
    g = zerosOf(shape);
  if (!f)
    return g;
  SmallVector<OpFoldResult> offsets(3, b.getIndexAttr(0)),
      strides(3, b.getIndexAttr(1)),
      sizes{b.getIndexAttr(shape[0]), b.getIndexAttr(1),
            b.getIndexAttr(shape[2])};
  offsets[1] = b.getIndexAttr(last());
  Value step = cotangentOf(h)
                   ? Value(arith::AddFOp::create(b, loc, steps(g, last(), 1),
                                                 asStep(f)))
                   : asStep(f);
  return tensor::InsertSliceOp::create(b, loc, step, g, offsets, sizes,
                                       strides);
}

Pair ScanGradient::effects() {
  bool complex = op.isComplex();
  Pair g{upstream(op.getH(), op.getFinalState()),
         complex ? upstream(op.getHImag(), op.getFinalStateImag()) : Value()};
  auto decay = [&](Value a) {
    a = widen(a);
    if (op.hasConstantDecay())
      return a;
    return neighbours(a, zerosOf({shape[0], 1, shape[2]}), /*before=*/false);
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

/// da_t = e_t conj(h_{t-1}) where no reset cuts them, summed over batch entries
/// and time where a is constant.
void ScanGradient::setDecay(Pair e) {
  if (!wants(op.getAMutable()) && !wants(op.getAImagMutable()))
    return;
  auto previous = [&](Value h, Value initial) {
    Value edge = initial ? asStep(widen(initial))
                         : zerosOf({shape[0], 1, shape[2]});
    return neighbours(widen(h), edge, /*before=*/true);
  };
  AffineMap all = b.getMultiDimIdentityMap(3), perStep = all.dropResult(2);
  AffineMap out = op.hasConstantDecay() ? all.getSubMap({2}) : all;
  SmallVector<LoopOperand> inputs = {
      {e.real, all}, {previous(op.getH(), op.getInitialState()), all}};
  if (op.isComplex()) {
    inputs.push_back({e.imag, all});
    inputs.push_back({previous(op.getHImag(), op.getInitialStateImag()), all});
  }
  if (Value ids = op.getResetIds()) {
    inputs.push_back({ids, perStep});
    inputs.push_back(
        {neighbours(ids, steps(ids, first(), 1), /*before=*/true), perStep});
  }
  auto write = [&](bool imag) {
    return buildGeneric(
        b, loc, inputs, shape, out,
        [&](OpBuilder &b, Block::BlockArgListType args) -> Value {
          Value product;
          if (!op.isComplex()) {
            product = arith::MulFOp::create(b, loc, args[0], args[1]);
          } else if (!imag) {
            Value p = arith::MulFOp::create(b, loc, args[0], args[1]);
            Value q = arith::MulFOp::create(b, loc, args[2], args[3]);
            product = arith::AddFOp::create(b, loc, p, q);
          } else {
            Value p = arith::MulFOp::create(b, loc, args[2], args[1]);
            Value q = arith::MulFOp::create(b, loc, args[0], args[3]);
            product = arith::SubFOp::create(b, loc, p, q);
          }
          if (!op.getResetIds())
            return product;
          Value joined =
              arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                    args[args.size() - 2], args.back());
          return arith::SelectOp::create(b, loc, joined, product,
                                         zeros(b, loc, wide));
        });
  };
  if (wants(op.getAMutable()))
    set(op.getAMutable(), write(/*imag=*/false));
  if (wants(op.getAImagMutable()))
    set(op.getAImagMutable(), write(/*imag=*/true));
}

/// dh_{-1} = conj(a_0) e_0
void ScanGradient::setInitial(Pair e) {
  if (!wants(op.getInitialStateMutable()) &&
      !wants(op.getInitialStateImagMutable()))
    return;
  AffineMap all = b.getMultiDimIdentityMap(2), channel = all.getSubMap({1});
  auto add = [&](Value a, SmallVectorImpl<LoopOperand> &inputs) {
    a = widen(a);
    if (op.hasConstantDecay())
      inputs.push_back({a, channel});
    else
      inputs.push_back({stateAt(a, first()), all});
  };
  SmallVector<LoopOperand> inputs = {{stateAt(e.real, first()), all}};
  add(op.getA(), inputs);
  if (op.isComplex()) {
    inputs.push_back({stateAt(e.imag, first()), all});
    add(op.getAImag(), inputs);
  }
  auto write = [&](bool imag) {
    return buildGeneric(
        b, loc, inputs, {shape[0], shape[2]}, all,
        [&](OpBuilder &b, Block::BlockArgListType args) -> Value {
          if (!op.isComplex())
            return arith::MulFOp::create(b, loc, args[0], args[1]);
          Value p = arith::MulFOp::create(b, loc, args[imag ? 2 : 0], args[1]);
          Value q = arith::MulFOp::create(b, loc, args[imag ? 0 : 2], args[3]);
          if (imag)
            return arith::SubFOp::create(b, loc, p, q);
          return arith::AddFOp::create(b, loc, p, q);
        });
  };
  if (wants(op.getInitialStateMutable()))
    set(op.getInitialStateMutable(), write(/*imag=*/false));
  if (wants(op.getInitialStateImagMutable()))
    set(op.getInitialStateImagMutable(), write(/*imag=*/true));
}

void ScanGradient::run() {
  if (length == 0) { // the states are one
    set(op.getInitialStateMutable(), cotangentOf(op.getFinalState()));
    set(op.getInitialStateImagMutable(), cotangentOf(op.getFinalStateImag()));
    return;
  }
  Pair e = effects();
  set(op.getBMutable(), e.real);
  set(op.getBImagMutable(), e.imag);
  setDecay(e);
  setInitial(e);
}

namespace {
struct LinearScanRule
    : DifferentiableOpInterface::ExternalModel<LinearScanRule, LinearScanOp> {
  LogicalResult differentiate(Operation *operation, OpBuilder &b,
                              ArrayRef<Value> cotangents,
                              const llvm::BitVector &needed,
                              SmallVectorImpl<Value> &gradients) const {
    auto op = cast<LinearScanOp>(operation);
    if (!op.getB().getType().hasStaticShape())
      return op.emitOpError("cannot be differentiated: expected static tensors");
    ScanGradient(b, op, cotangents, needed, gradients).run();
    return success();
  }
};
} // namespace

void heddle::registerLinearScanRule(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, HeddleDialect *) {
    LinearScanOp::attachInterface<LinearScanRule>(*context);
  });
}
