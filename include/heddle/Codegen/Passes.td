//===- Passes.td - tile programs and CPU code -----------------------------===//

#ifndef HEDDLE_CODEGEN_PASSES_TD
#define HEDDLE_CODEGEN_PASSES_TD

include "mlir/Pass/PassBase.td"

def BuildTilesPass : Pass<"heddle-build-tiles", "::mlir::ModuleOp"> {
  let summary = "replaces kernel bodies by tile programs (contract T)";
  let description = [{
    One builder per kernel family emits an scf.forall over the grid whose body
    works on static tiles. Kernels of the family `loops` become loops on
    buffers instead: one op that no builder tiles. On a GPU their grid is
    (blocks, threads of a block).
  }];
  let options = [
    Option<"lanes", "lanes", "int64_t", "32", "rows of a panel on the target">,
    Option<"threads", "threads", "int64_t", "2", "workers that a grid should feed">,
    Option<"blockThreads", "block-threads", "int64_t", "1",
           "threads of a block of loops; 1 on a CPU">,
    Option<"matrixUnits", "matrix-units", "bool", "false",
           "products take 16-bit operands as they are in memory">,
    Option<"queryTile", "query-tile", "int64_t", "0",
           "queries to a tile of attention; 0: chosen">,
    Option<"keyTile", "key-tile", "int64_t", "0",
           "keys to a tile of attention; 0: chosen">,
    Option<"gpu", "gpu", "std::string", "\"\"",
           "GPU as sm_80 whose limits tiles respect; default: the oldest">,
    Option<"warps", "warps", "int64_t", "0",
           "warps of a block of attention on a GPU; 0: 16 queries each">,
    Option<"stages", "stages", "int64_t", "2",
           "stages of its copied tiles on a GPU, where its tile is given">
  ];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::bufferization::BufferizationDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::gpu::GPUDialect", "::mlir::math::MathDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
    "::mlir::tensor::TensorDialect", "::mlir::vector::VectorDialect"
  ];
}

def VerifyTilesPass : Pass<"heddle-verify-tiles", "::mlir::ModuleOp"> {
  let summary = "checks contract T: the closed op list of tile programs";
}

def ConvertTileToCpuPass : Pass<"convert-tile-to-cpu", "::mlir::ModuleOp"> {
  let summary = "lowers tile programs to vector loops of a CPU";
  let description = [{
    Kernels become functions of their buffers, a block number and a scratch
    buffer.
  }];
  let options = [
    Option<"cpu", "cpu", "std::string", "\"native\"",
           "native, x86-64-v3 or x86-64-v4">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
    "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"
  ];
}

def IsolateKernelsPass : Pass<"heddle-isolate-kernels", "::mlir::ModuleOp"> {
  let summary = "moves each kernel into a module of its own";
  let description = [{
    What follows is compiled one kernel at a time, on all cores. Entry functions,
    whose commands run elsewhere, are dropped.
  }];
}

def LowerMemoryPass : Pass<"heddle-lower-memory", "::mlir::ModuleOp"> {
  let summary = "turns the buffers of CPU kernels into pointers";
  let description = [{
    Loads, stores, views and constant tables become accesses of the LLVM dialect
    at shared base pointers, and a kernel `@k(buffers..., block, scratch)` gets
    the runtime's calling convention:
    `void k(void *const *args, int64_t block, void *scratch)`.
  }];
  let dependentDialects = [
    "::mlir::LLVM::LLVMDialect", "::mlir::arith::ArithDialect"
  ];
}

