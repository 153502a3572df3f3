//===- ThreadPatterns.cpp - what programs of threads say themselves -------===//
//
// Kernels that are written thread by thread (scans) hold numbers in shared
// buffers, exchange them in a warp and meet at the block's barrier.
//
//===----------------------------------------------------------------------===//

#include "LaneCode.h"

#include "heddle/Codegen/Tile/KernelBody.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace heddle_gpu;

namespace {
struct SharedBufferPattern : OpConversionPattern<memref::AllocOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(memref::AllocOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto offset = op->getAttrOfType<IntegerAttr>(heddle::kSharedOffset);
    if (!offset)
      return op.emitOpError("expected an offset; run "
                            "heddle-gpu-allocate-shared first");
    Location loc = op.getLoc();
    Type ptr = getTypeConverter()->convertType(op.getType());
    Value base = LLVM::AddressOfOp::create(rewriter, loc, ptr, kDynamicShared);
    rewriter.replaceOpWithNewOp<LLVM::GEPOp>(
        op, ptr, rewriter.getI8Type(), base,
        ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(offset.getInt())});
    return success();
  }
};

/// The address of an element of a shared buffer of rank 1.
FailureOr<Value> sharedAddress(ConversionPatternRewriter &b, Operation *op,
                               MemRefType type, Value pointer,
                               ValueRange indices) {
  if (!gpu::GPUDialect::hasWorkgroupMemoryAddressSpace(type) ||
      type.getRank() != 1 || !type.getLayout().isIdentity())
    return b.notifyMatchFailure(op, "needs a shared buffer of rank 1");
  Value i =
      arith::IndexCastOp::create(b, op->getLoc(), b.getI32Type(), indices[0]);
  return LLVM::GEPOp::create(b, op->getLoc(), pointer.getType(),
                             type.getElementType(), pointer, i)
      .getResult();
}

/// Vectors are aligned to their size.
static unsigned bytesOf(Type type) {
  if (auto vector = dyn_cast<VectorType>(type))
    return vector.getNumElements() * vector.getElementTypeBitWidth() / 8;
  return type.getIntOrFloatBitWidth() / 8;
}

template <typename OpTy>
struct SharedLoadPattern : OpConversionPattern<OpTy> {
  SharedLoadPattern(const LaneTypes &types, MLIRContext *context)
      : OpConversionPattern<OpTy>(types, context, PatternBenefit(2)) {}
  LogicalResult
  matchAndRewrite(OpTy op, typename OpTy::Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    FailureOr<Value> at =
        sharedAddress(rewriter, op, op.getMemRefType(),
                      adaptor.getOperands()[0], adaptor.getIndices());
    if (failed(at))
      return failure();
    Type type = op.getResult().getType();
    rewriter.replaceOpWithNewOp<LLVM::LoadOp>(op, type, *at, bytesOf(type));
    return success();
  }
};

template <typename OpTy>
struct SharedStorePattern : OpConversionPattern<OpTy> {
  SharedStorePattern(const LaneTypes &types, MLIRContext *context)
      : OpConversionPattern<OpTy>(types, context, PatternBenefit(2)) {}
  LogicalResult
  matchAndRewrite(OpTy op, typename OpTy::Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    FailureOr<Value> at =
        sharedAddress(rewriter, op, op.getMemRefType(),
                      adaptor.getOperands()[1], adaptor.getIndices());
    if (failed(at))
      return failure();
    Value v = adaptor.getOperands()[0];
    LLVM::StoreOp::create(rewriter, op.getLoc(), v, *at, bytesOf(v.getType()));
    rewriter.eraseOp(op);
    return success();
  }
};

struct BlockBarrierPattern : OpConversionPattern<gpu::BarrierOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(gpu::BarrierOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<NVVM::Barrier0Op>(op);
    return success();
  }
};

/// Exchanges of 32 bits between all lanes of a warp.
struct ShufflePattern : OpConversionPattern<gpu::ShuffleOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(gpu::ShuffleOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Value valid = op.getValid();
    Type type = op.getShuffleResult().getType();
    if (op.getMode() != gpu::ShuffleMode::XOR || !valid.use_empty() ||
        !(type.isF32() || type.isInteger(32)))
      return rewriter.notifyMatchFailure(op, "needs xor of 32 bits");
    ThreadCode code(rewriter, op.getLoc());
    Value v = NVVM::ShflOp::create(
        rewriter, op.getLoc(), type, code.i32(-1), adaptor.getValue(),
        adaptor.getOffset(), code.i32(31), NVVM::ShflKind::bfly, UnitAttr());
    Value yes = arith::ConstantOp::create(rewriter, op.getLoc(),
                                          rewriter.getBoolAttr(true));
    rewriter.replaceOp(op, {v, yes});
    return success();
  }
};
} // namespace

void heddle_gpu::populateThreadPatterns(const LaneTypes &types,
                                        RewritePatternSet &patterns) {
  patterns.add<
      SharedBufferPattern, SharedLoadPattern<memref::LoadOp>,
      SharedLoadPattern<vector::LoadOp>, SharedStorePattern<memref::StoreOp>,
      SharedStorePattern<vector::StoreOp>, BlockBarrierPattern, ShufflePattern>(
      types, patterns.getContext());
}
