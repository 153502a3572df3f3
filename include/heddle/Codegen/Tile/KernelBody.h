//===- KernelBody.h - reading the body of a kernel --------------*- C++ -*-===//
//
// Between planning and tiling a kernel is a function on buffers whose body
// still holds graph ops: bufferization.to_tensor of each input, the ops, and
// bufferization.materialize_in_destination into each output.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_CODEGEN_TILE_KERNELBODY_H
#define HEDDLE_CODEGEN_TILE_KERNELBODY_H

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace heddle {

/// Attribute names on kernels.
constexpr llvm::StringLiteral kKernelFamily = "heddle.family";
/// Inputs that result 0 may be written over; with several results an array of
/// such lists, one per result.
constexpr llvm::StringLiteral kKernelInPlace = "heddle.in_place";
constexpr llvm::StringLiteral kKernelTile = "heddle.tile";
/// On a GPU, a unit: products of f32 round their operands to TF32.
constexpr llvm::StringLiteral kKernelTf32 = "heddle.tf32";
/// On a GPU: warps of a block, where the builder wants a certain number.
constexpr llvm::StringLiteral kKernelWarps = "heddle.warps";
/// On a GPU: stages of tiles that loops copy, where the builder wants a number.
constexpr llvm::StringLiteral kKernelStages = "heddle.stages";
/// On a GPU, a unit: tiles that a loop copies and uses one after the other take
/// turns, one is copied while the other is used.
constexpr llvm::StringLiteral kKernelTurns = "heddle.turns";
/// On a GPU: blocks that the registers of a multiprocessor are to hold at once,
/// where the builder knows. Without it ptxas aims higher and may spill.
constexpr llvm::StringLiteral kKernelMinBlocks = "heddle.min_blocks";
/// On a GPU: registers of a thread, where the builder knows that they do: it
/// takes the place of blocks. Left alone ptxas lets loads run ahead into all.
constexpr llvm::StringLiteral kKernelRegisters = "heddle.registers";
/// On a GPU, a unit: the grid is (blocks, threads), and the body is what one
/// thread does.
constexpr llvm::StringLiteral kKernelThreads = "heddle.threads";
/// On a memref.alloc of shared memory: where it lies, in bytes.
constexpr llvm::StringLiteral kSharedOffset = "heddle.shared_offset";
/// On a GPU: bits of the kernel's index values; 32 where it is absent.
constexpr llvm::StringLiteral kIndexBits = "heddle.index_bits";

/// Numbers of the inputs that a result of the kernel may be written over.
inline llvm::ArrayRef<int64_t> inPlaceInputs(mlir::func::FuncOp kernel,
                                             unsigned result) {
  mlir::Attribute attr = kernel->getAttr(kKernelInPlace);
  if (auto perResult = llvm::dyn_cast_or_null<mlir::ArrayAttr>(attr))
    attr = result < perResult.size() ? perResult[result] : mlir::Attribute();
  else if (result != 0)
    return {};
  auto inputs = llvm::dyn_cast_or_null<mlir::DenseI64ArrayAttr>(attr);
  return inputs ? inputs.asArrayRef() : llvm::ArrayRef<int64_t>();
}

/// The buffer a graph value of a kernel is read from, or null.
inline mlir::Value bufferOf(mlir::Value tensor) {
  if (!tensor)
    return {};
  auto read = tensor.getDefiningOp<mlir::bufferization::ToTensorOp>();
  return read ? read.getBuffer() : mlir::Value();
}

/// The buffer a graph value of a kernel is written to, or null.
inline mlir::Value destinationOf(mlir::Value tensor) {
  for (mlir::Operation *user : tensor.getUsers())
    if (auto write =
            llvm::dyn_cast<mlir::bufferization::MaterializeInDestinationOp>(
                user))
      return write.getDest();
  return {};
}

} // namespace heddle

#endif // HEDDLE_CODEGEN_TILE_KERNELBODY_H
