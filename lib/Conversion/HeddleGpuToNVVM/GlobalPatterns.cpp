//===- GlobalPatterns.cpp - access to global memory -----------------------===//

#include "LaneCode.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace heddle_gpu;

template <typename OpTy>
static GlobalTile placeOf(OpTy op, MemRefType type, Value pointer) {
  GlobalTile place;
  place.type = type;
  place.pointer = pointer;
  place.offsets = SmallVector<Value>(op.getOffsets());
  place.dims = op.getDims();
  place.bounds = SmallVector<Value>(op.getBounds());
  place.inBounds = op.getInBounds();
  return place;
}

/// Registers [first, first + width) of a vector.
static Value slice(OpBuilder &b, Location loc, Value v, int64_t first,
                   int64_t width) {
  return vector::ExtractStridedSliceOp::create(
      b, loc, v, ArrayRef<int64_t>{first}, ArrayRef<int64_t>{width},
      ArrayRef<int64_t>{1});
}

static Value insert(OpBuilder &b, Location loc, Value part, Value into,
                    int64_t first) {
  return vector::InsertStridedSliceOp::create(b, loc, part, into,
                                              ArrayRef<int64_t>{first},
                                              ArrayRef<int64_t>{1});
}

/// What memory holds for registers of `element`: i1 is a byte there, index 64
/// bits.
static Type memoryElement(Type element) {
  MLIRContext *context = element.getContext();
  if (element.isInteger(1))
    return IntegerType::get(context, 8);
  if (element.isIndex())
    return IntegerType::get(context, 64);
  return element;
}

static Value fromMemory(OpBuilder &b, Location loc, Value v, Type element) {
  Type type = cast<VectorType>(v.getType()).clone(element);
  if (element.isInteger(1)) {
    Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(v.getType()));
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, v, zero);
  }
  if (element.isIndex())
    return arith::IndexCastOp::create(b, loc, type, v);
  return v;
}

static Value toMemory(OpBuilder &b, Location loc, Value v) {
  auto type = cast<VectorType>(v.getType());
  Type element = type.getElementType(), memory = memoryElement(element);
  if (element.isInteger(1))
    return arith::ExtUIOp::create(b, loc, type.clone(memory), v);
  if (element.isIndex())
    return arith::IndexCastOp::create(b, loc, type.clone(memory), v);
  return v;
}

static Value both(OpBuilder &b, Location loc, Value x, Value y) {
  if (!x || !y)
    return x ? x : y;
  return arith::AndIOp::create(b, loc, x, y);
}

namespace {
struct LoadPattern : OpConversionPattern<LoadOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(LoadOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto type = cast<VectorType>(getTypeConverter()->convertType(op.getType()));
    Type element = type.getElementType(), memory = memoryElement(element);
    const Layout &layout = getLayout(op.getType());
    GlobalTile place =
        placeOf(op, cast<MemRefType>(op.getSource().getType()), adaptor.getSource());
    int64_t width = adaptor.getMask() ? 1 : place.vectorWidth(layout, 16);
    ThreadCode code(rewriter, loc);
    TileCode tile(code, layout);
    GlobalCode global(code, tile, place);
    auto partType = VectorType::get({width}, memory);
    Value pad = adaptor.getPad();
    if (!pad)
      pad = arith::ConstantOp::create(rewriter, loc,
                                      rewriter.getZeroAttr(element));
    Value padding = vector::BroadcastOp::create(
        rewriter, loc, VectorType::get({width}, element), pad);
    padding = toMemory(rewriter, loc, padding);
    Value result = arith::ConstantOp::create(
        rewriter, loc, rewriter.getZeroAttr(type.clone(memory)));
    for (int64_t r = 0; r < type.getNumElements(); r += width) {
      Value present = global.inBounds(r);
      if (adaptor.getMask())
        present = both(rewriter, loc, present,
                       vector::ExtractOp::create(rewriter, loc,
                                                 adaptor.getMask(), r));
      auto load = [&](OpBuilder &b) -> Value {
        return LLVM::LoadOp::create(b, loc, partType, global.address(r),
                                    width * place.elementBytes());
      };
      Value part;
      if (!present) {
        part = load(rewriter);
      } else {
        auto branch = scf::IfOp::create(rewriter, loc, partType, present, true);
        OpBuilder::InsertionGuard guard(rewriter);
        rewriter.setInsertionPointToStart(branch.thenBlock());
        scf::YieldOp::create(rewriter, loc, load(rewriter));
        rewriter.setInsertionPointToStart(branch.elseBlock());
        scf::YieldOp::create(rewriter, loc, padding);
        part = branch.getResult(0);
      }
      result = insert(rewriter, loc, part, result, r);
    }
    rewriter.replaceOp(op, fromMemory(rewriter, loc, result, element));
    return success();
  }
};

