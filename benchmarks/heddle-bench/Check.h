//===- Check.h - compares a result with the reference device ----*- C++ -*-===//
//
// A check is one or more parts: the whole output, chosen rows, or chosen batch
// entries through a graph of their own. The worst part counts.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_BENCH_CHECK_H
#define HEDDLE_BENCH_CHECK_H

#include "Row.h"
#include "Session.h"
#include "models/Models.h"

#include "heddle/Reference/Judge.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/ArrayRef.h"

namespace heddle::bench {

/// What was run: the graph, its inputs (unused ones too) and its results.
struct CheckedRun {
  const Model &model;
  const std::vector<HostTensor> &inputs;
  const std::vector<HostTensor> &outputs;
};

class Checker {
public:
  /// `compute` is the dtype that the graph computes in.
  Checker(const Session &session, DType compute)
      : session(session), compute(compute) {}

  /// The graph is a whole model: no absolute cap on its error.
  void judgeAsModel() { isModel = true; }
  /// Results are gradients, or follow from them: their limits.
  void judgeAsGradients() { isBackward = true; }

  /// Results may be zero everywhere, which else is an error of the inputs.
  void allowZeros() { zeros = true; }

  /// Products of f32 were formed from operands rounded to TF32.
  void judgeAsTf32() { tf32 = true; }

  /// Names what is compared: "whole output", "batch 0,7".
  void describe(std::string text) { what = std::move(text); }

  /// Evaluates the whole graph. Errors are "check: message".
  Status whole(const CheckedRun &run);
  /// The same, but compares the results of these numbers only.
  Status chosen(const CheckedRun &run, const std::vector<int> &numbers);
  /// Evaluates the given query rows of the graph's attention op, whose operands
  /// are the arguments in order, for every batch and head; of a graph of its
  /// gradients those of d_query, the first result.
  Status attentionRows(const CheckedRun &run, const std::vector<int64_t> &rows);

  /// Writes finite (of all outputs, whole), rel_err, max_abs_err, check,
  /// correct and, for a wrong row, wrong.
  void store(Row &row, const std::vector<HostTensor> &outputs) const;

private:
  /// Whether results are also judged by what their roundings must cost.
  bool needsDeclared() const {
    return compute == DType::BF16 || compute == DType::F16 || tf32;
  }

  const Session &session;
  DType compute;
  bool isModel = false, isBackward = false, tf32 = false, zeros = false;
  std::string what = "whole output";
  // Of the worst part so far.
  double relError = 0, maxAbsError = 0;
  std::string rule, failure;
  bool passed = true;

  Status judge(llvm::ArrayRef<HostTensor> actual,
               const std::vector<std::string> &names,
               EvaluateReference evaluateOne);
  void merge(const CompareResult &result, const std::string &name);
};

/// Row numbers to sample of an axis of `length`: the first and last row of
/// every tile of every size that is a multiple of 32, the very last row, and 64
/// random ones; sorted, each once.
std::vector<int64_t> sampleRows(int64_t length, uint64_t seed);

/// Entry `index` of the leading axis, which stays with extent one.
HostTensor sliceLeading(const HostTensor &tensor, int64_t index);

} // namespace heddle::bench

#endif // HEDDLE_BENCH_CHECK_H
