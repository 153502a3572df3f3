// RUN: heddle-opt %s -pass-pipeline='builtin.module(gpu.module(convert-heddle-gpu-to-lanes,cse))' | FileCheck %s

// Shared memory: vectors, ldmatrix, XOR swizzles, asynchronous copies, barriers.

#row = #heddle_gpu.layout<register = [[0, 1], [0, 2]], lane = [[0, 4], [0, 8], [1, 0], [2, 0], [4, 0]], repeat = [1, 1]>
#a16 = #heddle_gpu.layout<register = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], repeat = [1, 1]>
#b16 = #heddle_gpu.layout<register = [[1, 0], [8, 0], [0, 8]], lane = [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]], repeat = [1, 1]>
#line = #heddle_gpu.layout<lane = [[1], [2], [4], [8], [16]], repeat = [1]>
!plain = !heddle_gpu.smem<8x16xf32, #heddle_gpu.shared<row_major>>
!swizzled = !heddle_gpu.smem<8x32xf32, #heddle_gpu.shared<vector_bytes = 16, rows_per_phase = 1, phases = 8>>
!half = !heddle_gpu.smem<16x16xf16, #heddle_gpu.shared<vector_bytes = 16, rows_per_phase = 4, phases = 2>>
!stages = !heddle_gpu.smem<8x16xf32, #heddle_gpu.shared<row_major>, stages = 3>
!narrow = !heddle_gpu.smem<8x18xbf16, #heddle_gpu.shared<row_major>>