def ConvertCpuToLLVMPass : Pass<"convert-cpu-to-llvm", "::mlir::ModuleOp"> {
  let summary = "converts the vector code of CPU kernels to the LLVM dialect";
  let description = [{
    Upstream's conversions of func, cf, arith, math, index, affine and vector in
    one walk. Expects heddle-lower-memory before it.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def ConvertTileToGpuPass : Pass<"convert-tile-to-gpu", "::mlir::ModuleOp"> {
  let summary = "lowers tile programs to contract G";
  let description = [{
    Each kernel becomes a gpu.module with one kernel of a grid along x. Tiles get
    layouts: accumulators of products first, the rest from their users and
    operands. Operands of products are staged in shared memory.
  }];
  let options = [
    Option<"warps", "warps", "int64_t", "4", "warps of a block">
  ];
  let dependentDialects = [
    "::heddle_gpu::HeddleGpuDialect", "::mlir::arith::ArithDialect",
    "::mlir::gpu::GPUDialect", "::mlir::math::MathDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
    "::mlir::tensor::TensorDialect"
  ];
}

def GpuDeferReductionsPass
    : Pass<"heddle-gpu-defer-reductions", "::mlir::gpu::GPUModuleOp"> {
  let summary = "sums lanes that a loop carries after the loop";
  let description = [{
    A carried `sum * factor + reduce(tile)` is kept for each lane apart; one
    reduction follows the loop.
  }];
  let dependentDialects = [
    "::heddle_gpu::HeddleGpuDialect", "::mlir::arith::ArithDialect"
  ];
}

def GpuPipelineCopiesPass
    : Pass<"heddle-gpu-pipeline-copies", "::mlir::gpu::GPUModuleOp"> {
  let summary = "starts copies to shared memory rounds ahead of their use";
  let description = [{
    In loops that copy tiles, wait and compute, the tiles get several stages and
    the copies of later rounds run while a round computes. With one stage and
    `turns` tiles that are used one after the other take turns: one is copied
    while the other is used. Attributes of a kernel, `heddle.stages` and
    `heddle.turns`, override the options.
  }];
  let options = [
    Option<"stages", "stages", "int64_t", "2",
           "rounds whose tiles are in flight or in use; 1 leaves the loops as "
           "they are, but for turns">,
    Option<"turns", "turns", "bool", "false",
           "with one stage, tiles take turns">
  ];
  let dependentDialects = [
    "::heddle_gpu::HeddleGpuDialect", "::mlir::arith::ArithDialect",
    "::mlir::scf::SCFDialect"
  ];
}

def GpuExpandSharedPass
    : Pass<"heddle-gpu-expand-shared", "::mlir::gpu::GPUModuleOp"> {
  let summary = "writes out what passes through shared memory";
  let description = [{
    Changes of layout for which neither a renaming of registers nor shuffles of a
    warp do, or are as cheap, and reductions and scans across warps become stores,
    barriers and loads.
  }];
  let dependentDialects = ["::heddle_gpu::HeddleGpuDialect"];
}

def GpuAllocateSharedPass
    : Pass<"heddle-gpu-allocate-shared", "::mlir::gpu::GPUModuleOp"> {
  let summary = "gives each tile in shared memory its offset";
  let description = [{
    Tiles whose uses do not overlap share bytes. A kernel's need is its attribute
    `heddle_gpu.shared_bytes`.
  }];
  let dependentDialects = ["::heddle_gpu::HeddleGpuDialect"];
}

def ExpandVectorMathPass : Pass<"heddle-expand-vector-math"> {
  let summary = "expands math functions on vectors into arithmetic";
  let description = [{
    Uses MLIR's polynomial approximations for what convert-tile-to-cpu leaves
    (log, sin, cos, ...); functions that have none become calls of libm.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
    "::mlir::vector::VectorDialect"
  ];
}

def GuardDivisionPass : Pass<"heddle-guard-division"> {
  let summary = "gives integer division a result where the hardware traps";
  let description = [{
    A quotient or remainder by zero is 0, and the lowest number divided by -1
    wraps. The IR leaves both undefined and x86 stops the process, also in lanes
    that only hold padding. Divisions by constants stay as they are.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

#endif // HEDDLE_CODEGEN_PASSES_TD
