// RUN: heddle-opt %s --heddle-decompose-ssd="chunk=8" --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @one_state_per_chunk_and_none_per_position
// CHECK-NOT: tensor<2x19x4x5x6xf32>
// CHECK: tensor.pad
// 19 positions are three chunks of 8.
// CHECK: -> tensor<2x3x1x4x5x6xf32>
// CHECK: heddle.linear_scan {{.*}} : tensor<2x3x120xf32>, tensor<2x3x120xf32>
// CHECK-NOT: heddle.ssd
// CHECK: tensor.extract_slice {{.*}} to tensor<2x19x4x6xf32>
func.func @one_state_per_chunk_and_none_per_position(
    %q: tensor<2x19x1x5xf32>, %v: tensor<2x19x4x6xf32>, %a: tensor<2x19x4xf32>)
    -> tensor<2x19x4x6xf32> {
  %o = heddle.ssd %q, %q, %v, %a
    : tensor<2x19x1x5xf32>, tensor<2x19x1x5xf32>, tensor<2x19x4x6xf32>,
      tensor<2x19x4xf32> -> tensor<2x19x4x6xf32>
  return %o : tensor<2x19x4x6xf32>
}

// -----

// CHECK-LABEL: func.func @a_single_chunk_scans_no_states
// CHECK-NOT: heddle.linear_scan {{.*}}x120xf32>
// CHECK-NOT: heddle.ssd
// CHECK-NOT: tensor.pad
// CHECK: return
func.func @a_single_chunk_scans_no_states(
    %q: tensor<2x8x1x5xf32>, %v: tensor<2x8x4x6xf32>, %a: tensor<2x8x4xf32>)
    -> tensor<2x8x4x6xf32> {
  %o = heddle.ssd %q, %q, %v, %a
    : tensor<2x8x1x5xf32>, tensor<2x8x1x5xf32>, tensor<2x8x4x6xf32>,
      tensor<2x8x4xf32> -> tensor<2x8x4x6xf32>
  return %o : tensor<2x8x4x6xf32>
}

// -----

// CHECK-LABEL: func.func @time_runs_back_in_the_scan_too
// CHECK: heddle.linear_scan {{.*}}{reverse}
func.func @time_runs_back_in_the_scan_too(
    %q: tensor<2x16x1x5xf32>, %v: tensor<2x16x1x6xf32>, %a: tensor<2x16x1xf32>)
    -> tensor<2x16x1x6xf32> {
  %o = heddle.ssd %q, %q, %v, %a {reverse}
    : tensor<2x16x1x5xf32>, tensor<2x16x1x5xf32>, tensor<2x16x1x6xf32>,
      tensor<2x16x1xf32> -> tensor<2x16x1x6xf32>
  return %o : tensor<2x16x1x6xf32>
}

// -----

// Length 0 returns the incoming state.
// CHECK-LABEL: func.func @an_empty_sequence
// CHECK-SAME: %[[S:[a-z0-9]+]]: tensor<2x1x5x6xf32>
// CHECK: return %{{.*}}, %[[S]]
func.func @an_empty_sequence(
    %q: tensor<2x0x1x5xf32>, %v: tensor<2x0x1x6xf32>, %a: tensor<2x0x1xf32>,
    %s: tensor<2x1x5x6xf32>) -> (tensor<2x0x1x6xf32>, tensor<2x1x5x6xf32>) {
  %o, %f = heddle.ssd %q, %q, %v, %a initial_state(%s : tensor<2x1x5x6xf32>)
    : tensor<2x0x1x5xf32>, tensor<2x0x1x5xf32>, tensor<2x0x1x6xf32>,
      tensor<2x0x1xf32> -> tensor<2x0x1x6xf32>, tensor<2x1x5x6xf32>
  return %o, %f : tensor<2x0x1x6xf32>, tensor<2x1x5x6xf32>
}
