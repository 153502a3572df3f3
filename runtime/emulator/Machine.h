//===- Machine.h - one block of GPU threads on fibres -----------*- C++ -*-===//
//
// A machine runs the blocks of a launch one after another on one host thread.
// Its threads are fibres that run until they wait for others; then the next
// one that is ready goes on. Warps take turns in an order drawn from the seed.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_EMULATOR_MACHINE_H
#define HEDDLE_RUNTIME_EMULATOR_MACHINE_H

#include "Async.h"
#include "Barriers.h"
#include "Counting.h"
#include "Fiber.h"
#include "Findings.h"
#include "Plan.h"
#include "Shadow.h"

#include <deque>

namespace heddle::emulator {

class Machine;
struct Warp;

/// "0x1f".
std::string hex(uint64_t value);
/// "m16n8k16.f32.bf16" of MmaShape::code.
std::string mmaName(uint32_t code);

struct Thread {
  // What every access touches comes first.
  Machine *machine = nullptr;
  Warp *warp = nullptr;
  uint32_t index = 0, lane = 0; // index in the block, in the warp
  uint32_t clock = 1;           // own logical time, see Shadow.h
  bool foreign = false;         // knows of threads outside its warp
  FiberContext context = nullptr;
  uint32_t tid[3] = {};
  // Why it does not run.
  enum class State : uint8_t { Ready, Waiting, Done } state = State::Ready;
  uint32_t waitSite = 0;
  uint64_t waitDetail = 0; // mask, barrier number or address
  uint32_t polls = 0;      // unsuccessful tests of mbarriers in a row
  // cp.async of this thread that have not landed.
  std::vector<AsyncId> openCopies;
  std::deque<std::vector<AsyncId>> copyGroups;
};

/// Lanes that meet at a collective.
struct Rendezvous {
  uint32_t mask = 0, arrived = 0, site = 0;
  uint32_t detail = 0;  // of the instruction: kind, shape
  bool aligned = false; // all lanes must be at the same instruction
  bool orders = false;  // orders memory accesses of its lanes
  void (*complete)(Warp &, const Rendezvous &) = nullptr;
};

struct Warp {
  Machine *machine = nullptr;
  uint32_t index = 0;
  uint32_t live = 0;  // lanes that have not exited
  uint32_t ready = 0; // lanes that can run
  uint32_t cursor = 0;
  WarpCounting counting;
  std::vector<Rendezvous> pending;
  uint64_t input[32][12] = {};
  uint64_t output[32][8] = {};
};

class Machine {
public:
  explicit Machine(const Plan &plan);
  ~Machine();
  Machine(const Machine &) = delete;

  /// Allocates; an error where memory is short.
  Status prepare();
  /// Runs block `number`; an error is a block that cannot finish.
  Status runBlock(int64_t number);

  // Scheduling, for the library's functions.
  /// Leaves the fibre until somebody calls `wake`.
  void wait(Thread &t, uint32_t site, uint64_t detail);
  /// Lets others go first.
  void yield(Thread &t);
  void wake(Thread &t);
  Thread &lane(const Warp &w, uint32_t lane) {
    return threads[w.index * 32 + lane];
  }
  /// Waits for the lanes of `r.mask`; the last one runs `r.complete`.
  void meet(Thread &t, Rendezvous r);

  /// Records a fault of `t` at `site`.
  void report(const Thread &t, uint32_t site, EmulatorSanitizer sanitizer,
              std::string message, const std::string &buffer = {},
              int64_t offset = -1);
  std::string place(uint32_t site) const; // "llvm.store at k.mlir:3:5"
  std::string name(const Thread &t) const;
  /// "12 bytes into buffer 'x'", "shared offset 64".
  std::string describe(uint64_t address) const;

  const Plan &plan;
  // The plan's vectors without their indirection: every access looks here.
  const int32_t *siteBuffers;
  const Buffer *buffers;
  uint8_t *window = nullptr; // shared memory
  std::vector<Thread> threads;
  std::vector<Warp> warps;
  int64_t block[3] = {}, blockNumber = 0;
  FiberStacks stacks;
  Shadow shadow;
  AsyncQueue async;
  Barriers barriers;
  EmulatorCounters counters;
  std::map<uint32_t, uint64_t> mmaCounts; // by MmaShape::code
  std::vector<uint64_t> blockRuns;        // of each basic block, by all threads
  FindingLog findings;
  /// Where a faulty access goes: a store to anywhere, a load reads zeros.
  alignas(64) uint8_t sink[64] = {};
  uint32_t liveThreads() const { return numLive; }
  /// Adds what the basic blocks that ran hold to the counters.
  void addBlockRuns();

private:
  Thread *pick();
  void leave(Thread &t);
  void exit(Thread &t);
  void completeRendezvous(Warp &w, size_t index);
  /// Nobody is ready: lets asynchronous operations finish, or gives up.
  bool unblock();
  std::string deadlock() const;
  static void enter(FiberTransfer transfer);
  uint64_t random();

  void *mapping = nullptr;
  FiberContext mainContext = nullptr;
  FiberContext *saveSlot = nullptr; // where the fibre that was left is kept
  uint32_t readyWarps = 0, currentWarp = 0, numLive = 0;
  uint64_t randomState = 0;
  std::string failure;
};

} // namespace heddle::emulator

#endif // HEDDLE_RUNTIME_EMULATOR_MACHINE_H
