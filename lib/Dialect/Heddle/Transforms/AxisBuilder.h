//===- AxisBuilder.h - structured ops on axes that have names ---*- C++ -*-===//
//
// Private to lib/Dialect/Heddle/Transforms: what decompositions are written
// with. An axis is a letter, a tensor a string of them.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_LIB_DIALECT_HEDDLE_TRANSFORMS_AXISBUILDER_H
#define HEDDLE_LIB_DIALECT_HEDDLE_TRANSFORMS_AXISBUILDER_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/PatternMatch.h"

namespace heddle {

/// Fails with an error at an op that has a dynamic operand: decompositions write
/// out loops of known extents.
llvm::LogicalResult expectStaticShapes(mlir::Operation *op);

/// Rewrites every `OpTy` below `root`; stops at the first that fails. `rewrite`
/// may replace the op it is given.
template <typename OpTy, typename Rewrite>
llvm::LogicalResult rewriteEach(mlir::Operation *root, Rewrite rewrite) {
  llvm::SmallVector<OpTy> ops;
  root->walk([&](OpTy op) { ops.push_back(op); });
  mlir::IRRewriter rewriter(root->getContext());
  for (OpTy op : ops)
    if (failed(rewrite(rewriter, op)))
      return llvm::failure();
  return llvm::success();
}

/// An operand and the letters of its axes.
struct Named {
  mlir::Value value;
  llvm::StringRef axes;
};

class AxisBuilder {
public:
  using Value = mlir::Value;
  using Body = llvm::function_ref<Value(mlir::OpBuilder &, mlir::ValueRange)>;

  AxisBuilder(mlir::OpBuilder &builder, mlir::Location loc)
      : b(builder), loc(loc), f32(builder.getF32Type()) {}
  virtual ~AxisBuilder() = default;

  // Scalars, in the body of an op.
  Value constant(double value, mlir::OpBuilder &b) {
    return mlir::arith::ConstantOp::create(b, loc, b.getF32FloatAttr(value));
  }
  Value extend(Value v, mlir::OpBuilder &b) {
    return v.getType().isF32() ? v
                               : mlir::arith::ExtFOp::create(b, loc, f32, v);
  }
  Value truncate(Value v, mlir::Type type, mlir::OpBuilder &b) {
    return v.getType() == type ? v
                               : mlir::arith::TruncFOp::create(b, loc, type, v);
  }
  Value exp(Value v, mlir::OpBuilder &b) {
    return mlir::math::ExpOp::create(b, loc, v);
  }
  Value add(Value x, Value y, mlir::OpBuilder &b) {
    return mlir::arith::AddFOp::create(b, loc, x, y);
  }
  Value subtract(Value x, Value y, mlir::OpBuilder &b) {
    return mlir::arith::SubFOp::create(b, loc, x, y);
  }
  Value multiply(Value x, Value y, mlir::OpBuilder &b) {
    return mlir::arith::MulFOp::create(b, loc, x, y);
  }
  Value compare(mlir::arith::CmpFPredicate predicate, Value x, Value y,
                mlir::OpBuilder &b) {
    return mlir::arith::CmpFOp::create(b, loc, predicate, x, y);
  }
  Value select(Value condition, Value x, Value y, mlir::OpBuilder &b) {
    return mlir::arith::SelectOp::create(b, loc, condition, x, y);
  }

  // Tensors.
  Value zeros(llvm::ArrayRef<int64_t> shape, mlir::Type type);
  /// `size` positions of axis 1.
  Value slice(Value v, int64_t offset, int64_t size);
  /// Splits or merges neighbouring axes.
  Value reshape(Value v, llvm::ArrayRef<int64_t> shape);
  /// A generic over the axes of the result and, as reductions, all others.
  Value generic(llvm::ArrayRef<Named> inputs, Value init,
                llvm::StringRef outAxes, Body body);
  Value map(llvm::ArrayRef<Named> inputs, llvm::StringRef outAxes,
            mlir::Type type, Body body);
  Value sum(Named input, llvm::StringRef outAxes);
  /// Accumulated in f32.
  Value product(Named left, Named right, llvm::StringRef outAxes);

protected:
  virtual int64_t extent(char axis) const = 0;

  mlir::OpBuilder &b;
  mlir::Location loc;
  mlir::Type f32;

private:
  llvm::SmallVector<int64_t> shapeOf(llvm::StringRef axes) const;
};

} // namespace heddle

#endif // HEDDLE_LIB_DIALECT_HEDDLE_TRANSFORMS_AXISBUILDER_H
