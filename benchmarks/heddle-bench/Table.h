//===- Table.h - aligned text tables ----------------------------*- C++ -*-===//

#ifndef HEDDLE_BENCH_TABLE_H
#define HEDDLE_BENCH_TABLE_H

#include "Row.h"

#include <ostream>

namespace heddle::bench {

/// Columns padded to their widest cell; all but the first are right-aligned.
class Table {
public:
  explicit Table(std::vector<std::string> header) { add(std::move(header)); }
  void add(std::vector<std::string> cells) {
    lines.push_back(std::move(cells));
  }
  void print(std::ostream &out) const;

private:
  std::vector<std::vector<std::string>> lines;
};

/// Three significant digits, without an exponent between 1e-3 and 1e6.
std::string formatNumber(double value);

/// The results of a run, a table per suite.
void printResults(std::ostream &out, const std::vector<Row> &rows);

/// A suite's rows for --list: the keys with their values, then every row.
void printList(std::ostream &out, const std::string &title,
               const std::vector<Row> &rows,
               const std::vector<std::string> &settableKeys);

} // namespace heddle::bench

#endif // HEDDLE_BENCH_TABLE_H
