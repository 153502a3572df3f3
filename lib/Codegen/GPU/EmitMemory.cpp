//===- EmitMemory.cpp - tiles, loads and stores of contract G -------------===//

#include "GpuEmitter.h"

#include "heddle/Codegen/Tile/KernelBody.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace heddle;
using heddle_gpu::Layout;

Value GpuEmitter::splat(Value value, RankedTensorType type) {
  TypedAttr constant;
  if (matchPattern(value, m_Constant(&constant)))
    return arith::ConstantOp::create(
        b, loc, DenseElementsAttr::get(type, Attribute(constant)));
  return tensor::SplatOp::create(b, loc, type, value);
}

Value GpuEmitter::convert(Value v, const Layout &layout) {
  if (heddle_gpu::getLayout(v.getType()) == layout)
    return v;
  return heddle_gpu::ConvertLayoutOp::create(b, loc, typeWith(v, layout), v);
}

Value GpuEmitter::emitLoad(const PendingLoad &load, RankedTensorType type,
                           const Layout &layout) {
  Value pad;
  if (load.ragged && load.pad)
    pad = arith::ConstantOp::create(b, loc, load.pad);
  Value op = heddle_gpu::LoadOp::create(
      b, loc, heddle_gpu::withLayout(type, layout), load.buffer, load.offsets,
      load.dims, ValueRange(), Value(), pad, !load.ragged);
  return op;
}

/// The tile in a layout, from where it is now.
FailureOr<Value> GpuEmitter::tile(Value v, const Layout &layout) {
  auto type = cast<RankedTensorType>(v.getType());
  auto wanted = heddle_gpu::withLayout(type, layout);
  if (auto it = splats.find(v); it != splats.end())
    return splat(arith::ConstantOp::create(b, loc, it->second), wanted);
  if (auto it = loads.find(v); it != loads.end())
    return emitLoad(it->second, type, layout);
  auto it = made.find(v);
  if (it == made.end()) {
    emitError(v.getLoc()) << "has no form on the GPU";
    return failure();
  }
  if (Value known = it->second.lookup(wanted))
    return known;
  return convert(it->second.begin()->second, layout);
}

LogicalResult GpuEmitter::emitSlice(tensor::ExtractSliceOp op) {
  PendingLoad load;
  load.buffer = scalar(bufferOf(op.getSource()));
  for (OpFoldResult offset : op.getMixedOffsets())
    load.offsets.push_back(getValueOrCreateConstantIndexOp(b, loc, offset));
  for (Value &offset : load.offsets)
    offset = scalar(offset);
  llvm::SmallBitVector dropped = op.getDroppedDims();
  for (int64_t d = 0; d < op.getSourceType().getRank(); ++d)
    if (!dropped.test(d))
      load.dims.push_back(d);
  loads[op.getResult()] = load;
  return prefetch(op.getResult());
}

/// A scalar from a constant table or from an argument.
LogicalResult GpuEmitter::emitExtract(tensor::ExtractOp op) {
  Value memory;
  auto type = cast<RankedTensorType>(op.getTensor().getType());
  DenseElementsAttr table;
  if (matchPattern(op.getTensor(), m_Constant(&table))) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(gpuModule.getBody());
    std::string name = ("table_" + Twine(numTables++)).str();
    auto memref = MemRefType::get(type.getShape(), type.getElementType());
    memref::GlobalOp::create(b, loc, name, b.getStringAttr("private"), memref,
                             table, /*constant=*/true, IntegerAttr());
    b.setInsertionPointToStart(&gpuFunc.getBody().front());
    memory = memref::GetGlobalOp::create(b, loc, memref, name);
  } else {
    memory = scalar(bufferOf(op.getTensor()));
  }
  if (!memory)
    return op.emitOpError("expected a constant table or an argument");
  SmallVector<Value> indices;
  for (Value i : op.getIndices())
    indices.push_back(scalar(i));
  scalars.map(op.getResult(),
              memref::LoadOp::create(b, loc, memory, indices).getResult());
  return success();
}

LogicalResult GpuEmitter::emitStore(TileStoreOp op) {
  auto type = cast<RankedTensorType>(op.getTile().getType());
  Layout layout = layouts.of(op.getTile());
  // Accumulators hold pairs; rows of 16 bytes are whole sectors.
  if (type.getRank() == 2 && type.getElementTypeBitWidth() <= 16)
    layout = heddle_gpu::coalescedLayout(
        type.getShape(), llvm::divideCeil(type.getElementTypeBitWidth(), 8u),
        warps);
  FailureOr<Value> t = tile(op.getTile(), layout);
  if (failed(t))
    return failure();
  SmallVector<Value> offsets;
  for (Value v : op.getOffsets())
    offsets.push_back(scalar(v));
  heddle_gpu::AccumulateAttr accumulate;
  if (op.getAccumulate())
    accumulate = heddle_gpu::AccumulateAttr::get(
        b.getContext(), heddle_gpu::Accumulate::Atomic);
  auto dest = cast<MemRefType>(op.getDest().getType());
  // Threads read what others write over.
  if (kernel->hasAttr(kKernelInPlace))
    barrier();
  bool whole = true;
  for (auto [k, d] : llvm::enumerate(op.getDims()))
    whole &= dest.getDimSize(d) % type.getDimSize(k) == 0;
  heddle_gpu::StoreOp::create(b, loc, *t, scalar(op.getDest()), offsets,
                              op.getDims(), ValueRange(), Value(), accumulate,
                              whole);
  return success();
}
