//===- Execute.h - one function on one device -------------------*- C++ -*-===//

#ifndef HEDDLE_TOOLS_HEDDLE_RUN_EXECUTE_H
#define HEDDLE_TOOLS_HEDDLE_RUN_EXECUTE_H

#include "Compiler.h"
#include "Options.h"

#include "common/EmulatorReport.h"
#include "heddle/Runtime/CudaDevice.h"

namespace heddle::run {

/// Milliseconds of the timed runs; empty without --repeats.
struct Timing {
  std::vector<double> samples; // each the mean of `inner` runs
  int inner = 1;
  /// The value below which a fraction `q` of the samples lies.
  double quantile(double q) const;
  std::string str() const;
};

/// What is told of a function's runs beside its results.
struct Execution {
  Timing timing;
  EmulatorRuns emulator;
  /// On a CUDA device: "cubin for sm_90a", and what holds its context.
  std::string image;
  std::shared_ptr<CudaExecutable> cuda;
};

/// Reads the model and, where it is a graph, compiles it for the device of
/// `options` (the reference device takes it as it is).
Status loadModel(const Options &options, Program &program);

/// Runs `function`: warmup and timed runs where --repeats asks for them, else
/// once. Results are poisoned with NaN before the run that they are taken from.
Status execute(const Options &options, const Program &program,
               const Function &function, std::vector<HostTensor> &arguments,
               std::vector<HostTensor> &results, Execution &execution);

} // namespace heddle::run

#endif // HEDDLE_TOOLS_HEDDLE_RUN_EXECUTE_H
