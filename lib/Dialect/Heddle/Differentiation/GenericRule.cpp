//===- GenericRule.cpp - gradients of linalg.generic ----------------------===//
//
// y[Mo(i)] = sum over the loops i that Mo lacks of f(x1[M1(i)], x2[M2(i)], ...)
// gives, for each operand,
// dx1[M1(i)] = sum over the loops i that M1 lacks of df/dx1(...) dy[Mo(i)]:
// the same loops with other roles. The body f is differentiated as a block.
//
//===----------------------------------------------------------------------===//

#include "Adjoint.h"
#include "Rules.h"
#include "heddle/Dialect/Heddle/Differentiation/Differentiation.h"
#include "heddle/Dialect/Heddle/IR/DifferentiableOpInterface.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace heddle;

namespace {
/// The gradient of one operand of one generic op.
class Adjoint {
public:
  Adjoint(OpBuilder &builder, linalg::GenericOp op, ArrayRef<Value> cotangents,
          OpOperand &operand)
      : b(builder), loc(op.getLoc()), op(op), cotangents(cotangents),
        operand(operand) {}

  FailureOr<Value> run();

private:
  void cloneBody();
  Value addElement(Value value, AffineMap map);
  LogicalResult sweepBody();
  FailureOr<Value> write();
  Value restoreConstantAxes(Value sliced);

  OpBuilder &b;
  Location loc;
  linalg::GenericOp op;
  ArrayRef<Value> cotangents;
  OpOperand &operand;

  LoopNest nest;
  Value differentiated;            // the operand's element
  SmallVector<Value> accumulators; // stand-ins, per init of a reduction
  SmallVector<Value> yields, bodyCotangents;
  Value contribution;
};
} // namespace

/// An element in the body as the forward op sees it. A splat constant is one in
/// the body, where it folds; for a window it may have to be padded.
Value Adjoint::addElement(Value value, AffineMap map) {
  bool window = llvm::any_of(
      op.getMatchingIndexingMap(&operand).getResults(),
      [](AffineExpr e) { return !isa<AffineDimExpr, AffineConstantExpr>(e); });
  if (DenseElementsAttr dense;
      !window && matchPattern(value, m_Constant(&dense)) && dense.isSplat()) {
    OpBuilder inner(b.getContext());
    inner.setInsertionPointToEnd(nest.body.get());
    return arith::ConstantOp::create(
        inner, loc, cast<TypedAttr>(dense.getSplatValue<Attribute>()));
  }
  // A product then reads 16-bit operands as they are in memory.
  Value narrow = widenedFrom(value);
  if (!narrow)
    narrow = value;
  nest.inputs.push_back({narrow, map});
  Value element = nest.body->addArgument(getElementTypeOrSelf(narrow.getType()),
                                         value.getLoc());
  OpBuilder inner(b.getContext()); // the block has no parent yet
  inner.setInsertionPointToEnd(nest.body.get());
  return castElements(inner, loc, element,
                      getElementTypeOrSelf(value.getType()));
}

void Adjoint::cloneBody() {
  nest.sizes = op.getStaticLoopRanges();
  bool reduces = op.getNumReductionLoops() > 0;
  IRMapping mapping;
  Block *forward = op.getBody();
  for (OpOperand &o : op->getOpOperands()) {
    BlockArgument argument = op.getMatchingBlockArgument(&o);
    bool accumulates = reduces && op.isDpsInit(&o);
    Value element;
    if (accumulates) {
      // Not read in the end, which sweepBody checks.
      nest.inputs.push_back({o.get(), op.getMatchingIndexingMap(&o)});
      element = nest.body->addArgument(argument.getType(), loc);
      accumulators.push_back(element);
    } else {
      element = addElement(o.get(), op.getMatchingIndexingMap(&o));
    }
    mapping.map(argument, element);
    if (&o == &operand)
      differentiated = element;
  }
  for (auto [i, cotangent] : llvm::enumerate(cotangents)) {
    AffineMap map = op.getIndexingMapMatchingResult(op->getResult(i));
    bodyCotangents.push_back(cotangent ? addElement(cotangent, map) : Value());
  }
  OpBuilder inner(b.getContext()); // the block has no parent yet
  inner.setInsertionPointToEnd(nest.body.get());
  for (Operation &o : forward->without_terminator())
    inner.clone(o, mapping);
  for (Value v : forward->getTerminator()->getOperands())
    yields.push_back(mapping.lookupOrDefault(v));
}

