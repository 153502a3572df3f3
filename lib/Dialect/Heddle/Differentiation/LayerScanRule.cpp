//===- LayerScanRule.cpp - gradients of layer loops -----------------------===//
//
// The gradient of a layer scan is one in the other direction. It carries the
// cotangents of the carried values and the sums of gradients of invariant
// operands, and yields a gradient per layer of each stacked operand. Values of
// the forward body that it reads are yielded by the forward scan, stacked, and
// come in with their layer.
//
//===----------------------------------------------------------------------===//

#include "Rules.h"
#include "heddle/Dialect/Heddle/Differentiation/Differentiation.h"
#include "heddle/Dialect/Heddle/IR/DifferentiableOpInterface.h"
#include "heddle/Dialect/Heddle/IR/Heddle.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace heddle;

namespace {
class LayerScanGradient {
public:
  LayerScanGradient(OpBuilder &builder, LayerScanOp op,
                    ArrayRef<Value> cotangents, const llvm::BitVector &needed,
                    SmallVectorImpl<Value> &gradients)
      : b(builder), loc(op.getLoc()), op(op), cotangents(cotangents),
        needed(needed), gradients(gradients), forward(op.getBody().front()),
        numCarried(op.getCarried().size()), numStacked(op.getStacked().size()) {
  }

  LogicalResult run();

private:
  void findActive();
  bool isCarried(unsigned arg) const { return arg < numCarried; }
  bool isStacked(unsigned arg) const {
    return !isCarried(arg) && arg < numCarried + numStacked;
  }
  Type stackedType(Type type);
  BlockArgument addStacked(Type slice, Value operand);
  void addArguments();
  void cloneForward();
  LogicalResult sweep();
  void cutResiduals();
  void removeUnused();
  void widenForward();
  void write();

  OpBuilder &b;
  Location loc;
  LayerScanOp op;
  ArrayRef<Value> cotangents;
  const llvm::BitVector &needed;
  SmallVectorImpl<Value> &gradients;
  Block &forward;
  unsigned numCarried, numStacked;

  SmallVector<unsigned> active; // arguments of the forward body
  std::unique_ptr<Block> body = std::make_unique<Block>();
  // Operands of the backward scan, in the order of the body's arguments. A null
  // stacked operand is a residual that the forward scan still has to yield.
  SmallVector<Value> carried, stacked, invariant;
  SmallVector<Value> residuals; // per stacked operand: the forward value or null
  SmallVector<unsigned> carriedOf, summedOf; // forward arguments
  SmallVector<Value> outputs, given;         // in the backward body
  IRMapping mapping;                         // forward body -> backward body
  DenseSet<Operation *> clones;              // of forward ops
  SmallVector<Value> found;                  // gradient per active argument
  SmallVector<unsigned> slices;              // active stacked arguments
};
} // namespace

/// Arguments that the value depends on; a carried value may become so from one
/// layer to the next.
void LayerScanGradient::findActive() {
  SmallVector<Value> inputs;
  for (BlockArgument arg : forward.getArguments())
    if (needed.test(arg.getArgNumber()))
      inputs.push_back(arg);
  for (bool changed = true; changed;) {
    changed = false;
    DenseSet<Value> values = activeValues(forward, inputs);
    for (unsigned i = 0; i < numCarried; ++i) {
      Value next = forward.getTerminator()->getOperand(i);
      Value arg = forward.getArgument(i);
      if (values.contains(next) && !llvm::is_contained(inputs, arg)) {
        inputs.push_back(arg);
        changed = true;
      }
    }
  }
  for (BlockArgument arg : forward.getArguments())
    if (llvm::is_contained(inputs, arg))
      active.push_back(arg.getArgNumber());
}

Type LayerScanGradient::stackedType(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  SmallVector<int64_t> shape{op.getNumLayers()};
  llvm::append_range(shape, tensor.getShape());
  return RankedTensorType::get(shape, tensor.getElementType());
}

BlockArgument LayerScanGradient::addStacked(Type slice, Value operand) {
  unsigned at = carried.size() + stacked.size();
  stacked.push_back(operand);
  residuals.push_back({});
  return body->insertArgument(at, slice, loc);
}

