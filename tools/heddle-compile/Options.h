//===- Options.h - the command line of heddle-compile -----------*- C++ -*-===//

#ifndef HEDDLE_TOOLS_HEDDLE_COMPILE_OPTIONS_H
#define HEDDLE_TOOLS_HEDDLE_COMPILE_OPTIONS_H

#include "common/Report.h"
#include "heddle/Pipelines/Pipelines.h"
#include "heddle/Target/PtxObject.h"

#include <string>

namespace heddle::compile {

/// What heddle-compile writes.
enum class Emit { Nothing, Bundle, Mlir, Llvm, Asm, Ptx, Cubin };

/// A checked command line.
struct Options {
  std::vector<std::string> inputs; // "-" is standard input; several models
                                   // share one bundle
  std::string output; // "-" is standard output; empty where Emit::Nothing
  Emit emit = Emit::Bundle;
  ReportFormat report = ReportFormat::None;
  int threads = 1; // workers that the memory figures of the report are for
  bool listTargets = false;
  bool listTiles = false; // of the models, in place of compiling them
  CompileOptions compile;
  llvm::SmallVector<const GpuTarget *> gpus; // none: a CPU; one for GPU text
  const GpuChip *chip = nullptr; // of the report's least times; null: the first
                                 // product of each target
};

/// Registers the options of MLIR's pass manager, printer and context beside our
/// own, parses, and checks that the values fit together. Exits where help or
/// the version was asked for and printed.
Status parseCommandLine(int argc, char **argv, Options &options);

/// What `--target` and `--cpu` take, one target a line.
void printTargets(llvm::raw_ostream &os);

} // namespace heddle::compile

#endif // HEDDLE_TOOLS_HEDDLE_COMPILE_OPTIONS_H
