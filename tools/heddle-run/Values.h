//===- Values.h - summaries and comparison of tensors -----------*- C++ -*-===//

#ifndef HEDDLE_TOOLS_HEDDLE_RUN_VALUES_H
#define HEDDLE_TOOLS_HEDDLE_RUN_VALUES_H

#include "heddle/Runtime/DType.h"

#include <functional>
#include <string>
#include <vector>

namespace heddle::run {

/// What is printed of a result. min, max and mean are over the finite elements
/// and zero where there are none.
struct Summary {
  std::vector<double> first; // up to eight elements
  double min = 0, max = 0, mean = 0;
  int64_t finite = 0, elements = 0;
  std::string str() const;
};
Summary summarize(const HostTensor &tensor);

/// Largest error that passes: |out - ref| <= atol + rtol * |ref|, plus
/// `ofMax` * max|ref|.
struct Tolerance {
  double rtol = 0, atol = 0, ofMax = 0;
  std::string str() const;
};

/// The limit that an element type is compared with where none is given: a
/// fraction of max|ref| for floating point, equality for integers.
Tolerance defaultTolerance(DType type);

/// Element-wise comparison with a reference of the same size. A NaN or an
/// infinity passes only where the reference has the same.
struct Comparison {
  bool passed = true;
  double maxAbsError = 0, relError = 0; // over positions finite in both
  int64_t numWrong = 0;
  int64_t worst = -1; // flat position of the largest excess; -1: no elements
  std::string worstValue, worstReference;
};
Comparison compare(const HostTensor &actual,
                   const std::function<double(int64_t)> &reference,
                   const Tolerance &tolerance);
/// The same for a tensor of integers: equal means equal, beyond 2^53 too.
Comparison compareIntegers(const HostTensor &actual,
                           const std::function<int64_t(int64_t)> &reference,
                           const Tolerance &tolerance);
/// With a tensor of the same type, integers as integers.
Comparison compare(const HostTensor &actual, const HostTensor &expected,
                   const Tolerance &tolerance);

/// "worst at [0,3,1]: got 1.5, expected 1.25; 3 of 64 elements are outside".
std::string describeWorst(const Comparison &comparison, const TensorType &type);

} // namespace heddle::run

#endif // HEDDLE_TOOLS_HEDDLE_RUN_VALUES_H