/// Carried cotangents, sums of invariant gradients, cotangents per layer.
void LayerScanGradient::addArguments() {
  auto yielded = forward.getTerminator()->getOperands();
  SmallVector<Value> carriedCotangents;
  for (unsigned i : active) {
    if (!isCarried(i))
      continue;
    Type type = forward.getArgument(i).getType();
    carried.push_back(cotangents[i] ? cotangents[i] : zeros(b, loc, type));
    carriedOf.push_back(i);
    carriedCotangents.push_back(body->addArgument(type, loc));
  }
  for (unsigned i : active) {
    if (isCarried(i) || isStacked(i))
      continue;
    Type type = forward.getArgument(i).getType();
    type = withElement(type, accumulatorOf(getElementTypeOrSelf(type)));
    carried.push_back(zeros(b, loc, type));
    summedOf.push_back(i);
    body->addArgument(type, loc);
  }
  for (auto [i, cotangent] : llvm::zip(carriedOf, carriedCotangents)) {
    outputs.push_back(yielded[i]);
    given.push_back(cotangent);
  }
  for (unsigned i = numCarried, e = yielded.size(); i != e; ++i)
    if (cotangents[i]) {
      outputs.push_back(yielded[i]);
      given.push_back(addStacked(yielded[i].getType(), cotangents[i]));
    }
}

void LayerScanGradient::cloneForward() {
  for (BlockArgument arg : forward.getArguments()) {
    unsigned i = arg.getArgNumber();
    if (isCarried(i)) {
      mapping.map(arg, addStacked(arg.getType(), {}));
      residuals.back() = arg;
    } else if (isStacked(i)) {
      mapping.map(arg, addStacked(arg.getType(), op->getOperand(i)));
    } else {
      mapping.map(arg, body->addArgument(arg.getType(), loc));
      invariant.push_back(op->getOperand(i));
    }
  }
  OpBuilder inner(b.getContext()); // the block has no parent yet
  inner.setInsertionPointToEnd(body.get());
  for (Operation &o : forward.without_terminator())
    clones.insert(inner.clone(o, mapping));
}

LogicalResult LayerScanGradient::sweep() {
  SmallVector<Value> inputs;
  for (unsigned i : active)
    inputs.push_back(mapping.lookup(forward.getArgument(i)));
  for (Value &v : outputs)
    v = mapping.lookupOrDefault(v);
  OpBuilder inner(b.getContext()); // the block has no parent yet
  inner.setInsertionPointToEnd(body.get());
  if (failed(differentiateBlock(inner, *body, inputs, outputs, given, found)))
    return failure();
  SmallVector<Value> yields, perLayer;
  auto gradientOf = [&](unsigned arg) -> Value & {
    return found[llvm::find(active, arg) - active.begin()];
  };
  for (unsigned i : carriedOf) {
    Value gradient = gradientOf(i);
    yields.push_back(gradient ? gradient
                              : zeros(inner, loc,
                                      forward.getArgument(i).getType()));
  }
  for (auto [k, i] : llvm::enumerate(summedOf)) {
    Value sum = body->getArgument(carriedOf.size() + k);
    if (Value gradient = gradientOf(i))
      sum = arith::AddFOp::create(
          inner, loc, sum,
          castCotangent(inner, loc, gradient,
                        getElementTypeOrSelf(sum.getType())));
    yields.push_back(sum);
  }
  for (unsigned i : active) {
    if (!isStacked(i) || !gradientOf(i))
      continue;
    slices.push_back(i);
    yields.push_back(gradientOf(i));
  }
  YieldOp::create(inner, loc, yields);
  return success();
}

/// Forward values that the backward ops read come in by layer; constants stay.
void LayerScanGradient::cutResiduals() {
  auto isForward = [&](Operation *user) {
    return clones.contains(body->findAncestorOpInBlock(*user));
  };
  for (Operation &o : forward.without_terminator()) {
    if (o.hasTrait<OpTrait::ConstantLike>() || isa<tensor::EmptyOp>(o))
      continue;
    for (Value original : o.getResults()) {
      Value clone = mapping.lookup(original);
      if (!isa<RankedTensorType>(original.getType()) ||
          llvm::all_of(clone.getUsers(), isForward))
        continue;
      BlockArgument argument = addStacked(original.getType(), {});
      residuals.back() = original;
      clone.replaceUsesWithIf(argument, [&](OpOperand &use) {
        return !isForward(use.getOwner());
      });
    }
  }
}

