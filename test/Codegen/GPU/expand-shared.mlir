// RUN: heddle-opt %s -pass-pipeline='builtin.module(gpu.module(heddle-gpu-expand-shared))' | FileCheck %s

#a = #heddle_gpu.layout<register = [[0, 1]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[8, 0]], repeat = [1, 1]>
#b = #heddle_gpu.layout<register = [[8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[0, 1]], repeat = [1, 1]>
#lanes = #heddle_gpu.layout<register = [[0, 1]], lane = [[1, 0], [2, 0], [0, 2], [0, 4], [4, 0]], warp = [[8, 0]], repeat = [1, 1]>
#swapped = #heddle_gpu.layout<register = [[0, 2], [0, 1]], lane = [[0, 4], [0, 8], [1, 0], [2, 0], [4, 0]], warp = [[0, 0]], repeat = [1, 1]>
#plain = #heddle_gpu.layout<register = [[0, 1], [0, 2]], lane = [[0, 4], [0, 8], [1, 0], [2, 0], [4, 0]], warp = [[0, 0]], repeat = [1, 1]>
#columns = #heddle_gpu.layout<register = [[0, 1]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[0, 8]], repeat = [1, 1]>

gpu.module @kernels {
  // Warps own other parts: through shared memory, with a barrier before, as others
  // may still read what was there, and one between.
  // CHECK-LABEL: gpu.func @across_warps
  gpu.func @across_warps(%x: tensor<16x8xf32, #a>, %y: memref<16x8xf32>) kernel attributes {heddle_gpu.warps = 2 : i64} {
    // CHECK: %[[S:.*]] = heddle_gpu.smem_alloc
    // CHECK: heddle_gpu.barrier
    // CHECK-NEXT: heddle_gpu.smem_store %arg0, %[[S]]
    // CHECK-NEXT: heddle_gpu.barrier
    // CHECK-NEXT: %[[T:.*]] = heddle_gpu.smem_load %[[S]]
    // CHECK-NEXT: heddle_gpu.store %[[T]]
    %c0 = arith.constant 0 : index
    %t = heddle_gpu.convert_layout %x : tensor<16x8xf32, #a> -> tensor<16x8xf32, #b>
    heddle_gpu.store %t into %y[%c0, %c0] dims [0, 1] : tensor<16x8xf32, #b> into memref<16x8xf32>
    gpu.return
  }

  // Truth values pass as bytes, indices as 64 bits.
  // CHECK-LABEL: gpu.func @truths
  gpu.func @truths(%x: tensor<16x8xi1, #a>, %i: tensor<16x8xindex, #a>, %y: memref<16x8xi1>, %z: memref<16x8xindex>) kernel attributes {heddle_gpu.warps = 2 : i64} {
    // CHECK: %[[B:.*]] = arith.extui %arg0 : tensor<16x8xi1, #{{.*}}> to tensor<16x8xi8
    // CHECK: heddle_gpu.smem_store %[[B]]
    // CHECK: arith.trunci {{.*}} to tensor<16x8xi1
    // CHECK: arith.index_cast %arg1 : tensor<16x8xindex, #{{.*}}> to tensor<16x8xi64
    // CHECK: arith.index_cast {{.*}} to tensor<16x8xindex
    %c0 = arith.constant 0 : index
    %t = heddle_gpu.convert_layout %x : tensor<16x8xi1, #a> -> tensor<16x8xi1, #b>
    heddle_gpu.store %t into %y[%c0, %c0] dims [0, 1] : tensor<16x8xi1, #b> into memref<16x8xi1>
    %u = heddle_gpu.convert_layout %i : tensor<16x8xindex, #a> -> tensor<16x8xindex, #b>
    heddle_gpu.store %u into %z[%c0, %c0] dims [0, 1] : tensor<16x8xindex, #b> into memref<16x8xindex>
    gpu.return
  }

  // Inside a warp, and inside a thread, nothing has to be written down.
  // CHECK-LABEL: gpu.func @inside_a_warp
  gpu.func @inside_a_warp(%x: tensor<16x8xf32, #a>, %r: tensor<8x16xf32, #plain>, %y: memref<16x8xf32>, %z: memref<8x16xf32>) kernel attributes {heddle_gpu.warps = 2 : i64} {
    // CHECK-NOT: heddle_gpu.smem
    // CHECK: heddle_gpu.convert_layout
    // CHECK: heddle_gpu.convert_layout
    // CHECK: gpu.return
    %c0 = arith.constant 0 : index
    %t = heddle_gpu.convert_layout %x : tensor<16x8xf32, #a> -> tensor<16x8xf32, #lanes>
    heddle_gpu.store %t into %y[%c0, %c0] dims [0, 1] : tensor<16x8xf32, #lanes> into memref<16x8xf32>
    %u = heddle_gpu.convert_layout %r : tensor<8x16xf32, #plain> -> tensor<8x16xf32, #swapped>
    heddle_gpu.store %u into %z[%c0, %c0] dims [0, 1] : tensor<8x16xf32, #swapped> into memref<8x16xf32>
    gpu.return
  }

  // A reduction whose axis crosses warps: each warp gets the sums of all threads.
  // CHECK-LABEL: gpu.func @sum_across_warps
  gpu.func @sum_across_warps(%x: tensor<8x16xf32, #columns>, %y: memref<8xf32>) kernel attributes {heddle_gpu.warps = 2 : i64} {
    // CHECK: %[[PART:.*]] = heddle_gpu.reduce add %arg0 axis 1 partial
// CHECK: heddle_gpu.smem_store %[[PART]]
    // CHECK: heddle_gpu.barrier
    // CHECK: %[[ROWS:.*]] = heddle_gpu.smem_load
    // CHECK: heddle_gpu.reduce add %[[ROWS]] axis 1
    %c0 = arith.constant 0 : index
    %s = heddle_gpu.reduce add %x axis 1 : tensor<8x16xf32, #columns>
    heddle_gpu.store %s into %y[%c0] dims [0] : tensor<8xf32, #heddle_gpu.layout<lane = [[0], [0], [1], [2], [4]], warp = [[0]], repeat = [1]>> into memref<8xf32>
    gpu.return
  }

  // A scan whose axis crosses warps: each warp first gets whole rows; then everyone
  // gets its part of the result.
  // CHECK-LABEL: gpu.func @scan_across_warps
  gpu.func @scan_across_warps(%x: tensor<8x16xf32, #columns>, %y: memref<8x16xf32>) kernel attributes {heddle_gpu.warps = 2 : i64} {
    // CHECK: heddle_gpu.smem_store %arg0
    // CHECK: heddle_gpu.barrier
    // CHECK: %[[ROWS:.*]] = heddle_gpu.smem_load
    // CHECK: %[[SCAN:.*]] = heddle_gpu.scan add %[[ROWS]] axis 1
    // CHECK: heddle_gpu.smem_store %[[SCAN]]
    %c0 = arith.constant 0 : index
    %s = heddle_gpu.scan add %x axis 1 : tensor<8x16xf32, #columns>
    heddle_gpu.store %s into %y[%c0, %c0] dims [0, 1] : tensor<8x16xf32, #columns> into memref<8x16xf32>
    gpu.return
  }

  // Inside a warp it stays where it is.
  // CHECK-LABEL: gpu.func @scan_inside_a_warp
  gpu.func @scan_inside_a_warp(%x: tensor<16x8xf32, #a>, %y: memref<16x8xf32>) kernel attributes {heddle_gpu.warps = 2 : i64} {
    // CHECK-NOT: heddle_gpu.smem
    // CHECK: heddle_gpu.scan add %arg0 axis 1
    // CHECK-NOT: heddle_gpu.convert_layout
    // CHECK: gpu.return
    %c0 = arith.constant 0 : index
    %s = heddle_gpu.scan add %x axis 1 : tensor<16x8xf32, #a>
    heddle_gpu.store %s into %y[%c0, %c0] dims [0, 1] : tensor<16x8xf32, #a> into memref<16x8xf32>
    gpu.return
  }
}
