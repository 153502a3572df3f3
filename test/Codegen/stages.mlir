// RUN: heddle-opt %s -heddle-stage-model | heddle-opt -heddle-stage-differentiate | heddle-opt -heddle-stage-fuse | heddle-opt -heddle-stage-plan \
// RUN:   | heddle-opt -heddle-stage-tile | heddle-opt -heddle-stage-cpu | heddle-opt -heddle-stage-llvm | FileCheck %s
// RUN: heddle-opt %s -heddle-stage-model=target=sm_80 | heddle-opt -heddle-stage-differentiate | heddle-opt -heddle-stage-fuse=target=sm_80 | heddle-opt -heddle-stage-plan \
// RUN:   | heddle-opt -heddle-stage-tile=target=sm_80 | heddle-opt -heddle-stage-gpu | heddle-opt -heddle-stage-nvvm | FileCheck %s --check-prefix=GPU

// Each stage reads what the one before it prints.

// CHECK: llvm.func @elementwise_3_5_f32(%{{.*}}: !llvm.ptr, %{{.*}}: i64, %{{.*}}: !llvm.ptr)
// GPU: gpu.module @elementwise_3_5_f32
// GPU: llvm.func @elementwise_3_5_f32({{.*}}: !llvm.ptr<1>, {{.*}}: !llvm.ptr<1>, {{.*}}: !llvm.ptr<1>){{.*}}heddle.grid = 1 : i64{{.*}}nvvm.reqntid
func.func @sum(%a: tensor<3x5xf32>, %b: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %y = arith.addf %a, %b : tensor<3x5xf32>
  return %y : tensor<3x5xf32>
}
