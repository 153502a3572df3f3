// Functions named __nv_* come from libdevice; what is not called stays out, and
// what comes in is not visible.
// RUN: heddle-compile %s --emit=ptx --target=sm_80 --libdevice=%S/Inputs/libdevice.ll | FileCheck %s
// CHECK-NOT: __nv_
// CHECK: .visible .entry kernel(
// CHECK-NOT: __nv_
// CHECK: {{^}}.func {{.*}}helper(
// CHECK: mul.rn.f32
// CHECK-NOT: __nv_

// RUN: not heddle-compile %s --emit=ptx --target=sm_80 --libdevice=%t.none 2>&1 | FileCheck %s --check-prefix=MISSING -DFILE=%t.none
// MISSING: error: expected libdevice for __nv_triple, found none at [[FILE]]; install the CUDA toolkit, set CUDA_HOME, or pass --libdevice=FILE
// RUN: rm -rf %t.home && mkdir %t.home
// RUN: env CUDA_HOME=%t.home not heddle-compile %s --emit=ptx --target=sm_80 2>&1 | FileCheck %s --check-prefix=HOME -DHOME=%t.home
// HOME: found none at [[HOME]]/nvvm/libdevice/libdevice.10.bc
// RUN: mkdir -p %t.home/nvvm/libdevice && cp %S/Inputs/libdevice.ll %t.home/nvvm/libdevice/libdevice.10.bc
// RUN: env CUDA_HOME=%t.home heddle-compile %s --emit=ptx --target=sm_80 | FileCheck %s
// RUN: echo nonsense > %t.bad
// RUN: not heddle-compile %s --emit=ptx --target=sm_80 --libdevice=%t.bad 2>&1 | FileCheck %s --check-prefix=BAD
// BAD: error: expected bitcode of LLVM as libdevice, got '{{.*}}.bad': {{.+}}; pass libdevice.10.bc of the CUDA toolkit as --libdevice=FILE
// RUN: not heddle-compile %s --emit=ptx --target=sm_80 --libdevice=%t.home 2>&1 | FileCheck %s --check-prefix=FOLDER
// FOLDER: error: expected bitcode of LLVM as libdevice, got '{{.*}}.home': {{.+}}; pass libdevice.10.bc
// RUN: not heddle-compile %s --emit=ptx --target=sm_80 --libdevice=%S/Inputs/libdevice-incomplete.ll 2>&1 | FileCheck %s --check-prefix=INCOMPLETE
// INCOMPLETE: error: expected libdevice '{{.*}}libdevice-incomplete.ll' to hold all that it calls, got no body of helper; pass libdevice.10.bc
// RUN: sed s/__nv_triple/__nv_fourfold/ %s > %t.mlir
// RUN: not heddle-compile %t.mlir --emit=ptx --target=sm_80 --libdevice=%S/Inputs/libdevice.ll 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: error: expected __nv_fourfold in libdevice '{{.*}}libdevice.ll', found none

gpu.module @kernels {
  llvm.func @kernel(%x: f32, %y: !llvm.ptr<1>) attributes {nvvm.kernel} {
    %v = llvm.call @__nv_triple(%x) : (f32) -> f32
    llvm.store %v, %y : f32, !llvm.ptr<1>
    llvm.return
  }
  llvm.func @__nv_triple(f32) -> f32
}
