//===- ConvertHeddleGpuToLanes.cpp - tiles to registers -------------------===//

#include "LaneCode.h"

#include "heddle/Conversion/HeddleGpuToNVVM/HeddleGpuToNVVM.h"
#include "heddle/Dialect/HeddleNvvm/IR/HeddleNvvm.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/Patterns.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/DialectConversion.h"

namespace heddle {
#define GEN_PASS_DEF_CONVERTHEDDLEGPUTOLANESPASS
#include "heddle/Conversion/HeddleGpuToNVVM/Passes.h.inc"
} // namespace heddle

using namespace mlir;
using namespace heddle_gpu;

namespace {
struct ConvertHeddleGpuToLanes
    : heddle::impl::ConvertHeddleGpuToLanesPassBase<ConvertHeddleGpuToLanes> {
  void runOnOperation() override {
    MLIRContext *context = &getContext();
    lowerTables();
    if (!getOperation().lookupSymbol(kDynamicShared)) {
      OpBuilder b = OpBuilder::atBlockBegin(getOperation().getBody());
      LLVM::GlobalOp::create(
          b, getOperation().getLoc(),
          LLVM::LLVMArrayType::get(b.getI8Type(), 0), /*isConstant=*/false,
          LLVM::Linkage::External, kDynamicShared, Attribute(),
          /*alignment=*/128, kSharedSpace);
    }
    LaneTypes types;
    RewritePatternSet patterns(context);
    populateElementwisePatterns(types, patterns);
    populateGlobalPatterns(types, patterns);
    populateSharedPatterns(types, patterns);
    populateComputePatterns(types, patterns);
    populateConvertLayoutPatterns(types, patterns);
    populateThreadPatterns(types, patterns);
    populateFunctionOpInterfaceTypeConversionPattern<gpu::GPUFuncOp>(patterns,
                                                                    types);
    ConversionTarget target(*context);
    scf::populateSCFStructuralTypeConversionsAndLegality(types, patterns,
                                                         target);
    target.addIllegalDialect<HeddleGpuDialect>();
    target.addIllegalOp<memref::AllocOp, memref::LoadOp, memref::StoreOp,
                        memref::GetGlobalOp, tensor::SplatOp, gpu::BarrierOp,
                        gpu::ShuffleOp>();
    target.addLegalDialect<LLVM::LLVMDialect, NVVM::NVVMDialect,
                           vector::VectorDialect>();
    target.addIllegalOp<vector::LoadOp, vector::StoreOp>();
    target.addDynamicallyLegalOp<gpu::GPUFuncOp>([&](gpu::GPUFuncOp f) {
      return types.isSignatureLegal(f.getFunctionType());
    });
    target.markUnknownOpDynamicallyLegal([&](Operation *op) -> std::optional<bool> {
      return types.isLegal(op);
    });
    if (failed(applyFullConversion(getOperation(), target, std::move(patterns))))
      signalPassFailure();
  }

  /// Constant tables are read-only data in global memory.
  void lowerTables() {
    for (auto table : llvm::make_early_inc_range(
             getOperation().getOps<memref::GlobalOp>())) {
      auto values = cast<DenseElementsAttr>(*table.getInitialValue());
      int64_t count = values.getNumElements();
      Type element = values.getElementType();
      OpBuilder b(table);
      LLVM::GlobalOp::create(
          b, table.getLoc(), LLVM::LLVMArrayType::get(element, count),
          /*isConstant=*/true, LLVM::Linkage::Private, table.getSymName(),
          values.reshape(RankedTensorType::get({count}, element)),
          /*alignment=*/16, kGlobalSpace);
      table.erase();
    }
  }
};
} // namespace
