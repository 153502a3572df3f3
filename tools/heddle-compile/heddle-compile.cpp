//===- heddle-compile.cpp - compiles a model graph to a bundle ------------===//

#include "Compile.h"
#include "Options.h"

#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/raw_ostream.h"

using namespace heddle;

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  compile::Options options;
  Status status = compile::parseCommandLine(argc, argv, options);
  if (status.ok() && options.listTargets) {
    compile::printTargets(llvm::outs());
    return 0;
  }
  if (status.ok() && compile::compileFiles(options, status))
    return 0;
  // Errors of the model itself were reported where they are.
  if (!status.ok())
    llvm::errs() << "heddle-compile: error: " << status.message << "\n";
  return 1;
}
