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
#define GEN_PASS_DEF_ISOLATEKERNELSPASS
#define GEN_PASS_DEF_EXPANDVECTORMATHPASS
#include "heddle/Codegen/Passes.h.inc"
} // namespace heddle

using namespace mlir;
using namespace heddle;

namespace {
struct ConvertTileToCpu
    : heddle::impl::ConvertTileToCpuPassBase<ConvertTileToCpu> {
  using ConvertTileToCpuPassBase::ConvertTileToCpuPassBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    ConvertTileToCpuPassBase::getDependentDialects(registry);
    registry.insert<LLVM::LLVMDialect>(); // intrinsics
  }

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
      if (!family)
        continue;
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

struct IsolateKernels
    : heddle::impl::IsolateKernelsPassBase<IsolateKernels> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    OpBuilder b = OpBuilder::atBlockEnd(module.getBody());
    for (auto f : llvm::to_vector(module.getOps<func::FuncOp>())) {
      if (f->hasAttr(kKernelFamily)) {
        auto own = ModuleOp::create(b, f.getLoc(), f.getName());
        f->moveBefore(own.getBody(), own.getBody()->end());
      } else if (!f.isExternal()) {
        f.erase();
      }
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
