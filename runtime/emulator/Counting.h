//===- Counting.h - warp instructions out of thread accesses ----*- C++ -*-===//
//
// Fibres run one after another, so a warp's access to memory comes in pieces.
// The n-th execution of a site by one lane since its warp last met belongs to
// the n-th of the others; once all live lanes have come, or the whole warp
// meets at a collective or barrier, the piece is a warp instruction and is
// counted.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_EMULATOR_COUNTING_H
#define HEDDLE_RUNTIME_EMULATOR_COUNTING_H

#include "Plan.h"

namespace heddle::emulator {

/// How a request is charged.
enum class Charge : uint8_t {
  None,
  GlobalLoad,
  GlobalStore,
  GlobalAtomic,
  SharedLoad,
  SharedStore,
  SharedAtomic,
  AsyncCopy, // shared side; the global side is a record of its own
  AsyncCopySource,
};

/// Wavefronts of one shared request: lanes go in groups that move 128 bytes;
/// a group needs as many wavefronts as the fullest of 32 banks holds distinct
/// words. `offsets` has one byte offset per bit of `mask`, `bytes` is the width
/// of a lane. `least` receives what the request would need without conflicts.
uint32_t sharedWavefronts(uint32_t mask, const uint32_t *offsets,
                          uint32_t bytes, uint32_t &least);
/// Distinct values among the lanes of `mask`.
uint32_t countDistinct(uint32_t mask, const uint32_t *values);

/// Pending pieces of one warp.
class WarpCounting {
public:
  /// Forgets everything and makes room for `slots` kinds of accesses.
  void reset(size_t slots);

  /// Lane `lane` executes the access `slot`; value is a sector or an offset.
  /// True where the lane is far ahead of its warp and should wait a little.
  [[gnu::always_inline]] bool record(uint32_t slot, Charge charge,
                                     uint32_t bytes, uint32_t lane,
                                     uint32_t value, uint32_t live,
                                     EmulatorCounters &counters) {
    Queue &q = queues[slot];
    uint32_t n = q.next[lane]++;
    n = n >= q.base ? n - q.base : late(q, lane);
    if (n >= q.records.size() - q.head)
      grow(q, slot, charge, bytes, n);
    Record &r = q.records[q.head + n];
    r.value[lane] = value;
    r.mask |= 1u << lane;
    if ((r.mask & live) == live && n == 0)
      retire(q, live, counters);
    return n >= kWindow;
  }
  /// The others of the warp do not run: counts the oldest pieces as they are.
  void release(uint32_t slot, EmulatorCounters &counters);
  /// The whole warp has met: all pieces are complete.
  void flush(EmulatorCounters &counters);

private:
  /// Pieces of a site, about what the first-level cache holds: lanes go ahead
  /// of their warp by so much.
  static constexpr uint32_t kWindow = 256;
  struct Record {
    Record() : mask(0) {} // values stay as they are
    uint32_t mask;
    uint32_t value[32];
  };
  struct Queue {
    uint32_t next[32] = {};
    uint32_t base = 0; // number of records[head]
    uint32_t head = 0;
    uint32_t bytes = 0;
    Charge charge = Charge::None;
    bool dirty = false;
    std::vector<Record> records;
  };
  uint32_t late(Queue &q, uint32_t lane);
  void grow(Queue &q, uint32_t slot, Charge charge, uint32_t bytes, uint32_t n);
  void retire(Queue &q, uint32_t live, EmulatorCounters &counters);
  static void count(const Queue &q, const Record &r,
                    EmulatorCounters &counters);

  std::vector<Queue> queues;
  std::vector<uint32_t> dirty;
};

} // namespace heddle::emulator

#endif // HEDDLE_RUNTIME_EMULATOR_COUNTING_H
