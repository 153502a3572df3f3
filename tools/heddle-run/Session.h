//===- Session.h - load, run, summarise, compare ----------------*- C++ -*-===//

#ifndef HEDDLE_TOOLS_HEDDLE_RUN_SESSION_H
#define HEDDLE_TOOLS_HEDDLE_RUN_SESSION_H

#include "Options.h"

namespace heddle::run {

/// Does what the command line asks for. `matched` is false where a result is
/// outside its tolerance; the report of that is already on standard output.
Status runSession(const Options &options, bool &matched);

/// One device a line.
void printDevices(std::ostream &os);

} // namespace heddle::run

#endif // HEDDLE_TOOLS_HEDDLE_RUN_SESSION_H
