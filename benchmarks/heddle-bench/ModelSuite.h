//===- ModelSuite.h - forward passes and training steps ---------*- C++ -*-===//
//
// What the suites of whole models share: the keys `op` (forward, train_step) and
// `variant` (plain where it is missing, donate), and how results are checked.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_BENCH_MODELSUITE_H
#define HEDDLE_BENCH_MODELSUITE_H

#include "GraphSuite.h"

namespace heddle::bench {

class ModelSuite : public GraphSuite {
protected:
  /// The entries of a batch do not meet in a forward pass: the first and the
  /// last one stand for the others. A training step sums over them, so that a
  /// sampled one is checked at batch 1.
  Status check(const Row &row, const CheckedRun &run, bool sampled,
               Session &session, Checker &checker) const override;
  Row checkedRow(const Row &row) const override;
  /// Rows whose whole would take the reference device minutes.
  bool samplesByRule(const Row &row) const override;
};

/// The rows of a model round attention, with a donated step of `dtype` and
/// `tokens`.
std::vector<Row> attentionModelRows(const std::string &suite,
                                    const std::string &donatedDType,
                                    int donatedTokens);

/// Whether the row is a training step.
bool isTrainStep(const Row &row);
/// The function of the row.
ModelOp modelOp(const Row &row);

} // namespace heddle::bench

#endif // HEDDLE_BENCH_MODELSUITE_H
