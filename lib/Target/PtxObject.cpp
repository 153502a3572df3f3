//===- PtxObject.cpp - PTX from a GPU module ------------------------------===//

#include "heddle/Target/PtxObject.h"
#include "heddle/Runtime/GpuImage.h"

#include "heddle/Conversion/HeddleNvvmToLLVM/HeddleNvvmToLLVM.h"
#include "heddle/Dialect/HeddleNvvm/Transforms/Passes.h"
#include "mlir/Conversion/NVVMToLLVM/NVVMToLLVM.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/LLVMIR/Transforms/Passes.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/Linker/Linker.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/IPO/Internalize.h"

using namespace mlir;
using namespace heddle;

static constexpr llvm::StringLiteral kTriple = "nvptx64-nvidia-cuda";

static const llvm::Target *lookupTarget(std::string &error) {
  static bool initialized = [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    return true;
  }();
  (void)initialized;
  return llvm::TargetRegistry::lookupTarget(llvm::Triple(kTriple), error);
}

static std::unique_ptr<llvm::TargetMachine>
createMachine(const GpuTarget &target, uint32_t ptxVersion, int optLevel,
              std::string &error) {
  const llvm::Target *llvmTarget = lookupTarget(error);
  if (!llvmTarget)
    return nullptr;
  return std::unique_ptr<llvm::TargetMachine>(llvmTarget->createTargetMachine(
      llvm::Triple(kTriple), target.name, "+ptx" + std::to_string(ptxVersion),
      {}, std::nullopt, std::nullopt,
      optLevel == 0 ? llvm::CodeGenOptLevel::None
                    : llvm::CodeGenOptLevel::Aggressive));
}

//===----------------------------------------------------------------------===//
// Versions
//===----------------------------------------------------------------------===//

uint32_t heddle::defaultPtx(const GpuTarget &target) {
  return std::max(target.minPtxVersion, 80u);
}

LogicalResult heddle::resolvePtxVersion(const GpuTarget &target,
                                        const PtxOptions &options,
                                        uint32_t &ptxVersion,
                                        std::string &error) {
  uint32_t lowest = target.minPtxVersion;
  ptxVersion = options.ptxVersion ? options.ptxVersion : defaultPtx(target);
  if (ptxVersion < lowest) {
    error = "expected PTX ISA " + ptxVersionText(lowest) + " or later for " +
            target.name.str() + ", got " + ptxVersionText(ptxVersion) +
            ", which has no " + target.name.str() +
            "; raise or drop --ptx-version";
    return failure();
  }
  std::unique_ptr<llvm::TargetMachine> machine =
      createMachine(target, lowest, 0, error);
  if (!machine) {
    error = "cannot create an NVPTX code generator: " + error;
    return failure();
  }
  uint32_t newest = 0;
  bool exists = false;
  for (const llvm::SubtargetFeatureKV &feature :
       machine->getMCSubtargetInfo()->getAllProcessorFeatures()) {
    llvm::StringRef name = feature.Key;
    uint32_t version = 0;
    if (!name.consume_front("ptx") || name.getAsInteger(10, version))
      continue;
    exists |= version == ptxVersion;
    newest = std::max(newest, version);
  }
  if (exists)
    return success();
  error = "expected a PTX ISA that LLVM knows, from " + ptxVersionText(lowest) +
          " to " + ptxVersionText(newest) + ", got " +
          ptxVersionText(ptxVersion) + "; change --ptx-version";
  return failure();
}

//===----------------------------------------------------------------------===//
// Translation
//===----------------------------------------------------------------------===//

/// A builtin module with copies of the functions and globals.
static OwningOpRef<ModuleOp> copyModule(Operation *module) {
  OwningOpRef<ModuleOp> copy = ModuleOp::create(module->getLoc());
  OpBuilder b = OpBuilder::atBlockEnd(copy->getBody());
  for (Operation &op : module->getRegion(0).front())
    b.clone(op);
  return copy;
}

