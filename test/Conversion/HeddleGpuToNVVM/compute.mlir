// RUN: heddle-opt %s -pass-pipeline='builtin.module(gpu.module(convert-heddle-gpu-to-lanes,cse))' | FileCheck %s

// Products, reductions, changes of layout and positions on a thread's registers.

#c = #heddle_gpu.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], repeat = [1, 1]>
#a16 = #heddle_gpu.layout<register = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], repeat = [1, 1]>
#b16 = #heddle_gpu.layout<register = [[1, 0], [8, 0]], lane = [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]], repeat = [1, 1]>
#a32 = #heddle_gpu.layout<register = [[8, 0], [0, 4]], lane = [[0, 1], [0, 2], [1, 0], [2, 0], [4, 0]], repeat = [1, 1]>
#b32 = #heddle_gpu.layout<register = [[4, 0]], lane = [[1, 0], [2, 0], [0, 1], [0, 2], [0, 4]], repeat = [1, 1]>
#rows = #heddle_gpu.layout<register = [[8]], lane = [[0], [0], [1], [2], [4]], repeat = [1]>
#from = #heddle_gpu.layout<register = [[0, 1]], lane = [[1, 0], [2, 0], [4, 0], [0, 2], [0, 4]], repeat = [1, 1]>
#to = #heddle_gpu.layout<register = [[0, 1]], lane = [[2, 0], [1, 0], [4, 0], [0, 2], [0, 4]], repeat = [1, 1]>
#swapped = #heddle_gpu.layout<register = [[8, 0], [0, 1]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], repeat = [1, 1]>
#line = #heddle_gpu.layout<lane = [[1], [2], [4], [8], [16]], repeat = [1]>
#two = #heddle_gpu.layout<register = [[32]], lane = [[1], [2], [4], [8], [16]], repeat = [1]>

#pairs = #heddle_gpu.layout<register = [[1]], lane = [[2], [4], [8], [16], [32]], repeat = [1]>
#stack = #heddle_gpu.layout<register = [[1, 0], [2, 0]], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]], repeat = [1, 1]>

