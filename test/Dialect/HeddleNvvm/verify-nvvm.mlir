// RUN: heddle-opt %s --heddle-verify-nvvm -split-input-file -verify-diagnostics

// Contract N, which PTX and the emulator both take. What breaks it is told at once.

llvm.func @external(f32) -> f32
llvm.func @instructions_and_functions_are_known(%x: f32, %p: !llvm.ptr<1>, %n: i64, %f: !llvm.ptr) attributes {nvvm.kernel} {
  // expected-error@+1 {{cannot be emulated: use an op of nvvm or heddle_nvvm, or add one}}
  %a = llvm.inline_asm "ex2.approx.f32 $0, $1;", "=f,f" %x : (f32) -> f32
  // expected-error@+1 {{cannot be emulated}}
  %b = llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f32"(%x) : (f32) -> f32
  // expected-error@+1 {{is no instruction of a GPU: use those of heddle_nvvm, or expand it}}
  %c = llvm.intr.exp(%x) : (f32) -> f32
  // expected-error@+1 {{'llvm.intr.tanh' op is no instruction of a GPU}}
  %t = llvm.intr.tanh(%x) : (f32) -> f32
  // expected-error@+1 {{is no access of a GPU: write loads and stores}}
  "llvm.intr.memcpy"(%p, %p, %n) <{isVolatile = false}> : (!llvm.ptr<1>, !llvm.ptr<1>, i64) -> ()
  // expected-error@+1 {{expected the callee to be a function of the module, got 'external', which has no body here; write it}}
  %d = llvm.call @external(%x) : (f32) -> f32
  // expected-error@+1 {{expected the callee to be a function of the module, got a pointer; call it by name}}
  %e = llvm.call %f(%x) : !llvm.ptr, (f32) -> f32
  // expected-error@+1 {{is not part of contract N: expected llvm, nvvm and heddle_nvvm ops}}
  %g = arith.addf %x, %x : f32
  llvm.return
}

// -----

// A masked access would be taken apart unseen.
llvm.func @accesses_are_those_of_a_gpu(%p: !llvm.ptr<1>, %f: f16, %m: vector<4xi1>, %v: vector<4xf32>) {
  // expected-error@+1 {{is no instruction of a GPU}}
  %z = llvm.intr.masked.load %p, %m, %v {alignment = 16 : i32} : (!llvm.ptr<1>, vector<4xi1>, vector<4xf32>) -> vector<4xf32>
  // expected-error@+1 {{expected an access of 1, 2, 4, 8 or 16 bytes, as a GPU has, got 32; split it}}
  %a = llvm.load %p : !llvm.ptr<1> -> vector<8xf32>
  // expected-error@+1 {{expected an alignment of at least its 16 bytes, got 4; a GPU would make several accesses of it: split it}}
  %b = llvm.load %p {alignment = 4} : !llvm.ptr<1> -> vector<4xf32>
  llvm.store %b, %p {alignment = 16} : vector<4xf32>, !llvm.ptr<1>
  %e = llvm.mlir.constant(0 : i32) : i32
  // expected-error@+1 {{expected an alignment of at least its 4 bytes, got 2}}
  llvm.store %e, %p {alignment = 2} : i32, !llvm.ptr<1>
  // expected-error@+1 {{expected an atomic of i32, i64, f32 or f64 on global or shared memory, got 'f16' in address space 1}}
  %d = "llvm.atomicrmw"(%p, %f) <{bin_op = 11 : i64, ordering = 2 : i64}> : (!llvm.ptr<1>, f16) -> f16
  // Local memory is as it likes.
  %l = llvm.alloca %e x vector<8xf32> : (i32) -> !llvm.ptr
  %w = llvm.load %l {alignment = 4} : !llvm.ptr -> vector<8xf32>
  llvm.return
}

// -----

gpu.module @kernels {
  // expected-error@+1 {{expected dynamic shared memory to be called 'heddle_shared', or an internal global for static shared memory}}
  llvm.mlir.global external @dynamic() {addr_space = 3 : i32} : !llvm.array<0 x i8>
  // expected-error@+1 {{expected pointers and scalars of at most 8 bytes as parameters, got 'vector<4xf32>' as parameter 1; pass a pointer to it}}
  llvm.func @parameters_are_pointers_and_scalars(%p: !llvm.ptr<1>, %v: vector<4xf32>) attributes {nvvm.kernel} {
    llvm.return
  }
  // expected-error@+1 {{expected a block of 1 to 1024 threads, got 64 x 32; use fewer warps}}
  llvm.func @blocks_have_at_most_1024_threads() attributes {nvvm.kernel, nvvm.reqntid = array<i32: 64, 32>} {
    llvm.return
  }
  // expected-error@+1 {{expected a block of 1 to 1024 threads, got 0}}
  llvm.func @blocks_have_threads() attributes {nvvm.kernel, nvvm.reqntid = array<i32: 0>} {
    llvm.return
  }
  // expected-error@+1 {{expected a block of 2 warps (heddle_gpu.warps), got 4 in 128 threads; make the block 32 threads a warp}}
  llvm.func @blocks_have_the_kernels_warps() attributes {nvvm.kernel, nvvm.reqntid = array<i32: 128>, heddle_gpu.warps = 2 : i64} {
    llvm.return
  }
  // expected-error@+1 {{expected a grid (heddle.grid) of at least one block, got 0; launch no kernel where there is nothing to do}}
  llvm.func @grids_have_blocks() attributes {nvvm.kernel, heddle.grid = 0 : i64} {
    llvm.return
  }
  llvm.func @all_is_well(%p: !llvm.ptr<1>, %n: i64, %x: f32) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 33>, heddle_gpu.warps = 2 : i64, heddle.grid = 1 : i64} {
    llvm.return
  }
}
