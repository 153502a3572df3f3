//===- HeddleNvvmOps.td - instructions that the nvvm dialect lacks --------===//
//
// One definition per instruction is the whole table entry: the LLVM intrinsic
// or the PTX text of the device path, and the emulator's function. The passes
// know the interface, not the ops.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_NVVM_OPS_TD
#define HEDDLE_NVVM_OPS_TD

include "mlir/IR/OpBase.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def HeddleNvvm_Dialect : Dialect {
  let name = "heddle_nvvm";
  let cppNamespace = "::heddle::nvvm";
  let summary = "PTX instructions that the nvvm dialect lacks";
  let description = [{
    Part of contract N (`docs/emulator.md`): a kernel is llvm, nvvm and these
    ops, and holds no inline assembly. `convert-heddle-nvvm-to-llvm` lowers them
    for PTX, `convert-nvvm-to-emulator` for the emulator.

    What upstream has is used from there: `nvvm.rcp.approx.ftz.f`,
    `nvvm.convert.f32x2.to.bf16x2` and `.f16x2`, `llvm.atomicrmw` for atom and
    red, `llvm.intr.maxnum` and `llvm.intr.maximum` for max and max.NaN.
  }];
}

def HeddleNvvm_InstructionOpInterface : OpInterface<"InstructionOpInterface"> {
  let description = "How an instruction is spelled on a device and emulated.";
  let cppNamespace = "::heddle::nvvm";
  let methods = [
    StaticInterfaceMethod<"LLVM intrinsic, empty where LLVM has none",
      "::llvm::StringRef", "getIntrinsic", (ins)>,
    StaticInterfaceMethod<"PTX text with $0 for the result, $1... for operands",
      "::llvm::StringRef", "getPtx", (ins)>,
    StaticInterfaceMethod<"register constraints of the PTX text",
      "::llvm::StringRef", "getConstraints", (ins)>,
    StaticInterfaceMethod<"function of the emulator, which takes the operands",
      "::llvm::StringRef", "getEmulatorFunction", (ins)>
  ];
}

class HeddleNvvm_Instruction<string mnemonic, string intrinsic, string ptx,
                             string constraints, string emulator,
                             list<Trait> traits = []>
    : Op<HeddleNvvm_Dialect, mnemonic,
         traits # [HeddleNvvm_InstructionOpInterface]> {
  let extraClassDeclaration = [{
    static ::llvm::StringRef getIntrinsic() { return "}] # intrinsic # [{"; }
    static ::llvm::StringRef getPtx() { return "}] # ptx # [{"; }
    static ::llvm::StringRef getConstraints() { return "}] # constraints # [{"; }
    static ::llvm::StringRef getEmulatorFunction() { return "}] # emulator # [{"; }
  }];
}

class HeddleNvvm_UnaryF32<string mnemonic, string intrinsic, string ptx,
                          string emulator>
    : HeddleNvvm_Instruction<mnemonic, intrinsic, ptx, "=f,f", emulator,
                             [Pure, SameOperandsAndResultType]> {
  let arguments = (ins F32:$value);
  let results = (outs F32:$result);
  let assemblyFormat = "$value attr-dict";
}

def HeddleNvvm_Ex2ApproxFtzOp : HeddleNvvm_UnaryF32<"ex2.approx.ftz",
    "llvm.nvvm.ex2.approx.ftz.f32", "ex2.approx.ftz.f32 $0, $1;",
    "heddle_emu_ex2_approx_ftz_f32"> {
  let summary = "2 to the power of an f32";
  let description = [{
    One instruction of the special-function unit; `math.exp2` would become a
    call of libdevice. Relative error at most 2^-22.5; subnormal inputs and
    results are zero.

    ```mlir
    llvm.func @f(%x: f32) -> f32 {
      %y = heddle_nvvm.ex2.approx.ftz %x
      llvm.return %y : f32
    }
    ```
  }];
}

def HeddleNvvm_Lg2ApproxFtzOp : HeddleNvvm_UnaryF32<"lg2.approx.ftz",
    "llvm.nvvm.lg2.approx.ftz.f", "lg2.approx.ftz.f32 $0, $1;",
    "heddle_emu_lg2_approx_ftz_f32"> {
  let summary = "logarithm of an f32 to base 2";
  let description = [{
    Absolute error at most 2^-22 for values in [0.5, 2], relative error 2^-22
    elsewhere; a subnormal or zero gives -infinity, a negative value NaN.

    ```mlir
    llvm.func @f(%x: f32) -> f32 {
      %y = heddle_nvvm.lg2.approx.ftz %x
      llvm.return %y : f32
    }
    ```
  }];
}

def HeddleNvvm_RsqrtApproxFtzOp : HeddleNvvm_UnaryF32<"rsqrt.approx.ftz",
    "llvm.nvvm.rsqrt.approx.ftz.f", "rsqrt.approx.ftz.f32 $0, $1;",
    "heddle_emu_rsqrt_approx_ftz_f32"> {
  let summary = "reciprocal square root of an f32";
  let description = [{
    Relative error at most 2^-22.9; a subnormal or zero gives an infinity of its
    sign, a negative value NaN.

    ```mlir
    llvm.func @f(%x: f32) -> f32 {
      %y = heddle_nvvm.rsqrt.approx.ftz %x
      llvm.return %y : f32
    }
    ```
  }];
}

def HeddleNvvm_TanhApproxOp : HeddleNvvm_UnaryF32<"tanh.approx",
    "", "tanh.approx.f32 $0, $1;", "heddle_emu_tanh_approx_f32"> {
  let summary = "hyperbolic tangent of an f32";
  let description = [{
    Relative error at most 2^-11: enough for an activation that is rounded to 16
    bits. Subnormal values are kept.

    ```mlir
    llvm.func @f(%x: f32) -> f32 {
      %y = heddle_nvvm.tanh.approx %x
      llvm.return %y : f32
    }
    ```
  }];
}

#endif // HEDDLE_NVVM_OPS_TD
