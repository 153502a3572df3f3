//===- ExpandShared.cpp - what passes through shared memory ---------------===//

#include "heddle/Codegen/Passes.h"
#include "heddle/Dialect/HeddleGpu/IR/HeddleGpu.h"
#include "heddle/Dialect/HeddleGpu/IR/LayoutConversion.h"
#include "heddle/Dialect/HeddleGpu/IR/ScanLayout.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/IRMapping.h"

namespace heddle {
#define GEN_PASS_DEF_GPUEXPANDSHAREDPASS
#include "heddle/Codegen/Passes.h.inc"
} // namespace heddle

using namespace mlir;
using namespace heddle_gpu;

/// The same elements with no warp along `axis`: warps that were there hold
/// copies, and their part of the axis is in further registers.
static Layout withoutWarpsAlong(const Layout &layout, unsigned axis) {
  Layout::Bases reg(layout.getRegister()), warp;
  for (const Layout::Basis &basis : layout.getWarp()) {
    if (basis[axis] == 0) {
      warp.push_back(basis);
      continue;
    }
    reg.push_back(basis);
    warp.push_back(Layout::Basis(layout.rank(), 0));
  }
  return *Layout::get(reg, Layout::Bases(layout.getLane()), warp,
                      layout.getRepeat());
}

static int64_t elementBytes(Type element) {
  return element.isIndex()
             ? 8
             : llvm::divideCeil(element.getIntOrFloatBitWidth(), 8u);
}

