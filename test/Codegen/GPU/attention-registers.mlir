// REQUIRES: ptxas
// RUN: heddle-compile %s --target=sm_80 --cubin -o %t.heddle --report=json > %t.80.json
// RUN: FileCheck %s --implicit-check-not='"spill_bytes": {{[1-9]}}' --implicit-check-not='"stack_bytes": {{[1-9]}}' < %t.80.json
// RUN: heddle-compile %s --target=sm_86 --cubin -o %t.heddle --report=json > %t.86.json
// RUN: FileCheck %s --implicit-check-not='"spill_bytes": {{[1-9]}}' --implicit-check-not='"stack_bytes": {{[1-9]}}' < %t.86.json
// RUN: heddle-compile %s --target=sm_90 --cubin -o %t.heddle --report=json > %t.90.json
// RUN: FileCheck %s --implicit-check-not='"spill_bytes": {{[1-9]}}' --implicit-check-not='"stack_bytes": {{[1-9]}}' < %t.90.json

// All of attention's tiles stay in registers: nothing spills, nothing has a frame.

// CHECK-COUNT-4: "spill_bytes": 0,
func.func @full_64(%q: tensor<1x1024x1x64xbf16>, %k: tensor<1x1024x1x64xbf16>, %v: tensor<1x1024x1x64xbf16>) -> tensor<1x1024x1x64xbf16> {
  %o = heddle.attention %q, %k, %v
    : tensor<1x1024x1x64xbf16>, tensor<1x1024x1x64xbf16>, tensor<1x1024x1x64xbf16> -> tensor<1x1024x1x64xbf16>
  return %o : tensor<1x1024x1x64xbf16>
}
func.func @full_128(%q: tensor<1x1024x1x128xbf16>, %k: tensor<1x1024x1x128xbf16>, %v: tensor<1x1024x1x128xbf16>) -> tensor<1x1024x1x128xbf16> {
  %o = heddle.attention %q, %k, %v
    : tensor<1x1024x1x128xbf16>, tensor<1x1024x1x128xbf16>, tensor<1x1024x1x128xbf16> -> tensor<1x1024x1x128xbf16>
  return %o : tensor<1x1024x1x128xbf16>
}
func.func @causal_64(%q: tensor<1x1024x1x64xbf16>, %k: tensor<1x1024x1x64xbf16>, %v: tensor<1x1024x1x64xbf16>) -> tensor<1x1024x1x64xbf16> {
  %o = heddle.attention %q, %k, %v {mask = #heddle.mask<causal>}
    : tensor<1x1024x1x64xbf16>, tensor<1x1024x1x64xbf16>, tensor<1x1024x1x64xbf16> -> tensor<1x1024x1x64xbf16>
  return %o : tensor<1x1024x1x64xbf16>
}
func.func @causal_128(%q: tensor<1x1024x1x128xbf16>, %k: tensor<1x1024x1x128xbf16>, %v: tensor<1x1024x1x128xbf16>) -> tensor<1x1024x1x128xbf16> {
  %o = heddle.attention %q, %k, %v {mask = #heddle.mask<causal>}
    : tensor<1x1024x1x128xbf16>, tensor<1x1024x1x128xbf16>, tensor<1x1024x1x128xbf16> -> tensor<1x1024x1x128xbf16>
  return %o : tensor<1x1024x1x128xbf16>
}
