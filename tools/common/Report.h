//===- Report.h - what a compiled program is, as text or JSON ---*- C++ -*-===//
//
// Shared by heddle-compile and heddle-run. No LLVM header here: the
// runtime-only build has it too.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TOOLS_COMMON_REPORT_H
#define HEDDLE_TOOLS_COMMON_REPORT_H

#include "heddle/Runtime/Program.h"

#include <nlohmann/json.hpp>

#include <functional>
#include <iosfwd>
#include <optional>
#include <string>

namespace heddle {

/// How `--report` prints; None where the option is absent.
enum class ReportFormat { None, Text, Json };

/// Reads the value of `--report`: "" and "text" are Text, "json" is Json.
/// Anything else is an error that names the choices.
Status parseReportFormat(const std::string &value, ReportFormat &format);

/// Keys keep the order in which they are written.
using Json = nlohmann::ordered_json;

/// How many blocks of a GPU kernel share a multiprocessor.
struct KernelOccupancy {
  int blocksPerSM = 0;
  double fraction = 0; // of the warps that fit at most
  std::string limit;   // what there is too little of: "registers"
};
/// What is known of a kernel on a GPU beside what its image says.
struct KernelFacts {
  std::optional<KernelOccupancy> occupancy;
  std::string chip;          // that the roofline is of: "H200"; empty: none
  double rooflineSeconds = 0; // the least time of a launch
  std::string rooflineLimit; // what takes it: "memory", "matrix units", ...
};
/// Of a kernel in an image for `target`. Only tools with the compiler know GPUs;
/// without one, or where it knows nothing of a kernel, reports leave it out.
using KernelFactsOf =
    std::function<KernelFacts(const std::string &target, const KernelInfo &info,
                              const GpuKernel &kernel)>;

/// Signature, kernels, command counts and the memory plan of one function.
/// Figures that depend on the number of workers (temp, footprint) are for
/// `threads` of them. Sizes with the suffix `_mb` are MiB, others are bytes.
Json reportFunction(const Function &function, int threads,
                    const KernelFactsOf &facts = {});
/// The whole program: target, instruction set, producer and every function.
Json reportProgram(const Program &program, int threads,
                   const KernelFactsOf &facts = {});

/// The same for people.
void printFunctionReport(const Function &function, int threads,
                         std::ostream &os, const KernelFactsOf &facts = {});
void printProgramReport(const Program &program, int threads, std::ostream &os,
                        const KernelFactsOf &facts = {});

} // namespace heddle

#endif // HEDDLE_TOOLS_COMMON_REPORT_H
