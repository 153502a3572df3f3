// RUN: heddle-opt %s -pass-pipeline='builtin.module(gpu.module(heddle-gpu-allocate-shared,convert-heddle-gpu-to-lanes,cse))' | FileCheck %s

// Programs of threads: shared buffers, one after another; exchanges in a warp; the
// block's barrier.

!buffer = memref<64xf32, #gpu.address_space<workgroup>>
gpu.module @kernels {
  // CHECK: llvm.mlir.global external @heddle_shared()
  // CHECK-LABEL: gpu.func @exchange
  // CHECK-SAME: heddle_gpu.shared_bytes = 512 : i64
  gpu.func @exchange(%x: memref<64xf32>, %at: index) kernel attributes {heddle_gpu.warps = 1 : i64} {
    // CHECK: %[[A:.*]] = llvm.getelementptr %{{.*}}[0] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
    // CHECK: %[[B:.*]] = llvm.getelementptr %{{.*}}[256] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
    %a = memref.alloc() : !buffer
    %b = memref.alloc() : !buffer
    // CHECK: llvm.load %{{.*}} : !llvm.ptr<1> -> f32
    %v = memref.load %x[%at] : memref<64xf32>
    // CHECK: llvm.store %{{.*}}, %{{.*}} {alignment = 4 : i64} : f32, !llvm.ptr<3>
    memref.store %v, %a[%at] : !buffer
    // CHECK: nvvm.barrier
    gpu.barrier
    // CHECK: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xf32>
    %four = vector.load %a[%at] : !buffer, vector<4xf32>
    // CHECK: llvm.store %{{.*}}, %{{.*}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<3>
    vector.store %four, %b[%at] : !buffer, vector<4xf32>
    %bit = arith.constant 4 : i32
    %width = arith.constant 32 : i32
    // CHECK: nvvm.shfl.sync bfly
    %other, %valid = gpu.shuffle xor %v, %bit, %width : f32
    memref.store %other, %x[%at] : memref<64xf32>
    gpu.return
  }
}
