//===- Shadow.h - who touched which byte, and when --------------*- C++ -*-===//
//
// Happens-before by vector clocks, after FastTrack (Flanagan and Freund, PLDI
// 2009): a cell keeps the last writer and its clock; readers are kept per warp
// as a mask of lanes that share a clock. A thread's clock grows whenever it
// releases, so an access is ordered before thread t if t's vector holds a clock
// at least as large for its thread. A block barrier raises all clocks to one
// number, the floor: what is older needs no vector, and nothing needs clearing.
//
// A cell covers four bytes and tells them apart, so that neighbours of a type
// of 8 or 16 bits do not race.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_EMULATOR_SHADOW_H
#define HEDDLE_RUNTIME_EMULATOR_SHADOW_H

#include "Plan.h"

#include <array>
#include <memory>
#include <unordered_map>

namespace heddle::emulator {

class Machine;
struct Thread;
struct Warp;

class Shadow {
public:
  explicit Shadow(Machine &machine) : machine(machine) {}
  void prepare();
  void beginBlock();

  // Accesses; bounds are checked before.
  void readShared(Thread &t, uint32_t offset, uint32_t bytes, uint32_t site);
  /// Whether the bytes have been written and have arrived.
  void checkWritten(Thread &t, uint32_t offset, uint32_t bytes, uint32_t site);
  void writeShared(Thread &t, uint32_t offset, uint32_t bytes, uint32_t site);
  void accessGlobal(Thread &t, const Buffer &buffer, uint64_t address,
                    uint32_t bytes, uint32_t site, bool write);
  /// An asynchronous copy to shared bytes starts, ends.
  void setPending(uint32_t offset, uint32_t bytes);
  void land(uint32_t offset, uint32_t bytes, uint32_t owner, uint32_t clock,
            uint32_t site);

  // Order. A release hands out what the thread knows and starts its next time.
  void joinWarp(Warp &w, uint32_t mask);
  void joinBlock();
  void release(Thread &t, std::vector<uint32_t> &knowledge);
  void acquire(Thread &t, const std::vector<uint32_t> &knowledge);

private:
  // Arrays have an element per byte of the cell.
  struct Readers {
    uint32_t clock, mask[4], site, warp;
  };
  struct Writers {
    uint32_t clock[4], site[4];
    uint16_t thread[4];
    uint32_t latest; // largest clock
    uint32_t readClock;

    void note(uint32_t bytes, uint32_t time, uint32_t writer, uint32_t op) {
      for (uint32_t i = 0; i < 4; ++i)
        if (bytes >> i & 1) {
          clock[i] = time;
          site[i] = op;
          thread[i] = static_cast<uint16_t>(writer);
        }
      latest = latest > time ? latest : time;
    }
  };
  struct GlobalCell {
    Writers writers;
    Readers readers[2];
  };
  using Page = std::array<GlobalCell, 256>;

  static constexpr uint8_t kUnwritten = 0, kPending = 0x0f, kWritten = 0xff;

  bool ordered(const Thread &t, uint32_t other, uint32_t clock) const;
  /// Bit i: byte i of the cell at `cell`, which [begin, end) touches.
  static uint32_t bytesIn(uint64_t cell, uint64_t begin, uint64_t end) {
    uint64_t at = cell * 4;
    uint32_t from = begin > at ? static_cast<uint32_t>(begin - at) : 0;
    uint32_t to = end < at + 4 ? static_cast<uint32_t>(end - at) : 4;
    return (15u >> (4 - to)) & (15u << from);
  }
  bool checkWriters(Thread &t, const Writers &w, uint32_t bytes, uint32_t site,
                    const Buffer *buffer, uint64_t address, bool write);
  bool checkReaders(Thread &t, const Readers &r, uint32_t bytes, uint32_t site,
                    const Buffer *buffer, uint64_t address);
  void noteReader(Thread &t, Readers &r, uint32_t bytes, uint32_t site);
  void race(Thread &t, uint32_t site, bool write, uint32_t other,
            uint32_t otherSite, bool otherWrote, const Buffer *buffer,
            uint64_t address);
  void badRead(Thread &t, uint32_t offset, uint32_t bytes, uint32_t site);

  uint32_t *vectorOf(uint32_t thread) {
    return vectors.data() + static_cast<size_t>(thread) * numThreads;
  }

  Machine &machine;
  uint32_t numThreads = 0, numWarps = 0, floor = 1, top = 1;
  bool racecheck = false;
  std::vector<uint8_t> state; // per shared byte
  std::vector<Writers> sharedWriters;
  std::vector<Readers> sharedReaders; // numWarps per cell
  std::vector<uint32_t> vectors;      // numThreads per thread
  std::unordered_map<uint64_t, std::unique_ptr<Page>> pages;
  std::vector<uint32_t> scratch;
  uint64_t lastPageNumber = ~uint64_t(0);
  Page *lastPage = nullptr;
};

} // namespace heddle::emulator

#endif // HEDDLE_RUNTIME_EMULATOR_SHADOW_H
