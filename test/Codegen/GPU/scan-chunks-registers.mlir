// REQUIRES: ptxas
// RUN: heddle-compile %s --target=sm_80,sm_86,sm_90 --scan-chunks=4 --cubin -o %t.heddle --report=json > %t.json
// RUN: FileCheck %s --implicit-check-not='"spill_bytes": {{[1-9]}}' --implicit-check-not='"stack_bytes": {{[1-9]}}' < %t.json

// Nothing spills, nothing has a frame, in the kernels that chunks of time add and in those
// that they change.

// CHECK-COUNT-200: "spill_bytes": 0,
func.func @selective(%u: tensor<2x100x128xbf16>, %a: tensor<128x128xf32>, %b: tensor<2x100x128xbf16>, %d: tensor<128xf32>, %h: tensor<2x128x128xf32>, %r: tensor<2x100xi32>) -> (tensor<2x100x128xbf16>, tensor<2x128x128xf32>) {
  %y, %f = heddle.selective_scan %u, %u, %a, %b, %b d(%d : tensor<128xf32>) z(%u : tensor<2x100x128xbf16>) delta_bias(%d : tensor<128xf32>)
    initial_state(%h : tensor<2x128x128xf32>) reset_ids(%r : tensor<2x100xi32>) {delta_softplus, reverse}
    : tensor<2x100x128xbf16>, tensor<2x100x128xbf16>, tensor<128x128xf32>, tensor<2x100x128xbf16>, tensor<2x100x128xbf16> -> tensor<2x100x128xbf16>, tensor<2x128x128xf32>
  return %y, %f : tensor<2x100x128xbf16>, tensor<2x128x128xf32>
}
func.func @many(%u: tensor<1x64x64xbf16>, %a: tensor<64x600xf32>, %b: tensor<1x64x600xbf16>, %bias: tensor<64xf32>, %h: tensor<1x64x600xf32>, %r: tensor<1x64xi32>) -> (tensor<1x64x64xbf16>, tensor<1x64x600xf32>) {
  %y, %f = heddle.selective_scan %u, %u, %a, %b, %b z(%u : tensor<1x64x64xbf16>) delta_bias(%bias : tensor<64xf32>)
    initial_state(%h : tensor<1x64x600xf32>) reset_ids(%r : tensor<1x64xi32>) {delta_softplus}
    : tensor<1x64x64xbf16>, tensor<1x64x64xbf16>, tensor<64x600xf32>, tensor<1x64x600xbf16>, tensor<1x64x600xbf16> -> tensor<1x64x64xbf16>, tensor<1x64x600xf32>
  return %y, %f : tensor<1x64x64xbf16>, tensor<1x64x600xf32>
}
func.func @linear(%a: tensor<2x4096x70xf32>, %ai: tensor<2x4096x70xf32>, %h: tensor<2x70xf32>, %r: tensor<2x4096xi32>) -> (tensor<2x4096x70xf32>, tensor<2x4096x70xf32>, tensor<2x70xf32>, tensor<2x70xf32>) {
  %0:4 = heddle.linear_scan %a, %a imag(%ai, %ai : tensor<2x4096x70xf32>, tensor<2x4096x70xf32>) initial_state(%h : tensor<2x70xf32>) initial_state_imag(%h : tensor<2x70xf32>) reset_ids(%r : tensor<2x4096xi32>)
    : tensor<2x4096x70xf32>, tensor<2x4096x70xf32> -> (tensor<2x4096x70xf32>, imag tensor<2x4096x70xf32>, final tensor<2x70xf32>, final_imag tensor<2x70xf32>)
  return %0#0, %0#1, %0#2, %0#3 : tensor<2x4096x70xf32>, tensor<2x4096x70xf32>, tensor<2x70xf32>, tensor<2x70xf32>
}
func.func @gradient(%a: tensor<70xf32>, %ai: tensor<70xf32>, %h: tensor<2x4096x70xf32>, %hi: tensor<2x4096x70xf32>, %dh: tensor<2x4096x70xf32>, %dhi: tensor<2x4096x70xf32>, %r: tensor<2x4096xi32>)
    -> (tensor<70xf32>, tensor<2x4096x70xf32>, tensor<70xf32>, tensor<2x4096x70xf32>) {
  %0:4 = heddle.linear_scan_grad %a, %h, %dh imag(%ai, %hi, %dhi : tensor<70xf32>, tensor<2x4096x70xf32>, tensor<2x4096x70xf32>) reset_ids(%r : tensor<2x4096xi32>)
    : tensor<70xf32>, tensor<2x4096x70xf32>, tensor<2x4096x70xf32> -> (tensor<70xf32>, tensor<2x4096x70xf32>, a_imag tensor<70xf32>, b_imag tensor<2x4096x70xf32>)
  return %0#0, %0#1, %0#2, %0#3 : tensor<70xf32>, tensor<2x4096x70xf32>, tensor<70xf32>, tensor<2x4096x70xf32>
}
func.func @gradient_16(%u: tensor<2x701x64xf32>, %a: tensor<64x16xf32>, %b: tensor<2x701x16xf32>, %d: tensor<64xf32>, %h: tensor<2x64x16xf32>, %r: tensor<2x701xi32>, %dy: tensor<2x701x64xf32>)
    -> (tensor<2x701x64xf32>, tensor<2x701x64xf32>, tensor<64x16xf32>, tensor<2x701x16xf32>, tensor<2x701x16xf32>, tensor<64xf32>, tensor<2x701x64xf32>, tensor<64xf32>, tensor<2x64x16xf32>) {
  %0:9 = heddle.selective_scan_grad %u, %u, %a, %b, %b, %dy d(%d : tensor<64xf32>) z(%u : tensor<2x701x64xf32>) delta_bias(%d : tensor<64xf32>) initial_state(%h : tensor<2x64x16xf32>) reset_ids(%r : tensor<2x701xi32>) dfinal_state(%h : tensor<2x64x16xf32>) {delta_softplus}
    : tensor<2x701x64xf32>, tensor<2x701x64xf32>, tensor<64x16xf32>, tensor<2x701x16xf32>, tensor<2x701x16xf32>, tensor<2x701x64xf32>
    -> (tensor<2x701x64xf32>, tensor<2x701x64xf32>, tensor<64x16xf32>, tensor<2x701x16xf32>, tensor<2x701x16xf32>, d tensor<64xf32>, z tensor<2x701x64xf32>, delta_bias tensor<64xf32>, initial_state tensor<2x64x16xf32>)
  return %0#0, %0#1, %0#2, %0#3, %0#4, %0#5, %0#6, %0#7, %0#8 : tensor<2x701x64xf32>, tensor<2x701x64xf32>, tensor<64x16xf32>, tensor<2x701x16xf32>, tensor<2x701x16xf32>, tensor<64xf32>, tensor<2x701x64xf32>, tensor<64xf32>, tensor<2x64x16xf32>
}
func.func @gradient_64(%u: tensor<2x401x64xf16>, %a: tensor<64x64xf32>, %b: tensor<2x401x64xf16>, %d: tensor<64xf32>, %h: tensor<2x64x64xf32>, %r: tensor<2x401xi32>, %dy: tensor<2x401x64xf16>)
    -> (tensor<2x401x64xf16>, tensor<2x401x64xf16>, tensor<64x64xf32>, tensor<2x401x64xf16>, tensor<2x401x64xf16>, tensor<64xf32>, tensor<2x401x64xf16>, tensor<64xf32>, tensor<2x64x64xf32>) {
  %0:9 = heddle.selective_scan_grad %u, %u, %a, %b, %b, %dy d(%d : tensor<64xf32>) z(%u : tensor<2x401x64xf16>) delta_bias(%d : tensor<64xf32>) initial_state(%h : tensor<2x64x64xf32>) reset_ids(%r : tensor<2x401xi32>) dfinal_state(%h : tensor<2x64x64xf32>) {delta_softplus, reverse}
    : tensor<2x401x64xf16>, tensor<2x401x64xf16>, tensor<64x64xf32>, tensor<2x401x64xf16>, tensor<2x401x64xf16>, tensor<2x401x64xf16>
    -> (tensor<2x401x64xf16>, tensor<2x401x64xf16>, tensor<64x64xf32>, tensor<2x401x64xf16>, tensor<2x401x64xf16>, d tensor<64xf32>, z tensor<2x401x64xf16>, delta_bias tensor<64xf32>, initial_state tensor<2x64x64xf32>)
  return %0#0, %0#1, %0#2, %0#3, %0#4, %0#5, %0#6, %0#7, %0#8 : tensor<2x401x64xf16>, tensor<2x401x64xf16>, tensor<64x64xf32>, tensor<2x401x64xf16>, tensor<2x401x64xf16>, tensor<64xf32>, tensor<2x401x64xf16>, tensor<64xf32>, tensor<2x64x64xf32>
}
func.func @gradient_128(%u: tensor<2x301x33xbf16>, %a: tensor<33x128xf32>, %b: tensor<2x301x128xbf16>, %d: tensor<33xf32>, %h: tensor<2x33x128xf32>, %r: tensor<2x301xi32>, %dy: tensor<2x301x33xbf16>)
    -> (tensor<2x301x33xbf16>, tensor<2x301x33xbf16>, tensor<33x128xf32>, tensor<2x301x128xbf16>, tensor<2x301x128xbf16>, tensor<33xf32>, tensor<2x301x33xbf16>, tensor<33xf32>, tensor<2x33x128xf32>) {
  %0:9 = heddle.selective_scan_grad %u, %u, %a, %b, %b, %dy d(%d : tensor<33xf32>) z(%u : tensor<2x301x33xbf16>) delta_bias(%d : tensor<33xf32>) initial_state(%h : tensor<2x33x128xf32>) reset_ids(%r : tensor<2x301xi32>) dfinal_state(%h : tensor<2x33x128xf32>) {delta_softplus, reverse}
    : tensor<2x301x33xbf16>, tensor<2x301x33xbf16>, tensor<33x128xf32>, tensor<2x301x128xbf16>, tensor<2x301x128xbf16>, tensor<2x301x33xbf16>
    -> (tensor<2x301x33xbf16>, tensor<2x301x33xbf16>, tensor<33x128xf32>, tensor<2x301x128xbf16>, tensor<2x301x128xbf16>, d tensor<33xf32>, z tensor<2x301x33xbf16>, delta_bias tensor<33xf32>, initial_state tensor<2x33x128xf32>)
  return %0#0, %0#1, %0#2, %0#3, %0#4, %0#5, %0#6, %0#7, %0#8 : tensor<2x301x33xbf16>, tensor<2x301x33xbf16>, tensor<33x128xf32>, tensor<2x301x128xbf16>, tensor<2x301x128xbf16>, tensor<33xf32>, tensor<2x301x33xbf16>, tensor<33xf32>, tensor<2x33x128xf32>
}
func.func @gradient_256(%u: tensor<2x199x32xf32>, %a: tensor<32x256xf32>, %b: tensor<2x199x256xf32>, %d: tensor<32xf32>, %h: tensor<2x32x256xf32>, %r: tensor<2x199xi32>, %dy: tensor<2x199x32xf32>)
    -> (tensor<2x199x32xf32>, tensor<2x199x32xf32>, tensor<32x256xf32>, tensor<2x199x256xf32>, tensor<2x199x256xf32>, tensor<32xf32>, tensor<2x199x32xf32>, tensor<32xf32>, tensor<2x32x256xf32>) {
  %0:9 = heddle.selective_scan_grad %u, %u, %a, %b, %b, %dy d(%d : tensor<32xf32>) z(%u : tensor<2x199x32xf32>) delta_bias(%d : tensor<32xf32>) initial_state(%h : tensor<2x32x256xf32>) reset_ids(%r : tensor<2x199xi32>) dfinal_state(%h : tensor<2x32x256xf32>) {delta_softplus}
    : tensor<2x199x32xf32>, tensor<2x199x32xf32>, tensor<32x256xf32>, tensor<2x199x256xf32>, tensor<2x199x256xf32>, tensor<2x199x32xf32>
    -> (tensor<2x199x32xf32>, tensor<2x199x32xf32>, tensor<32x256xf32>, tensor<2x199x256xf32>, tensor<2x199x256xf32>, d tensor<32xf32>, z tensor<2x199x32xf32>, delta_bias tensor<32xf32>, initial_state tensor<2x32x256xf32>)
  return %0#0, %0#1, %0#2, %0#3, %0#4, %0#5, %0#6, %0#7, %0#8 : tensor<2x199x32xf32>, tensor<2x199x32xf32>, tensor<32x256xf32>, tensor<2x199x256xf32>, tensor<2x199x256xf32>, tensor<32xf32>, tensor<2x199x32xf32>, tensor<32xf32>, tensor<2x32x256xf32>
}
