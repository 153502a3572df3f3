//===- ConvertLanesToNVVM.cpp - one thread's code to contract N -----------===//

#include "heddle/Codegen/Math/ScalarMath.h"
#include "heddle/Codegen/Math/VectorMath.h"
#include "heddle/Codegen/Tile/KernelBody.h"
#include "heddle/Conversion/HeddleGpuToNVVM/HeddleGpuToNVVM.h"
#include "heddle/Dialect/HeddleNvvm/IR/HeddleNvvm.h"

#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/IndexToLLVM/IndexToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/LoweringOptions.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Dialect/Vector/Transforms/LoweringPatterns.h"
#include "mlir/Transforms/DialectConversion.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace heddle {
#define GEN_PASS_DEF_CONVERTLANESTONVVMPASS
#include "heddle/Conversion/HeddleGpuToNVVM/Passes.h.inc"
} // namespace heddle

using namespace mlir;

/// Replaces an op of one operand by `one` of its value, or of each element of a
/// vector.
static void replaceByElement(PatternRewriter &rewriter, Operation *op,
                             function_ref<Value(Value)> one) {
  Value v = op->getOperand(0);
  auto vector = dyn_cast<VectorType>(v.getType());
  if (!vector) {
    rewriter.replaceOp(op, one(v));
    return;
  }
  SmallVector<Value> parts;
  for (int64_t i = 0; i < vector.getNumElements(); ++i)
    parts.push_back(
        one(vector::ExtractOp::create(rewriter, op->getLoc(), v, i)));
  rewriter.replaceOpWithNewOp<vector::FromElementsOp>(op, vector, parts);
}

namespace {
/// An approximate instruction on each element of an f32 value, times a factor.
template <typename OpTy, typename InstructionOp>
struct ApproximatePattern : OpRewritePattern<OpTy> {
  ApproximatePattern(MLIRContext *context, double factor = 1.0)
      : OpRewritePattern<OpTy>(context, PatternBenefit(2)), factor(factor) {}

  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    if (!getElementTypeOrSelf(op.getType()).isF32())
      return rewriter.notifyMatchFailure(op, "needs f32");
    replaceByElement(rewriter, op, [&](Value v) -> Value {
      Type f32 = rewriter.getF32Type();
      Value r = InstructionOp::create(rewriter, loc, f32, v);
      if (factor == 1.0)
        return r;
      Value c = arith::ConstantOp::create(
          rewriter, loc, rewriter.getF32FloatAttr(static_cast<float>(factor)));
      return arith::MulFOp::create(rewriter, loc, r, c);
    });
    return success();
  }

  double factor;
};

/// e^x as 2^t, t = x * log2 e, and what the rounding of t takes away: relative to
/// e^x that would be up to |x| units in the last place.
struct ExpPattern : OpRewritePattern<math::ExpOp> {
  ExpPattern(MLIRContext *context)
      : OpRewritePattern(context, PatternBenefit(2)) {}

  LogicalResult matchAndRewrite(math::ExpOp op,
                                PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    if (!getElementTypeOrSelf(op.getType()).isF32())
      return rewriter.notifyMatchFailure(op, "needs f32");
    auto constant = [&](double v) -> Value {
      return arith::ConstantOp::create(
          rewriter, loc, rewriter.getF32FloatAttr(static_cast<float>(v)));
    };
    auto one = [&](Value x) -> Value {
      constexpr double log2e = 1.4426950408889634, ln2 = 0.6931471805599453;
      Value factor = constant(log2e);
      Value t = arith::MulFOp::create(rewriter, loc, x, factor);
      Value power = heddle::nvvm::Ex2ApproxFtzOp::create(
          rewriter, loc, rewriter.getF32Type(), t);
      Value minus = arith::NegFOp::create(rewriter, loc, t);
      Value rest = math::FmaOp::create(rewriter, loc, x, factor, minus);
      rest = math::FmaOp::create(
          rewriter, loc, x, constant(log2e - static_cast<float>(log2e)), rest);
      rest = arith::MulFOp::create(rewriter, loc, rest, constant(ln2));
      Value exact = math::FmaOp::create(rewriter, loc, power, rest, power);
      // Beyond, the power is 0 or infinite and the rest may be anything.
      Value size = math::AbsFOp::create(rewriter, loc, t);
      Value beyond =
          arith::CmpFOp::create(rewriter, loc, arith::CmpFPredicate::OGE, size,
                                constant(128.0));
      return arith::SelectOp::create(rewriter, loc, beyond, power, exact);
    };
    replaceByElement(rewriter, op, one);
    return success();
  }
};

/// The expansions that CPU code shares, which have a stated error bound.
template <typename OpTy, Value (*Emit)(OpBuilder &, Location, Value)>
struct VectorMathPattern : OpRewritePattern<OpTy> {
  VectorMathPattern(MLIRContext *context)
      : OpRewritePattern<OpTy>(context, PatternBenefit(2)) {}
  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value v = op.getOperand();
    if (!getElementTypeOrSelf(v.getType()).isF32())
      return rewriter.notifyMatchFailure(op, "needs f32");
    if (isa<VectorType>(v.getType())) {
      rewriter.replaceOp(op, Emit(rewriter, loc, v));
      return success();
    }
    auto one = VectorType::get({1}, v.getType());
    v = Emit(rewriter, loc, vector::BroadcastOp::create(rewriter, loc, one, v));
    rewriter.replaceOpWithNewOp<vector::ExtractOp>(op, v, 0);
    return success();
  }
};

