//===- AttentionPairs.h - what decides about a pair (i, j) ------*- C++ -*-===//
//
// Sizes, masks, bias and the score region, as attention and its gradient both
// read them: one row of scores at a time.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_REFERENCE_ATTENTIONPAIRS_H
#define HEDDLE_RUNTIME_REFERENCE_ATTENTIONPAIRS_H

#include "Ops.h"

#include <optional>

namespace heddle::reference {

struct AttentionPairs {
  int64_t batch, heads, keyHeads, sq, sk, dqk, dv;
  double scale;
  MaskAttr mask;
  bool bshd;
  const TensorValue *bias = nullptr, *querySegments = nullptr,
                    *keySegments = nullptr, *keyLengths = nullptr,
                    *maskTensor = nullptr, *sinks = nullptr;
  double biasMasksAt = 0; // a bias at or below it hides the pair
  Rounding roundP = Rounding::None, roundInputs = Rounding::None;
  std::optional<ElementProgram> score;

  /// Sizes and roundings; the optional operands are set by the caller.
  template <typename Op>
  AttentionPairs(Op op, const ReferenceOptions &options)
      : batch(op.getBatch()), heads(op.getQueryHeads()),
        keyHeads(op.getKeyHeads()), sq(op.getQueryLength()),
        sk(op.getKeyLength()), dqk(op.getQueryHeadDim()),
        dv(op.getValueHeadDim()), scale(op.getEffectiveScale()),
        mask(op.getMaskAttr()), bshd(op.getLayout() == AttentionLayout::BSHD) {
    setRoundings(elementTypeOf(op.getQuery().getType()),
                 op.getPrecision() == Precision::TF32, options);
    if (op.getBias())
      setBiasLimit(op.getBias().getType());
  }

  /// Element offset of (b, s, h, 0) in a tensor of the op's layout.
  int64_t offset(int64_t b, int64_t s, int64_t h, int64_t length,
                 int64_t numHeads, int64_t dim) const {
    return (bshd ? (b * length + s) * numHeads + h
                 : (b * numHeads + h) * length + s) *
           dim;
  }
  /// Element of an operand of shape (B|1, H|1, Sq|1, Sk|1).
  static int64_t broadcastOffset(llvm::ArrayRef<int64_t> s, int64_t b,
                                 int64_t h, int64_t i, int64_t j);

  /// Marks the keys that masks show to query i.
  void findVisible(int64_t b, int64_t h, int64_t i, uint8_t *visible) const;
  /// From raw products to final scores, in place: scale, score region, bias.
  /// Hides pairs whose bias or score masks. `derivative` gets d score / d
  /// (scaled product), unless null; the region then has two results. Returns
  /// false if the region read outside a tensor.
  bool finishScores(ElementFrame *frame, int64_t b, int64_t h, int64_t i,
                    double *scores, uint8_t *visible, double *derivative) const;

private:
  void setRoundings(mlir::Type element, bool tf32,
                    const ReferenceOptions &options);
  void setBiasLimit(mlir::Type type);
};

} // namespace heddle::reference

#endif // HEDDLE_RUNTIME_REFERENCE_ATTENTIONPAIRS_H
