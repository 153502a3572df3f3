// REQUIRES: ptxas
// RUN: heddle-compile %s --target=sm_80,sm_86,sm_90 --cubin -o %t.heddle --report=json > %t.json
// RUN: FileCheck %s --implicit-check-not='"spill_bytes": {{[1-9]}}' --implicit-check-not='"stack_bytes": {{[1-9]}}' < %t.json

// States, and what the next chunk reads, stay in registers: nothing spills, nothing
// has a frame, with all operands.

// CHECK-COUNT-18: "spill_bytes": 0,
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

// States that no power of two divides evenly over the lanes; the most that a lane has.
func.func @gradient_of_many(%u: tensor<1x64x64xbf16>, %a: tensor<64x160xf32>, %b: tensor<1x64x160xbf16>, %d: tensor<64xf32>, %h: tensor<1x64x160xf32>, %r: tensor<1x64xi32>) -> (tensor<1x64x64xbf16>, tensor<1x64x160xf32>) {
  %du, %ddt, %da, %db, %dc, %dd, %dz, %dbias, %dh = heddle.selective_scan_grad %u, %u, %a, %b, %b, %u d(%d : tensor<64xf32>) z(%u : tensor<1x64x64xbf16>)
    delta_bias(%d : tensor<64xf32>) initial_state(%h : tensor<1x64x160xf32>) reset_ids(%r : tensor<1x64xi32>) dfinal_state(%h : tensor<1x64x160xf32>) {delta_softplus, reverse}
    : tensor<1x64x64xbf16>, tensor<1x64x64xbf16>, tensor<64x160xf32>, tensor<1x64x160xbf16>, tensor<1x64x160xbf16>, tensor<1x64x64xbf16>
    -> (tensor<1x64x64xbf16>, tensor<1x64x64xbf16>, tensor<64x160xf32>, tensor<1x64x160xbf16>, tensor<1x64x160xbf16>, d tensor<64xf32>, z tensor<1x64x64xbf16>, delta_bias tensor<64xf32>, initial_state tensor<1x64x160xf32>)
  return %du, %dh : tensor<1x64x64xbf16>, tensor<1x64x160xf32>
}
func.func @many(%u: tensor<1x64x64xbf16>, %a: tensor<64x600xf32>, %b: tensor<1x64x600xbf16>, %d: tensor<64xf32>, %h: tensor<1x64x600xf32>, %r: tensor<1x64xi32>) -> (tensor<1x64x64xbf16>, tensor<1x64x600xf32>) {
  %y, %f = heddle.selective_scan %u, %u, %a, %b, %b d(%d : tensor<64xf32>) z(%u : tensor<1x64x64xbf16>) delta_bias(%d : tensor<64xf32>)
    initial_state(%h : tensor<1x64x600xf32>) reset_ids(%r : tensor<1x64xi32>) {delta_softplus}
    : tensor<1x64x64xbf16>, tensor<1x64x64xbf16>, tensor<64x600xf32>, tensor<1x64x600xbf16>, tensor<1x64x600xbf16> -> tensor<1x64x64xbf16>, tensor<1x64x600xf32>
  return %y, %f : tensor<1x64x64xbf16>, tensor<1x64x600xf32>
}

// States that a scan has left; tiles of channels in turn.
func.func @gradient_given_states(%u: tensor<2x203x128xbf16>, %a: tensor<128x16xf32>, %b: tensor<2x203x16xbf16>, %d: tensor<128xf32>, %h: tensor<2x128x16xf32>, %r: tensor<2x203xi32>, %s: tensor<2x6x128x16xf32>) -> (tensor<2x203x128xbf16>, tensor<2x128x16xf32>) {
  %du, %ddt, %da, %db, %dc, %dd, %dz, %dbias, %dh = heddle.selective_scan_grad %u, %u, %a, %b, %b, %u d(%d : tensor<128xf32>) z(%u : tensor<2x203x128xbf16>)
    delta_bias(%d : tensor<128xf32>) initial_state(%h : tensor<2x128x16xf32>) reset_ids(%r : tensor<2x203xi32>) dfinal_state(%h : tensor<2x128x16xf32>) chunk_states(%s : tensor<2x6x128x16xf32>) {chunk = 32, delta_softplus}
    : tensor<2x203x128xbf16>, tensor<2x203x128xbf16>, tensor<128x16xf32>, tensor<2x203x16xbf16>, tensor<2x203x16xbf16>, tensor<2x203x128xbf16>
    -> (tensor<2x203x128xbf16>, tensor<2x203x128xbf16>, tensor<128x16xf32>, tensor<2x203x16xbf16>, tensor<2x203x16xbf16>, d tensor<128xf32>, z tensor<2x203x128xbf16>, delta_bias tensor<128xf32>, initial_state tensor<2x128x16xf32>)
  return %du, %dh : tensor<2x203x128xbf16>, tensor<2x128x16xf32>
}
func.func @gradient_in_turn(%u: tensor<130x50x128xbf16>, %a: tensor<128x256xf32>, %b: tensor<130x50x256xbf16>, %d: tensor<128xf32>, %h: tensor<130x128x256xf32>, %r: tensor<130x50xi32>) -> (tensor<130x50x128xbf16>, tensor<130x128x256xf32>) {
  %du, %ddt, %da, %db, %dc, %dd, %dz, %dbias, %dh = heddle.selective_scan_grad %u, %u, %a, %b, %b, %u d(%d : tensor<128xf32>) z(%u : tensor<130x50x128xbf16>)
    delta_bias(%d : tensor<128xf32>) initial_state(%h : tensor<130x128x256xf32>) reset_ids(%r : tensor<130x50xi32>) dfinal_state(%h : tensor<130x128x256xf32>) {delta_softplus}
    : tensor<130x50x128xbf16>, tensor<130x50x128xbf16>, tensor<128x256xf32>, tensor<130x50x256xbf16>, tensor<130x50x256xbf16>, tensor<130x50x128xbf16>
    -> (tensor<130x50x128xbf16>, tensor<130x50x128xbf16>, tensor<128x256xf32>, tensor<130x50x256xbf16>, tensor<130x50x256xbf16>, d tensor<128xf32>, z tensor<130x50x128xbf16>, delta_bias tensor<128xf32>, initial_state tensor<130x128x256xf32>)
  return %du, %dh : tensor<130x50x128xbf16>, tensor<130x128x256xf32>
}
