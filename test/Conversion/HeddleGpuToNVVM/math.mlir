// RUN: heddle-opt %s -pass-pipeline='builtin.module(gpu.module(convert-lanes-to-nvvm))' | FileCheck %s --implicit-check-not=llvm.intr.exp --implicit-check-not=llvm.intr.sin --implicit-check-not=llvm.intr.pow --implicit-check-not=llvm.frem --implicit-check-not=llvm.call

// Functions of f32 are instructions of the device where it has them, polynomials,
// or arithmetic of f64; nothing is left that LLVM would look for in a library.

gpu.module @kernels {
  // An exponential may take the registers that it needs.
  // CHECK-LABEL: llvm.func @instructions
  // CHECK-SAME: nvvm.minctasm = 1
  gpu.func @instructions(%x: f32, %y: !llvm.ptr<1>) kernel {
    // CHECK: %[[L:.*]] = llvm.mlir.constant(1.44269502 : f32) : f32
    // CHECK: heddle_nvvm.ex2.approx.ftz %arg0
    // CHECK: %[[S:.*]] = llvm.fmul %arg0, %[[L]]
    // CHECK: %[[P:.*]] = heddle_nvvm.ex2.approx.ftz %[[S]]
    // CHECK: %[[R:.*]] = llvm.intr.fma(%arg0, %[[L]], %{{.*}})
    // CHECK: %[[E:.*]] = llvm.intr.fma(%[[P]], %{{.*}}, %[[P]])
    // CHECK: llvm.select %{{.*}}, %[[P]], %[[E]]
    // CHECK: heddle_nvvm.lg2.approx.ftz %arg0
    // CHECK: heddle_nvvm.rsqrt.approx.ftz %arg0
    // CHECK-NOT: f64
    // CHECK: llvm.return
    %a = math.exp2 %x : f32
    llvm.store %a, %y : f32, !llvm.ptr<1>
    %b = math.exp %x : f32
    llvm.store %b, %y : f32, !llvm.ptr<1>
    %c = math.log2 %x : f32
    llvm.store %c, %y : f32, !llvm.ptr<1>
    %d = math.rsqrt %x : f32
    llvm.store %d, %y : f32, !llvm.ptr<1>
    gpu.return
  }

  // CHECK-LABEL: llvm.func @polynomials
  // CHECK-NOT: nvvm.minctasm
  gpu.func @polynomials(%x: f32, %y: !llvm.ptr<1>) kernel {
    // CHECK: llvm.intr.fma{{.*}} : (vector<1xf32>
    // CHECK-NOT: f64
    // CHECK: llvm.return
    %a = math.tanh %x : f32
    llvm.store %a, %y : f32, !llvm.ptr<1>
    %b = math.erf %x : f32
    llvm.store %b, %y : f32, !llvm.ptr<1>
    gpu.return
  }

  // Each register of a tile by itself; the rare huge argument is a branch.
  // CHECK-LABEL: llvm.func @by_way_of_f64
  gpu.func @by_way_of_f64(%x: f32, %y: !llvm.ptr<1>) kernel {
    // CHECK: llvm.fpext %{{.*}} : f32 to f64
    // CHECK: llvm.cond_br
    // CHECK: llvm.fptrunc %{{.*}} : f64 to f32
    // CHECK: llvm.fpext %{{.*}} : f32 to f64
    // CHECK: llvm.cond_br
    // CHECK: llvm.fptrunc %{{.*}} : f64 to f32
    // CHECK: llvm.store {{.*}} : vector<2xf32>
    %v = vector.broadcast %x : f32 to vector<2xf32>
    %a = math.sin %v : vector<2xf32>
    llvm.store %a, %y : vector<2xf32>, !llvm.ptr<1>
    gpu.return
  }

  // Functions of 16 bits are those of 32, rounded once.
  // CHECK-LABEL: llvm.func @of_16_bits
  gpu.func @of_16_bits(%x: bf16, %y: !llvm.ptr<1>) kernel {
    // CHECK: llvm.fpext %arg0 : bf16 to f32
    // CHECK: heddle_nvvm.ex2.approx.ftz
    // CHECK: llvm.fptrunc %{{.*}} : f32 to bf16
    %a = math.exp2 %x : bf16
    llvm.store %a, %y : bf16, !llvm.ptr<1>
    gpu.return
  }

  // CHECK-LABEL: llvm.func @of_f64
  gpu.func @of_f64(%x: f64, %i: i32, %y: !llvm.ptr<1>) kernel {
    // CHECK-NOT: heddle_nvvm
    // CHECK: llvm.intr.fma{{.*}} : (f64, f64, f64) -> f64
    // CHECK: llvm.sitofp %arg1 : i32 to f64
    // CHECK: llvm.return
    %a = math.exp %x : f64
    llvm.store %a, %y : f64, !llvm.ptr<1>
    %b = math.fpowi %x, %i : f64, i32
    llvm.store %b, %y : f64, !llvm.ptr<1>
    gpu.return
  }

  // The remainder is a loop over the bits of the quotient.
  // CHECK-LABEL: llvm.func @remainder
  gpu.func @remainder(%x: f32, %z: f32, %y: !llvm.ptr<1>) kernel {
    // CHECK: llvm.fpext %arg0 : f32 to f64
    // CHECK: llvm.urem
    // CHECK: llvm.cond_br
    // CHECK: llvm.fptrunc
    %a = arith.remf %x, %z : f32
    llvm.store %a, %y : f32, !llvm.ptr<1>
    gpu.return
  }
}
