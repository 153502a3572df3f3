//===- Compiler.h - what heddle-run needs of the compiler -------*- C++ -*-===//
//
// Two implementations: Compiler.cpp on MLIR, and CompilerAbsent.cpp for the
// runtime-only build, where each function fails with a message that says so.
// No LLVM type crosses this header.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TOOLS_HEDDLE_RUN_COMPILER_H
#define HEDDLE_TOOLS_HEDDLE_RUN_COMPILER_H

#include "common/Report.h"

#include <string>
#include <vector>

namespace heddle::run {

/// One result of the reference device, row-major: numbers in `real`, integers
/// in `integer`.
struct ReferenceValues {
  std::vector<int64_t> shape;
  bool isInteger = false;
  std::vector<int64_t> integer;
  std::vector<double> real;
};

/// Whether this build has the compiler and the reference device.
bool hasCompiler();

/// What a model is compiled for.
struct CompileRequest {
  std::string entry;          // empty: every public function
  std::string target = "cpu"; // this CPU, or a GPU as sm_80
  std::string tile;           // of attention on a GPU; empty: chosen
  int64_t scanChunks = 0;     // of time, of scans on a GPU; 0: chosen
  bool emulator = false;      // for the emulator of that GPU
  bool tf32 = false;          // products of f32 on the matrix unit
};

/// Compiles a model in MLIR text or bytecode. `name` is what its diagnostics
/// call the file. The status holds the diagnostics, source lines included.
Status compileModel(const std::string &text, const std::string &name,
                    const CompileRequest &request, Program &program);

/// The newest target whose code runs on a GPU of architecture `sm` (86 is
/// compute capability 8.6); empty where there is none.
std::string targetOfArchitecture(int sm);

/// What the compiler knows of a kernel on a target, for reports.
KernelFacts kernelFacts(const std::string &target, const KernelInfo &info,
                        const GpuKernel &kernel);

/// Reads signatures only: a program without kernels whose functions carry their
/// source, for the reference device.
Status importModel(const std::string &text, const std::string &name,
                   Program &program);

/// Evaluates `function` from its source with `threads` workers (0: all cores);
/// `declared`: rounding where the model rounds.
Status evaluateReference(const Function &function,
                         const std::vector<HostTensor> &inputs, bool declared,
                         int threads, std::vector<ReferenceValues> &results);

/// The verdict on one result by the reference device's own rule.
struct Verdict {
  bool passed = false;
  double maxAbsError = 0;
  double relError = 0; // max|out - ref| / max|ref|
  std::string rule;    // the limit in words
  std::string failure; // one sentence; empty where it passed
};

/// Judges the results `actual` of `function`: f32 by their distance to the
/// exact values, which `exact` gets, results of narrow arithmetic by that of
/// declared rounding as well.
Status judgeByReference(const Function &function,
                        const std::vector<HostTensor> &inputs,
                        const std::vector<HostTensor> &actual, int threads,
                        std::vector<ReferenceValues> &exact,
                        std::vector<Verdict> &verdicts);

} // namespace heddle::run

#endif // HEDDLE_TOOLS_HEDDLE_RUN_COMPILER_H
