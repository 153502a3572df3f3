//===- CpuObject.cpp - LLVM IR, assembly and objects for a CPU ------------===//

#include "heddle/Target/CpuObject.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Threading.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Linker/Linker.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"

using namespace mlir;
using namespace heddle;

static std::unique_ptr<llvm::TargetMachine>
createMachine(const CpuTarget &target, std::string &error) {
  static bool initialized = [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    return true;
  }();
  (void)initialized;
  llvm::Triple triple("x86_64-unknown-linux-gnu");
  const llvm::Target *llvmTarget =
      llvm::TargetRegistry::lookupTarget(triple, error);
  if (!llvmTarget)
    return nullptr;
  std::string features;
  for (const std::string &f : target.features)
    features += (features.empty() ? "+" : ",+") + f;
  return std::unique_ptr<llvm::TargetMachine>(llvmTarget->createTargetMachine(
      triple, target.cpu, features, {}, llvm::Reloc::PIC_,
      llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default));
}

/// The loops are written as they should run, so a short pipeline does: clean up
/// and hoist what is invariant. A third of the time of LLVM's default at the
/// same speed of the kernels (2026-11-30).
constexpr llvm::StringLiteral kPipeline =
    "function(early-cse,simplifycfg,instcombine<no-verify-fixpoint>,loop-simplify,lcssa,"
    "loop-mssa(loop-rotate,licm),early-cse,instcombine<no-verify-fixpoint>,simplifycfg)";

static void optimize(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::LoopAnalysisManager lam;
  llvm::FunctionAnalysisManager fam;
  llvm::CGSCCAnalysisManager cgam;
  llvm::ModuleAnalysisManager mam;
  llvm::PassBuilder pb(&machine);
  pb.registerModuleAnalyses(mam);
  pb.registerCGSCCAnalyses(cgam);
  pb.registerFunctionAnalyses(fam);
  pb.registerLoopAnalyses(lam);
  pb.crossRegisterProxies(lam, fam, cgam, mam);
  llvm::ModulePassManager passes;
  llvm::cantFail(pb.parsePassPipeline(passes, kPipeline));
  passes.run(module, mam);
}

/// One kernel's LLVM IR, optimised.
static std::unique_ptr<llvm::Module> translate(ModuleOp module,
                                               const CpuTarget &target,
                                               llvm::TargetMachine &machine,
                                               llvm::LLVMContext &context) {
  std::unique_ptr<llvm::Module> llvmModule =
      translateModuleToLLVMIR(module, context, "heddle",
                              /*disableVerification=*/true);
  if (!llvmModule) {
    module.emitError("cannot translate the kernels to LLVM IR");
    return nullptr;
  }
  llvmModule->setTargetTriple(machine.getTargetTriple());
  llvmModule->setDataLayout(machine.createDataLayout());
  llvmModule->setPICLevel(llvm::PICLevel::BigPIC);
  std::string width = std::to_string(target.vectorLanes * 32);
  std::string features = machine.getTargetFeatureString().str();
  for (llvm::Function &f : *llvmModule) {
    if (f.isDeclaration())
      continue;
    f.addFnAttr("target-cpu", target.cpu);
    if (!features.empty())
      f.addFnAttr("target-features", features);
    f.addFnAttr("prefer-vector-width", width);
    f.addFnAttr("min-legal-vector-width", width);
    f.addFnAttr(llvm::Attribute::NoUnwind);
  }
  optimize(*llvmModule, machine);
  return llvmModule;
}

LogicalResult heddle::emitCpu(ModuleOp module, const CpuTarget &target,
                              CpuOutput output, std::vector<uint8_t> &bytes) {
  std::string error;
  std::unique_ptr<llvm::TargetMachine> machine = createMachine(target, error);
  if (!machine)
    return module.emitError("cannot create an x86-64 code generator: ")
           << error;
  registerBuiltinDialectTranslation(*module.getContext());
  registerLLVMDialectTranslation(*module.getContext());
  llvm::LLVMContext context;
  SmallVector<ModuleOp> kernels(module.getOps<ModuleOp>());
  if (kernels.empty())
    kernels.push_back(module);
  std::unique_ptr<llvm::Module> llvmModule;
  for (ModuleOp kernel : kernels) {
    auto part = translate(kernel, target, *machine, context);
    if (!part)
      return failure();
    if (!llvmModule)
      llvmModule = std::move(part);
    else if (llvm::Linker::linkModules(*llvmModule, std::move(part)))
      return kernel.emitError("cannot be linked with the other kernels");
  }

  llvm::SmallVector<char, 0> buffer;
  llvm::raw_svector_ostream os(buffer);
  if (output == CpuOutput::LLVMText) {
    llvmModule->print(os, nullptr);
  } else {
    llvm::legacy::PassManager passes;
    auto kind = output == CpuOutput::Assembly
                    ? llvm::CodeGenFileType::AssemblyFile
                    : llvm::CodeGenFileType::ObjectFile;
    if (machine->addPassesToEmitFile(passes, os, nullptr, kind,
                                     /*DisableVerify=*/true))
      return module.emitError("LLVM cannot emit this kind of file");
    passes.run(*llvmModule);
  }
  bytes.assign(buffer.begin(), buffer.end());
  return success();
}

LogicalResult
heddle::emitCpuObjects(ModuleOp module, const CpuTarget &target,
                       llvm::StringMap<std::vector<uint8_t>> &objects) {
  MLIRContext *context = module.getContext();
  registerBuiltinDialectTranslation(*context);
  registerLLVMDialectTranslation(*context);
  SmallVector<ModuleOp> kernels(module.getOps<ModuleOp>());
  // The largest first, so that no thread is left alone with it at the end.
  SmallVector<std::pair<int64_t, size_t>> order; // (- number of ops, index)
  SmallVector<std::vector<uint8_t> *> outputs;
  for (auto [i, kernel] : llvm::enumerate(kernels)) {
    int64_t numOps = 0;
    kernel.walk([&](Operation *) { ++numOps; });
    order.push_back({-numOps, i});
    outputs.push_back(&objects[*kernel.getName()]);
  }
  llvm::sort(order);
  return failableParallelForEachN(context, 0, order.size(), [&](size_t i) {
    size_t k = order[i].second;
    return emitCpu(kernels[k], target, CpuOutput::Object, *outputs[k]);
  });
}
