//===- Judge.h - all results of a run beside the reference ------*- C++ -*-===//
//
// Evaluates the reference as often as the rule of heddle/Reference/Compare.h
// needs it.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_REFERENCE_JUDGE_H
#define HEDDLE_REFERENCE_JUDGE_H

#include "heddle/Reference/Compare.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace heddle {

/// Evaluates the reference of a run with the given options; emits an error and
/// fails as `evaluate` does.
using EvaluateReference = llvm::function_ref<llvm::LogicalResult(
    const ReferenceOptions &, llvm::SmallVectorImpl<ReferenceTensor> &)>;

/// The most further draws of the declared roundings.
constexpr int kMaxReferenceDraws = 16;

/// Compares `actual` with the first results of `evaluate`; `results` gets one
/// verdict for each, `exact` all exact values. With `declared`, 16-bit results
/// and those of TF32 are compared with declared rounding too.
///
/// The error of declared rounding is a random number, of which nearest rounding
/// is one draw. The largest of many elements hardly varies; that of a loss, or
/// of a tensor whose largest element stands alone, may be small by chance. So
/// where a result fails by that error, up to kMaxReferenceDraws others are
/// drawn by stochastic rounding, each divided by the square root of 2 since its
/// variance is twice that of nearest rounding, until all pass by the largest.
///
/// Fails where `evaluate` does, or has fewer results than `actual`.
llvm::LogicalResult judgeResults(llvm::ArrayRef<HostTensor> actual,
                                 const CompareOptions &options, bool declared,
                                 int threads, EvaluateReference evaluate,
                                 llvm::SmallVectorImpl<ReferenceTensor> &exact,
                                 llvm::SmallVectorImpl<CompareResult> &results);

} // namespace heddle

#endif // HEDDLE_REFERENCE_JUDGE_H
