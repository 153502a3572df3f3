//===- Findings.cpp - faults, counters and their texts --------------------===//

#include "Findings.h"

#include <algorithm>
#include <cstring>
#include <numeric>

using namespace heddle;
using namespace heddle::emulator;

EmulatorArgument EmulatorArgument::f32(float v) {
  uint32_t bits;
  std::memcpy(&bits, &v, 4);
  return {bits};
}

const char *heddle::sanitizerName(EmulatorSanitizer sanitizer) {
  switch (sanitizer) {
  case kMemcheck:
    return "memcheck";
  case kRacecheck:
    return "racecheck";
  case kInitcheck:
    return "initcheck";
  case kSynccheck:
    return "synccheck";
  case kAllSanitizers:
    return "all";
  case kNoSanitizers:
    return "none";
  }
  return "?";
}

Status heddle::parseSanitizers(const std::string &text, uint32_t &set) {
  set = 0;
  if (text == sanitizerName(kNoSanitizers))
    return {};
  if (text == sanitizerName(kAllSanitizers)) {
    set = kAllSanitizers;
    return {};
  }
  for (size_t at = 0; at <= text.size();) {
    size_t end = std::min(text.find(',', at), text.size());
    std::string name = text.substr(at, end - at);
    at = end + 1;
    bool found = false;
    for (EmulatorSanitizer s : {kMemcheck, kRacecheck, kInitcheck, kSynccheck})
      if (name == sanitizerName(s)) {
        set |= s;
        found = true;
      }
    if (!found)
      return Status::error(
          "expected sanitizers to be all, none or some of memcheck, racecheck, "
          "initcheck and synccheck joined by commas, got '" +
          name + "'");
  }
  return {};
}

void EmulatorCounters::add(const EmulatorCounters &o) {
#define HEDDLE_EMULATOR_COUNTER(field, meaning, metric) field += o.field;
#include "heddle/Runtime/EmulatorCounters.def"
#undef HEDDLE_EMULATOR_COUNTER
  for (const auto &[shape, count] : o.mmaByShape)
    mmaByShape[shape] += count;
}

static std::string triple(const std::array<int64_t, 3> &v) {
  return "(" + std::to_string(v[0]) + "," + std::to_string(v[1]) + "," +
         std::to_string(v[2]) + ")";
}

std::string EmulatorFinding::text() const {
  std::string s = std::string(sanitizerName(sanitizer)) + ": " + message +
                  "; kernel '" + kernel + "', " + op + " at " + location +
                  ", block " + triple(block) + ", thread " + triple(thread);
  if (occurrences > 1)
    s += ", " + std::to_string(occurrences) + " times";
  return s;
}

std::string LaunchReport::text() const {
  std::string s;
  for (const EmulatorFinding &f : findings)
    s += f.text() + "\n";
  if (findingsLeftOut)
    s += std::to_string(findingsLeftOut) + " more findings\n";
#define HEDDLE_EMULATOR_COUNTER(field, meaning, metric)                        \
  if (counters.field)                                                          \
    s += #field " " + std::to_string(counters.field) + "\n";
#include "heddle/Runtime/EmulatorCounters.def"
#undef HEDDLE_EMULATOR_COUNTER
  for (const auto &[shape, count] : counters.mmaByShape)
    s += "mma " + shape + " " + std::to_string(count) + "\n";
  return s;
}

bool FindingLog::add(uint64_t key, int64_t block, EmulatorFinding *&finding) {
  auto [it, isNew] = index.try_emplace(key, entries.size());
  if (!isNew) {
    ++entries[it->second].finding.occurrences;
    return false;
  }
  entries.push_back({block, key, {}});
  finding = &entries.back().finding;
  return true;
}

void heddle::emulator::mergeFindings(std::vector<FindingLog *> logs,
                                     int64_t maxFindings,
                                     LaunchReport &report) {
  std::vector<FindingLog::Entry> all;
  for (FindingLog *log : logs)
    for (FindingLog::Entry &e : log->entries) {
      auto same = std::find_if(all.begin(), all.end(),
                               [&](const auto &o) { return o.key == e.key; });
      if (same == all.end()) {
        all.push_back(std::move(e));
        continue;
      }
      int64_t sum = same->finding.occurrences + e.finding.occurrences;
      if (e.block < same->block)
        *same = std::move(e);
      same->finding.occurrences = sum;
    }
  std::vector<size_t> order(all.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](size_t x, size_t y) {
    return std::make_pair(all[x].block, x) < std::make_pair(all[y].block, y);
  });
  for (size_t i : order) {
    if (static_cast<int64_t>(report.findings.size()) < maxFindings)
      report.findings.push_back(std::move(all[i].finding));
    else
      ++report.findingsLeftOut;
  }
}
