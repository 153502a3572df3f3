//===- HeddleAttentionOps.cpp - verifier and queries of attention ---------===//

#include "VerifyTensor.h"
#include "heddle/Dialect/Heddle/IR/Heddle.h"

#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <cmath>

using namespace mlir;
using namespace heddle;

static int64_t sizeOf(Value v, unsigned dim) {
  return cast<RankedTensorType>(v.getType()).getDimSize(dim);
}

//===----------------------------------------------------------------------===//
// Queries and builders
//===----------------------------------------------------------------------===//

int64_t AttentionOp::getBatch() { return sizeOf(getQuery(), 0); }
int64_t AttentionOp::getQueryHeads() {
  return sizeOf(getQuery(), getLayout() == AttentionLayout::BSHD ? 2 : 1);
}
int64_t AttentionOp::getKeyHeads() {
  return sizeOf(getKey(), getLayout() == AttentionLayout::BSHD ? 2 : 1);
}
int64_t AttentionOp::getQueryLength() {
  return sizeOf(getQuery(), getLayout() == AttentionLayout::BSHD ? 1 : 2);
}
int64_t AttentionOp::getKeyLength() {
  return sizeOf(getKey(), getLayout() == AttentionLayout::BSHD ? 1 : 2);
}
int64_t AttentionOp::getQueryHeadDim() { return sizeOf(getQuery(), 3); }
int64_t AttentionOp::getValueHeadDim() { return sizeOf(getValue(), 3); }

double AttentionOp::getEffectiveScale() {
  if (std::optional<APFloat> scale = getScale())
    return scale->convertToDouble();
  return 1.0 / std::sqrt(static_cast<double>(getQueryHeadDim()));
}

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

/// The shapes and types of query, key, value and the results.
static LogicalResult verifyMainTensors(AttentionOp op) {
  auto queryType = op.getQuery().getType();
  Type element = queryType.getElementType();
  for (auto [name, value] :
       {std::pair<StringRef, Value>{"query", op.getQuery()},
        {"key", op.getKey()},
        {"value", op.getValue()}}) {
    auto type = cast<RankedTensorType>(value.getType());
    bool float16or32 = element.isF16() || element.isBF16() || element.isF32();
    if (type.getRank() != 4 || type.getElementType() != element || !float16or32)
      /*attention_c1*/
      return op.emitOpError()
             << "expected " << name << " of rank 4 and element type "
             << (float16or32 ? "of query" : "f16, bf16 or f32") << ", got "
             << type;
  }
  bool bshd = op.getLayout() == AttentionLayout::BSHD;
  auto verify4 = [&](StringRef what, Value value, Axis batch, Axis length,
                     Axis heads, Axis dim) {
    Axis first = bshd ? length : heads, second = bshd ? heads : length;
    return verifyTensor(op, what, value, {batch, first, second, dim}, element);
  };
  Axis batch{"B", op.getBatch()};
  int64_t heads = op.getQueryHeads(), keyHeads = op.getKeyHeads();
  /*attention_c2*/
  if (failed(verify4("key", op.getKey(), batch, {"Sk"}, {"Hk"},
                     {"d_qk", op.getQueryHeadDim()})))
    return failure();
  /*attention_c3*/
  if (failed(verify4("value", op.getValue(), batch, {"Sk", op.getKeyLength()},
                     {"Hk", keyHeads}, {"d_v"})))
    return failure();
  /*attention_c4*/
  for (auto [name, size] :
       {std::pair<StringRef, int64_t>{"d_qk", op.getQueryHeadDim()},
        {"d_v", op.getValueHeadDim()},
        {"query heads", heads},
        {"key heads", keyHeads}})
    if (size == 0)
      return op.emitOpError() << "expected " << name << " of at least 1, got 0";
  /*attention_c5*/
  if (!ShapedType::isDynamic(heads) && !ShapedType::isDynamic(keyHeads) &&
      heads % keyHeads != 0)
    return op.emitOpError()
           << "expected query heads divisible by key heads, got " << heads
           << " and " << keyHeads << "; heads are axis " << (bshd ? 2 : 1)
           << " in layout " << stringifyAttentionLayout(op.getLayout());
  /*attention_c6*/
  if (failed(verify4("out", op.getOut(), batch, {"Sq", op.getQueryLength()},
                     {"H", heads}, {"d_v", op.getValueHeadDim()})))
    return failure();
  /*attention_c7*/
  return verifyTensor(op, "lse", op.getLse(),
                      {batch, {"H", heads}, {"Sq", op.getQueryLength()}},
                      Elements::F32);
}

