//===- Barriers.cpp - block barriers and mbarriers ------------------------===//

#include "Machine.h"

#include <algorithm>

using namespace heddle;
using namespace heddle::emulator;

void Barriers::reset() {
  for (Barrier &b : named)
    b = {};
  mbarriers.clear();
  waiters.clear();
}

//===----------------------------------------------------------------------===//
// Block barriers
//===----------------------------------------------------------------------===//

bool Barriers::full(const Barrier &b) const {
  return b.arrived && b.arrived >= (b.count ? b.count : machine.liveThreads());
}

Barriers::Barrier *Barriers::join(Thread &t, uint32_t id, uint32_t count,
                                  uint32_t site) {
  if (id > 15 || count % 32 != 0) {
    machine.report(t, site, kSynccheck,
                   "barrier " + std::to_string(id) + " of " +
                       std::to_string(count) +
                       " threads; expected a number below 16 and a multiple "
                       "of 32 threads");
    return nullptr;
  }
  Barrier &b = named[id];
  if (b.arrived && b.count != count)
    machine.report(t, site, kSynccheck,
                   "barrier " + std::to_string(id) + " is joined with " +
                       std::to_string(count) + " threads and with " +
                       std::to_string(b.count) + " (0: all of the block)");
  uint32_t warp = t.warp->index;
  if ((b.waitingWarps >> warp & 1) && b.warpSites[warp] != site)
    machine.report(t, site, kSynccheck,
                   "divergent barrier: other lanes of warp " +
                       std::to_string(warp) + " wait at another one (" +
                       machine.place(b.warpSites[warp]) + ")");
  b.count = count;
  ++b.arrived;
  b.warps |= 1u << warp;
  // A barrier of the whole block raises the floor instead.
  if (count)
    machine.shadow.release(t, b.knowledge);
  return &b;
}

uint32_t Barriers::sync(Thread &t, uint32_t id, uint32_t count,
                        uint32_t reduction, bool predicate, uint32_t site) {
  Barrier *b = join(t, id, count, site);
  if (!b)
    return 0;
  b->waiting.push_back(t.index);
  b->waitingWarps |= 1u << t.warp->index;
  b->warpSites[t.warp->index] = site;
  b->firstSite = b->waiting.size() == 1 ? site : b->firstSite;
  b->reduction = reduction;
  b->popc += predicate;
  if (full(*b))
    complete(*b);
  else
    machine.wait(t, site, id);
  return static_cast<uint32_t>(t.warp->output[t.lane][0]);
}

void Barriers::arrive(Thread &t, uint32_t id, uint32_t count, uint32_t site) {
  if (Barrier *b = join(t, id, count, site))
    if (full(*b))
      complete(*b);
}

void Barriers::complete(Barrier &b) {
  uint32_t lanes[32] = {};
  for (uint32_t i : b.waiting)
    lanes[i / 32] |= 1u << i % 32;
  bool all = b.count == 0 || b.waiting.size() == machine.liveThreads();
  if (all) {
    machine.shadow.joinBlock();
    if (machine.liveThreads() < machine.threads.size() && !b.waiting.empty()) {
      const Thread &t = machine.threads[b.waiting[0]];
      machine.report(
          t, b.firstSite, kSynccheck,
          std::to_string(machine.threads.size() - machine.liveThreads()) +
              " threads of the block have ended before this barrier; "
              "let all of them reach it");
    }
  }
  uint32_t n = static_cast<uint32_t>(b.waiting.size());
  uint32_t result = b.popc;
  if (b.reduction == static_cast<uint32_t>(BarrierReduction::And))
    result = b.popc == n;
  else if (b.reduction == static_cast<uint32_t>(BarrierReduction::Or))
    result = b.popc != 0;
  machine.counters.barriers += __builtin_popcount(b.warps);
  for (Warp &w : machine.warps)
    if (w.live && lanes[w.index] == w.live)
      w.counting.flush(machine.counters);
  Barrier done;
  std::swap(done, b);
  for (uint32_t i : done.waiting) {
    Thread &t = machine.threads[i];
    if (!all)
      machine.shadow.acquire(t, done.knowledge);
    t.warp->output[t.lane][0] = result;
    machine.wake(t);
  }
}

void Barriers::exited() {
  for (Barrier &b : named)
    if (b.arrived && b.count == 0 && full(b))
      complete(b);
}

