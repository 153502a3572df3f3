//===- Compile.h - from a model file to what was asked for ------*- C++ -*-===//

#ifndef HEDDLE_TOOLS_HEDDLE_COMPILE_COMPILE_H
#define HEDDLE_TOOLS_HEDDLE_COMPILE_COMPILE_H

#include "Options.h"

namespace heddle::compile {

/// Parses, compiles, writes and reports. Errors of the model are diagnostics on
/// standard error; any other failure is the status. Returns whether all went
/// well; a file is written whole or not at all.
bool compileFile(const Options &options, Status &status);

} // namespace heddle::compile

#endif // HEDDLE_TOOLS_HEDDLE_COMPILE_COMPILE_H