LogicalResult Adjoint::sweepBody() {
  SmallVector<Value> inputs{differentiated}, found;
  llvm::append_range(inputs, accumulators);
  // A yielded value from outside, a constant, has no gradient.
  SmallVector<Value> outputs, given;
  for (auto [yielded, cotangent] : llvm::zip(yields, bodyCotangents))
    if (cotangent) {
      outputs.push_back(yielded);
      given.push_back(cotangent);
    }
  OpBuilder inner(b.getContext()); // the block has no parent yet
  inner.setInsertionPointToEnd(nest.body.get());
  if (failed(
          differentiateBlock(inner, *nest.body, inputs, outputs, given, found)))
    return failure();
  // The accumulator is added to: its gradient is the cotangent as it is.
  for (auto [i, gradient] : llvm::enumerate(ArrayRef(found).drop_front()))
    if (bodyCotangents[i] && gradient != bodyCotangents[i])
      return op.emitOpError("cannot be differentiated: expected its reduction "
                            "to add to the accumulator, or to keep the largest "
                            "or smallest of it and one value");
  if (!found[0])
    return success();
  Type wide = accumulatorOf(found[0].getType());
  contribution = castCotangent(inner, loc, found[0], wide);
  eraseDead(*nest.body, contribution);
  for (Value accumulator : accumulators)
    if (!accumulator.use_empty())
      return op.emitOpError("cannot be differentiated: what it adds depends on "
                            "the accumulator");
  return success();
}

/// Puts back the axes that the operand's map reads at a constant.
Value Adjoint::restoreConstantAxes(Value sliced) {
  AffineMap map = op.getMatchingIndexingMap(&operand);
  auto type = cast<RankedTensorType>(operand.get().getType());
  if (cast<RankedTensorType>(sliced.getType()).getRank() == type.getRank())
    return sliced;
  auto element = cast<RankedTensorType>(sliced.getType()).getElementType();
  SmallVector<OpFoldResult> offsets, sizes,
      strides(type.getRank(), b.getIndexAttr(1));
  SmallVector<int64_t> unit;
  for (auto [expr, size] : llvm::zip(map.getResults(), type.getShape())) {
    auto constant = dyn_cast<AffineConstantExpr>(expr);
    offsets.push_back(b.getIndexAttr(constant ? constant.getValue() : 0));
    sizes.push_back(b.getIndexAttr(constant ? 1 : size));
    unit.push_back(constant ? 1 : size);
  }
  auto wide = RankedTensorType::get(type.getShape(), element);
  if (ArrayRef(unit) != type.getShape())
    return tensor::InsertSliceOp::create(b, loc, sliced, zeros(b, loc, wide),
                                         offsets, sizes, strides);
  auto groups = getReassociationIndicesForReshape(
      cast<RankedTensorType>(sliced.getType()), wide);
  if (!groups)
    return tensor::InsertSliceOp::create(b, loc, sliced, zeros(b, loc, wide),
                                         offsets, sizes, strides);
  return tensor::ExpandShapeOp::create(b, loc, wide, sliced, *groups);
}

FailureOr<Value> Adjoint::write() {
  AffineMap map = op.getMatchingIndexingMap(&operand);
  SmallVector<AffineExpr> axes;
  SmallVector<int64_t> shape;
  auto tensor = dyn_cast<RankedTensorType>(operand.get().getType());
  for (auto [i, expr] : llvm::enumerate(map.getResults()))
    if (!isa<AffineConstantExpr>(expr)) {
      axes.push_back(expr);
      shape.push_back(tensor.getDimSize(i));
    }
  nest.outMap = AffineMap::get(map.getNumDims(), 0, axes, b.getContext());
  if (!nest.outMap.isProjectedPermutation() &&
      failed(gatherWindows(b, loc, nest, shape, contribution)))
    return op.emitOpError("cannot be differentiated: expected operand ")
           << operand.getOperandNumber()
           << " to be read at a permutation of some loops, or at windows whose "
              "gradient is a correlation, got "
           << AffineMapAttr::get(map);
  Value sum = createSum(b, loc, nest, contribution);
  if (!tensor) {
    sum = tensor::ExtractOp::create(b, loc, sum, ValueRange());
    return castElements(b, loc, sum, operand.get().getType());
  }
  return castElements(b, loc, restoreConstantAxes(sum),
                      tensor.getElementType());
}

