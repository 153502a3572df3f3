//===- Emulator.h - runs GPU kernels on the CPU, checked --------*- C++ -*-===//
//
// Loads the x86-64 object that emitEmulatorObject makes of contract N and runs
// its kernels one fibre per GPU thread. Every access is checked, and what a GPU
// would do for it is counted; docs/emulator.md is the manual. Part of the
// runtime: no LLVM header here.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_EMULATOR_H
#define HEDDLE_RUNTIME_EMULATOR_H

#include "heddle/Runtime/Program.h"

#include <array>
#include <memory>

namespace heddle {

/// Checkers, named as those of compute-sanitizer; a set is a sum of them.
enum EmulatorSanitizer : uint32_t {
  kMemcheck = 1,  // bounds of planned buffers and shared memory, alignment
  kRacecheck = 2, // accesses that nothing orders, async copies in flight
  kInitcheck = 4, // reads of bytes that nothing wrote
  kSynccheck = 8, // divergent barriers, missing threads, mismatched masks
  kNoSanitizers = 0,
  kAllSanitizers = 15,
};
/// "all" or "none" alone, or names joined by commas.
Status parseSanitizers(const std::string &text, uint32_t &set);
const char *sanitizerName(EmulatorSanitizer sanitizer);

struct EmulatorDim {
  int64_t x = 1, y = 1, z = 1;
  int64_t count() const { return x * y * z; }
};

/// Memory that a kernel may touch. A pointer argument may point anywhere into
/// one buffer and reaches no other. Buffers must not overlap.
struct EmulatorBuffer {
  void *pointer = nullptr;
  int64_t bytes = 0;
  std::string name;
  bool initialised = true; // false: reading before writing is a finding
  /// One byte per byte of the buffer, not 0 where it has been written: a record
  /// that the caller keeps from launch to launch. Takes the place of
  /// `initialised`; null: there is none.
  uint8_t *written = nullptr;
};

struct EmulatorArgument {
  uint64_t bits = 0;
  static EmulatorArgument pointer(const void *p) {
    return {reinterpret_cast<uintptr_t>(p)};
  }
  static EmulatorArgument i64(int64_t v) { return {static_cast<uint64_t>(v)}; }
  static EmulatorArgument i32(int32_t v) { return {static_cast<uint32_t>(v)}; }
  static EmulatorArgument f32(float v);
};

struct EmulatorOptions {
  uint32_t sanitizers = kAllSanitizers;
  /// Order of warps and lanes where the kernel leaves it open; 0 is the
  /// natural order. Counts do not depend on it.
  uint64_t seed = 0;
  int threads = 1; // host threads that run blocks; 0: all the cores
  int maxFindings = 100;
  /// Whether shuffles, votes and redux order memory for racecheck. PTX does not
  /// promise it: false is the strict reading.
  bool collectivesOrderMemory = true;
};

struct EmulatorLaunch {
  std::string kernel;
  EmulatorDim grid, block;
  int64_t dynamicSharedBytes = 0;
  std::vector<EmulatorArgument> args; // one per parameter
  std::vector<EmulatorBuffer> buffers;
  EmulatorOptions options;
};

/// Sums over all blocks of a launch.
struct EmulatorCounters {
#define HEDDLE_EMULATOR_COUNTER(field, meaning, metric) uint64_t field = 0;
#include "heddle/Runtime/EmulatorCounters.def"
#undef HEDDLE_EMULATOR_COUNTER
  /// mma.sync by shape and types, "m16n8k16.f32.bf16".
  std::map<std::string, uint64_t> mmaByShape;
  void add(const EmulatorCounters &other);
};

/// One fault; repetitions at the same op are counted, not repeated.
struct EmulatorFinding {
  EmulatorSanitizer sanitizer = kMemcheck;
  std::string message; // what, with buffer and offset
  std::string kernel, op, location;
  std::string buffer;  // "shared" for shared memory; may be empty
  int64_t offset = -1; // bytes into it
  std::array<int64_t, 3> block = {}, thread = {};
  int64_t occurrences = 1;
  /// One line with all of it.
  std::string text() const;
};

struct LaunchReport {
  EmulatorCounters counters;
  std::vector<EmulatorFinding> findings;
  int64_t findingsLeftOut = 0; // distinct ones above maxFindings
  bool clean() const { return findings.empty() && findingsLeftOut == 0; }
  /// Findings and counters that are not zero, a line each.
  std::string text() const;
};

/// How a kernel uses the memory behind a parameter, as far as its ops say: a
/// pointer of unknown origin counts as one to every buffer.
struct EmulatorParameterUse {
  bool read = false, written = false;
};

/// The kernels of one object. Launches of different threads do not disturb each
/// other, except where they use the same buffers.
class EmulatorModule {
public:
  /// Fails where the object is damaged, was made by another version, or calls
  /// what the emulator lacks.
  static Status load(const uint8_t *object, size_t size,
                     std::unique_ptr<EmulatorModule> &out);
  ~EmulatorModule();

  std::vector<std::string> kernels() const;
  /// Per parameter of a kernel; empty for an unknown one.
  std::vector<EmulatorParameterUse>
  parameterUses(const std::string &kernel) const;
  /// Static shared memory of each block in bytes.
  int64_t staticSharedBytes() const;

  /// Runs a kernel to its end. An error is a launch that is wrong in itself or
  /// a kernel that cannot finish (a deadlock, named with the threads that
  /// wait); faults that a kernel survives are findings of the report.
  Status launch(const EmulatorLaunch &launch, LaunchReport &report) const;

private:
  EmulatorModule();
  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_EMULATOR_H
