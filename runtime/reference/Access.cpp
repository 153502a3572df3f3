//===- Access.cpp - where a loop point reads or writes --------------------===//

#include "Access.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace heddle::reference {

int64_t evaluateExpr(AffineExpr expr, ArrayRef<int64_t> point) {
  switch (expr.getKind()) {
  case AffineExprKind::Constant:
    return cast<AffineConstantExpr>(expr).getValue();
  case AffineExprKind::DimId:
    return point[cast<AffineDimExpr>(expr).getPosition()];
  case AffineExprKind::SymbolId:
    return 0; // contract M has no symbols
  default:
    break;
  }
  auto binary = cast<AffineBinaryOpExpr>(expr);
  int64_t a = evaluateExpr(binary.getLHS(), point);
  int64_t b = evaluateExpr(binary.getRHS(), point);
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return a + b;
  case AffineExprKind::Mul:
    return a * b;
  case AffineExprKind::Mod:
    return b > 0 ? llvm::mod(a, b) : 0;
  case AffineExprKind::FloorDiv:
    return b > 0 ? llvm::divideFloorSigned(a, b) : 0;
  default:
    return b > 0 ? llvm::divideCeilSigned(a, b) : 0;
  }
}

/// Adds factor * expr to (constant, coefficients); false if not linear.
static bool addLinear(AffineExpr expr, int64_t factor, int64_t &constant,
                      MutableArrayRef<int64_t> coefficients) {
  if (auto value = dyn_cast<AffineConstantExpr>(expr)) {
    constant += factor * value.getValue();
    return true;
  }
  if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
    coefficients[dim.getPosition()] += factor;
    return true;
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return false;
  AffineExpr lhs = binary.getLHS(), rhs = binary.getRHS();
  if (expr.getKind() == AffineExprKind::Add)
    return addLinear(lhs, factor, constant, coefficients) &&
           addLinear(rhs, factor, constant, coefficients);
  if (expr.getKind() != AffineExprKind::Mul)
    return false;
  if (auto value = dyn_cast<AffineConstantExpr>(rhs))
    return addLinear(lhs, factor * value.getValue(), constant, coefficients);
  if (auto value = dyn_cast<AffineConstantExpr>(lhs))
    return addLinear(rhs, factor * value.getValue(), constant, coefficients);
  return false;
}

Access Access::get(AffineMap map, ArrayRef<int64_t> shape) {
  Access access;
  access.map = map;
  access.shape.assign(shape.begin(), shape.end());
  access.tensorStrides = rowMajorStrides(shape);
  access.strides.assign(map.getNumDims(), 0);
  for (auto [expr, stride] : llvm::zip(map.getResults(), access.tensorStrides))
    if (!addLinear(expr, stride, access.base, access.strides))
      access.linear = false;
  return access;
}

Access Access::splat(unsigned numLoops) {
  Access access;
  access.strides.assign(numLoops, 0);
  return access;
}

int64_t Access::offset(ArrayRef<int64_t> point) const {
  int64_t result = 0;
  if (linear) {
    result = base;
    for (auto [index, stride] : llvm::zip(point, strides))
      result += index * stride;
    return result;
  }
  for (auto [d, expr] : llvm::enumerate(map.getResults())) {
    int64_t index = evaluateExpr(expr, point);
    if (index < 0 || index >= shape[d])
      return -1;
    result += index * tensorStrides[d];
  }
  return result;
}

bool Access::inBounds(ArrayRef<int64_t> loops) const {
  if (!map || !linear)
    return true;
  for (auto [d, expr] : llvm::enumerate(map.getResults())) {
    int64_t low = 0;
    Shape coefficients(loops.size(), 0);
    addLinear(expr, 1, low, coefficients);
    int64_t high = low;
    for (auto [c, n] : llvm::zip(coefficients, loops))
      (c < 0 ? low : high) += c * (n - 1);
    if (low < 0 || high >= shape[d])
      return false;
  }
  return true;
}

} // namespace heddle::reference
