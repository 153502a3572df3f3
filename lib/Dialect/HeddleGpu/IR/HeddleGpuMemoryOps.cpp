//===- HeddleGpuMemoryOps.cpp - global and shared memory ------------------===//

#include "VerifyTile.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/Builders.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace heddle_gpu;

//===----------------------------------------------------------------------===//
// Global memory
//===----------------------------------------------------------------------===//

static LogicalResult verifyNumOffsets(Operation *op, ValueRange offsets,
                                      MemRefType memory) {
  if (static_cast<int64_t>(offsets.size()) == memory.getRank())
    return success();
  return op->emitOpError() << "expected " << memory.getRank()
                           << " offsets, one for each axis of " << memory
                           << ", got " << offsets.size();
}

static LogicalResult verifyDims(Operation *op, ArrayRef<int64_t> dims,
                                MemRefType memory, int64_t rank) {
  if (static_cast<int64_t>(dims.size()) != rank)
    return op->emitOpError()
           << "expected " << rank
           << " dims, one for each axis of the tile, got " << dims.size();
  llvm::SmallDenseSet<int64_t> seen;
  for (int64_t d : dims)
    if (d < 0 || d >= memory.getRank() || !seen.insert(d).second)
      return op->emitOpError() << "expected distinct dims below "
                               << memory.getRank() << ", got [" << dims << "]";
  return success();
}

static LogicalResult verifyBounds(Operation *op, ValueRange bounds,
                                  int64_t rank) {
  if (bounds.empty() || static_cast<int64_t>(bounds.size()) == rank)
    return success();
  return op->emitOpError() << "expected no bounds or " << rank
                           << ", one for each axis of the tile, got "
                           << bounds.size();
}

LogicalResult LoadOp::verify() {
  auto tile = cast<RankedTensorType>(getResult().getType());
  auto memory = cast<MemRefType>(getSource().getType());
  /*gpu_load_c1*/
  if (failed(verifyTile(*this, "a result", tile)))
    return failure();
  /*gpu_load_c2*/
  if (failed(verifyElementTypes(*this, memory.getElementType(),
                                tile.getElementType())))
    return failure();
  /*gpu_load_c3*/
  if (failed(verifyNumOffsets(*this, getOffsets(), memory)))
    return failure();
  /*gpu_load_c4*/
  if (failed(verifyDims(*this, getDims(), memory, tile.getRank())))
    return failure();
  /*gpu_load_c5*/
  return verifyBounds(*this, getBounds(), tile.getRank());
}

LogicalResult StoreOp::verify() {
  auto tile = cast<RankedTensorType>(getTile().getType());
  auto memory = cast<MemRefType>(getDest().getType());
  /*gpu_store_c1*/
  if (failed(verifyTile(*this, "a tile", tile)))
    return failure();
  /*gpu_store_c2*/
  if (failed(verifyElementTypes(*this, tile.getElementType(),
                                memory.getElementType())))
    return failure();
  /*gpu_store_c3*/
  if (failed(verifyNumOffsets(*this, getOffsets(), memory)))
    return failure();
  /*gpu_store_c4*/
  if (failed(verifyDims(*this, getDims(), memory, tile.getRank())))
    return failure();
  /*gpu_store_c5*/
  return verifyBounds(*this, getBounds(), tile.getRank());
}

/// A vector whose elements lie side by side.
static bool isPlainVector(MemRefType type) {
  return type.getRank() == 1 && type.getLayout().isIdentity();
}

LogicalResult TableEntryOp::verify() {
  auto table = cast<MemRefType>(getTable().getType());
  auto buffer = cast<MemRefType>(getResult().getType());
  /*gpu_table_entry_c1*/
  bool hasPlace = !table.getMemorySpace() ||
                  gpu::GPUDialect::hasWorkgroupMemoryAddressSpace(table);
  if (!hasPlace || !isPlainVector(table) ||
      !table.getElementType().isInteger(64))
    return emitOpError() << "expected a table of addresses such as memref<8xi64>"
                            ", got "
                         << table;
  /*gpu_table_entry_c2*/
  if (buffer.getMemorySpace() || !isPlainVector(buffer) ||
      !buffer.isDynamicDim(0))
    return emitOpError() << "expected a buffer such as memref<?xf32>, got "
                         << buffer;
  return success();
}

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

