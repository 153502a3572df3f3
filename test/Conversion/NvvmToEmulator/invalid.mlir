// RUN: heddle-opt %s --convert-nvvm-to-emulator -split-input-file -verify-diagnostics

// Everything that contract N forbids is told at once.

llvm.func @external(f32) -> f32
llvm.func @many(%x: f32, %p: !llvm.ptr<1>, %n: i64) attributes {nvvm.kernel} {
  // expected-error@+1 {{cannot be emulated: use an op of nvvm or heddle_nvvm, or add one}}
  %a = llvm.inline_asm "ex2.approx.f32 $0, $1;", "=f,f" %x : (f32) -> f32
  // expected-error@+1 {{cannot be emulated}}
  %b = llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f32"(%x) : (f32) -> f32
  // expected-error@+1 {{is no instruction of a GPU: use those of heddle_nvvm}}
  %c = llvm.intr.exp(%x) : (f32) -> f32
  // expected-error@+1 {{is no access of a GPU: write loads and stores}}
  "llvm.intr.memcpy"(%p, %p, %n) <{isVolatile = false}> : (!llvm.ptr<1>, !llvm.ptr<1>, i64) -> ()
  // expected-error@+1 {{expected the callee to be a function of the module}}
  %d = llvm.call @external(%x) : (f32) -> f32
  // expected-error@+1 {{is not part of contract N: expected llvm, nvvm and heddle_nvvm ops}}
  %e = arith.addf %x, %x : f32
  llvm.return
}

// -----

llvm.func @accesses_are_those_of_a_gpu(%p: !llvm.ptr<1>, %f: f16) attributes {nvvm.kernel} {
  // expected-error@+1 {{expected an access of 1, 2, 4, 8 or 16 bytes, as a GPU has, got 32; split it}}
  %a = llvm.load %p : !llvm.ptr<1> -> vector<8xf32>
  // expected-error@+1 {{expected an alignment of at least its 16 bytes, got 4; a GPU would make several accesses of it: split it}}
  %b = llvm.load %p {alignment = 4} : !llvm.ptr<1> -> vector<4xf32>
  // expected-error@+1 {{expected an atomic of i32, i64, f32 or f64 on global or shared memory, got 'f16' in address space 1}}
  %d = "llvm.atomicrmw"(%p, %f) <{bin_op = 11 : i64, ordering = 2 : i64}> : (!llvm.ptr<1>, f16) -> f16
  llvm.return
}

// -----

// expected-error@+1 {{expected dynamic shared memory to be called 'heddle_shared', or an internal global for static shared memory}}
llvm.mlir.global external @dynamic() {addr_space = 3 : i32} : !llvm.array<0 x i8>
llvm.func @shared_memory_has_one_name() attributes {nvvm.kernel} {
  llvm.return
}

// -----

llvm.func @ops_that_are_not_emulated(%a: i32) attributes {nvvm.kernel} {
  // expected-error@+1 {{is not emulated, or not with these types and attributes; docs/emulator.md lists what is}}
  nvvm.cluster.wait
  // expected-error@+1 {{is not emulated}}
  nvvm.cluster.arrive
  llvm.return
}

// -----

// expected-error@below {{expected a kernel: an llvm.func with the attribute nvvm.kernel or gpu.kernel, found none}}
module {
  llvm.func @no_kernel() {
    llvm.return
  }
}
