//===- HeddleAttentionOps.cpp - verifier and queries of attention ---------===//

#include "VerifyAttention.h"

#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace heddle;

//===----------------------------------------------------------------------===//
// Queries and builders
//===----------------------------------------------------------------------===//

int64_t AttentionOp::getBatch() { return sizeOf(getQuery(), 0); }
int64_t AttentionOp::getQueryHeads() {
  return sizeOf(getQuery(), headAxis(*this));
}
int64_t AttentionOp::getKeyHeads() { return sizeOf(getKey(), headAxis(*this)); }
int64_t AttentionOp::getQueryLength() {
  return sizeOf(getQuery(), lengthAxis(*this));
}
int64_t AttentionOp::getKeyLength() {
  return sizeOf(getKey(), lengthAxis(*this));
}
int64_t AttentionOp::getQueryHeadDim() { return sizeOf(getQuery(), 3); }
int64_t AttentionOp::getValueHeadDim() { return sizeOf(getValue(), 3); }
double AttentionOp::getEffectiveScale() { return effectiveScale(*this); }

RankedTensorType AttentionOp::inferOutType(Type query, Type value) {
  auto q = cast<RankedTensorType>(query);
  SmallVector<int64_t> shape(q.getShape());
  shape[3] = cast<RankedTensorType>(value).getDimSize(3);
  return RankedTensorType::get(shape, q.getElementType());
}

RankedTensorType AttentionOp::inferLseType(Type query, AttentionLayout layout) {
  ArrayRef<int64_t> q = cast<RankedTensorType>(query).getShape();
  bool bshd = layout == AttentionLayout::BSHD;
  return RankedTensorType::get({q[0], q[bshd ? 2 : 1], q[bshd ? 1 : 2]},
                               Float32Type::get(query.getContext()));
}

void AttentionOp::build(OpBuilder &builder, OperationState &state, Value query,
                        Value key, Value value, MaskAttr mask, bool withLse,
                        AttentionLayout layout) {
  Type lse = withLse ? inferLseType(query.getType(), layout) : Type();
  build(builder, state, inferOutType(query.getType(), value.getType()), lse,
        query, key, value, /*bias=*/Value(), /*query_segments=*/Value(),
        /*key_segments=*/Value(), /*key_lengths=*/Value(),
        /*mask_tensor=*/Value(), /*sinks=*/Value(), layout,
        /*scale=*/FloatAttr(), mask, Precision::IEEE);
}

//===----------------------------------------------------------------------===//
// Verifier
//===----------------------------------------------------------------------===//

LogicalResult AttentionOp::verify() {
  if (failed(verifyQueryKeyValue(*this)))
    return failure();
  Axis batch{"B", getBatch()}, length{"Sq", getQueryLength()},
      heads{"H", getQueryHeads()};
  /*attention_c6*/
  if (failed(verifyTensor(
          *this, "out", getOut(),
          inLayout(*this, batch, length, heads, {"d_v", getValueHeadDim()}),
          getQuery().getType().getElementType())))
    return failure();
  /*attention_c7*/
  if (failed(verifyTensor(*this, "lse", getLse(), {batch, heads, length},
                          Elements::F32)))
    return failure();
  return verifyScoreOperands(*this);
}

LogicalResult heddle::verifyScoreRegion(Operation *op, Region &score,
                                        unsigned results) {
  if (score.empty())
    return success();
  Block &body = score.front();
  Builder b(op->getContext());
  Type index = b.getIndexType();
  Type wanted[] = {b.getF32Type(), index, index, index, index};
  /*attention_c14*/ /*attention_grad_c7*/
  if (body.getArgumentTypes() != ArrayRef<Type>(wanted))
    return op->emitOpError() << "expected a score region over (f32, index, "
                                "index, index, index) for (score, b, h, i, j), "
                                "got ("
                             << body.getArgumentTypes() << ")";
  /*attention_c15*/ /*attention_grad_c8*/
  auto yield = body.empty() ? YieldOp() : dyn_cast<YieldOp>(body.back());
  if (!yield)
    return op->emitOpError() << "expected heddle.yield at the end of the score "
                                "region, got none";
  bool allF32 = llvm::all_of(yield.getOperandTypes(),
                             [](Type t) { return t.isF32(); });
  if (yield.getNumOperands() != results || !allF32)
    return op->emitOpError()
           << "expected the score region to yield "
           << (results == 1 ? "one f32" : "two f32 (score, derivative)")
           << ", got (" << yield.getOperandTypes() << ")";
  /*attention_c16*/ /*attention_grad_c9*/
  for (Operation &inner : body)
    if (!isMemoryEffectFree(&inner)) {
      InFlightDiagnostic diag = op->emitOpError()
                                << "expected a score region without side "
                                   "effects, got "
                                << inner.getName();
      diag.attachNote(inner.getLoc()) << "this op may have side effects";
      return diag;
    }
  return success();
}

LogicalResult AttentionOp::verifyRegions() {
  return verifyScoreRegion(*this, getScore(), /*results=*/1);
}
