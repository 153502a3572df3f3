//===- TileToCpuImpl.h - state of the tile to CPU lowering ------*- C++ -*-===//
//
// Private to lib/Codegen/CPU. The lowering walks a tile program once and emits
// loops over vectors into a new function body.
//
// One rule decides how tiles lie in scratch memory. A (rows, cols) tile is kept
// in panels of `panelLanes` rows, [row / lanes][col][row % lanes], so that rows
// are vector lanes everywhere: row statistics need no horizontal step, and the
// result of one contraction feeds the next without repacking. Only the right
// operand of a contraction is kept plain (row-major), because its elements are
// read one at a time and broadcast.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_LIB_CODEGEN_CPU_TILETOCPUIMPL_H
#define HEDDLE_LIB_CODEGEN_CPU_TILETOCPUIMPL_H

#include "heddle/Codegen/CPU/CpuTarget.h"
#include "heddle/Dialect/Heddle/IR/Heddle.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/EquivalenceClasses.h"

namespace heddle::cpu {

enum class Layout { Panels, Plain };

/// A tile in scratch memory, or a splat that needs none.
struct Buffer {
  mlir::Value memory;      // memref; null for a splat
  mlir::TypedAttr splat;   // of the tile's element type
  mlir::Type storage;      // bf16 and f16 are kept as f32, i1 as i8
  llvm::SmallVector<int64_t, 2> shape; // of the tile
  Layout layout = Layout::Panels;
  bool borrowed = false; // part of another tile: not to be written over
  bool isSplat() const { return !memory; }
};

/// A tile load that has not been emitted: slice, padding and transposition are
/// folded into the copy that brings it into scratch.
struct PendingLoad {
  mlir::Value memory; // memref argument
  llvm::SmallVector<mlir::Value> offsets; // per buffer axis, index
  llvm::SmallVector<int64_t, 2> axes;     // tile axis -> buffer axis
  llvm::SmallVector<mlir::Value, 2> valid; // per tile axis; null: all of it
  mlir::TypedAttr pad;                    // null: zero is never needed
};

class TileToCpu {
public:
  TileToCpu(mlir::func::FuncOp source, const CpuTarget &target);

  /// Emits the lowered function before the source and returns it; the block
  /// count and scratch size are set as attributes on it.
  llvm::FailureOr<mlir::func::FuncOp> run();

private:
  // TileToCpu.cpp: control flow and bookkeeping.
  void inferLayouts();
  llvm::LogicalResult emitBlock(mlir::Block &block);
  llvm::LogicalResult emitOp(mlir::Operation *op);
  void emitTable(mlir::arith::ConstantOp op);
  llvm::LogicalResult emitFor(mlir::scf::ForOp op);
  void notePending(mlir::tensor::ExtractSliceOp op);
  void notePad(mlir::tensor::PadOp op);
  void noteTranspose(mlir::linalg::TransposeOp op);
  bool isLoadEnd(mlir::Value value);
  Layout layoutOf(mlir::Value value);
  mlir::Type storageType(mlir::Type element);
  Buffer allocate(mlir::RankedTensorType type, Layout layout);
  Buffer bufferFor(mlir::Value value) { return buffers.lookup(value); }
  void copyBuffer(const Buffer &from, const Buffer &to);
  bool isLastUse(mlir::Value value, mlir::Operation *op);
  mlir::Value scalar(mlir::Value value) { return map.lookupOrDefault(value); }

  // TileParts.cpp: tiles of stacks and columns of tiles.
  Buffer partOf(const Buffer &whole, mlir::OpFoldResult at);
  void copyColumn(mlir::Value column, mlir::Value vector, bool toColumn);
  llvm::LogicalResult emitPartRead(mlir::tensor::ExtractSliceOp op);
  llvm::LogicalResult emitPartWrite(mlir::tensor::InsertSliceOp op);

  // TileLoadStore.cpp: between buffers in memory and tiles.
  llvm::LogicalResult emitLoad(mlir::Value value);
  void emitPanelLoad(const PendingLoad &load, const Buffer &to);
  void emitPlainLoad(const PendingLoad &load, const Buffer &to);
  llvm::LogicalResult emitStore(TileStoreOp op);
  llvm::SmallVector<mlir::Value> transposeVectors(mlir::ValueRange rows);

  // TileCompute.cpp: generics.
  bool isContraction(mlir::linalg::GenericOp op);
  void addRows(mlir::linalg::GenericOp op, llvm::ArrayRef<mlir::Value> inputs,
               mlir::Value panel, mlir::Value col);
  llvm::LogicalResult emitContraction(mlir::linalg::GenericOp op);
  llvm::LogicalResult
  emitGroup(llvm::ArrayRef<mlir::linalg::GenericOp> group);
  void emitPanelGroup(llvm::ArrayRef<mlir::linalg::GenericOp> group);
  void emitVectorGroup(llvm::ArrayRef<mlir::linalg::GenericOp> group);
  void emitPlainGroup(llvm::ArrayRef<mlir::linalg::GenericOp> group);
  Buffer outputBuffer(mlir::linalg::GenericOp op,
                      llvm::ArrayRef<mlir::linalg::GenericOp> group);
  llvm::SmallVector<mlir::Value>
  emitBody(mlir::Block &body, mlir::ValueRange args, int64_t lanes,
           llvm::function_ref<mlir::Value(unsigned)> indexOf);
  mlir::Value gather(mlir::tensor::ExtractOp op, mlir::ValueRange indices,
                     int64_t lanes);
  mlir::Value broadcastScalar(mlir::Value value, int64_t lanes);

  // Small emission helpers.
  mlir::Value idx(int64_t value);
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value add(mlir::Value a, int64_t b);
  mlir::Value mul(mlir::Value a, int64_t b);
  mlir::Value loop(int64_t begin, int64_t end, int64_t step,
                   llvm::function_ref<void(mlir::Value)> body);
  mlir::Value widen(mlir::Value vector, mlir::Type storage);
  mlir::Value narrow(mlir::Value vector, mlir::Type element);
  /// Loads a vector of panel rows / a splat of it.
  mlir::Value loadPanel(const Buffer &buffer, mlir::Value panel,
                        mlir::Value col);
  void storePanel(mlir::Value vector, const Buffer &buffer, mlir::Value panel,
                  mlir::Value col);
  mlir::Value loadVector(const Buffer &buffer, mlir::Value offset);
  mlir::Value splatVector(const Buffer &buffer, int64_t lanes);
  mlir::Value loadScalar(const Buffer &buffer, mlir::ValueRange position);

  mlir::func::FuncOp source;
  CpuTarget target;
  mlir::OpBuilder b;
  mlir::Location loc;
  mlir::func::FuncOp lowered;
  mlir::Value scratch; // memref<?xi8>
  mlir::Block *entry = nullptr;
  int64_t top = 0, peak = 0; // scratch bytes, a stack by scope
  mlir::IRMapping map;       // scalars
  llvm::DenseMap<mlir::Value, Buffer> buffers;
  llvm::DenseMap<mlir::Value, PendingLoad> pending;
  llvm::DenseMap<mlir::Value, mlir::Value> tables; // constant -> global
  llvm::EquivalenceClasses<void *> sameLayout;
  llvm::DenseSet<void *> plainLeaders;
};

} // namespace heddle::cpu

#endif // HEDDLE_LIB_CODEGEN_CPU_TILETOCPUIMPL_H
