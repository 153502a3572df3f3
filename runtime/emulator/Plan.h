//===- Plan.h - what all blocks of a launch share ---------------*- C++ -*-===//

#ifndef HEDDLE_RUNTIME_EMULATOR_PLAN_H
#define HEDDLE_RUNTIME_EMULATOR_PLAN_H

#include "heddle/Runtime/Emulator.h"
#include "heddle/Runtime/EmulatorAbi.h"

namespace heddle::emulator {

struct Thread;

/// An op of the module, from its table.
struct Site {
  int32_t kernel = -1, param = -1;
  SiteKind kind = SiteKind::Other;
  uint32_t bytes = 0;
  std::string op, location;
};

struct Kernel {
  std::string name;
  EmulatorDim required{0, 0, 0};
  std::string params; // ParamKind each
  void (*entry)(Thread *, const uint64_t *) = nullptr;
};

struct Table {
  int64_t sharedBytes = 0;
  std::vector<Kernel> kernels;
  std::vector<Site> sites;
  std::vector<std::array<uint32_t, kBlockCounts>> blocks; // by BlockCount
  /// Reads the text form; false where it is damaged.
  static bool parse(const char *text, Table &out);
};

/// A planned buffer as accesses see it.
struct Buffer {
  uint64_t begin = 0, bytes = 0;
  std::string name;
  bool written = false; // by this kernel: racecheck follows it
  /// One byte per byte, 0 until written; null for initialised buffers. Blocks
  /// on several host threads write distinct bytes of it.
  uint8_t *initialised = nullptr;
  std::vector<uint8_t> record; // holds it where the caller does not
};

struct Plan {
  const Table *table = nullptr;
  const Kernel *kernel = nullptr;
  int32_t kernelIndex = 0;
  EmulatorDim grid, block;
  uint32_t sharedBytes = 0;
  std::vector<uint64_t> slots;
  std::vector<Buffer> buffers;      // by address
  std::vector<int32_t> siteBuffers; // buffer of the site's parameter, or -1
  EmulatorOptions options;
  bool has(EmulatorSanitizer s) const { return options.sanitizers & s; }
};

/// Address of a library function that kernels call, or null.
void *lookupEmulatorSymbol(const std::string &name);

} // namespace heddle::emulator

#endif // HEDDLE_RUNTIME_EMULATOR_PLAN_H
