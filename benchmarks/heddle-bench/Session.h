//===- Session.h - what every row of one run shares -------------*- C++ -*-===//

#ifndef HEDDLE_BENCH_SESSION_H
#define HEDDLE_BENCH_SESSION_H

#include "Peak.h"

#include "mlir/IR/MLIRContext.h"

#include <cstdint>
#include <optional>
#include <string>

namespace heddle::bench {

/// How much of a result is compared with the reference device.
enum class CheckMode {
  Auto,    // whole outputs, samples where the suite's rule says so
  Full,    // whole outputs always
  Sampled, // samples always
  None,
};

struct RunOptions {
  int repeats = 7;
  int warmup = 1;
  int threads = 1;
  uint64_t seed = 0;
  bool planOnly = false;
  CheckMode check = CheckMode::Auto;
  std::string emitMlir; // folder; empty: no files
  std::string cpu = "native";
  std::string target = "cpu"; // or GPUs joined by commas
  bool emulator = false;      // run on the emulator of that GPU
  int seeds = 3;              // runs on the emulator, each in another order
  uint32_t sanitizers = 0;    // of the emulator
  bool reportKernels = false; // what ptxas says of them
};

/// Shared by the rows of one run.
class Session {
public:
  Session(mlir::MLIRContext &context, RunOptions options)
      : mlir(context), options(std::move(options)) {}

  /// The measured rates of this CPU, taken once per run on all its threads.
  const PeakRates &peak() {
    if (!rates)
      rates = measurePeak(options.threads);
    return *rates;
  }
  /// One line on standard error about what takes time now.
  void progress(const std::string &message) const;

  mlir::MLIRContext &mlir;
  const RunOptions options;

private:
  std::optional<PeakRates> rates;
};

} // namespace heddle::bench

#endif // HEDDLE_BENCH_SESSION_H
