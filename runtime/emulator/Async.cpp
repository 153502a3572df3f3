//===- Async.cpp - operations that finish later ---------------------------===//

#include "Machine.h"

#include <cstring>

using namespace heddle::emulator;

/// Bytes of a destination until the data land: NaN in every float format.
constexpr int kPoison = 0xff;

AsyncId AsyncQueue::issue(const AsyncCopy &copy) {
  std::memset(machine.window + copy.sharedOffset, kPoison, copy.bytes);
  machine.shadow.setPending(copy.sharedOffset, copy.bytes);
  if (copy.readBytes)
    for (uint64_t a = copy.source >> 10;
         a <= (copy.source + copy.readBytes - 1) >> 10; ++a)
      ++locks[a & 1023];
  copies.push_back(copy);
  ++inFlight;
  return static_cast<AsyncId>(copies.size() - 1);
}

void AsyncQueue::land(AsyncId id, uint32_t owner, uint32_t clock) {
  AsyncCopy &c = copies[id];
  if (c.landed)
    return;
  c.landed = true;
  --inFlight;
  if (c.readBytes)
    for (uint64_t a = c.source >> 10; a <= (c.source + c.readBytes - 1) >> 10;
         ++a)
      --locks[a & 1023];
  uint8_t *to = machine.window + c.sharedOffset;
  std::memcpy(to, reinterpret_cast<const void *>(c.source), c.readBytes);
  std::memset(to + c.readBytes, 0, c.bytes - c.readBytes);
  machine.shadow.land(c.sharedOffset, c.bytes, owner, clock, c.site);
  while (firstInFlight < copies.size() && copies[firstInFlight].landed)
    ++firstInFlight;
}

void AsyncQueue::finish() {
  for (AsyncId i = firstInFlight; i < copies.size(); ++i)
    land(i, copies[i].thread, machine.threads[copies[i].thread].clock);
  copies.clear();
  firstInFlight = 0;
}

const AsyncCopy *AsyncQueue::reader(uint64_t address, uint64_t bytes) const {
  if (!locks[bucket(address)] && !locks[bucket(address + bytes - 1)])
    return nullptr;
  for (AsyncId i = firstInFlight; i < copies.size(); ++i) {
    const AsyncCopy &c = copies[i];
    if (!c.landed && c.source < address + bytes &&
        address < c.source + c.readBytes)
      return &c;
  }
  return nullptr;
}

const AsyncCopy *AsyncQueue::writer(uint32_t offset, uint32_t bytes) const {
  for (AsyncId i = firstInFlight; i < copies.size(); ++i) {
    const AsyncCopy &c = copies[i];
    if (!c.landed && c.sharedOffset < offset + bytes &&
        offset < c.sharedOffset + c.bytes)
      return &c;
  }
  return nullptr;
}
