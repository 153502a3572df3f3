//===- TileParts.cpp - parts of tiles in scratch memory -------------------===//
//
// Two tensors have parts that are tiles themselves: a stack, of rank 3, has row
// tiles along its first axis, and a row tile has columns. tensor.insert_slice
// writes a part in place, tensor.extract_slice reads one where it lies: what it
// yields is never written over.
//
//===----------------------------------------------------------------------===//

#include "TileToCpuImpl.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::cpu;

/// The axis along which a tensor's parts lie.
static int64_t partAxis(RankedTensorType whole) {
  return whole.getRank() == 3 ? 0 : 1;
}

/// Whether a slice is one whole part of `whole`.
template <typename OpTy>
static bool isPart(OpTy op, RankedTensorType whole, RankedTensorType part) {
  if (whole.getRank() < 2 || whole.getRank() > 3 ||
      part.getRank() != whole.getRank() - 1)
    return false;
  for (int64_t d = 0; d < whole.getRank(); ++d) {
    bool along = d == partAxis(whole);
    if (!isConstantIntValue(op.getMixedStrides()[d], 1) ||
        !isConstantIntValue(op.getMixedSizes()[d],
                            along ? 1 : whole.getDimSize(d)) ||
        (!along && !isConstantIntValue(op.getMixedOffsets()[d], 0)))
      return false;
  }
  return true;
}

/// Part number `at`, in the memory of the whole. A column of several panels is
/// not one run of memory: (panels, lanes).
Buffer TileToCpu::partOf(const Buffer &whole, OpFoldResult at) {
  auto type = cast<MemRefType>(whole.memory.getType());
  int64_t rank = type.getRank(), axis = rank == 4 ? 0 : 1;
  if (auto value = dyn_cast<Value>(at))
    at = scalar(value);
  SmallVector<OpFoldResult> offsets(rank, b.getIndexAttr(0)),
      strides(rank, b.getIndexAttr(1)), sizes;
  for (int64_t d : type.getShape())
    sizes.push_back(b.getIndexAttr(d));
  offsets[axis] = at;
  sizes[axis] = b.getIndexAttr(1);
  SmallVector<int64_t> shape(type.getShape());
  shape.erase(shape.begin() + axis);
  if (rank == 3 && shape[0] == 1)
    shape.erase(shape.begin());
  Type slice = memref::SubViewOp::inferRankReducedResultType(
      shape, type, offsets, sizes, strides);
  Buffer part = whole;
  part.shape.erase(part.shape.begin() + axis);
  part.memory = memref::SubViewOp::create(
      b, loc, cast<MemRefType>(slice), whole.memory, offsets, sizes, strides);
  part.borrowed = true;
  return part;
}

/// Copies a column of several panels from or to a vector.
void TileToCpu::copyColumn(Value column, Value vector, bool toColumn) {
  auto type = cast<MemRefType>(column.getType());
  int64_t lanes = target.panelLanes;
  auto vec = VectorType::get({lanes}, type.getElementType());
  loop(0, type.getDimSize(0), 1, [&](Value panel) {
    Value at = mul(panel, lanes);
    SmallVector<Value> inColumn = {panel, idx(0)};
    if (toColumn)
      vector::StoreOp::create(b, loc,
                              vector::LoadOp::create(b, loc, vec, vector, at),
                              column, inColumn);
    else
      vector::StoreOp::create(
          b, loc, vector::LoadOp::create(b, loc, vec, column, inColumn), vector,
          at);
  });
}

static bool isOneRun(const Buffer &part) {
  return part.shape.size() == 2 ||
         cast<MemRefType>(part.memory.getType()).getRank() == 1;
}

LogicalResult TileToCpu::emitPartRead(tensor::ExtractSliceOp op) {
  Buffer whole = bufferFor(op.getSource());
  if (!isPart(op, op.getSourceType(), op.getType()) ||
      whole.layout != Layout::Panels ||
      layoutOf(op.getResult()) != Layout::Panels)
    return op.emitOpError(
        "expected a row tile of a stack or a column of a row tile");
  if (whole.isSplat()) {
    whole.shape.assign(op.getType().getShape().begin(),
                       op.getType().getShape().end());
    buffers[op.getResult()] = whole;
    return success();
  }
  Buffer part =
      partOf(whole, op.getMixedOffsets()[partAxis(op.getSourceType())]);
  if (!isOneRun(part)) {
    Buffer copy = allocate(op.getType(), Layout::Panels);
    copyColumn(part.memory, copy.memory, /*toColumn=*/false);
    part = copy;
  }
  buffers[op.getResult()] = part;
  return success();
}

LogicalResult TileToCpu::emitPartWrite(tensor::InsertSliceOp op) {
  if (!isPart(op, op.getType(), op.getSourceType()) ||
      layoutOf(op.getSource()) != Layout::Panels ||
      layoutOf(op.getResult()) != Layout::Panels)
    return op.emitOpError(
        "expected a row tile of a stack or a column of a row tile");
  Buffer whole = bufferFor(op.getDest());
  // Parts that were read lie in the same memory.
  bool readLater = llvm::any_of(op.getDest().getUsers(), [&](Operation *user) {
    auto read = dyn_cast<tensor::ExtractSliceOp>(user);
    return read && !isLastUse(read.getResult(), op);
  });
  if (!whole.memory || whole.borrowed || readLater ||
      !isLastUse(op.getDest(), op))
    return op.emitOpError("expected a tile that nothing else reads");
  Buffer from = bufferFor(op.getSource());
  Buffer part = partOf(whole, op.getMixedOffsets()[partAxis(op.getType())]);
  if (isOneRun(part)) {
    copyBuffer(from, part);
  } else {
    if (from.isSplat()) {
      Buffer filled = allocate(op.getSourceType(), Layout::Panels);
      copyBuffer(from, filled);
      from = filled;
    }
    copyColumn(part.memory, from.memory, /*toColumn=*/true);
  }
  buffers[op.getResult()] = whole;
  return success();
}
