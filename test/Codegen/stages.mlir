// RUN: heddle-opt %s -heddle-stage-model | heddle-opt -heddle-stage-fuse | heddle-opt -heddle-stage-plan \
// RUN:   | heddle-opt -heddle-stage-tile | heddle-opt -heddle-stage-cpu | heddle-opt -heddle-stage-llvm | FileCheck %s

// Each stage reads what the one before it prints.

// CHECK: llvm.func @elementwise_3_5_f32(%{{.*}}: !llvm.ptr, %{{.*}}: i64, %{{.*}}: !llvm.ptr)
func.func @sum(%a: tensor<3x5xf32>, %b: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %y = arith.addf %a, %b : tensor<3x5xf32>
  return %y : tensor<3x5xf32>
}
