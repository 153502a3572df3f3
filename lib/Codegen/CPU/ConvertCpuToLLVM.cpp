//===- ConvertCpuToLLVM.cpp - CPU loops to the LLVM dialect ---------------===//
//
// All of upstream's conversions in one walk: as passes of their own each pays
// for the whole kernel, and most of a kernel is arithmetic on vectors.
//
//===----------------------------------------------------------------------===//

#include "heddle/Codegen/Passes.h"

#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/IndexToLLVM/IndexToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MathToLibm/MathToLibm.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/Transforms/LoweringPatterns.h"
#include "mlir/Dialect/Vector/Transforms/VectorRewritePatterns.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/DialectConversion.h"

namespace heddle {
#define GEN_PASS_DEF_CONVERTCPUTOLLVMPASS
#include "heddle/Codegen/Passes.h.inc"
} // namespace heddle

using namespace mlir;

/// The same kind of value, scalar or vector, with other elements.
static Type withElement(Type type, Type element) {
  if (auto vector = dyn_cast<VectorType>(type))
    return vector.clone(element);
  return element;
}

namespace {
/// Powers with integer exponents. LLVM calls a function of its own library for
/// them and takes exponents of 32 bits only: small constants become products,
/// others powers in f64, which are rounded once.
struct LowerIntegerPower final : OpRewritePattern<math::FPowIOp> {
  LowerIntegerPower(MLIRContext *context)
      : OpRewritePattern(context, /*benefit=*/2) {}

  LogicalResult matchAndRewrite(math::FPowIOp op,
                                PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Type type = op.getType();
    constexpr int64_t mostProducts = 8;
    APInt n;
    if (matchPattern(op.getRhs(), m_ConstantInt(&n)) &&
        n.abs().ule(mostProducts)) {
      auto one = rewriter.getFloatAttr(getElementTypeOrSelf(type), 1.0);
      TypedAttr ones = one;
      if (auto vector = dyn_cast<VectorType>(type))
        ones = DenseElementsAttr::get(vector, Attribute(one));
      Value power = arith::ConstantOp::create(rewriter, loc, ones);
      Value base = op.getLhs();
      if (n.isNegative())
        base = arith::DivFOp::create(rewriter, loc, power, base);
      for (uint64_t i = 0, e = n.abs().getZExtValue(); i < e; ++i)
        power =
            i == 0
                ? base
                : arith::MulFOp::create(rewriter, loc, power, base).getResult();
      rewriter.replaceOp(op, power);
      return success();
    }
    Type wide = withElement(type, rewriter.getF64Type());
    Value base = op.getLhs();
    if (type != wide)
      base = arith::ExtFOp::create(rewriter, loc, wide, base);
    Value exponent = arith::SIToFPOp::create(rewriter, loc, wide, op.getRhs());
    Value power = math::PowFOp::create(rewriter, loc, base, exponent);
    if (type != wide)
      power = arith::TruncFOp::create(rewriter, loc, type, power);
    rewriter.replaceOp(op, power);
    return success();
  }
};

struct ConvertCpuToLLVM
    : heddle::impl::ConvertCpuToLLVMPassBase<ConvertCpuToLLVM> {
  void runOnOperation() override {
    MLIRContext *context = &getContext();
    LLVMTypeConverter types(context);
    RewritePatternSet patterns(context);
    populateAffineToStdConversionPatterns(patterns);
    vector::populateVectorMaskOpLoweringPatterns(patterns);
    vector::populateVectorMaskMaterializationPatterns(
        patterns, /*force32BitVectorIndices=*/true);
    populateVectorToLLVMConversionPatterns(types, patterns);
    populateMathToLLVMConversionPatterns(types, patterns,
                                         /*approximateLog1p=*/false);
    populateMathToLibmConversionPatterns(patterns, PatternBenefit(0));
    arith::populateArithToLLVMConversionPatterns(types, patterns);
    index::populateIndexToLLVMConversionPatterns(types, patterns);
    cf::populateControlFlowToLLVMConversionPatterns(types, patterns);
    populateFuncToLLVMConversionPatterns(types, patterns);
    patterns.add<LowerIntegerPower>(context);
    LLVMConversionTarget target(*context);
    target.addLegalOp<ModuleOp>();
    if (failed(
            applyFullConversion(getOperation(), target, std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
