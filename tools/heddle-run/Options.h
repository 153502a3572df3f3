//===- Options.h - the command line of heddle-run ---------------*- C++ -*-===//

#ifndef HEDDLE_TOOLS_HEDDLE_RUN_OPTIONS_H
#define HEDDLE_TOOLS_HEDDLE_RUN_OPTIONS_H

#include "common/Report.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace heddle::run {

/// Where an argument's values come from.
struct InputSpec {
  std::string name; // empty: the next argument in order
  std::string path; // of a .npy file; empty: random
  uint64_t seed = 0;
};

enum class DeviceKind { Cpu, Cuda, Emulator, Reference };

/// A checked command line.
struct Options {
  std::string model; // .heddle or .mlir; "-" is standard input
  DeviceKind device = DeviceKind::Cpu;
  int deviceOrdinal = 0;      // of a CUDA device
  bool checkLaunches = false; // on a CUDA device: wait after every command
  /// What a graph is compiled for on a CUDA device or the emulator; empty: the
  /// device's own, sm_80 on the emulator.
  std::string target;
  bool tf32 = false;       // on GPUs: products of f32 on the matrix unit
  std::string tile; // of attention on GPUs, as q128_k64_w8_s1; empty: chosen
  int64_t scanChunks = 0; // of time, of scans on GPUs; 0: chosen
  uint32_t sanitizers = 0; // of the emulator
  uint64_t seed = 0;       // of the emulator's order of warps
  int maxFindings = 0;     // of the emulator; 0: one of each sanitizer
  std::string function;    // empty: the only one
  std::vector<InputSpec> inputs;
  std::string inputArchive;  // arguments by name, where `inputs` has none
  std::string outputArchive; // all results by name
  std::vector<std::string> outputs;  // .npy paths, in the order of results
  std::vector<std::string> expected; // likewise
  bool checkReference = false;
  bool declared = false;            // the reference device rounds
  std::optional<double> rtol, atol; // absent: by element type
  int repeats = 0;
  int warmup = 1;
  int inner = 1;   // runs of a sample; 0: as take 50 ms
  int threads = 0; // 0: the cores of this process
  ReportFormat report = ReportFormat::None;
  bool listDevices = false;
  bool serve = false; // requests on standard input
};

/// "@FILE.npy", "random:SEED", or one of them after "NAME=".
Status parseInput(const std::string &text, InputSpec &spec);

/// Parses and checks. Sets `exit` where help was asked for and printed.
Status parseCommandLine(int argc, char **argv, Options &options, bool &exit);

} // namespace heddle::run

#endif // HEDDLE_TOOLS_HEDDLE_RUN_OPTIONS_H
