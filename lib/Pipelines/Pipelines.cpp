//===- Pipelines.cpp - the compiler in order ------------------------------===//

#include "heddle/Pipelines/Pipelines.h"
#include "heddle/Codegen/CPU/CpuTarget.h"
#include "heddle/Codegen/Passes.h"
#include "heddle/Conversion/HeddleGpuToNVVM/HeddleGpuToNVVM.h"
#include "heddle/Codegen/Tile/KernelBody.h"
#include "heddle/Conversion/HeddleNvvmToLLVM/HeddleNvvmToLLVM.h"
#include "heddle/Conversion/NvvmToEmulator/NvvmToEmulator.h"
#include "heddle/Dialect/Heddle/Transforms/Passes.h"
#include "heddle/Dialect/HeddleGpu/Transforms/Passes.h"
#include "heddle/Runtime/CpuDevice.h"
#include "heddle/Target/CommandList.h"
#include "heddle/Target/CpuObject.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Config/llvm-config.h"

using namespace mlir;
using namespace heddle;

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

static constexpr std::pair<Stage, llvm::StringLiteral> kStages[] = {
    {Stage::Model, "model"}, {Stage::Fuse, "fuse"}, {Stage::Plan, "plan"},
    {Stage::Tile, "tile"},   {Stage::Cpu, "cpu"},   {Stage::Llvm, "llvm"},
    {Stage::Object, "object"},
};

llvm::StringRef heddle::stageName(Stage stage) {
  for (auto &[s, name] : kStages)
    if (s == stage)
      return name;
  return "";
}