/// What translation needs: instructions without an LLVM intrinsic (wgmma) as
/// PTX text, and, for line info, scopes without which locations get lost.
static LogicalResult prepare(ModuleOp module, bool lineInfo) {
  PassManager pm(module.getContext());
  pm.addPass(createConvertHeddleNvvmToLLVMPass());
  pm.addPass(createConvertNVVMToLLVMPass());
  if (lineInfo) {
    LLVM::DIScopeForLLVMFuncOpPassOptions options;
    options.emissionKind = LLVM::DIEmissionKind::DebugDirectivesOnly;
    pm.addPass(LLVM::createDIScopeForLLVMFuncOpPass(options));
  }
  return pm.run(module);
}

/// The functions of libdevice that are called, by name.
static SmallVector<llvm::StringRef> libdeviceCalls(const llvm::Module &module) {
  SmallVector<llvm::StringRef> names;
  for (const llvm::Function &f : module)
    if (f.isDeclaration() && !f.use_empty() && f.getName().starts_with("__nv_"))
      names.push_back(f.getName());
  return names;
}

/// The path of libdevice, or "" and where it was looked for.
static std::string findLibdevice(const std::string &option,
                                 std::string &places) {
  if (!option.empty()) {
    places = option;
    return llvm::sys::fs::exists(option) ? option : "";
  }
  SmallVector<std::string> roots;
  for (const char *variable : {"CUDA_HOME", "CUDA_PATH"})
    if (std::optional<std::string> root = llvm::sys::Process::GetEnv(variable))
      roots.push_back(*root);
  // A root that was chosen is not replaced by another one.
  if (roots.empty())
    roots.push_back("/usr/local/cuda");
  for (const std::string &root : roots) {
    SmallString<128> path(root);
    llvm::sys::path::append(path, "nvvm", "libdevice", "libdevice.10.bc");
    if (llvm::sys::fs::exists(path))
      return std::string(path);
    places += (places.empty() ? "" : ", ") + std::string(path);
  }
  return "";
}

static LogicalResult linkLibdevice(Operation *module, llvm::Module &llvmModule,
                                   const std::string &option) {
  SmallVector<llvm::StringRef> calls = libdeviceCalls(llvmModule);
  if (calls.empty())
    return success();
  std::string places, path = findLibdevice(option, places);
  if (path.empty())
    return module->emitError("expected libdevice for ")
           << calls.front()
           << (calls.size() > 1
                   ? " and " + std::to_string(calls.size() - 1) + " more"
                   : "")
           << ", found none at " << places
           << "; install the CUDA toolkit, set CUDA_HOME, or pass "
              "--libdevice=FILE";
  llvm::SMDiagnostic diagnostic;
  std::unique_ptr<llvm::Module> library =
      llvm::parseIRFile(path, diagnostic, llvmModule.getContext());
  if (!library)
    return module->emitError("expected bitcode of LLVM as libdevice, got '")
           << path << "': " << diagnostic.getMessage()
           << "; pass libdevice.10.bc of the CUDA toolkit as --libdevice=FILE";
  library->setTargetTriple(llvmModule.getTargetTriple());
  library->setDataLayout(llvmModule.getDataLayout());
  auto internalize = [](llvm::Module &m, const llvm::StringSet<> &names) {
    llvm::internalizeModule(m, [&](const llvm::GlobalValue &value) {
      return !value.hasName() || !names.contains(value.getName());
    });
  };
  if (llvm::Linker::linkModules(llvmModule, std::move(library),
                                llvm::Linker::Flags::LinkOnlyNeeded,
                                internalize))
    return module->emitError("cannot link libdevice '") << path << "'";
  if (calls = libdeviceCalls(llvmModule); !calls.empty())
    return module->emitError("expected ")
           << calls.front() << " in libdevice '" << path << "', found none";
  // What would be left for a linker that nobody runs; LLVM folds the reflection.
  for (const llvm::Function &f : llvmModule)
    if (f.isDeclaration() && !f.isIntrinsic() && !f.use_empty() &&
        f.getName() != "__nvvm_reflect")
      return module->emitError("expected libdevice '")
             << path << "' to hold all that it calls, got no body of "
             << f.getName()
             << "; pass libdevice.10.bc of the CUDA toolkit as "
                "--libdevice=FILE";
  return success();
}