FailureOr<Value> Adjoint::run() {
  cloneBody();
  if (failed(sweepBody()))
    return failure();
  if (!contribution)
    return Value();
  return write();
}

FailureOr<Value> heddle::differentiateGeneric(OpBuilder &b,
                                              linalg::GenericOp op,
                                              ArrayRef<Value> cotangents,
                                              OpOperand &operand) {
  return Adjoint(b, op, cotangents, operand).run();
}

//===----------------------------------------------------------------------===//
// Largest and smallest
//===----------------------------------------------------------------------===//

/// The value that a reduction takes the maximum or minimum of, where the body
/// ends so; null otherwise.
static Value extremumTerm(linalg::GenericOp op) {
  if (op.getNumReductionLoops() == 0 || op->getNumResults() != 1)
    return {};
  Value yielded = op.getBody()->getTerminator()->getOperand(0);
  Operation *last = yielded.getDefiningOp();
  if (!isa_and_nonnull<arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp,
                       arith::MinNumFOp>(last))
    return {};
  BlockArgument accumulator = op.getRegionOutputArgs().front();
  if (!accumulator.hasOneUse())
    return {};
  for (unsigned i : {0u, 1u})
    if (last->getOperand(i) == accumulator &&
        last->getOperand(1 - i) != accumulator)
      return last->getOperand(1 - i);
  return {};
}

/// Whether a reduction starts from a number that no other one loses to.
static bool startsFromNothing(linalg::GenericOp op) {
  Value init = op.getDpsInits()[0];
  if (auto fill = init.getDefiningOp<linalg::FillOp>())
    init = fill.getInputs()[0];
  APFloat value(0.0);
  bool largest = isa<arith::MaximumFOp, arith::MaxNumFOp>(
      op.getBody()->getTerminator()->getOperand(0).getDefiningOp());
  if (DenseElementsAttr dense; matchPattern(init, m_Constant(&dense))) {
    if (!dense.isSplat())
      return false;
    value = dense.getSplatValue<APFloat>();
  } else if (!matchPattern(init, m_ConstantFloat(&value))) {
    return false;
  }
  return (value.isInfinity() || value.isLargest()) &&
         value.isNegative() == largest;
}

namespace {
/// y = max_i g_i: those that equal y share dy. One pass counts them, one adds
/// up dy / count where g_i = y, as a sum that the rule above differentiates.
class Extremum {
public:
  Extremum(OpBuilder &builder, linalg::GenericOp op, Value term,
           Value cotangent)
      : b(builder), loc(op.getLoc()), op(op), term(term), dy(cotangent),
        wide(accumulatorOf(getElementTypeOrSelf(dy.getType()))) {}

  LogicalResult run(const llvm::BitVector &needed,
                    SmallVectorImpl<Value> &gradients);

private:
  linalg::GenericOp sumWhereEqual(function_ref<Value(OpBuilder &, Value)> what,
                                  Value init);
  Value equalsInit(Value yes);

  OpBuilder &b;
  Location loc;
  linalg::GenericOp op;
  Value term, dy;
  Type wide;
};
} // namespace

