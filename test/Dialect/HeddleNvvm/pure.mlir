// RUN: heddle-opt %s --cse --canonicalize | FileCheck %s

// CHECK-LABEL: llvm.func @equal_ops_merge_and_unused_ones_go
llvm.func @equal_ops_merge_and_unused_ones_go(%x: f32) -> f32 {
  // CHECK-NEXT: %[[A:.*]] = heddle_nvvm.ex2.approx.ftz
  // CHECK-NEXT: llvm.fadd %[[A]], %[[A]]
  %a = heddle_nvvm.ex2.approx.ftz %x
  %b = heddle_nvvm.ex2.approx.ftz %x
  %unused = heddle_nvvm.tanh.approx %x
  %c = llvm.fadd %a, %b : f32
  llvm.return %c : f32
}
