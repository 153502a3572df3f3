//===- heddle-run.cpp - runs a bundle or a model graph --------------------===//

#include "Options.h"
#include "Session.h"

#include <iostream>
#include <new>

using namespace heddle;

/// Errors of a model come with their place in it and are printed as they are.
static int fail(const std::string &message) {
  bool located = message.find(": error: ") != std::string::npos;
  std::cerr << (located ? "" : "heddle-run: error: ") << message << "\n";
  return 1;
}

int main(int argc, char **argv) {
  run::Options options;
  bool exit = false;
  Status status = run::parseCommandLine(argc, argv, options, exit);
  if (!status.ok())
    return fail(status.message);
  if (exit)
    return 0;
  if (options.listDevices) {
    run::printDevices(std::cout);
    return 0;
  }
  try {
    if (options.serve) {
      status = run::serve(options);
      return status.ok() ? 0 : fail(status.message);
    }
    bool matched = true;
    status = run::runSession(options, matched);
    if (!status.ok())
      return fail(status.message);
    return matched ? 0 : 1;
  } catch (const std::bad_alloc &) {
    return fail("expected enough memory for the tensors of the model, the "
                "system refused an allocation; use smaller shapes");
  }
}
