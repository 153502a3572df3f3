//===- Access.cpp - loads, stores, atomics, asynchronous copies -----------===//

#include "Access.h"
#include "Functions.h"
#include "Numbers.h"

#include <algorithm>

using namespace heddle;
using namespace heddle::emulator;

const Buffer *heddle::emulator::findBuffer(const Machine &m, uint32_t site,
                                           uint64_t address) {
  if (int32_t fixed = m.siteBuffers[site]; fixed >= 0)
    return m.buffers + fixed;
  const std::vector<Buffer> &buffers = m.plan.buffers;
  auto after =
      std::upper_bound(buffers.begin(), buffers.end(), address,
                       [](uint64_t a, const Buffer &b) { return a < b.begin; });
  return after == buffers.begin() ? nullptr : &*std::prev(after);
}

static const char *verb(SiteKind kind) {
  switch (kind) {
  case SiteKind::Store:
  case SiteKind::MatrixStore:
    return "write";
  case SiteKind::Atomic:
    return "atomic";
  case SiteKind::AsyncCopy:
    return "asynchronous copy";
  default:
    return "read";
  }
}

uint64_t heddle::emulator::fault(Thread &t, uint64_t address, uint32_t site,
                                 uint32_t bytes, const Buffer *buffer) {
  Machine &m = *t.machine;
  std::string what = std::string(verb(m.plan.table->sites[site].kind)) +
                     " of " + std::to_string(bytes) + " bytes ";
  if (address % bytes != 0)
    m.report(t, site, kMemcheck,
             what + "at " + m.describe(address) + " (" + hex(address) +
                 ") is not aligned to " + std::to_string(bytes),
             buffer ? buffer->name : "");
  else if (buffer)
    m.report(t, site, kMemcheck,
             what + "out of bounds: offset " +
                 std::to_string(static_cast<int64_t>(address - buffer->begin)) +
                 " of buffer '" + buffer->name + "', which has " +
                 std::to_string(buffer->bytes) + " bytes",
             buffer->name, static_cast<int64_t>(address - buffer->begin));
  else
    m.report(t, site, kMemcheck,
             what + "out of bounds: " + m.describe(address));
  std::fill(std::begin(m.sink), std::end(m.sink), 0);
  return reinterpret_cast<uint64_t>(m.sink);
}

/// The lane is far ahead of its warp: let the others come.
static void catchUp(Thread &t, uint32_t slot) {
  if (t.warp->ready & ~(1u << t.lane))
    t.machine->yield(t);
  else
    t.warp->counting.release(slot, t.machine->counters);
}

/// A site has two slots: shared memory first, then global.
static inline void charge(Thread &t, uint32_t slot, Charge how, uint32_t bytes,
                          uint32_t value) {
  Warp &w = *t.warp;
  if (__builtin_expect(w.counting.record(slot, how, bytes, t.lane, value,
                                         w.live, t.machine->counters),
                       0))
    catchUp(t, slot);
}

/// Number of a 32-byte sector. A GPU's buffers begin at one, wherever this
/// machine has put them; 4 GiB of each are told apart.
static inline uint32_t sectorOf(const Machine &m, const Buffer &b,
                                uint64_t address) {
  return static_cast<uint32_t>((address - b.begin) >> 5) +
         (static_cast<uint32_t>(&b - m.buffers) << 27);
}

void heddle::emulator::checkWritten(Thread &t, const Buffer &b,
                                    uint64_t address, uint32_t site,
                                    uint32_t bytes) {
  if (!b.initialised)
    return;
  const uint8_t *s = b.initialised + (address - b.begin);
  if (std::find(s, s + bytes, 0) == s + bytes)
    return;
  t.machine->report(t, site, kInitcheck,
                    "read of " + std::to_string(bytes) + " bytes at offset " +
                        std::to_string(address - b.begin) + " of buffer '" +
                        b.name + "' that nothing has written",
                    b.name, static_cast<int64_t>(address - b.begin));
}

void heddle::emulator::readGlobal(Thread &t, const Buffer &b, uint64_t address,
                                  uint32_t site, uint32_t bytes) {
  checkWritten(t, b, address, site, bytes);
  if (b.written && t.machine->plan.has(kRacecheck))
    t.machine->shadow.accessGlobal(t, b, address, bytes, site, false);
}

