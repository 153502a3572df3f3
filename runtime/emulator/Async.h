//===- Async.h - operations that finish later -------------------*- C++ -*-===//
//
// An asynchronous copy is issued, poisons what it will write and locks what it
// will read. It lands when something that tracks it says so: a commit group
// that is waited for, or an mbarrier (Barriers.h). Whatever tracks, the queue
// does the same: the data move at the latest legal moment, the landed bytes
// count as written by `owner` at `clock`, so that only threads that are ordered
// after that time may read them. Bulk copies and matrix descriptors issue
// several pieces and are tracked by their bytes.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_EMULATOR_ASYNC_H
#define HEDDLE_RUNTIME_EMULATOR_ASYNC_H

#include <cstdint>
#include <vector>

namespace heddle::emulator {

class Machine;
struct Thread;

using AsyncId = uint32_t;

/// One piece: `readBytes` of `bytes` come from `source`, the rest are zeros.
struct AsyncCopy {
  uint32_t thread = 0, site = 0;
  uint32_t sharedOffset = 0, bytes = 0, readBytes = 0;
  uint64_t source = 0; // checked before: readable
  bool landed = false;
};

class AsyncQueue {
public:
  explicit AsyncQueue(Machine &machine) : machine(machine) {}

  AsyncId issue(const AsyncCopy &copy);
  void land(AsyncId id, uint32_t owner, uint32_t clock);
  /// Lands what nobody waited for, and forgets all: the block has ended.
  void finish();

  bool anyInFlight() const { return inFlight != 0; }
  /// The copy in flight that reads from [address, +bytes), or null.
  const AsyncCopy *reader(uint64_t address, uint64_t bytes) const;
  /// The copy in flight that writes to the shared bytes, or null.
  const AsyncCopy *writer(uint32_t offset, uint32_t bytes) const;

private:
  static uint32_t bucket(uint64_t address) { return address >> 10 & 1023; }
  Machine &machine;
  std::vector<AsyncCopy> copies;
  uint32_t inFlight = 0;
  uint32_t firstInFlight = 0;
  uint32_t locks[1024] = {}; // copies in flight that read from a kilobyte
};

} // namespace heddle::emulator

#endif // HEDDLE_RUNTIME_EMULATOR_ASYNC_H
