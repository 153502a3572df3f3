// RUN: heddle-opt %s --heddle-chunk-scans=threads=108 | FileCheck %s
// RUN: heddle-opt %s --heddle-chunk-scans=chunks=3 | FileCheck %s --check-prefix=THREE
// RUN: heddle-opt %s --heddle-chunk-scans=chunks=1 | FileCheck %s --check-prefix=ONE
// RUN: heddle-opt %s --heddle-chunk-scans="threads=108" --verify-roundtrip -o %t

// ONE-NOT: maps

// Two blocks of 32 channels: two for each multiprocessor are 108 chunks, but chunks have
// 256 steps.
// CHECK-LABEL: func @few_channels
// CHECK: %[[A:.*]], %[[S:.*]] = heddle.linear_scan_maps %arg0, %arg1
// CHECK-SAME: -> (tensor<1x64x64xf32>, tensor<1x64x64xf32>)
// CHECK: %[[H:.*]] = heddle.linear_scan %[[A]], %[[S]] : tensor<1x64x64xf32>, tensor<1x64x64xf32> -> (tensor<1x64x64xf32>)
// CHECK: %[[Y:.*]] = heddle.linear_scan %arg0, %arg1 initial_state(%[[H]] : tensor<1x64x64xf32>)
// CHECK: return %[[Y]]
func.func @few_channels(%a: tensor<1x16384x64xbf16>, %b: tensor<1x16384x64xbf16>) -> tensor<1x16384x64xbf16> {
  %0 = heddle.linear_scan %a, %b : tensor<1x16384x64xbf16>, tensor<1x16384x64xbf16> -> (tensor<1x16384x64xbf16>)
  return %0 : tensor<1x16384x64xbf16>
}

// 54 multiprocessors of 108 get a block: reading twice would cost what it gains.
// CHECK-LABEL: func @half_full
// CHECK-NOT: maps
// THREE-LABEL: func @half_full
// THREE: heddle.linear_scan_maps {{.*}} -> (tensor<2x3x864xf32>, tensor<2x3x864xf32>)
func.func @half_full(%a: tensor<2x16384x864xf32>, %b: tensor<2x16384x864xf32>) -> tensor<2x16384x864xf32> {
  %0 = heddle.linear_scan %a, %b : tensor<2x16384x864xf32>, tensor<2x16384x864xf32> -> (tensor<2x16384x864xf32>)
  return %0 : tensor<2x16384x864xf32>
}

// CHECK-LABEL: func @too_short
// CHECK-NOT: maps
func.func @too_short(%a: tensor<1x2047x64xf32>, %b: tensor<1x2047x64xf32>) -> tensor<1x2047x64xf32> {
  %0 = heddle.linear_scan %a, %b : tensor<1x2047x64xf32>, tensor<1x2047x64xf32> -> (tensor<1x2047x64xf32>)
  return %0 : tensor<1x2047x64xf32>
}

// A prime length: 8 chunks would be 257 steps, rounded up to 272.
// CHECK-LABEL: func @prime_length
// CHECK: linear_scan_maps {{.*}} {reverse} {{.*}} -> (tensor<1x8x64xf32>, tensor<1x8x64xf32>)
// CHECK: linear_scan {{.*}} {reverse} : tensor<1x8x64xf32>, tensor<1x8x64xf32>
// Three chunks of 688 steps.
// THREE-LABEL: func @prime_length
// THREE: linear_scan_maps {{.*}} -> (tensor<1x3x64xf32>, tensor<1x3x64xf32>)
func.func @prime_length(%a: tensor<1x2053x64xf32>, %b: tensor<1x2053x64xf32>) -> tensor<1x2053x64xf32> {
  %0 = heddle.linear_scan %a, %b {reverse} : tensor<1x2053x64xf32>, tensor<1x2053x64xf32> -> (tensor<1x2053x64xf32>)
  return %0 : tensor<1x2053x64xf32>
}

