//===- PeerCompare.cpp - rows beside published and peer rows --------------===//

#include "PeerCompare.h"

#include "Table.h"

#include <cmath>
#include <map>

namespace heddle::bench {

namespace {

struct Default {
  const char *suite, *key, *value;
};
/// What a suite's rows mean where they lack a key.
constexpr Default kDefaults[] = {
    {"attention", "mode", "fwd"},
    {"attention", "causal", "false"},
    {"attention", "batch", "4"},
    {"attention", "heads", "8"},
    {"transformer", "batch", "8"},
    {"transformer", "model_dim", "256"},
    {"transformer", "layers", "4"},
    {"transformer", "heads", "8"},
    {"transformer", "op", "forward"},
    {"diffusion", "batch", "8"},
    {"diffusion", "model_dim", "256"},
    {"diffusion", "layers", "4"},
    {"diffusion", "heads", "8"},
    {"diffusion", "op", "forward"},
    {"scan_remat", "batch", "2"},
    {"scan_remat", "model_dim", "512"},
    {"scan_remat", "heads", "8"},
    {"ssm", "batch", "8"},
    {"ssm", "model_dim", "128"},
    {"ssm", "layers", "4"},
    {"unet", "batch", "8"},
    {"train_loop", "dtype", "float32"},
    {"train_loop", "optimizer", "adam"},
};

/// Sums of logarithms.
struct GeoMean {
  double sum = 0, largest = 0, smallest = 0;
  int count = 0;
  void add(double ratio) {
    if (!(ratio > 0) || !std::isfinite(ratio))
      return;
    sum += std::log(ratio);
    largest = count ? std::max(largest, ratio) : ratio;
    smallest = count ? std::min(smallest, ratio) : ratio;
    ++count;
  }
  std::string text(const char *unit) const {
    if (!count)
      return "-";
    return formatNumber(std::exp(sum / count)) + unit + " (" +
           formatNumber(smallest) + " to " + formatNumber(largest) + ", " +
           std::to_string(count) + (count == 1 ? " row)" : " rows)");
  }
};

struct Means {
  GeoMean time, temp;
  int bytesEqual = 0, bytesCompared = 0;
};

/// A figure that published rows call xla_<key>.
double plannedNumber(const Row &row, const std::string &key) {
  double nan = std::nan("");
  return number(row, key, number(row, "xla_" + key, nan));
}

/// Bytes of a call in all.
double footprint(const Row &row) {
  double alias = plannedNumber(row, "alias_mb");
  return number(row, "footprint_mb",
                plannedNumber(row, "arg_mb") + plannedNumber(row, "out_mb") +
                    plannedNumber(row, "temp_mb") -
                    (std::isfinite(alias) ? alias : 0));
}

/// Milliseconds of a call; of a step where a call is a run of many.
double milliseconds(const Row &row) {
  return number(row, "per_step_ms", number(row, "median_ms", std::nan("")));
}

std::string ratioText(double ratio) {
  return std::isfinite(ratio) && ratio > 0 ? formatNumber(ratio) : "-";
}

} // namespace

std::string implName(const Row &row) {
  for (const char *key : {"impl", "attention"})
    if (auto it = row.find(key); it != row.end() && it->is_string())
      return it->get<std::string>();
  return "published";
}

std::string workKey(const Row &row) {
  if (row.contains("measure"))
    return "";
  std::map<std::string, std::string> work;
  if (row.contains("head_dim") && row.contains("seq"))
    work["suite"] = "attention";
  for (const std::string &key : descriptiveKeys())
    if (auto it = row.find(key);
        it != row.end() && key != "attention" && key != "steps")
      work[key] = valueText(*it);
  for (const Default &d : kDefaults)
    if (work["suite"] == d.suite)
      work.emplace(d.key, d.value);
  work.emplace("variant", "plain");
  if (auto it = row.find("attention"); it != row.end())
    if (*it == "no_attention")
      work["attention"] = "none";
  std::string text;
  for (const auto &[key, value] : work)
    text += key + "=" + value + ";";
  return text;
}

/// Rows by work, then by who did it. A file may hold a row twice (two runs);
/// the later one that worked counts.
static std::map<std::string, std::map<std::string, const Row *>>
groupByWork(const std::vector<Row> &peers) {
  std::map<std::string, std::map<std::string, const Row *>> byWork;
  for (const Row &peer : peers) {
    std::string work = workKey(peer);
    if (work.empty())
      continue;
    const Row *&slot = byWork[work][implName(peer)];
    if (!slot || !peer.contains("error"))
      slot = &peer;
  }
  return byWork;
}

Row plotData(const std::vector<Row> &rows, const std::vector<Row> &peers) {
  auto byWork = groupByWork(peers);
  Row data = Row::array();
  for (const Row &row : rows) {
    if (row.contains("error"))
      continue;
    Row entry{{"suite", row.value("suite", Row("attention"))},
              {"row", describe(row, {"suite", "impl"})},
              {"impls", Row::array()}};
    auto add = [&](const std::string &impl, const Row &from) {
      Row figures{{"impl", impl}};
      for (const char *key : {"median_ms", "temp_mb", "work_mb"})
        if (double value = plannedNumber(from, key); std::isfinite(value))
          figures[key] = value;
      entry["impls"].push_back(figures);
    };
    add("heddle", row);
    if (auto found = byWork.find(workKey(row)); found != byWork.end())
      for (const auto &[impl, peer] : found->second)
        if (!peer->contains("error"))
          add(impl, *peer);
    data.push_back(entry);
  }
  return data;
}

int printComparison(std::ostream &out, const std::string &title,
                    const std::vector<Row> &rows,
                    const std::vector<Row> &peers) {
  auto byWork = groupByWork(peers);

  Table table({"row", "beside", "ours ms", "theirs ms", "time theirs/ours",
               "temp ours/theirs", "work/temp", "arg, out"});
  std::map<std::pair<std::string, std::string>, Means> means;
  // Our work beside the smallest temporaries of anybody, per suite.
  std::map<std::string, GeoMean> leastTemp, leastFootprint;
  std::set<std::string> hidden = {"impl"};
  int pairs = 0;
  for (const Row &row : rows) {
    auto found = byWork.find(workKey(row));
    if (row.contains("error") || found == byWork.end())
      continue;
    std::string suite = valueText(row.value("suite", Row("attention")));
    double least = std::nan(""), leastWhole = std::nan("");
    for (const auto &[impl, peer] : found->second) {
      least = std::fmin(least, plannedNumber(*peer, "temp_mb"));
      leastWhole = std::fmin(leastWhole, footprint(*peer));
    }
    leastTemp[suite].add(plannedNumber(row, "work_mb") / least);
    leastFootprint[suite].add(footprint(row) / leastWhole);
    for (const auto &[impl, peer] : found->second) {
      ++pairs;
      double ours = milliseconds(row), theirs = milliseconds(*peer);
      double temp =
          plannedNumber(row, "temp_mb") / plannedNumber(*peer, "temp_mb");
      double work =
          plannedNumber(row, "work_mb") / plannedNumber(*peer, "temp_mb");
      Means &mean = means[{suite, impl}];
      mean.time.add(theirs / ours);
      mean.temp.add(temp);
      std::string bytes;
      for (const char *key : {"arg_mb", "out_mb"}) {
        double difference = plannedNumber(row, key) - plannedNumber(*peer, key);
        if (std::isnan(difference))
          continue;
        bool equal = difference == 0;
        ++mean.bytesCompared;
        mean.bytesEqual += equal;
        bytes += (bytes.empty() ? "" : ", ") +
                 (equal ? std::string("equal")
                        : formatNumber(difference * 1024 * 1024) + " B");
      }
      table.add({describe(row, hidden), impl, ratioText(ours),
                 peer->contains("error") ? "failed" : ratioText(theirs),
                 ratioText(theirs / ours), ratioText(temp), ratioText(work),
                 bytes.empty() ? "-" : bytes});
    }
  }
  out << "\n" << title << "\n";
  if (!pairs) {
    out << "  no row of the same work\n";
    return 0;
  }
  table.print(out);
  out << "geometric means\n";
  for (const auto &[key, mean] : means) {
    out << "  " << key.first << " beside " << key.second << ": time "
        << mean.time.text("x") << ", temp " << mean.temp.text("x");
    if (mean.bytesCompared)
      out << ", arg and out equal in " << mean.bytesEqual << " of "
          << mean.bytesCompared;
    out << "\n";
  }
  for (const auto &[suite, mean] : leastTemp)
    if (mean.count)
      out << "  " << suite << ": work beside the least temp of each row "
          << mean.text("x") << "\n";
  for (const auto &[suite, mean] : leastFootprint)
    if (mean.count)
      out << "  " << suite << ": footprint beside the least of each row "
          << mean.text("x") << "\n";
  return pairs;
}

} // namespace heddle::bench
