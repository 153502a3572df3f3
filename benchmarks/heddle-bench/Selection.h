//===- Selection.h - --suite, --filter and --set ----------------*- C++ -*-===//

#ifndef HEDDLE_BENCH_SELECTION_H
#define HEDDLE_BENCH_SELECTION_H

#include "Suite.h"

namespace heddle::bench {

/// What the command line asks for.
struct SelectionOptions {
  std::vector<std::string> suites;  // names; empty: every suite
  std::vector<std::string> filters; // "KEY=V1,V2"
  std::vector<std::string> sets;    // "KEY=VALUE"
  /// Rows are compiled for GPUs, which know several precisions of f32; others
  /// have no key `precision`.
  bool gpu = false;
};

struct SelectedRow {
  const Suite *suite;
  Row row;
};

/// Filters act on the suites' own rows: several filters must all hold, the
/// values of one are alternatives, and a key that a suite's rows lack does not
/// restrict it. Then the overrides are applied, and rows that became equal are
/// merged. Errors: an unknown suite, a key that no chosen suite has, a value
/// that is no positive integer, no row left.
Status chooseRows(const std::vector<std::unique_ptr<Suite>> &suites,
                  const SelectionOptions &options,
                  std::vector<SelectedRow> &selected);

} // namespace heddle::bench

#endif // HEDDLE_BENCH_SELECTION_H
