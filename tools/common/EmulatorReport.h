//===- EmulatorReport.h - what kernels did on the emulator ------*- C++ -*-===//
//
// Counters under the names that NVIDIA's profiler has for them. No LLVM header
// here: the runtime-only build has it too.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TOOLS_COMMON_EMULATORREPORT_H
#define HEDDLE_TOOLS_COMMON_EMULATORREPORT_H

#include "common/Report.h"
#include "heddle/Runtime/EmulatorDevice.h"

namespace heddle {

/// A run, or several on the same data, on the emulator.
struct EmulatorRuns {
  std::string target; // "sm_80"; empty: nothing ran
  uint32_t sanitizers = 0;
  std::vector<uint64_t> seeds;
  std::vector<EmulatorKernelReport> kernels; // of the last run
  /// Accesses that were looked at, in one run.
  uint64_t checkedAccesses() const;
};

/// "memcheck, racecheck", or "none".
std::string sanitizerNames(uint32_t set);

/// {"target", "sanitizers", "seeds", "checked_accesses", "kernels": [{"name",
/// "launches", "counters": {metric: value}}]}. Counters that are zero are left
/// out; those without a metric have the emulator's name.
Json reportEmulator(const EmulatorRuns &runs);
/// All kernels together, as "counters" above.
Json sumCounters(const EmulatorRuns &runs);

/// The same for people.
void printEmulatorReport(const EmulatorRuns &runs, std::ostream &os);

} // namespace heddle

#endif // HEDDLE_TOOLS_COMMON_EMULATORREPORT_H
