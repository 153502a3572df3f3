//===- Stages.cpp - the passes of each stage ------------------------------===//

#include "Stages.h"
#include "F32Precision.h"
#include "LowerKernelsToGpu.h"

#include "heddle/Codegen/Passes.h"
#include "heddle/Conversion/HeddleGpuToNVVM/HeddleGpuToNVVM.h"
#include "heddle/Conversion/HeddleNvvmToLLVM/HeddleNvvmToLLVM.h"
#include "heddle/Conversion/NvvmToEmulator/NvvmToEmulator.h"
#include "heddle/Dialect/Heddle/Transforms/InlineCalls.h"
#include "heddle/Dialect/Heddle/Transforms/Passes.h"
#include "heddle/Dialect/HeddleGpu/Transforms/Passes.h"
#include "heddle/Dialect/HeddleNvvm/Transforms/Passes.h"
#include "heddle/Runtime/CpuDevice.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace heddle;

/// What the stages up to tile programs know of a target.
TileTarget heddle::tileTarget(const CpuTarget &cpu) {
  TileTarget target;
  target.lanes = cpu.panelLanes;
  target.threads = cpuThreads();
  return target;
}

/// A product of a warp has 16 rows, and a block has four warps; the grid feeds
/// all multiprocessors of the smallest chip.
TileTarget heddle::tileTarget(const GpuTarget &gpu) {
  TileTarget target;
  target.lanes = 16;
  target.blockThreads = 128;
  target.threads = gpu.chips.front().multiprocessors;
  for (const GpuChip &chip : gpu.chips)
    target.threads = std::min<int64_t>(target.threads, chip.multiprocessors);
  target.matrixUnits = true;
  return target;
}

/// A graph is one block: there are no regions to simplify, and what a rewrite
/// changes is looked at again at once, so that a second sweep over all ops
/// finds nothing.
static std::unique_ptr<Pass> createGraphCanonicalizer() {
  GreedyRewriteConfig config;
  config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
  config.setMaxIterations(1);
  return createCanonicalizerPass(config);
}

/// Contract M: checked and simplified.
void heddle::addModelStage(OpPassManager &pm, StringRef target) {
  pm.addPass(createInlineCallsPass());
  VerifyModelPassOptions options;
  options.target = target.str();
  pm.addPass(createVerifyModelPass(options));
  pm.addPass(createGraphCanonicalizer());
  pm.addPass(createCSEPass());
}

/// Gradients written out, then remat and layer structure gone.
void heddle::addDifferentiateStage(OpPassManager &pm) {
  pm.addPass(createDecomposeSsdPass());
  pm.addPass(createDifferentiatePass());
  // Before unused results go, which may tell equal ops apart.
  pm.addPass(createCSEPass());
  pm.addPass(createOutlineLoopsPass());
  pm.addNestedPass<func::FuncOp>(createInlineRegionsPass());
  pm.addPass(createGraphCanonicalizer());
  pm.addPass(createCSEPass());
}

/// Graph ops to launches of outlined kernels.
void heddle::addFuseStage(OpPassManager &pm, const TileTarget &target,
                          int64_t scanChunks) {
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
    pm.addNestedPass<func::FuncOp>(createChunkScansPass(chunks));
    pm.addNestedPass<func::FuncOp>(createKeepScanStatesPass());
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
void heddle::addPlanStage(OpPassManager &pm) {
  pm.addPass(createScheduleKernelsPass());
  pm.addPass(createPlanMemoryPass());
  pm.addPass(createCSEPass());
  pm.addPass(createVerifyKernelsPass());
}

/// Contract T: kernels are tile programs, each in a module of its own: from
/// here on they are compiled side by side.
void heddle::addTileStage(OpPassManager &pm, const TileTarget &target,
                          F32Precision precision, const GpuTarget *gpu,
                          const AttentionTiles &attention) {
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
void heddle::addCpuStage(OpPassManager &pm, const std::string &cpu) {
  ConvertTileToCpuPassOptions options;
  options.cpu = cpu;
  OpPassManager &kernel = pm.nest<ModuleOp>();
  kernel.addPass(createConvertTileToCpuPass(options));
  kernel.addPass(createCanonicalizerPass());
  kernel.addPass(createCSEPass());
}

/// The LLVM dialect, with the runtime's calling convention.
void heddle::addLlvmStage(OpPassManager &pm, const CpuTarget &target) {
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
// Registration
//===----------------------------------------------------------------------===//

namespace {
struct StageOptions : PassPipelineOptions<StageOptions> {
  Option<std::string> target{*this, "target",
                             llvm::cl::desc("cpu, or a GPU as sm_80"),
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
  PassPipelineRegistration<>("heddle-stage-plan",
                             "contract K: a place in memory for every value",
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
