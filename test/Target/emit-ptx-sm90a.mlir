// Instructions of one architecture need its own target, with the suffix.
// RUN: heddle-compile %s --emit=ptx --target=sm_90a | FileCheck %s
// CHECK: .target sm_90a
// CHECK: .visible .entry warpgroup(
// CHECK: mbarrier.init.shared{{.*}}.b64 [barrier], %r{{[0-9]+}};
// CHECK: wgmma.fence.sync.aligned;
// CHECK: wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16
// CHECK: wgmma.commit_group.sync.aligned;
// CHECK: wgmma.wait_group.sync.aligned 0;
gpu.module @kernels {
  llvm.mlir.global internal @barrier() {addr_space = 3 : i32, alignment = 8 : i64} : i64
  llvm.func @warpgroup(%a: i64, %b: i64, %x: f32, %y: !llvm.ptr<1>) attributes {nvvm.kernel, nvvm.maxntid = array<i32: 128>} {
    %one = llvm.mlir.constant(1 : i32) : i32
    %barrier = llvm.mlir.addressof @barrier : !llvm.ptr<3>
    nvvm.mbarrier.init %barrier, %one : !llvm.ptr<3>, i32
    %undef = llvm.mlir.undef : !llvm.struct<(f32, f32, f32, f32)>
    %c0 = llvm.insertvalue %x, %undef[0] : !llvm.struct<(f32, f32, f32, f32)>
    %c1 = llvm.insertvalue %x, %c0[1] : !llvm.struct<(f32, f32, f32, f32)>
    %c2 = llvm.insertvalue %x, %c1[2] : !llvm.struct<(f32, f32, f32, f32)>
    %c3 = llvm.insertvalue %x, %c2[3] : !llvm.struct<(f32, f32, f32, f32)>
    nvvm.wgmma.fence.aligned
    %d = nvvm.wgmma.mma_async %a, %b, %c3, <m = 64, n = 8, k = 16>,
        D [<f32>, #nvvm.wgmma_scale_out<one>], A [<bf16>, #nvvm.wgmma_scale_in<one>, <row>],
        B [<bf16>, #nvvm.wgmma_scale_in<one>, <col>]
        : !llvm.struct<(f32, f32, f32, f32)> -> !llvm.struct<(f32, f32, f32, f32)>
    nvvm.wgmma.commit.group.sync.aligned
    nvvm.wgmma.wait.group.sync.aligned 0
    %r = llvm.extractvalue %d[2] : !llvm.struct<(f32, f32, f32, f32)>
    llvm.store %r, %y : f32, !llvm.ptr<1>
    llvm.return
  }
}