void heddle::emulator::writeGlobal(Thread &t, const Buffer &b, uint64_t address,
                                   uint32_t site, uint32_t bytes) {
  Machine &m = *t.machine;
  if (b.initialised)
    std::memset(b.initialised + (address - b.begin), 1, bytes);
  if (!m.plan.has(kRacecheck))
    return;
  if (m.async.anyInFlight())
    if (const AsyncCopy *copy = m.async.reader(address, bytes))
      m.report(t, site, kRacecheck,
               "write to " + m.describe(address) +
                   " while the asynchronous copy of thread " +
                   m.name(m.threads[copy->thread]) + " (" +
                   m.place(copy->site) + ") reads it; wait for the copy first",
               b.name, static_cast<int64_t>(address - b.begin));
  m.shadow.accessGlobal(t, b, address, bytes, site, true);
}

template <bool isWrite>
static inline uint64_t accessGlobal(Thread &t, uint64_t address, uint32_t site,
                                    uint32_t bytes) {
  Machine &m = *t.machine;
  ++m.counters.checkedAccesses;
  const Buffer *b = findBuffer(m, site, address);
  if (!b || address - b->begin > b->bytes - bytes || b->bytes < bytes ||
      (address & (bytes - 1)))
    return fault(t, address, site, bytes, b);
  charge(t, 2 * site + 1, isWrite ? Charge::GlobalStore : Charge::GlobalLoad,
         bytes, sectorOf(m, *b, address));
  if (isWrite)
    writeGlobal(t, *b, address, site, bytes);
  else if (b->written || b->initialised)
    readGlobal(t, *b, address, site, bytes);
  return address;
}

template <bool isWrite>
static inline uint64_t accessShared(Thread &t, uint64_t address, uint32_t site,
                                    uint32_t bytes) {
  Machine &m = *t.machine;
  ++m.counters.checkedAccesses;
  uint64_t offset = address - reinterpret_cast<uint64_t>(m.window);
  if (offset + bytes > m.plan.sharedBytes || offset > kSharedWindowBytes ||
      (address & (bytes - 1)))
    return fault(t, address, site, bytes, nullptr);
  uint32_t at = static_cast<uint32_t>(offset);
  charge(t, 2 * site, isWrite ? Charge::SharedStore : Charge::SharedLoad, bytes,
         at);
  if (isWrite)
    m.shadow.writeShared(t, at, bytes, site);
  else
    m.shadow.readShared(t, at, bytes, site);
  return address;
}

template <bool isWrite>
static inline uint64_t accessGeneric(Thread &t, uint64_t address, uint32_t site,
                                     uint32_t bytes) {
  Machine &m = *t.machine;
  if (address - reinterpret_cast<uint64_t>(m.window) < kSharedWindowBytes)
    return accessShared<isWrite>(t, address, site, bytes);
  if (m.stacks.contains(t.index, address))
    return address; // local memory
  return accessGlobal<isWrite>(t, address, site, bytes);
}

extern "C" {
uint64_t heddle_emu_load_global(Thread *t, uint64_t a, uint32_t s, uint32_t n) {
  return accessGlobal<false>(*t, a, s, n);
}
uint64_t heddle_emu_load_shared(Thread *t, uint64_t a, uint32_t s, uint32_t n) {
  return accessShared<false>(*t, a, s, n);
}
uint64_t heddle_emu_load_generic(Thread *t, uint64_t a, uint32_t s,
                                 uint32_t n) {
  return accessGeneric<false>(*t, a, s, n);
}
uint64_t heddle_emu_store_global(Thread *t, uint64_t a, uint32_t s,
                                 uint32_t n) {
  return accessGlobal<true>(*t, a, s, n);
}
uint64_t heddle_emu_store_shared(Thread *t, uint64_t a, uint32_t s,
                                 uint32_t n) {
  return accessShared<true>(*t, a, s, n);
}
uint64_t heddle_emu_store_generic(Thread *t, uint64_t a, uint32_t s,
                                  uint32_t n) {
  return accessGeneric<true>(*t, a, s, n);
}

uint64_t heddle_emu_shared_window(Thread *t) {
  return reinterpret_cast<uint64_t>(t->machine->window);
}

void heddle_emu_fence(Thread *t) { ++t->machine->counters.fences; }
}

//===----------------------------------------------------------------------===//
// Atomics
//===----------------------------------------------------------------------===//

