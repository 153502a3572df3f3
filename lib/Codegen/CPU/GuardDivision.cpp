//===- GuardDivision.cpp - integer division that cannot trap --------------===//

#include "heddle/Codegen/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"

namespace heddle {
#define GEN_PASS_DEF_GUARDDIVISIONPASS
#include "heddle/Codegen/Passes.h.inc"
} // namespace heddle

using namespace mlir;

namespace {
struct GuardDivision : heddle::impl::GuardDivisionPassBase<GuardDivision> {
  void runOnOperation() override {
    SmallVector<Operation *> divisions;
    getOperation()->walk([&](Operation *op) {
      if (isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp,
              arith::CeilDivSIOp, arith::CeilDivUIOp, arith::FloorDivSIOp>(
              op) &&
          !isSafeConstant(op->getOperand(1)))
        divisions.push_back(op);
    });
    for (Operation *op : divisions)
      guard(op);
  }

  /// Index arithmetic divides by constants: nothing to guard.
  static bool isSafeConstant(Value divisor) {
    Attribute attr;
    if (!matchPattern(divisor, m_Constant(&attr)))
      return false;
    if (auto splat = dyn_cast<SplatElementsAttr>(attr))
      attr = splat.getSplatValue<Attribute>();
    auto integer = dyn_cast<IntegerAttr>(attr);
    return integer && !integer.getValue().isZero() &&
           !integer.getValue().isAllOnes();
  }

  void guard(Operation *op) {
    OpBuilder b(op);
    Location loc = op->getLoc();
    Value dividend = op->getOperand(0), divisor = op->getOperand(1);
    Type type = divisor.getType(), element = getElementTypeOrSelf(type);
    unsigned width = element.isIndex() ? 64 : element.getIntOrFloatBitWidth();
    auto constant = [&](const APInt &value) -> Value {
      TypedAttr attr = b.getIntegerAttr(element, value);
      if (auto shaped = dyn_cast<ShapedType>(type))
        attr = DenseElementsAttr::get(shaped, Attribute(attr));
      return arith::ConstantOp::create(b, loc, attr);
    };
    auto equals = [&](Value x, const APInt &value) -> Value {
      return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, x,
                                   constant(value));
    };
    Value isZero = equals(divisor, APInt(width, 0));
    Value unsafe = isZero;
    if (isa<arith::DivSIOp, arith::RemSIOp, arith::CeilDivSIOp,
            arith::FloorDivSIOp>(op)) {
      // The lowest number by -1 wraps to itself, as by 1.
      Value overflows = arith::AndIOp::create(
          b, loc, equals(dividend, APInt::getSignedMinValue(width)),
          equals(divisor, APInt::getAllOnes(width)));
      unsafe = arith::OrIOp::create(b, loc, isZero, overflows);
    }
    Value one = constant(APInt(width, 1)), zero = constant(APInt(width, 0));
    op->setOperand(1, arith::SelectOp::create(b, loc, unsafe, one, divisor));
    b.setInsertionPointAfter(op);
    auto result =
        arith::SelectOp::create(b, loc, isZero, zero, op->getResult(0));
    op->getResult(0).replaceAllUsesExcept(result, result);
  }
};
} // namespace
