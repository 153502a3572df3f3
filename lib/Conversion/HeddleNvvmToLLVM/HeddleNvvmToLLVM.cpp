//===- HeddleNvvmToLLVM.cpp - heddle_nvvm for a device --------------------===//

#include "heddle/Conversion/HeddleNvvmToLLVM/HeddleNvvmToLLVM.h"
#include "heddle/Dialect/HeddleNvvm/IR/HeddleNvvm.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace heddle {
#define GEN_PASS_DEF_CONVERTHEDDLENVVMTOLLVMPASS
#include "heddle/Conversion/HeddleNvvmToLLVM/Passes.h.inc"
} // namespace heddle

using namespace mlir;

namespace {
struct ConvertHeddleNvvmToLLVM
    : heddle::impl::ConvertHeddleNvvmToLLVMPassBase<ConvertHeddleNvvmToLLVM> {
  void runOnOperation() override {
    SmallVector<heddle::nvvm::InstructionOpInterface> ops;
    getOperation()->walk(
        [&](heddle::nvvm::InstructionOpInterface op) { ops.push_back(op); });
    for (heddle::nvvm::InstructionOpInterface op : ops)
      lower(op);
  }

  static void lower(heddle::nvvm::InstructionOpInterface op) {
    OpBuilder b(op);
    Location loc = op.getLoc();
    TypeRange types = op->getResultTypes();
    Operation *lowered;
    if (!op.getIntrinsic().empty())
      lowered = LLVM::CallIntrinsicOp::create(
          b, loc, types.empty() ? Type() : types[0],
          b.getStringAttr(op.getIntrinsic()), op->getOperands());
    else
      lowered = LLVM::InlineAsmOp::create(
          b, loc, types, op->getOperands(), op.getPtx(), op.getConstraints(),
          /*has_side_effects=*/!isPure(op), /*is_align_stack=*/false,
          LLVM::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr());
    op->replaceAllUsesWith(lowered);
    op->erase();
  }
};
} // namespace
