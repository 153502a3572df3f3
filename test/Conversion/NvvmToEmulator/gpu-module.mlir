// RUN: heddle-opt %s --convert-nvvm-to-emulator | FileCheck %s

// A gpu.module is taken apart; pointers that loops and selects pass on lead
// back to their parameter.

module attributes {gpu.container_module} {
  // CHECK-NOT: gpu.module
  gpu.module @kernels [#nvvm.target<chip = "sm_90">] {
    llvm.func @walk(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>, %n: i32) attributes {gpu.kernel, nvvm.kernel} {
      %c0 = llvm.mlir.constant(0 : i32) : i32
      %c1 = llvm.mlir.constant(1 : i32) : i32
      llvm.br ^loop(%c0, %y : i32, !llvm.ptr<1>)
    ^loop(%i: i32, %p: !llvm.ptr<1>):
      llvm.store %i, %p : i32, !llvm.ptr<1>
      %next = llvm.getelementptr %p[1] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32
      %i1 = llvm.add %i, %c1 : i32
      %more = llvm.icmp "slt" %i1, %n : i32
      llvm.cond_br %more, ^loop(%i1, %next : i32, !llvm.ptr<1>), ^end
    ^end:
      %either = llvm.select %more, %x, %y : i1, !llvm.ptr<1>
      llvm.store %c0, %either : i32, !llvm.ptr<1>
      llvm.return
    }
  }
}

// CHECK: kernel 0 0 0 walk
// CHECK-SAME: site 0 2 1 4 llvm.store
// CHECK-SAME: site 0 2 -1 4 llvm.store