// Of 40 steps three chunks of 14 would be, but multiples of 16: 16, 16 and 8. Of 32 steps
// two chunks remain, of 16 one.
// THREE-LABEL: func @no_chunk_is_empty
// THREE: linear_scan_maps {{.*}} -> (tensor<1x3x8xf32>, tensor<1x3x8xf32>)
// THREE: linear_scan_maps {{.*}} -> (tensor<1x2x8xf32>, tensor<1x2x8xf32>)
// THREE-NOT: maps
// THREE: return
func.func @no_chunk_is_empty(%a: tensor<8xf32>, %b: tensor<1x40x8xf32>, %c: tensor<1x32x8xf32>, %d: tensor<1x16x8xf32>)
    -> (tensor<1x40x8xf32>, tensor<1x32x8xf32>, tensor<1x16x8xf32>) {
  %0 = heddle.linear_scan %a, %b : tensor<8xf32>, tensor<1x40x8xf32> -> (tensor<1x40x8xf32>)
  %1 = heddle.linear_scan %a, %c : tensor<8xf32>, tensor<1x32x8xf32> -> (tensor<1x32x8xf32>)
  %2 = heddle.linear_scan %a, %d : tensor<8xf32>, tensor<1x16x8xf32> -> (tensor<1x16x8xf32>)
  return %0, %1, %2 : tensor<1x40x8xf32>, tensor<1x32x8xf32>, tensor<1x16x8xf32>
}

// Segments end in the maps of chunks too, as NaN decays.
// CHECK-LABEL: func @complex_with_states_and_resets
// CHECK: %[[M:.*]], %[[S:.*]], %[[MI:.*]], %[[SI:.*]] = heddle.linear_scan_maps %arg0, %arg1 imag(%arg2, %arg3 : tensor<64xf32>, tensor<2x4096x64xf32>) reset_ids(%arg6 : tensor<2x4096xi32>)
// CHECK: %[[H:.*]], %[[HI:.*]] = heddle.linear_scan %[[M]], %[[S]] imag(%[[MI]], %[[SI]] : {{.*}}) initial_state(%arg4 : tensor<2x64xf32>) initial_state_imag(%arg5 : tensor<2x64xf32>) {nan_resets}
// CHECK: heddle.linear_scan %arg0, %arg1 imag(%arg2, %arg3 : {{.*}}) initial_state(%[[H]] : tensor<2x16x64xf32>) initial_state_imag(%[[HI]] : tensor<2x16x64xf32>) reset_ids(%arg6 : tensor<2x4096xi32>) :
// CHECK-SAME: final tensor<2x64xf32>, final_imag tensor<2x64xf32>)
func.func @complex_with_states_and_resets(%a: tensor<64xf32>, %b: tensor<2x4096x64xf32>, %ai: tensor<64xf32>, %bi: tensor<2x4096x64xf32>, %s: tensor<2x64xf32>, %si: tensor<2x64xf32>, %r: tensor<2x4096xi32>)
    -> (tensor<2x4096x64xf32>, tensor<2x4096x64xf32>, tensor<2x64xf32>, tensor<2x64xf32>) {
  %0:4 = heddle.linear_scan %a, %b imag(%ai, %bi : tensor<64xf32>, tensor<2x4096x64xf32>) initial_state(%s : tensor<2x64xf32>) initial_state_imag(%si : tensor<2x64xf32>) reset_ids(%r : tensor<2x4096xi32>)
    : tensor<64xf32>, tensor<2x4096x64xf32> -> (tensor<2x4096x64xf32>, imag tensor<2x4096x64xf32>, final tensor<2x64xf32>, final_imag tensor<2x64xf32>)
  return %0#0, %0#1, %0#2, %0#3 : tensor<2x4096x64xf32>, tensor<2x4096x64xf32>, tensor<2x64xf32>, tensor<2x64xf32>
}