/// sum_i what(g_i) [g_i = y] + init, in the accumulator type.
linalg::GenericOp
Extremum::sumWhereEqual(function_ref<Value(OpBuilder &, Value)> what,
                        Value init) {
  SmallVector<Value> inputs(op.getDpsInputs());
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  maps.insert(maps.end() - 1, maps.back());
  inputs.push_back(op->getResult(0));
  return linalg::GenericOp::create(
      b, loc, init.getType(), inputs, init, maps, op.getIteratorTypesArray(),
      [&](OpBuilder &inner, Location, ValueRange args) {
        IRMapping mapping;
        for (auto [from, to] :
             llvm::zip(op.getRegionInputArgs(), args.drop_back(2)))
          mapping.map(from, to);
        Operation *last =
            op.getBody()->getTerminator()->getOperand(0).getDefiningOp();
        for (Operation &o : op.getBody()->without_terminator())
          if (&o != last)
            inner.clone(o, mapping);
        Value g = mapping.lookupOrDefault(term), y = args[args.size() - 2];
        Value equal =
            arith::CmpFOp::create(inner, loc, arith::CmpFPredicate::OEQ, g, y);
        Value value = castElements(inner, loc, what(inner, g), wide);
        Value zero = zeros(inner, loc, wide);
        Value chosen = arith::SelectOp::create(inner, loc, equal, value, zero);
        Value sum = arith::AddFOp::create(inner, loc, args.back(), chosen);
        linalg::YieldOp::create(inner, loc, sum);
      });
}

/// `yes` (null: 1) where the initial value equals the result, else 0.
Value Extremum::equalsInit(Value yes) {
  auto type = cast<RankedTensorType>(dy.getType());
  AffineMap identity = b.getMultiDimIdentityMap(type.getRank());
  SmallVector<LoopOperand> inputs = {{op.getDpsInits()[0], identity},
                                     {op->getResult(0), identity}};
  if (yes)
    inputs.push_back({yes, identity});
  return buildGeneric(
      b, loc, inputs, type.getShape(), identity,
      [&](OpBuilder &b, Block::BlockArgListType args) -> Value {
        Value equal = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ,
                                            args[0], args[1]);
        return arith::SelectOp::create(
            b, loc, equal, yes ? args[2] : constantLike(b, loc, wide, 1.0),
            zeros(b, loc, wide));
      });
}

LogicalResult Extremum::run(const llvm::BitVector &needed,
                            SmallVectorImpl<Value> &gradients) {
  AffineMap outMap = op.getIndexingMapMatchingResult(op->getResult(0));
  OpOperand *init = op.getDpsInitOperand(0);
  bool initNeeded = needed.test(init->getOperandNumber());
  Type type = withElement(dy.getType(), wide);
  bool counted = initNeeded || !startsFromNothing(op);
  if (counted && !outMap.isProjectedPermutation())
    return op.emitOpError("cannot be differentiated: expected a result at a "
                          "permutation of some loops, got ")
           << AffineMapAttr::get(outMap);
  linalg::GenericOp count = sumWhereEqual(
      [&](OpBuilder &b, Value) { return constantLike(b, loc, wide, 1.0); },
      counted ? equalsInit({}) : zeros(b, loc, type));
  Value share = arith::DivFOp::create(b, loc, castElements(b, loc, dy, wide),
                                      count.getResult(0));
  if (initNeeded)
    gradients[init->getOperandNumber()] = castElements(
        b, loc, equalsInit(share), getElementTypeOrSelf(init->get().getType()));
  linalg::GenericOp sum = sumWhereEqual([](OpBuilder &, Value g) { return g; },
                                        zeros(b, loc, type));
  for (unsigned i = 0, e = op.getNumDpsInputs(); i != e; ++i) {
    if (!needed.test(i))
      continue;
    FailureOr<Value> gradient =
        differentiateGeneric(b, sum, share, sum->getOpOperand(i));
    if (failed(gradient))
      return failure();
    gradients[i] = *gradient;
  }
  sum.erase();
  return success();
}

//===----------------------------------------------------------------------===//
// The rule
//===----------------------------------------------------------------------===//

