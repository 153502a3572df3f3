// RUN: heddle-compile %s --compile-to=tile --cpu=x86-64-v4 | FileCheck %s

// Under a causal mask both kernels visit whole tiles without mask code, in bounds
// that follow the diagonal, and mixed tiles with it; no product is written to
// memory but the gradients. Keys are visited from the diagonal on.

// CHECK-LABEL: func.func private @attention_grad_1_512_1_64_f32
// CHECK-SAME: heddle.tile = "q128_k128"
// CHECK: scf.forall (%{{.*}}, %{{.*}}, %[[T:.*]]) in (1, 1, 4)
// CHECK: heddle.tile_store {{.*}} into memref<1x1x512xf32>
// CHECK: affine.apply #{{.*}}(%[[T]])
// CHECK: scf.for
// CHECK-NOT: arith.cmpi
// CHECK-NOT: linalg.index
// CHECK: math.exp2
// CHECK: scf.yield
// CHECK: scf.for
// CHECK: arith.cmpi sge
// CHECK: math.exp2
// CHECK: arith.cmpf une
// CHECK: scf.yield
// CHECK: heddle.tile_store {{.*}} into memref<1x512x1x64xf32>
// CHECK-NOT: heddle.tile_store

// CHECK-LABEL: func.func private @attention_grad_1_512_1_64_f32_0
// CHECK: scf.forall (%{{.*}}, %{{.*}}, %[[T:.*]]) in (1, 1, 4)
// CHECK: affine.apply #{{.*}}(%[[T]])
// CHECK: scf.for
// CHECK-NOT: arith.cmpi
// CHECK-NOT: linalg.index
// CHECK: math.exp2
// CHECK: scf.yield
// CHECK: scf.for
// CHECK: arith.cmpi sge
// CHECK: math.exp2
// CHECK: arith.cmpf une
// CHECK: arith.cmpf uge
// CHECK: scf.yield
// CHECK: heddle.tile_store {{.*}} into memref<1x512x1x64xf32>
// CHECK: heddle.tile_store {{.*}} into memref<1x512x1x64xf32>
func.func @causal(%q: tensor<1x512x1x64xf32>, %o: tensor<1x512x1x64xf32>, %l: tensor<1x1x512xf32>, %g: tensor<1x512x1x64xf32>) -> (tensor<1x512x1x64xf32>, tensor<1x512x1x64xf32>, tensor<1x512x1x64xf32>) {
  %dq, %dk, %dv = heddle.attention_grad %q, %q, %q, %l, %g out(%o : tensor<1x512x1x64xf32>) {mask = #heddle.mask<causal>}
    : tensor<1x512x1x64xf32>, tensor<1x512x1x64xf32>, tensor<1x512x1x64xf32>, tensor<1x1x512xf32>, tensor<1x512x1x64xf32>
    -> d_query tensor<1x512x1x64xf32> d_key tensor<1x512x1x64xf32> d_value tensor<1x512x1x64xf32>
  return %dq, %dk, %dv : tensor<1x512x1x64xf32>, tensor<1x512x1x64xf32>, tensor<1x512x1x64xf32>
}

// Matrix units take 16-bit operands: what is made in f32 is rounded for them.

// RUN: heddle-opt %s -heddle-split-attention-grad -heddle-fuse-kernels=matrix-units -heddle-plan-memory \
// RUN:   -heddle-build-tiles=matrix-units -heddle-verify-tiles | FileCheck %s --check-prefix=UNITS
// UNITS-LABEL: func.func private @attention_grad_1_512_1_64_bf16_0
// UNITS: arith.truncf
// UNITS: arith.truncf
func.func @matrix_units(%q: tensor<1x512x1x64xbf16>, %o: tensor<1x512x1x64xbf16>, %l: tensor<1x1x512xf32>, %g: tensor<1x512x1x64xbf16>) -> (tensor<1x512x1x64xbf16>, tensor<1x512x1x64xbf16>, tensor<1x512x1x64xbf16>) {
  %dq, %dk, %dv = heddle.attention_grad %q, %q, %q, %l, %g out(%o : tensor<1x512x1x64xbf16>) {mask = #heddle.mask<causal>}
    : tensor<1x512x1x64xbf16>, tensor<1x512x1x64xbf16>, tensor<1x512x1x64xbf16>, tensor<1x1x512xf32>, tensor<1x512x1x64xbf16>
    -> d_query tensor<1x512x1x64xbf16> d_key tensor<1x512x1x64xbf16> d_value tensor<1x512x1x64xbf16>
  return %dq, %dk, %dv : tensor<1x512x1x64xbf16>, tensor<1x512x1x64xbf16>, tensor<1x512x1x64xbf16>
}
