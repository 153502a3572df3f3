//===- EmulatorReport.cpp - what kernels did on the emulator --------------===//

#include "common/EmulatorReport.h"

#include <algorithm>
#include <ostream>

using namespace heddle;

namespace {
struct Counter {
  std::string metric, meaning;
  uint64_t value;
};
} // namespace

/// Those that are not zero, in the order of their definition.
static std::vector<Counter> nonZero(const EmulatorCounters &c) {
  std::vector<Counter> list;
  auto add = [&](std::string metric, std::string name, std::string meaning,
                 uint64_t value) {
    if (value)
      list.push_back({metric == "-" ? name : metric, meaning, value});
  };
#define HEDDLE_EMULATOR_COUNTER(field, meaning, metric)                        \
  add(metric, #field, meaning, c.field);
#include "heddle/Runtime/EmulatorCounters.def"
#undef HEDDLE_EMULATOR_COUNTER
  for (const auto &[shape, count] : c.mmaByShape)
    add("mma " + shape, "", "mma.sync of this shape and types", count);
  return list;
}

static Json toJson(const EmulatorCounters &counters) {
  Json json = Json::object();
  for (const Counter &c : nonZero(counters))
    json[c.metric] = c.value;
  return json;
}

uint64_t EmulatorRuns::checkedAccesses() const {
  uint64_t sum = 0;
  for (const EmulatorKernelReport &k : kernels)
    sum += k.sum.counters.checkedAccesses;
  return sum;
}

std::string heddle::sanitizerNames(uint32_t set) {
  std::string names;
  for (EmulatorSanitizer s : {kMemcheck, kRacecheck, kInitcheck, kSynccheck})
    if (set & s)
      names += (names.empty() ? "" : ", ") + std::string(sanitizerName(s));
  return names.empty() ? "none" : names;
}

Json heddle::sumCounters(const EmulatorRuns &runs) {
  EmulatorCounters sum;
  for (const EmulatorKernelReport &k : runs.kernels)
    sum.add(k.sum.counters);
  return toJson(sum);
}

Json heddle::reportEmulator(const EmulatorRuns &runs) {
  Json kernels = Json::array();
  for (const EmulatorKernelReport &k : runs.kernels)
    kernels.push_back({{"name", k.kernel},
                       {"launches", k.launches},
                       {"counters", toJson(k.sum.counters)}});
  return Json{{"target", runs.target},
              {"sanitizers", sanitizerNames(runs.sanitizers)},
              {"seeds", runs.seeds},
              {"checked_accesses", runs.checkedAccesses()},
              {"kernels", std::move(kernels)}};
}

void heddle::printEmulatorReport(const EmulatorRuns &runs, std::ostream &os) {
  std::string seeds;
  for (uint64_t seed : runs.seeds)
    seeds += (seeds.empty() ? "" : ", ") + std::to_string(seed);
  os << "emulator of " << runs.target << ": sanitizers "
     << sanitizerNames(runs.sanitizers) << "; "
     << (runs.seeds.size() == 1 ? "seed " : "seeds ") << seeds << "; "
     << runs.checkedAccesses() << " accesses in a run\n";
  for (const EmulatorKernelReport &k : runs.kernels) {
    os << "  " << k.kernel << ", " << k.launches
       << (k.launches == 1 ? " launch\n" : " launches\n");
    std::vector<Counter> counters = nonZero(k.sum.counters);
    size_t width = 0, digits = 0;
    for (const Counter &c : counters) {
      width = std::max(width, c.metric.size());
      digits = std::max(digits, std::to_string(c.value).size());
    }
    for (const Counter &c : counters) {
      std::string value = std::to_string(c.value);
      os << "    " << c.metric << std::string(width - c.metric.size(), ' ')
         << "  " << std::string(digits - value.size(), ' ') << value << "  "
         << c.meaning << "\n";
    }
  }
}
