//===- Combination.cpp - combining scalars of lanes -----------------------===//

#include "Combination.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace heddle_gpu;

SmallVector<Value> heddle_gpu::combine(OpBuilder &b, Location loc,
                                       std::optional<CombineKind> kind,
                                       Region &region, ValueRange x,
                                       ValueRange y) {
  if (!kind) {
    IRMapping mapping;
    Block &body = region.front();
    SmallVector<Value> both(x);
    llvm::append_range(both, y);
    mapping.map(body.getArguments(), both);
    for (Operation &inner : body.without_terminator())
      b.clone(inner, mapping);
    SmallVector<Value> results;
    for (Value v : body.getTerminator()->getOperands())
      results.push_back(mapping.lookupOrDefault(v));
    return results;
  }
  Value p = x[0], q = y[0];
  bool isFloat = isa<FloatType>(p.getType());
  switch (*kind) {
  case CombineKind::Add:
    return {isFloat ? arith::AddFOp::create(b, loc, p, q).getResult()
                    : arith::AddIOp::create(b, loc, p, q).getResult()};
  case CombineKind::Mul:
    return {isFloat ? arith::MulFOp::create(b, loc, p, q).getResult()
                    : arith::MulIOp::create(b, loc, p, q).getResult()};
  case CombineKind::Max:
    return {isFloat ? arith::MaximumFOp::create(b, loc, p, q).getResult()
                    : arith::MaxSIOp::create(b, loc, p, q).getResult()};
  case CombineKind::Min:
    return {isFloat ? arith::MinimumFOp::create(b, loc, p, q).getResult()
                    : arith::MinSIOp::create(b, loc, p, q).getResult()};
  }
  return {};
}

Value heddle_gpu::exchange(OpBuilder &b, Location loc, Value v, int64_t bit) {
  ThreadCode code(b, loc);
  Type type = v.getType(), i32 = b.getI32Type();
  unsigned width = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  auto shuffle = [&](Value x) -> Value {
    return NVVM::ShflOp::create(b, loc, x.getType(), code.i32(-1), x,
                                code.i32(bit), code.i32(31),
                                NVVM::ShflKind::bfly, UnitAttr());
  };
  if (type.isF32() || type == i32)
    return shuffle(v);
  Type whole = b.getIntegerType(width);
  Value bits = type.isIndex()
                   ? arith::IndexCastOp::create(b, loc, whole, v).getResult()
               : isa<FloatType>(type)
                   ? arith::BitcastOp::create(b, loc, whole, v).getResult()
                   : v;
  if (width < 32) {
    bits = shuffle(arith::ExtUIOp::create(b, loc, i32, bits));
    bits = arith::TruncIOp::create(b, loc, whole, bits);
  } else {
    Value high = arith::ShRUIOp::create(
        b, loc, bits,
        arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(32)));
    Value low = shuffle(arith::TruncIOp::create(b, loc, i32, bits));
    high = shuffle(arith::TruncIOp::create(b, loc, i32, high));
    low = arith::ExtUIOp::create(b, loc, whole, low);
    high = arith::ShLIOp::create(
        b, loc, arith::ExtUIOp::create(b, loc, whole, high),
        arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(32)));
    bits = arith::OrIOp::create(b, loc, low, high);
  }
  if (type.isIndex())
    return arith::IndexCastOp::create(b, loc, type, bits);
  return isa<FloatType>(type)
             ? arith::BitcastOp::create(b, loc, type, bits).getResult()
             : bits;
}