// The walk of a gradient starts from the cotangent of the final state.
// CHECK-LABEL: func @gradient
// CHECK: %[[M:.*]], %[[S:.*]] = heddle.linear_scan_maps %arg0, %arg2 {gradient, reverse} : tensor<64xf32>
// CHECK: %[[G:.*]] = heddle.linear_scan %[[M]], %[[S]] initial_state(%arg4 : tensor<1x64xf32>) : tensor<1x16x64xf32>
// CHECK: heddle.linear_scan_grad %arg0, %arg1, %arg2 initial_state(%arg3 : tensor<1x64xf32>) dfinal_state(%[[G]] : tensor<1x16x64xf32>) {reverse}
func.func @gradient(%a: tensor<64xf32>, %h: tensor<1x4096x64xf32>, %dh: tensor<1x4096x64xf32>, %s: tensor<1x64xf32>, %g: tensor<1x64xf32>)
    -> (tensor<64xf32>, tensor<1x4096x64xf32>, tensor<1x64xf32>) {
  %0:3 = heddle.linear_scan_grad %a, %h, %dh initial_state(%s : tensor<1x64xf32>) dfinal_state(%g : tensor<1x64xf32>) {reverse}
    : tensor<64xf32>, tensor<1x4096x64xf32>, tensor<1x4096x64xf32> -> (tensor<64xf32>, tensor<1x4096x64xf32>, initial_state tensor<1x64xf32>)
  return %0#0, %0#1, %0#2 : tensor<64xf32>, tensor<1x4096x64xf32>, tensor<1x64xf32>
}

// A state of a selective scan is a channel of the linear scan between chunks.
// CHECK-LABEL: func @selective
// CHECK: %[[M:.*]], %[[S:.*]] = heddle.selective_scan_maps %arg0, %arg1, %arg2, %arg3 delta_bias(%arg4 : tensor<64xf32>) {delta_softplus}
// CHECK-SAME: -> tensor<1x8x64x16xf32>, tensor<1x8x64x16xf32>
// CHECK-DAG: %[[MF:.*]] = tensor.collapse_shape %[[M]] {{\[}}[0], [1], [2, 3]]
// CHECK-DAG: %[[SF:.*]] = tensor.collapse_shape %[[S]] {{\[}}[0], [1], [2, 3]]
// CHECK-DAG: %[[F:.*]] = tensor.collapse_shape %arg5 {{\[}}[0], [1, 2]] : tensor<1x64x16xf32> into tensor<1x1024xf32>
// CHECK: %[[H:.*]] = heddle.linear_scan %[[MF]], %[[SF]] initial_state(%[[F]] : tensor<1x1024xf32>)
// CHECK: %[[E:.*]] = tensor.expand_shape %[[H]] {{.*}} into tensor<1x8x64x16xf32>
// CHECK: heddle.selective_scan %arg0, %arg1, %arg2, %arg3, %arg3 delta_bias(%arg4 : tensor<64xf32>) initial_state(%[[E]] : tensor<1x8x64x16xf32>) {delta_softplus}
func.func @selective(%u: tensor<1x1024x64xf32>, %dt: tensor<1x1024x64xf32>, %a: tensor<64x16xf32>, %b: tensor<1x1024x16xf32>, %bias: tensor<64xf32>, %h: tensor<1x64x16xf32>)
    -> (tensor<1x1024x64xf32>, tensor<1x64x16xf32>) {
  %0:2 = heddle.selective_scan %u, %dt, %a, %b, %b delta_bias(%bias : tensor<64xf32>) initial_state(%h : tensor<1x64x16xf32>) {delta_softplus}
    : tensor<1x1024x64xf32>, tensor<1x1024x64xf32>, tensor<64x16xf32>, tensor<1x1024x16xf32>, tensor<1x1024x16xf32> -> tensor<1x1024x64xf32>, tensor<1x64x16xf32>
  return %0#0, %0#1 : tensor<1x1024x64xf32>, tensor<1x64x16xf32>
}

// 64 blocks of 64 channels for 108 multiprocessors.
// CHECK-LABEL: func @selective_that_fills
// CHECK-NOT: maps
func.func @selective_that_fills(%u: tensor<4x16384x1024xf32>, %a: tensor<1024x16xf32>, %b: tensor<4x16384x16xf32>) -> tensor<4x16384x1024xf32> {
  %0 = heddle.selective_scan %u, %u, %a, %b, %b
    : tensor<4x16384x1024xf32>, tensor<4x16384x1024xf32>, tensor<1024x16xf32>, tensor<4x16384x16xf32>, tensor<4x16384x16xf32> -> tensor<4x16384x1024xf32>
  return %0 : tensor<4x16384x1024xf32>
}