struct StorePattern : OpConversionPattern<StoreOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(StoreOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    const Layout &layout = getLayout(op.getTile().getType());
    GlobalTile place =
        placeOf(op, cast<MemRefType>(op.getDest().getType()), adaptor.getDest());
    bool atomic = op.getAccumulate() == Accumulate::Atomic;
    int64_t width =
        adaptor.getMask() || atomic ? 1 : place.vectorWidth(layout, 16);
    ThreadCode code(rewriter, loc);
    TileCode tile(code, layout);
    GlobalCode global(code, tile, place);
    Position redundant = layout.redundantBits();
    Value owner = code.isZero(redundant.lane, redundant.warp);
    Value values = toMemory(rewriter, loc, adaptor.getTile());
    Type element = cast<VectorType>(values.getType()).getElementType();
    int64_t count = layout.numRegisters();
    for (int64_t r = 0; r < count; r += width) {
      // Registers above the linear part's bits are copies of the tile's block.
      if (r & redundant.reg)
        continue;
      Value present = both(rewriter, loc, owner, global.inBounds(r));
      if (adaptor.getMask())
        present = both(rewriter, loc, present,
                       vector::ExtractOp::create(rewriter, loc,
                                                 adaptor.getMask(), r));
      OpBuilder::InsertionGuard guard(rewriter);
      if (present) {
        auto branch = scf::IfOp::create(rewriter, loc, present, false);
        rewriter.setInsertionPointToStart(branch.thenBlock());
      }
      Value part = slice(rewriter, loc, values, r, width);
      Value at = global.address(r);
      if (atomic) {
        LLVM::AtomicRMWOp::create(
            rewriter, loc,
            isa<FloatType>(element) ? LLVM::AtomicBinOp::fadd
                                    : LLVM::AtomicBinOp::add,
            at, vector::ExtractOp::create(rewriter, loc, part, 0),
            LLVM::AtomicOrdering::monotonic);
        continue;
      }
      unsigned alignment = width * place.elementBytes();
      if (op.getAccumulate()) {
        Value old = LLVM::LoadOp::create(rewriter, loc, part.getType(), at,
                                         alignment);
        part = isa<FloatType>(element)
                   ? arith::AddFOp::create(rewriter, loc, old, part).getResult()
                   : arith::AddIOp::create(rewriter, loc, old, part).getResult();
      }
      LLVM::StoreOp::create(rewriter, loc, part, at, alignment);
    }
    rewriter.eraseOp(op);
    return success();
  }
};

/// cp.async moves 4, 8 or 16 bytes; what is aligned to less goes through
/// registers, which the barrier after the wait makes visible as well.
struct AsyncCopyPattern : OpConversionPattern<AsyncCopyOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(AsyncCopyOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto smem = cast<SmemType>(op.getDest().getType());
    auto kernel = op->getParentOfType<FunctionOpInterface>();
    auto warps = kernel->getAttrOfType<IntegerAttr>(
        HeddleGpuDialect::kWarpsAttrName);
    if (!warps)
      return op.emitOpError("expected a kernel with heddle_gpu.warps");
    int64_t bytes = smem.getElementBytes();
    Layout layout = coalescedLayout(smem.getShape(), bytes, warps.getInt());
    GlobalTile place = placeOf(op, cast<MemRefType>(op.getSource().getType()),
                               adaptor.getSource());
    SharedLayout shared = smem.getLayout().getValue();
    int64_t width = place.vectorWidth(
        layout, std::min<int64_t>(16, shared.vectorBytes), /*partial=*/true);
    if (width * bytes < 4)
      width = 1;
    ThreadCode code(rewriter, loc);
    TileCode tile(code, layout);
    GlobalCode global(code, tile, place);
    Value base = adaptor.getDest();
    if (adaptor.getStage()) {
      Value stage = arith::IndexCastOp::create(
          rewriter, loc, rewriter.getI32Type(), adaptor.getStage());
      stage = arith::MulIOp::create(rewriter, loc, stage,
                                    code.i32(smem.getStageStride()));
      base = LLVM::GEPOp::create(rewriter, loc, base.getType(),
                                 rewriter.getI8Type(), base, stage);
    }
    SharedCode sharedCode(code, base, shared, smem.getShape(), bytes);
    bool rank1 = smem.getShape().size() == 1;
    Position redundant = layout.redundantBits();
    Value owner = code.isZero(redundant.lane, redundant.warp);
    OpBuilder::InsertionGuard guard(rewriter);
    if (owner) {
      auto branch = scf::IfOp::create(rewriter, loc, owner, false);
      rewriter.setInsertionPointToStart(branch.thenBlock());
    }
    for (int64_t r = 0; r < layout.numRegisters(); r += width) {
      if (r & redundant.reg)
        continue;
      Value to =
          rank1 ? sharedCode.address({}, 0, tile.thread(0), tile.constant(r, 0))
                : sharedCode.address(tile.thread(0), tile.constant(r, 0),
                                     tile.thread(1), tile.constant(r, 1));
      copy(op, rewriter, code, global, to, r, width, bytes);
    }
    rewriter.eraseOp(op);
    return success();
  }

