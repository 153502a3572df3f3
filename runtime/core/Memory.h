//===- Memory.h - how much memory there is, and taking it -------*- C++ -*-===//

#ifndef HEDDLE_RUNTIME_CORE_MEMORY_H
#define HEDDLE_RUNTIME_CORE_MEMORY_H

#include "heddle/Runtime/Program.h"

namespace heddle {

/// Bytes that this process may still allocate without swapping: the smallest of
/// what the machine has available and what its control groups leave.
int64_t availableMemory();

/// Fails if `bytes` are more than availableMemory; names both in MiB.
Status checkMemory(int64_t bytes, const std::string &what);

/// Page-aligned zeroed memory, with a hint for huge pages.
class MappedMemory {
public:
  MappedMemory() = default;
  ~MappedMemory();
  MappedMemory(const MappedMemory &) = delete;
  MappedMemory &operator=(const MappedMemory &) = delete;

  /// Nothing is mapped for 0 bytes.
  Status allocate(int64_t bytes);
  uint8_t *data() const { return memory; }
  int64_t size() const { return bytes; }

private:
  uint8_t *memory = nullptr;
  int64_t bytes = 0;
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_CORE_MEMORY_H
