//===- Compare.h - judges a result by the reference device ------*- C++ -*-===//
//
// Error figures of a result against the reference device, and the rule that
// decides whether it passes:
//
//   f32          max|out - exact| <= 6e-6 max|exact| forward, 1e-5 backward
//   f64          max|out - exact| <= 1e-12 max|exact|
//   bf16, f16,   max|out - exact| <= 1.5 max|declared - exact|
//   tf32                             + 1e-6 max|exact|
//                The error of `declared` is a random number, and so is that of
//                the result: what fails is compared with further draws of it
//                (heddle/Reference/Judge.h)
//   and never    above 4.5e-3 (bf16 forward), 8e-3 (bf16 backward), 1e-3 (f16),
//                9e-4 (tf32) of max|exact|, but for whole models
//                (CompareOptions::model) of 16 bits. Only attention declares
//                TF32: without such an op the cap alone decides
//   integers     equal
//
// A NaN or an infinity has to stand exactly where the reference has one.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_REFERENCE_COMPARE_H
#define HEDDLE_REFERENCE_COMPARE_H

#include "heddle/Reference/Evaluator.h"
#include "heddle/Runtime/DType.h"

#include <optional>
#include <string>

namespace heddle {

struct CompareOptions {
  bool backward = false; // limits of gradients instead of forward values
  bool tf32 = false;     // f32 tensors whose products were formed in TF32
  /// A whole model, not one op: the roundings of its many stored values add up
  /// to more than the absolute caps (four bf16 transformer blocks: 1e-2 of
  /// max|exact|), so that the declared error alone decides.
  bool model = false;
  /// The type the model computes in, where it differs from the type of the
  /// tensor (an f32 loss of a bf16 model).
  std::optional<DType> computeType;
  /// The largest error of further draws of `declared`, of max|exact|, and how
  /// many there were.
  double drawnRelError = 0;
  int draws = 0;
  /// A reference that is zero everywhere judges nothing and fails, unless the
  /// caller means it.
  bool allowZeroReference = false;
};

struct CompareResult {
  double maxAbsError = 0;      // over elements where both are finite
  double maxAbsReference = 0;  // max|exact| over finite elements
  double relError = 0;         // maxAbsError / maxAbsReference
  double declaredRelError = 0; // the same for `declared` and its further
                               // draws; 0 when not given
  double limit = 0;            // the largest relError that passes
  bool finite = true;          // every element of the result is finite
  bool allZero = false;        // every element of the reference is zero
  bool passed = false;
  bool byDeclared = false; // failed only by the error of `declared`: another
                           // draw of it may raise the limit
  int64_t worstIndex = -1; // row-major; a misplaced NaN or inf comes first
  std::string rule;        // "rel_err <= 6e-06", for reports
  std::string failure;     // empty when passed; one sentence otherwise
};

/// Compares `actual` with `exact` and, for the 16-bit types and TF32, with what
/// `declared` says is to be expected (null: the absolute caps alone decide).
/// Tensors of different shapes fail with a sentence that names both.
CompareResult compareWithReference(const HostTensor &actual,
                                   const ReferenceTensor &exact,
                                   const ReferenceTensor *declared = nullptr,
                                   const CompareOptions &options = {});

/// max|declared - exact| / max|exact| over the finite elements: what rounding
/// alone costs. Tensors of the same shape.
double roundingError(const ReferenceTensor &declared,
                     const ReferenceTensor &exact);

/// The slices `rows` of `tensor` along `axis`, in that order: what to compare
/// with `evaluateAttentionRows`. Rows must be within the axis.
HostTensor selectRows(const HostTensor &tensor, int64_t axis,
                      const std::vector<int64_t> &rows);

} // namespace heddle

#endif // HEDDLE_REFERENCE_COMPARE_H