template <typename Int>
static Int combineInt(Atomic op, Int old, Int v, Int compared) {
  using Signed = std::make_signed_t<Int>;
  Signed so = static_cast<Signed>(old), sv = static_cast<Signed>(v);
  switch (op) {
  case Atomic::Xchg:
    return v;
  case Atomic::Add:
    return old + v;
  case Atomic::Sub:
    return old - v;
  case Atomic::And:
    return old & v;
  case Atomic::Nand:
    return ~(old & v);
  case Atomic::Or:
    return old | v;
  case Atomic::Xor:
    return old ^ v;
  case Atomic::Max:
    return so > sv ? old : v;
  case Atomic::Min:
    return so < sv ? old : v;
  case Atomic::UMax:
    return std::max(old, v);
  case Atomic::UMin:
    return std::min(old, v);
  case Atomic::CmpXchg:
    return old == compared ? v : old;
  default:
    return old;
  }
}

template <typename Float, typename Int>
static Int combineFloat(Atomic op, Int oldBits, Int bits) {
  Float old, v, result;
  std::memcpy(&old, &oldBits, sizeof(Float));
  std::memcpy(&v, &bits, sizeof(Float));
  switch (op) {
  case Atomic::FAdd:
    result = old + v;
    break;
  case Atomic::FSub:
    result = old - v;
    break;
  case Atomic::FMax:
    result = std::fmax(old, v);
    break;
  case Atomic::FMin:
    result = std::fmin(old, v);
    break;
  default:
    result = v;
    break; // exchange
  }
  std::memcpy(&bits, &result, sizeof(Float));
  return bits;
}

