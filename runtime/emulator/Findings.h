//===- Findings.h - faults of one machine -----------------------*- C++ -*-===//

#ifndef HEDDLE_RUNTIME_EMULATOR_FINDINGS_H
#define HEDDLE_RUNTIME_EMULATOR_FINDINGS_H

#include "heddle/Runtime/Emulator.h"

#include <unordered_map>

namespace heddle::emulator {

/// Keeps the first fault per sanitizer, site and detail, and counts the others.
class FindingLog {
public:
  struct Entry {
    int64_t block = 0; // number of the block, for an order that does not
                       // depend on host threads
    uint64_t key = 0;
    EmulatorFinding finding;
  };
  /// True if this is the first of its kind: the caller then fills `finding`.
  bool add(uint64_t key, int64_t block, EmulatorFinding *&finding);
  std::vector<Entry> entries;

private:
  std::unordered_map<uint64_t, size_t> index;
};

/// Merges the logs of all machines in block order.
void mergeFindings(std::vector<FindingLog *> logs, int64_t maxFindings,
                   LaunchReport &report);

} // namespace heddle::emulator

#endif // HEDDLE_RUNTIME_EMULATOR_FINDINGS_H