LogicalResult AttentionOp::verify() {
  if (failed(verifyMainTensors(*this)))
    return failure();
  int64_t sq = getQueryLength(), sk = getKeyLength();
  Axis batch{"B", getBatch()}, heads{"H", getQueryHeads()};
  Axis scores[] = {{"B", getBatch(), true},
                   {"H", getQueryHeads(), true},
                   {"Sq", sq, true},
                   {"Sk", sk, true}};
  /*attention_c8*/
  if (failed(verifyTensor(*this, "bias", getBias(), scores, Elements::Float)))
    return failure();
  /*attention_c9*/
  if (!getQuerySegments() != !getKeySegments())
    return emitOpError() << "expected query_segments and key_segments together"
                         << ", got only "
                         << (getKeySegments() ? "key_segments"
                                              : "query_segments");
  if (failed(verifyTensor(*this, "query_segments", getQuerySegments(),
                          {batch, {"Sq", sq}}, Elements::I32)) ||
      failed(verifyTensor(*this, "key_segments", getKeySegments(),
                          {batch, {"Sk", sk}}, Elements::I32)))
    return failure();
  /*attention_c10*/
  if (failed(verifyTensor(*this, "key_lengths", getKeyLengths(), {batch},
                          Elements::I32)))
    return failure();
  /*attention_c11*/
  if (failed(verifyTensor(*this, "mask_tensor", getMaskTensor(), scores,
                          Elements::I1)))
    return failure();
  /*attention_c12*/
  if (failed(verifyTensor(*this, "sinks", getSinks(), {heads}, Elements::F32)))
    return failure();
  /*attention_c13*/
  if (getMask() && getMask()->needsEqualLengths() && !sizesFit(sq, sk))
    return emitOpError() << "expected equal query and key lengths with causal, "
                            "got "
                         << sq << " and " << sk
                         << "; say causal_lower_right or causal_upper_left";
  /*attention_c17*/
  if (getScale() && !getScale()->isFinite())
    return emitOpError() << "expected a finite scale, got " << getScaleAttr();
  return success();
}

LogicalResult AttentionOp::verifyRegions() {
  if (getScore().empty())
    return success();
  Block &body = getScore().front();
  Builder b(getContext());
  Type index = b.getIndexType();
  Type wanted[] = {b.getF32Type(), index, index, index, index};
  /*attention_c14*/
  if (body.getArgumentTypes() != ArrayRef<Type>(wanted))
    return emitOpError() << "expected a score region over (f32, index, index, "
                            "index, index) for (score, b, h, i, j), got ("
                         << body.getArgumentTypes() << ")";
  /*attention_c15*/
  auto yield = body.empty() ? YieldOp() : dyn_cast<YieldOp>(body.back());
  if (!yield)
    return emitOpError() << "expected heddle.yield at the end of the score "
                            "region, got none";
  if (yield.getNumOperands() != 1 || !yield.getOperand(0).getType().isF32())
    return emitOpError() << "expected the score region to yield one f32, got ("
                         << yield.getOperandTypes() << ")";
  /*attention_c16*/
  for (Operation &inner : body)
    if (!isMemoryEffectFree(&inner)) {
      InFlightDiagnostic diag =
          emitOpError() << "expected a score region without side effects, got "
                        << inner.getName();
      diag.attachNote(inner.getLoc()) << "this op may have side effects";
      return diag;
    }
  return success();
}
