//===- CompilerAbsent.cpp - the runtime-only build ------------------------===//

#include "Compiler.h"

using namespace heddle;
using namespace heddle::run;

static Status absent(const std::string &wanted, const std::string &instead) {
  return Status::error("expected a build with the compiler for " + wanted +
                       ", this one has the runtime only; " + instead);
}

bool heddle::run::hasCompiler() { return false; }

Status heddle::run::compileModel(const std::string &, const std::string &name,
                                 const CompileRequest &, Program &) {
  return absent("the model graph '" + name + "'",
                "compile it with heddle-compile and run the bundle");
}

std::string heddle::run::targetOfArchitecture(int) { return ""; }

KernelFacts heddle::run::kernelFacts(const std::string &, const KernelInfo &,
                                     const GpuKernel &) {
  return {};
}

Status heddle::run::importModel(const std::string &, const std::string &name,
                                Program &) {
  return absent("the model graph '" + name + "'",
                "compile it with heddle-compile and run the bundle");
}

Status heddle::run::evaluateReference(const Function &,
                                      const std::vector<HostTensor> &, bool,
                                      int, std::vector<ReferenceValues> &) {
  return absent("the reference device",
                "use --device=cpu without --check=reference");
}

Status heddle::run::judgeByReference(const Function &,
                                     const std::vector<HostTensor> &,
                                     const std::vector<HostTensor> &, int,
                                     std::vector<ReferenceValues> &,
                                     std::vector<Verdict> &) {
  return absent("--check=reference", "use --expected-output=@FILE.npy");
}
