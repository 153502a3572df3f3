// RUN: heddle-compile %s --emit=ptx --target=sm_80 | FileCheck %s --check-prefixes=CHECK,SM80
// RUN: heddle-compile %s --emit=ptx --target=sm_90a | FileCheck %s --check-prefixes=CHECK,SM90A
// RUN: heddle-compile %s --emit=ptx --target=sm_80 --ptx-version=8.4 | FileCheck %s --check-prefix=NEWER
// RUN: heddle-compile %s --emit=ptx --target=sm_80 -o %t.ptx
// RUN: heddle-compile - --emit=ptx --target=sm_80 < %s | cmp - %t.ptx

// CHECK: .version 8.0
// SM80: .target sm_80
// SM90A: .target sm_90a
// CHECK: .address_size 64
// CHECK-NOT: .loc
// NEWER: .version 8.4

gpu.module @kernels {
  llvm.mlir.global external @heddle_shared() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<0 x i8>

  // An entry has a parameter of 8 bytes per launch argument and its launch
  // bounds; dynamic shared memory is an extern array.
  // CHECK: .extern .shared .align 16 .b8 heddle_shared[];
  // CHECK: .visible .entry stage(
  // CHECK-NEXT: .param .u64 .ptr .global .align 1 stage_param_0,
  // CHECK-NEXT: .param .u64 .ptr .global .align 1 stage_param_1,
  // CHECK-NEXT: .param .u64 stage_param_2
  // CHECK: .maxntid 128
  // CHECK: cp.async.cg.shared.global [{{.*}}], [{{.*}}], 16;
  // CHECK: cp.async.commit_group;
  // CHECK: cp.async.wait_group 0;
  // CHECK: bar{{.*}}.sync 0
  // CHECK: ld.shared
  // CHECK: st.global
  llvm.func @stage(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>, %offset: i64) attributes {gpu.kernel, nvvm.kernel, nvvm.maxntid = array<i32: 128>} {
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %wide = llvm.zext %tid : i32 to i64
    %at = llvm.add %wide, %offset : i64
    %smem = llvm.mlir.addressof @heddle_shared : !llvm.ptr<3>
    %to = llvm.getelementptr %smem[%wide] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, !llvm.array<16 x i8>
    %from = llvm.getelementptr %x[%at] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, !llvm.array<16 x i8>
    nvvm.cp.async.shared.global %to, %from, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
    nvvm.cp.async.commit.group
    nvvm.cp.async.wait.group 0
    nvvm.barrier0
    %c127 = llvm.mlir.constant(127 : i64) : i64
    %mirror = llvm.sub %c127, %wide : i64
    %p = llvm.getelementptr %smem[%mirror] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, !llvm.array<16 x i8>
    %v = llvm.load %p : !llvm.ptr<3> -> f32
    %q = llvm.getelementptr %y[%wide] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
    llvm.store %v, %q : f32, !llvm.ptr<1>
    llvm.return
  }

  // Several kernels share a module; a function that is no kernel is inlined.
  // CHECK: .visible .entry product(
  // CHECK: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
  // CHECK: fma.rn.f32
  llvm.func @product(%a: i32, %acc: f32, %y: !llvm.ptr<1>) attributes {nvvm.kernel} {
    %d = nvvm.mma.sync A[%a, %a, %a, %a] B[%a, %a] C[%acc, %acc, %acc, %acc]
        {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>,
         multiplicandAPtxType = #nvvm.mma_type<bf16>, multiplicandBPtxType = #nvvm.mma_type<bf16>,
         shape = #nvvm.shape<m = 16, n = 8, k = 16>} : (i32, i32, f32) -> !llvm.struct<(f32, f32, f32, f32)>
    %d0 = llvm.extractvalue %d[0] : !llvm.struct<(f32, f32, f32, f32)>
    %d3 = llvm.extractvalue %d[3] : !llvm.struct<(f32, f32, f32, f32)>
    %s = llvm.call @twice_plus(%d0, %d3) : (f32, f32) -> f32
    llvm.store %s, %y : f32, !llvm.ptr<1>
    llvm.return
  }
  llvm.func internal @twice_plus(%x: f32, %y: f32) -> f32 {
    %two = llvm.mlir.constant(2.0 : f32) : f32
    %r = llvm.intr.fma(%x, %two, %y) : (f32, f32, f32) -> f32
    llvm.return %r : f32
  }
  // CHECK-NOT: twice_plus
}