// Chunks of a gradient have states from maps forward and cotangents from maps backward; the
// gradient of the initial state is that of the first one.
// CHECK-LABEL: func @selective_gradient
// CHECK: %[[MF:.*]], %[[SF:.*]] = heddle.selective_scan_maps %arg0, %arg1, %arg2, %arg3 delta_bias(%arg5 : tensor<64xf32>) {delta_softplus}
// CHECK: heddle.linear_scan {{.*}} : tensor<1x8x1024xf32>, tensor<1x8x1024xf32>
// CHECK: %[[HF:.*]] = tensor.expand_shape {{.*}} into tensor<1x8x64x16xf32>
// CHECK: %[[MB:.*]], %[[SB:.*]] = heddle.selective_scan_maps %arg7, %arg1, %arg2, %arg3 z(%arg4 : tensor<1x1024x64xf32>) delta_bias(%arg5 : tensor<64xf32>) {delta_softplus, gradient}
// CHECK: heddle.linear_scan {{.*}} {reverse} : tensor<1x8x1024xf32>, tensor<1x8x1024xf32>
// CHECK: %[[HB:.*]] = tensor.expand_shape {{.*}} into tensor<1x8x64x16xf32>
// CHECK: heddle.selective_scan_grad %arg0, {{.*}} initial_state(%[[HF]] : tensor<1x8x64x16xf32>) dfinal_state(%[[HB]] : tensor<1x8x64x16xf32>) {delta_softplus}
// CHECK-SAME: tensor<1x1024x64xf32>
// CHECK: initial_state tensor<1x64x16xf32>
func.func @selective_gradient(%u: tensor<1x1024x64xf32>, %dt: tensor<1x1024x64xf32>, %a: tensor<64x16xf32>, %b: tensor<1x1024x16xf32>, %z: tensor<1x1024x64xf32>, %bias: tensor<64xf32>, %h: tensor<1x64x16xf32>, %dy: tensor<1x1024x64xf32>)
    -> (tensor<1x1024x64xf32>, tensor<64x16xf32>, tensor<1x64x16xf32>) {
  %0:8 = heddle.selective_scan_grad %u, %dt, %a, %b, %b, %dy z(%z : tensor<1x1024x64xf32>) delta_bias(%bias : tensor<64xf32>) initial_state(%h : tensor<1x64x16xf32>) {delta_softplus}
    : tensor<1x1024x64xf32>, tensor<1x1024x64xf32>, tensor<64x16xf32>, tensor<1x1024x16xf32>, tensor<1x1024x16xf32>, tensor<1x1024x64xf32>
    -> (tensor<1x1024x64xf32>, tensor<1x1024x64xf32>, tensor<64x16xf32>, tensor<1x1024x16xf32>, tensor<1x1024x16xf32>, z tensor<1x1024x64xf32>, delta_bias tensor<64xf32>, initial_state tensor<1x64x16xf32>)
  return %0#0, %0#2, %0#7 : tensor<1x1024x64xf32>, tensor<64x16xf32>, tensor<1x64x16xf32>
}

// A gradient takes the states of the scan before it. Chunks of a prime length; segments.
// CHECK-LABEL: func @selective_both
// CHECK: heddle.selective_scan_maps %arg0, %arg0, %arg1, %arg2 reset_ids(%arg3 : tensor<1x1031xi32>) {reverse} {{.*}} -> tensor<1x8x64x16xf32>
// CHECK: heddle.linear_scan {{.*}} {nan_resets, reverse}
// CHECK: %[[H:.*]] = tensor.expand_shape {{.*}} into tensor<1x8x64x16xf32>
// CHECK: heddle.selective_scan %arg0, {{.*}} initial_state(%[[H]] : tensor<1x8x64x16xf32>) {{.*}} {fresh, reverse}
// CHECK-NOT: heddle.selective_scan_maps %arg0,
// CHECK: heddle.selective_scan_maps {{.*}} reset_ids(%arg3 : tensor<1x1031xi32>) {gradient, reverse}
// CHECK: heddle.linear_scan {{.*}} {nan_resets} : tensor<1x8x1024xf32>
// CHECK: heddle.selective_scan_grad {{.*}} initial_state(%[[H]] : tensor<1x8x64x16xf32>) {{.*}} {fresh, reverse}
func.func @selective_both(%u: tensor<1x1031x64xf32>, %a: tensor<64x16xf32>, %b: tensor<1x1031x16xf32>, %r: tensor<1x1031xi32>)
    -> tensor<64x16xf32> {
  %y = heddle.selective_scan %u, %u, %a, %b, %b reset_ids(%r : tensor<1x1031xi32>) {reverse}
    : tensor<1x1031x64xf32>, tensor<1x1031x64xf32>, tensor<64x16xf32>, tensor<1x1031x16xf32>, tensor<1x1031x16xf32> -> tensor<1x1031x64xf32>
  %0:5 = heddle.selective_scan_grad %u, %u, %a, %b, %b, %y reset_ids(%r : tensor<1x1031xi32>) {reverse}
    : tensor<1x1031x64xf32>, tensor<1x1031x64xf32>, tensor<64x16xf32>, tensor<1x1031x16xf32>, tensor<1x1031x16xf32>, tensor<1x1031x64xf32>
    -> (tensor<1x1031x64xf32>, tensor<1x1031x64xf32>, tensor<64x16xf32>, tensor<1x1031x16xf32>, tensor<1x1031x16xf32>)
  return %0#2 : tensor<64x16xf32>
}

