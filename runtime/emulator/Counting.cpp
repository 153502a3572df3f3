//===- Counting.cpp - warp instructions out of thread accesses ------------===//

#include "Counting.h"

#include <algorithm>

using namespace heddle;
using namespace heddle::emulator;

uint32_t heddle::emulator::countDistinct(uint32_t mask,
                                         const uint32_t *values) {
  uint32_t sorted[32], n = 0;
  bool ascending = true;
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    sorted[n] = values[__builtin_ctz(rest)];
    ascending &= n == 0 || sorted[n - 1] <= sorted[n];
    ++n;
  }
  if (!ascending)
    std::sort(sorted, sorted + n);
  return static_cast<uint32_t>(std::unique(sorted, sorted + n) - sorted);
}

uint32_t heddle::emulator::sharedWavefronts(uint32_t mask,
                                            const uint32_t *offsets,
                                            uint32_t bytes, uint32_t &least) {
  uint32_t wordsPerLane = std::max(bytes / 4, 1u);
  uint32_t lanesPerGroup = 32 / wordsPerLane;
  uint32_t total = 0;
  least = 0;
  for (uint32_t first = 0; first < 32; first += lanesPerGroup) {
    uint32_t group = lanesPerGroup == 32
                         ? mask
                         : mask >> first & ((1u << lanesPerGroup) - 1);
    if (!group)
      continue;
    // words[b] lists the distinct words of bank b.
    uint32_t words[32][32], count[32] = {}, worst = 1;
    for (; group; group &= group - 1) {
      uint32_t word = offsets[first + __builtin_ctz(group)] / 4;
      for (uint32_t w = word; w < word + wordsPerLane; ++w) {
        uint32_t bank = w & 31, &n = count[bank];
        if (std::find(words[bank], words[bank] + n, w) == words[bank] + n)
          words[bank][n++] = w;
        worst = std::max(worst, n);
      }
    }
    total += worst;
    ++least;
  }
  return total;
}

void WarpCounting::reset(size_t slots) {
  queues.resize(slots);
  for (uint32_t slot : dirty) {
    queues[slot].records.clear();
    queues[slot].dirty = false;
  }
  dirty.clear();
  for (Queue &q : queues) {
    std::fill(std::begin(q.next), std::end(q.next), 0);
    q.base = q.head = 0;
    q.records.clear();
  }
}

/// A lane whose piece has been counted without it starts with the oldest.
uint32_t WarpCounting::late(Queue &q, uint32_t lane) {
  q.next[lane] = q.base + 1;
  return 0;
}

void WarpCounting::grow(Queue &q, uint32_t slot, Charge charge, uint32_t bytes,
                        uint32_t n) {
  q.charge = charge;
  q.bytes = bytes;
  if (!q.dirty) {
    q.dirty = true;
    dirty.push_back(slot);
  }
  if (q.head > kWindow) {
    q.records.erase(q.records.begin(), q.records.begin() + q.head);
    q.head = 0;
  }
  q.records.resize(q.head + n + 1);
}

void WarpCounting::retire(Queue &q, uint32_t live, EmulatorCounters &counters) {
  while (q.head < q.records.size() && (q.records[q.head].mask & live) == live) {
    count(q, q.records[q.head], counters);
    ++q.head;
    ++q.base;
  }
  if (q.head == q.records.size()) {
    q.records.clear();
    q.head = 0;
  }
}

void WarpCounting::release(uint32_t slot, EmulatorCounters &counters) {
  Queue &q = queues[slot];
  for (uint32_t i = 0; i < kWindow / 2 && q.head < q.records.size(); ++i) {
    count(q, q.records[q.head], counters);
    ++q.head;
    ++q.base;
  }
}

void WarpCounting::flush(EmulatorCounters &counters) {
  for (uint32_t slot : dirty) {
    Queue &q = queues[slot];
    q.dirty = false;
    if (q.records.empty())
      continue;
    for (size_t i = q.head; i < q.records.size(); ++i)
      count(q, q.records[i], counters);
    q.base += static_cast<uint32_t>(q.records.size()) - q.head;
    std::fill(std::begin(q.next), std::end(q.next), q.base);
    q.records.clear();
    q.head = 0;
  }
  dirty.clear();
}

void WarpCounting::count(const Queue &q, const Record &r, EmulatorCounters &c) {
  uint64_t bytes = static_cast<uint64_t>(__builtin_popcount(r.mask)) * q.bytes;
  uint32_t least = 0;
  if (!r.mask)
    return;
  switch (q.charge) {
  case Charge::None:
    return;
  case Charge::GlobalLoad:
    ++c.globalLoadRequests;
    c.globalLoadSectors += countDistinct(r.mask, r.value);
    c.globalLoadBytes += bytes;
    return;
  case Charge::GlobalStore:
    ++c.globalStoreRequests;
    c.globalStoreSectors += countDistinct(r.mask, r.value);
    c.globalStoreBytes += bytes;
    return;
  case Charge::GlobalAtomic:
    ++c.globalAtomicRequests;
    c.globalAtomicSectors += countDistinct(r.mask, r.value);
    return;
  case Charge::AsyncCopySource:
    c.asyncCopySectors += countDistinct(r.mask, r.value);
    return;
  case Charge::SharedLoad: {
    uint32_t n = sharedWavefronts(r.mask, r.value, q.bytes, least);
    ++c.sharedLoadRequests;
    c.sharedLoadWavefronts += n;
    c.sharedLoadBankConflicts += n - least;
    return;
  }
  case Charge::SharedStore: {
    uint32_t n = sharedWavefronts(r.mask, r.value, q.bytes, least);
    ++c.sharedStoreRequests;
    c.sharedStoreWavefronts += n;
    c.sharedStoreBankConflicts += n - least;
    return;
  }
  case Charge::SharedAtomic:
    ++c.sharedAtomicRequests;
    return;
  case Charge::AsyncCopy: {
    uint32_t n = sharedWavefronts(r.mask, r.value, q.bytes, least);
    ++c.asyncCopyRequests;
    c.asyncCopyWavefronts += n;
    c.asyncCopyBankConflicts += n - least;
    return;
  }
  }
}
