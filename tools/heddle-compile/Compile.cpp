//===- Compile.cpp - from a model file to what was asked for --------------===//

#include "Compile.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

#include <iostream>

using namespace heddle;
using namespace heddle::compile;
using namespace mlir;

/// Writes through a temporary file that is renamed at the end.
static Status writeOutput(const std::string &path,
                          llvm::function_ref<void(llvm::raw_ostream &)> write) {
  llvm::Error error =
      llvm::writeToOutput(path, [&](llvm::raw_ostream &os) -> llvm::Error {
        write(os);
        return llvm::Error::success();
      });
  if (!error)
    return {};
  // The error names the path.
  return Status::error("cannot write " + llvm::toString(std::move(error)) +
                       "; choose a writable place with -o");
}

static void printReport(const Options &options, const Program &program) {
  if (options.report == ReportFormat::Json)
    std::cout << reportProgram(program, options.threads).dump(2) << "\n";
  else if (options.report == ReportFormat::Text)
    printProgramReport(program, options.threads, std::cout);
  std::cout.flush();
}

/// The compiled module in the form of `options.emit`.
static bool render(const Options &options, ModuleOp module,
                   const Program &program, std::string &text) {
  llvm::raw_string_ostream os(text);
  switch (options.emit) {
  case Emit::Nothing:
    return true;
  case Emit::Bundle: {
    std::vector<uint8_t> bytes = serializeProgram(program);
    os.write(reinterpret_cast<const char *>(bytes.data()), bytes.size());
    return true;
  }
  case Emit::Mlir: {
    // Flags of the printer (--mlir-print-debuginfo, ...) come from its options.
    AsmState state(module);
    module->print(os, state);
    os << "\n";
    return true;
  }
  case Emit::Llvm:
  case Emit::Asm:
    return succeeded(
        emitLLVMText(module, options.compile, options.emit == Emit::Asm, text));
  }
  return false;
}

bool heddle::compile::compileFile(const Options &options, Status &status) {
  std::string message;
  std::unique_ptr<llvm::MemoryBuffer> file =
      openInputFile(options.input, &message);
  if (!file) {
    status = Status::error(message);
    return false;
  }
  DialectRegistry registry;
  registerCompilerDialects(registry);
  MLIRContext context(registry);
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(file), llvm::SMLoc());
  SourceMgrDiagnosticHandler handler(sources, &context);

  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(sources, &context);
  if (!module)
    return false;

  CompileOptions compile = options.compile;
  bool configured = true;
  compile.configure = [&](PassManager &pm) {
    configured &= succeeded(applyPassManagerCLOptions(pm));
    applyDefaultTimingPassManagerCLOptions(pm);
  };
  Program program;
  std::string text;
  if (failed(compileModule(*module, compile, program)) || !configured ||
      !render(options, *module, program, text))
    return false;

  if (options.emit != Emit::Nothing) {
    status =
        writeOutput(options.output, [&](llvm::raw_ostream &os) { os << text; });
    if (!status.ok())
      return false;
  }
  printReport(options, program);
  return true;
}
