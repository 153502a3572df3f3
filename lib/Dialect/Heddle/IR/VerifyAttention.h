//===- VerifyAttention.h - what attention and its gradient share -*- C++ -*-===//
//
// Private to the dialect's verifiers: sizes by role and the checks of the
// operands that heddle.attention and heddle.attention_grad both have.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_LIB_DIALECT_HEDDLE_IR_VERIFYATTENTION_H
#define HEDDLE_LIB_DIALECT_HEDDLE_IR_VERIFYATTENTION_H

#include "VerifyTensor.h"
#include "heddle/Dialect/Heddle/IR/Heddle.h"

#include <cmath>

namespace heddle {

inline int64_t sizeOf(mlir::Value v, unsigned dim) {
  return llvm::cast<mlir::RankedTensorType>(v.getType()).getDimSize(dim);
}

/// Axis numbers of the layout.
template <typename Op> unsigned headAxis(Op op) {
  return op.getLayout() == AttentionLayout::BSHD ? 2 : 1;
}
template <typename Op> unsigned lengthAxis(Op op) {
  return op.getLayout() == AttentionLayout::BSHD ? 1 : 2;
}

template <typename Op> double effectiveScale(Op op) {
  if (std::optional<llvm::APFloat> scale = op.getScale())
    return scale->convertToDouble();
  return 1.0 / std::sqrt(static_cast<double>(op.getQueryHeadDim()));
}

/// Axes in the order of the op's layout.
template <typename Op>
llvm::SmallVector<Axis> inLayout(Op op, Axis batch, Axis length, Axis heads,
                                 Axis dim) {
  if (op.getLayout() == AttentionLayout::BSHD)
    return {batch, length, heads, dim};
  return {batch, heads, length, dim};
}

/// The shapes and types of query, key and value.
template <typename Op> llvm::LogicalResult verifyQueryKeyValue(Op op) {
  using namespace mlir;
  Type element = op.getQuery().getType().getElementType();
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
  Axis batch{"B", op.getBatch()};
  int64_t heads = op.getQueryHeads(), keyHeads = op.getKeyHeads();
  /*attention_c2*/
  if (failed(verifyTensor(op, "key", op.getKey(),
                          inLayout(op, batch, {"Sk"}, {"Hk"},
                                   {"d_qk", op.getQueryHeadDim()}),
                          element)))
    return failure();
  /*attention_c3*/
  if (failed(verifyTensor(op, "value", op.getValue(),
                          inLayout(op, batch, {"Sk", op.getKeyLength()},
                                   {"Hk", keyHeads}, {"d_v"}),
                          element)))
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
           << " and " << keyHeads << "; heads are axis " << headAxis(op)
           << " in layout " << stringifyAttentionLayout(op.getLayout());
  return success();
}

/// Bias, masks of all kinds, sinks and scale.
template <typename Op> llvm::LogicalResult verifyScoreOperands(Op op) {
  using namespace mlir;
  int64_t sq = op.getQueryLength(), sk = op.getKeyLength();
  Axis batch{"B", op.getBatch()}, heads{"H", op.getQueryHeads()};
  Axis scores[] = {{"B", op.getBatch(), true},
                   {"H", op.getQueryHeads(), true},
                   {"Sq", sq, true},
                   {"Sk", sk, true}};
  /*attention_c8*/
  if (failed(verifyTensor(op, "bias", op.getBias(), scores, Elements::Float)))
    return failure();
  /*attention_c9*/
  if (!op.getQuerySegments() != !op.getKeySegments())
    return op.emitOpError()
           << "expected query_segments and key_segments together"
           << ", got only "
           << (op.getKeySegments() ? "key_segments" : "query_segments");
  if (failed(verifyTensor(op, "query_segments", op.getQuerySegments(),
                          {batch, {"Sq", sq}}, Elements::I32)) ||
      failed(verifyTensor(op, "key_segments", op.getKeySegments(),
                          {batch, {"Sk", sk}}, Elements::I32)))
    return failure();
  /*attention_c10*/
  if (failed(verifyTensor(op, "key_lengths", op.getKeyLengths(), {batch},
                          Elements::I32)))
    return failure();
  /*attention_c11*/
  if (failed(verifyTensor(op, "mask_tensor", op.getMaskTensor(), scores,
                          Elements::I1)))
    return failure();
  /*attention_c12*/
  if (failed(verifyTensor(op, "sinks", op.getSinks(), {heads}, Elements::F32)))
    return failure();
  /*attention_c13*/
  if (op.getMask() && op.getMask()->needsEqualLengths() && !sizesFit(sq, sk))
    return op.emitOpError()
           << "expected equal query and key lengths with causal, got " << sq
           << " and " << sk
           << "; say causal_lower_right or causal_upper_left";
  /*attention_c17*/
  if (op.getScale() && !op.getScale()->isFinite())
    return op.emitOpError()
           << "expected a finite scale, got " << op.getScaleAttr();
  return success();
}

/// The arguments of a score region and its end; `results` of them are f32.
llvm::LogicalResult verifyScoreRegion(mlir::Operation *op, mlir::Region &score,
                                      unsigned results);

} // namespace heddle

#endif // HEDDLE_LIB_DIALECT_HEDDLE_IR_VERIFYATTENTION_H
