//===- GraphSuite.h - rows that compile and run a model graph ---*- C++ -*-===//

#ifndef HEDDLE_BENCH_GRAPHSUITE_H
#define HEDDLE_BENCH_GRAPHSUITE_H

#include "Check.h"
#include "Suite.h"

namespace heddle::bench {

/// Builds a graph, compiles and plans it, times it on the device, and checks
/// its result. A suite provides the graph and the check rule.
class GraphSuite : public Suite {
public:
  Status measure(Row &row, Session &session) const final;
  bool hasGraphs() const final { return true; }

protected:
  /// Builds the row's graph.
  virtual Status build(const Row &row, mlir::MLIRContext &context,
                       Model &model) const = 0;
  /// Compares the result; `sampled` is the mode's choice for this row.
  virtual Status check(const Row &row, const CheckedRun &run, bool sampled,
                       Session &session, Checker &checker) const = 0;
  /// Whether --check=auto compares samples of this row only.
  virtual bool samplesByRule(const Row &row) const = 0;
  /// The row that is run and checked in place of a sampled one: its own, or a
  /// smaller one where the results of the whole cannot be sampled.
  virtual Row checkedRow(const Row &row) const { return row; }
  /// Whether every timed call gets its last argument from the host, as a stream
  /// of batches would bring it.
  virtual bool streamsLastArgument(const Row &row) const { return false; }
  /// Adds figures that follow from the median, such as tflops.
  virtual void addFigures(Row &row, Session &session) const {}
  /// Adds figures that follow from the emulator's counters.
  virtual void addEmulatedFigures(Row &row) const {}

private:
  Status measureGraph(Row &row, Session &session) const;
  Status checkGraph(Row &row, const Row &work, bool sampled, const Model &model,
                    const Function &function, const Program &program,
                    Session &session) const;
};

/// The dtype of a row.
DType rowDType(const Row &row);
/// An integer key of a row.
int64_t rowInt(const Row &row, const char *key);

/// The keys of every measured row, in the order of the file.
const std::vector<std::string> &resultKeys();

} // namespace heddle::bench

#endif // HEDDLE_BENCH_GRAPHSUITE_H
