//===- Plot.h - results as pictures -----------------------------*- C++ -*-===//

#ifndef HEDDLE_BENCH_PLOT_H
#define HEDDLE_BENCH_PLOT_H

#include "Row.h"

#include "heddle/Runtime/Program.h"

namespace heddle::bench {

/// Draws `data` (of plotData) into `folder` with benchmarks/plot.py: per suite
/// <suite>_time.png, <suite>_memory.png and <suite>_ratio.png. The error says
/// what is missing: an interpreter, matplotlib, the script, or the folder.
Status drawPlots(const Row &data, const std::string &folder);

} // namespace heddle::bench

#endif // HEDDLE_BENCH_PLOT_H
