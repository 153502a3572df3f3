//===- Shadow.cpp - who touched which byte, and when ----------------------===//

#include "Machine.h"

#include <algorithm>
#include <cstring>

using namespace heddle;
using namespace heddle::emulator;

/// Clocks are numbers of 32 bits; cells are cleared long before they wrap.
constexpr uint32_t kClockLimit = 1u << 30;
/// Pages of global memory that one block may leave to the next.
constexpr size_t kMaxPages = 4096;

void Shadow::prepare() {
  numThreads = static_cast<uint32_t>(machine.threads.size());
  numWarps = static_cast<uint32_t>(machine.warps.size());
  racecheck = machine.plan.has(kRacecheck);
  size_t bytes = (machine.plan.sharedBytes + 15u) / 16 * 16;
  state.assign(bytes + 16, kUnwritten);
  if (!racecheck)
    return;
  sharedWriters.assign(bytes / 4, {});
  sharedReaders.assign(bytes / 4 * numWarps, {});
  vectors.assign(static_cast<size_t>(numThreads) * numThreads, 0);
}

void Shadow::beginBlock() {
  std::fill(state.begin(), state.end(), kUnwritten);
  if (!racecheck)
    return;
  if (pages.size() > kMaxPages) {
    pages.clear();
    lastPageNumber = ~uint64_t(0);
  }
  if (top > kClockLimit) {
    std::fill(sharedWriters.begin(), sharedWriters.end(), Writers{});
    std::fill(sharedReaders.begin(), sharedReaders.end(), Readers{});
    std::fill(vectors.begin(), vectors.end(), 0);
    pages.clear();
    lastPageNumber = ~uint64_t(0);
    top = 1;
    for (Thread &t : machine.threads)
      t.clock = 1;
  }
  joinBlock();
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

bool Shadow::ordered(const Thread &t, uint32_t other, uint32_t clock) const {
  return clock < floor || other == t.index ||
         vectors[static_cast<size_t>(t.index) * numThreads + other] >= clock;
}

void Shadow::joinBlock() {
  if (!racecheck)
    return;
  for (Thread &t : machine.threads)
    top = std::max(top, t.clock);
  floor = ++top;
  for (Thread &t : machine.threads) {
    t.clock = floor;
    t.foreign = false;
  }
}

void Shadow::joinWarp(Warp &w, uint32_t mask) {
  if (!racecheck)
    return;
  uint32_t first = w.index * 32;
  uint32_t from = first, to = std::min(first + 32, numThreads);
  uint32_t clock = 0;
  for (uint32_t m = mask; m; m &= m - 1) {
    Thread &t = machine.lane(w, __builtin_ctz(m));
    clock = std::max(clock, t.clock);
    if (t.foreign) {
      from = 0;
      to = numThreads;
    }
  }
  // Only the columns of the warp can differ unless somebody met outsiders.
  std::vector<uint32_t> &joined = scratch;
  joined.assign(to - from, 0);
  for (uint32_t m = mask; m; m &= m - 1) {
    Thread &t = machine.lane(w, __builtin_ctz(m));
    const uint32_t *v = vectorOf(t.index);
    for (uint32_t i = from; i < to; ++i)
      joined[i - from] = std::max(joined[i - from], v[i]);
    joined[t.index - from] = t.clock;
  }
  for (uint32_t m = mask; m; m &= m - 1) {
    Thread &t = machine.lane(w, __builtin_ctz(m));
    std::copy(joined.begin(), joined.end(), vectorOf(t.index) + from);
    t.clock = clock + 1;
    t.foreign |= from != first || to - from > 32;
  }
  top = std::max(top, clock + 1);
}

void Shadow::release(Thread &t, std::vector<uint32_t> &knowledge) {
  if (!racecheck)
    return;
  knowledge.resize(numThreads, 0);
  const uint32_t *v = vectorOf(t.index);
  for (uint32_t i = 0; i < numThreads; ++i)
    knowledge[i] = std::max(knowledge[i], v[i]);
  knowledge[t.index] = std::max(knowledge[t.index], t.clock);
  top = std::max(top, ++t.clock);
}

void Shadow::acquire(Thread &t, const std::vector<uint32_t> &knowledge) {
  if (!racecheck || knowledge.empty())
    return;
  uint32_t *v = vectorOf(t.index);
  for (uint32_t i = 0; i < numThreads; ++i)
    v[i] = std::max(v[i], knowledge[i]);
  t.foreign = true;
}

//===----------------------------------------------------------------------===//
// Races
//===----------------------------------------------------------------------===//

void Shadow::race(Thread &t, uint32_t site, bool write, uint32_t other,
                  uint32_t otherSite, bool otherWrote, const Buffer *buffer,
                  uint64_t address) {
  const Thread &o = machine.threads[other];
  std::string where = buffer ? "buffer '" + buffer->name + "' offset " +
                                   std::to_string(address - buffer->begin)
                             : "shared offset " + std::to_string(address);
  machine.report(
      t, site, kRacecheck,
      std::string("race of a ") + (write ? "write" : "read") + " with the " +
          (otherWrote ? "write" : "read") + " of thread " + machine.name(o) +
          " (" + machine.place(otherSite) + ") at " + where +
          "; nothing orders them, put a barrier between",
      buffer ? buffer->name : "shared",
      static_cast<int64_t>(buffer ? address - buffer->begin : address));
}

bool Shadow::checkWriters(Thread &t, const Writers &w, uint32_t bytes,
                          uint32_t site, const Buffer *buffer, uint64_t address,
                          bool write) {
  for (uint32_t i = 0; i < 4; ++i) {
    if (!(bytes >> i & 1) || w.clock[i] < floor)
      continue;
    // What was written at once is checked once.
    if (i > 0 && (bytes >> (i - 1) & 1) && w.clock[i] == w.clock[i - 1] &&
        w.thread[i] == w.thread[i - 1] && w.site[i] == w.site[i - 1])
      continue;
    if (ordered(t, w.thread[i], w.clock[i]))
      continue;
    const std::vector<Site> &sites = machine.plan.table->sites;
    if (sites[site].kind == SiteKind::Atomic &&
        sites[w.site[i]].kind == SiteKind::Atomic)
      continue;
    race(t, site, write, w.thread[i], w.site[i], true, buffer, address + i);
    return false;
  }
  return true;
}

bool Shadow::checkReaders(Thread &t, const Readers &r, uint32_t bytes,
                          uint32_t site, const Buffer *buffer,
                          uint64_t address) {
  if (r.clock < floor)
    return true;
  uint32_t mask = 0;
  for (uint32_t i = 0; i < 4; ++i)
    if (bytes >> i & 1)
      mask |= r.mask[i];
  const std::vector<Site> &sites = machine.plan.table->sites;
  if (sites[site].kind == SiteKind::Atomic &&
      sites[r.site].kind == SiteKind::Atomic)
    return true;
  for (; mask; mask &= mask - 1) {
    uint32_t lane = __builtin_ctz(mask), other = r.warp * 32 + lane;
    if (ordered(t, other, r.clock))
      continue;
    uint32_t byte = 0;
    while (!(bytes >> byte & 1) || !(r.mask[byte] >> lane & 1))
      ++byte;
    race(t, site, true, other, r.site, false, buffer, address + byte);
    return false;
  }
  return true;
}

void Shadow::noteReader(Thread &t, Readers &r, uint32_t bytes, uint32_t site) {
  if (r.clock != t.clock || r.warp != t.warp->index) {
    if (r.clock > t.clock && r.warp == t.warp->index)
      return;
    r.clock = t.clock;
    r.warp = t.warp->index;
    std::fill(std::begin(r.mask), std::end(r.mask), 0);
  }
  uint32_t bit = 1u << t.lane, all = 0;
  for (uint32_t i = 0; i < 4; ++i) {
    if (bytes >> i & 1)
      r.mask[i] |= bit;
    all |= r.mask[i];
  }
  // A plain read among atomic ones races with atomics.
  const std::vector<Site> &sites = machine.plan.table->sites;
  if (sites[site].kind != SiteKind::Atomic || all == bit)
    r.site = site;
}

static uint64_t loadWord(const uint8_t *p) {
  uint64_t v;
  std::memcpy(&v, p, 8);
  return v;
}

/// Whether the `bytes` (a power of two up to 16) are all `value`.
static bool allEqual(const uint8_t *p, uint32_t bytes, uint8_t value) {
  uint64_t wide = value * 0x0101010101010101ull;
  if (bytes >= 8)
    return loadWord(p) == wide && (bytes == 8 || loadWord(p + 8) == wide);
  for (uint32_t i = 0; i < bytes; ++i)
    if (p[i] != value)
      return false;
  return true;
}

void Shadow::badRead(Thread &t, uint32_t offset, uint32_t bytes,
                     uint32_t site) {
  if (const AsyncCopy *copy = machine.async.writer(offset, bytes)) {
    if (racecheck)
      machine.report(t, site, kRacecheck,
                     "read of shared offset " + std::to_string(offset) +
                         " while the asynchronous copy of thread " +
                         machine.name(machine.threads[copy->thread]) + " (" +
                         machine.place(copy->site) +
                         ") writes to it; wait for the copy first",
                     "shared", offset);
    return;
  }
  if (machine.plan.has(kInitcheck))
    machine.report(t, site, kInitcheck,
                   "read of " + std::to_string(bytes) +
                       " bytes at shared offset " + std::to_string(offset) +
                       " that nothing has written",
                   "shared", offset);
}

void Shadow::checkWritten(Thread &t, uint32_t offset, uint32_t bytes,
                          uint32_t site) {
  if (!allEqual(&state[offset], bytes, kWritten))
    badRead(t, offset, bytes, site);
}

void Shadow::readShared(Thread &t, uint32_t offset, uint32_t bytes,
                        uint32_t site) {
  checkWritten(t, offset, bytes, site);
  if (!racecheck)
    return;
  for (uint32_t c = offset / 4; c <= (offset + bytes - 1) / 4; ++c) {
    uint32_t touched = bytes >= 4 ? 15 : bytesIn(c, offset, offset + bytes);
    Writers &w = sharedWriters[c];
    if (w.latest >= floor &&
        !checkWriters(t, w, touched, site, nullptr, c * 4, false))
      return;
    w.readClock = std::max(w.readClock, t.clock);
    noteReader(t,
               sharedReaders[static_cast<size_t>(c) * numWarps + t.warp->index],
               touched, site);
  }
}

void Shadow::writeShared(Thread &t, uint32_t offset, uint32_t bytes,
                         uint32_t site) {
  if (machine.async.anyInFlight()) {
    const AsyncCopy *copy = nullptr;
    for (uint32_t i = 0; i < bytes && !copy; ++i)
      if (state[offset + i] == kPending)
        copy = machine.async.writer(offset, bytes);
    if (copy && racecheck)
      machine.report(t, site, kRacecheck,
                     "write to shared offset " + std::to_string(offset) +
                         " while the asynchronous copy of thread " +
                         machine.name(machine.threads[copy->thread]) + " (" +
                         machine.place(copy->site) +
                         ") writes to it; wait for the copy first",
                     "shared", offset);
  }
  std::memset(&state[offset], kWritten, bytes);
  if (!racecheck)
    return;
  for (uint32_t c = offset / 4; c <= (offset + bytes - 1) / 4; ++c) {
    uint32_t touched = bytes >= 4 ? 15 : bytesIn(c, offset, offset + bytes);
    Writers &w = sharedWriters[c];
    bool good = true;
    if (w.latest >= floor)
      good = checkWriters(t, w, touched, site, nullptr, c * 4, true);
    if (good && w.readClock >= floor)
      for (uint32_t i = 0; i < numWarps && good; ++i)
        good = checkReaders(
            t, sharedReaders[static_cast<size_t>(c) * numWarps + i], touched,
            site, nullptr, c * 4);
    w.note(touched, t.clock, t.index, site);
    if (!good)
      return;
  }
}

void Shadow::setPending(uint32_t offset, uint32_t bytes) {
  std::memset(&state[offset], kPending, bytes);
}

void Shadow::land(uint32_t offset, uint32_t bytes, uint32_t owner,
                  uint32_t clock, uint32_t site) {
  std::memset(&state[offset], kWritten, bytes);
  if (!racecheck)
    return;
  for (uint32_t c = offset / 4; c <= (offset + bytes - 1) / 4; ++c) {
    sharedWriters[c].note(bytesIn(c, offset, offset + bytes), clock, owner,
                          site);
  }
}

void Shadow::accessGlobal(Thread &t, const Buffer &buffer, uint64_t address,
                          uint32_t bytes, uint32_t site, bool write) {
  for (uint64_t c = address / 4; c <= (address + bytes - 1) / 4; ++c) {
    if (c / 256 != lastPageNumber) {
      std::unique_ptr<Page> &page = pages[c / 256];
      if (!page)
        page = std::make_unique<Page>();
      lastPageNumber = c / 256;
      lastPage = page.get();
    }
    GlobalCell &cell = (*lastPage)[c % 256];
    uint32_t touched = bytesIn(c, address, address + bytes);
    Writers &w = cell.writers;
    bool good = true;
    if (w.latest >= floor)
      good = checkWriters(t, w, touched, site, &buffer, c * 4, write);
    if (!write) {
      // The two latest warps are kept: enough for neighbours, cheap for all.
      Readers &a = cell.readers[0], &b = cell.readers[1];
      bool useA = a.warp == t.warp->index ||
                  (b.warp != t.warp->index && a.clock <= b.clock);
      noteReader(t, useA ? a : b, touched, site);
      continue;
    }
    for (Readers &r : cell.readers)
      good = good && checkReaders(t, r, touched, site, &buffer, c * 4);
    w.note(touched, t.clock, t.index, site);
    if (!good)
      return;
  }
}
