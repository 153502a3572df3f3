//===- ConvertTileToCpu.cpp - the pass from contract T to CPU loops -------===//

#include "heddle/Codegen/CPU/TileToCpu.h"
#include "heddle/Codegen/Passes.h"
#include "heddle/Codegen/Tile/KernelBody.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace heddle {
#define GEN_PASS_DEF_CONVERTTILETOCPUPASS
#define GEN_PASS_DEF_ADDKERNELENTRIESPASS
#define GEN_PASS_DEF_EXPANDVECTORMATHPASS
#include "heddle/Codegen/Passes.h.inc"
} // namespace heddle

using namespace mlir;
using namespace heddle;

namespace {
struct ConvertTileToCpu
    : heddle::impl::ConvertTileToCpuPassBase<ConvertTileToCpu> {
  using ConvertTileToCpuPassBase::ConvertTileToCpuPassBase;

  void runOnOperation() override {
    CpuTarget target;
    std::string error;
    if (failed(CpuTarget::parse(cpu, target, error))) {
      getOperation().emitError(error);
      return signalPassFailure();
    }
    SmallVector<func::FuncOp> functions(
        getOperation().getOps<func::FuncOp>());
    for (func::FuncOp f : functions) {
      auto family = f->getAttrOfType<StringAttr>(kKernelFamily);
      if (!family) {
        if (!f.isExternal())
          f.erase();
        continue;
      }
      if (family.getValue() == "loops") {
        if (failed(lowerLoopsToCpu(f)))
          return signalPassFailure();
        continue;
      }
      FailureOr<func::FuncOp> lowered = lowerTileToCpu(f, target);
      if (failed(lowered))
        return signalPassFailure();
      f.erase();
    }
  }
};

struct AddKernelEntries
    : heddle::impl::AddKernelEntriesPassBase<AddKernelEntries> {
  void runOnOperation() override {
    SmallVector<LLVM::LLVMFuncOp> kernels;
    for (auto f : getOperation().getOps<LLVM::LLVMFuncOp>())
      if (f->hasAttr(kKernelFamily) && !f.isExternal())
        kernels.push_back(f);
    for (LLVM::LLVMFuncOp f : kernels) {
      OpBuilder b(f);
      Location loc = f.getLoc();
      std::string name = f.getName().str();
      f.setName(name + ".body");
      f.setLinkage(LLVM::Linkage::Internal);
      f.setVisibility(SymbolTable::Visibility::Private);
      auto ptr = LLVM::LLVMPointerType::get(b.getContext());
      Type i64 = b.getI64Type();
      auto type = LLVM::LLVMFunctionType::get(
          LLVM::LLVMVoidType::get(b.getContext()), {ptr, i64, ptr});
      auto entry = LLVM::LLVMFuncOp::create(b, loc, name, type);
      for (NamedAttribute attr : f->getDiscardableAttrs())
        entry->setDiscardableAttr(attr.getName(), attr.getValue());
      Block *block = entry.addEntryBlock(b);
      b.setInsertionPointToEnd(block);
      SmallVector<Value> operands;
      unsigned numBuffers = f.getNumArguments() - 2;
      for (unsigned i = 0; i < numBuffers; ++i) {
        Value at = LLVM::GEPOp::create(
            b, loc, ptr, ptr, block->getArgument(0),
            ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(i)});
        operands.push_back(LLVM::LoadOp::create(b, loc, ptr, at));
      }
      operands.push_back(block->getArgument(1));
      operands.push_back(block->getArgument(2));
      LLVM::CallOp::create(b, loc, f, operands);
      LLVM::ReturnOp::create(b, loc, ValueRange{});
    }
  }
};

struct ExpandVectorMath
    : heddle::impl::ExpandVectorMathPassBase<ExpandVectorMath> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    populateMathPolynomialApproximationPatterns(patterns);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
