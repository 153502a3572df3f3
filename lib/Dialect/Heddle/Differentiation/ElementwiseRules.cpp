//===- ElementwiseRules.cpp - gradients of arith and math ops -------------===//
//
// The same rules serve scalars in the body of a structured op and whole tensors
// in a graph: what they emit has the type of the result.
//
//===----------------------------------------------------------------------===//

#include "Rules.h"
#include "heddle/Dialect/Heddle/Differentiation/Differentiation.h"
#include "heddle/Dialect/Heddle/IR/DifferentiableOpInterface.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"

#include <cmath>

using namespace mlir;
using namespace heddle;

namespace {
/// What the rule of one op needs.
class Rule {
public:
  Rule(OpBuilder &builder, Operation *op, Value cotangent,
       const llvm::BitVector &needed, SmallVectorImpl<Value> &gradients)
      : b(builder), loc(op->getLoc()), op(op), dy(cotangent), needed(needed),
        gradients(gradients) {}

  Value x(unsigned i = 0) { return op->getOperand(i); }
  Value y() { return op->getResult(0); }
  bool wants(unsigned i) { return needed.test(i); }
  void set(unsigned i, Value gradient) { gradients[i] = gradient; }

  Value c(double value) { return constantLike(b, loc, dy.getType(), value); }
  Value add(Value p, Value q) { return arith::AddFOp::create(b, loc, p, q); }
  Value sub(Value p, Value q) { return arith::SubFOp::create(b, loc, p, q); }
  Value mul(Value p, Value q) { return arith::MulFOp::create(b, loc, p, q); }
  Value div(Value p, Value q) { return arith::DivFOp::create(b, loc, p, q); }
  Value neg(Value p) { return arith::NegFOp::create(b, loc, p); }
  Value compare(arith::CmpFPredicate predicate, Value p, Value q) {
    return arith::CmpFOp::create(b, loc, predicate, p, q);
  }
  Value select(Value condition, Value p, Value q) {
    return arith::SelectOp::create(b, loc, condition, p, q);
  }
  template <typename Op>
  Value math(Value p) {
    return Op::create(b, loc, p);
  }
  Value cast(Value p, Value like) {
    return castCotangent(b, loc, p, getElementTypeOrSelf(like.getType()));
  }

  /// dy times a derivative that may have overflowed. Where what follows has
  /// saturated, dy is 0 and so is the product: 1 / (1 + exp(-x)) has the slope
  /// 0 and not NaN where exp(-x) is infinite.
  Value chain(Value slope) {
    Value none = compare(arith::CmpFPredicate::OEQ, dy, c(0.0));
    return select(none, c(0.0), mul(dy, slope));
  }
  /// The same for a factor of a product.
  Value scaled(Value factor);
  /// dy times the derivative that `slope` writes, for a function of x(0).
  void unary(function_ref<Value()> slope) { set(0, mul(dy, slope())); }
  void unbounded(function_ref<Value()> slope) { set(0, chain(slope())); }
  /// Both operands, equal shares where they are equal, nothing for a NaN.
  void extremum(arith::CmpFPredicate wins, bool dropsNaN = false);
  void power();
  void division();
  void arcTangent2();

  OpBuilder &b;
  Location loc;
  Operation *op;
  Value dy;

private:
  const llvm::BitVector &needed;
  SmallVectorImpl<Value> &gradients;
};
} // namespace

