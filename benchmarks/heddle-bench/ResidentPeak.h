//===- ResidentPeak.h - memory that a call takes ----------------*- C++ -*-===//

#ifndef HEDDLE_BENCH_RESIDENTPEAK_H
#define HEDDLE_BENCH_RESIDENTPEAK_H

#include <cstdint>
#include <optional>

namespace heddle::bench {

/// How far the resident memory of this process has grown at most since this was
/// made (VmHWM, proc(5)). Memory that was resident before does not count, so
/// that of a loaded program is what its first run touches: arena and scratch.
class ResidentPeak {
public:
  ResidentPeak();
  /// Bytes; nothing where the system does not let a process reset its peak.
  std::optional<int64_t> growth() const;

private:
  std::optional<int64_t> before;
};

} // namespace heddle::bench

#endif // HEDDLE_BENCH_RESIDENTPEAK_H
