//===- Check.cpp - compares a result with the reference device ------------===//

#include "Check.h"

#include "Diagnostics.h"

#include "heddle/Dialect/Heddle/Transforms/Passes.h"
#include "heddle/Reference/Judge.h"

#include <cmath>
#include <cstring>
#include <numeric>
#include <random>

using namespace mlir;

namespace heddle::bench {

Status Checker::judge(ArrayRef<HostTensor> actual,
                      const std::vector<std::string> &names,
                      EvaluateReference evaluateOne) {
  CompareOptions options;
  options.computeType = compute;
  options.model = isModel;
  options.tf32 = tf32;
  options.backward = isBackward;
  options.allowZeroReference = zeros;
  DiagnosticCollector diagnostics(session.mlir);
  SmallVector<ReferenceTensor> exact;
  SmallVector<CompareResult> results;
  if (failed(judgeResults(actual, options, needsDeclared(),
                          session.options.threads, evaluateOne, exact,
                          results)))
    return Status::error("check: " + diagnostics.text());
  for (auto [i, result] : llvm::enumerate(results))
    merge(result, i < names.size() ? names[i] : "");
  return Status();
}

Status Checker::whole(const CheckedRun &run) {
  std::vector<int> all(run.outputs.size());
  std::iota(all.begin(), all.end(), 0);
  return chosen(run, all);
}

Status Checker::chosen(const CheckedRun &run, const std::vector<int> &numbers) {
  // The reference device evaluates gradients once they are written out.
  OwningOpRef<ModuleOp> copy = run.model.module.get().clone();
  ModuleOp module = *copy;
  {
    DiagnosticCollector diagnostics(session.mlir);
    if (failed(differentiate(module)))
      return Status::error("check: " + diagnostics.text());
  }
  auto function = module.lookupSymbol<func::FuncOp>(run.model.function);
  if (run.outputs.size() != function.getNumResults())
    return Status::error("check: expected " +
                         std::to_string(function.getNumResults()) +
                         " results, got " + std::to_string(run.outputs.size()));
  std::vector<HostTensor> actual;
  std::vector<std::string> names;
  for (int number : numbers) {
    actual.push_back(run.outputs[number]);
    names.push_back(run.model.results.empty() ? "" : run.model.results[number]);
  }
  return judge(actual, names,
               [&](const ReferenceOptions &options,
                   SmallVectorImpl<ReferenceTensor> &results) {
                 SmallVector<ReferenceTensor> all;
                 if (failed(evaluate(function, run.inputs, options, all)))
                   return mlir::failure();
                 for (int number : numbers)
                   results.push_back(std::move(all[number]));
                 return success();
               });
}

Status Checker::attentionRows(const CheckedRun &run,
                              const std::vector<int64_t> &rows) {
  AttentionOp attention;
  AttentionGradOp gradient;
  run.model.module.get()->walk([&](AttentionOp op) { attention = op; });
  run.model.module.get()->walk([&](AttentionGradOp op) { gradient = op; });
  HostTensor chosen = heddle::selectRows(run.outputs.front(), /*axis=*/1, rows);
  return judge(chosen, {},
               [&](const ReferenceOptions &options,
                   SmallVectorImpl<ReferenceTensor> &results) {
                 if (!gradient)
                   return evaluateAttentionRows(attention, run.inputs, rows,
                                                options, results);
                 return evaluateAttentionGradRows(attention, gradient,
                                                  run.inputs, rows, options,
                                                  results.emplace_back());
               });
}

void Checker::merge(const CompareResult &result, const std::string &name) {
  // The worst part is the first that fails, else the one with the largest
  // error.
  bool worse =
      passed && (!result.passed || rule.empty() || result.relError > relError);
  if (!worse)
    return;
  relError = result.relError;
  maxAbsError = result.maxAbsError;
  rule = result.rule;
  failure = (name.empty() || result.failure.empty() ? "" : name + ": ") +
            result.failure;
  passed = result.passed;
}

void Checker::store(Row &row, const std::vector<HostTensor> &outputs) const {
  bool finite = true;
  for (const HostTensor &output : outputs)
    for (int64_t i = 0, e = output.type.numElements(); i < e && finite; ++i)
      finite =
          std::isfinite(loadElement(output.bytes.data(), output.type.dtype, i));
  row["finite"] = finite;
  row["rel_err"] = relError;
  row["max_abs_err"] = maxAbsError;
  row["check"] = what + ": " + rule;
  // No row's model has an infinity in its result, so one is wrong even where
  // only samples were compared.
  row["correct"] = passed && finite;
  if (!passed)
    row["wrong"] = failure;
  else if (!finite)
    row["wrong"] = "expected finite values, found a NaN or an infinity outside "
                   "the compared part";
}

std::vector<int64_t> sampleRows(int64_t length, uint64_t seed) {
  constexpr int64_t edge = 32, random = 64;
  std::vector<bool> chosen(length, false);
  for (int64_t row = 0; row < length; ++row)
    chosen[row] = row % edge == 0 || row % edge == edge - 1;
  if (length > 0)
    chosen[length - 1] = true;
  int64_t left = length - std::count(chosen.begin(), chosen.end(), true);
  std::mt19937_64 generator(seed);
  for (int64_t n = std::min(random, left); n > 0;) {
    int64_t row = static_cast<int64_t>(generator() % length);
    if (chosen[row])
      continue;
    chosen[row] = true;
    --n;
  }
  std::vector<int64_t> rows;
  for (int64_t row = 0; row < length; ++row)
    if (chosen[row])
      rows.push_back(row);
  return rows;
}

HostTensor sliceLeading(const HostTensor &tensor, int64_t index) {
  TensorType type = tensor.type;
  type.shape[0] = 1;
  HostTensor slice(type);
  std::memcpy(slice.bytes.data(), tensor.bytes.data() + index * type.byteSize(),
              type.byteSize());
  return slice;
}

} // namespace heddle::bench
