//===- EmulatorDevice.h - runs a compiled function on the emulator --------===//
//
// The command list of a function with a GPU image of kind emulator, its kernels
// one fibre per GPU thread (docs/emulator.md). Part of the runtime: no LLVM
// header here.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_EMULATORDEVICE_H
#define HEDDLE_RUNTIME_EMULATORDEVICE_H

#include "heddle/Runtime/Emulator.h"

namespace heddle {

/// Options of an emulator session.
struct EmulatorDeviceOptions {
  uint32_t sanitizers = kAllSanitizers;
  uint64_t seed = 0;  // of the order of warps and lanes, as in EmulatorOptions
  int threads = 0;    // host threads that run blocks; 0: all the cores
  std::string target; // "sm_80"; empty: that of the only emulator image
  /// Findings that an error of `run` shows; 0: the first of each sanitizer.
  int maxFindings = 0;
};

/// What one kernel did in all its launches of a run.
struct EmulatorKernelReport {
  std::string kernel;
  int64_t launches = 0;
  LaunchReport sum;
};

/// A loaded function with its arena. Each launch gets the buffers of the memory
/// plan that it names and no other memory; what has been written is followed
/// from command to command, so that reading a place of the arena or of a result
/// before anything wrote it is a finding.
class EmulatorExecutable {
public:
  /// Fails if the function has no emulator image for the target (lists those it
  /// has), if the image does not load, or if memory is too small for the plan.
  static Status load(const Function &function, const Program &program,
                     const EmulatorDeviceOptions &options,
                     std::unique_ptr<EmulatorExecutable> &out);
  ~EmulatorExecutable();

  /// Runs the command list on host memory. `args` and `results` hold one
  /// pointer per argument and result, aligned to 16 bytes as GPU buffers are;
  /// unused arguments may be null, a result with an `alias` takes the pointer
  /// of that argument. The arena and the results are filled with NaN first.
  /// Ends at the first launch with findings, with some of them (`maxFindings`),
  /// a line each, and the number of the others as the error. At the end all
  /// bytes of the results have to have been written (initcheck). Calls from
  /// several threads wait for each other.
  Status run(void *const *args, void *const *results);

  /// Of the runs from now on.
  void setSeed(uint64_t seed);

  /// Of the last run, in the order of the function's kernels.
  std::vector<EmulatorKernelReport> reports() const;
  /// "sm_80".
  const std::string &target() const;
  /// The function that was loaded; what lives on in loaded form (constants, the
  /// bytes of images) is empty in it.
  const Function &function() const;

private:
  EmulatorExecutable();
  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_EMULATORDEVICE_H
