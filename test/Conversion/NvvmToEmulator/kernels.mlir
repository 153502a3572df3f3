// RUN: heddle-opt %s --convert-nvvm-to-emulator | FileCheck %s

// Shared memory: 32 static bytes, then the dynamic rest from a multiple of 128.
// CHECK-NOT: llvm.mlir.global internal @tile
// CHECK-NOT: @heddle_shared
llvm.mlir.global internal @tile() {addr_space = 3 : i32} : !llvm.array<8 x f32>
llvm.mlir.global external @heddle_shared() {addr_space = 3 : i32, alignment = 128 : i64} : !llvm.array<0 x i8>

// A function of the module gets the thread first.
// CHECK-LABEL: llvm.func internal @twice
// CHECK-SAME: (%[[T:.*]]: !llvm.ptr, %[[V:.*]]: f32)
llvm.func internal @twice(%v: f32) -> f32 {
  // CHECK: %[[N:.*]] = llvm.mlir.constant(0 : i32)
  // CHECK: llvm.call @heddle_emu_count(%[[T]], %[[N]]) : (!llvm.ptr, i32) -> ()
  // CHECK: llvm.call @heddle_emu_ex2_approx_ftz_f32(%[[T]], %[[V]]) : (!llvm.ptr, f32) -> f32
  %a = heddle_nvvm.ex2.approx.ftz %v
  llvm.return %a : f32
}

// CHECK-LABEL: llvm.func internal @kernel
// CHECK-SAME: (%[[T:.*]]: !llvm.ptr, %[[X:.*]]: !llvm.ptr<1>, %{{.*}}: i32)
// CHECK-NOT: nvvm.kernel
llvm.func @kernel(%x: !llvm.ptr<1>, %n: i32) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 64, 2>} {
  // CHECK: %[[W:.*]] = llvm.call @heddle_emu_shared_window(%[[T]]) : (!llvm.ptr) -> !llvm.ptr<3>
  // CHECK: llvm.call @heddle_emu_register(%[[T]]
  %t = nvvm.read.ptx.sreg.tid.x : i32
  // CHECK: %[[P:.*]] = llvm.getelementptr %[[X]]
  %p = llvm.getelementptr %x[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
  // CHECK: %[[S:.*]] = llvm.mlir.constant(0 : i32)
  // CHECK: %[[B:.*]] = llvm.mlir.constant(4 : i32)
  // CHECK: %[[A:.*]] = llvm.call @heddle_emu_load_global(%[[T]], %[[P]], %[[S]], %[[B]]) : (!llvm.ptr, !llvm.ptr<1>, i32, i32) -> !llvm.ptr<1>
  // CHECK: %[[V:.*]] = llvm.load %[[A]] : !llvm.ptr<1> -> f32
  %v = llvm.load %p : !llvm.ptr<1> -> f32
  // CHECK: llvm.call @twice(%[[T]], %[[V]])
  %w = llvm.call @twice(%v) : (f32) -> f32
  // CHECK: llvm.call @heddle_emu_store_shared(%[[T]], %[[W]]
  %tile = llvm.mlir.addressof @tile : !llvm.ptr<3>
  llvm.store %w, %tile : f32, !llvm.ptr<3>
  // CHECK: %[[D:.*]] = llvm.getelementptr %[[W]][128]
  // CHECK: llvm.call @heddle_emu_store_shared(%[[T]], %[[D]]
  %dynamic = llvm.mlir.addressof @heddle_shared : !llvm.ptr<3>
  llvm.store %w, %dynamic : f32, !llvm.ptr<3>
  // Local memory is left alone.
  // CHECK: %[[L:.*]] = llvm.alloca
  // CHECK-NEXT: llvm.store %{{.*}}, %[[L]]
  %local = llvm.alloca %n x f32 : (i32) -> !llvm.ptr
  llvm.store %w, %local : f32, !llvm.ptr
  // A generic pointer is looked up when it is used.
  // CHECK: llvm.call @heddle_emu_store_generic
  %generic = llvm.addrspacecast %p : !llvm.ptr<1> to !llvm.ptr
  llvm.store %w, %generic : f32, !llvm.ptr
  // CHECK: llvm.call @heddle_emu_barrier
  nvvm.barrier
  llvm.return
}

// CHECK: llvm.func @heddle_emu_entry_kernel(%[[T:.*]]: !llvm.ptr, %[[SLOTS:.*]]: !llvm.ptr)
// CHECK: llvm.load
// CHECK: llvm.call @kernel(%[[T]], %{{.*}}, %{{.*}})

// The table: parameters, then the ops with kernel, kind, parameter and bytes.
// CHECK: llvm.mlir.global internal constant @heddle_emu_table_text("heddle-emulator 2\0Ashared 128\0Akernel 64 2 1 kernel\0Aparam p\0Aparam i\0A
// Basic blocks: ordinary ops by kind, here a return; then the call and the return.
// CHECK-SAME: block 0 0 0 0 0 0 0 1\0A
// CHECK-SAME: block 0 0 0 0 0 0 0 2\0A
// CHECK-SAME: site 0 1 0 4 llvm.load {{[^ ]*}}kernels.mlir:33:8\0A
// CHECK-SAME: site 0 2 -2 4 llvm.store
// CHECK-SAME: site 0 2 -2 4 llvm.store
// CHECK-SAME: site 0 2 0 4 llvm.store
// CHECK-SAME: site 0 0 -1 0 nvvm.barrier