/// Whether finite inputs of a block can make `v` infinite.
static bool mayOverflow(Value v, unsigned depth = 0) {
  Operation *op = v.getDefiningOp();
  if (!op || depth > 4)
    return bool(op);
  auto any = [&](ValueRange operands) {
    return llvm::any_of(operands,
                        [&](Value o) { return mayOverflow(o, depth + 1); });
  };
  if (isa<arith::AddFOp, arith::SubFOp, arith::NegFOp, arith::ExtFOp,
          arith::TruncFOp, math::AbsFOp>(op))
    return any(op->getOperands());
  if (auto select = dyn_cast<arith::SelectOp>(op))
    return any({select.getTrueValue(), select.getFalseValue()});
  if (auto product = dyn_cast<arith::MulFOp>(op)) {
    bool scales = llvm::any_of(product->getOperands(), [](Value o) {
      return matchPattern(o, m_Constant());
    });
    return !scales || any(product->getOperands());
  }
  return isa<math::ExpOp, math::Exp2Op, math::ExpM1Op, math::SinhOp,
             math::CoshOp, math::PowFOp, math::FPowIOp, math::FmaOp>(op);
}

Value Rule::scaled(Value factor) {
  return mayOverflow(factor) ? chain(factor) : mul(dy, factor);
}

void Rule::extremum(arith::CmpFPredicate wins, bool dropsNaN) {
  for (unsigned i : {0u, 1u}) {
    if (!wants(i))
      continue;
    Value other = x(1 - i);
    Value tie = compare(arith::CmpFPredicate::OEQ, x(i), other);
    Value ahead = compare(wins, x(i), other);
    if (dropsNaN)
      ahead = arith::OrIOp::create(
          b, loc, ahead, compare(arith::CmpFPredicate::UNO, other, other));
    Value alone = select(ahead, dy, c(0.0));
    set(i, select(tie, mul(dy, c(0.5)), alone));
  }
}

/// x^e: e x^(e-1), and x^e ln x; 0 where the factor e or x is 0.
void Rule::power() {
  Value base = x(0), exponent = x(1);
  if (wants(0)) {
    Value none = compare(arith::CmpFPredicate::OEQ, exponent, c(0.0));
    Value reduced = select(none, c(1.0), sub(exponent, c(1.0)));
    Value slope = mul(exponent, math::PowFOp::create(b, loc, base, reduced));
    set(0, chain(select(none, c(0.0), slope)));
  }
  if (wants(1)) {
    Value zero = compare(arith::CmpFPredicate::OEQ, base, c(0.0));
    Value log = math<math::LogOp>(select(zero, c(1.0), base));
    set(1, chain(mul(y(), log)));
  }
}

void Rule::division() {
  Value quotient = div(dy, x(1));
  if (wants(0))
    set(0, quotient);
  if (wants(1))
    set(1, neg(mul(quotient, y())));
}

void Rule::arcTangent2() {
  Value norm = add(mul(x(0), x(0)), mul(x(1), x(1)));
  Value scaled = div(dy, norm);
  if (wants(0))
    set(0, mul(scaled, x(1)));
  if (wants(1))
    set(1, neg(mul(scaled, x(0))));
}

//===----------------------------------------------------------------------===//
// arith
//===----------------------------------------------------------------------===//

static void differentiate(arith::AddFOp, Rule &r) {
  for (unsigned i : {0u, 1u})
    if (r.wants(i))
      r.set(i, r.dy);
}
static void differentiate(arith::SubFOp, Rule &r) {
  if (r.wants(0))
    r.set(0, r.dy);
  if (r.wants(1))
    r.set(1, r.neg(r.dy));
}
static void differentiate(arith::MulFOp, Rule &r) {
  for (unsigned i : {0u, 1u})
    if (r.wants(i))
      r.set(i, r.scaled(r.x(1 - i)));
}
static void differentiate(arith::DivFOp, Rule &r) { r.division(); }
static void differentiate(arith::NegFOp, Rule &r) { r.set(0, r.neg(r.dy)); }
/// x - trunc(x / m) m
static void differentiate(arith::RemFOp, Rule &r) {
  if (r.wants(0))
    r.set(0, r.dy);
  if (r.wants(1))
    r.set(1, r.neg(r.mul(r.dy, r.math<math::TruncOp>(r.div(r.x(0), r.x(1))))));
}
static void differentiate(arith::MaximumFOp, Rule &r) {
  r.extremum(arith::CmpFPredicate::OGT);
}
static void differentiate(arith::MinimumFOp, Rule &r) {
  r.extremum(arith::CmpFPredicate::OLT);
}
/// These return the number of a number and a NaN.
static void differentiate(arith::MaxNumFOp, Rule &r) {
  r.extremum(arith::CmpFPredicate::OGT, /*dropsNaN=*/true);
}
static void differentiate(arith::MinNumFOp, Rule &r) {
  r.extremum(arith::CmpFPredicate::OLT, /*dropsNaN=*/true);
}
static void differentiate(arith::ExtFOp, Rule &r) {
  r.set(0, r.cast(r.dy, r.x()));
}
static void differentiate(arith::TruncFOp, Rule &r) {
  r.set(0, r.cast(r.dy, r.x()));
}
static void differentiate(arith::SelectOp op, Rule &r) {
  Value zero = r.c(0.0);
  if (r.wants(1))
    r.set(1, r.select(op.getCondition(), r.dy, zero));
  if (r.wants(2))
    r.set(2, r.select(op.getCondition(), zero, r.dy));
}

