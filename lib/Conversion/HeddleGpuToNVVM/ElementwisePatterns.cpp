//===- ElementwisePatterns.cpp - arithmetic on registers ------------------===//

#include "LaneCode.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace heddle_gpu;

namespace {
/// An op of arith or math on tiles is the same op on the registers.
struct ElementwisePattern : ConversionPattern {
  ElementwisePattern(const TypeConverter &types, MLIRContext *context)
      : ConversionPattern(types, MatchAnyOpTypeTag(), 1, context) {}

  LogicalResult
  matchAndRewrite(Operation *op, ArrayRef<Value> operands,
                  ConversionPatternRewriter &rewriter) const override {
    if (!isa<arith::ArithDialect, math::MathDialect>(op->getDialect()) ||
        isa<arith::ConstantOp>(op) || op->getNumRegions() != 0)
      return rewriter.notifyMatchFailure(op, "needs an op of arith or math");
    SmallVector<Type> results;
    if (failed(getTypeConverter()->convertTypes(op->getResultTypes(), results)))
      return rewriter.notifyMatchFailure(op, "needs tiles with layouts");
    OperationState state(op->getLoc(), op->getName(), operands, results);
    state.attributes = op->getDiscardableAttrDictionary();
    state.propertiesAttr = op->getPropertiesAsAttribute();
    rewriter.replaceOp(op, rewriter.create(state)->getResults());
    return success();
  }
};

struct ConstantPattern : OpConversionPattern<arith::ConstantOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(arith::ConstantOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto splat = dyn_cast<SplatElementsAttr>(op.getValue());
    if (!splat)
      return rewriter.notifyMatchFailure(op, "needs a splat");
    auto type = cast<ShapedType>(getTypeConverter()->convertType(op.getType()));
    rewriter.replaceOpWithNewOp<arith::ConstantOp>(
        op, DenseElementsAttr::get(type, splat.getSplatValue<Attribute>()));
    return success();
  }
};

struct SplatPattern : OpConversionPattern<tensor::SplatOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(tensor::SplatOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<vector::BroadcastOp>(
        op, getTypeConverter()->convertType(op.getType()), adaptor.getInput());
    return success();
  }
};

struct IotaPattern : OpConversionPattern<IotaOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(IotaOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto type = cast<VectorType>(getTypeConverter()->convertType(op.getType()));
    Type element = type.getElementType();
    ThreadCode code(rewriter, loc);
    TileCode tile(code, getLayout(op.getType()));
    unsigned axis = op.getAxis();
    const ThreadTerm &thread = tile.thread(axis);
    auto asElement = [&](Value v) -> Value {
      if (element.isInteger(32))
        return v;
      if (element.isIndex())
        return arith::IndexCastOp::create(rewriter, loc, element, v);
      return element.getIntOrFloatBitWidth() < 32
                 ? arith::TruncIOp::create(rewriter, loc, element, v).getResult()
                 : arith::ExtUIOp::create(rewriter, loc, element, v).getResult();
    };
    SmallVector<Attribute> constants;
    for (int64_t r = 0; r < type.getNumElements(); ++r)
      constants.push_back(
          rewriter.getIntegerAttr(element, tile.constant(r, axis)));
    Value positions = arith::ConstantOp::create(
        rewriter, loc, DenseElementsAttr::get(type, constants));
    // Where no bit of thread and register meets, one addition a register does.
    bool sums = true;
    for (int64_t r = 0; r < type.getNumElements(); ++r)
      sums &= tile.isSum(r, axis);
    Value base = adaptor.getStart();
    if (thread.value && !sums) {
      Value spread = vector::BroadcastOp::create(rewriter, loc, type,
                                                 asElement(thread.value));
      positions = arith::XOrIOp::create(rewriter, loc, positions, spread);
    } else if (thread.value) {
      Value part = asElement(thread.value);
      base = base ? arith::AddIOp::create(rewriter, loc, base, part).getResult()
                  : part;
    }
    if (base)
      positions = arith::AddIOp::create(
          rewriter, loc, positions,
          vector::BroadcastOp::create(rewriter, loc, type, base));
    rewriter.replaceOp(op, positions);
    return success();
  }
};
} // namespace

void heddle_gpu::populateElementwisePatterns(const LaneTypes &types,
                                             RewritePatternSet &patterns) {
  patterns.add<ElementwisePattern, ConstantPattern, SplatPattern, IotaPattern>(
      types, patterns.getContext());
}
