//===- Judge.cpp - all results of a run beside the reference --------------===//

#include "heddle/Reference/Judge.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace llvm;
using namespace heddle;

LogicalResult heddle::judgeResults(ArrayRef<HostTensor> actual,
                                   const CompareOptions &options, bool declared,
                                   int threads, EvaluateReference evaluate,
                                   SmallVectorImpl<ReferenceTensor> &exact,
                                   SmallVectorImpl<CompareResult> &results) {
  ReferenceOptions reference;
  reference.threads = threads;
  if (failed(evaluate(reference, exact)) || exact.size() < actual.size())
    return failure();
  reference.mode = ReferenceMode::Declared;
  SmallVector<ReferenceTensor> nearest;
  if (declared && failed(evaluate(reference, nearest)))
    return failure();

  SmallVector<CompareOptions> each(actual.size(), options);
  auto compare = [&](size_t i) {
    return compareWithReference(actual[i], exact[i],
                                declared ? &nearest[i] : nullptr, each[i]);
  };
  results.clear();
  for (size_t i = 0; i < actual.size(); ++i)
    results.push_back(compare(i));

  // What fails for another reason fails whatever is drawn.
  auto open = [](const CompareResult &result) { return result.byDeclared; };
  auto settled = [](const CompareResult &result) {
    return !result.passed && !result.byDeclared;
  };
  while (any_of(results, open) && none_of(results, settled) &&
         reference.draw < kMaxReferenceDraws) {
    ++reference.draw;
    SmallVector<ReferenceTensor> drawn;
    if (failed(evaluate(reference, drawn)))
      return failure();
    for (size_t i = 0; i < actual.size(); ++i) {
      if (!open(results[i]))
        continue;
      each[i].draws = reference.draw;
      each[i].drawnRelError =
          std::fmax(each[i].drawnRelError,
                    roundingError(drawn[i], exact[i]) / std::sqrt(2.0));
      results[i] = compare(i);
    }
  }
  return success();
}