//===----------------------------------------------------------------------===//
// math
//===----------------------------------------------------------------------===//

static void differentiate(math::AbsFOp, Rule &r) {
  Value above = r.compare(arith::CmpFPredicate::OGT, r.x(), r.c(0.0));
  Value below = r.compare(arith::CmpFPredicate::OLT, r.x(), r.c(0.0));
  r.set(0, r.select(above, r.dy, r.select(below, r.neg(r.dy), r.c(0.0))));
}
static void differentiate(math::AcosOp, Rule &r) {
  Value square = r.sub(r.c(1.0), r.mul(r.x(), r.x()));
  r.set(0, r.neg(r.div(r.dy, r.math<math::SqrtOp>(square))));
}
static void differentiate(math::AcoshOp, Rule &r) {
  Value square = r.sub(r.mul(r.x(), r.x()), r.c(1.0));
  r.set(0, r.div(r.dy, r.math<math::SqrtOp>(square)));
}
static void differentiate(math::AsinOp, Rule &r) {
  Value square = r.sub(r.c(1.0), r.mul(r.x(), r.x()));
  r.set(0, r.div(r.dy, r.math<math::SqrtOp>(square)));
}
static void differentiate(math::AsinhOp, Rule &r) {
  Value square = r.add(r.mul(r.x(), r.x()), r.c(1.0));
  r.set(0, r.div(r.dy, r.math<math::SqrtOp>(square)));
}
static void differentiate(math::AtanOp, Rule &r) {
  r.set(0, r.div(r.dy, r.add(r.c(1.0), r.mul(r.x(), r.x()))));
}
static void differentiate(math::Atan2Op, Rule &r) { r.arcTangent2(); }
static void differentiate(math::AtanhOp, Rule &r) {
  r.set(0, r.div(r.dy, r.sub(r.c(1.0), r.mul(r.x(), r.x()))));
}
static void differentiate(math::CbrtOp, Rule &r) {
  r.set(0, r.div(r.dy, r.mul(r.c(3.0), r.mul(r.y(), r.y()))));
}
/// Whole numbers: the slope is 0 wherever there is one.
static void differentiate(math::CeilOp, Rule &) {}
static void differentiate(math::FloorOp, Rule &) {}
static void differentiate(math::RoundOp, Rule &) {}
static void differentiate(math::RoundEvenOp, Rule &) {}
static void differentiate(math::TruncOp, Rule &) {}
static void differentiate(math::ClampFOp op, Rule &r) {
  Value value = op.getValue(), low = op.getMin(), high = op.getMax();
  Value below = r.compare(arith::CmpFPredicate::OLT, value, low);
  Value above = r.compare(arith::CmpFPredicate::OGT, value, high);
  Value zero = r.c(0.0);
  if (r.wants(0))
    r.set(0, r.select(below, zero, r.select(above, zero, r.dy)));
  if (r.wants(1))
    r.set(1, r.select(below, r.dy, zero));
  if (r.wants(2))
    r.set(2, r.select(above, r.dy, zero));
}
/// The sign's operand only switches.
static void differentiate(math::CopySignOp op, Rule &r) {
  if (!r.wants(0))
    return;
  Value kept = r.compare(arith::CmpFPredicate::OEQ, r.x(0), r.y());
  r.set(0, r.select(kept, r.dy, r.neg(r.dy)));
}
static void differentiate(math::CosOp, Rule &r) {
  r.set(0, r.neg(r.mul(r.dy, r.math<math::SinOp>(r.x()))));
}
static void differentiate(math::CoshOp, Rule &r) {
  r.unbounded([&] { return r.math<math::SinhOp>(r.x()); });
}
/// 2 / sqrt(pi) exp(-x^2)
static Value gaussian(Rule &r) {
  Value bell = r.math<math::ExpOp>(r.neg(r.mul(r.x(), r.x())));
  return r.mul(r.c(2.0 / std::sqrt(M_PI)), bell);
}
static void differentiate(math::ErfOp, Rule &r) {
  r.unary([&] { return gaussian(r); });
}
static void differentiate(math::ErfcOp, Rule &r) {
  r.set(0, r.neg(r.mul(r.dy, gaussian(r))));
}
static void differentiate(math::ExpOp, Rule &r) {
  r.unbounded([&] { return r.y(); });
}
static void differentiate(math::Exp2Op, Rule &r) {
  r.unbounded([&] { return r.mul(r.y(), r.c(M_LN2)); });
}
static void differentiate(math::ExpM1Op, Rule &r) {
  r.unbounded([&] { return r.add(r.y(), r.c(1.0)); });
}
static void differentiate(math::FmaOp, Rule &r) {
  for (unsigned i : {0u, 1u})
    if (r.wants(i))
      r.set(i, r.scaled(r.x(1 - i)));
  if (r.wants(2))
    r.set(2, r.dy);
}
/// x^n with an integer n: n x^(n-1), 0 where n is.
static void differentiate(math::FPowIOp op, Rule &r) {
  Type integer = op.getRhs().getType();
  auto whole = [&](int64_t value) -> Value {
    TypedAttr attr = r.b.getIntegerAttr(getElementTypeOrSelf(integer), value);
    if (auto shaped = dyn_cast<ShapedType>(integer))
      attr = DenseElementsAttr::get(shaped, Attribute(attr));
    return arith::ConstantOp::create(r.b, r.loc, attr);
  };
  Value zero = whole(0), n = op.getRhs();
  Value none =
      arith::CmpIOp::create(r.b, r.loc, arith::CmpIPredicate::eq, n, zero);
  Value less = arith::SubIOp::create(r.b, r.loc, n, whole(1));
  Value exponent = r.select(none, zero, less);
  Value factor = arith::SIToFPOp::create(r.b, r.loc, r.dy.getType(), n);
  Value power = math::FPowIOp::create(r.b, r.loc, op.getLhs(), exponent);
  r.unbounded([&] { return r.mul(factor, power); });
}
static void differentiate(math::LogOp, Rule &r) {
  r.set(0, r.div(r.dy, r.x()));
}
static void differentiate(math::Log10Op, Rule &r) {
  r.set(0, r.div(r.dy, r.mul(r.x(), r.c(M_LN10))));
}
static void differentiate(math::Log2Op, Rule &r) {
  r.set(0, r.div(r.dy, r.mul(r.x(), r.c(M_LN2))));
}
static void differentiate(math::Log1pOp, Rule &r) {
  r.set(0, r.div(r.dy, r.add(r.x(), r.c(1.0))));
}
static void differentiate(math::PowFOp, Rule &r) { r.power(); }
static void differentiate(math::RsqrtOp, Rule &r) {
  r.unary([&] { return r.mul(r.c(-0.5), r.mul(r.y(), r.mul(r.y(), r.y()))); });
}
static void differentiate(math::SinOp, Rule &r) {
  r.unary([&] { return r.math<math::CosOp>(r.x()); });
}
static void differentiate(math::SinhOp, Rule &r) {
  r.unbounded([&] { return r.math<math::CoshOp>(r.x()); });
}
static void differentiate(math::SqrtOp, Rule &r) {
  r.set(0, r.div(r.mul(r.dy, r.c(0.5)), r.y()));
}
static void differentiate(math::TanOp, Rule &r) {
  r.unary([&] { return r.add(r.c(1.0), r.mul(r.y(), r.y())); });
}
static void differentiate(math::TanhOp, Rule &r) {
  r.unary([&] { return r.sub(r.c(1.0), r.mul(r.y(), r.y())); });
}

