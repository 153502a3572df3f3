//===- CpuDevice.h - runs a compiled function on the CPU --------*- C++ -*-===//
//
// Part of the runtime: no LLVM header here.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_CPUDEVICE_H
#define HEDDLE_RUNTIME_CPUDEVICE_H

#include "heddle/Runtime/Program.h"

#include <memory>

namespace heddle {

/// Options of a CPU session.
struct CpuOptions {
  int threads = 0; // 0: all the cores this process may use
  bool poison = false; // fill arena, scratch and results with NaN before each run
};

/// A loaded function with its arena, scratch and thread pool. `load` resolves
/// the object code and allocates every byte of the plan; `run` allocates
/// nothing.
class CpuExecutable {
public:
  /// Fails if the object needs an ISA feature that this CPU lacks, if it has an
  /// unknown relocation or symbol, or if memory is too small for the plan
  /// (names need and what there is).
  static Status load(const Function &function, const Program &program,
                     const CpuOptions &options,
                     std::unique_ptr<CpuExecutable> &out);
  ~CpuExecutable();

  /// Runs the command list. `args` and `results` hold one pointer per argument
  /// and result; unused arguments may be null. Buffers must be 64-byte aligned
  /// or are treated as unaligned-safe by the kernels (element alignment is
  /// enough). A result with an `alias` takes the pointer of that argument. Null
  /// pointers for used values are errors. Calls from several threads wait for
  /// each other.
  Status run(void *const *args, void *const *results);

  int threads() const;
  /// The function that was loaded; its `objects` and `constants` are empty, they
  /// live on in loaded form.
  const Function &function() const;

private:
  CpuExecutable();
  struct Impl;
  std::unique_ptr<Impl> impl;
};

/// "AMD EPYC ... (x86-64-v4)", for the device field of result files.
std::string cpuName();
/// Number of cores this process may use (affinity mask).
int cpuThreads();
/// Whether this CPU has a feature by LLVM's name ("avx512f").
bool cpuHasFeature(const std::string &feature);
/// Bytes that this process may still allocate without swapping: the smallest of
/// what the machine has available and what its control groups leave.
int64_t availableMemory();

} // namespace heddle

#endif // HEDDLE_RUNTIME_CPUDEVICE_H
