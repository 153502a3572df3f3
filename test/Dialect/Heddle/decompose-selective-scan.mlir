// RUN: heddle-opt %s --heddle-decompose-selective-scan --split-input-file | FileCheck %s

// Each state of each channel is a channel of a linear scan.
// CHECK-LABEL: func.func @states_become_channels
// CHECK-NOT: selective_scan
// CHECK: math.log1p
// CHECK: heddle.linear_scan {{.*}} initial_state({{.*}} : tensor<2x12xf32>) reset_ids({{.*}} : tensor<2x5xi32>) {reverse}
// CHECK-SAME: tensor<2x5x12xf32>, tensor<2x5x12xf32> -> (tensor<2x5x12xf32>, final tensor<2x12xf32>)
// CHECK: linalg.generic {{.*}}"reduction"
// CHECK: arith.truncf {{.*}} : tensor<2x5x4xf32> to tensor<2x5x4xbf16>
func.func @states_become_channels(%u: tensor<2x5x4xbf16>, %a: tensor<4x3xf32>, %b: tensor<2x5x2x3xbf16>, %c: tensor<2x5x3xbf16>,
    %s: tensor<2x4x3xf32>, %i: tensor<2x5xi32>) -> (tensor<2x5x4xbf16>, tensor<2x4x3xf32>) {
  %y, %f = heddle.selective_scan %u, %u, %a, %b, %c initial_state(%s : tensor<2x4x3xf32>) reset_ids(%i : tensor<2x5xi32>) {delta_softplus, reverse}
    : tensor<2x5x4xbf16>, tensor<2x5x4xbf16>, tensor<4x3xf32>, tensor<2x5x2x3xbf16>, tensor<2x5x3xbf16> -> tensor<2x5x4xbf16>, tensor<2x4x3xf32>
  return %y, %f : tensor<2x5x4xbf16>, tensor<2x4x3xf32>
}

// -----

// CHECK-LABEL: func.func @no_steps_pass_the_state
// CHECK-SAME: %[[S:[a-z0-9]+]]: tensor<2x4x3xf32>)
// CHECK: return %[[S]]
func.func @no_steps_pass_the_state(%u: tensor<2x0x4xf32>, %a: tensor<4x3xf32>, %b: tensor<2x0x3xf32>, %s: tensor<2x4x3xf32>) -> tensor<2x4x3xf32> {
  %y, %f = heddle.selective_scan %u, %u, %a, %b, %b initial_state(%s : tensor<2x4x3xf32>)
    : tensor<2x0x4xf32>, tensor<2x0x4xf32>, tensor<4x3xf32>, tensor<2x0x3xf32>, tensor<2x0x3xf32> -> tensor<2x0x4xf32>, tensor<2x4x3xf32>
  return %f : tensor<2x4x3xf32>
}
