//===- Selection.cpp - --suite, --filter and --set ------------------------===//

#include "Selection.h"

#include <algorithm>
#include <charconv>

namespace heddle::bench {

namespace {

struct Clause {
  std::string key;
  std::vector<std::string> values;
};

std::string join(const std::vector<std::string> &parts) {
  std::string text;
  for (const std::string &part : parts)
    text += (text.empty() ? "" : ", ") + part;
  return text;
}

std::vector<std::string> split(const std::string &text, char separator) {
  std::vector<std::string> parts(1);
  for (char c : text) {
    if (c == separator)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

Status parseClause(const char *option, const std::string &text,
                   Clause &clause) {
  size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
    return Status::error(std::string("expected ") + option +
                         "=KEY=VALUE, got '" + text + "'");
  clause.key = text.substr(0, equals);
  clause.values = split(text.substr(equals + 1), ',');
  return Status();
}

/// Adds `key` once.
void addUnique(std::vector<std::string> &keys, const std::string &key) {
  if (std::find(keys.begin(), keys.end(), key) == keys.end())
    keys.push_back(key);
}

Status chooseSuites(const std::vector<std::unique_ptr<Suite>> &all,
                    const std::vector<std::string> &names,
                    std::vector<const Suite *> &chosen) {
  std::vector<std::string> known;
  for (const auto &suite : all)
    known.push_back(suite->name());
  for (const std::string &name : names)
    if (std::find(known.begin(), known.end(), name) == known.end())
      return Status::error("expected a suite (" + join(known) + "), got '" +
                           name + "'");
  for (const auto &suite : all)
    if (names.empty() ||
        std::find(names.begin(), names.end(), suite->name()) != names.end())
      chosen.push_back(suite.get());
  return Status();
}

bool passes(const Row &row, const std::vector<Clause> &filters) {
  for (const Clause &filter : filters) {
    auto it = row.find(filter.key);
    if (it == row.end())
      continue;
    bool any = false;
    for (const std::string &value : filter.values)
      any |= valueMatches(*it, value);
    if (!any)
      return false;
  }
  return true;
}

/// Parses and checks the filters against the rows of the chosen suites.
Status parseFilters(const std::vector<std::string> &texts,
                    const std::vector<Row> &rows,
                    std::vector<Clause> &filters) {
  for (const std::string &text : texts) {
    Clause filter;
    if (Status s = parseClause("--filter", text, filter); !s)
      return s;
    std::vector<std::string> keys, values;
    for (const Row &row : rows) {
      for (const auto &item : row.items())
        addUnique(keys, item.key());
      if (auto it = row.find(filter.key); it != row.end())
        addUnique(values, valueText(*it));
    }
    if (values.empty())
      return Status::error("expected a filter key of the chosen suites (" +
                           join(keys) + "), got '" + filter.key + "'");
    for (const std::string &value : filter.values) {
      bool known = std::any_of(rows.begin(), rows.end(), [&](const Row &row) {
        auto it = row.find(filter.key);
        return it != row.end() && valueMatches(*it, value);
      });
      if (!known)
        return Status::error("expected " + filter.key + " to be one of " +
                             join(values) + ", got '" + value +
                             "'; other values go through --set");
    }
    filters.push_back(std::move(filter));
  }
  return Status();
}

struct Override {
  std::string key;
  int64_t value;
};

bool contains(const std::vector<std::string> &keys, const std::string &key) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

Status parseSets(const std::vector<std::string> &texts,
                 const std::vector<const Suite *> &suites,
                 std::vector<Override> &overrides) {
  std::vector<std::string> keys;
  for (const Suite *suite : suites)
    for (const std::string &key : suite->settableKeys())
      addUnique(keys, key);
  for (const std::string &text : texts) {
    Clause set;
    if (Status s = parseClause("--set", text, set); !s)
      return s;
    if (!contains(keys, set.key))
      return Status::error("expected a key that --set can override (" +
                           join(keys) + "), got '" + set.key + "'");
    const std::string &digits = set.values.front();
    int64_t value = 0;
    bool mayBeZero =
        std::all_of(suites.begin(), suites.end(), [&](const Suite *suite) {
          return !contains(suite->settableKeys(), set.key) ||
                 contains(suite->keysThatMayBeZero(), set.key);
        });
    auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (set.values.size() != 1 || error != std::errc() ||
        end != digits.data() + digits.size() || value < (mayBeZero ? 0 : 1) ||
        value > (int64_t(1) << 31))
      return Status::error(std::string("expected a ") +
                           (mayBeZero ? "non-negative" : "positive") +
                           " integer for --set=" + set.key + ", got '" +
                           text.substr(set.key.size() + 1) + "'");
    overrides.push_back({set.key, value});
  }
  return Status();
}

} // namespace

Status chooseRows(const std::vector<std::unique_ptr<Suite>> &suites,
                  const SelectionOptions &options,
                  std::vector<SelectedRow> &selected) {
  std::vector<const Suite *> chosen;
  if (Status s = chooseSuites(suites, options.suites, chosen); !s)
    return s;
  std::vector<Row> rows;
  std::vector<const Suite *> owner;
  for (const Suite *suite : chosen)
    for (Row &row : suite->rows()) {
      if (!options.gpu && row.value("precision", "ieee") != "ieee")
        continue;
      if (!options.gpu)
        row.erase("precision");
      rows.push_back(std::move(row));
      owner.push_back(suite);
    }
  std::vector<Clause> filters;
  if (Status s = parseFilters(options.filters, rows, filters); !s)
    return s;
  std::vector<Override> overrides;
  if (Status s = parseSets(options.sets, chosen, overrides); !s)
    return s;

  for (size_t i = 0; i < rows.size(); ++i) {
    if (!passes(rows[i], filters))
      continue;
    std::vector<std::string> settable = owner[i]->settableKeys();
    for (const Override &o : overrides)
      if (contains(settable, o.key))
        rows[i][o.key] = o.value;
    bool seen = std::any_of(
        selected.begin(), selected.end(),
        [&](const SelectedRow &other) { return other.row == rows[i]; });
    if (!seen)
      selected.push_back({owner[i], rows[i]});
  }
  if (selected.empty())
    return Status::error("expected at least one row, the filters leave none; "
                         "see --list");
  return Status();
}

} // namespace heddle::bench
