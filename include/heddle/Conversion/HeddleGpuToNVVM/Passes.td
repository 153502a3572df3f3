//===- Passes.td - from contract G to contract N --------------------------===//

#ifndef HEDDLE_CONVERSION_HEDDLEGPUTONVVM_PASSES_TD
#define HEDDLE_CONVERSION_HEDDLEGPUTONVVM_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertHeddleGpuToLanesPass
    : Pass<"convert-heddle-gpu-to-lanes", "::mlir::gpu::GPUModuleOp"> {
  let summary = "replaces tiles by the registers of one thread";
  let description = [{
    A tile becomes a vector with an element per register, memory ops become
    loads, stores and copies of this thread's part, products mma.sync, and
    reductions shuffles. Expects conversions through shared memory to be
    expanded (heddle-gpu-expand-shared) and shared memory to have offsets
    (heddle-gpu-allocate-shared). Global buffers are pointers afterwards and
    start at multiples of 16 bytes.
  }];
  let dependentDialects = [
    "::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect",
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
    "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"
  ];
}

def ConvertLanesToNVVMPass
    : Pass<"convert-lanes-to-nvvm", "::mlir::gpu::GPUModuleOp"> {
  let summary = "turns the code of one thread into contract N";
  let description = [{
    Upstream's conversions of gpu, scf, arith, math and vector to the LLVM and
    NVVM dialects. Of f32, exp, exp2, log, log2 and rsqrt become the device's
    approximate instructions and tanh and erf polynomials; every other function
    goes by way of f64 (`heddle/Codegen/Math`). No call of libm or libdevice is
    left.

    Errors of the approximate ones: exp2 2^-22.5 and exp 2^-22 + |x| 2^-24,
    relative; log2 2^-22 and log 2^-22.5, absolute for arguments in [1/2, 2] and
    relative elsewhere; rsqrt 2^-22.9, relative. Subnormal arguments and results
    of these are 0.
  }];
  let dependentDialects = [
    "::heddle::nvvm::HeddleNvvmDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::NVVM::NVVMDialect", "::mlir::arith::ArithDialect",
    "::mlir::cf::ControlFlowDialect", "::mlir::math::MathDialect",
    "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect"
  ];
}

#endif // HEDDLE_CONVERSION_HEDDLEGPUTONVVM_PASSES_TD