/// Functions of 16-bit floats are those of f32, rounded once.
struct WidenPattern : RewritePattern {
  WidenPattern(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), PatternBenefit(3), context) {}
  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    if (!heddle::findScalarFunction(op))
      return rewriter.notifyMatchFailure(op, "is no function");
    auto isNarrow = [](Type t) {
      t = getElementTypeOrSelf(t);
      return t.isBF16() || t.isF16();
    };
    if (!isNarrow(op->getResult(0).getType()))
      return rewriter.notifyMatchFailure(op, "needs bf16 or f16");
    Location loc = op->getLoc();
    auto wide = [&](Type t) -> Type {
      if (auto vector = dyn_cast<VectorType>(t))
        return vector.clone(rewriter.getF32Type());
      return rewriter.getF32Type();
    };
    OperationState state(loc, op->getName());
    for (Value v : op->getOperands())
      state.addOperands(isNarrow(v.getType())
                            ? arith::ExtFOp::create(rewriter, loc,
                                                    wide(v.getType()), v)
                                  .getResult()
                            : v);
    for (Type t : op->getResultTypes())
      state.addTypes(wide(t));
    state.propertiesAttr = op->getPropertiesAsAttribute();
    SmallVector<Value> results;
    for (auto [v, t] : llvm::zip(rewriter.create(state)->getResults(),
                                 op->getResultTypes()))
      results.push_back(arith::TruncFOp::create(rewriter, loc, t, v));
    rewriter.replaceOp(op, results);
    return success();
  }
};

/// Everything else by way of f64.
struct ScalarMathPattern : RewritePattern {
  ScalarMathPattern(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), PatternBenefit(1), context) {}
  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    return heddle::expandScalarMath(op, rewriter);
  }
};

template <typename OpTy, typename SregX, typename SregY, typename SregZ>
struct ThreadIndexPattern : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Type i32 = rewriter.getI32Type();
    Value v;
    switch (op.getDimension()) {
    case gpu::Dimension::x:
      v = SregX::create(rewriter, loc, i32);
      break;
    case gpu::Dimension::y:
      v = SregY::create(rewriter, loc, i32);
      break;
    case gpu::Dimension::z:
      v = SregZ::create(rewriter, loc, i32);
      break;
    }
    rewriter.replaceOpWithNewOp<arith::IndexCastUIOp>(
        op, rewriter.getIndexType(), v);
    return success();
  }
};

