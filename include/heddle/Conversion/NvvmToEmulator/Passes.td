//===- Passes.td - kernels for the emulator -------------------------------===//

#ifndef HEDDLE_CONVERSION_NVVMTOEMULATOR_PASSES_TD
#define HEDDLE_CONVERSION_NVVMTOEMULATOR_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertNvvmToEmulatorPass
    : Pass<"convert-nvvm-to-emulator", "::mlir::ModuleOp"> {
  let summary = "turns kernels of contract N into code for the emulator";
  let description = [{
    Takes the kernels of the module, or of its gpu.module, and leaves a module
    in the LLVM dialect for the CPU: nvvm and heddle_nvvm ops become calls of
    the emulator library, loads, stores and atomics are checked by it under a
    number (a site) whose op and location stand in a table that the object
    carries, shared memory is the block's window. Everything that contract N
    does not allow is reported at once.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif // HEDDLE_CONVERSION_NVVMTOEMULATOR_PASSES_TD
