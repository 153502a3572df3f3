//===- Pipelines.cpp - the compiler in order ------------------------------===//

#include "heddle/Pipelines/Pipelines.h"
#include "heddle/Codegen/CPU/CpuTarget.h"
#include "heddle/Codegen/GPU/AttentionTiles.h"
#include "heddle/Codegen/Tile/KernelBody.h"
#include "heddle/Codegen/Tile/TileBuilder.h"
#include "heddle/Dialect/Heddle/Transforms/Loops.h"
#include "heddle/Target/CommandList.h"
#include "heddle/Target/CpuObject.h"
#include "heddle/Target/GpuImages.h"
#include "heddle/Target/KernelCost.h"

#include "ElementKernels.h"
#include "F32Precision.h"
#include "KernelModules.h"
#include "LowerKernelsToGpu.h"
#include "Stages.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Config/llvm-config.h"

using namespace mlir;
using namespace heddle;

/// Blocks of a launch on tables: a few more than run at once even out the end.
static constexpr int64_t kTableBlocksPerMultiprocessor = 8;

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
      names += (names.empty()        ? ""
                : s == Stage::Object ? " or "
                                     : ", ") +
               n.str();
  return names;
}

LogicalResult heddle::parseTargets(StringRef text,
                                   SmallVectorImpl<const GpuTarget *> &targets,
                                   std::string &error) {
  targets.clear();
  if (text == "cpu")
    return success();
  for (StringRef name : llvm::split(text, ',')) {
    const GpuTarget *target = nullptr;
    if (failed(GpuTarget::parse(name, target, error))) {
      error = "expected --target to be cpu, " + GpuTarget::names() + ", got '" +
              name.str() + "'";
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
  TileTarget tiles;         // of the first target
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

LogicalResult Driver::runPasses(ModuleOp on,
                                llvm::function_ref<void(OpPassManager &)> add) {
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
