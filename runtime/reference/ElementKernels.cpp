//===- ElementKernels.cpp - runs instructions over vectors ----------------===//

#include "ElementProgram.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/bit.h"

#include <limits>

using namespace mlir;

namespace heddle::reference {

//===----------------------------------------------------------------------===//
// Integers of a given width, kept sign-extended (i1 as 0 or 1)
//===----------------------------------------------------------------------===//

static int64_t wrap(uint64_t value, unsigned width) {
  if (width == 64)
    return static_cast<int64_t>(value);
  if (width == 1)
    return static_cast<int64_t>(value & 1);
  return static_cast<int64_t>(value << (64 - width)) >> (64 - width);
}
static uint64_t asUnsigned(int64_t value, unsigned width) {
  uint64_t bits = static_cast<uint64_t>(value);
  return width == 64 ? bits : bits & ((uint64_t(1) << width) - 1);
}
static int64_t asSigned(int64_t value, unsigned width) {
  return width == 1 ? -value : value;
}

// Division by zero and the one overflowing quotient are undefined in the IR;
// here they give 0 and wrap.
static int64_t divideSigned(int64_t a, int64_t b) {
  if (b == 0)
    return 0;
  if (b == -1)
    return static_cast<int64_t>(-static_cast<uint64_t>(a));
  return a / b;
}
static int64_t remainderSigned(int64_t a, int64_t b) {
  return b == 0 || b == -1 ? 0 : a % b;
}
static int64_t floorDivide(int64_t a, int64_t b) {
  int64_t q = divideSigned(a, b);
  bool inexact = remainderSigned(a, b) != 0;
  return inexact && (a < 0) != (b < 0) ? q - 1 : q;
}
static int64_t ceilDivide(int64_t a, int64_t b) {
  int64_t q = divideSigned(a, b);
  bool inexact = remainderSigned(a, b) != 0;
  return inexact && (a < 0) == (b < 0) ? q + 1 : q;
}
static int64_t power(int64_t base, int64_t exponent) {
  if (exponent < 0) // only 1 and -1 have integer inverses
    return base == 1 ? 1 : base == -1 ? (exponent % 2 ? -1 : 1) : 0;
  uint64_t result = 1, factor = static_cast<uint64_t>(base);
  for (; exponent; exponent >>= 1, factor *= factor)
    if (exponent & 1)
      result *= factor;
  return static_cast<int64_t>(result);
}

static bool compareIntegers(arith::CmpIPredicate predicate, int64_t a,
                            int64_t b, unsigned width) {
  int64_t sa = asSigned(a, width), sb = asSigned(b, width);
  uint64_t ua = asUnsigned(a, width), ub = asUnsigned(b, width);
  switch (predicate) {
  case arith::CmpIPredicate::eq:
    return a == b;
  case arith::CmpIPredicate::ne:
    return a != b;
  case arith::CmpIPredicate::slt:
    return sa < sb;
  case arith::CmpIPredicate::sle:
    return sa <= sb;
  case arith::CmpIPredicate::sgt:
    return sa > sb;
  case arith::CmpIPredicate::sge:
    return sa >= sb;
  case arith::CmpIPredicate::ult:
    return ua < ub;
  case arith::CmpIPredicate::ule:
    return ua <= ub;
  case arith::CmpIPredicate::ugt:
    return ua > ub;
  case arith::CmpIPredicate::uge:
    return ua >= ub;
  }
  return false;
}

static bool compareReals(arith::CmpFPredicate predicate, double a, double b) {
  bool unordered = std::isnan(a) || std::isnan(b);
  switch (predicate) {
  case arith::CmpFPredicate::AlwaysFalse:
    return false;
  case arith::CmpFPredicate::OEQ:
    return a == b;
  case arith::CmpFPredicate::OGT:
    return a > b;
  case arith::CmpFPredicate::OGE:
    return a >= b;
  case arith::CmpFPredicate::OLT:
    return a < b;
  case arith::CmpFPredicate::OLE:
    return a <= b;
  case arith::CmpFPredicate::ONE:
    return !unordered && a != b;
  case arith::CmpFPredicate::ORD:
    return !unordered;
  case arith::CmpFPredicate::UEQ:
    return unordered || a == b;
  case arith::CmpFPredicate::UGT:
    return unordered || a > b;
  case arith::CmpFPredicate::UGE:
    return unordered || a >= b;
  case arith::CmpFPredicate::ULT:
    return unordered || a < b;
  case arith::CmpFPredicate::ULE:
    return unordered || a <= b;
  case arith::CmpFPredicate::UNE:
    return unordered || a != b;
  case arith::CmpFPredicate::UNO:
    return unordered;
  case arith::CmpFPredicate::AlwaysTrue:
    return true;
  }
  return false;
}

//===----------------------------------------------------------------------===//
// Reals
//===----------------------------------------------------------------------===//

static double maximumPropagating(double a, double b) {
  if (std::isnan(a) || std::isnan(b))
    return std::numeric_limits<double>::quiet_NaN();
  if (a == b)
    return std::signbit(a) ? b : a; // +0 above -0
  return a > b ? a : b;
}
static double minimumPropagating(double a, double b) {
  if (std::isnan(a) || std::isnan(b))
    return std::numeric_limits<double>::quiet_NaN();
  if (a == b)
    return std::signbit(a) ? a : b;
  return a < b ? a : b;
}

/// Truncates toward zero and saturates; NaN gives 0 (undefined in the IR).
static int64_t toSigned(double value, unsigned width) {
  if (std::isnan(value))
    return 0;
  double limit = std::ldexp(1.0, width - 1);
  if (value >= limit)
    return width == 64 ? std::numeric_limits<int64_t>::max()
                       : static_cast<int64_t>(limit) - 1;
  if (value <= -limit)
    return width == 64 ? std::numeric_limits<int64_t>::min()
                       : wrap(static_cast<uint64_t>(-limit), width);
  return wrap(static_cast<uint64_t>(static_cast<int64_t>(value)), width);
}
static int64_t toUnsigned(double value, unsigned width) {
  if (!(value > 0))
    return 0;
  double limit = std::ldexp(1.0, width);
  if (value >= limit)
    return wrap(~uint64_t(0), width);
  return wrap(static_cast<uint64_t>(value), width);
}

//===----------------------------------------------------------------------===//
// Frame
//===----------------------------------------------------------------------===//

ElementFrame::ElementFrame(const ElementProgram &program)
    : program(program),
      reals(new double[std::max(program.numReal, 1) * kVectorLength]()),
      integers(new int64_t[std::max(program.numInteger, 1) * kVectorLength]()) {
  for (auto [index, value] : program.realConstants)
    std::fill_n(real({false, index}), kVectorLength, value);
  for (auto [index, value] : program.integerConstants)
    std::fill_n(integer(index), kVectorLength, value);
}

bool ElementFrame::run(int64_t n) {
  double *reals = this->reals.get();
  int64_t *integers = this->integers.get();
  for (const Instruction &i : program.instructions) {
    // Pointers of unused operands are formed from register 0 and not read.
    auto realAt = [&](int r) { return reals + std::max(r, 0) * kVectorLength; };
    auto integerAt = [&](int r) {
      return integers + std::max(r, 0) * kVectorLength;
    };
    double *rd = realAt(i.dst);
    const double *ra = realAt(i.a), *rb = realAt(i.b), *rc = realAt(i.c);
    int64_t *id = integerAt(i.dst), *id2 = integerAt(i.dst2);
    const int64_t *ia = integerAt(i.a), *ib = integerAt(i.b),
                  *ic = integerAt(i.c);
    unsigned w = i.width, from = i.fromWidth;
#define REAL(OP, EXPRESSION)                                                   \
  case ElementOp::OP:                                                          \
    for (int64_t e = 0; e < n; ++e)                                            \
      rd[e] = EXPRESSION;                                                      \
    break;
#define INTEGER(OP, EXPRESSION)                                                \
  case ElementOp::OP:                                                          \
    for (int64_t e = 0; e < n; ++e)                                            \
      id[e] = EXPRESSION;                                                      \
    break;
#define WRAPPED(OP, EXPRESSION)                                                \
  INTEGER(OP, wrap(static_cast<uint64_t>(EXPRESSION), w))
#define SA asSigned(ia[e], w)
#define SB asSigned(ib[e], w)
#define UA asUnsigned(ia[e], w)
#define UB asUnsigned(ib[e], w)
    switch (i.op) {
      REAL(AddF, ra[e] + rb[e])
      REAL(SubF, ra[e] - rb[e])
      REAL(MulF, ra[e] * rb[e])
      REAL(DivF, ra[e] / rb[e])
      REAL(RemF, std::fmod(ra[e], rb[e]))
      REAL(NegF, -ra[e])
      REAL(MaximumF, maximumPropagating(ra[e], rb[e]))
      REAL(MinimumF, minimumPropagating(ra[e], rb[e]))
      REAL(MaxNumF, std::fmax(ra[e], rb[e]))
      REAL(MinNumF, std::fmin(ra[e], rb[e]))
      REAL(Round, roundTo(i.rounding, ra[e]))
      REAL(AbsF, std::fabs(ra[e]))
      REAL(Acos, std::acos(ra[e]))
      REAL(Acosh, std::acosh(ra[e]))
      REAL(Asin, std::asin(ra[e]))
      REAL(Asinh, std::asinh(ra[e]))
      REAL(Atan, std::atan(ra[e]))
      REAL(Atan2, std::atan2(ra[e], rb[e]))
      REAL(Atanh, std::atanh(ra[e]))
      REAL(Cbrt, std::cbrt(ra[e]))
      REAL(Ceil, std::ceil(ra[e]))
      REAL(ClampF, minimumPropagating(maximumPropagating(ra[e], rb[e]), rc[e]))
      REAL(CopySign, std::copysign(ra[e], rb[e]))
      REAL(Cos, std::cos(ra[e]))
      REAL(Cosh, std::cosh(ra[e]))
      REAL(Erf, std::erf(ra[e]))
      REAL(Erfc, std::erfc(ra[e]))
      REAL(Exp, std::exp(ra[e]))
      REAL(Exp2, std::exp2(ra[e]))
      REAL(ExpM1, std::expm1(ra[e]))
      REAL(Floor, std::floor(ra[e]))
      REAL(Fma, std::fma(ra[e], rb[e], rc[e]))
      REAL(Log, std::log(ra[e]))
      REAL(Log10, std::log10(ra[e]))
      REAL(Log1p, std::log1p(ra[e]))
      REAL(Log2, std::log2(ra[e]))
      REAL(PowF, std::pow(ra[e], rb[e]))
      REAL(RoundAway, std::round(ra[e]))
      REAL(RoundEven, std::nearbyint(ra[e]))
      REAL(Rsqrt, 1.0 / std::sqrt(ra[e]))
      REAL(Sin, std::sin(ra[e]))
      REAL(Sinh, std::sinh(ra[e]))
      REAL(Sqrt, std::sqrt(ra[e]))
      REAL(Tan, std::tan(ra[e]))
      REAL(Tanh, std::tanh(ra[e]))
      REAL(Trunc, std::trunc(ra[e]))
    case ElementOp::SinCos: {
      double *rd2 = realAt(i.dst2);
      for (int64_t e = 0; e < n; ++e) {
        double angle = ra[e];
        rd[e] = std::sin(angle);
        rd2[e] = std::cos(angle);
      }
      break;
    }
      INTEGER(CmpF, compareReals(static_cast<arith::CmpFPredicate>(i.predicate),
                                 ra[e], rb[e]))
      INTEGER(IsFinite, std::isfinite(ra[e]))
      INTEGER(IsInf, std::isinf(ra[e]))
      INTEGER(IsNaN, std::isnan(ra[e]))
      INTEGER(IsNormal, std::isnormal(ra[e]))
      REAL(SelectF, ia[e] ? rb[e] : rc[e])
      REAL(FPowI, std::pow(ra[e], static_cast<double>(ib[e])))
      REAL(SIToFP, static_cast<double>(asSigned(ia[e], from)))
      REAL(UIToFP, static_cast<double>(asUnsigned(ia[e], from)))
      INTEGER(FPToSI, toSigned(ra[e], w))
      INTEGER(FPToUI, toUnsigned(ra[e], w))
    case ElementOp::BitcastFI:
      for (int64_t e = 0; e < n; ++e) {
        uint64_t bits = 0;
        storeElement(&bits, i.bits, 0, ra[e]);
        id[e] = wrap(bits, w);
      }
      break;
    case ElementOp::BitcastIF:
      for (int64_t e = 0; e < n; ++e) {
        uint64_t bits = asUnsigned(ia[e], from);
        rd[e] = loadElement(&bits, i.bits, 0);
      }
      break;
      WRAPPED(AddI, UA + UB)
      WRAPPED(SubI, UA - UB)
      WRAPPED(MulI, UA * UB)
      WRAPPED(DivSI, divideSigned(SA, SB))
      WRAPPED(RemSI, remainderSigned(SA, SB))
      WRAPPED(DivUI, UB ? UA / UB : 0)
      WRAPPED(RemUI, UB ? UA % UB : 0)
      WRAPPED(CeilDivSI, ceilDivide(SA, SB))
      WRAPPED(CeilDivUI, UB ? UA / UB + (UA % UB != 0) : 0)
      WRAPPED(FloorDivSI, floorDivide(SA, SB))
      INTEGER(AndI, ia[e] & ib[e])
      INTEGER(OrI, ia[e] | ib[e])
      INTEGER(XOrI, ia[e] ^ ib[e])
      WRAPPED(ShLI, UB < w ? UA << UB : 0)
      WRAPPED(ShRSI, SA >> (UB < w ? UB : w - 1))
      WRAPPED(ShRUI, UB < w ? UA >> UB : 0)
      INTEGER(MaxSI, SA > SB ? ia[e] : ib[e])
      INTEGER(MinSI, SA < SB ? ia[e] : ib[e])
      INTEGER(MaxUI, UA > UB ? ia[e] : ib[e])
      INTEGER(MinUI, UA < UB ? ia[e] : ib[e])
      INTEGER(CmpI,
              compareIntegers(static_cast<arith::CmpIPredicate>(i.predicate),
                              ia[e], ib[e], from))
      INTEGER(SelectI, ia[e] ? ib[e] : ic[e])
      WRAPPED(ExtSI, asSigned(ia[e], from))
      WRAPPED(ExtUI, asUnsigned(ia[e], from))
      WRAPPED(TruncI, ia[e])
      WRAPPED(AbsI,
              SA < 0 ? -static_cast<uint64_t>(SA) : static_cast<uint64_t>(SA))
      WRAPPED(IPowI, power(SA, SB))
      WRAPPED(CtLz, UA ? llvm::countl_zero(UA) - (64 - static_cast<int>(w))
                       : static_cast<int>(w))
      WRAPPED(CtTz, UA ? llvm::countr_zero(UA) : static_cast<int>(w))
      WRAPPED(CtPop, llvm::popcount(UA))
    case ElementOp::AddUIExtended:
      for (int64_t e = 0; e < n; ++e) {
        uint64_t a = UA, b = UB;
        id[e] = wrap(a + b, w);
        id2[e] = asUnsigned(id[e], w) < a;
      }
      break;
    case ElementOp::MulSIExtended:
      for (int64_t e = 0; e < n; ++e) {
        __extension__ typedef __int128 Wide;
        Wide product = static_cast<Wide>(SA) * SB;
        id[e] = wrap(static_cast<uint64_t>(product), w);
        id2[e] = wrap(static_cast<uint64_t>(product >> w), w);
      }
      break;
    case ElementOp::MulUIExtended:
      for (int64_t e = 0; e < n; ++e) {
        __extension__ typedef unsigned __int128 Wide;
        Wide product = static_cast<Wide>(UA) * UB;
        id[e] = wrap(static_cast<uint64_t>(product), w);
        id2[e] = wrap(static_cast<uint64_t>(product >> w), w);
      }
      break;
    case ElementOp::Extract: {
      const TensorValue &tensor = program.tensors[i.tensor];
      for (int64_t e = 0; e < n; ++e) {
        int64_t offset = 0;
        for (auto [d, r] : llvm::enumerate(i.indices)) {
          int64_t index = integers[r * kVectorLength + e];
          if (index < 0 || index >= tensor.shape[d])
            return false;
          offset = offset * tensor.shape[d] + index;
        }
        if (tensor.isInteger)
          id[e] = tensor.integerAt(offset);
        else
          rd[e] = tensor.realAt(offset);
      }
      break;
    }
    }
#undef REAL
#undef INTEGER
#undef WRAPPED
#undef SA
#undef SB
#undef UA
#undef UB
  }
  return true;
}

} // namespace heddle::reference
