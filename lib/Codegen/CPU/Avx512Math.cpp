//===- Avx512Math.cpp - functions with instructions of their own ----------===//

#include "Avx512Math.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;

/// Lanes of one register.
static constexpr int64_t kLanes = 16;

/// 2^f for |f| <= 0.5: the minimax polynomial of VectorMath.cpp.
static constexpr double kExp2Poly[] = {
    0.0001534581199939243, 0.0013399931219159765, 0.009618488957129464,
    0.05550328776965717,   0.24022646890634042,   0.6931472057372671,
    1.0000000005541663};

static Value exp2OfRegister(OpBuilder &b, Location loc, Value x) {
  auto type = cast<VectorType>(x.getType());
  auto splat = [&](double v) -> Value {
    return arith::ConstantOp::create(
        b, loc, DenseElementsAttr::get(type, b.getF32FloatAttr(v).getValue()));
  };
  auto integer = [&](unsigned width, int64_t v) -> Value {
    Type of = b.getIntegerType(width);
    return LLVM::ConstantOp::create(b, loc, of, b.getIntegerAttr(of, v));
  };
  auto call = [&](StringRef name, ValueRange operands) -> Value {
    return LLVM::CallIntrinsicOp::create(b, loc, type, b.getStringAttr(name),
                                         operands)
        .getResults();
  };
  Value allLanes = integer(16, -1);
  // x less the nearest integer, exact; 0 for an infinity.
  Value f = call("llvm.x86.avx512.mask.reduce.ps.512",
                 {x, integer(32, 8), x, allLanes, integer(32, 4)});
  Value n = arith::SubFOp::create(b, loc, x, f);
  Value p = splat(kExp2Poly[0]);
  for (double c : ArrayRef(kExp2Poly).drop_front())
    p = math::FmaOp::create(b, loc, p, f, splat(c));
  Value scaled = call("llvm.x86.avx512.mask.scalef.ps.512",
                      {p, n, p, allLanes, integer(32, 4)});
  // No denormal comes out: what reads it would be slow on some processors.
  Value tiny = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT, x,
                                     splat(-125.5));
  return arith::SelectOp::create(b, loc, tiny, splat(0.0), scaled);
}

Value heddle::cpu::emitExp2Avx512(OpBuilder &b, Location loc, Value x) {
  int64_t lanes = cast<VectorType>(x.getType()).getNumElements();
  if (lanes == kLanes)
    return exp2OfRegister(b, loc, x);
  auto range = [](int64_t begin, int64_t end) {
    return llvm::to_vector(llvm::seq(begin, end));
  };
  auto half = [&](int64_t begin) -> Value {
    Value part = vector::ShuffleOp::create(b, loc, x, x,
                                           range(begin, begin + lanes / 2));
    return emitExp2Avx512(b, loc, part);
  };
  Value low = half(0), high = half(lanes / 2);
  return vector::ShuffleOp::create(b, loc, low, high, range(0, lanes));
}
