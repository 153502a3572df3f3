//===- Compare.cpp - judges a result by the reference device --------------===//

#include "heddle/Reference/Compare.h"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace heddle;

static std::string shapeText(const std::vector<int64_t> &shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? "," : "") + std::to_string(shape[i]);
  return text + "]";
}

static std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.4g", value);
  return text;
}

/// "[1,2,0]" for a row-major index.
static std::string indexText(int64_t index, const std::vector<int64_t> &shape) {
  std::vector<int64_t> point(shape.size());
  for (size_t d = shape.size(); d-- > 0;) {
    point[d] = index % shape[d];
    index /= shape[d];
  }
  return shapeText(point);
}

namespace {
struct Limits {
  double base = 0;         // of max|exact|
  bool byDeclared = false; // 1.5 times the declared error counts
  double cap = 0;          // of max|exact|; 0: none
};
} // namespace

static Limits limitsFor(DType type, const CompareOptions &options) {
  switch (type) {
  case DType::F64:
    return {1e-12, false, 0};
  case DType::F32:
    if (options.tf32)
      return {1e-6, true, 9e-4};
    return {options.backward ? 1e-5 : 6e-6, false, 0};
  case DType::BF16:
    return {1e-6, true, options.backward ? 8e-3 : 4.5e-3};
  case DType::F16:
    return {1e-6, true, 1e-3};
  default:
    return {};
  }
}

/// |a - b|; not zero for different numbers, however large they are.
static double integerDistance(int64_t a, int64_t b) {
  uint64_t low = static_cast<uint64_t>(std::min(a, b));
  return static_cast<double>(static_cast<uint64_t>(std::max(a, b)) - low);
}

static CompareResult compareIntegers(const HostTensor &actual,
                                     const ReferenceTensor &exact) {
  CompareResult result;
  result.rule = "equal";
  result.passed = true;
  result.allZero = true;
  for (int64_t i = 0, n = exact.numElements(); i < n; ++i) {
    int64_t want = exact.integer[i];
    int64_t got = loadInteger(actual.bytes.data(), actual.type.dtype, i);
    result.allZero &= want == 0;
    double error = integerDistance(got, want);
    result.maxAbsReference =
        std::fmax(result.maxAbsReference, std::fabs(static_cast<double>(want)));
    if (got == want)
      continue;
    if (result.passed || error > result.maxAbsError) {
      result.worstIndex = i;
      result.failure = "expected " + std::to_string(want) + " at " +
                       indexText(i, exact.shape) + ", found " +
                       std::to_string(got);
    }
    result.passed = false;
    result.maxAbsError = std::fmax(result.maxAbsError, error);
  }
  result.relError = result.maxAbsReference > 0
                        ? result.maxAbsError / result.maxAbsReference
                        : result.maxAbsError;
  return result;
}

