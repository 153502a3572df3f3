//===- GpuRows.h - what rows for GPUs hold beside the others' ---*- C++ -*-===//
//
// Rows that the emulator ran, and rows that only report what ptxas says of
// their kernels.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_BENCH_GPUROWS_H
#define HEDDLE_BENCH_GPUROWS_H

#include "Row.h"
#include "Session.h"

#include "heddle/Runtime/Program.h"

#include <ostream>

namespace heddle::bench {

/// Runs `function` on the emulator once for each seed from 0 on. A finding, or a
/// result that is not the same to the bit for every seed, is an error. Adds
/// emulator_s (all runs), sanitizers, seeds, checked_accesses and counters (of
/// one run). `outputs` are the results.
Status runOnEmulator(const Function &function, const Program &program,
                     const std::vector<void *> &args,
                     const std::vector<void *> &results, Session &session,
                     Row &row, std::vector<HostTensor> &outputs);

/// Adds `kernels`: what each kernel takes on each target. Fails where a kernel
/// spills or has a stack frame, with all of them, and where nothing is known of
/// them because there is no ptxas.
Status storeKernels(const Function &function, Row &row);

/// The kernels of all rows, one a line.
void printKernels(std::ostream &out, const std::vector<Row> &rows);

} // namespace heddle::bench

#endif // HEDDLE_BENCH_GPUROWS_H
