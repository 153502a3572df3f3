// RUN: heddle-opt %s -pass-pipeline='builtin.module(gpu.module(convert-heddle-gpu-to-lanes,cse))' | FileCheck %s

// Accesses are as wide as layout, offsets and strides allow: at most 16 bytes.

#row = #heddle_gpu.layout<register = [[0, 1], [0, 2]], lane = [[0, 4], [0, 8], [1, 0], [2, 0], [4, 0]], repeat = [1, 1]>
#wide = #heddle_gpu.layout<register = [[0, 1], [0, 2], [0, 4], [0, 8]], lane = [[1, 0], [2, 0], [4, 0], [0, 0], [0, 0]], repeat = [1, 1]>
#column = #heddle_gpu.layout<register = [[0, 1], [0, 2]], lane = [[0, 4], [0, 8], [1, 0], [2, 0], [4, 0]], repeat = [1, 1]>
#line = #heddle_gpu.layout<lane = [[1], [2], [4], [8], [16]], repeat = [1]>
#few = #heddle_gpu.layout<lane = [[1], [2], [0], [0], [0]], warp = [[0]], repeat = [1]>


gpu.module @kernels {
  // CHECK-LABEL: gpu.func @sixteen_bytes(%arg0: !llvm.ptr<1>, %arg1: !llvm.ptr<1>, %arg2: index)
  gpu.func @sixteen_bytes(%x: memref<64x16xf32>, %y: memref<64x16xf32>, %i: index) kernel attributes {heddle_gpu.warps = 1 : i64} {
    // CHECK-NOT: scf.if
    // CHECK: %[[V:.*]] = llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
    // CHECK: llvm.store %{{.*}}, %{{.*}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<1>
    // CHECK: gpu.return
    %c0 = arith.constant 0 : index
    %c8 = arith.constant 8 : index
    %r = arith.muli %i, %c8 : index
    %t = heddle_gpu.load %x[%r, %c0] dims [0, 1] in_bounds : memref<64x16xf32> -> tensor<8x16xf32, #row>
    heddle_gpu.store %t into %y[%r, %c0] dims [0, 1] in_bounds : tensor<8x16xf32, #row> into memref<64x16xf32>
    gpu.return
  }

  // Eight numbers of 16 bits are 16 bytes, and sixteen are two accesses.
  // CHECK-LABEL: gpu.func @two_accesses
  gpu.func @two_accesses(%x: memref<64x16xbf16>, %y: memref<64x16xbf16>) kernel attributes {heddle_gpu.warps = 1 : i64} {
    // CHECK-COUNT-2: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<8xbf16>
    // CHECK-NOT: llvm.load
    // Lanes 8 to 31 hold copies, which are not written again.
    // CHECK: %[[REST:.*]] = arith.andi %{{.*}}, %c24_i32
    // CHECK: %[[OWN:.*]] = arith.cmpi eq, %[[REST]], %c0_i32
    // CHECK: scf.if %[[OWN]]
    // CHECK: llvm.store {{.*}} {alignment = 16 : i64} : vector<8xbf16>
    // CHECK: scf.if %[[OWN]]
    // CHECK: llvm.store {{.*}} {alignment = 16 : i64} : vector<8xbf16>
    // CHECK-NOT: llvm.store
    // CHECK: gpu.return
    %c0 = arith.constant 0 : index
    %t = heddle_gpu.load %x[%c0, %c0] dims [0, 1] in_bounds : memref<64x16xbf16> -> tensor<8x16xbf16, #wide>
    heddle_gpu.store %t into %y[%c0, %c0] dims [0, 1] in_bounds : tensor<8x16xbf16, #wide> into memref<64x16xbf16>
    gpu.return
  }

  // Rows of 18 numbers: only pairs are aligned in every one.
  // CHECK-LABEL: gpu.func @rows_that_are_no_multiple
  gpu.func @rows_that_are_no_multiple(%x: memref<64x18xf32>) -> () kernel attributes {heddle_gpu.warps = 1 : i64} {
    // CHECK-COUNT-2: llvm.load %{{.*}} {alignment = 8 : i64} : !llvm.ptr<1> -> vector<2xf32>
    // CHECK-NOT: llvm.load
    // CHECK: gpu.return
    %c0 = arith.constant 0 : index
    %t = heddle_gpu.load %x[%c0, %c0] dims [0, 1] in_bounds : memref<64x18xf32> -> tensor<8x16xf32, #row>
    heddle_gpu.store %t into %x[%c0, %c0] dims [0, 1] in_bounds : tensor<8x16xf32, #row> into memref<64x18xf32>
    gpu.return
  }

  // An offset of which nothing is known.
  // CHECK-LABEL: gpu.func @an_odd_offset
  gpu.func @an_odd_offset(%x: memref<64x16xf32>, %i: index) kernel attributes {heddle_gpu.warps = 1 : i64} {
    // CHECK-COUNT-4: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<1> -> vector<1xf32>
    %c0 = arith.constant 0 : index
    %t = heddle_gpu.load %x[%c0, %i] dims [0, 1] in_bounds : memref<64x16xf32> -> tensor<8x16xf32, #row>
    heddle_gpu.store %t into %x[%c0, %i] dims [0, 1] in_bounds : tensor<8x16xf32, #row> into memref<64x16xf32>
    gpu.return
  }

  // A tile of a transposed view: its columns are far apart.
  // CHECK-LABEL: gpu.func @columns_of_the_buffer
  gpu.func @columns_of_the_buffer(%x: memref<16x8xf32>, %y: memref<8x16xf32>) kernel attributes {heddle_gpu.warps = 1 : i64} {
    // CHECK-COUNT-4: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<1> -> vector<1xf32>
    // CHECK-COUNT-1: llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xf32>
    %c0 = arith.constant 0 : index
    %t = heddle_gpu.load %x[%c0, %c0] dims [1, 0] in_bounds : memref<16x8xf32> -> tensor<8x16xf32, #column>
    heddle_gpu.store %t into %y[%c0, %c0] dims [0, 1] in_bounds : tensor<8x16xf32, #column> into memref<8x16xf32>
    gpu.return
  }

  // What lies outside is the padding, and is not written.
  // CHECK-LABEL: gpu.func @ragged
  gpu.func @ragged(%x: memref<60x16xf32>, %y: memref<60x16xf32>, %i: index, %pad: f32) kernel attributes {heddle_gpu.warps = 1 : i64} {
    // CHECK: %[[PAD:.*]] = vector.broadcast %arg3 : f32 to vector<4xf32>
    // CHECK: %[[LEFT:.*]] = arith.subi %c60, %arg2
    // CHECK: %[[LIMIT:.*]] = arith.index_cast %[[LEFT]] : index to i32
    // CHECK: %[[IN:.*]] = arith.cmpi slt, %{{.*}}, %[[LIMIT]] : i32
    // CHECK: scf.if %[[IN]] -> (vector<4xf32>)
    // CHECK: llvm.load
    // CHECK: else
    // CHECK-NEXT: scf.yield %[[PAD]]
    // CHECK: scf.if
    // CHECK: llvm.store
    %c0 = arith.constant 0 : index
    %t = heddle_gpu.load %x[%i, %c0] dims [0, 1] pad %pad : memref<60x16xf32> -> tensor<8x16xf32, #row>
    heddle_gpu.store %t into %y[%i, %c0] dims [0, 1] : tensor<8x16xf32, #row> into memref<60x16xf32>
    gpu.return
  }

  // Bounds that the caller gives, below those of the buffer.
  // CHECK-LABEL: gpu.func @given_bounds
  gpu.func @given_bounds(%x: memref<64xf32>, %n: index) kernel attributes {heddle_gpu.warps = 1 : i64} {
    // CHECK: %[[N:.*]] = arith.subi %arg1, %c0
    // CHECK: %[[LIMIT:.*]] = arith.index_cast %[[N]] : index to i32
    // CHECK: arith.cmpi slt, %{{.*}}, %[[LIMIT]] : i32
    %c0 = arith.constant 0 : index
    %t = heddle_gpu.load %x[%c0] dims [0] bounds [%n] : memref<64xf32> -> tensor<32xf32, #line>
    heddle_gpu.store %t into %x[%c0] dims [0] bounds [%n] : tensor<32xf32, #line> into memref<64xf32>
    gpu.return
  }

  // A mask goes by elements, and copies are written by one lane and warp.
  // CHECK-LABEL: gpu.func @masked
  gpu.func @masked(%x: memref<64xf32>, %mask: tensor<4xi1, #few>) kernel attributes {heddle_gpu.warps = 2 : i64} {
    // CHECK-SAME: vector<1xi1>
    // CHECK: %[[M:.*]] = vector.extract %arg1[0]
    // CHECK: scf.if %[[M]] -> (vector<1xf32>)
    // CHECK: arith.shrui %{{.*}}, %c5_i32
    // CHECK: scf.if
    // CHECK: llvm.store
    %c0 = arith.constant 0 : index
    %t = heddle_gpu.load %x[%c0] dims [0] in_bounds mask %mask : memref<64xf32> -> tensor<4xf32, #few>
    heddle_gpu.store %t into %x[%c0] dims [0] in_bounds mask %mask : tensor<4xf32, #few> into memref<64xf32>
    gpu.return
  }

  // Truth values are bytes in memory, indices 64 bits.
  // CHECK-LABEL: gpu.func @truths_and_indices
  gpu.func @truths_and_indices(%x: memref<64xi1>, %y: memref<64xindex>) kernel attributes {heddle_gpu.warps = 1 : i64} {
    // CHECK: llvm.load %{{.*}} {alignment = 1 : i64} : !llvm.ptr<1> -> vector<1xi8>
    // CHECK: arith.cmpi ne
    // CHECK: llvm.load %{{.*}} {alignment = 8 : i64} : !llvm.ptr<1> -> vector<1xi64>
    // CHECK: arith.index_cast {{.*}} : vector<1xi64> to vector<1xindex>
    // CHECK: arith.extui {{.*}} : vector<1xi1> to vector<1xi8>
    // CHECK: llvm.store %{{.*}} {alignment = 1 : i64}
    // CHECK: llvm.store %{{.*}} {alignment = 8 : i64}
    %c0 = arith.constant 0 : index
    %t = heddle_gpu.load %x[%c0] dims [0] in_bounds : memref<64xi1> -> tensor<32xi1, #line>
    %u = heddle_gpu.load %y[%c0] dims [0] in_bounds : memref<64xindex> -> tensor<32xindex, #line>
    heddle_gpu.store %t into %x[%c0] dims [0] in_bounds : tensor<32xi1, #line> into memref<64xi1>
    heddle_gpu.store %u into %y[%c0] dims [0] in_bounds : tensor<32xindex, #line> into memref<64xindex>
    gpu.return
  }

  // CHECK-LABEL: gpu.func @sums_in_memory
  gpu.func @sums_in_memory(%x: tensor<32xf32, #line>, %n: tensor<32xi32, #line>, %y: memref<64xf32>, %z: memref<64xi32>) kernel attributes {heddle_gpu.warps = 1 : i64} {
    // CHECK: llvm.atomicrmw fadd %{{.*}}, %{{.*}} monotonic : !llvm.ptr<1>, f32
    // CHECK: llvm.atomicrmw add %{{.*}}, %{{.*}} monotonic : !llvm.ptr<1>, i32
    // CHECK: %[[OLD:.*]] = llvm.load %{{.*}} : !llvm.ptr<1> -> vector<1xf32>
    // CHECK: %[[NEW:.*]] = arith.addf %[[OLD]]
    // CHECK: llvm.store %[[NEW]]
    %c0 = arith.constant 0 : index
    heddle_gpu.store %x into %y[%c0] dims [0] in_bounds accumulate atomic : tensor<32xf32, #line> into memref<64xf32>
    heddle_gpu.store %n into %z[%c0] dims [0] in_bounds accumulate atomic : tensor<32xi32, #line> into memref<64xi32>
    heddle_gpu.store %x into %y[%c0] dims [0] in_bounds accumulate plain : tensor<32xf32, #line> into memref<64xf32>
    gpu.return
  }

  // Scalars of plain loops: addresses have 64 bits.
  // CHECK-LABEL: gpu.func @scalars
  gpu.func @scalars(%x: memref<4x6xf32>, %t: memref<3xi1>, %i: index) kernel attributes {heddle_gpu.warps = 1 : i64} {
    // CHECK: %[[I:.*]] = arith.index_cast %arg2 : index to i64
    // CHECK: %[[ROW:.*]] = arith.muli %[[I]], %c6_i64
    // CHECK: llvm.getelementptr %arg0[%[[ROW]]] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
    // CHECK: %[[V:.*]] = llvm.load %{{.*}} : !llvm.ptr<1> -> f32
    // CHECK: %[[B:.*]] = llvm.load %{{.*}} : !llvm.ptr<1> -> i8
    // CHECK: arith.cmpi ne, %[[B]], %c0_i8
    // CHECK: llvm.store %[[V]], %{{.*}} : f32, !llvm.ptr<1>
    // CHECK: %[[E:.*]] = arith.extui %{{.*}} : i1 to i8
    // CHECK: llvm.store %[[E]], %{{.*}} : i8, !llvm.ptr<1>
    %v = memref.load %x[%i, %i] : memref<4x6xf32>
    %b = memref.load %t[%i] : memref<3xi1>
    %c = arith.constant 1 : index
    memref.store %v, %x[%c, %i] : memref<4x6xf32>
    memref.store %b, %t[%c] : memref<3xi1>
    gpu.return
  }
}
