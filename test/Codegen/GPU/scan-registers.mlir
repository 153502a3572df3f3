// REQUIRES: ptxas
// RUN: heddle-compile %s --target=sm_80,sm_86,sm_90 --cubin -o %t.heddle --report=json > %t.json
// RUN: FileCheck %s --implicit-check-not='"spill_bytes": {{[1-9]}}' --implicit-check-not='"stack_bytes": {{[1-9]}}' < %t.json

// States, and what the next chunk reads, stay in registers: nothing spills, nothing
// has a frame, with all operands.

// CHECK-COUNT-6: "spill_bytes": 0,
func.func @selective(%u: tensor<2x50x128xbf16>, %a: tensor<128x128xf32>, %b: tensor<2x50x128xbf16>, %d: tensor<128xf32>, %h: tensor<2x128x128xf32>, %r: tensor<2x50xi32>) -> (tensor<2x50x128xbf16>, tensor<2x128x128xf32>) {
  %y, %f = heddle.selective_scan %u, %u, %a, %b, %b d(%d : tensor<128xf32>) z(%u : tensor<2x50x128xbf16>) delta_bias(%d : tensor<128xf32>)
    initial_state(%h : tensor<2x128x128xf32>) reset_ids(%r : tensor<2x50xi32>) {delta_softplus, reverse}
    : tensor<2x50x128xbf16>, tensor<2x50x128xbf16>, tensor<128x128xf32>, tensor<2x50x128xbf16>, tensor<2x50x128xbf16> -> tensor<2x50x128xbf16>, tensor<2x128x128xf32>
  return %y, %f : tensor<2x50x128xbf16>, tensor<2x128x128xf32>
}
func.func @gradient(%u: tensor<2x50x128xbf16>, %a: tensor<128x16xf32>, %b: tensor<2x50x16xbf16>, %d: tensor<128xf32>, %h: tensor<2x128x16xf32>, %r: tensor<2x50xi32>) -> (tensor<2x50x128xbf16>, tensor<2x128x16xf32>) {
  %du, %ddt, %da, %db, %dc, %dd, %dz, %dbias, %dh = heddle.selective_scan_grad %u, %u, %a, %b, %b, %u d(%d : tensor<128xf32>) z(%u : tensor<2x50x128xbf16>)
    delta_bias(%d : tensor<128xf32>) initial_state(%h : tensor<2x128x16xf32>) reset_ids(%r : tensor<2x50xi32>) {delta_softplus}
    : tensor<2x50x128xbf16>, tensor<2x50x128xbf16>, tensor<128x16xf32>, tensor<2x50x16xbf16>, tensor<2x50x16xbf16>, tensor<2x50x128xbf16>
    -> (tensor<2x50x128xbf16>, tensor<2x50x128xbf16>, tensor<128x16xf32>, tensor<2x50x16xbf16>, tensor<2x50x16xbf16>, d tensor<128xf32>, z tensor<2x50x128xbf16>, delta_bias tensor<128xf32>, initial_state tensor<2x128x16xf32>)
  return %du, %dh : tensor<2x50x128xbf16>, tensor<2x128x16xf32>
}
