//===- LoopNest.cpp - writes the loop nests of gradients ------------------===//

#include "Adjoint.h"
#include "heddle/Dialect/Heddle/Differentiation/Differentiation.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace heddle;

void heddle::eraseDead(Block &body, Value wanted) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
    if (isOpTriviallyDead(&op) && !llvm::is_contained(op.getResults(), wanted))
      op.erase();
}

void heddle::removeUnused(LoopNest &nest, Value contribution) {
  eraseDead(*nest.body, contribution);
  for (unsigned i = nest.inputs.size(); i-- > 0;) {
    if (!nest.element(i).use_empty() || nest.element(i) == contribution)
      continue;
    nest.body->eraseArgument(i);
    nest.inputs.erase(nest.inputs.begin() + i);
  }
}

/// Numbers the loops anew: `moved` says what replaces each of the old ones.
static void renumber(LoopNest &nest, ArrayRef<AffineExpr> moved,
                     ArrayRef<int64_t> sizes) {
  auto apply = [&](AffineMap map) {
    return map.replaceDimsAndSymbols(moved, {}, sizes.size(), 0);
  };
  for (LoopOperand &input : nest.inputs)
    input.map = apply(input.map);
  nest.outMap = apply(nest.outMap);
  nest.sizes.assign(sizes.begin(), sizes.end());
  nest.body->walk([&](linalg::IndexOp index) {
    index.setDim(cast<AffineDimExpr>(moved[index.getDim()]).getPosition());
  });
}

/// Every loop's size has to follow from an operand. Over a loop that nothing
/// uses equal contributions add up: a factor. Where a position or the body
/// depends on the loop, a tensor of zeros shows its size.
static Value coverLoops(OpBuilder &b, Location loc, LoopNest &nest,
                        Value contribution) {
  unsigned loops = nest.sizes.size();
  llvm::BitVector covered(loops), used(loops);
  auto cover = [&](AffineMap map) {
    for (AffineExpr e : map.getResults())
      if (auto dim = dyn_cast<AffineDimExpr>(e))
        covered.set(dim.getPosition());
    for (unsigned d : llvm::seq<unsigned>(0, loops))
      if (map.isFunctionOfDim(d))
        used.set(d);
  };
  cover(nest.outMap);
  for (LoopOperand &input : nest.inputs)
    cover(input.map);
  nest.body->walk([&](linalg::IndexOp op) { used.set(op.getDim()); });
  for (unsigned d : llvm::seq<unsigned>(0, loops)) {
    if (covered.test(d) || !used.test(d))
      continue;
    Value shown =
        zeros(b, loc, RankedTensorType::get(nest.sizes[d], b.getF32Type()));
    nest.body->insertArgument(nest.inputs.size(), b.getF32Type(), loc);
    nest.inputs.push_back({shown, AffineMap::get(loops, 0,
                                                 b.getAffineDimExpr(d))});
    covered.set(d);
  }
  if (covered.all())
    return contribution;
  SmallVector<AffineExpr> moved;
  SmallVector<int64_t> sizes;
  double copies = 1;
  for (unsigned d : llvm::seq<unsigned>(0, loops)) {
    moved.push_back(b.getAffineDimExpr(covered.test(d) ? sizes.size() : 0));
    if (covered.test(d))
      sizes.push_back(nest.sizes[d]);
    else
      copies *= nest.sizes[d];
  }
  renumber(nest, moved, sizes);
  OpBuilder inner(b.getContext());
  inner.setInsertionPointToEnd(nest.body.get());
  Value factor = constantLike(inner, loc, contribution.getType(), copies);
  return arith::MulFOp::create(inner, loc, contribution, factor);
}

/// Loops in the order of the result's axes, then those that are summed over.
static void orderLoops(OpBuilder &b, LoopNest &nest) {
  SmallVector<unsigned> order;
  llvm::BitVector placed(nest.sizes.size());
  for (AffineExpr e : nest.outMap.getResults()) {
    order.push_back(cast<AffineDimExpr>(e).getPosition());
    placed.set(order.back());
  }
  for (unsigned d : llvm::seq<unsigned>(0, nest.sizes.size()))
    if (!placed.test(d))
      order.push_back(d);
  SmallVector<AffineExpr> moved(nest.sizes.size());
  SmallVector<int64_t> sizes;
  for (auto [to, from] : llvm::enumerate(order)) {
    moved[from] = b.getAffineDimExpr(to);
    sizes.push_back(nest.sizes[from]);
  }
  renumber(nest, moved, sizes);
}

