//===- Pipelines.cpp - the compiler in order ------------------------------===//

#include "heddle/Pipelines/Pipelines.h"
#include "heddle/Codegen/CPU/CpuTarget.h"
#include "heddle/Codegen/GPU/AttentionTiles.h"
#include "heddle/Codegen/Passes.h"
#include "heddle/Codegen/Tile/KernelBody.h"
#include "heddle/Codegen/Tile/TileBuilder.h"
#include "heddle/Conversion/HeddleGpuToNVVM/HeddleGpuToNVVM.h"
#include "heddle/Conversion/HeddleNvvmToLLVM/HeddleNvvmToLLVM.h"
#include "heddle/Conversion/NvvmToEmulator/NvvmToEmulator.h"
#include "heddle/Dialect/Heddle/Transforms/InlineCalls.h"
#include "heddle/Dialect/Heddle/Transforms/Loops.h"
#include "heddle/Dialect/HeddleNvvm/Transforms/Passes.h"
#include "heddle/Dialect/Heddle/Transforms/Passes.h"
#include "heddle/Dialect/HeddleGpu/Transforms/Passes.h"
#include "heddle/Runtime/CpuDevice.h"
#include "heddle/Target/CommandList.h"
#include "heddle/Target/CpuObject.h"
#include "heddle/Target/GpuImages.h"
#include "heddle/Target/KernelCost.h"

#include "ElementKernels.h"
#include "F32Precision.h"
#include "KernelModules.h"
#include "LowerKernelsToGpu.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Config/llvm-config.h"

using namespace mlir;
using namespace heddle;

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

static constexpr std::pair<Stage, llvm::StringLiteral> kStages[] = {
    {Stage::Model, "model"}, {Stage::Differentiate, "differentiate"},
    {Stage::Fuse, "fuse"},   {Stage::Plan, "plan"},
    {Stage::Tile, "tile"},   {Stage::Cpu, "cpu"},
    {Stage::Llvm, "llvm"},   {Stage::Gpu, "gpu"},
    {Stage::Nvvm, "nvvm"},   {Stage::Object, "object"},
};

/// Whether a stage belongs to the other kind of target.
static bool isOfOthers(Stage stage, bool gpu) {
  return gpu ? stage == Stage::Cpu || stage == Stage::Llvm
             : stage == Stage::Gpu || stage == Stage::Nvvm;
}

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

std::string heddle::stageNames(bool gpu) {
  std::string names;
  for (auto &[s, n] : kStages)
    if (!isOfOthers(s, gpu))
      names += (names.empty() ? "" : s == Stage::Object ? " or " : ", ") + n.str();
  return names;
}

