//===- GpuEmitter.h - emits contract G from a tile program ------*- C++ -*-===//
//
// Walks a tile program in order and emits contract G. Loads and splats are
// emitted where they are used, in the layout of their user: what a product
// reads goes through shared memory, what arithmetic reads comes straight from
// global memory into the registers that need it.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_LIB_CODEGEN_GPU_GPUEMITTER_H
#define HEDDLE_LIB_CODEGEN_GPU_GPUEMITTER_H

#include "TileLayouts.h"

#include "heddle/Codegen/Tile/KernelBody.h"
#include "heddle/Dialect/Heddle/IR/Heddle.h"
#include "heddle/Dialect/HeddleGpu/IR/HeddleGpu.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

namespace heddle {

/// Emits one kernel.
class GpuEmitter {
public:
  GpuEmitter(mlir::func::FuncOp kernel, mlir::scf::ForallOp grid, int64_t warps)
      : kernel(kernel), grid(grid), warps(warps),
        layouts(grid, warps, kernel->hasAttr(kKernelTf32)),
        b(kernel.getContext()), loc(kernel.getLoc()) {}

  /// Replaces the kernel by a gpu.module of its name; reports what it cannot.
  llvm::LogicalResult run();

private:
  using Layout = heddle_gpu::Layout;
  using Value = mlir::Value;

  /// A tile in global memory that is not loaded yet.
  struct PendingLoad {
    Value buffer; // memref of the gpu.func
    llvm::SmallVector<Value> offsets;
    llvm::SmallVector<int64_t> dims; // axes of the buffer
    bool ragged = false;
    mlir::TypedAttr pad;
  };
  /// The layouts in which a product reads its operands.
  struct Operands {
    heddle_gpu::ProductKind kind;
    Value left, right; // behind a transpose, what lies in memory
    std::optional<Layout> a, b;
    bool transA, transB;
  };

  // Control flow: ConvertTileToGpu.cpp.
  llvm::LogicalResult emitOp(mlir::Operation *op);
  llvm::LogicalResult emitBody(mlir::Block &block);
  llvm::LogicalResult emitFor(mlir::scf::ForOp op);

  // Elementwise ops and reductions: EmitBodies.cpp.
  llvm::LogicalResult emitGeneric(mlir::linalg::GenericOp op);
  llvm::LogicalResult emitReduction(mlir::linalg::GenericOp op);
  llvm::LogicalResult emitScalarBody(mlir::Block &body, mlir::ValueRange args,
                                     mlir::RankedTensorType shape,
                                     llvm::SmallVector<Value> &results);
  /// An input of a generic, broadcast to all its dims; null where not found.
  Value emitInput(mlir::linalg::GenericOp op, mlir::OpOperand &use,
                  mlir::RankedTensorType shape);
  Value broadcast(Value v, llvm::ArrayRef<int64_t> dims,
                  mlir::RankedTensorType to);

  // Products and their operands in shared memory: EmitProducts.cpp.
  llvm::LogicalResult emitContraction(mlir::linalg::GenericOp op);
  llvm::FailureOr<Value> emitFma(mlir::linalg::GenericOp op, const Operands &of,
                                 Value acc, bool skipZeros);
  llvm::FailureOr<Value> emitMma(mlir::linalg::GenericOp op, const Operands &of,
                                 Value acc, bool skipZeros);
  Operands operandsOf(mlir::linalg::GenericOp contraction);
  Value inDepthSteps(int64_t depth, int64_t step, Value acc,
                     llvm::function_ref<Value(Value, Value)> product);
  llvm::FailureOr<Value> stage(Value v, const Layout &layout, bool trans);
  /// The operand, or the part of it from `depthAt` on.
  Value loadStaged(Value shared, const Layout &layout, bool trans,
                   Value depthAt, bool isLeft);
  Value guarded(Value special, mlir::Type type,
                llvm::function_ref<Value(bool)> product);
  llvm::LogicalResult prefetch(Value v);
  void barrier();

  // Tiles, loads and stores: EmitMemory.cpp.
  llvm::FailureOr<Value> tile(Value v, const Layout &layout);
  Value emitLoad(const PendingLoad &load, mlir::RankedTensorType type,
                 const Layout &layout);
  llvm::LogicalResult emitSlice(mlir::tensor::ExtractSliceOp op);
  llvm::LogicalResult emitExtract(mlir::tensor::ExtractOp op);
  llvm::LogicalResult emitStore(TileStoreOp op);
  Value convert(Value v, const Layout &layout);
  Value splat(Value scalar, mlir::RankedTensorType type);

  Value scalar(Value v) { return scalars.lookupOrDefault(v); }
  mlir::RankedTensorType typeWith(Value v, const Layout &layout) {
    return heddle_gpu::withLayout(
        llvm::cast<mlir::RankedTensorType>(v.getType()), layout);
  }
  void define(Value v, Value tile) { made[v][tile.getType()] = tile; }

  mlir::func::FuncOp kernel;
  mlir::scf::ForallOp grid;
  int64_t warps;
  TileLayouts layouts;
  mlir::OpBuilder b;
  mlir::Location loc;
  mlir::gpu::GPUFuncOp gpuFunc;
  mlir::gpu::GPUModuleOp gpuModule;
  mlir::IRMapping scalars;
  /// By type, which has the layout.
  llvm::DenseMap<Value, llvm::DenseMap<mlir::Type, Value>> made;
  llvm::DenseMap<Value, PendingLoad> loads;
  llvm::DenseMap<Value, mlir::TypedAttr> splats;
  /// Operands, plain and transposed, that are ready before a loop.
  llvm::DenseMap<std::pair<Value, int>, Value> ahead;
  int64_t numTables = 0;
};

} // namespace heddle

#endif // HEDDLE_LIB_CODEGEN_GPU_GPUEMITTER_H
