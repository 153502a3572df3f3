// REQUIRES: ptxas
// RUN: heddle-compile %s --target=sm_80,sm_86,sm_90 --cubin -o %t.heddle --report=json > %t.json
// RUN: FileCheck %s --implicit-check-not='"spill_bytes": {{[1-9]}}' --implicit-check-not='"stack_bytes": {{[1-9]}}' < %t.json

// Attention of f32 stays in registers, also under a mask, with ragged ends and by
// the matrix unit.

// CHECK-COUNT-12: "spill_bytes": 0,
func.func @ragged_64(%q: tensor<1x600x1x64xf32>, %k: tensor<1x600x1x64xf32>, %v: tensor<1x600x1x64xf32>) -> tensor<1x600x1x64xf32> {
  %o = heddle.attention %q, %k, %v
    : tensor<1x600x1x64xf32>, tensor<1x600x1x64xf32>, tensor<1x600x1x64xf32> -> tensor<1x600x1x64xf32>
  return %o : tensor<1x600x1x64xf32>
}
func.func @ragged_causal_128(%q: tensor<1x600x1x128xf32>, %k: tensor<1x600x1x128xf32>, %v: tensor<1x600x1x128xf32>) -> tensor<1x600x1x128xf32> {
  %o = heddle.attention %q, %k, %v {mask = #heddle.mask<causal>}
    : tensor<1x600x1x128xf32>, tensor<1x600x1x128xf32>, tensor<1x600x1x128xf32> -> tensor<1x600x1x128xf32>
  return %o : tensor<1x600x1x128xf32>
}
func.func @tf32_64(%q: tensor<1x600x1x64xf32>, %k: tensor<1x600x1x64xf32>, %v: tensor<1x600x1x64xf32>) -> tensor<1x600x1x64xf32> {
  %o = heddle.attention %q, %k, %v precision = tf32 {mask = #heddle.mask<causal>}
    : tensor<1x600x1x64xf32>, tensor<1x600x1x64xf32>, tensor<1x600x1x64xf32> -> tensor<1x600x1x64xf32>
  return %o : tensor<1x600x1x64xf32>
}
func.func @tf32_128(%q: tensor<1x600x1x128xf32>, %k: tensor<1x600x1x128xf32>, %v: tensor<1x600x1x128xf32>) -> tensor<1x600x1x128xf32> {
  %o = heddle.attention %q, %k, %v precision = tf32
    : tensor<1x600x1x128xf32>, tensor<1x600x1x128xf32>, tensor<1x600x1x128xf32> -> tensor<1x600x1x128xf32>
  return %o : tensor<1x600x1x128xf32>
}
