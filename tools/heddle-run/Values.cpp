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

/// How far two elements are apart; for integers exact, so that different ones
/// never have distance zero.
static double distance(double a, double b) { return std::fabs(a - b); }
static double distance(int64_t a, int64_t b) {
  uint64_t low = static_cast<uint64_t>(std::min(a, b));
  return static_cast<double>(static_cast<uint64_t>(std::max(a, b)) - low);
}

static bool isFinite(double value) { return std::isfinite(value); }
static bool isFinite(int64_t) { return true; }
static bool isNan(double value) { return std::isnan(value); }
static bool isNan(int64_t) { return false; }

static std::string number(int64_t value) { return std::to_string(value); }

template <typename T, typename Get>
static Comparison compareElements(int64_t elements, Get got,
                                  const std::function<T(int64_t)> &reference,
                                  const Tolerance &tolerance) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  double scale = 0;
  for (int64_t i = 0; i < elements; ++i)
    if (T value = reference(i); isFinite(value))
      scale = std::max(scale, std::fabs(static_cast<double>(value)));
  Comparison result;
  double worstExcess = -infinity;
  for (int64_t i = 0; i < elements; ++i) {
    T value = got(i), wanted = reference(i);
    double excess; // how far beyond the tolerance
    if (isFinite(value) && isFinite(wanted)) {
      double error = distance(value, wanted);
      result.maxAbsError = std::max(result.maxAbsError, error);
      excess =
          error - (tolerance.atol +
                   tolerance.rtol * std::fabs(static_cast<double>(wanted)) +
                   tolerance.ofMax * scale);
    } else {
      bool same = value == wanted || (isNan(value) && isNan(wanted));
      excess = same ? -infinity : infinity;
    }
    if (excess > 0) {
      ++result.numWrong;
      result.passed = false;
    }
    if (result.worst < 0 || excess > worstExcess) {
      worstExcess = excess;
      result.worst = i;
      result.worstValue = number(value);
      result.worstReference = number(wanted);
    }
  }
  if (scale > 0)
    result.relError = result.maxAbsError / scale;
  return result;
}

Comparison heddle::run::compare(const HostTensor &actual,
                                const std::function<double(int64_t)> &reference,
                                const Tolerance &tolerance) {
  auto got = [&](int64_t i) {
    return loadElement(actual.bytes.data(), actual.type.dtype, i);
  };
  return compareElements<double>(actual.type.numElements(), got, reference,
                                 tolerance);
}

Comparison
heddle::run::compareIntegers(const HostTensor &actual,
                             const std::function<int64_t(int64_t)> &reference,
                             const Tolerance &tolerance) {
  auto got = [&](int64_t i) {
    return loadInteger(actual.bytes.data(), actual.type.dtype, i);
  };
  return compareElements<int64_t>(actual.type.numElements(), got, reference,
                                  tolerance);
}

Comparison heddle::run::compare(const HostTensor &actual,
                                const HostTensor &expected,
                                const Tolerance &tolerance) {
  const void *data = expected.bytes.data();
  DType type = expected.type.dtype;
  if (isInteger(type))
    return compareIntegers(
        actual, [=](int64_t i) { return loadInteger(data, type, i); },
        tolerance);
  return compare(
      actual, [=](int64_t i) { return loadElement(data, type, i); }, tolerance);
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
  text += "]: got " + comparison.worstValue + ", expected " +
          comparison.worstReference;
  return text + "; " + std::to_string(comparison.numWrong) + " of " +
         std::to_string(type.numElements()) + " elements are outside";
}
