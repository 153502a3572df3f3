//===- LoopsTile.cpp - kernels of one op that no tile builder takes -------===//
//
// The op is rewritten onto the kernel's buffers and later becomes plain loops.
// Correct for every structured op; meant for what is rare and small.
//
//===----------------------------------------------------------------------===//

#include "heddle/Codegen/Tile/KernelBody.h"
#include "heddle/Codegen/Tile/LoopsTile.h"
#include "heddle/Dialect/Heddle/IR/Heddle.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace heddle;

/// Between buffers of any strides: kernels call no library.
static void copy(OpBuilder &b, Location loc, Value from, Value to) {
  linalg::CopyOp::create(b, loc, from, to);
}

/// Writes the tensor `v` into `dest`: from a buffer, a fill or a constant.
static LogicalResult writeInto(OpBuilder &b, Location loc, Value v, Value dest) {
  if (Value from = bufferOf(v)) {
    if (from != dest)
      copy(b, loc, from, dest);
    return success();
  }
  if (v.getDefiningOp<tensor::EmptyOp>())
    return success();
  Value scalar;
  if (auto fill = v.getDefiningOp<linalg::FillOp>()) {
    Attribute value;
    matchPattern(fill.getInputs()[0], m_Constant(&value));
    scalar = arith::ConstantOp::create(b, loc, cast<TypedAttr>(value));
  } else if (DenseElementsAttr dense; matchPattern(v, m_Constant(&dense)) &&
                                      dense.isSplat()) {
    scalar = arith::ConstantOp::create(
        b, loc, cast<TypedAttr>(dense.getSplatValue<Attribute>()));
  }
  if (!scalar)
    return failure();
  linalg::FillOp::create(b, loc, scalar, dest);
  return success();
}

static Value subview(OpBuilder &b, Location loc, Value buffer,
                     ArrayRef<OpFoldResult> offsets,
                     ArrayRef<OpFoldResult> sizes,
                     ArrayRef<OpFoldResult> strides, ArrayRef<int64_t> shape) {
  auto type = memref::SubViewOp::inferRankReducedResultType(
      shape, cast<MemRefType>(buffer.getType()), offsets, sizes, strides);
  return memref::SubViewOp::create(b, loc, cast<MemRefType>(type), buffer,
                                   offsets, sizes, strides);
}

static LogicalResult buildGeneric(linalg::GenericOp op, OpBuilder &b) {
  Location loc = op.getLoc();
  SmallVector<Value> inputs, outputs;
  for (Value v : op.getDpsInputs()) {
    if (!isa<TensorType>(v.getType())) {
      inputs.push_back(v);
      continue;
    }
    Value buffer = bufferOf(v);
    if (!buffer) {
      // A constant operand: its splat value enters the body as a scalar input.
      Attribute attr;
      if (auto fill = v.getDefiningOp<linalg::FillOp>())
        v = fill.getInputs()[0];
      if (!matchPattern(v, m_Constant(&attr)))
        return op.emitOpError("expected operands in memory or constant");
      if (auto splat = dyn_cast<SplatElementsAttr>(attr))
        attr = splat.getSplatValue<Attribute>();
      buffer = arith::ConstantOp::create(b, loc, cast<TypedAttr>(attr));
    }
    inputs.push_back(buffer);
  }
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  for (auto [i, v] : llvm::enumerate(inputs))
    if (!isa<MemRefType>(v.getType()))
      maps[i] = AffineMap::get(op.getNumLoops(), 0, {}, b.getContext());
  for (auto [init, result] : llvm::zip(op.getDpsInits(), op.getResults())) {
    Value dest = destinationOf(result);
    if (!dest)
      return op.emitOpError("expected every result in memory");
    if (failed(writeInto(b, loc, init, dest)))
      return op.emitOpError("expected the initial value in memory or constant");
    outputs.push_back(dest);
  }
  auto onBuffers = linalg::GenericOp::create(
      b, loc, TypeRange{}, inputs, outputs, maps, op.getIteratorTypesArray());
  IRMapping mapping;
  op.getRegion().cloneInto(&onBuffers.getRegion(), mapping);
  return success();
}

