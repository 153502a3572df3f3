//===- Compile.h - from a model file to what was asked for ------*- C++ -*-===//

#ifndef HEDDLE_TOOLS_HEDDLE_COMPILE_COMPILE_H
#define HEDDLE_TOOLS_HEDDLE_COMPILE_COMPILE_H

#include "Options.h"

namespace heddle::compile {

/// Parses and compiles every model, writes one bundle (or the text of one
/// model) and reports. Errors of a model are diagnostics on standard error; any
/// other failure is the status. Returns whether all went well; a file is written
/// whole or not at all.
bool compileFiles(const Options &options, Status &status);

} // namespace heddle::compile

#endif // HEDDLE_TOOLS_HEDDLE_COMPILE_COMPILE_H
