//===- PeerCompare.h - rows beside published and peer rows ------*- C++ -*-===//

#ifndef HEDDLE_BENCH_PEERCOMPARE_H
#define HEDDLE_BENCH_PEERCOMPARE_H

#include "Row.h"

#include <ostream>

namespace heddle::bench {

/// The work of a row as text: its descriptive keys but those that say who did
/// it, with the defaults of its suite where a key is missing. Rows of equal
/// work can be compared. Empty for rows that measure something else (allocator
/// peaks).
std::string workKey(const Row &row);

/// Who did the row's work: its impl, else its attention implementation.
std::string implName(const Row &row);

/// Prints each of `rows` beside every row of `peers` that did the same work,
/// then geometric means per suite and implementation. Times are theirs / ours
/// (above one: ours is faster), temporaries ours / theirs (below one: ours
/// needs less). Returns how many pairs there were.
int printComparison(std::ostream &out, const std::string &title,
                    const std::vector<Row> &rows,
                    const std::vector<Row> &peers);

/// What --plot draws: for each row that worked its suite, a label, and times
/// and temporaries of ours and of every peer that did the same work.
Row plotData(const std::vector<Row> &rows, const std::vector<Row> &peers);

} // namespace heddle::bench

#endif // HEDDLE_BENCH_PEERCOMPARE_H
