//===- Values.cpp - summaries and comparison of tensors -------------------===//

#include "Values.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

using namespace heddle;
using namespace heddle::run;

static std::string number(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

Summary heddle::run::summarize(const HostTensor &tensor) {
  Summary summary;
  summary.elements = tensor.type.numElements();
  double sum = 0;
  for (int64_t i = 0; i < summary.elements; ++i) {
    double value = loadElement(tensor.bytes.data(), tensor.type.dtype, i);
    if (summary.first.size() < 8)
      summary.first.push_back(value);
    if (!std::isfinite(value))
      continue;
    if (summary.finite == 0)
      summary.min = summary.max = value;
    summary.min = std::min(summary.min, value);
    summary.max = std::max(summary.max, value);
    sum += value;
    ++summary.finite;
  }
  if (summary.finite)
    summary.mean = sum / static_cast<double>(summary.finite);
  return summary;
}

std::string Summary::str() const {
  std::string text = "[";
  for (size_t i = 0; i < first.size(); ++i)
    text += (i ? " " : "") + number(first[i]);
  if (static_cast<int64_t>(first.size()) < elements)
    text += " ...";
  text +=
      "] min " + number(min) + " max " + number(max) + " mean " + number(mean);
  if (finite == elements)
    return text + " all finite";
  return text + " finite " + std::to_string(finite) + " of " +
         std::to_string(elements);
}

std::string Tolerance::str() const {
  if (ofMax > 0)
    return number(ofMax) + " of max|ref|";
  if (rtol == 0 && atol == 0)
    return "equal";
  return "rtol " + number(rtol) + " atol " + number(atol);
}

Tolerance heddle::run::defaultTolerance(DType type) {
  Tolerance tolerance;
  switch (type) {
  case DType::F64:
    tolerance.ofMax = 1e-12;
    break;
  case DType::F32:
    tolerance.ofMax = 6e-6;
    break;
  case DType::F16:
    tolerance.ofMax = 1e-3;
    break;
  case DType::BF16:
    tolerance.ofMax = 4.5e-3;
    break;
  default:
    break;
  }
  return tolerance;
}

Comparison heddle::run::compare(const HostTensor &actual,
                                const std::function<double(int64_t)> &reference,
                                const Tolerance &tolerance) {
  int64_t elements = actual.type.numElements();
  double scale = 0;
  for (int64_t i = 0; i < elements; ++i) {
    double value = std::fabs(reference(i));
    if (std::isfinite(value))
      scale = std::max(scale, value);
  }
  Comparison result;
  double worstExcess = -std::numeric_limits<double>::infinity();
  for (int64_t i = 0; i < elements; ++i) {
    double got = loadElement(actual.bytes.data(), actual.type.dtype, i);
    double wanted = reference(i);
    double excess; // how far beyond the tolerance
    if (std::isfinite(got) && std::isfinite(wanted)) {
      double error = std::fabs(got - wanted);
      result.maxAbsError = std::max(result.maxAbsError, error);
      excess = error - (tolerance.atol + tolerance.rtol * std::fabs(wanted) +
                        tolerance.ofMax * scale);
    } else {
      bool same = got == wanted || (std::isnan(got) && std::isnan(wanted));
      excess = same ? -std::numeric_limits<double>::infinity()
                    : std::numeric_limits<double>::infinity();
    }
    if (excess > 0) {
      ++result.numWrong;
      result.passed = false;
    }
    if (result.worst < 0 || excess > worstExcess) {
      worstExcess = excess;
      result.worst = i;
      result.worstValue = got;
      result.worstReference = wanted;
    }
  }
  if (scale > 0)
    result.relError = result.maxAbsError / scale;
  return result;
}

std::string heddle::run::describeWorst(const Comparison &comparison,
                                       const TensorType &type) {
  if (comparison.worst < 0)
    return "no elements";
  std::vector<int64_t> position(type.shape.size());
  int64_t rest = comparison.worst;
  for (size_t axis = type.shape.size(); axis-- > 0;) {
    position[axis] = rest % type.shape[axis];
    rest /= type.shape[axis];
  }
  std::string text = "worst at [";
  for (size_t axis = 0; axis < position.size(); ++axis)
    text += (axis ? "," : "") + std::to_string(position[axis]);
  text += "]: got " + number(comparison.worstValue) + ", expected " +
          number(comparison.worstReference);
  return text + "; " + std::to_string(comparison.numWrong) + " of " +
         std::to_string(type.numElements()) + " elements are outside";
}
