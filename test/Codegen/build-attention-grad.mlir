// RUN: heddle-opt %s -heddle-split-attention-grad -convert-elementwise-to-linalg -heddle-fuse-kernels -heddle-plan-memory \
// RUN:   -heddle-build-tiles -cse -heddle-verify-tiles | FileCheck %s
// RUN: heddle-opt %s -heddle-split-attention-grad=threads=1 -convert-elementwise-to-linalg -heddle-fuse-kernels -heddle-plan-memory \
// RUN:   -heddle-build-tiles -cse -heddle-verify-tiles | FileCheck %s --check-prefix=WHOLE

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

// A block of a whole key head adds to d_query what each pair of tiles gives it,
// and computes the scores once.

// WHOLE-LABEL: func.func private @attention_grad_1_1_512_f32
// WHOLE-NOT: scf.for %
// WHOLE: heddle.tile_store {{.*}} into memref<1x1x512xf32>
// WHOLE-LABEL: func.func private @attention_grad_1_512_1_64_f32
// WHOLE: scf.forall {{.*}} in (1, 1, 1)
// WHOLE: heddle.tile_store {{.*}} dims [1, 3] : {{.*}} into memref<1x512x1x64xf32>
// WHOLE: math.exp2
// WHOLE: heddle.tile_store {{.*}} dims [3, 1] {accumulate} : tensor<64x128xf32> into memref<1x512x1x64xf32>
// WHOLE: math.exp2
// WHOLE: heddle.tile_store {{.*}} dims [3, 1] {accumulate} : tensor<64x128xf32> into memref<1x512x1x64xf32>
// WHOLE: heddle.tile_store {{.*}} dims [1, 3] : {{.*}} into memref<1x512x1x64xf32>
// WHOLE: heddle.tile_store {{.*}} dims [1, 3] : {{.*}} into memref<1x512x1x64xf32>
func.func @causal(%q: tensor<1x512x1x64xf32>, %o: tensor<1x512x1x64xf32>, %l: tensor<1x1x512xf32>, %g: tensor<1x512x1x64xf32>) -> (tensor<1x512x1x64xf32>, tensor<1x512x1x64xf32>, tensor<1x512x1x64xf32>) {
  %dq, %dk, %dv = heddle.attention_grad %q, %q, %q, %l, %g out(%o : tensor<1x512x1x64xf32>) {mask = #heddle.mask<causal>}
    : tensor<1x512x1x64xf32>, tensor<1x512x1x64xf32>, tensor<1x512x1x64xf32>, tensor<1x1x512xf32>, tensor<1x512x1x64xf32>
    -> d_query tensor<1x512x1x64xf32> d_key tensor<1x512x1x64xf32> d_value tensor<1x512x1x64xf32>
  return %dq, %dk, %dv : tensor<1x512x1x64xf32>, tensor<1x512x1x64xf32>, tensor<1x512x1x64xf32>
}

// Matrix units take 16-bit operands: what is made in f32 is rounded for them.

// RUN: heddle-opt %s -heddle-split-attention-grad -convert-elementwise-to-linalg -heddle-fuse-kernels=matrix-units -heddle-plan-memory \
// RUN:   -heddle-build-tiles=matrix-units -heddle-verify-tiles | FileCheck %s --check-prefix=UNITS
// UNITS-LABEL: func.func private @attention_grad_1_512_1_64_bf16_{{[0-9]}}
// UNITS: arith.truncf
// UNITS: arith.truncf
func.func @matrix_units(%q: tensor<1x512x1x64xbf16>, %o: tensor<1x512x1x64xbf16>, %l: tensor<1x1x512xf32>, %g: tensor<1x512x1x64xbf16>) -> (tensor<1x512x1x64xbf16>, tensor<1x512x1x64xbf16>, tensor<1x512x1x64xbf16>) {
  %dq, %dk, %dv = heddle.attention_grad %q, %q, %q, %l, %g out(%o : tensor<1x512x1x64xbf16>) {mask = #heddle.mask<causal>}
    : tensor<1x512x1x64xbf16>, tensor<1x512x1x64xbf16>, tensor<1x512x1x64xbf16>, tensor<1x1x512xf32>, tensor<1x512x1x64xbf16>
    -> d_query tensor<1x512x1x64xbf16> d_key tensor<1x512x1x64xbf16> d_value tensor<1x512x1x64xbf16>
  return %dq, %dk, %dv : tensor<1x512x1x64xbf16>, tensor<1x512x1x64xbf16>, tensor<1x512x1x64xbf16>
}
