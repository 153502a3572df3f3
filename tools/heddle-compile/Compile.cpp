//===- Compile.cpp - from a model file to what was asked for --------------===//

#include "Compile.h"
#include "EmitGpu.h"
#include "ListTiles.h"

#include "common/GpuFacts.h"

#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

#include <algorithm>
#include <iostream>

using namespace heddle;
using namespace heddle::compile;
using namespace mlir;

/// Writes a bundle or text through a temporary file that is renamed at the end.
static Status writeOutput(const Options &options, const Program &program,
                          llvm::StringRef text) {
  std::string failure;
  if (options.emit == Emit::Bundle)
    failure = writeProgramFile(options.output, program).message;
  else if (options.emit != Emit::Nothing)
    // The error names the path.
    if (llvm::Error error = llvm::writeToOutput(
            options.output, [&](llvm::raw_ostream &os) -> llvm::Error {
              os << text;
              return llvm::Error::success();
            }))
      failure = "cannot write " + llvm::toString(std::move(error));
  if (failure.empty())
    return {};
  return Status::error(failure + "; choose a writable place with -o");
}

static void printReport(const Options &options, const Program &program) {
  KernelFactsOf facts = kernelFactsOn(options.chip);
  if (options.report == ReportFormat::Json)
    std::cout << reportProgram(program, options.threads, facts).dump(2) << "\n";
  else if (options.report == ReportFormat::Text)
    printProgramReport(program, options.threads, std::cout, facts);
  std::cout.flush();
}

/// The compiled module as text in the form of `options.emit`.
static bool render(const Options &options, ModuleOp module, std::string &text) {
  llvm::raw_string_ostream os(text);
  switch (options.emit) {
  case Emit::Nothing:
  case Emit::Bundle:
  case Emit::Ptx:
  case Emit::Cubin:
    return true;
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

/// A gpu.module whose kernels need no more than PTX emission.
static bool isContractN(ModuleOp module) {
  if (module.getOps<gpu::GPUModuleOp>().empty())
    return false;
  return !module.walk([](gpu::GPUFuncOp) { return WalkResult::interrupt(); })
              .wasInterrupted();
}

/// Compiles one model; its functions join those of `program`.
static bool compileModel(const Options &options, const std::string &input,
                         Program &program, std::string &text, Status &status) {
  std::string message;
  std::unique_ptr<llvm::MemoryBuffer> file = openInputFile(input, &message);
  if (!file) {
    status = Status::error(message);
    return false;
  }
  DialectRegistry registry;
  registerCompilerDialects(registry);
  MLIRContext context(registry);
  // Diagnostics show the source line; the op in generic form is only on demand.
  if (!llvm::cl::getRegisteredOptions()
           .lookup("mlir-print-op-on-diagnostic")
           ->getNumOccurrences())
    context.printOpOnDiagnostic(false);
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(file), llvm::SMLoc());
  SourceMgrDiagnosticHandler handler(sources, &context);

  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(sources, &context);
  if (!module)
    return false;

  bool gpuText = options.emit == Emit::Ptx || options.emit == Emit::Cubin;
  if (gpuText && isContractN(*module))
    return succeeded(emitGpu(options, *module, text));

  CompileOptions compile = options.compile;
  const llvm::MemoryBuffer &content =
      *sources.getMemoryBuffer(sources.getMainFileID());
  if (!isBytecode(content))
    compile.source = content.getBuffer().str();
  bool configured = true;
  compile.configure = [&](PassManager &pm) {
    configured &= succeeded(applyPassManagerCLOptions(pm));
    applyDefaultTimingPassManagerCLOptions(pm);
  };
  Program one;
  if (options.listTiles) {
    if (failed(compileModule(*module, compile, one)))
      return false;
    listTiles(options, *module, llvm::outs());
    return true;
  }
  if (failed(compileModule(*module, compile, one)) || !configured ||
      !render(options, *module, text))
    return false;
  if (gpuText) {
    OwningOpRef<ModuleOp> joined = joinGpuModules(*module);
    return joined && succeeded(emitGpu(options, *joined, text));
  }
  if (program.functions.empty()) {
    program = std::move(one);
    return true;
  }
  for (Function &function : one.functions)
    program.functions.push_back(std::move(function));
  return true;
}

/// Functions that share a name must differ in their arguments.
static Status checkSpecialisations(const Program &program) {
  auto sameArguments = [](const Function &f, const Function &g) {
    return std::equal(f.arguments.begin(), f.arguments.end(),
                      g.arguments.begin(), g.arguments.end(),
                      [](const NamedTensorType &x, const NamedTensorType &y) {
                        return x.type == y.type;
                      });
  };
  for (const Function &f : program.functions)
    for (const Function &g : program.functions)
      if (&f < &g && f.name == g.name && sameArguments(f, g))
        return Status::error("expected specialisations that differ in argument "
                             "shapes, got two functions " +
                             signatureOf(f) + "; rename one");
  return {};
}

bool heddle::compile::compileFiles(const Options &options, Status &status) {
  Program program;
  std::string text;
  for (const std::string &input : options.inputs)
    if (!compileModel(options, input, program, text, status))
      return false;
  if (options.listTiles)
    return true;
  status = checkSpecialisations(program);
  if (status.ok())
    status = writeOutput(options, program, text);
  if (!status.ok())
    return false;
  if (options.emit != Emit::Cubin) // has printed its own
    printReport(options, program);
  return true;
}
