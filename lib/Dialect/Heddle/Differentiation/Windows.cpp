//===- Windows.cpp - gradients of what convolutions read ------------------===//
//
// A forward op reads x[s*o + d*k + ...]. Swapping roles would write the gradient
// there, from several o and k at once. Instead each element i of x gathers: with
// r = d*k + ..., o = (i - r) / s where that is a whole number in range. What o
// indexes is spread out with stride s and padded with zeros, so that it can be
// read at i - r, and contributes zero where there is no such o.
//
//===----------------------------------------------------------------------===//

#include "Adjoint.h"
#include "heddle/Dialect/Heddle/Differentiation/Differentiation.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace heddle;

/// expr = sum of factors[d] * d + constant; false for divisions.
static bool linearForm(AffineExpr expr, int64_t scale,
                       SmallVectorImpl<int64_t> &factors, int64_t &constant) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
    factors[dim.getPosition()] += scale;
    return true;
  }
  if (auto value = dyn_cast<AffineConstantExpr>(expr)) {
    constant += scale * value.getValue();
    return true;
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return false;
  if (expr.getKind() == AffineExprKind::Add)
    return linearForm(binary.getLHS(), scale, factors, constant) &&
           linearForm(binary.getRHS(), scale, factors, constant);
  auto factor = dyn_cast<AffineConstantExpr>(binary.getRHS());
  return expr.getKind() == AffineExprKind::Mul && factor &&
         linearForm(binary.getLHS(), scale * factor.getValue(), factors,
                    constant);
}

/// Whether `value` is 0 where those elements are that `zero` names.
static bool vanishes(Value value, const DenseSet<Value> &zero) {
  if (zero.contains(value) || matchPattern(value, m_AnyZeroFloat()))
    return true;
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<arith::MulFOp>(op))
    return vanishes(op->getOperand(0), zero) ||
           vanishes(op->getOperand(1), zero);
  if (isa_and_nonnull<arith::DivFOp, arith::ExtFOp, arith::TruncFOp,
                      arith::NegFOp>(op))
    return vanishes(op->getOperand(0), zero);
  if (isa_and_nonnull<arith::AddFOp, arith::SubFOp>(op))
    return vanishes(op->getOperand(0), zero) &&
           vanishes(op->getOperand(1), zero);
  if (isa_and_nonnull<arith::SelectOp>(op))
    return vanishes(op->getOperand(1), zero) &&
           vanishes(op->getOperand(2), zero);
  return false;
}

namespace {
/// One axis of the output whose position is not one loop.
class Window {
public:
  Window(OpBuilder &builder, Location loc, LoopNest &nest, unsigned axis,
         int64_t extent, Value contribution)
      : b(builder), loc(loc), nest(nest), axis(axis), extent(extent),
        contribution(contribution),
        position(nest.outMap.getResult(axis)) {}

  LogicalResult rewrite();

private:
  bool canReplace(unsigned loop);
  void replace(unsigned loop);
  Value spread(Value value, unsigned axis, unsigned loop);
  bool needsSpreading(unsigned loop) {
    return factors[loop] != 1 || lowest != highest ||
           nest.sizes[loop] != extent || lowest != 0;
  }

  OpBuilder &b;
  Location loc;
  LoopNest &nest;
  unsigned axis;
  int64_t extent;
  Value contribution;
  AffineExpr position;
  SmallVector<int64_t> factors;
  int64_t constant = 0;
  int64_t lowest = 0, highest = 0; // of the position without the loop's term
};
} // namespace

/// Whether elements of the output can take the place of `loop`: other operands
/// read it as an axis or not at all, and padding counts for nothing.
bool Window::canReplace(unsigned loop) {
  if (factors[loop] <= 0)
    return false;
  for (auto [i, e] : llvm::enumerate(nest.outMap.getResults()))
    if (i != axis && e.isFunctionOfDim(loop))
      return false;
  bool indexed = false;
  nest.body->walk([&](linalg::IndexOp op) { indexed |= op.getDim() == loop; });
  if (indexed)
    return false;
  lowest = highest = constant;
  for (auto [d, factor] : llvm::enumerate(factors)) {
    if (d == loop)
      continue;
    int64_t reach = factor * (nest.sizes[d] - 1);
    (reach < 0 ? lowest : highest) += reach;
  }
  DenseSet<Value> zero;
  for (auto [i, input] : llvm::enumerate(nest.inputs)) {
    unsigned axes = 0;
    for (AffineExpr e : input.map.getResults()) {
      if (e == position || !e.isFunctionOfDim(loop))
        continue;
      if (!isa<AffineDimExpr>(e) || ++axes > 1)
        return false;
      zero.insert(nest.element(i));
    }
  }
  return !needsSpreading(loop) || vanishes(contribution, zero);
}

/// `value` with the axis that `loop` indexes spread over extent + the reach of
/// the other terms.
Value Window::spread(Value value, unsigned axis, unsigned loop) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[axis] = extent + highest - lowest;
  SmallVector<OpFoldResult> offsets(shape.size(), b.getIndexAttr(0)),
      strides(shape.size(), b.getIndexAttr(1)), sizes;
  for (int64_t d : type.getShape())
    sizes.push_back(b.getIndexAttr(d));
  offsets[axis] = b.getIndexAttr(highest);
  strides[axis] = b.getIndexAttr(factors[loop]);
  Value padded =
      zeros(b, loc, RankedTensorType::get(shape, type.getElementType()));
  return tensor::InsertSliceOp::create(b, loc, value, padded, offsets, sizes,
                                       strides);
}

void Window::replace(unsigned loop) {
  // loop -> (i - rest): rest without the loop's own term, from 0.
  AffineExpr i = b.getAffineDimExpr(loop), rest = i + (highest - constant);
  for (auto [d, factor] : llvm::enumerate(factors))
    if (d != loop && factor != 0)
      rest = rest - b.getAffineDimExpr(d) * factor;
  bool spreads = needsSpreading(loop);
  for (LoopOperand &input : nest.inputs) {
    SmallVector<AffineExpr> results(input.map.getResults());
    for (auto [a, e] : llvm::enumerate(results)) {
      if (e == position) {
        e = i;
      } else if (e == i && spreads) {
        input.value = spread(input.value, a, loop);
        e = rest;
      }
    }
    input.map = AffineMap::get(input.map.getNumDims(), 0, results,
                               b.getContext());
  }
  SmallVector<AffineExpr> results(nest.outMap.getResults());
  results[axis] = i;
  nest.outMap =
      AffineMap::get(nest.outMap.getNumDims(), 0, results, b.getContext());
  nest.sizes[loop] = extent;
}

LogicalResult Window::rewrite() {
  factors.assign(nest.sizes.size(), 0);
  if (!linearForm(position, 1, factors, constant))
    return failure();
  for (unsigned loop : llvm::seq<unsigned>(0, factors.size()))
    if (canReplace(loop)) {
      replace(loop);
      return success();
    }
  return failure();
}

LogicalResult heddle::gatherWindows(OpBuilder &b, Location loc, LoopNest &nest,
                                    ArrayRef<int64_t> outShape,
                                    Value contribution) {
  removeUnused(nest, contribution);
  for (auto [axis, extent] : llvm::enumerate(outShape))
    if (!isa<AffineDimExpr>(nest.outMap.getResult(axis)) &&
        failed(Window(b, loc, nest, axis, extent, contribution).rewrite()))
      return failure();
  return success(nest.outMap.isProjectedPermutation());
}
