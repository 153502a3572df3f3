//===- TileStack.cpp - tiles by number in scratch memory ------------------===//
//
// A stack is a tensor of rank 3 whose slices along the first axis are tiles.
// tensor.insert_slice writes one in place, tensor.extract_slice reads one where
// it lies: the tile it yields is never written over.
//
//===----------------------------------------------------------------------===//

#include "TileToCpuImpl.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::cpu;

bool TileToCpu::isStack(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getRank() == 3;
}

/// Whether a slice is tile number offsets[0] of the stack, whole.
template <typename OpTy>
static bool isWholeTile(OpTy op, RankedTensorType stack) {
  auto isOne = [](OpFoldResult v) { return isConstantIntValue(v, 1); };
  if (!llvm::all_of(op.getMixedStrides(), isOne) ||
      !isOne(op.getMixedSizes()[0]))
    return false;
  for (int64_t axis : {1, 2})
    if (!isConstantIntValue(op.getMixedOffsets()[axis], 0) ||
        !isConstantIntValue(op.getMixedSizes()[axis], stack.getDimSize(axis)))
      return false;
  return true;
}

/// Tile number `at` of a stack.
Buffer TileToCpu::tileOfStack(const Buffer &stack, OpFoldResult at) {
  auto type = cast<MemRefType>(stack.memory.getType());
  if (auto value = dyn_cast<Value>(at))
    at = scalar(value);
  SmallVector<OpFoldResult> offsets(4, b.getIndexAttr(0)),
      strides(4, b.getIndexAttr(1)), sizes;
  offsets[0] = at;
  for (int64_t d : type.getShape())
    sizes.push_back(b.getIndexAttr(d));
  sizes[0] = b.getIndexAttr(1);
  Type slice = memref::SubViewOp::inferRankReducedResultType(
      type.getShape().drop_front(), type, offsets, sizes, strides);
  Buffer tile = stack;
  tile.shape.erase(tile.shape.begin());
  tile.memory = memref::SubViewOp::create(b, loc, cast<MemRefType>(slice),
                                          stack.memory, offsets, sizes, strides);
  tile.borrowed = true;
  return tile;
}

LogicalResult TileToCpu::emitStackRead(tensor::ExtractSliceOp op) {
  if (!isWholeTile(op, op.getSourceType()) || op.getType().getRank() != 2 ||
      layoutOf(op.getResult()) != Layout::Panels)
    return op.emitOpError("expected one whole row tile of a stack");
  buffers[op.getResult()] =
      tileOfStack(bufferFor(op.getSource()), op.getMixedOffsets()[0]);
  return success();
}

LogicalResult TileToCpu::emitStackWrite(tensor::InsertSliceOp op) {
  if (!isStack(op.getType()) || !isWholeTile(op, op.getType()) ||
      op.getSourceType().getRank() != 2 ||
      layoutOf(op.getSource()) != Layout::Panels)
    return op.emitOpError("expected one whole row tile into a stack");
  Buffer stack = bufferFor(op.getDest());
  if (!stack.memory || !isLastUse(op.getDest(), op))
    return op.emitOpError("expected a stack that nothing else reads");
  copyBuffer(bufferFor(op.getSource()),
             tileOfStack(stack, op.getMixedOffsets()[0]));
  buffers[op.getResult()] = stack;
  return success();
}
