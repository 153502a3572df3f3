//===- Row.cpp - one row of a result file ---------------------------------===//

#include "Row.h"

namespace heddle::bench {

const std::vector<std::string> &descriptiveKeys() {
  static const std::vector<std::string> keys = {
      "suite",      "model",    "cell",  "attention", "dtype",     "precision",
      "size",       "head_dim", "seq",   "causal",    "mode",      "tokens",
      "resolution", "width",    "batch", "heads",     "model_dim", "state",
      "layers",     "op",       "steps", "optimizer", "workers",   "scan",
      "variant",    "remat"};
  return keys;
}

std::string valueText(const Row &value) {
  if (value.is_string())
    return value.get<std::string>();
  return value.dump();
}

bool valueMatches(const Row &value, const std::string &text) {
  if (value.is_boolean() && (text == "0" || text == "1"))
    return value.get<bool>() == (text == "1");
  return valueText(value) == text;
}

std::string describe(const Row &row, const std::set<std::string> &hidden) {
  std::string text;
  for (const std::string &key : descriptiveKeys()) {
    auto it = row.find(key);
    if (it == row.end() || hidden.count(key))
      continue;
    if (!text.empty())
      text += ' ';
    text += key == "suite" ? valueText(*it) : key + "=" + valueText(*it);
  }
  return text;
}

double number(const Row &row, const std::string &key, double missing) {
  auto it = row.find(key);
  return it != row.end() && it->is_number() ? it->get<double>() : missing;
}

} // namespace heddle::bench