/// Schedules are made above: LLVM cleans up and neither vectorizes nor unrolls
/// by itself.
static void optimize(llvm::Module &module, llvm::TargetMachine &machine,
                     int level) {
  llvm::LoopAnalysisManager lam;
  llvm::FunctionAnalysisManager fam;
  llvm::CGSCCAnalysisManager cgam;
  llvm::ModuleAnalysisManager mam;
  llvm::PipelineTuningOptions tuning;
  tuning.LoopUnrolling = false;
  tuning.LoopVectorization = false;
  tuning.SLPVectorization = false;
  llvm::PassBuilder pb(&machine, tuning);
  pb.registerModuleAnalyses(mam);
  pb.registerCGSCCAnalyses(cgam);
  pb.registerFunctionAnalyses(fam);
  pb.registerLoopAnalyses(lam);
  pb.crossRegisterProxies(lam, fam, cgam, mam);
  const llvm::OptimizationLevel kLevels[] = {
      llvm::OptimizationLevel::O0, llvm::OptimizationLevel::O1,
      llvm::OptimizationLevel::O2, llvm::OptimizationLevel::O3};
  llvm::ModulePassManager passes =
      level == 0 ? pb.buildO0DefaultPipeline(kLevels[0])
                 : pb.buildPerModuleDefaultPipeline(kLevels[level]);
  passes.run(module, mam);
}

LogicalResult heddle::emitPtx(Operation *module, const GpuTarget &target,
                              const PtxOptions &options, std::string &ptx) {
  if (!isa<gpu::GPUModuleOp, ModuleOp>(module))
    return module->emitError("expected a gpu.module or a module, got '")
           << module->getName() << "'";
  if (options.optLevel < 0 || options.optLevel > 3)
    return module->emitError("expected an optimization level from 0 to 3, got ")
           << options.optLevel;
  bool hasKernel = false;
  for (auto f : module->getRegion(0).getOps<LLVM::LLVMFuncOp>())
    hasKernel |= f->hasAttr(NVVM::NVVMDialect::getKernelFuncAttrName());
  if (!hasKernel)
    return module->emitError("expected a kernel, an llvm.func with the "
                             "attribute nvvm.kernel, found none");
  if (failed(nvvm::verifyNvvm(module, /*allowLibdevice=*/true)))
    return failure();
  uint32_t version = 0;
  std::string error;
  if (failed(resolvePtxVersion(target, options, version, error)))
    return module->emitError(error);
  std::unique_ptr<llvm::TargetMachine> machine =
      createMachine(target, version, options.optLevel, error);
  if (!machine)
    return module->emitError("cannot create an NVPTX code generator: ")
           << error;

  MLIRContext &context = *module->getContext();
  registerBuiltinDialectTranslation(context);
  registerGPUDialectTranslation(context);
  registerLLVMDialectTranslation(context);
  registerNVVMDialectTranslation(context);
  OwningOpRef<ModuleOp> copy = copyModule(module);
  if (failed(prepare(*copy, options.lineInfo)))
    return failure();
  llvm::LLVMContext llvmContext;
  std::unique_ptr<llvm::Module> llvmModule =
      translateModuleToLLVMIR(*copy, llvmContext, "heddle");
  if (!llvmModule)
    return module->emitError("cannot translate the GPU module to LLVM IR");
  llvmModule->setTargetTriple(machine->getTargetTriple());
  llvmModule->setDataLayout(machine->createDataLayout());
  if (failed(linkLibdevice(module, *llvmModule, options.libdevice)))
    return failure();
  optimize(*llvmModule, *machine, options.optLevel);

  llvm::SmallString<0> buffer;
  llvm::raw_svector_ostream os(buffer);
  llvm::legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, os, nullptr,
                                   llvm::CodeGenFileType::AssemblyFile))
    return module->emitError("LLVM cannot emit PTX");
  passes.run(*llvmModule);
  ptx.assign(buffer.begin(), buffer.end());
  return success();
}
