// Line numbers point to the MLIR of the GPU module, and to it alone where they
// are not asked for.
// RUN: heddle-compile %s --emit=ptx --target=sm_80 --line-info | FileCheck %s
// RUN: heddle-compile %s --emit=ptx --target=sm_80 | FileCheck %s --check-prefix=OFF

// CHECK: .target sm_80{{$}}
// CHECK: .entry store(
// CHECK: .loc 1 [[#@LINE+7]]
// CHECK: st.global
// CHECK: .file 1 "{{.*}}emit-ptx-line-info.mlir"
// OFF-NOT: .loc
// OFF-NOT: .file
gpu.module @kernels {
  llvm.func @store(%y: !llvm.ptr<1>, %v: i32) attributes {nvvm.kernel} {
    llvm.store %v, %y : i32, !llvm.ptr<1>
    llvm.return
  }
}
