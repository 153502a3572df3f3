//===- Synchronise.cpp - barriers as kernels call them --------------------===//

#include "Functions.h"
#include "Machine.h"

using namespace heddle;
using namespace heddle::emulator;

/// Tests in a row without any event in the block before a kernel that spins on
/// an mbarrier is taken for stuck: it then waits, so that a deadlock is seen.
constexpr uint32_t kMaxPolls = 64;

/// mbarrier.test_wait does not block. A poll that fails lets the others go on.
static uint32_t test(Thread &t, Mbarrier &b, uint64_t phase, uint32_t site) {
  Machine &m = *t.machine;
  ++m.counters.mbarrierOps;
  if (m.barriers.completed(b, phase)) {
    t.polls = 0;
    m.shadow.acquire(t, b.released);
    return 1;
  }
  if (++t.polls > kMaxPolls) {
    t.polls = 0;
    m.barriers.await(t, b, phase, site);
    return 1;
  }
  m.yield(t);
  return 0;
}

/// Ops that block, and try_wait, which may: it waits as long as it takes.
static uint32_t block(Thread &t, Mbarrier &b, uint64_t phase, uint32_t site) {
  ++t.machine->counters.mbarrierOps;
  t.machine->barriers.await(t, b, phase, site);
  return 1;
}

extern "C" {
uint32_t heddle_emu_barrier(Thread *t, uint32_t id, uint32_t count,
                            uint32_t reduction, uint32_t predicate,
                            uint32_t site) {
  return t->machine->barriers.sync(*t, id, count, reduction, predicate != 0,
                                   site);
}

void heddle_emu_barrier_arrive(Thread *t, uint32_t id, uint32_t count,
                               uint32_t site) {
  t->machine->barriers.arrive(*t, id, count, site);
}

void heddle_emu_mbarrier_init(Thread *t, uint64_t address, uint32_t count,
                              uint32_t site) {
  ++t->machine->counters.mbarrierOps;
  t->machine->barriers.init(*t, address, count, site);
}

void heddle_emu_mbarrier_inval(Thread *t, uint64_t address, uint32_t site) {
  ++t->machine->counters.mbarrierOps;
  t->machine->barriers.invalidate(*t, address, site);
}

static uint64_t arrive(Thread *t, uint64_t address, uint32_t count,
                       int64_t bytes, uint32_t site) {
  ++t->machine->counters.mbarrierOps;
  Mbarrier *b = t->machine->barriers.find(*t, address, site);
  return b ? t->machine->barriers.arriveOn(*t, *b, count, bytes, site) : 0;
}

uint64_t heddle_emu_mbarrier_arrive(Thread *t, uint64_t address, uint32_t count,
                                    uint32_t site) {
  return arrive(t, address, count, 0, site);
}

uint64_t heddle_emu_mbarrier_arrive_drop(Thread *t, uint64_t address,
                                         uint32_t count, uint32_t site) {
  if (Mbarrier *b = t->machine->barriers.find(*t, address, site))
    b->expected -= count < b->expected ? count : b->expected;
  return arrive(t, address, count, 0, site);
}

uint64_t heddle_emu_mbarrier_arrive_expect_tx(Thread *t, uint64_t address,
                                              uint32_t bytes, uint32_t site) {
  return arrive(t, address, 1, bytes, site);
}

void heddle_emu_mbarrier_expect_tx(Thread *t, uint64_t address, uint32_t bytes,
                                   uint32_t site) {
  arrive(t, address, 0, bytes, site);
}

void heddle_emu_mbarrier_complete_tx(Thread *t, uint64_t address,
                                     uint32_t bytes, uint32_t site) {
  arrive(t, address, 0, -static_cast<int64_t>(bytes), site);
}

void heddle_emu_mbarrier_wait_parity(Thread *t, uint64_t address,
                                     uint32_t parity, uint32_t site) {
  if (Mbarrier *b = t->machine->barriers.find(*t, address, site))
    block(*t, *b, Barriers::phaseOfParity(*b, parity), site);
}

uint32_t heddle_emu_mbarrier_test_parity(Thread *t, uint64_t address,
                                         uint32_t parity, uint32_t site) {
  Mbarrier *b = t->machine->barriers.find(*t, address, site);
  return b ? test(*t, *b, Barriers::phaseOfParity(*b, parity), site) : 1;
}

uint32_t heddle_emu_mbarrier_test_state(Thread *t, uint64_t address,
                                        uint64_t state, uint32_t site) {
  Mbarrier *b = t->machine->barriers.find(*t, address, site);
  return b ? test(*t, *b, state, site) : 1;
}

uint32_t heddle_emu_mbarrier_try_parity(Thread *t, uint64_t address,
                                        uint32_t parity, uint32_t site) {
  Mbarrier *b = t->machine->barriers.find(*t, address, site);
  return b ? block(*t, *b, Barriers::phaseOfParity(*b, parity), site) : 1;
}

uint32_t heddle_emu_mbarrier_try_state(Thread *t, uint64_t address,
                                       uint64_t state, uint32_t site) {
  Mbarrier *b = t->machine->barriers.find(*t, address, site);
  return b ? block(*t, *b, state, site) : 1;
}
}