static LogicalResult verifyStage(Operation *op, SmemType smem, Value stage) {
  if (stage || smem.getStages() == 1)
    return success();
  return op->emitOpError() << "expected a stage index, %tile[%index], for "
                           << smem.getStages() << " stages";
}

/// The tile, transposed if asked for, lies inside the shared tile at `at`.
static LogicalResult verifyPlace(Operation *op, RankedTensorType tile,
                                 SmemType smem,
                                 std::optional<ArrayRef<int64_t>> at,
                                 bool trans) {
  SmallVector<int64_t> sides(tile.getShape());
  if (trans)
    std::reverse(sides.begin(), sides.end());
  SmallVector<int64_t> first(smem.getShape().size(), 0);
  if (at)
    first.assign(at->begin(), at->end());
  bool inside = first.size() == smem.getShape().size() &&
                sides.size() == smem.getShape().size();
  for (size_t d = 0; inside && d < sides.size(); ++d)
    inside = first[d] >= 0 && first[d] + sides[d] <= smem.getShape()[d];
  if (inside)
    return success();
  return op->emitOpError() << "expected a tile inside " << smem << ", got "
                           << tile << (trans ? ", transposed," : "") << " at ["
                           << first << "]";
}

static LogicalResult verifyTrans(Operation *op, bool trans, SmemType smem) {
  if (!trans || smem.getShape().size() == 2)
    return success();
  return op->emitOpError() << "expected trans on tiles of rank 2, got rank "
                           << smem.getShape().size();
}

LogicalResult SmemAllocOp::verify() {
  /*gpu_smem_alloc_c1*/
  std::optional<int64_t> offset = getOffset();
  if (offset && (*offset < 0 || *offset % 16))
    return emitOpError() << "expected an offset that is a multiple of 16 bytes "
                            "and not negative, got "
                         << *offset;
  return success();
}

/// What is shifted by multiples of a power of two keeps its low bits.
static LogicalResult verifyShift(SmemLoadOp op) {
  std::optional<int64_t> axis = op.getShiftAxis();
  if (!op.getShift() && !axis)
    return success();
  int64_t rank = op.getSource().getType().getShape().size();
  if (!op.getShift() || !axis || *axis < 0 || *axis >= rank)
    return op.emitOpError()
           << "expected a shift along an axis from 0 to " << rank - 1;
  ArrayRef<int64_t> sides =
      cast<RankedTensorType>(op.getResult().getType()).getShape();
  int64_t side = sides[op.getTrans() ? rank - 1 - *axis : *axis];
  int64_t at = op.getAt() ? (*op.getAt())[*axis] : 0;
  if (llvm::isPowerOf2_64(side) && at == 0)
    return success();
  return op.emitOpError() << "expected a tile whose side along the shift is a "
                             "power of two, at 0 there, got side "
                          << side << " at " << at;
}

LogicalResult SmemLoadOp::verify() {
  auto tile = cast<RankedTensorType>(getResult().getType());
  SmemType smem = getSource().getType();
  /*gpu_smem_load_c1*/
  if (failed(verifyTile(*this, "a result", tile)))
    return failure();
  /*gpu_smem_load_c2*/
  if (failed(verifyElementTypes(*this, smem.getElementType(),
                                tile.getElementType())))
    return failure();
  /*gpu_smem_load_c4*/
  if (failed(verifyTrans(*this, getTrans(), smem)))
    return failure();
  /*gpu_smem_load_c3*/
  if (failed(verifyPlace(*this, tile, smem, getAt(), getTrans())))
    return failure();
  /*gpu_smem_load_c6*/
  if (failed(verifyShift(*this)))
    return failure();
  /*gpu_smem_load_c5*/
  return verifyStage(*this, smem, getStage());
}

