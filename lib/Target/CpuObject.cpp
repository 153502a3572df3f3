//===- CpuObject.cpp - LLVM IR, assembly and objects for a CPU ------------===//

#include "heddle/Target/CpuObject.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/Threading.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
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

/// The loops are written as they should run, so a short pipeline does: inline
/// the kernel into its entry, clean up, and hoist what is invariant. A third of
/// the time of LLVM's default at the same speed of the kernels (2026-11-30).
constexpr llvm::StringLiteral kPipeline =
    "cgscc(inline),globaldce,"
    "function(sroa,early-cse,simplifycfg,instcombine,loop-simplify,lcssa,"
    "loop-mssa(loop-rotate,licm),early-cse,instcombine,simplifycfg)";

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
  std::unique_ptr<llvm::Module> llvmModule =
      translateModuleToLLVMIR(module, context, "heddle");
  if (!llvmModule)
    return module.emitError("cannot translate the kernels to LLVM IR");
  llvmModule->setTargetTriple(machine->getTargetTriple());
  llvmModule->setDataLayout(machine->createDataLayout());
  llvmModule->setPICLevel(llvm::PICLevel::BigPIC);
  std::string width = std::to_string(target.vectorLanes * 32);
  std::string features = machine->getTargetFeatureString().str();
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
  optimize(*llvmModule, *machine);

  llvm::SmallVector<char, 0> buffer;
  llvm::raw_svector_ostream os(buffer);
  if (output == CpuOutput::LLVMText) {
    llvmModule->print(os, nullptr);
  } else {
    llvm::legacy::PassManager passes;
    auto kind = output == CpuOutput::Assembly
                    ? llvm::CodeGenFileType::AssemblyFile
                    : llvm::CodeGenFileType::ObjectFile;
    if (machine->addPassesToEmitFile(passes, os, nullptr, kind))
      return module.emitError("LLVM cannot emit this kind of file");
    passes.run(*llvmModule);
  }
  bytes.assign(buffer.begin(), buffer.end());
  return success();
}

/// A module with `entry` and everything it refers to.
static OwningOpRef<ModuleOp> extractKernel(ModuleOp module,
                                           LLVM::LLVMFuncOp entry,
                                           SymbolTable &symbols) {
  OwningOpRef<ModuleOp> part = ModuleOp::create(entry.getLoc());
  part->getOperation()->setAttrs(module->getAttrDictionary());
  OpBuilder b = OpBuilder::atBlockEnd(part->getBody());
  llvm::SetVector<Operation *> needed;
  needed.insert(entry);
  for (size_t i = 0; i < needed.size(); ++i) {
    Operation *op = needed[i];
    if (std::optional<SymbolTable::UseRange> uses =
            SymbolTable::getSymbolUses(op))
      for (SymbolTable::SymbolUse use : *uses)
        if (Operation *other = symbols.lookup(
                use.getSymbolRef().getRootReference()))
          needed.insert(other);
  }
  for (Operation *op : needed)
    b.clone(*op);
  return part;
}

LogicalResult
heddle::emitCpuObjects(ModuleOp module, const CpuTarget &target,
                       llvm::StringMap<std::vector<uint8_t>> &objects) {
  MLIRContext *context = module.getContext();
  registerBuiltinDialectTranslation(*context);
  registerLLVMDialectTranslation(*context);
  SymbolTable symbols(module);
  struct Part {
    OwningOpRef<ModuleOp> module;
    std::vector<uint8_t> *output;
    int64_t numOps = 0;
  };
  std::vector<Part> parts;
  for (auto f : module.getOps<LLVM::LLVMFuncOp>()) {
    if (f.isExternal() || f.getLinkage() == LLVM::Linkage::Internal)
      continue;
    Part part{extractKernel(module, f, symbols), &objects[f.getName()]};
    part.module->walk([&](Operation *) { ++part.numOps; });
    parts.push_back(std::move(part));
  }
  // The largest first, so that no thread is left alone with it at the end.
  llvm::stable_sort(parts, [](const Part &x, const Part &y) {
    return x.numOps > y.numOps;
  });
  return failableParallelForEachN(context, 0, parts.size(), [&](size_t i) {
    return emitCpu(*parts[i].module, target, CpuOutput::Object,
                   *parts[i].output);
  });
}
