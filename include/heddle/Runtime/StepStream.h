//===- StepStream.h - steps over state, fed from the host -------*- C++ -*-===//
//
// A training loop whose batches come from the host: the state stays in place
// from step to step, and the next batch is copied while a step runs. Part of the
// runtime: no LLVM header here.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_STEPSTREAM_H
#define HEDDLE_RUNTIME_STEPSTREAM_H

#include "heddle/Runtime/Program.h"

#include <functional>
#include <memory>

namespace heddle {

/// Runs one function again and again, in order, on a thread of its own. Some
/// arguments are streamed: each step reads them from one of two upload slots, of
/// which `push` fills the free one. All other arguments and the results are the
/// caller's and stay where they are, so that a step continues from what the last
/// one left in donated arguments.
///
/// One thread may push and wait at a time. Between `push` and `wait` the
/// caller's buffers belong to the stream.
class StepStream {
public:
  /// Runs the function on host memory, as CpuExecutable::run does.
  using Run = std::function<Status(void *const *args, void *const *results)>;

  /// `args` and `results` have a pointer per argument and result; those of
  /// streamed arguments are not read. `streamed` lists argument numbers. Fails
  /// for numbers that do not exist, come twice or are donated, for results that
  /// lie in streamed arguments, and for used buffers that are null.
  static Status create(const Function &function, Run run, void *const *args,
                       void *const *results,
                       const std::vector<uint32_t> &streamed,
                       std::unique_ptr<StepStream> &out);
  /// Waits for the steps that were pushed.
  ~StepStream();

  /// Copies one batch, a pointer per streamed argument, and lets a step run on
  /// it. Waits while both slots are taken; when it returns, the batch is the
  /// caller's again. With `outputs`, a pointer per result or null, the step
  /// copies its results there. The error of an earlier step ends the stream: it
  /// is returned from then on, and nothing runs any more.
  Status push(const void *const *batch, void *const *outputs = nullptr);

  /// Waits until every pushed step has run; the first error of any.
  Status wait();

private:
  StepStream();
  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_STEPSTREAM_H