LogicalResult AnyNotFiniteOp::verify() {
  SmemType smem = getSource().getType();
  /*gpu_any_not_finite_c1*/
  auto element = dyn_cast<FloatType>(smem.getElementType());
  if (!element || (smem.getElementBytes() != 2 && smem.getElementBytes() != 4))
    return emitOpError("expected floats of 2 or 4 bytes, got ")
           << smem.getElementType();
  /*gpu_any_not_finite_c2*/
  return verifyStage(*this, smem, getStage());
}

LogicalResult SmemStoreOp::verify() {
  auto tile = cast<RankedTensorType>(getTile().getType());
  SmemType smem = getDest().getType();
  /*gpu_smem_store_c1*/
  if (failed(verifyTile(*this, "a tile", tile)))
    return failure();
  /*gpu_smem_store_c2*/
  if (failed(verifyElementTypes(*this, tile.getElementType(),
                                smem.getElementType())))
    return failure();
  /*gpu_smem_store_c4*/
  if (failed(verifyTrans(*this, getTrans(), smem)))
    return failure();
  /*gpu_smem_store_c3*/
  if (failed(verifyPlace(*this, tile, smem, getAt(), getTrans())))
    return failure();
  /*gpu_smem_store_c5*/
  return verifyStage(*this, smem, getStage());
}

LogicalResult AsyncCopyOp::verify() {
  SmemType smem = getDest().getType();
  auto memory = cast<MemRefType>(getSource().getType());
  int64_t rank = smem.getShape().size();
  /*gpu_async_copy_c1*/
  if (failed(verifyElementTypes(*this, memory.getElementType(),
                                smem.getElementType())))
    return failure();
  /*gpu_async_copy_c2*/
  if (failed(verifyNumOffsets(*this, getOffsets(), memory)))
    return failure();
  /*gpu_async_copy_c3*/
  if (failed(verifyDims(*this, getDims(), memory, rank)))
    return failure();
  /*gpu_async_copy_c4*/
  if (failed(verifyBounds(*this, getBounds(), rank)))
    return failure();
  /*gpu_async_copy_c5*/
  return verifyStage(*this, smem, getStage());
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

static LogicalResult verifyPending(Operation *op, int64_t pending) {
  if (pending >= 0)
    return success();
  return op->emitOpError() << "expected at least 0 pending, got " << pending;
}

LogicalResult AsyncWaitOp::verify() {
  /*gpu_async_wait_c1*/
  return verifyPending(*this, getPending());
}

LogicalResult BarrierOp::verify() {
  /*gpu_barrier_c1*/
  std::optional<int64_t> id = getId(), warps = getWarps();
  if (id && (*id < 1 || *id > 15))
    return emitOpError() << "expected an id from 1 to 15, got " << *id;
  /*gpu_barrier_c2*/
  if (id.has_value() != warps.has_value())
    return emitOpError() << "expected id and warps together";
  if (warps && (*warps < 1 || *warps > 32))
    return emitOpError() << "expected from 1 to 32 warps, got " << *warps;
  /*gpu_barrier_c3*/
  if (getArrive() && !id)
    return emitOpError() << "expected an id where warps arrive without waiting";
  return success();
}

LogicalResult WarpRoleOp::verify() {
  /*gpu_warp_role_c1*/
  int64_t first = getFirst(), warps = getWarps();
  if (first < 0 || warps < 1 || !llvm::isPowerOf2_64(warps) ||
      first + warps > 32)
    return emitOpError() << "expected a power of two of warps below 32, got "
                         << warps << " from " << first;
  /*gpu_warp_role_c2*/
  if (std::optional<int64_t> registers = getRegisters();
      registers && (*registers < 24 || *registers > 256 || *registers % 8))
    return emitOpError() << "expected registers to be a multiple of 8 from 24 "
                            "to 256, got "
                         << *registers;
  /*gpu_warp_role_c3*/
  WalkResult result = getBody().walk([&](Operation *op) {
    for (Value operand : op->getOperands()) {
      if (!isa<TensorType>(operand.getType()) ||
          getBody().isAncestor(operand.getParentRegion()))
        continue;
      InFlightDiagnostic diag = op->emitOpError()
                                << "expected no tile from outside in the body "
                                   "of a warp role; pass it through shared "
                                   "memory";
      diag.attachNote(operand.getLoc()) << "the tile is defined here";
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}
