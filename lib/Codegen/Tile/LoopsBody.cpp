//===- LoopsBody.cpp - bodies of structured ops on scalars ----------------===//

#include "LoopsBody.h"
#include "heddle/Codegen/Tile/KernelBody.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/DenseMap.h"

using namespace mlir;
using namespace heddle;

static bool isNarrow(Type t) { return t.isBF16() || t.isF16(); }

Type heddle::computeType(Type element) {
  return isNarrow(element) ? Float32Type::get(element.getContext()) : element;
}

Value heddle::computeConstant(OpBuilder &b, Location loc, TypedAttr attr) {
  if (isNarrow(attr.getType()))
    attr = b.getF32FloatAttr(
        static_cast<float>(cast<FloatAttr>(attr).getValueAsDouble()));
  return arith::ConstantOp::create(b, loc, attr);
}

static Value widen(OpBuilder &b, Location loc, Value v) {
  return isNarrow(v.getType())
             ? arith::ExtFOp::create(b, loc, b.getF32Type(), v).getResult()
             : v;
}

/// Rounds to `element` where the value is computed with in a wider type.
static Value narrow(OpBuilder &b, Location loc, Value v, Type element) {
  return v.getType() == element
             ? v
             : arith::TruncFOp::create(b, loc, element, v).getResult();
}

Value heddle::loadScalar(OpBuilder &b, Location loc, Value buffer,
                         ValueRange position) {
  return widen(b, loc, memref::LoadOp::create(b, loc, buffer, position));
}

void heddle::storeScalar(OpBuilder &b, Location loc, Value value, Value buffer,
                         ValueRange position) {
  Type element = cast<MemRefType>(buffer.getType()).getElementType();
  memref::StoreOp::create(b, loc, narrow(b, loc, value, element), buffer,
                          position);
}

Value heddle::splatElement(OpBuilder &b, Location loc, Value v) {
  if (auto fill = v.getDefiningOp<linalg::FillOp>())
    v = fill.getInputs()[0];
  Attribute attr;
  if (!matchPattern(v, m_Constant(&attr)))
    return {};
  if (auto splat = dyn_cast<SplatElementsAttr>(attr))
    attr = splat.getSplatValue<Attribute>();
  auto typed = dyn_cast<TypedAttr>(attr);
  if (!typed || !typed.getType().isIntOrIndexOrFloat())
    return {};
  return computeConstant(b, loc, typed);
}

/// An indexed load, its position clamped to the tensor.
static Value emitExtract(OpBuilder &b, tensor::ExtractOp op,
                         ValueRange indices) {
  Location loc = op.getLoc();
  Value buffer = bufferOf(op.getTensor());
  if (!buffer)
    return splatElement(b, loc, op.getTensor());
  SmallVector<Value> position;
  Value first = arith::ConstantIndexOp::create(b, loc, 0);
  for (auto [extent, index] :
       llvm::zip(op.getTensor().getType().getShape(), indices)) {
    Value last = arith::ConstantIndexOp::create(b, loc, extent - 1);
    position.push_back(arith::MinSIOp::create(
        b, loc, arith::MaxSIOp::create(b, loc, index, first), last));
  }
  return loadScalar(b, loc, buffer, position);
}

/// Casts between float types, on values in their compute types.
static Value emitFloatCast(OpBuilder &b, Location loc, Value v, Type from,
                           Type to) {
  Type wanted = computeType(to);
  unsigned width = v.getType().getIntOrFloatBitWidth();
  if (isNarrow(to) && from.getIntOrFloatBitWidth() >= 32)
    return widen(b, loc, narrow(b, loc, v, to));
  if (width < wanted.getIntOrFloatBitWidth())
    return arith::ExtFOp::create(b, loc, wanted, v);
  return narrow(b, loc, v, wanted);
}

FailureOr<SmallVector<Value>>
heddle::emitScalarBody(OpBuilder &b, Block &body, ValueRange args,
                       function_ref<Value(unsigned)> indexOf) {
  llvm::DenseMap<Value, Value> local;
  for (auto [arg, value] : llvm::zip(body.getArguments(), args))
    local[arg] = value;
  auto get = [&](Value v) -> Value {
    if (Value mapped = local.lookup(v))
      return mapped;
    TypedAttr attr;
    if (matchPattern(v, m_Constant(&attr)))
      return local[v] = computeConstant(b, v.getLoc(), attr);
    return {};
  };
  for (Operation &op : body.without_terminator()) {
    if (op.hasTrait<OpTrait::ConstantLike>())
      continue;
    if (auto index = dyn_cast<linalg::IndexOp>(op)) {
      local[index] = indexOf(index.getDim());
      continue;
    }
    SmallVector<Value> operands;
    for (Value v : op.getOperands()) {
      if (isa<TensorType>(v.getType()))
        continue; // of tensor.extract
      operands.push_back(get(v));
      if (!operands.back())
        return op.emitOpError("expected operands from its body or constant");
    }
    Location loc = op.getLoc();
    Value result;
    if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
      result = emitExtract(b, extract, operands);
      if (!result)
        return op.emitOpError("expected a tensor in memory or constant");
    } else if (isa<arith::ExtFOp, arith::TruncFOp>(op)) {
      result = emitFloatCast(b, loc, operands[0], op.getOperand(0).getType(),
                             op.getResult(0).getType());
    } else if (auto cast = dyn_cast<arith::BitcastOp>(op)) {
      // The bits are those of the narrow type.
      Value bits = narrow(b, loc, operands[0], cast.getIn().getType());
      result =
          widen(b, loc, arith::BitcastOp::create(b, loc, cast.getType(), bits));
    } else if (OpTrait::hasElementwiseMappableTraits(&op) &&
               op.getNumResults() == 1) {
      OperationState state(loc, op.getName());
      state.addOperands(operands);
      state.addAttributes(op.getAttrs());
      state.addTypes(computeType(op.getResult(0).getType()));
      result = b.create(state)->getResult(0);
    } else {
      return op.emitOpError("has no form on scalars on the CPU; run the model "
                            "with --device=reference");
    }
    local[op.getResult(0)] = result;
  }
  SmallVector<Value> results;
  for (Value v : body.getTerminator()->getOperands()) {
    results.push_back(get(v));
    if (!results.back())
      return body.getTerminator()->emitOpError(
          "expected operands from its body or constant");
  }
  return results;
}
