// RUN: heddle-compile %s --compile-to=tile --cpu=x86-64-v4 | FileCheck %s

// Under a causal mask the loop over whole key tiles has no mask code, and its
// bounds follow the diagonal; the loop over mixed tiles compares positions and
// guards the second product. Tiles above the diagonal are in neither.

// CHECK-LABEL: func.func private @attention_1_512_1_64_f32
// CHECK: scf.forall (%{{.*}}, %{{.*}}, %[[T:.*]]) in (1, 1, 4)
// CHECK: affine.apply #{{.*}}(%[[T]])
// CHECK: scf.for
// CHECK-NOT: arith.cmpi
// CHECK-NOT: linalg.index
// CHECK: scf.yield
// CHECK: scf.for
// CHECK: linalg.index 0
// CHECK: arith.cmpi sge
// CHECK: arith.cmpf uge
// CHECK: scf.yield
// CHECK: heddle.tile_store
func.func @attention(%q: tensor<1x512x1x64xf32>, %k: tensor<1x512x1x64xf32>, %v: tensor<1x512x1x64xf32>) -> tensor<1x512x1x64xf32> {
  %o = heddle.attention %q, %k, %v {mask = #heddle.mask<causal>}
    : tensor<1x512x1x64xf32>, tensor<1x512x1x64xf32>, tensor<1x512x1x64xf32> -> tensor<1x512x1x64xf32>
  return %o : tensor<1x512x1x64xf32>
}

// A depth that the blocks do not divide ends with a block of its own: no load
// is padded along it.

// CHECK-LABEL: func.func private @matmul_64_32_f32
// CHECK: scf.for
// CHECK: tensor.extract_slice {{.*}} to tensor<{{[0-9]+}}x[[D:[0-9]+]]xf32>
// CHECK-NOT: tensor.pad
// CHECK: scf.yield
// CHECK: heddle.tile_store
func.func @matmul(%x: tensor<64x1021xf32>, %w: tensor<1021x32xf32>) -> tensor<64x32xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x32xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<64x32xf32>) -> tensor<64x32xf32>
  %y = linalg.matmul ins(%x, %w : tensor<64x1021xf32>, tensor<1021x32xf32>) outs(%f : tensor<64x32xf32>) -> tensor<64x32xf32>
  return %y : tensor<64x32xf32>
}
