// REQUIRES: ptxas
// RUN: heddle-compile %s --target=sm_80,sm_86,sm_90 --cubin -o %t.heddle --report=json > %t.json
// RUN: FileCheck %s --implicit-check-not='"spill_bytes": {{[1-9]}}' --implicit-check-not='"stack_bytes": {{[1-9]}}' < %t.json

// Attention of heads wider than 128 stays in registers: nothing spills, nothing has
// a frame.

// CHECK-COUNT-24: "spill_bytes": 0,
func.func @causal_192_bf16(%q: tensor<1x600x1x192xbf16>, %k: tensor<1x600x1x192xbf16>, %v: tensor<1x600x1x192xbf16>) -> tensor<1x600x1x192xbf16> {
  %o = heddle.attention %q, %k, %v {mask = #heddle.mask<causal>}
    : tensor<1x600x1x192xbf16>, tensor<1x600x1x192xbf16>, tensor<1x600x1x192xbf16> -> tensor<1x600x1x192xbf16>
  return %o : tensor<1x600x1x192xbf16>
}
func.func @causal_192_f16(%q: tensor<1x1024x1x192xf16>, %k: tensor<1x1024x1x192xf16>, %v: tensor<1x1024x1x192xf16>) -> tensor<1x1024x1x192xf16> {
  %o = heddle.attention %q, %k, %v {mask = #heddle.mask<causal>}
    : tensor<1x1024x1x192xf16>, tensor<1x1024x1x192xf16>, tensor<1x1024x1x192xf16> -> tensor<1x1024x1x192xf16>
  return %o : tensor<1x1024x1x192xf16>
}
func.func @causal_192_tf32(%q: tensor<1x600x1x192xf32>, %k: tensor<1x600x1x192xf32>, %v: tensor<1x600x1x192xf32>) -> tensor<1x600x1x192xf32> {
  %o = heddle.attention %q, %k, %v precision = tf32 {mask = #heddle.mask<causal>}
    : tensor<1x600x1x192xf32>, tensor<1x600x1x192xf32>, tensor<1x600x1x192xf32> -> tensor<1x600x1x192xf32>
  return %o : tensor<1x600x1x192xf32>
}
func.func @causal_256_bf16(%q: tensor<1x600x1x256xbf16>, %k: tensor<1x600x1x256xbf16>, %v: tensor<1x600x1x256xbf16>) -> tensor<1x600x1x256xbf16> {
  %o = heddle.attention %q, %k, %v {mask = #heddle.mask<causal>}
    : tensor<1x600x1x256xbf16>, tensor<1x600x1x256xbf16>, tensor<1x600x1x256xbf16> -> tensor<1x600x1x256xbf16>
  return %o : tensor<1x600x1x256xbf16>
}
func.func @causal_256_tf32(%q: tensor<1x600x1x256xf32>, %k: tensor<1x600x1x256xf32>, %v: tensor<1x600x1x256xf32>) -> tensor<1x600x1x256xf32> {
  %o = heddle.attention %q, %k, %v precision = tf32 {mask = #heddle.mask<causal>}
    : tensor<1x600x1x256xf32>, tensor<1x600x1x256xf32>, tensor<1x600x1x256xf32> -> tensor<1x600x1x256xf32>
  return %o : tensor<1x600x1x256xf32>
}
func.func @causal_256_f32(%q: tensor<1x600x1x256xf32>, %k: tensor<1x600x1x256xf32>, %v: tensor<1x600x1x256xf32>) -> tensor<1x600x1x256xf32> {
  %o = heddle.attention %q, %k, %v {mask = #heddle.mask<causal>}
    : tensor<1x600x1x256xf32>, tensor<1x600x1x256xf32>, tensor<1x600x1x256xf32> -> tensor<1x600x1x256xf32>
  return %o : tensor<1x600x1x256xf32>
}
func.func @grouped_192_128_bf16(%q: tensor<1x2x1024x192xbf16>, %k: tensor<1x1x1024x192xbf16>, %v: tensor<1x1x1024x128xbf16>) -> tensor<1x2x1024x128xbf16> {
  %o = heddle.attention %q, %k, %v layout = bhsd {mask = #heddle.mask<causal>}
    : tensor<1x2x1024x192xbf16>, tensor<1x1x1024x192xbf16>, tensor<1x1x1024x128xbf16> -> tensor<1x2x1024x128xbf16>
  return %o : tensor<1x2x1024x128xbf16>
}
func.func @causal_224_tf32(%q: tensor<1x1024x1x224xf32>, %k: tensor<1x1024x1x224xf32>, %v: tensor<1x1024x1x224xf32>) -> tensor<1x1024x1x224xf32> {
  %o = heddle.attention %q, %k, %v precision = tf32 {mask = #heddle.mask<causal>}
    : tensor<1x1024x1x224xf32>, tensor<1x1024x1x224xf32>, tensor<1x1024x1x224xf32> -> tensor<1x1024x1x224xf32>
  return %o : tensor<1x1024x1x224xf32>
}
