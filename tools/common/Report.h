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

#include <iosfwd>
#include <string>

namespace heddle {

/// How `--report` prints; None where the option is absent.
enum class ReportFormat { None, Text, Json };

/// Reads the value of `--report`: "" and "text" are Text, "json" is Json.
/// Anything else is an error that names the choices.
Status parseReportFormat(const std::string &value, ReportFormat &format);

/// Keys keep the order in which they are written.
using Json = nlohmann::ordered_json;

/// Signature, kernels, command counts and the memory plan of one function.
/// Figures that depend on the number of workers (temp, footprint) are for
/// `threads` of them. Sizes with the suffix `_mb` are MiB, others are bytes.
Json reportFunction(const Function &function, int threads);
/// The whole program: target, instruction set, producer and every function.
Json reportProgram(const Program &program, int threads);

/// The same for people.
void printFunctionReport(const Function &function, int threads,
                         std::ostream &os);
void printProgramReport(const Program &program, int threads, std::ostream &os);

} // namespace heddle

#endif // HEDDLE_TOOLS_COMMON_REPORT_H
