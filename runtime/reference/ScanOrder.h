//===- ScanOrder.h - order of a scan's steps, optional operands -*- C++ -*-===//

#ifndef HEDDLE_RUNTIME_REFERENCE_SCANORDER_H
#define HEDDLE_RUNTIME_REFERENCE_SCANORDER_H

#include "Ops.h"

#include <cmath>

namespace heddle::reference {

/// The order in which a scan visits the positions of one sequence, and where a
/// new segment starts: the ids differ from those of the position before. The
/// initial state belongs to the first segment.
class ScanOrder {
public:
  ScanOrder(int64_t length, bool reverse, const TensorValue *resetIds)
      : length(length), reverse(reverse), resetIds(resetIds) {}
  int64_t position(int64_t step) const {
    return reverse ? length - 1 - step : step;
  }
  bool resets(int64_t b, int64_t step) const {
    return resetIds && step > 0 &&
           resetIds->integerAt(b * length + position(step)) !=
               resetIds->integerAt(b * length + position(step - 1));
  }
  /// Whether no state comes before the step, not one of zeros either, so that
  /// its decay counts for nothing, an infinite one too.
  bool starts(int64_t b, int64_t step, const TensorValue *initial) const {
    return (step == 0 && !initial) || resets(b, step);
  }

private:
  int64_t length;
  bool reverse;
  const TensorValue *resetIds;
};

/// Hands out the operands of an op with optional ones.
class OperandReader {
public:
  explicit OperandReader(Operands operands) : operands(operands) {}
  const TensorValue *take(mlir::Value value) {
    return value ? &operands[next++] : nullptr;
  }

private:
  Operands operands;
  unsigned next = 0;
};

inline double softplus(double x) {
  return x > 20.0 ? x : std::log1p(std::exp(x));
}
inline double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

/// Appends those of `values`, one per result that the op may have, that are
/// there, rounded as the mode says.
void finishScan(mlir::Operation *op, const ReferenceOptions &options,
                mlir::MutableArrayRef<TensorValue> values, Results &results);

} // namespace heddle::reference

#endif // HEDDLE_RUNTIME_REFERENCE_SCANORDER_H
