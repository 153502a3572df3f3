//===- Barriers.h - block barriers and mbarriers ----------------*- C++ -*-===//

#ifndef HEDDLE_RUNTIME_EMULATOR_BARRIERS_H
#define HEDDLE_RUNTIME_EMULATOR_BARRIERS_H

#include "Async.h"

#include <map>
#include <string>

namespace heddle::emulator {

/// Arrivals and bytes that an mbarrier expects of asynchronous operations.
struct AsyncArrival {
  std::vector<AsyncId> pieces;    // land when this arrives
  uint32_t thread = 0, clock = 0; // who issued them, and when
  uint32_t arrivals = 0;
  int64_t bytes = 0; // of the transaction count
};

/// State of an mbarrier object (PTX ISA, "Parallel Synchronization and
/// Communication Instructions: mbarrier"). It is kept beside the shared memory
/// that the object occupies.
struct Mbarrier {
  uint32_t offset = 0; // shared
  uint32_t expected = 0, pending = 0;
  uint64_t phase = 0;              // completed phases
  int64_t bytes = 0;               // expected minus completed in this phase
  std::vector<AsyncArrival> async; // of this phase
  std::vector<uint32_t> gathering, released; // knowledge; see Shadow.h
};

class Barriers {
public:
  explicit Barriers(Machine &machine) : machine(machine) {}
  void reset();

  /// bar.sync, with a reduction of `predicate` over all that meet; count 0: all
  /// threads of the block.
  uint32_t sync(Thread &t, uint32_t id, uint32_t count, uint32_t reduction,
                bool predicate, uint32_t site);
  void arrive(Thread &t, uint32_t id, uint32_t count, uint32_t site);
  /// A thread has ended: barriers no longer wait for it.
  void exited();

  /// The mbarrier at a shared address, or null after a finding.
  Mbarrier *find(Thread &t, uint64_t address, uint32_t site);
  void init(Thread &t, uint64_t address, uint32_t count, uint32_t site);
  void invalidate(Thread &t, uint64_t address, uint32_t site);
  /// Returns the phase's number as the opaque state.
  uint64_t arriveOn(Thread &t, Mbarrier &b, uint32_t count, int64_t expectBytes,
                    uint32_t site);
  /// The general interface of asynchronous completion: `arrival` takes part in
  /// the current phase; its pieces land when the phase cannot complete without
  /// them and somebody waits.
  void track(Mbarrier &b, AsyncArrival arrival);
  /// Whether the phase with this number has completed; lands what is needed.
  bool completed(Mbarrier &b, uint64_t phase);
  /// Blocks until then.
  void await(Thread &t, Mbarrier &b, uint64_t phase, uint32_t site);
  /// Whether the phase with this parity has completed, as waits ask.
  static uint64_t phaseOfParity(const Mbarrier &b, uint32_t parity) {
    return (b.phase & 1) == (parity & 1) ? b.phase : b.phase - 1;
  }

private:
  struct Barrier {
    uint32_t arrived = 0, count = 0; // threads
    std::vector<uint32_t> waiting;   // those that block
    uint32_t firstSite = 0;          // where the first of them does
    uint32_t popc = 0, reduction = 0;
    uint32_t warps = 0;        // those that have arrived
    uint32_t waitingWarps = 0; // those of which a lane waits
    uint32_t warpSites[32];    // where the first of them does
    std::vector<uint32_t> knowledge;
  };
  Barrier *join(Thread &t, uint32_t id, uint32_t count, uint32_t site);
  bool full(const Barrier &b) const;
  void complete(Barrier &b);
  void settle(Mbarrier &b);
  void completePhase(Mbarrier &b);

  Machine &machine;
  Barrier named[16];
  std::map<uint32_t, Mbarrier> mbarriers;    // by shared offset
  std::multimap<uint32_t, uint32_t> waiters; // shared offset -> thread
};

} // namespace heddle::emulator

#endif // HEDDLE_RUNTIME_EMULATOR_BARRIERS_H