std::optional<Stage> heddle::parseStage(llvm::StringRef name) {
  for (auto &[s, n] : kStages)
    if (n == name)
      return s;
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// The passes of each stage
//===----------------------------------------------------------------------===//

/// Contract M: checked, remat and layer structure gone, simplified.
static void addModelStage(OpPassManager &pm) {
  VerifyModelPassOptions options;
  options.target = "cpu";
  pm.addPass(createVerifyModelPass(options));
  pm.addNestedPass<func::FuncOp>(createInlineRegionsPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

/// Graph ops to launches of outlined kernels.
static void addFuseStage(OpPassManager &pm, const CpuTarget &target,
                         int64_t threads) {
  FuseKernelsPassOptions options;
  options.lanes = target.panelLanes;
  options.threads = threads;
  pm.addNestedPass<func::FuncOp>(createConvertElementwiseToLinalgPass());
  pm.addPass(createFuseKernelsPass(options));
}

/// Contract K: every value has a place.
static void addPlanStage(OpPassManager &pm) {
  pm.addPass(createPlanMemoryPass());
  pm.addPass(createCSEPass());
  pm.addPass(createVerifyKernelsPass());
}

/// Contract T: kernels are tile programs, each in a module of its own: from here
/// on they are compiled side by side.
static void addTileStage(OpPassManager &pm, const CpuTarget &target,
                         int64_t threads) {
  BuildTilesPassOptions options;
  options.lanes = target.panelLanes;
  options.threads = threads;
  pm.addPass(createIsolateKernelsPass());
  OpPassManager &kernel = pm.nest<ModuleOp>();
  kernel.addPass(createBuildTilesPass(options));
  kernel.addPass(createCSEPass());
  kernel.addPass(createVerifyTilesPass());
}

/// Vector loops on scratch memory.
static void addCpuStage(OpPassManager &pm, const std::string &cpu) {
  ConvertTileToCpuPassOptions options;
  options.cpu = cpu;
  OpPassManager &kernel = pm.nest<ModuleOp>();
  kernel.addPass(createConvertTileToCpuPass(options));
  kernel.addPass(createCanonicalizerPass());
  kernel.addPass(createCSEPass());
}

/// The LLVM dialect, with the runtime's calling convention.
static void addLlvmStage(OpPassManager &pm, const CpuTarget &target) {
  OpPassManager &kernel = pm.nest<ModuleOp>();
  kernel.addPass(createExpandVectorMathPass());
  kernel.addPass(createGuardDivisionPass());
  arith::ArithExpandOpsPassOptions expand;
  expand.includeBf16 = !llvm::is_contained(target.features, "avx512bf16");
  kernel.addPass(arith::createArithExpandOpsPass(expand));
  kernel.addPass(createLowerMemoryPass());
  kernel.addPass(createSCFToControlFlowPass());
  kernel.addPass(createConvertCpuToLLVMPass());
}

//===----------------------------------------------------------------------===//
// Driver
//===----------------------------------------------------------------------===//

/// Leaves only the chosen entry (and nothing else that is public).
static LogicalResult selectEntry(ModuleOp module, StringRef entry) {
  if (entry.empty())
    return success();
  SmallVector<func::FuncOp> others;
  std::string names;
  bool found = false;
  for (auto f : module.getOps<func::FuncOp>()) {
    names += (names.empty() ? "" : ", ") + f.getName().str();
    if (f.getName() == entry)
      found = true;
    else
      others.push_back(f);
  }
  if (!found)
    return module.emitError("expected a function named '")
           << entry << "', found " << (names.empty() ? "none" : names)
           << "; pass one of these as --entry";
  for (func::FuncOp f : others)
    f.erase();
  return success();
}

/// What code generation decided about each kernel.
static void describeKernels(ModuleOp module, Function &function) {
  for (KernelInfo &info : function.kernels) {
    Operation *f = SymbolTable::lookupSymbolIn(module, info.name);
    if (auto own = dyn_cast_or_null<ModuleOp>(f)) // isolated
      f = SymbolTable::lookupSymbolIn(own, info.name);
    if (!f)
      continue;
    if (auto n = f->getAttrOfType<IntegerAttr>("heddle.num_blocks"))
      info.numBlocks = n.getInt();
    if (auto n = f->getAttrOfType<IntegerAttr>("heddle.scratch_bytes"))
      info.scratchBytes = n.getInt();
    if (auto tile = f->getAttrOfType<StringAttr>(kKernelTile))
      info.description = tile.str();
    function.plan.scratchBytesPerThread =
        std::max(function.plan.scratchBytesPerThread, info.scratchBytes);
  }
}

LogicalResult heddle::compileModule(ModuleOp module,
                                    const CompileOptions &options,
                                    Program &program) {
  if (options.target != "cpu")
    return module.emitError("expected --target=cpu, got '")
           << options.target << "'; --list-targets lists what exists";
  CpuTarget target;
  std::string error;
  if (failed(CpuTarget::parse(options.cpu, target, error)))
    return module.emitError(error);
  if (failed(selectEntry(module, options.entry)))
    return failure();

  int64_t threads = cpuThreads();
  auto upTo = [&](Stage stage) { return options.compileTo >= stage; };
  std::string source;
  if (options.keepSource && options.entry.empty() && !options.source.empty()) {
    source = options.source;
  } else if (options.keepSource) {
    llvm::raw_string_ostream os(source);
    module->print(os, OpPrintingFlags().enableDebugInfo(false));
  }

  PassManager front(module.getContext());
  front.enableVerifier(options.verifyEach);
  if (options.configure)
    options.configure(front);
  addModelStage(front);
  if (upTo(Stage::Fuse))
    addFuseStage(front, target, threads);
  if (upTo(Stage::Plan))
    addPlanStage(front);
  if (failed(front.run(module)))
    return failure();
  if (!upTo(Stage::Tile))
    return success();

  program = Program();
  program.target = options.target;
  program.isa = target.isa;
  program.isaFeatures = target.features;
  program.producer = "heddle " HEDDLE_VERSION " llvm " LLVM_VERSION_STRING;
  SymbolTable symbols(module);
  for (auto f : module.getOps<func::FuncOp>()) {
    if (f->hasAttr(kKernelFamily))
      continue;
    Function function;
    if (failed(writeCommands(f, symbols, function)))
      return failure();
    function.source = source;
    program.functions.push_back(std::move(function));
  }

  PassManager back(module.getContext());
  back.enableVerifier(options.verifyEach);
  if (options.configure)
    options.configure(back);
  addTileStage(back, target, threads);
  if (upTo(Stage::Cpu))
    addCpuStage(back, options.cpu);
  if (upTo(Stage::Llvm))
    addLlvmStage(back, target);
  if (failed(back.run(module)))
    return failure();
  for (Function &function : program.functions)
    describeKernels(module, function);
  if (!upTo(Stage::Object))
    return success();
  llvm::StringMap<std::vector<uint8_t>> objects;
  if (failed(emitCpuObjects(module, target, objects)))
    return failure();
  for (Function &function : program.functions)
    for (const KernelInfo &kernel : function.kernels)
      function.objects.push_back(objects.lookup(kernel.name));
  return success();
}

LogicalResult heddle::emitLLVMText(ModuleOp module,
                                   const CompileOptions &options, bool assembly,
                                   std::string &text) {
  CpuTarget target;
  std::string error;
  if (failed(CpuTarget::parse(options.cpu, target, error)))
    return module.emitError(error);
  std::vector<uint8_t> bytes;
  if (failed(emitCpu(module, target,
                     assembly ? CpuOutput::Assembly : CpuOutput::LLVMText,
                     bytes)))
    return failure();
  text.assign(bytes.begin(), bytes.end());
  return success();
}

void heddle::registerCompilerPasses() {
  registerHeddlePasses();
  heddle_gpu::registerHeddleGpuPasses();
  registerHeddleCodegenPasses();
  registerHeddleGpuToNVVMPasses();
  registerHeddleNvvmToLLVMPasses();
  registerHeddleNvvmToEmulatorPasses();
  auto native = [] {
    CpuTarget target;
    std::string error;
    if (failed(CpuTarget::parse("native", target, error)))
      (void)CpuTarget::parse("x86-64-v3", target, error);
    return target;
  };
  PassPipelineRegistration<>(
      "heddle-stage-model", "contract M: check and simplify a model",
      [](OpPassManager &pm) { addModelStage(pm); });
  PassPipelineRegistration<>(
      "heddle-stage-fuse", "graph ops to launches of kernels",
      [native](OpPassManager &pm) { addFuseStage(pm, native(), cpuThreads()); });
  PassPipelineRegistration<>(
      "heddle-stage-plan", "contract K: a place in memory for every value",
      [](OpPassManager &pm) { addPlanStage(pm); });
  PassPipelineRegistration<>(
      "heddle-stage-tile", "contract T: kernels as tile programs",
      [native](OpPassManager &pm) { addTileStage(pm, native(), cpuThreads()); });
  PassPipelineRegistration<>(
      "heddle-stage-cpu", "tile programs to vector loops",
      [](OpPassManager &pm) { addCpuStage(pm, "native"); });
  PassPipelineRegistration<>(
      "heddle-stage-llvm", "vector loops to the LLVM dialect",
      [native](OpPassManager &pm) { addLlvmStage(pm, native()); });
}