//===----------------------------------------------------------------------===//
// Registration
//===----------------------------------------------------------------------===//

namespace {
template <typename Op>
struct ElementwiseRule
    : DifferentiableOpInterface::ExternalModel<ElementwiseRule<Op>, Op> {
  LogicalResult differentiate(Operation *op, OpBuilder &b,
                              ArrayRef<Value> cotangents,
                              const llvm::BitVector &needed,
                              SmallVectorImpl<Value> &gradients) const {
    Rule rule(b, op, cotangents[0], needed, gradients);
    ::differentiate(cast<Op>(op), rule);
    return success();
  }
};

/// Two results: sin and cos.
struct SincosRule
    : DifferentiableOpInterface::ExternalModel<SincosRule, math::SincosOp> {
  LogicalResult differentiate(Operation *op, OpBuilder &b,
                              ArrayRef<Value> cotangents,
                              const llvm::BitVector &,
                              SmallVectorImpl<Value> &gradients) const {
    Value sin = op->getResult(0), cos = op->getResult(1), parts[2];
    if (cotangents[0])
      parts[0] = arith::MulFOp::create(b, op->getLoc(), cotangents[0], cos);
    if (cotangents[1]) {
      Value minus = arith::NegFOp::create(b, op->getLoc(), sin);
      parts[1] = arith::MulFOp::create(b, op->getLoc(), cotangents[1], minus);
    }
    gradients[0] = addContributions(b, op->getLoc(), parts);
    return success();
  }
};
} // namespace