void LayerScanGradient::removeUnused() {
  for (Operation &o : llvm::make_early_inc_range(llvm::reverse(*body)))
    if (isOpTriviallyDead(&o))
      o.erase();
  auto remove = [&](SmallVectorImpl<Value> &operands, unsigned begin,
                    SmallVectorImpl<Value> *beside) {
    for (unsigned i = operands.size(); i-- > 0;) {
      if (!body->getArgument(begin + i).use_empty())
        continue;
      body->eraseArgument(begin + i);
      operands.erase(operands.begin() + i);
      if (beside)
        beside->erase(beside->begin() + i);
    }
  };
  remove(invariant, carried.size() + stacked.size(), nullptr);
  remove(stacked, carried.size(), &residuals);
  if (stacked.empty()) // it says how many layers there are
    addStacked(forward.getArgument(numCarried).getType(),
               op->getOperand(numCarried));
}

/// Another forward scan in the place of this one, which also yields residuals.
void LayerScanGradient::widenForward() {
  SmallVector<Value> wanted;
  for (Value v : residuals)
    if (v)
      wanted.push_back(v);
  if (wanted.empty())
    return;
  SmallVector<Type> types(op->getResultTypes());
  for (Value v : wanted)
    types.push_back(stackedType(v.getType()));
  OpBuilder before(op);
  auto wider = LayerScanOp::create(before, loc, types, op.getCarried(),
                                   op.getStacked(), op.getInvariant(),
                                   op.getPolicyAttr(), op.getReverse());
  IRMapping copy;
  op.getBody().cloneInto(&wider.getBody(), copy);
  Operation *terminator = wider.getBody().front().getTerminator();
  for (Value v : wanted)
    terminator->insertOperands(terminator->getNumOperands(), copy.lookup(v));
  unsigned next = op->getNumResults();
  for (auto [operand, v] : llvm::zip(stacked, residuals))
    if (v)
      operand = wider->getResult(next++);
  op->replaceAllUsesWith(wider->getResults().take_front(op->getNumResults()));
}

void LayerScanGradient::write() {
  SmallVector<Type> types;
  for (Value v : carried)
    types.push_back(v.getType());
  for (unsigned i : slices)
    types.push_back(op->getOperand(i).getType());
  auto scan = LayerScanOp::create(b, loc, types, carried, stacked, invariant,
                                  RematPolicyAttr(), !op.getReverse());
  scan.getBody().push_back(body.release());
  unsigned next = 0;
  auto set = [&](unsigned i) {
    Value gradient = scan->getResult(next++);
    if (needed.test(i))
      gradients[i] = castElements(
          b, loc, gradient, getElementTypeOrSelf(op->getOperand(i).getType()));
  };
  llvm::for_each(carriedOf, set);
  llvm::for_each(summedOf, set);
  llvm::for_each(slices, set);
}

LogicalResult LayerScanGradient::run() {
  findActive();
  addArguments();
  cloneForward();
  if (failed(sweep()))
    return failure();
  cutResiduals();
  removeUnused();
  widenForward();
  write();
  return success();
}

namespace {
struct LayerScanRule
    : DifferentiableOpInterface::ExternalModel<LayerScanRule, LayerScanOp> {
  LogicalResult differentiate(Operation *operation, OpBuilder &b,
                              ArrayRef<Value> cotangents,
                              const llvm::BitVector &needed,
                              SmallVectorImpl<Value> &gradients) const {
    auto op = cast<LayerScanOp>(operation);
    if (ShapedType::isDynamic(op.getNumLayers()))
      return op.emitOpError("cannot be differentiated: expected static tensors");
    return LayerScanGradient(b, op, cotangents, needed, gradients).run();
  }
};
} // namespace

void heddle::registerLayerScanRule(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, HeddleDialect *) {
    LayerScanOp::attachInterface<LayerScanRule>(*context);
  });
}