gpu.module @kernels {
  // A fragment is what one thread holds: pairs of 16 bits in one register.
  // CHECK-LABEL: gpu.func @product_of_16_bits
  gpu.func @product_of_16_bits(%a: tensor<16x16xbf16, #a16>, %b: tensor<16x8xbf16, #b16>, %acc: tensor<16x8xf32, #c>, %y: memref<16x8xf32>) kernel attributes {heddle_gpu.warps = 1 : i64} {
    // CHECK-SAME: %arg0: vector<8xbf16>, %arg1: vector<4xbf16>, %arg2: vector<4xf32>
    // CHECK: vector.shuffle %arg0, %arg0 [0, 1]
    // CHECK: llvm.bitcast %{{.*}} : vector<2xbf16> to i32
    // CHECK: nvvm.mma.sync A[%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}] B[%{{.*}}, %{{.*}}] C[%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}]
    // CHECK-SAME: multiplicandAPtxType = #nvvm.mma_type<bf16>
    // CHECK-SAME: shape = #nvvm.shape<m = 16, n = 8, k = 16>
    %c0 = arith.constant 0 : index
    %d = heddle_gpu.dot mma %a, %b, %acc : tensor<16x16xbf16, #a16>, tensor<16x8xbf16, #b16>, tensor<16x8xf32, #c>
    heddle_gpu.store %d into %y[%c0, %c0] dims [0, 1] : tensor<16x8xf32, #c> into memref<16x8xf32>
    gpu.return
  }

  // CHECK-LABEL: gpu.func @product_of_tf32
  gpu.func @product_of_tf32(%a: tensor<16x8xf32, #a32>, %b: tensor<8x8xf32, #b32>, %acc: tensor<16x8xf32, #c>, %y: memref<16x8xf32>) kernel attributes {heddle_gpu.warps = 1 : i64} {
    // CHECK: nvvm.mma.sync A[%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}] B[%{{.*}}, %{{.*}}]
    // CHECK-SAME: multiplicandAPtxType = #nvvm.mma_type<tf32>
    // CHECK-SAME: shape = #nvvm.shape<m = 16, n = 8, k = 8>
    %c0 = arith.constant 0 : index
    %d = heddle_gpu.dot mma_tf32 %a, %b, %acc : tensor<16x8xf32, #a32>, tensor<8x8xf32, #b32>, tensor<16x8xf32, #c>
    heddle_gpu.store %d into %y[%c0, %c0] dims [0, 1] : tensor<16x8xf32, #c> into memref<16x8xf32>
    gpu.return
  }

  // Lanes that differ along the axis exchange their sums.
  // CHECK-LABEL: gpu.func @sum_of_rows
  gpu.func @sum_of_rows(%x: tensor<16x8xf32, #c>, %y: memref<16xf32>) kernel attributes {heddle_gpu.warps = 1 : i64} {
    // CHECK: arith.addf
    // CHECK: nvvm.shfl.sync bfly %{{.*}}, %{{.*}}, %c1_i32, %c31_i32 : f32 -> f32
    // CHECK: nvvm.shfl.sync bfly %{{.*}}, %{{.*}}, %c2_i32, %c31_i32 : f32 -> f32
    // CHECK-NOT: nvvm.shfl.sync bfly %{{.*}}, %{{.*}}, %c4_i32
    // CHECK: gpu.return
    %c0 = arith.constant 0 : index
    %s = heddle_gpu.reduce add %x axis 1 : tensor<16x8xf32, #c>
    heddle_gpu.store %s into %y[%c0] dims [0] : tensor<16xf32, #rows> into memref<16xf32>
    gpu.return
  }

  // CHECK-LABEL: gpu.func @maximum_of_rows
  gpu.func @maximum_of_rows(%x: tensor<16x8xf32, #c>, %y: memref<16xf32>) kernel attributes {heddle_gpu.warps = 1 : i64} {
    // CHECK-COUNT-2: arith.maximumf
    // CHECK: nvvm.shfl.sync bfly
    %c0 = arith.constant 0 : index
    %s = heddle_gpu.reduce max %x axis 1 : tensor<16x8xf32, #c>
    heddle_gpu.store %s into %y[%c0] dims [0] : tensor<16xf32, #rows> into memref<16xf32>
    gpu.return
  }

  // In the thread, then across lanes: each takes the total of the lanes before it.
  // CHECK-LABEL: gpu.func @running_sum
  gpu.func @running_sum(%x: tensor<64xf32, #pairs>, %y: memref<64xf32>) kernel attributes {heddle_gpu.warps = 1 : i64} {
    // CHECK: %[[TOTAL:.*]] = arith.addf
    // CHECK: nvvm.shfl.sync bfly %{{.*}}, %[[TOTAL]], %c1_i32, %c31_i32 : f32 -> f32
    // CHECK-COUNT-4: nvvm.shfl.sync bfly
    // CHECK-NOT: nvvm.shfl
    // CHECK: %[[BEFORE:.*]] = arith.ori
    // CHECK: arith.select %[[BEFORE]]
    // CHECK: arith.select %[[BEFORE]]
    // CHECK: gpu.return
    %c0 = arith.constant 0 : index
    %s = heddle_gpu.scan add %x axis 0 : tensor<64xf32, #pairs>
    heddle_gpu.store %s into %y[%c0] dims [0] : tensor<64xf32, #pairs> into memref<64xf32>
    gpu.return
  }

  // An axis that no lane is spread over needs no shuffle.
  // CHECK-LABEL: gpu.func @running_product_of_registers
  gpu.func @running_product_of_registers(%x: tensor<4x32xf32, #stack>, %y: memref<4x32xf32>) kernel attributes {heddle_gpu.warps = 1 : i64} {
    // CHECK-COUNT-3: arith.mulf
    // CHECK-NOT: nvvm.shfl
    // CHECK: gpu.return
    %c0 = arith.constant 0 : index
    %s = heddle_gpu.scan mul %x axis 0 reverse : tensor<4x32xf32, #stack>
    heddle_gpu.store %s into %y[%c0, %c0] dims [0, 1] : tensor<4x32xf32, #stack> into memref<4x32xf32>
    gpu.return
  }

  // Broadcasts and registers in another order move nothing.
  // CHECK-LABEL: gpu.func @inside_a_thread
  gpu.func @inside_a_thread(%x: tensor<16xf32, #rows>, %y: memref<16x8xf32>) kernel attributes {heddle_gpu.warps = 1 : i64} {
    // CHECK: %[[B:.*]] = vector.shuffle %arg0, %arg0 [0, 0, 1, 1]
    // CHECK: vector.shuffle %[[B]], %[[B]] [0, 2, 1, 3]
    // CHECK-NOT: nvvm.shfl
    // CHECK: gpu.return
    %c0 = arith.constant 0 : index
    %b = heddle_gpu.broadcast %x dims [1] : tensor<16xf32, #rows> -> tensor<16x8xf32, #c>
    %s = heddle_gpu.convert_layout %b : tensor<16x8xf32, #c> -> tensor<16x8xf32, #swapped>
    heddle_gpu.store %s into %y[%c0, %c0] dims [0, 1] : tensor<16x8xf32, #swapped> into memref<16x8xf32>
    gpu.return
  }

  // Lanes of a warp exchange registers: one shuffle a register, two of a half each.
  // CHECK-LABEL: gpu.func @inside_a_warp
  gpu.func @inside_a_warp(%x: tensor<8x8xf32, #from>, %h: tensor<8x8xbf16, #from>, %d: tensor<8x8xf64, #from>, %y: memref<8x8xf32>, %z: memref<8x8xbf16>, %w: memref<8x8xf64>) kernel attributes {heddle_gpu.warps = 1 : i64} {
    // CHECK: %[[A:.*]] = arith.bitcast %{{.*}} : f32 to i32
    // CHECK: nvvm.shfl.sync idx %c-1_i32, %[[A]], %{{.*}}, %c31_i32 : i32 -> i32
    // CHECK: nvvm.shfl.sync idx
    // CHECK-NOT: nvvm.shfl
    // CHECK: %[[H:.*]] = llvm.bitcast %{{.*}} : vector<2xbf16> to i32
    // CHECK: nvvm.shfl.sync idx %{{.*}}, %[[H]]
    // CHECK-NOT: nvvm.shfl
    // CHECK: arith.bitcast %{{.*}} : f64 to i64
    // CHECK-COUNT-4: nvvm.shfl.sync idx
    // CHECK-NOT: nvvm.shfl
    // CHECK-NOT: !llvm.ptr<3>
    // CHECK: gpu.return
    %c0 = arith.constant 0 : index
    %s = heddle_gpu.convert_layout %x : tensor<8x8xf32, #from> -> tensor<8x8xf32, #to>
    %t = heddle_gpu.convert_layout %h : tensor<8x8xbf16, #from> -> tensor<8x8xbf16, #to>
    %u = heddle_gpu.convert_layout %d : tensor<8x8xf64, #from> -> tensor<8x8xf64, #to>
    heddle_gpu.store %s into %y[%c0, %c0] dims [0, 1] : tensor<8x8xf32, #to> into memref<8x8xf32>
    heddle_gpu.store %t into %z[%c0, %c0] dims [0, 1] : tensor<8x8xbf16, #to> into memref<8x8xbf16>
    heddle_gpu.store %u into %w[%c0, %c0] dims [0, 1] : tensor<8x8xf64, #to> into memref<8x8xf64>
    gpu.return
  }

  // Arithmetic is that of the registers; what is scalar stays so.
  // CHECK-LABEL: gpu.func @arithmetic
  gpu.func @arithmetic(%x: tensor<64xf32, #two>, %s: f32, %i: i32, %y: memref<64xf32>, %z: memref<64xi32>) kernel attributes {heddle_gpu.warps = 1 : i64} {
    // CHECK: %[[S:.*]] = vector.broadcast %arg1 : f32 to vector<2xf32>
    // CHECK: arith.mulf %arg0, %[[S]] : vector<2xf32>
    // Registers of a thread are 32 apart.
    // CHECK: arith.constant dense<[0, 32]> : vector<2xi32>
    // CHECK: arith.addi %arg2, %{{.*}} : i32
    %c0 = arith.constant 0 : index
    %t = tensor.splat %s : tensor<64xf32, #two>
    %p = arith.mulf %x, %t : tensor<64xf32, #two>
    %n = heddle_gpu.iota axis 0 from %i : tensor<64xi32, #two>
    heddle_gpu.store %p into %y[%c0] dims [0] : tensor<64xf32, #two> into memref<64xf32>
    heddle_gpu.store %n into %z[%c0] dims [0] : tensor<64xi32, #two> into memref<64xi32>
    gpu.return
  }
}