struct ConvertLanesToNVVM
    : heddle::impl::ConvertLanesToNVVMPassBase<ConvertLanesToNVVM> {
  /// Exponentials hold more than what they are of while they are made, and
  /// ptxas would rather spill that than have fewer blocks on a multiprocessor.
  void letExponentialsHold() {
    for (auto kernel : getOperation().getOps<gpu::GPUFuncOp>()) {
      WalkResult found = kernel.walk(
          [](math::ExpOp) { return WalkResult::interrupt(); });
      if (found.wasInterrupted() && !kernel->hasAttr(heddle::kKernelMinBlocks))
        kernel->setAttr(heddle::kKernelMinBlocks,
                        OpBuilder(kernel).getI64IntegerAttr(1));
    }
  }

  void runOnOperation() override {
    MLIRContext *context = &getContext();
    letExponentialsHold();
    RewritePatternSet device(context);
    const double log2e = 1.4426950408889634;
    using namespace heddle::nvvm;
    device.add<ApproximatePattern<math::Exp2Op, Ex2ApproxFtzOp>,
               ApproximatePattern<math::Log2Op, Lg2ApproxFtzOp>,
               ApproximatePattern<math::RsqrtOp, RsqrtApproxFtzOp>>(context);
    device.add<ExpPattern>(context);
    device.add<ApproximatePattern<math::LogOp, Lg2ApproxFtzOp>>(context,
                                                                1 / log2e);
    device.add<ThreadIndexPattern<gpu::BlockIdOp, NVVM::BlockIdXOp,
                                  NVVM::BlockIdYOp, NVVM::BlockIdZOp>,
               ThreadIndexPattern<gpu::ThreadIdOp, NVVM::ThreadIdXOp,
                                  NVVM::ThreadIdYOp, NVVM::ThreadIdZOp>>(
        context);
    device.add<VectorMathPattern<math::TanhOp, heddle::emitTanh>,
               VectorMathPattern<math::ErfOp, heddle::emitErf>>(context);
    device.add<WidenPattern, ScalarMathPattern>(context);
    arith::populateCeilFloorDivExpandOpsPatterns(device);
    if (failed(applyPatternsGreedily(getOperation(), std::move(device))))
      return signalPassFailure();
    for (auto kernel : llvm::make_early_inc_range(
             getOperation().getOps<gpu::GPUFuncOp>()))
      if (failed(lowerKernel(kernel)))
        return signalPassFailure();
    if (failed(convert()) || failed(refuseLibraryCalls()))
      signalPassFailure();
  }

  /// LLVM would stop the process at an intrinsic that is a function of libm
  /// elsewhere.
  LogicalResult refuseLibraryCalls() {
    WalkResult result = getOperation().walk([](Operation *op) {
      if (!isa<LLVM::TanhOp, LLVM::TanOp, LLVM::SinhOp, LLVM::CoshOp,
               LLVM::ASinOp, LLVM::ACosOp, LLVM::ATanOp, LLVM::ATan2Op,
               LLVM::ExpOp, LLVM::Exp2Op, LLVM::Exp10Op, LLVM::LogOp,
               LLVM::Log2Op, LLVM::Log10Op, LLVM::PowOp, LLVM::PowIOp,
               LLVM::SinOp, LLVM::CosOp, LLVM::FRemOp>(op))
        return WalkResult::advance();
      op->emitOpError("has no code on the GPU for ")
          << op->getResultTypes().front() << "; use --target=cpu";
      return WalkResult::interrupt();
    });
    return failure(result.wasInterrupted());
  }

  /// A kernel is a function of pointers in the LLVM dialect.
  LogicalResult lowerKernel(gpu::GPUFuncOp kernel) {
    OpBuilder b(kernel);
    SmallVector<Type> inputs;
    for (Type t : kernel.getArgumentTypes()) {
      if (!isa<LLVM::LLVMPointerType, IntegerType, FloatType>(t))
        return kernel.emitError("expected pointers and scalars as arguments, "
                                "got ")
               << t << "; run convert-heddle-gpu-to-lanes first";
      inputs.push_back(t);
    }
    auto type = LLVM::LLVMFunctionType::get(
        LLVM::LLVMVoidType::get(b.getContext()), inputs);
    auto f = LLVM::LLVMFuncOp::create(b, kernel.getLoc(), kernel.getName(), type);
    for (NamedAttribute attr : kernel->getDiscardableAttrs())
      f->setDiscardableAttr(attr.getName(), attr.getValue());
    f->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), b.getUnitAttr());
    f->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), b.getUnitAttr());
    if (DenseI32ArrayAttr size = kernel.getKnownBlockSizeAttr())
      f->setAttr(NVVM::NVVMDialect::getReqntidAttrName(), size);
    // PTX takes one of the two.
    if (auto limit = kernel->getAttrOfType<IntegerAttr>(heddle::kKernelRegisters))
      f->setAttr(NVVM::NVVMDialect::getMaxnregAttrName(),
                 b.getI32IntegerAttr(limit.getInt()));
    else if (auto blocks =
                 kernel->getAttrOfType<IntegerAttr>(heddle::kKernelMinBlocks))
      f->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                 b.getI32IntegerAttr(blocks.getInt()));
    // ptxas spills a little where that fits another block on a multiprocessor,
    // unless one block is said to do. Scans are as many blocks as they are.
    if (f->hasAttr(heddle::kKernelThreads))
      f->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                 b.getI32IntegerAttr(1));
    f.getBody().takeBody(kernel.getBody());
    f.walk([](gpu::ReturnOp op) {
      OpBuilder b(op);
      LLVM::ReturnOp::create(b, op.getLoc(), ValueRange());
      op.erase();
    });
    kernel.erase();
    return success();
  }

  LogicalResult convert() {
    MLIRContext *context = &getContext();
    LowerToLLVMOptions options(context);
    // Positions in a buffer fit 31 bits along each axis; addresses are 64 bits.
    unsigned indexBits = 32;
    for (auto kernel : getOperation().getOps<LLVM::LLVMFuncOp>())
      if (auto bits = kernel->getAttrOfType<IntegerAttr>(heddle::kIndexBits))
        indexBits = bits.getInt();
    options.overrideIndexBitwidth(indexBits);
    LLVMTypeConverter types(context, options);
    RewritePatternSet patterns(context);
    populateSCFToControlFlowConversionPatterns(patterns);
    populateAffineToStdConversionPatterns(patterns);
    vector::populateVectorInsertExtractStridedSliceTransforms(patterns);
    populateVectorToLLVMConversionPatterns(types, patterns);
    populateMathToLLVMConversionPatterns(types, patterns,
                                         /*approximateLog1p=*/false);
    arith::populateArithToLLVMConversionPatterns(types, patterns);
    index::populateIndexToLLVMConversionPatterns(types, patterns);
    cf::populateControlFlowToLLVMConversionPatterns(types, patterns);
    LLVMConversionTarget target(*context);
    target.addLegalDialect<NVVM::NVVMDialect, heddle::nvvm::HeddleNvvmDialect>();
    target.addLegalOp<gpu::GPUModuleOp>();
    return applyFullConversion(getOperation(), target, std::move(patterns));
  }
};
} // namespace