template <typename... Ops>
static void attach(MLIRContext *context) {
  (Ops::template attachInterface<ElementwiseRule<Ops>>(*context), ...);
}

void heddle::registerElementwiseRules(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, arith::ArithDialect *) {
    attach<arith::AddFOp, arith::DivFOp, arith::ExtFOp, arith::MaximumFOp,
           arith::MaxNumFOp, arith::MinimumFOp, arith::MinNumFOp, arith::MulFOp,
           arith::NegFOp, arith::RemFOp, arith::SelectOp, arith::SubFOp,
           arith::TruncFOp>(context);
  });
  registry.addExtension(+[](MLIRContext *context, math::MathDialect *) {
    attach<math::AbsFOp, math::AcosOp, math::AcoshOp, math::AsinOp,
           math::AsinhOp, math::Atan2Op, math::AtanOp, math::AtanhOp,
           math::CbrtOp, math::CeilOp, math::ClampFOp, math::CopySignOp,
           math::CosOp, math::CoshOp, math::ErfOp, math::ErfcOp, math::Exp2Op,
           math::ExpM1Op, math::ExpOp, math::FloorOp, math::FmaOp,
           math::FPowIOp, math::Log10Op, math::Log1pOp, math::Log2Op,
           math::LogOp, math::PowFOp, math::RoundEvenOp, math::RoundOp,
           math::RsqrtOp, math::SinOp, math::SinhOp, math::SqrtOp, math::TanOp,
           math::TanhOp, math::TruncOp>(context);
    math::SincosOp::attachInterface<SincosRule>(*context);
  });
}
