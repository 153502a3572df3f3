//===- Session.h - load, run, summarise, compare ----------------*- C++ -*-===//

#ifndef HEDDLE_TOOLS_HEDDLE_RUN_SESSION_H
#define HEDDLE_TOOLS_HEDDLE_RUN_SESSION_H

#include "Execute.h"
#include "Options.h"

namespace heddle::run {

/// The outcome of one comparison of one result.
struct Check {
  size_t result = 0;
  std::string against; // "the reference device" or a file
  bool passed = false;
  double maxAbsError = 0, relError = 0;
  std::string rule, worst;
};

/// What came of a run.
struct Outcome {
  Program program;
  const Function *function = nullptr; // of the program
  std::vector<HostTensor> results;
  std::vector<Check> checks;
  Execution execution;
};

/// Loads, runs, writes --output and compares.
Status runOnce(const Options &options, Outcome &outcome);

/// Device, results, checks and times.
Json outcomeJson(const Options &options, const Outcome &outcome);

/// Answers the requests on standard input until it ends, a line each. A request
/// is an object with "model" and what replaces the command line's own:
/// "function", "expected" (paths), "inputs" (as --input takes them), "rtol",
/// "atol", "repeats", "warmup", "inner". An answer is outcomeJson, or {"error":
/// why}. The last run's CUDA context lives until the next has one.
Status serve(const Options &options);

/// Does what the command line asks for. `matched` is false where a result is
/// outside its tolerance; the report of that is already on standard output.
Status runSession(const Options &options, bool &matched);

/// One device a line.
void printDevices(std::ostream &os);

} // namespace heddle::run

#endif // HEDDLE_TOOLS_HEDDLE_RUN_SESSION_H
