//===- Row.h - one row of a result file -------------------------*- C++ -*-===//
//
// A row is a JSON object: descriptive keys that say which work was done, then
// measured ones. Names and values are spelled as in benchmarks/reference.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_BENCH_ROW_H
#define HEDDLE_BENCH_ROW_H

#include <nlohmann/json.hpp>

#include <set>
#include <string>
#include <vector>

namespace heddle::bench {

using Row = nlohmann::ordered_json;

/// Descriptive keys in the order they are shown. Every other key is a result.
const std::vector<std::string> &descriptiveKeys();

/// "float32", "128", "true": a descriptive value as text.
std::string valueText(const Row &value);

/// Whether a row's value is the one a user wrote; booleans also match 0 and 1.
bool valueMatches(const Row &value, const std::string &text);

/// "attention dtype=float32 head_dim=64 ...", without the keys in `hidden`.
std::string describe(const Row &row, const std::set<std::string> &hidden = {});

/// A number of the row, or `missing` where the key is absent or null.
double number(const Row &row, const std::string &key, double missing);

/// MiB of a byte count, as in the result files.
inline double toMiB(int64_t bytes) {
  return static_cast<double>(bytes) / (1024.0 * 1024.0);
}

} // namespace heddle::bench

#endif // HEDDLE_BENCH_ROW_H
