//===- F32Precision.cpp - how products of f32 are formed ------------------===//

#include "F32Precision.h"

#include "heddle/Codegen/Tile/KernelBody.h"
#include "heddle/Dialect/Heddle/IR/Heddle.h"
#include "heddle/Pipelines/Pipelines.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;
using namespace heddle;

std::optional<F32Precision> heddle::parseF32Precision(StringRef name) {
  if (name == "ieee")
    return F32Precision::Ieee;
  if (name == "tf32")
    return F32Precision::Tf32;
  return std::nullopt;
}

namespace {
struct AllowTf32 : PassWrapper<AllowTf32, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(AllowTf32)

  StringRef getArgument() const final { return "heddle-allow-tf32"; }
  StringRef getDescription() const final {
    return "lets products of f32 round their operands to TF32";
  }

  void runOnOperation() override {
    getOperation().walk([](Operation *op) {
      if (auto attention = dyn_cast<AttentionOp>(op)) {
        if (getElementTypeOrSelf(attention.getQuery().getType()).isF32())
          attention.setPrecision(Precision::TF32);
        return;
      }
      auto function = dyn_cast<func::FuncOp>(op);
      if (!function)
        return;
      if (function->hasAttr(kKernelFamily))
        function->setAttr(kKernelTf32, UnitAttr::get(op->getContext()));
      else if (function.isPublic())
        function->setAttr(kFunctionPrecision,
                          StringAttr::get(op->getContext(), "tf32"));
    });
  }
};
} // namespace

std::unique_ptr<Pass> heddle::createAllowTf32Pass() {
  return std::make_unique<AllowTf32>();
}

void heddle::registerAllowTf32Pass() {
  registerPass([] { return createAllowTf32Pass(); });
}
