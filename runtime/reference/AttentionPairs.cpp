//===- AttentionPairs.cpp - masks, bias and scores of one row -------------===//

#include "AttentionPairs.h"

#include "Access.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <limits>

using namespace mlir;

namespace heddle::reference {

bool maskShows(MaskAttr mask, int64_t i, int64_t j, int64_t sq, int64_t sk) {
  if (!mask)
    return true;
  ArrayRef<int64_t> v = mask.getValues();
  switch (mask.getKind()) {
  case MaskKind::Causal:
  case MaskKind::CausalUpperLeft:
    return j <= i;
  case MaskKind::CausalLowerRight:
    return j - sk <= i - sq;
  case MaskKind::Window:
    return j >= i - v[0] && j <= i + v[1];
  case MaskKind::Prefix:
    return j < v[0];
  case MaskKind::BlockDiagonal:
    return llvm::divideFloorSigned(i, v[0]) == llvm::divideFloorSigned(j, v[0]);
  case MaskKind::AffineSet: {
    int64_t position[] = {i, j};
    for (auto [c, expr] : llvm::enumerate(mask.getSet().getConstraints())) {
      int64_t value = evaluateExpr(expr, position);
      if (mask.getSet().isEq(c) ? value != 0 : value < 0)
        return false;
    }
    return true;
  }
  case MaskKind::Union:
    for (MaskAttr term : mask.getTerms())
      if (maskShows(term, i, j, sq, sk))
        return true;
    return false;
  case MaskKind::Intersection:
    for (MaskAttr term : mask.getTerms())
      if (!maskShows(term, i, j, sq, sk))
        return false;
    return true;
  }
  return false;
}

/// The lowest finite value of a float type. A bias at or below it masks, as
/// -inf does: both are how graphs spell a mask as numbers.
static double lowestFinite(Type type) {
  type = elementTypeOf(type);
  if (type.isF16())
    return -65504.0;
  if (type.isBF16())
    return -3.3895313892515355e38;
  if (type.isF32())
    return -std::numeric_limits<float>::max();
  return std::numeric_limits<double>::lowest();
}

void AttentionPairs::setRoundings(Type element, bool tf32,
                                  const ReferenceOptions &options) {
  if (options.mode != ReferenceMode::Declared)
    return;
  roundP = storageRounding(element, options);
  if (element.isF32() && tf32)
    roundP = roundInputs = {Rounding::TF32, options.draw};
}

void AttentionPairs::setBiasLimit(Type type) {
  biasMasksAt = lowestFinite(type);
}

int64_t AttentionPairs::broadcastOffset(ArrayRef<int64_t> s, int64_t b,
                                        int64_t h, int64_t i, int64_t j) {
  return (((s[0] == 1 ? 0 : b) * s[1] + (s[1] == 1 ? 0 : h)) * s[2] +
          (s[2] == 1 ? 0 : i)) *
             s[3] +
         (s[3] == 1 ? 0 : j);
}

void AttentionPairs::findVisible(int64_t b, int64_t h, int64_t i,
                                 uint8_t *visible) const {
  int64_t length = sk;
  if (keyLengths)
    length = std::clamp<int64_t>(keyLengths->integerAt(b), 0, sk);
  std::fill(visible + length, visible + sk, 0);
  if (!mask && !querySegments && !maskTensor) {
    std::fill(visible, visible + length, 1);
    return;
  }
  for (int64_t j = 0; j < length; ++j) {
    bool shows = maskShows(mask, i, j, sq, sk);
    if (shows && querySegments)
      shows = querySegments->integerAt(b * sq + i) ==
              keySegments->integerAt(b * sk + j);
    if (shows && maskTensor)
      shows = maskTensor->integerAt(
                  broadcastOffset(maskTensor->shape, b, h, i, j)) != 0;
    visible[j] = shows;
  }
}

bool AttentionPairs::finishScores(ElementFrame *frame, int64_t b, int64_t h,
                                  int64_t i, double *scores, uint8_t *visible,
                                  double *derivative) const {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (int64_t j = 0; j < sk; ++j)
    scores[j] *= scale;
  if (derivative && !score)
    std::fill_n(derivative, sk, 1.0);
  for (int64_t j0 = 0; score && j0 < sk; j0 += kVectorLength) {
    int64_t n = std::min(kVectorLength, sk - j0);
    std::copy_n(scores + j0, n, frame->real(score->inputs[0]));
    std::fill_n(frame->integer(score->inputs[1]), n, b);
    std::fill_n(frame->integer(score->inputs[2]), n, h);
    std::fill_n(frame->integer(score->inputs[3]), n, i);
    for (int64_t e = 0; e < n; ++e)
      frame->integer(score->inputs[4])[e] = j0 + e;
    if (!frame->run(n))
      return false;
    std::copy_n(frame->real(score->results[0]), n, scores + j0);
    if (derivative)
      std::copy_n(frame->real(score->results[1]), n, derivative + j0);
  }
  if (bias)
    for (int64_t j = 0; j < sk; ++j) {
      double addend = bias->realAt(broadcastOffset(bias->shape, b, h, i, j));
      if (addend <= biasMasksAt)
        visible[j] = 0;
      scores[j] += addend;
    }
  for (int64_t j = 0; j < sk; ++j)
    if (scores[j] == -infinity)
      visible[j] = 0;
  return true;
}

} // namespace heddle::reference