/// The right operand of a product holds the last axis of the result, which is
/// how products are tiled.
static void orderFactors(LoopNest &nest) {
  if (nest.inputs.size() != 2 || nest.outMap.getNumResults() == 0)
    return;
  unsigned last =
      cast<AffineDimExpr>(nest.outMap.getResults().back()).getPosition();
  auto uses = [&](unsigned i) {
    return nest.inputs[i].map.isFunctionOfDim(last);
  };
  if (!uses(0) || uses(1))
    return;
  Block &body = *nest.body;
  BlockArgument left = body.getArgument(0);
  BlockArgument second =
      body.insertArgument(2, left.getType(), left.getLoc());
  left.replaceAllUsesWith(second);
  body.eraseArgument(0);
  std::swap(nest.inputs[0], nest.inputs[1]);
}

/// The result where every contribution is one constant; null otherwise.
static Value constantSum(OpBuilder &b, Location loc, LoopNest &nest,
                         Value contribution) {
  APFloat value(0.0);
  if (!matchPattern(contribution, m_ConstantFloat(&value)))
    return {};
  bool exact;
  value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &exact);
  double sum = value.convertToDouble();
  SmallVector<int64_t> shape;
  for (AffineExpr e : nest.outMap.getResults())
    shape.push_back(nest.sizes[cast<AffineDimExpr>(e).getPosition()]);
  for (auto [d, size] : llvm::enumerate(nest.sizes))
    if (!nest.outMap.isFunctionOfDim(d))
      sum *= size;
  return constantLike(b, loc,
                      RankedTensorType::get(shape, contribution.getType()),
                      sum);
}

Value heddle::createSum(OpBuilder &b, Location loc, LoopNest &nest,
                        Value contribution) {
  removeUnused(nest, contribution);
  if (Value constant = constantSum(b, loc, nest, contribution))
    return constant;
  contribution = coverLoops(b, loc, nest, contribution);
  orderLoops(b, nest);
  Type element = contribution.getType();
  unsigned results = nest.outMap.getNumResults();
  SmallVector<utils::IteratorType> iterators(nest.sizes.size(),
                                             utils::IteratorType::reduction);
  std::fill_n(iterators.begin(), results, utils::IteratorType::parallel);
  bool sums = results < nest.sizes.size();
  OpBuilder inner(b.getContext()); // the block has no parent yet
  inner.setInsertionPointToEnd(nest.body.get());
  Value accumulator = nest.body->addArgument(element, loc), stored = contribution;
  if (sums) {
    stored = arith::AddFOp::create(inner, loc, accumulator, contribution);
    orderFactors(nest);
  }
  linalg::YieldOp::create(inner, loc, stored);
  ArrayRef<int64_t> shape = ArrayRef(nest.sizes).take_front(results);
  auto type = RankedTensorType::get(shape, element);
  Value init = sums ? zeros(b, loc, type)
                    : Value(tensor::EmptyOp::create(b, loc, shape, element));
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  for (LoopOperand &input : nest.inputs) {
    inputs.push_back(input.value);
    maps.push_back(input.map);
  }
  maps.push_back(nest.outMap);
  auto op = linalg::GenericOp::create(b, loc, type, inputs, init, maps,
                                      iterators);
  op.getRegion().push_back(nest.body.release());
  return op.getResult(0);
}

Value heddle::buildGeneric(
    OpBuilder &b, Location loc, ArrayRef<LoopOperand> inputs,
    ArrayRef<int64_t> sizes, AffineMap outMap,
    function_ref<Value(OpBuilder &, Block::BlockArgListType)> body) {
  LoopNest nest;
  nest.inputs.assign(inputs.begin(), inputs.end());
  nest.sizes.assign(sizes.begin(), sizes.end());
  nest.outMap = outMap;
  for (const LoopOperand &input : inputs)
    nest.body->addArgument(getElementTypeOrSelf(input.value.getType()), loc);
  OpBuilder inner(b.getContext()); // the block has no parent yet
  inner.setInsertionPointToEnd(nest.body.get());
  Value contribution = body(inner, nest.body->getArguments());
  return createSum(b, loc, nest, contribution);
}

Value heddle::sumAll(OpBuilder &b, Location loc, Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  Type element = type.getElementType(), wide = accumulatorOf(element);
  Value sum = buildGeneric(
      b, loc, {{value, b.getMultiDimIdentityMap(type.getRank())}},
      type.getShape(), AffineMap::get(type.getRank(), 0, b.getContext()),
      [&](OpBuilder &b, Block::BlockArgListType args) {
        return castElements(b, loc, args[0], wide);
      });
  return castElements(b, loc, sum, element);
}