/// Blocks on other host threads may update the same place.
template <typename Int, typename F>
static Int update(uint64_t address, F combine) {
  Int *place = reinterpret_cast<Int *>(address);
  Int old = __atomic_load_n(place, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(place, &old, combine(old), true,
                                      __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
  }
  return old;
}

extern "C" uint64_t heddle_emu_atomic(Thread *thread, uint64_t address,
                                      uint64_t value, uint64_t compared,
                                      uint32_t op, uint32_t type,
                                      uint32_t site) {
  Thread &t = *thread;
  Machine &m = *t.machine;
  ElementType element = static_cast<ElementType>(type);
  bool wide = element == ElementType::I64 || element == ElementType::F64;
  uint32_t bytes = wide ? 8 : 4;
  ++m.counters.checkedAccesses;
  uint64_t offset = address - reinterpret_cast<uint64_t>(m.window);
  if (offset < kSharedWindowBytes) {
    if (offset + bytes > m.plan.sharedBytes || address % bytes) {
      address = fault(t, address, site, bytes, nullptr);
    } else {
      uint32_t at = static_cast<uint32_t>(offset);
      charge(t, 2 * site, Charge::SharedAtomic, bytes, at);
      m.shadow.checkWritten(t, at, bytes, site);
      m.shadow.writeShared(t, at, bytes, site);
    }
  } else {
    const Buffer *b = findBuffer(m, site, address);
    if (!b || b->bytes < bytes || address - b->begin > b->bytes - bytes ||
        address % bytes) {
      address = fault(t, address, site, bytes, b);
    } else {
      charge(t, 2 * site + 1, Charge::GlobalAtomic, bytes,
             sectorOf(m, *b, address));
      checkWritten(t, *b, address, site, bytes);
      writeGlobal(t, *b, address, site, bytes);
    }
  }
  Atomic o = static_cast<Atomic>(op);
  uint32_t narrow = static_cast<uint32_t>(value);
  switch (element) {
  case ElementType::I32:
    return update<uint32_t>(address, [&](uint32_t old) {
      return combineInt<uint32_t>(o, old, narrow,
                                  static_cast<uint32_t>(compared));
    });
  case ElementType::I64:
    return update<uint64_t>(address, [&](uint64_t old) {
      return combineInt<uint64_t>(o, old, value, compared);
    });
  case ElementType::F64:
    return update<uint64_t>(address, [&](uint64_t old) {
      return combineFloat<double, uint64_t>(o, old, value);
    });
  default:
    return update<uint32_t>(address, [&](uint32_t old) {
      return combineFloat<float, uint32_t>(o, old, narrow);
    });
  }
}

//===----------------------------------------------------------------------===//
// Asynchronous copies
//===----------------------------------------------------------------------===//

/// Checks a piece of a copy and issues it; false after a finding.
static bool issueCopy(Thread &t, uint64_t to, uint64_t from, uint32_t bytes,
                      uint32_t readBytes, uint32_t alignment, uint32_t site,
                      AsyncId &id) {
  Machine &m = *t.machine;
  ++m.counters.checkedAccesses;
  uint64_t offset = to - reinterpret_cast<uint64_t>(m.window);
  if (offset > kSharedWindowBytes || offset + bytes > m.plan.sharedBytes ||
      to % alignment) {
    m.report(t, site, kMemcheck,
             "asynchronous copy of " + std::to_string(bytes) + " bytes to " +
                 m.describe(to) + "; expected shared memory aligned to " +
                 std::to_string(alignment));
    return false;
  }
  const Buffer *b = findBuffer(m, site, from);
  if (from % alignment ||
      (readBytes && (!b || b->bytes < readBytes ||
                     from - b->begin > b->bytes - readBytes))) {
    if (from % alignment || !b)
      m.report(t, site, kMemcheck,
               "asynchronous copy of " + std::to_string(bytes) +
                   " bytes from " + m.describe(from) +
                   "; expected global memory aligned to " +
                   std::to_string(alignment));
    else
      fault(t, from, site, readBytes, b);
    return false;
  }
  if (readBytes)
    readGlobal(t, *b, from, site, readBytes);
  for (uint32_t i = 0; i < bytes; i += 16)
    m.shadow.writeShared(t, static_cast<uint32_t>(offset) + i,
                         std::min(bytes - i, 16u), site);
  AsyncCopy copy;
  copy.thread = t.index;
  copy.site = site;
  copy.sharedOffset = static_cast<uint32_t>(offset);
  copy.bytes = bytes;
  copy.readBytes = readBytes;
  copy.source = from;
  id = m.async.issue(copy);
  return true;
}

extern "C" {
void heddle_emu_cp_async(Thread *thread, uint64_t to, uint64_t from,
                         uint32_t bytes, uint32_t readBytes, uint32_t site) {
  Thread &t = *thread;
  Machine &m = *t.machine;
  AsyncId id;
  readBytes = std::min(readBytes, bytes);
  if (!issueCopy(t, to, from, bytes, readBytes, bytes, site, id))
    return;
  t.openCopies.push_back(id);
  m.counters.asyncCopyBytes += readBytes;
  charge(t, 2 * site, Charge::AsyncCopy, bytes,
         static_cast<uint32_t>(to - reinterpret_cast<uint64_t>(m.window)));
  if (readBytes)
    charge(t, 2 * site + 1, Charge::AsyncCopySource, bytes,
           sectorOf(m, *findBuffer(m, site, from), from));
}

void heddle_emu_cp_async_commit(Thread *t, uint32_t) {
  t->copyGroups.push_back(std::move(t->openCopies));
  t->openCopies.clear();
}

void heddle_emu_cp_async_wait(Thread *t, uint32_t pending, uint32_t) {
  while (t->copyGroups.size() > pending) {
    for (AsyncId id : t->copyGroups.front())
      t->machine->async.land(id, t->index, t->clock);
    t->copyGroups.pop_front();
  }
}

void heddle_emu_cp_async_mbarrier_arrive(Thread *t, uint64_t address,
                                         uint32_t noinc, uint32_t site) {
  Machine &m = *t->machine;
  ++m.counters.mbarrierOps;
  Mbarrier *b = m.barriers.find(*t, address, site);
  if (!b)
    return;
  AsyncArrival arrival;
  arrival.thread = t->index;
  arrival.clock = t->clock;
  arrival.arrivals = 1;
  if (!noinc)
    ++b->pending;
  arrival.pieces = t->openCopies;
  for (const std::vector<AsyncId> &group : t->copyGroups)
    arrival.pieces.insert(arrival.pieces.end(), group.begin(), group.end());
  m.shadow.release(*t, b->gathering);
  m.barriers.track(*b, std::move(arrival));
}

void heddle_emu_cp_async_bulk(Thread *t, uint64_t to, uint64_t from,
                              uint32_t bytes, uint64_t address, uint32_t site) {
  Machine &m = *t->machine;
  Mbarrier *b = m.barriers.find(*t, address, site);
  AsyncId id;
  if (!b)
    return;
  if (bytes % 16 != 0) {
    m.report(*t, site, kMemcheck,
             "bulk copy of " + std::to_string(bytes) +
                 " bytes; expected a multiple of 16");
    return;
  }
  if (!issueCopy(*t, to, from, bytes, bytes, 16, site, id))
    return;
  AsyncArrival arrival;
  arrival.thread = t->index;
  arrival.clock = t->clock;
  arrival.bytes = bytes;
  arrival.pieces = {id};
  m.shadow.release(*t, b->gathering);
  m.barriers.track(*b, std::move(arrival));
}
}