// Gradients of other scans do not: one of an initial state, one of another function.
// CHECK-LABEL: func @states_of_other_scans
// CHECK-COUNT-2: heddle.selective_scan_maps %arg0, %arg0, %arg1, %arg2 :
func.func @states_of_other_scans(%u: tensor<1x1024x64xf32>, %a: tensor<64x16xf32>, %b: tensor<1x1024x16xf32>, %h: tensor<1x64x16xf32>)
    -> (tensor<1x1024x64xf32>, tensor<64x16xf32>) {
  %y = heddle.selective_scan %u, %u, %a, %b, %b
    : tensor<1x1024x64xf32>, tensor<1x1024x64xf32>, tensor<64x16xf32>, tensor<1x1024x16xf32>, tensor<1x1024x16xf32> -> tensor<1x1024x64xf32>
  %0:6 = heddle.selective_scan_grad %u, %u, %a, %b, %b, %y initial_state(%h : tensor<1x64x16xf32>)
    : tensor<1x1024x64xf32>, tensor<1x1024x64xf32>, tensor<64x16xf32>, tensor<1x1024x16xf32>, tensor<1x1024x16xf32>, tensor<1x1024x64xf32>
    -> (tensor<1x1024x64xf32>, tensor<1x1024x64xf32>, tensor<64x16xf32>, tensor<1x1024x16xf32>, tensor<1x1024x16xf32>, initial_state tensor<1x64x16xf32>)
  return %y, %0#2 : tensor<1x1024x64xf32>, tensor<64x16xf32>
}

// 64 blocks for 108 multiprocessors; states that a scan has left.
// CHECK-LABEL: func @gradients_that_stay
// CHECK-NOT: maps
func.func @gradients_that_stay(%u: tensor<4x16384x1024xf32>, %a: tensor<1024x16xf32>, %b: tensor<4x16384x16xf32>, %v: tensor<1x1024x64xf32>, %av: tensor<64x16xf32>, %c: tensor<1x1024x16xf32>, %s: tensor<1x15x64x16xf32>)
    -> (tensor<1024x16xf32>, tensor<64x16xf32>) {
  %0:5 = heddle.selective_scan_grad %u, %u, %a, %b, %b, %u
    : tensor<4x16384x1024xf32>, tensor<4x16384x1024xf32>, tensor<1024x16xf32>, tensor<4x16384x16xf32>, tensor<4x16384x16xf32>, tensor<4x16384x1024xf32>
    -> (tensor<4x16384x1024xf32>, tensor<4x16384x1024xf32>, tensor<1024x16xf32>, tensor<4x16384x16xf32>, tensor<4x16384x16xf32>)
  %1:5 = heddle.selective_scan_grad %v, %v, %av, %c, %c, %v chunk_states(%s : tensor<1x15x64x16xf32>) {chunk = 64}
    : tensor<1x1024x64xf32>, tensor<1x1024x64xf32>, tensor<64x16xf32>, tensor<1x1024x16xf32>, tensor<1x1024x16xf32>, tensor<1x1024x64xf32>
    -> (tensor<1x1024x64xf32>, tensor<1x1024x64xf32>, tensor<64x16xf32>, tensor<1x1024x16xf32>, tensor<1x1024x16xf32>)
  return %0#2, %1#2 : tensor<1024x16xf32>, tensor<64x16xf32>
}
