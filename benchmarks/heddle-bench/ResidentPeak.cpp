//===- ResidentPeak.cpp - memory that a call takes ------------------------===//

#include "ResidentPeak.h"

#include <fstream>
#include <string>

namespace heddle::bench {

/// A line "NAME:   N kB" of /proc/self/status.
static std::optional<int64_t> statusBytes(const std::string &name) {
  std::ifstream file("/proc/self/status");
  std::string word;
  int64_t kilobytes = 0;
  while (file >> word)
    if (word == name + ":" && file >> kilobytes)
      return kilobytes * 1024;
  return std::nullopt;
}

ResidentPeak::ResidentPeak() {
  std::ofstream file("/proc/self/clear_refs");
  file << "5" << std::flush;
  if (file)
    before = statusBytes("VmRSS");
}

std::optional<int64_t> ResidentPeak::growth() const {
  std::optional<int64_t> peak = statusBytes("VmHWM");
  if (!before || !peak)
    return std::nullopt;
  return *peak - *before;
}

} // namespace heddle::bench
