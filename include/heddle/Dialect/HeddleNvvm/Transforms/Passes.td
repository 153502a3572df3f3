//===- Passes.td - passes on contract N -----------------------------------===//

#ifndef HEDDLE_NVVM_TRANSFORMS_PASSES_TD
#define HEDDLE_NVVM_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def VerifyNvvmPass : Pass<"heddle-verify-nvvm", "::mlir::ModuleOp"> {
  let summary = "checks contract N and lists everything that breaks it";
  let description = [{
    Looks at every `llvm.func` and `llvm.mlir.global` of the module and of its
    gpu.modules. PTX emission and the emulator check the same before they start.

    - Ops are those of nvvm and heddle_nvvm, and of llvm what is an instruction of
      a GPU, or a few: arithmetic, conversions, comparisons, branches, addresses,
      loads, stores, atomics. No inline assembly, no `call_intrinsic`, no memcpy or
      memset, no functions of libm.
    - Callees are functions of the module with a body. PTX alone may also call
      libdevice (`__nv_*`).
    - A load or store of global, shared or generic memory has 1, 2, 4, 8 or 16
      bytes and is aligned to them. Atomics are of i32, i64, f32 or f64.
    - Shared memory is internal globals, and one external one of size 0 that is
      called `heddle_shared`.
    - A kernel's parameters are pointers and scalars of at most 8 bytes; its block
      (`nvvm.reqntid`) has 1 to 1024 threads, as many warps as
      `heddle_gpu.warps` says, and its grid (`heddle.grid`) at least one block.
  }];
}

#endif // HEDDLE_NVVM_TRANSFORMS_PASSES_TD
