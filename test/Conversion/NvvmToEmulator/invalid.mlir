// RUN: heddle-opt %s --convert-nvvm-to-emulator -split-input-file -verify-diagnostics

// Contract N is checked first (test/Dialect/HeddleNvvm/verify-nvvm.mlir).

llvm.func @contract_n(%x: f32, %p: !llvm.ptr<1>) attributes {nvvm.kernel} {
  // expected-error@+1 {{cannot be emulated: use an op of nvvm or heddle_nvvm, or add one}}
  %a = llvm.inline_asm "ex2.approx.f32 $0, $1;", "=f,f" %x : (f32) -> f32
  // expected-error@+1 {{expected an alignment of at least its 16 bytes, got 4; a GPU would make several accesses of it: split it}}
  %b = llvm.load %p {alignment = 4} : !llvm.ptr<1> -> vector<4xf32>
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
