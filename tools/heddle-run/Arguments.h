//===- Arguments.h - which function, and its argument values ----*- C++ -*-===//

#ifndef HEDDLE_TOOLS_HEDDLE_RUN_ARGUMENTS_H
#define HEDDLE_TOOLS_HEDDLE_RUN_ARGUMENTS_H

#include "Options.h"

namespace heddle::run {

/// Picks the function that `options.function` names (or the only one) and reads
/// or draws one tensor per argument. Where several specialisations share the
/// name, the first one that the given files fit is taken. Random arguments are
/// drawn with their position as seed unless one is given; which ones they are
/// is said on standard error.
///
/// Fails on an unknown name, on a file of another shape or element type, on an
/// input that no argument takes, and where the arguments and results need more
/// memory than there is.
Status bindArguments(const Options &options, const Program &program,
                     const Function *&function,
                     std::vector<HostTensor> &arguments);

/// "attention(query float32[1,64,2,16], ...)", for messages.
std::string signature(const Function &function);

} // namespace heddle::run

#endif // HEDDLE_TOOLS_HEDDLE_RUN_ARGUMENTS_H
