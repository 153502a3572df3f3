//===- CommandLine.h - the options of heddle-bench --------------*- C++ -*-===//

#ifndef HEDDLE_BENCH_COMMANDLINE_H
#define HEDDLE_BENCH_COMMANDLINE_H

#include "Selection.h"
#include "Session.h"

namespace heddle::bench {

struct CommandLine {
  SelectionOptions selection;
  RunOptions run;
  std::string device = "cpu";
  std::string output; // -o
  std::vector<std::string> compare;
  std::string plot; // folder for pictures; empty: none
  std::string tag;
  bool append = false;
  bool list = false;
  /// What was asked for, as it goes into a result file's config.runs.
  Row config() const;
};

/// Parses the command line and checks that its values fit together. Returns -1 to go on, else the exit status (help was
/// printed, or an error).
int parseCommandLine(int argc, char **argv, CommandLine &options);

} // namespace heddle::bench

#endif // HEDDLE_BENCH_COMMANDLINE_H
