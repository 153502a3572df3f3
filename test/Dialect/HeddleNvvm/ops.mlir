// RUN: heddle-opt %s | FileCheck %s
// RUN: heddle-opt %s --mlir-print-op-generic | heddle-opt | FileCheck %s

// CHECK-LABEL: llvm.func @every_op
llvm.func @every_op(%x: f32) -> f32 {
  // CHECK: heddle_nvvm.ex2.approx.ftz %{{.*}}
  %a = heddle_nvvm.ex2.approx.ftz %x
  // CHECK: heddle_nvvm.lg2.approx.ftz %{{.*}}
  %b = heddle_nvvm.lg2.approx.ftz %a
  // CHECK: heddle_nvvm.rsqrt.approx.ftz %{{.*}}
  %c = heddle_nvvm.rsqrt.approx.ftz %b
  // CHECK: heddle_nvvm.tanh.approx %{{.*}}
  %d = heddle_nvvm.tanh.approx %c
  llvm.return %d : f32
}
