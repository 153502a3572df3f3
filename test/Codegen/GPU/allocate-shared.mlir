// RUN: heddle-opt %s -pass-pipeline='builtin.module(gpu.module(heddle-gpu-allocate-shared))' | FileCheck %s

#line = #heddle_gpu.layout<lane = [[1], [2], [4], [8], [16]], repeat = [2]>
!tile = !heddle_gpu.smem<64xf32, #heddle_gpu.shared<row_major>>

gpu.module @kernels {
  // Tiles whose uses do not overlap share bytes.
  // CHECK-LABEL: gpu.func @one_after_the_other
  // CHECK-SAME: heddle_gpu.shared_bytes = 256 : i64
  gpu.func @one_after_the_other(%x: tensor<64xf32, #line>) kernel attributes {heddle_gpu.warps = 1 : i64} {
    // CHECK: smem_alloc offset 0
    // CHECK: smem_alloc offset 0
    %a = heddle_gpu.smem_alloc : !tile
    %b = heddle_gpu.smem_alloc : !tile
    heddle_gpu.smem_store %x, %a : tensor<64xf32, #line>, !tile
    %0 = heddle_gpu.smem_load %a : !tile -> tensor<64xf32, #line>
    heddle_gpu.smem_store %0, %b : tensor<64xf32, #line>, !tile
    gpu.return
  }

  // A tile that a loop reads and code before it wrote keeps its bytes.
  // CHECK-LABEL: gpu.func @read_in_every_round
  // CHECK-SAME: heddle_gpu.shared_bytes = 512 : i64
  gpu.func @read_in_every_round(%x: tensor<64xf32, #line>, %n: index) kernel attributes {heddle_gpu.warps = 1 : i64} {
    // CHECK-DAG: smem_alloc offset 0
    // CHECK-DAG: smem_alloc offset 256
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %a = heddle_gpu.smem_alloc : !tile
    %b = heddle_gpu.smem_alloc : !tile
    heddle_gpu.smem_store %x, %a : tensor<64xf32, #line>, !tile
    scf.for %i = %c0 to %n step %c1 {
      %0 = heddle_gpu.smem_load %a : !tile -> tensor<64xf32, #line>
      heddle_gpu.smem_store %0, %b : tensor<64xf32, #line>, !tile
    }
    gpu.return
  }
}
