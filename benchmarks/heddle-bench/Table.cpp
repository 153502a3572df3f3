//===- Table.cpp - aligned text tables ------------------------------------===//

#include "Table.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace heddle::bench {

void Table::print(std::ostream &out) const {
  std::vector<size_t> widths;
  for (const auto &line : lines) {
    widths.resize(std::max(widths.size(), line.size()), 0);
    for (size_t i = 0; i < line.size(); ++i)
      widths[i] = std::max(widths[i], line[i].size());
  }
  for (const auto &line : lines) {
    std::string text = " ";
    for (size_t i = 0; i < line.size(); ++i) {
      std::string padding(widths[i] - line[i].size(), ' ');
      text += i == 0 ? " " + line[i] + padding : "  " + padding + line[i];
    }
    out << text << "\n";
  }
}

std::string formatNumber(double value) {
  char text[32];
  double magnitude = std::fabs(value);
  if (value == 0)
    return "0";
  if (magnitude < 1e-3 || magnitude >= 1e6)
    std::snprintf(text, sizeof(text), "%.2e", value);
  else if (magnitude >= 100)
    std::snprintf(text, sizeof(text), "%.0f", value);
  else
    std::snprintf(text, sizeof(text), "%.3g", value);
  return text;
}

namespace {

/// A column of the result table: a key, its title, and its text.
struct Column {
  const char *key, *title;
};
constexpr Column kColumns[] = {
    {"compile_s", "compile s"},
    {"emulator_s", "emulator s"},
    {"checked_accesses", "accesses"},
    {"median_ms", "median ms"},
    {"tflops", "TFLOP/s"},
    {"gb_s", "GB/s"},
    {"peak_fraction", "of peak"},
    {"floor_fraction", "of floor"},
    {"moved_over_floor", "moved / floor"},
    {"mtoken_channels_s", "Mtoken-channels/s"},
    {"temp_mb", "temp MiB"},
    {"work_mb", "work MiB"},
    {"arg_mb", "arg MiB"},
    {"out_mb", "out MiB"},
    {"rel_err", "rel err"},
};

std::string verdict(const Row &row) {
  if (row.contains("error"))
    return valueText(row["error"]);
  auto correct = row.find("correct");
  if (correct == row.end())
    return "-";
  return correct->get<bool>() ? "ok" : "wrong: " + valueText(row["wrong"]);
}

/// Descriptive keys that all of several rows share: they go into the title.
std::set<std::string> sharedKeys(const std::vector<Row> &rows) {
  std::set<std::string> shared = {"suite"};
  if (rows.size() == 1)
    return shared;
  for (const std::string &key : descriptiveKeys()) {
    Row first = rows.front().value(key, Row());
    if (std::all_of(rows.begin(), rows.end(), [&](const Row &row) {
          return row.value(key, Row()) == first;
        }))
      shared.insert(key);
  }
  return shared;
}

void printSuite(std::ostream &out, const std::vector<Row> &rows) {
  std::set<std::string> shared = sharedKeys(rows), varying;
  for (const std::string &key : descriptiveKeys())
    if (!shared.count(key))
      varying.insert(key);
  out << "\n" << describe(rows.front(), varying) << "\n";
  std::vector<const Column *> columns;
  std::vector<std::string> header = {"row"};
  for (const Column &column : kColumns)
    if (std::any_of(rows.begin(), rows.end(), [&](const Row &row) {
          return row.contains(column.key) && row[column.key].is_number();
        })) {
      columns.push_back(&column);
      header.push_back(column.title);
    }
  header.push_back("check");
  Table table(header);
  for (const Row &row : rows) {
    std::vector<std::string> cells = {describe(row, shared)};
    for (const Column *column : columns) {
      double value = number(row, column->key, std::nan(""));
      cells.push_back(std::isnan(value) ? "-" : formatNumber(value));
    }
    cells.push_back(verdict(row));
    table.add(cells);
  }
  table.print(out);
}

} // namespace

void printResults(std::ostream &out, const std::vector<Row> &rows) {
  std::vector<std::string> suites;
  for (const Row &row : rows)
    if (std::string suite = valueText(row.at("suite"));
        std::find(suites.begin(), suites.end(), suite) == suites.end())
      suites.push_back(suite);
  for (const std::string &suite : suites) {
    std::vector<Row> chosen;
    for (const Row &row : rows)
      if (valueText(row.at("suite")) == suite)
        chosen.push_back(row);
    printSuite(out, chosen);
  }
}

void printList(std::ostream &out, const std::string &title,
               const std::vector<Row> &rows,
               const std::vector<std::string> &settableKeys) {
  out << title << "\n  --filter keys:";
  std::set<std::string> shared = sharedKeys(rows);
  for (const std::string &key : descriptiveKeys()) {
    std::vector<std::string> values;
    for (const Row &row : rows)
      if (auto it = row.find(key); it != row.end())
        if (std::string text = valueText(*it);
            std::find(values.begin(), values.end(), text) == values.end())
          values.push_back(text);
    std::string separator = " " + key + "=";
    for (const std::string &value : values) {
      out << separator << value;
      separator = ",";
    }
  }
  if (!settableKeys.empty()) {
    out << "\n  --set keys:";
    for (const std::string &key : settableKeys)
      out << " " << key;
  }
  out << "\n";
  for (const Row &row : rows)
    out << "  " << describe(row, shared) << "\n";
}

} // namespace heddle::bench