//===----------------------------------------------------------------------===//
// mbarriers
//===----------------------------------------------------------------------===//

Mbarrier *Barriers::find(Thread &t, uint64_t address, uint32_t site) {
  uint64_t offset = address - reinterpret_cast<uint64_t>(machine.window);
  auto it = mbarriers.find(static_cast<uint32_t>(offset));
  if (offset < machine.plan.sharedBytes && it != mbarriers.end())
    return &it->second;
  machine.report(t, site, kSynccheck,
                 "no mbarrier has been initialised at " +
                     machine.describe(address));
  return nullptr;
}

void Barriers::init(Thread &t, uint64_t address, uint32_t count,
                    uint32_t site) {
  uint64_t offset = address - reinterpret_cast<uint64_t>(machine.window);
  if (offset % 8 != 0 || offset + 8 > machine.plan.sharedBytes) {
    machine.report(t, site, kMemcheck,
                   "expected 8 aligned bytes of shared memory for an mbarrier, "
                   "got " +
                       machine.describe(address));
    return;
  }
  machine.shadow.writeShared(t, static_cast<uint32_t>(offset), 8, site);
  Mbarrier &b = mbarriers[static_cast<uint32_t>(offset)];
  b = {};
  b.offset = static_cast<uint32_t>(offset);
  b.expected = b.pending = count;
}

void Barriers::invalidate(Thread &t, uint64_t address, uint32_t site) {
  if (Mbarrier *b = find(t, address, site))
    mbarriers.erase(b->offset);
}

uint64_t Barriers::arriveOn(Thread &t, Mbarrier &b, uint32_t count,
                            int64_t expectBytes, uint32_t site) {
  uint64_t phase = b.phase;
  b.bytes += expectBytes;
  if (count > b.pending) {
    machine.report(t, site, kSynccheck,
                   std::to_string(count) +
                       " arrivals at the mbarrier at shared "
                       "offset " +
                       std::to_string(b.offset) + ", whose phase " +
                       std::to_string(phase) + " expects " +
                       std::to_string(b.pending) + " more");
    count = b.pending;
  }
  machine.shadow.release(t, b.gathering);
  b.pending -= count;
  if (b.pending == 0 && b.bytes == 0 && b.async.empty())
    completePhase(b);
  else if (waiters.count(b.offset))
    completed(b, b.phase);
  return phase;
}

void Barriers::track(Mbarrier &b, AsyncArrival arrival) {
  b.async.push_back(std::move(arrival));
  if (waiters.count(b.offset))
    completed(b, b.phase);
}

bool Barriers::completed(Mbarrier &b, uint64_t phase) {
  if (static_cast<int64_t>(b.phase - phase) > 0)
    return true;
  uint32_t arrivals = 0;
  int64_t bytes = 0;
  for (const AsyncArrival &a : b.async) {
    arrivals += a.arrivals;
    bytes += a.bytes;
  }
  if (b.async.empty() || b.pending != arrivals || b.bytes != bytes)
    return false;
  settle(b);
  return static_cast<int64_t>(b.phase - phase) > 0;
}

void Barriers::settle(Mbarrier &b) {
  std::vector<AsyncArrival> async;
  async.swap(b.async);
  for (const AsyncArrival &a : async) {
    for (AsyncId id : a.pieces)
      machine.async.land(id, a.thread, a.clock);
    b.pending -= a.arrivals;
    b.bytes -= a.bytes;
  }
  completePhase(b);
}

void Barriers::completePhase(Mbarrier &b) {
  ++b.phase;
  b.pending = b.expected;
  b.released = b.gathering;
  auto [from, to] = waiters.equal_range(b.offset);
  std::vector<uint32_t> woken;
  for (auto it = from; it != to; ++it)
    woken.push_back(it->second);
  waiters.erase(from, to);
  for (uint32_t i : woken)
    machine.wake(machine.threads[i]);
}

void Barriers::await(Thread &t, Mbarrier &b, uint64_t phase, uint32_t site) {
  uint32_t offset = b.offset;
  while (!completed(b, phase)) {
    waiters.emplace(offset, t.index);
    machine.wait(t, site, offset);
    if (!mbarriers.count(offset))
      return; // invalidated meanwhile
  }
  machine.shadow.acquire(t, b.released);
}