private:
  static void copy(AsyncCopyOp op, OpBuilder &b, ThreadCode &code,
                   GlobalCode &global, Value to, int64_t reg, int64_t width,
                   int64_t elementBytes) {
    Location loc = op.getLoc();
    int64_t bytes = width * elementBytes;
    Value present = global.inBounds(reg, /*partial=*/true);
    Value left = global.elementsLeft(reg, width);
    Value from = global.address(reg);
    if (bytes >= 4) {
      // Bytes beyond the given size are written as zeros.
      Value size;
      if (left)
        size = arith::MulIOp::create(b, loc, left, code.i32(elementBytes));
      if (present)
        size = arith::SelectOp::create(b, loc, present,
                                       size ? size : code.i32(bytes),
                                       code.i32(0));
      NVVM::CpAsyncOp::create(b, loc, to, from, bytes,
                              bytes == 16 ? NVVM::LoadCacheModifierKind::CG
                                          : NVVM::LoadCacheModifierKind::CA,
                              size);
      return;
    }
    Type element = cast<MemRefType>(op.getSource().getType()).getElementType();
    Type memory = memoryElement(element);
    auto type = VectorType::get({1}, memory);
    if (left)
      present = both(b, loc, present,
                     arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sgt,
                                           left, code.i32(0)));
    auto load = [&]() -> Value {
      return LLVM::LoadOp::create(b, loc, type, from, elementBytes);
    };
    Value value;
    if (!present) {
      value = load();
    } else {
      auto branch = scf::IfOp::create(b, loc, type, present, true);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(branch.thenBlock());
      scf::YieldOp::create(b, loc, load());
      b.setInsertionPointToStart(branch.elseBlock());
      Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(type));
      scf::YieldOp::create(b, loc, zero);
      value = branch.getResult(0);
    }
    LLVM::StoreOp::create(b, loc, value, to, elementBytes);
  }
};

/// The address of one element of a buffer, in 64 bits.
static FailureOr<Value> scalarAddress(ConversionPatternRewriter &b, Operation *op,
                                      MemRefType type, Value pointer,
                                      ValueRange indices) {
  Location loc = op->getLoc();
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(type.getStridesAndOffset(strides, offset)))
    return b.notifyMatchFailure(op, "needs static strides");
  Type element = memoryElement(type.getElementType());
  Value at = pointer;
  for (auto [index, stride] : llvm::zip(indices, strides)) {
    Value i = arith::IndexCastOp::create(b, loc, b.getI64Type(), index);
    i = arith::MulIOp::create(
        b, loc, i,
        arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(stride)));
    at = LLVM::GEPOp::create(b, loc, at.getType(), element, at, i);
  }
  return at;
}

/// A scalar of global memory, such as a key length.
struct ScalarLoadPattern : OpConversionPattern<memref::LoadOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(memref::LoadOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    FailureOr<Value> at =
        scalarAddress(rewriter, op, op.getMemRefType(), adaptor.getMemref(),
                      adaptor.getIndices());
    if (failed(at))
      return failure();
    Type element = memoryElement(op.getType());
    Value v = LLVM::LoadOp::create(rewriter, loc, element, *at);
    if (op.getType().isIndex())
      v = arith::IndexCastOp::create(rewriter, loc, op.getType(), v);
    else if (op.getType().isInteger(1))
      v = arith::CmpIOp::create(
          rewriter, loc, arith::CmpIPredicate::ne, v,
          arith::ConstantOp::create(rewriter, loc, rewriter.getZeroAttr(element)));
    rewriter.replaceOp(op, v);
    return success();
  }
};

/// An element that a thread of plain loops has computed.
struct ScalarStorePattern : OpConversionPattern<memref::StoreOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(memref::StoreOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    FailureOr<Value> at =
        scalarAddress(rewriter, op, op.getMemRefType(), adaptor.getMemref(),
                      adaptor.getIndices());
    if (failed(at))
      return failure();
    Value v = adaptor.getValue();
    Type element = memoryElement(v.getType());
    if (v.getType().isIndex())
      v = arith::IndexCastOp::create(rewriter, loc, element, v);
    else if (v.getType().isInteger(1))
      v = arith::ExtUIOp::create(rewriter, loc, element, v);
    LLVM::StoreOp::create(rewriter, loc, v, *at);
    rewriter.eraseOp(op);
    return success();
  }
};

/// The address that a table holds.
struct TableEntryPattern : OpConversionPattern<TableEntryOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(TableEntryOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    FailureOr<Value> at = scalarAddress(
        rewriter, op, cast<MemRefType>(op.getTable().getType()),
        adaptor.getTable(), adaptor.getEntry());
    if (failed(at))
      return failure();
    rewriter.replaceOpWithNewOp<LLVM::LoadOp>(
        op, getTypeConverter()->convertType(op.getType()), *at,
        /*alignment=*/8);
    return success();
  }
};

struct GetGlobalPattern : OpConversionPattern<memref::GetGlobalOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(memref::GetGlobalOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<LLVM::AddressOfOp>(
        op, getTypeConverter()->convertType(op.getType()), op.getName());
    return success();
  }
};
} // namespace

void heddle_gpu::populateGlobalPatterns(const LaneTypes &types,
                                        RewritePatternSet &patterns) {
  patterns.add<LoadPattern, StorePattern, AsyncCopyPattern, ScalarLoadPattern,
               ScalarStorePattern, TableEntryPattern, GetGlobalPattern>(
      types, patterns.getContext());
}