CompareResult heddle::compareWithReference(const HostTensor &actual,
                                           const ReferenceTensor &exact,
                                           const ReferenceTensor *declared,
                                           const CompareOptions &options) {
  CompareResult result;
  if (actual.type.shape != exact.shape ||
      (declared && declared->shape != exact.shape)) {
    result.failure = "expected shape " + shapeText(exact.shape) + ", found " +
                     shapeText(declared && declared->shape != exact.shape
                                   ? declared->shape
                                   : actual.type.shape);
    return result;
  }
  if (isInteger(actual.type.dtype) != exact.isInteger) {
    result.failure = std::string("expected ") +
                     (exact.isInteger ? "integers" : "floats") + ", found " +
                     dtypeName(actual.type.dtype);
    return result;
  }
  if (exact.isInteger) {
    result = compareIntegers(actual, exact);
    if (result.passed && result.allZero && exact.numElements() > 0 &&
        !options.allowZeroReference) {
      result.passed = false;
      result.failure = "expected a reference with a non-zero element, found "
                       "zeros only; use other inputs";
    }
    return result;
  }

  int64_t misplaced = -1;
  result.allZero = true;
  for (int64_t i = 0, n = exact.numElements(); i < n; ++i) {
    double want = exact.real[i];
    double got = loadElement(actual.bytes.data(), actual.type.dtype, i);
    result.allZero &= want == 0;
    result.finite &= std::isfinite(got);
    if (!std::isfinite(want) || !std::isfinite(got)) {
      bool same = std::isnan(want) ? std::isnan(got) : want == got;
      if (!same && misplaced < 0)
        misplaced = i;
      continue;
    }
    result.maxAbsReference = std::fmax(result.maxAbsReference, std::fabs(want));
    double error = std::fabs(got - want);
    if (result.worstIndex < 0 || error > result.maxAbsError) {
      result.maxAbsError = error;
      result.worstIndex = i;
    }
  }

  double scale = result.maxAbsReference;
  auto relative = [&](double error) {
    return scale > 0 ? error / scale : error;
  };
  result.relError = relative(result.maxAbsError);
  if (declared)
    result.declaredRelError =
        std::fmax(roundingError(*declared, exact), options.drawnRelError);
  Limits limits =
      limitsFor(options.computeType.value_or(actual.type.dtype), options);
  // Only attention declares TF32: elsewhere, and in whole models, the rounding
  // of other products is in no reference, and the cap decides.
  if (options.tf32 && (options.model || result.declaredRelError == 0))
    declared = nullptr;
  if (options.model && declared)
    limits.cap = 0;
  result.limit = limits.base;
  if (limits.byDeclared) {
    if (declared)
      result.limit = limits.base + 1.5 * result.declaredRelError;
    else
      result.limit = limits.cap > 0 ? limits.cap : 1e-3;
    if (limits.cap > 0)
      result.limit = std::fmin(result.limit, limits.cap);
  }
  result.rule = "rel_err <= " + number(result.limit);
  if (limits.byDeclared && declared)
    result.rule +=
        " (1.5 x " + number(result.declaredRelError) + " declared" +
        (options.draws > 0 ? ", the largest of " +
                                 std::to_string(options.draws + 1) + " draws"
                           : "") +
        (limits.cap > 0 ? ", cap " + number(limits.cap) : "") + ")";

  if (misplaced >= 0) {
    result.worstIndex = misplaced;
    result.failure =
        "expected " + number(exact.real[misplaced]) + " at " +
        indexText(misplaced, exact.shape) + ", found " +
        number(loadElement(actual.bytes.data(), actual.type.dtype, misplaced));
  } else if (result.allZero && exact.numElements() > 0 &&
             !options.allowZeroReference) {
    result.failure = "expected a reference with a non-zero element, found "
                     "zeros only; use other inputs";
  } else if (result.relError > result.limit) {
    result.byDeclared = limits.byDeclared && declared &&
                        (limits.cap == 0 || result.relError <= limits.cap);
    result.failure = "expected " + result.rule + ", found " +
                     number(result.relError) + " at " +
                     indexText(result.worstIndex, exact.shape) + " (" +
                     number(loadElement(actual.bytes.data(), actual.type.dtype,
                                        result.worstIndex)) +
                     " for " + number(exact.real[result.worstIndex]) + ")";
  } else {
    result.passed = true;
  }
  return result;
}

double heddle::roundingError(const ReferenceTensor &declared,
                             const ReferenceTensor &exact) {
  if (exact.isInteger)
    return 0;
  double error = 0, scale = 0;
  for (int64_t i = 0, n = exact.numElements(); i < n; ++i) {
    double want = exact.real[i];
    if (!std::isfinite(want))
      continue;
    scale = std::fmax(scale, std::fabs(want));
    // Where rounding alone overflows there is no error to compare with.
    if (std::isfinite(declared.real[i]))
      error = std::fmax(error, std::fabs(declared.real[i] - want));
  }
  return scale > 0 ? error / scale : error;
}

HostTensor heddle::selectRows(const HostTensor &tensor, int64_t axis,
                              const std::vector<int64_t> &rows) {
  TensorType type = tensor.type;
  int64_t length = type.shape[axis], inner = byteWidth(type.dtype), outer = 1;
  for (size_t d = axis + 1; d < type.shape.size(); ++d)
    inner *= type.shape[d];
  for (int64_t d = 0; d < axis; ++d)
    outer *= type.shape[d];
  type.shape[axis] = rows.size();
  HostTensor result(type);
  uint8_t *to = result.bytes.data();
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t row : rows) {
      std::memcpy(to, tensor.bytes.data() + (o * length + row) * inner, inner);
      to += inner;
    }
  return result;
}