namespace {
struct GpuExpandShared
    : heddle::impl::GpuExpandSharedPassBase<GpuExpandShared> {
  void runOnOperation() override {
    SmallVector<ReduceOp> reductions;
    getOperation().walk([&](ReduceOp op) { reductions.push_back(op); });
    for (ReduceOp op : reductions)
      keepInWarps(op);
    SmallVector<ScanOp> scans;
    getOperation().walk([&](ScanOp op) { scans.push_back(op); });
    for (ScanOp op : scans)
      if (failed(order(op)))
        return signalPassFailure();
    SmallVector<ConvertLayoutOp> conversions;
    getOperation().walk([&](ConvertLayoutOp op) { conversions.push_back(op); });
    for (ConvertLayoutOp op : conversions)
      if (failed(expand(op)))
        return signalPassFailure();
  }

  /// Across warps, threads reduce what they have, and each warp the parts of all:
  /// only those pass through shared memory. Where threads hold copies, the
  /// reduction starts from a layout with no warp along the axis.
  static void keepInWarps(ReduceOp op) {
    unsigned axis = op.getAxis();
    if (llvm::none_of(getLayout(op.getInputs()[0].getType()).getWarp(),
                      [&](const Layout::Basis &b) { return b[axis] != 0; }))
      return;
    OpBuilder b(op);
    auto type = cast<RankedTensorType>(op.getInputs()[0].getType());
    RankedTensorType parts = partialType(type, axis);
    if (parts && parts != type && !op.getPartial()) {
      IRMapping mapping;
      auto first = cast<ReduceOp>(b.clone(*op, mapping));
      first.setPartial(true);
      for (auto [result, input] : llvm::zip(first.getResults(), op.getInputs()))
        result.setType(
            partialType(cast<RankedTensorType>(input.getType()), axis));
      op.getInputsMutable().assign(first.getResults());
    } else if (op.getPartial()) {
      return;
    }
    Layout own =
        withoutWarpsAlong(getLayout(op.getInputs()[0].getType()), axis);
    for (OpOperand &input : op->getOpOperands())
      input.set(ConvertLayoutOp::create(
          b, op.getLoc(),
          withLayout(cast<RankedTensorType>(input.get().getType()), own),
          input.get()));
    b.setInsertionPointAfter(op);
    for (Value result : op.getResults()) {
      auto was = cast<RankedTensorType>(result.getType());
      result.setType(
          reducedType(cast<RankedTensorType>(op.getInputs()[0].getType()), axis));
      auto back = ConvertLayoutOp::create(b, op.getLoc(), was, result);
      result.replaceAllUsesExcept(back, back);
    }
  }

  /// A scan goes bit by bit through the positions of registers and lanes.
  static LogicalResult order(ScanOp op) {
    const Layout &in = getLayout(op.getInputs()[0].getType());
    if (isOrderedAlong(in, op.getAxis()))
      return success();
    std::optional<Layout> own = orderedAlong(in, op.getAxis());
    if (!own)
      return op.emitOpError(
                 "expected a tile whose axis fits the registers of a "
                 "warp, got ")
             << op.getInputs()[0].getType() << "; use smaller tiles";
    OpBuilder b(op);
    for (OpOperand &input : op->getOpOperands())
      input.set(ConvertLayoutOp::create(
          b, op.getLoc(),
          withLayout(cast<RankedTensorType>(input.get().getType()), *own),
          input.get()));
    b.setInsertionPointAfter(op);
    for (Value result : op.getResults()) {
      auto was = cast<RankedTensorType>(result.getType());
      result.setType(withLayout(was, *own));
      auto back = ConvertLayoutOp::create(b, op.getLoc(), was, result);
      result.replaceAllUsesExcept(back, back);
    }
    return success();
  }

  LogicalResult expand(ConvertLayoutOp op) {
    auto type = cast<RankedTensorType>(op.getInput().getType());
    const Layout &from = getLayout(type), &to = getLayout(op.getType());
    Type element = type.getElementType();
    int64_t bytes = elementBytes(element);
    Conversion c = classifyConversion(from, to, 8 * bytes);
    if (c.kind != ConversionKind::Shared)
      return success();
    if (type.getRank() == 0 || type.getRank() > 2)
      return op.emitOpError("expected a tile of rank 1 or 2 to pass through "
                            "shared memory, got ")
             << type;
    OpBuilder b(op);
    Location loc = op.getLoc();
    Value input = op.getInput();
    // Truth values and indices pass as numbers of whole bytes.
    Type stored = element;
    if (element.isInteger(1))
      stored = b.getI8Type();
    else if (element.isIndex())
      stored = b.getI64Type();
    auto storedType = [&](Type t) {
      auto tensor = cast<RankedTensorType>(t);
      return RankedTensorType::get(tensor.getShape(), stored,
                                   tensor.getEncoding());
    };
    if (element.isInteger(1))
      input = arith::ExtUIOp::create(b, loc, storedType(type), input);
    else if (element.isIndex())
      input = arith::IndexCastOp::create(b, loc, storedType(type), input);
    unsigned last = type.getRank() - 1;
    auto vectorBytes = [&](const Layout &layout) {
      int64_t width = 16 / bytes;
      while (width > 1 && (layout.contiguity(last) % width != 0 ||
                           type.getShape().back() % width != 0))
        width /= 2;
      return std::max<int64_t>(1, width) * bytes;
    };
    SharedAccess accesses[] = {SharedAccess::vector(from, vectorBytes(from)),
                               SharedAccess::vector(to, vectorBytes(to))};
    auto smem = SmemType::get(
        b.getContext(), type.getShape(), stored,
        SharedAttr::get(b.getContext(),
                        chooseSwizzle(accesses, type.getShape(), bytes)),
        1);
    Value tile;
    {
      OpBuilder::InsertionGuard guard(b);
      auto kernel = op->getParentOfType<FunctionOpInterface>();
      b.setInsertionPointToStart(&kernel.getFunctionBody().front());
      tile = SmemAllocOp::create(b, loc, smem, IntegerAttr());
    }
    auto barrier = [&] {
      BarrierOp::create(b, loc, IntegerAttr(), IntegerAttr(), false);
    };
    barrier(); // whoever had the bytes before has read them
    SmemStoreOp::create(b, loc, input, tile, Value(), DenseI64ArrayAttr(),
                        false);
    barrier();
    Value result = SmemLoadOp::create(b, loc, storedType(op.getType()), tile,
                                      Value(), DenseI64ArrayAttr(), false);
    if (element.isInteger(1))
      result = arith::TruncIOp::create(b, loc, op.getType(), result);
    else if (element.isIndex())
      result = arith::IndexCastOp::create(b, loc, op.getType(), result);
    op.replaceAllUsesWith(result);
    op.erase();
    return success();
  }
};
} // namespace
