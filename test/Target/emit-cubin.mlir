// REQUIRES: ptxas, libdevice
// RUN: heddle-compile %s --emit=cubin --target=sm_80 -o %t.80.cubin --report | FileCheck %s --check-prefixes=CHECK,SM80
// RUN: heddle-compile %s --emit=cubin --target=sm_90a --line-info -o %t.90a.cubin --report | FileCheck %s --check-prefixes=CHECK,SM90A
// RUN: llvm-readelf -h %t.80.cubin | FileCheck %s --check-prefix=ELF
// RUN: llvm-readelf -h %t.90a.cubin | FileCheck %s --check-prefix=ELF
// RUN: heddle-compile %s --emit=cubin --target=sm_86 -o %t.86.cubin --report=json > %t.json
// RUN: %python -c "import json,sys; k=json.load(open(sys.argv[1]))['kernels'][0]; \
// RUN:   assert k['name']=='exponentials' and k['threads']==256 and k['registers']>4; \
// RUN:   assert k['static_shared_bytes']==20480 and k['spill_load_bytes']==0; \
// RUN:   assert k['blocks_per_sm']==4 and k['limited_by']=='shared memory'" %t.json
// The real library; it goes into the PTX without a trace of its names.
// RUN: heddle-compile %s --emit=ptx --target=sm_80 | FileCheck %s --check-prefix=PTX

// SM80: target sm_80
// SM90A: target sm_90a
// CHECK: kernel exponentials: {{[0-9]+}} registers, 0 and 0 bytes of spill stores and loads, 0 bytes of stack, 20480 bytes of static shared memory
// SM80-SAME: blocks of 256 threads, 7 per SM, 88 % occupancy, limited by shared memory
// SM90A-SAME: blocks of 256 threads, 8 per SM, 100 % occupancy, limited by warps
// ELF: Machine: {{.*}}CUDA
// PTX-NOT: __nv_
// PTX: ex2.approx
gpu.module @kernels {
  llvm.mlir.global internal @tile() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<5120 x f32>
  llvm.func @exponentials(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>) attributes {nvvm.kernel, nvvm.maxntid = array<i32: 128, 2>} {
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %tile = llvm.mlir.addressof @tile : !llvm.ptr<3>
    %from = llvm.getelementptr %x[%tid] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %v = llvm.load %from : !llvm.ptr<1> -> f32
    %e = llvm.call @__nv_expf(%v) : (f32) -> f32
    %slot = llvm.getelementptr %tile[0, %tid] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, !llvm.array<5120 x f32>
    llvm.store %e, %slot : f32, !llvm.ptr<3>
    nvvm.barrier0
    %first = llvm.load %tile : !llvm.ptr<3> -> f32
    %to = llvm.getelementptr %y[%tid] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    llvm.store %first, %to : f32, !llvm.ptr<1>
    llvm.return
  }
  llvm.func @__nv_expf(f32) -> f32
}