gpu.module @kernels {
  // CHECK: llvm.mlir.global external @heddle_shared() {addr_space = 3 : i32, alignment = 128 : i64} : !llvm.array<0 x i8>

  // CHECK-LABEL: gpu.func @vectors
  gpu.func @vectors(%x: tensor<8x16xf32, #row>, %y: memref<8x16xf32>) kernel attributes {heddle_gpu.warps = 1 : i64} {
    // CHECK: %[[BASE:.*]] = llvm.mlir.addressof @heddle_shared : !llvm.ptr<3>
    // CHECK: llvm.getelementptr %[[BASE]][%{{.*}}] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
    // CHECK: llvm.store %{{.*}}, %{{.*}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<3>
    // CHECK: nvvm.barrier
    // CHECK: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xf32>
    %c0 = arith.constant 0 : index
    %s = heddle_gpu.smem_alloc offset 256 : !plain
    heddle_gpu.smem_store %x, %s : tensor<8x16xf32, #row>, !plain
    heddle_gpu.barrier
    %t = heddle_gpu.smem_load %s : !plain -> tensor<8x16xf32, #row>
    heddle_gpu.store %t into %y[%c0, %c0] dims [0, 1] : tensor<8x16xf32, #row> into memref<8x16xf32>
    gpu.return
  }

  // The chunk of a row is exchanged with that of the row's number: an xor.
  // CHECK-LABEL: gpu.func @swizzle
  gpu.func @swizzle(%x: tensor<8x16xf32, #row>) kernel attributes {heddle_gpu.warps = 1 : i64} {
    // CHECK: %[[ROW:.*]] = arith.shrui %{{.*}}, %c2_i32
    // CHECK: arith.muli %[[ROW]], %c128_i32
    // CHECK: %[[PHASE:.*]] = arith.shli %[[ROW]], %c4_i32
    // CHECK: arith.xori %{{.*}}, %[[PHASE]]
    // CHECK: llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<3>
    %s = heddle_gpu.smem_alloc offset 0 : !swizzled
    heddle_gpu.smem_store %x, %s at [0, 16] : tensor<8x16xf32, #row>, !swizzled
    gpu.return
  }

  // Operands of products of 16 bits, as they are and as their transpose.
  // CHECK-LABEL: gpu.func @ldmatrix
  gpu.func @ldmatrix(%y: memref<16x16xf16>) kernel attributes {heddle_gpu.warps = 1 : i64} {
    // CHECK: nvvm.ldmatrix %{{.*}} {eltType = #nvvm.ld_st_matrix_elt_type<b16>, layout = #nvvm.mma_layout<row>, num = 4 : i32
    // CHECK-COUNT-4: llvm.bitcast %{{.*}} : i32 to vector<2xf16>
    // CHECK: nvvm.ldmatrix %{{.*}} layout = #nvvm.mma_layout<col>, num = 4 : i32
    %c0 = arith.constant 0 : index
    %s = heddle_gpu.smem_alloc offset 0 : !half
    %a = heddle_gpu.smem_load %s : !half -> tensor<16x16xf16, #a16>
    %b = heddle_gpu.smem_load %s : !half -> tensor<16x16xf16, #b16>
    heddle_gpu.store %a into %y[%c0, %c0] dims [0, 1] : tensor<16x16xf16, #a16> into memref<16x16xf16>
    heddle_gpu.store %b into %y[%c0, %c0] dims [0, 1] : tensor<16x16xf16, #b16> into memref<16x16xf16>
    gpu.return
  }

  // CHECK-LABEL: gpu.func @copies_of_16_bytes
  gpu.func @copies_of_16_bytes(%x: memref<60x16xf32>, %i: index, %n: index) kernel attributes {heddle_gpu.warps = 1 : i64} {
    // The stage moves the address.
    // CHECK: %[[N:.*]] = arith.index_cast %arg2 : index to i32
    // CHECK: arith.muli %[[N]], %c512_i32
    // Rows behind the end are written as zeros: none of their bytes are read.
    // CHECK: %[[SIZE:.*]] = arith.select %{{.*}}, %c16_i32, %c0_i32
    // CHECK: nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, 16, cache = cg, %[[SIZE]]
    // CHECK: nvvm.cp.async.commit.group
    // CHECK: nvvm.cp.async.wait.group 1
    %c0 = arith.constant 0 : index
    %s = heddle_gpu.smem_alloc offset 0 : !stages
    heddle_gpu.async_copy %x[%i, %c0] dims [0, 1] into %s[%n] : memref<60x16xf32> into !stages
    heddle_gpu.async_commit
    heddle_gpu.async_wait 1
    gpu.return
  }

  // Rows of 18 numbers of 16 bits are aligned to 4 bytes, and the last column that
  // is there counts by bytes.
  // CHECK-LABEL: gpu.func @copies_of_4_bytes
  gpu.func @copies_of_4_bytes(%x: memref<8x18xbf16>, %y: memref<8x20xbf16>, %j: index) kernel attributes {heddle_gpu.warps = 1 : i64} {
    // CHECK: nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, 4, cache = ca
    // CHECK-NOT: cache = cg
    // CHECK: %[[LEFT:.*]] = arith.minsi %{{.*}}, %c2_i32
    // CHECK: %[[BYTES:.*]] = arith.muli %[[LEFT]], %c2_i32
    // CHECK: nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, 4, cache = ca, %{{.*}}
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %k = arith.muli %j, %c2 : index
    %s = heddle_gpu.smem_alloc offset 0 : !narrow
    heddle_gpu.async_copy %x[%c0, %c0] dims [0, 1] in_bounds into %s : memref<8x18xbf16> into !narrow
    heddle_gpu.async_copy %y[%c0, %k] dims [0, 1] into %s : memref<8x20xbf16> into !narrow
    gpu.return
  }

  // Two bytes are less than cp.async moves: through a register.
  // CHECK-LABEL: gpu.func @copies_of_2_bytes
  gpu.func @copies_of_2_bytes(%x: memref<8x20xbf16>, %j: index) kernel attributes {heddle_gpu.warps = 1 : i64} {
    // CHECK-NOT: nvvm.cp.async.shared
    // CHECK: scf.if %{{.*}} -> (vector<1xbf16>)
    // CHECK: llvm.load %{{.*}} {alignment = 2 : i64} : !llvm.ptr<1> -> vector<1xbf16>
    // CHECK: llvm.store %{{.*}} {alignment = 2 : i64} : vector<1xbf16>, !llvm.ptr<3>
    // CHECK: gpu.return
    %c0 = arith.constant 0 : index
    %s = heddle_gpu.smem_alloc offset 0 : !narrow
    heddle_gpu.async_copy %x[%c0, %j] dims [0, 1] into %s : memref<8x20xbf16> into !narrow
    gpu.return
  }

  // CHECK-LABEL: gpu.func @any_not_finite
  gpu.func @any_not_finite(%y: memref<1xi1>) kernel attributes {heddle_gpu.warps = 1 : i64} {
    // An exponent of ones carries into the sign.
    // CHECK-DAG: %[[MASK:.*]] = arith.constant 2139095040 : i32
    // CHECK-DAG: %[[STEP:.*]] = arith.constant 8388608 : i32
    // CHECK: arith.andi %{{.*}}, %[[MASK]]
    // CHECK: arith.addi %{{.*}}, %[[STEP]]
    // CHECK: %[[ANY:.*]] = nvvm.barrier #nvvm.reduction<or> %{{.*}} -> i32
    // CHECK: arith.cmpi ne, %[[ANY]], %c0_i32
    %c0 = arith.constant 0 : index
    %s = heddle_gpu.smem_alloc offset 0 : !plain
    %b = heddle_gpu.any_not_finite %s : !plain
    memref.store %b, %y[%c0] : memref<1xi1>
    gpu.return
  }

  // CHECK-LABEL: gpu.func @named_barriers
  gpu.func @named_barriers() kernel attributes {heddle_gpu.warps = 4 : i64} {
    // CHECK: nvvm.barrier id = %c3_i32 number_of_threads = %c64_i32
    // CHECK: nvvm.barrier.arrive id = %c3_i32 number_of_threads = %c64_i32
    heddle_gpu.barrier id 3 warps 2
    heddle_gpu.barrier id 3 warps 2 arrive
    gpu.return
  }
}