LogicalResult heddle::buildLoopsKernel(func::FuncOp kernel) {
  SmallVector<Operation *> ops;
  for (Operation &op : kernel.getBody().front())
    if (!isa<bufferization::ToTensorOp,
             bufferization::MaterializeInDestinationOp, tensor::EmptyOp,
             func::ReturnOp>(op) &&
        !op.hasTrait<OpTrait::ConstantLike>() &&
        !(isa<linalg::FillOp>(op) && !destinationOf(op.getResult(0))))
      ops.push_back(&op);
  if (ops.size() != 1)
    return kernel.emitError()
           << "expected one op in a loop kernel, got " << ops.size();
  Operation *op = ops.front();
  Location loc = op->getLoc();
  OpBuilder b(kernel.getBody().front().getTerminator());
  auto cannot = [&]() {
    return op->emitOpError("expected operands in memory or constant");
  };
  if (auto generic = dyn_cast<linalg::GenericOp>(op))
    return buildGeneric(generic, b);
  Value dest = destinationOf(op->getResult(0));
  if (isa<linalg::FillOp>(op))
    return writeInto(b, loc, op->getResult(0), dest);
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op)) {
    Value from = subview(b, loc, bufferOf(slice.getSource()),
                         slice.getMixedOffsets(), slice.getMixedSizes(),
                         slice.getMixedStrides(), slice.getType().getShape());
    copy(b, loc, from, dest);
    return success();
  }
  if (auto insert = dyn_cast<tensor::InsertSliceOp>(op)) {
    if (failed(writeInto(b, loc, insert.getDest(), dest)))
      return cannot();
    Value to = subview(b, loc, dest, insert.getMixedOffsets(),
                       insert.getMixedSizes(), insert.getMixedStrides(),
                       insert.getSourceType().getShape());
    return failed(writeInto(b, loc, insert.getSource(), to)) ? cannot()
                                                              : success();
  }
  if (auto pad = dyn_cast<tensor::PadOp>(op)) {
    Value value = pad.getConstantPaddingValue();
    TypedAttr attr;
    if (!value || !matchPattern(value, m_Constant(&attr)))
      return op->emitOpError("expected a constant padding value");
    linalg::FillOp::create(
        b, loc, arith::ConstantOp::create(b, loc, attr).getResult(), dest);
    SmallVector<OpFoldResult> sizes, strides;
    for (int64_t d : pad.getSourceType().getShape()) {
      sizes.push_back(b.getIndexAttr(d));
      strides.push_back(b.getIndexAttr(1));
    }
    Value to = subview(b, loc, dest, pad.getMixedLowPad(), sizes, strides,
                       pad.getSourceType().getShape());
    return failed(writeInto(b, loc, pad.getSource(), to)) ? cannot()
                                                           : success();
  }
  if (auto concat = dyn_cast<tensor::ConcatOp>(op)) {
    auto type = concat.getResultType();
    int64_t at = 0;
    for (Value v : concat.getInputs()) {
      auto part = cast<RankedTensorType>(v.getType());
      SmallVector<OpFoldResult> offsets(type.getRank(), b.getIndexAttr(0));
      SmallVector<OpFoldResult> strides(type.getRank(), b.getIndexAttr(1));
      SmallVector<OpFoldResult> sizes;
      for (int64_t d : part.getShape())
        sizes.push_back(b.getIndexAttr(d));
      offsets[concat.getDim()] = b.getIndexAttr(at);
      at += part.getDimSize(concat.getDim());
      Value to =
          subview(b, loc, dest, offsets, sizes, strides, part.getShape());
      if (failed(writeInto(b, loc, v, to)))
        return cannot();
    }
    return success();
  }
  return op->emitOpError("has no kernel on the CPU yet; run it with "
                         "--device=reference");
}