namespace {
struct GenericRule
    : DifferentiableOpInterface::ExternalModel<GenericRule, linalg::GenericOp> {
  LogicalResult differentiate(Operation *operation, OpBuilder &b,
                              ArrayRef<Value> cotangents,
                              const llvm::BitVector &needed,
                              SmallVectorImpl<Value> &gradients) const {
    auto op = cast<linalg::GenericOp>(operation);
    if (!op.hasPureTensorSemantics() || op.hasDynamicShape())
      return op.emitOpError(
          "cannot be differentiated: expected static tensors");
    // An element that is written more than once has no one value.
    for (OpResult result : op->getResults()) {
      AffineMap map = op.getIndexingMapMatchingResult(result);
      for (auto [d, kind] : llvm::enumerate(op.getIteratorTypesArray()))
        if (kind == utils::IteratorType::parallel && !map.isFunctionOfDim(d))
          return op.emitOpError("cannot be differentiated: expected results "
                                "that every parallel loop indexes, got ")
                 << AffineMapAttr::get(map);
      if (!map.isProjectedPermutation())
        return op.emitOpError("cannot be differentiated: expected a result at "
                              "a permutation of some loops, got ")
               << AffineMapAttr::get(map);
    }
    if (Value term = extremumTerm(op))
      return Extremum(b, op, term, cotangents[0]).run(needed, gradients);
    bool reduces = op.getNumReductionLoops() > 0;
    for (OpOperand &operand : op->getOpOperands()) {
      unsigned i = operand.getOperandNumber();
      if (!needed.test(i))
        continue;
      if (reduces && op.isDpsInit(&operand)) {
        gradients[i] = cotangents[i - op.getNumDpsInputs()];
        continue;
      }
      FailureOr<Value> gradient =
          differentiateGeneric(b, op, cotangents, operand);
      if (failed(gradient))
        return failure();
      gradients[i] = *gradient;
    }
    return success();
  }
};

/// y = x everywhere.
struct FillRule
    : DifferentiableOpInterface::ExternalModel<FillRule, linalg::FillOp> {
  LogicalResult differentiate(Operation *op, OpBuilder &b,
                              ArrayRef<Value> cotangents,
                              const llvm::BitVector &needed,
                              SmallVectorImpl<Value> &gradients) const {
    if (!needed.test(0))
      return success();
    Type type = op->getOperand(0).getType();
    Value sum = sumAll(b, op->getLoc(), cotangents[0]);
    if (!isa<RankedTensorType>(type))
      sum = tensor::ExtractOp::create(b, op->getLoc(), sum, ValueRange());
    gradients[0] =
        castElements(b, op->getLoc(), sum, getElementTypeOrSelf(type));
    return success();
  }
};

/// dx = y (dy - sum(dy y)): the maximum that y is shifted by cancels, and is
/// not differentiated.
struct SoftmaxRule
    : DifferentiableOpInterface::ExternalModel<SoftmaxRule, linalg::SoftmaxOp> {
  LogicalResult differentiate(Operation *operation, OpBuilder &b,
                              ArrayRef<Value> cotangents,
                              const llvm::BitVector &needed,
                              SmallVectorImpl<Value> &gradients) const {
    auto op = cast<linalg::SoftmaxOp>(operation);
    if (!needed.test(0))
      return success();
    Location loc = op.getLoc();
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    if (!type.hasStaticShape())
      return op.emitOpError(
          "cannot be differentiated: expected static tensors");
    Type wide = accumulatorOf(type.getElementType());
    unsigned rank = type.getRank(), axis = op.getDimension();
    AffineMap all = b.getMultiDimIdentityMap(rank), row = all.dropResult(axis);
    Value y = op->getResult(0), dy = cotangents[0];
    auto extended = [&](OpBuilder &b, Value v) {
      return castElements(b, loc, v, wide);
    };
    Value dot =
        buildGeneric(b, loc, {{dy, all}, {y, all}}, type.getShape(), row,
                     [&](OpBuilder &b, Block::BlockArgListType args) -> Value {
                       return arith::MulFOp::create(
                           b, loc, extended(b, args[0]), extended(b, args[1]));
                     });
    Value dx = buildGeneric(
        b, loc, {{dy, all}, {y, all}, {dot, row}}, type.getShape(), all,
        [&](OpBuilder &b, Block::BlockArgListType args) -> Value {
          Value difference =
              arith::SubFOp::create(b, loc, extended(b, args[0]), args[2]);
          return arith::MulFOp::create(b, loc, difference,
                                       extended(b, args[1]));
        });
    gradients[0] = castElements(
        b, loc, dx, getElementTypeOrSelf(op->getOperand(0).getType()));
    return success();
  }
};
} // namespace

void heddle::registerLinalgRules(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, linalg::LinalgDialect *) {
    linalg::GenericOp::attachInterface<GenericRule>(*context);
    linalg::FillOp::attachInterface<FillRule>(*context);
    linalg::SoftmaxOp::attachInterface<SoftmaxRule>(*context);
  });
}
