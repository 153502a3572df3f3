//===- Passes.td - heddle_nvvm for a device -------------------------------===//

#ifndef HEDDLE_CONVERSION_HEDDLENVVMTOLLVM_PASSES_TD
#define HEDDLE_CONVERSION_HEDDLENVVMTOLLVM_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertHeddleNvvmToLLVMPass : Pass<"convert-heddle-nvvm-to-llvm"> {
  let summary = "lowers heddle_nvvm ops for PTX";
  let description = [{
    Each op becomes a call of its LLVM intrinsic or, where LLVM has none, inline
    assembly: the only place that creates any, right before emission.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif // HEDDLE_CONVERSION_HEDDLENVVMTOLLVM_PASSES_TD