LogicalResult
heddle::parseTargets(StringRef text, SmallVectorImpl<const GpuTarget *> &targets,
                     std::string &error) {
  targets.clear();
  if (text == "cpu")
    return success();
  for (StringRef name : llvm::split(text, ',')) {
    const GpuTarget *target = nullptr;
    if (failed(GpuTarget::parse(name, target, error))) {
      error = "expected --target to be cpu, " + GpuTarget::names() +
              ", got '" + name.str() + "'";
      return failure();
    }
    if (llvm::is_contained(targets, target)) {
      error = "expected each target once, got '" + name.str() + "' twice";
      return failure();
    }
    targets.push_back(target);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// The passes of each stage
//===----------------------------------------------------------------------===//

/// What the stages up to tile programs know of a target.
static TileTarget tileTarget(const CpuTarget &cpu) {
  TileTarget target;
  target.lanes = cpu.panelLanes;
  target.threads = cpuThreads();
  return target;
}

/// A product of a warp has 16 rows, and a block has four warps; the grid feeds
/// all multiprocessors of the smallest chip.
static TileTarget tileTarget(const GpuTarget &gpu) {
  TileTarget target;
  target.lanes = 16;
  target.blockThreads = 128;
  target.threads = gpu.chips.front().multiprocessors;
  for (const GpuChip &chip : gpu.chips)
    target.threads = std::min<int64_t>(target.threads, chip.multiprocessors);
  target.matrixUnits = true;
  return target;
}

/// Blocks of a launch on tables: a few more than run at once even out the end.
static constexpr int64_t kTableBlocksPerMultiprocessor = 8;

/// A graph is one block: there are no regions to simplify, and what a rewrite
/// changes is looked at again at once, so that a second sweep over all ops finds
/// nothing.
static std::unique_ptr<Pass> createGraphCanonicalizer() {
  GreedyRewriteConfig config;
  config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
  config.setMaxIterations(1);
  return createCanonicalizerPass(config);
}

/// Contract M: checked and simplified.
static void addModelStage(OpPassManager &pm, StringRef target) {
  pm.addPass(createInlineCallsPass());
  VerifyModelPassOptions options;
  options.target = target.str();
  pm.addPass(createVerifyModelPass(options));
  pm.addPass(createGraphCanonicalizer());
  pm.addPass(createCSEPass());
}

/// Gradients written out, then remat and layer structure gone.
static void addDifferentiateStage(OpPassManager &pm) {
  pm.addPass(createDecomposeSsdPass());
  pm.addPass(createDifferentiatePass());
  pm.addPass(createOutlineLoopsPass());
  pm.addNestedPass<func::FuncOp>(createInlineRegionsPass());
  pm.addPass(createGraphCanonicalizer());
  pm.addPass(createCSEPass());
}

/// Graph ops to launches of outlined kernels.
static void addFuseStage(OpPassManager &pm, const TileTarget &target,
                         int64_t scanChunks = 0) {
  FuseKernelsPassOptions options;
  options.lanes = target.lanes;
  options.threads = target.threads;
  options.matrixUnits = target.matrixUnits;
  SplitAttentionGradPassOptions split;
  split.threads = target.matrixUnits ? 0 : target.threads;
  pm.addNestedPass<func::FuncOp>(createSplitAttentionGradPass(split));
  if (target.matrixUnits) {
    ChunkScansPassOptions chunks;
    chunks.threads = target.threads;
    chunks.chunks = scanChunks;
    pm.addNestedPass<func::FuncOp>(createKeepScanStatesPass());
    pm.addNestedPass<func::FuncOp>(createChunkScansPass(chunks));
  }
  SplitScansPassOptions scans;
  scans.lanes = target.lanes;
  scans.threads = target.threads;
  scans.matrixUnits = target.matrixUnits;
  pm.addNestedPass<func::FuncOp>(createSplitScansPass(scans));
  pm.addNestedPass<func::FuncOp>(createFoldCastsPass());
  pm.addNestedPass<func::FuncOp>(createConvertElementwiseToLinalgPass());
  pm.addNestedPass<func::FuncOp>(createWidenDecaysPass());
  pm.addNestedPass<func::FuncOp>(createCollapseReductionsPass());
  pm.addNestedPass<func::FuncOp>(createSplitReductionsPass());
  pm.addPass(createFuseKernelsPass(options));
}

/// Contract K: every value has a place.
static void addPlanStage(OpPassManager &pm) {
  pm.addPass(createScheduleKernelsPass());
  pm.addPass(createPlanMemoryPass());
  pm.addPass(createCSEPass());
  pm.addPass(createVerifyKernelsPass());
}

/// Contract T: kernels are tile programs, each in a module of its own: from here
/// on they are compiled side by side.
static void addTileStage(OpPassManager &pm, const TileTarget &target,
                         F32Precision precision = F32Precision::Ieee,
                         const GpuTarget *gpu = nullptr,
                         const AttentionTiles &attention = {}) {
  BuildTilesPassOptions options;
  options.lanes = target.lanes;
  options.threads = target.threads;
  options.blockThreads = target.blockThreads;
  options.matrixUnits = target.matrixUnits;
  options.queryTile = target.queryTile;
  options.keyTile = target.keyTile;
  if (precision == F32Precision::Tf32)
    pm.addPass(createAllowTf32Pass());
  if (gpu) {
    options.gpu = gpu->name.str();
    options.queryTile = attention.queries;
    options.keyTile = attention.keys;
    options.warps = attention.warps;
    options.stages = attention.stages;
  }
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

/// Contract G: tiles in registers and shared memory of a block.
void heddle::addGpuPasses(OpPassManager &kernel) {
  kernel.addPass(createConvertTileToGpuPass());
  OpPassManager &gpu = kernel.nest<gpu::GPUModuleOp>();
  gpu.addPass(heddle_gpu::createRemoveConversionsPass());
  gpu.addPass(createCanonicalizerPass());
  gpu.addPass(createCSEPass());
  gpu.addPass(createGpuDeferReductionsPass());
  gpu.addPass(createGpuPipelineCopiesPass());
  gpu.addPass(createGpuExpandSharedPass());
  gpu.addPass(createGpuAllocateSharedPass());
  kernel.addPass(heddle_gpu::createVerifyGpuPass());
}

/// Contract N: the code of one thread in the LLVM and NVVM dialects.
void heddle::addNvvmPasses(OpPassManager &kernel) {
  OpPassManager &gpu = kernel.nest<gpu::GPUModuleOp>();
  gpu.addPass(createConvertHeddleGpuToLanesPass());
  gpu.addPass(createGuardDivisionPass());
  gpu.addPass(createCSEPass());
  gpu.addPass(createConvertLanesToNVVMPass());
  gpu.addPass(createCanonicalizerPass());
  gpu.addPass(createCSEPass());
  kernel.addPass(nvvm::createVerifyNvvmPass());
}

//===----------------------------------------------------------------------===//
// Driver
//===----------------------------------------------------------------------===//

/// Marks what `f` calls and the losses that gradients in it are taken of.
static void findCallees(func::FuncOp f, DenseSet<Operation *> &callees) {
  f.walk([&](Operation *op) {
    FlatSymbolRefAttr name;
    if (auto gradient = dyn_cast<ValueAndGradOp>(op))
      name = gradient.getCalleeAttr();
    else if (auto call = dyn_cast<func::CallOp>(op))
      name = call.getCalleeAttr();
    if (!name)
      return;
    auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(op, name);
    if (callee && callees.insert(callee).second)
      findCallees(callee, callees);
  });
}

/// Leaves only the chosen entry and, private, what it calls or differentiates.
static LogicalResult selectEntry(ModuleOp module, StringRef entry) {
  if (entry.empty())
    return success();
  std::string names;
  func::FuncOp found;
  for (auto f : module.getOps<func::FuncOp>()) {
    names += (names.empty() ? "" : ", ") + f.getName().str();
    if (f.getName() == entry)
      found = f;
  }
  if (!found)
    return module.emitError("expected a function named '")
           << entry << "', found " << (names.empty() ? "none" : names)
           << "; pass one of these as --entry";
  DenseSet<Operation *> callees;
  findCallees(found, callees);
  SmallVector<func::FuncOp> functions(module.getOps<func::FuncOp>());
  for (func::FuncOp f : functions) {
    if (f == found)
      continue;
    if (callees.contains(f))
      f.setPrivate();
    else
      f.erase();
  }
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

namespace {
/// One compilation.
class Driver {
public:
  Driver(ModuleOp module, const CompileOptions &options, Program &program)
      : module(module), options(options), program(program) {}
  LogicalResult run();

private:
  bool upTo(Stage stage) const { return options.compileTo >= stage; }
  LogicalResult readTarget();
  LogicalResult runPasses(ModuleOp on,
                          llvm::function_ref<void(OpPassManager &)> add);
  LogicalResult front();
  LogicalResult makeProgram();
  void eraseUnlaunched();
  LogicalResult cpuBack();
  LogicalResult gpuBack();
  LogicalResult gpuBack(ModuleOp kernels, const GpuTarget &target);
  LogicalResult kernels();
  LogicalResult lowerKernels(ModuleOp kernels, const GpuTarget &target,
                             const llvm::StringMap<int64_t> &traffic,
                             bool fromTiles);

  ModuleOp module;
  const CompileOptions &options;
  Program &program;
  SmallVector<const GpuTarget *> gpus; // none: a CPU
  CpuTarget cpu;
  TileTarget tiles; // of the first target
  AttentionTiles attention; // that were asked for
  std::string source;
};
} // namespace

LogicalResult Driver::readTarget() {
  std::string error;
  if (failed(parseTargets(options.target, gpus, error)))
    return module.emitError(error);
  bool gpu = !gpus.empty();
  if (isOfOthers(options.compileTo, gpu))
    return module.emitError("expected a stage of --target=")
           << options.target << ": " << stageNames(gpu) << ", got '"
           << stageName(options.compileTo) << "'";
  if (!gpu && options.f32Precision == F32Precision::Tf32)
    return module.emitError("expected GPU targets with --f32-precision=tf32, "
                            "got --target=cpu, which has IEEE f32 only");
  if (!gpu && failed(CpuTarget::parse(options.cpu, cpu, error)))
    return module.emitError(error);
  if (options.scanChunks && !gpu)
    return module.emitError("expected a GPU target with chunks of scans, got '")
           << options.target << "'";
  if (!options.tile.empty()) {
    if (!gpu)
      return module.emitError("expected a GPU target with a tile, got '")
             << options.target << "'";
    if (failed(AttentionTiles::parse(options.tile, attention, error)))
      return module.emitError(error);
  }
  tiles = gpu ? tileTarget(*gpus.front()) : tileTarget(cpu);
  return success();
}

LogicalResult
Driver::runPasses(ModuleOp on, llvm::function_ref<void(OpPassManager &)> add) {
  PassManager pm(on.getContext());
  pm.enableVerifier(options.verifyEach);
  if (options.configure)
    options.configure(pm);
  add(pm);
  return pm.run(on);
}

LogicalResult Driver::front() {
  return runPasses(module, [&](OpPassManager &pm) {
    addModelStage(pm, gpus.empty() ? "cpu" : "gpu");
    if (upTo(Stage::Differentiate))
      addDifferentiateStage(pm);
    if (upTo(Stage::Fuse))
      addFuseStage(pm, tiles, options.scanChunks);
    if (upTo(Stage::Plan))
      addPlanStage(pm);
  });
}

/// Signature, commands and plan of every function; kernels by name only.
LogicalResult Driver::makeProgram() {
  program = Program();
  program.producer = "heddle " HEDDLE_VERSION " llvm " LLVM_VERSION_STRING;
  if (gpus.empty()) {
    program.target = "cpu";
    program.isa = cpu.isa;
    program.isaFeatures = cpu.features;
  } else {
    program.target = "cuda";
    program.isa = options.target;
    // The emulator runs GPU kernels as code of this machine.
    std::string error;
    if (options.gpu.makeEmulator) {
      if (failed(CpuTarget::parse("native", cpu, error)))
        return module.emitError(error);
      program.isaFeatures = cpu.features;
    }
  }
  if (isKernelModule(module))
    return readKernelModule(module, program);
  SymbolTable symbols(module);
  CommandOptions commands;
  std::optional<ElementKernels> elements;
  if (!gpus.empty()) {
    elements.emplace(module, symbols);
    commands.launchAlignment = kGpuBufferAlignment;
    commands.tables = &*elements;
    commands.tableBlocks = kTableBlocksPerMultiprocessor * tiles.threads;
  }
  SmallVector<func::FuncOp> entries;
  for (auto f : module.getOps<func::FuncOp>())
    if (!f.isExternal() && !f->hasAttr(kKernelFamily) && !isLoopBody(f))
      entries.push_back(f);
  for (func::FuncOp f : entries) {
    Function function;
    if (failed(writeCommands(f, symbols, function, commands)))
      return failure();
    function.source = source;
    program.functions.push_back(std::move(function));
  }
  eraseUnlaunched();
  return success();
}

/// Kernels whose launches have become others', and the functions that launch
/// them: from here on the commands are what counts.
void Driver::eraseUnlaunched() {
  llvm::StringSet<> launched;
  for (const Function &function : program.functions)
    for (const KernelInfo &kernel : function.kernels)
      launched.insert(kernel.name);
  for (auto f : llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
    if (!f.isExternal() && !launched.contains(f.getName()))
      f.erase();
}

LogicalResult Driver::cpuBack() {
  if (failed(runPasses(module, [&](OpPassManager &pm) {
        addTileStage(pm, tiles);
        if (upTo(Stage::Cpu))
          addCpuStage(pm, options.cpu);
        if (upTo(Stage::Llvm))
          addLlvmStage(pm, cpu);
      })))
    return failure();
  for (Function &function : program.functions)
    describeKernels(module, function);
  if (!upTo(Stage::Object))
    return success();
  llvm::StringMap<std::vector<uint8_t>> objects;
  if (failed(emitCpuObjects(module, cpu, objects)))
    return failure();
  for (Function &function : program.functions)
    for (const KernelInfo &kernel : function.kernels)
      function.objects.push_back(objects.lookup(kernel.name));
  return success();
}

LogicalResult Driver::gpuBack(ModuleOp kernels, const GpuTarget &target) {
  if (failed(runPasses(kernels, [&](OpPassManager &pm) {
        addTileStage(pm, tileTarget(target), options.f32Precision, &target,
                     attention);
      })))
    return failure();
  if (!upTo(Stage::Gpu))
    return success();
  llvm::StringMap<int64_t> traffic;
  for (auto kernel : kernels.getOps<ModuleOp>())
    for (auto f : kernel.getOps<func::FuncOp>())
      if (std::optional<int64_t> bytes = tileTraffic(f))
        traffic[f.getName()] = *bytes;
  return lowerKernels(kernels, target, traffic, /*fromTiles=*/true);
}

LogicalResult Driver::lowerKernels(ModuleOp kernels, const GpuTarget &target,
                                   const llvm::StringMap<int64_t> &traffic,
                                   bool fromTiles) {
  // Both at once: what either refuses is listed together.
  if (failed(runPasses(kernels, [&](OpPassManager &pm) {
        pm.addPass(createLowerKernelsToGpuPass(fromTiles, upTo(Stage::Nvvm)));
      })))
    return failure();
  if (!upTo(Stage::Object))
    return success();
  for (Function &function : program.functions)
    if (failed(
            appendGpuImages(kernels, target, options.gpu, function, traffic)))
      return failure();
  return success();
}

/// Kernels that are written at contract G or N.
LogicalResult Driver::kernels() {
  if (gpus.empty())
    return module.emitError("expected a GPU for a module of kernels, got "
                            "--target=cpu; use --target=")
           << GpuTarget::names();
  if (failed(makeProgram()))
    return failure();
  if (!upTo(Stage::Nvvm))
    return success();
  for (const GpuTarget *target : llvm::ArrayRef(gpus).drop_back()) {
    OwningOpRef<ModuleOp> copy = module.clone();
    if (failed(lowerKernels(*copy, *target, {}, /*fromTiles=*/false)))
      return failure();
  }
  return lowerKernels(module, *gpus.back(), {}, /*fromTiles=*/false);
}

LogicalResult Driver::gpuBack() {
  for (const GpuTarget *target : llvm::ArrayRef(gpus).drop_back()) {
    OwningOpRef<ModuleOp> copy = module.clone();
    if (failed(gpuBack(*copy, *target)))
      return failure();
  }
  return gpuBack(module, *gpus.back());
}

LogicalResult Driver::run() {
  if (failed(readTarget()))
    return failure();
  if (isKernelModule(module))
    return kernels();
  if (failed(selectEntry(module, options.entry)))
    return failure();
  bool tf32 = options.f32Precision == F32Precision::Tf32;
  if (tf32 && failed(runPasses(module, [](OpPassManager &pm) {
        pm.addPass(createAllowTf32Pass());
      })))
    return failure();
  if (options.keepSource && options.entry.empty() && !options.source.empty() &&
      !tf32) {
    source = options.source;
  } else if (options.keepSource) {
    llvm::raw_string_ostream os(source);
    module->print(os, OpPrintingFlags().enableDebugInfo(false));
  }
  if (failed(front()))
    return failure();
  if (!upTo(Stage::Tile))
    return success();
  if (failed(makeProgram()))
    return failure();
  return gpus.empty() ? cpuBack() : gpuBack();
}

LogicalResult heddle::compileModule(ModuleOp module,
                                    const CompileOptions &options,
                                    Program &program) {
  return Driver(module, options, program).run();
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

//===----------------------------------------------------------------------===//
// Registration
//===----------------------------------------------------------------------===//

namespace {
struct StageOptions : PassPipelineOptions<StageOptions> {
  Option<std::string> target{
      *this, "target", llvm::cl::desc("cpu, or a GPU as sm_80"),
      llvm::cl::init("cpu")};
  Option<std::string> f32Precision{*this, "f32-precision",
                                   llvm::cl::desc("ieee or tf32, on a GPU"),
                                   llvm::cl::init("ieee")};

  F32Precision precision() const {
    return parseF32Precision(f32Precision).value_or(F32Precision::Ieee);
  }
  /// The target's tiles; an unknown one stands for the CPU of this machine.
  TileTarget tiles() const {
    const GpuTarget *gpu = nullptr;
    std::string error;
    if (succeeded(GpuTarget::parse(target, gpu, error)))
      return tileTarget(*gpu);
    return tileTarget(native());
  }
  static CpuTarget native() {
    CpuTarget cpu;
    std::string error;
    if (failed(CpuTarget::parse("native", cpu, error)))
      (void)CpuTarget::parse("x86-64-v3", cpu, error);
    return cpu;
  }
};
} // namespace

static void registerStages() {
  PassPipelineRegistration<StageOptions>(
      "heddle-stage-model", "contract M: check and simplify a model",
      [](OpPassManager &pm, const StageOptions &options) {
        addModelStage(pm, options.target == "cpu" ? "cpu" : "gpu");
      });
  PassPipelineRegistration<>(
      "heddle-stage-differentiate", "gradients and layers written out",
      [](OpPassManager &pm) { addDifferentiateStage(pm); });
  PassPipelineRegistration<StageOptions>(
      "heddle-stage-fuse", "graph ops to launches of kernels",
      [](OpPassManager &pm, const StageOptions &options) {
        addFuseStage(pm, options.tiles());
      });
  PassPipelineRegistration<>(
      "heddle-stage-plan", "contract K: a place in memory for every value",
      [](OpPassManager &pm) { addPlanStage(pm); });
  PassPipelineRegistration<StageOptions>(
      "heddle-stage-tile", "contract T: kernels as tile programs",
      [](OpPassManager &pm, const StageOptions &options) {
        addTileStage(pm, options.tiles(), options.precision());
      });
  PassPipelineRegistration<>(
      "heddle-stage-cpu", "tile programs to vector loops",
      [](OpPassManager &pm) { addCpuStage(pm, "native"); });
  PassPipelineRegistration<>(
      "heddle-stage-llvm", "vector loops to the LLVM dialect",
      [](OpPassManager &pm) { addLlvmStage(pm, StageOptions::native()); });
  PassPipelineRegistration<>(
      "heddle-stage-gpu", "contract G: tile programs to kernels of a GPU",
      [](OpPassManager &pm) {
        pm.addPass(createLowerKernelsToGpuPass(true, false));
      });
  PassPipelineRegistration<>(
      "heddle-stage-nvvm", "contract N: the LLVM and NVVM dialects",
      [](OpPassManager &pm) {
        pm.addPass(createLowerKernelsToGpuPass(false, true));
      });
}

void heddle::registerCompilerPasses() {
  registerHeddlePasses();
  heddle_gpu::registerHeddleGpuPasses();
  registerHeddleCodegenPasses();
  registerHeddleGpuToNVVMPasses();
  nvvm::registerHeddleNvvmPasses();
  registerHeddleNvvmToLLVMPasses();
  registerHeddleNvvmToEmulatorPasses();
  registerAllowTf32Pass();
  registerInlineCallsPass();
  registerLowerKernelsToGpuPass();
  registerStages();
}
