// RUN: heddle-opt %s --heddle-decompose-scan-grad --split-input-file | FileCheck %s

// The cotangents are a scan the other way round, with the decay of a step later.
// CHECK-LABEL: func.func @a_varying_decay
// CHECK-NOT: linear_scan_grad
// CHECK: tensor.concat dim(1)
// CHECK: heddle.linear_scan {{.*}} {reverse}
// CHECK: linalg.generic
// CHECK-NOT: linear_scan_grad
// CHECK: return
func.func @a_varying_decay(%a: tensor<2x5x3xf32>, %h: tensor<2x5x3xf32>, %dh: tensor<2x5x3xf32>)
    -> (tensor<2x5x3xf32>, tensor<2x5x3xf32>) {
  %da, %db = heddle.linear_scan_grad %a, %h, %dh
    : tensor<2x5x3xf32>, tensor<2x5x3xf32>, tensor<2x5x3xf32> -> (tensor<2x5x3xf32>, tensor<2x5x3xf32>)
  return %da, %db : tensor<2x5x3xf32>, tensor<2x5x3xf32>
}

// -----

// The gradient of a constant is a sum; back in time becomes forward.
// CHECK-LABEL: func.func @a_constant_decay_in_reverse
// CHECK: heddle.linear_scan
// CHECK-NOT: reverse
// CHECK: linalg.generic {{.*}}"reduction"
func.func @a_constant_decay_in_reverse(%a: tensor<3xf32>, %h: tensor<2x5x3xf32>, %dh: tensor<2x5x3xf32>)
    -> (tensor<3xf32>, tensor<2x5x3xf32>) {
  %da, %db = heddle.linear_scan_grad %a, %h, %dh {reverse}
    : tensor<3xf32>, tensor<2x5x3xf32>, tensor<2x5x3xf32> -> (tensor<3xf32>, tensor<2x5x3xf32>)
  return %da, %db : tensor<3xf32>, tensor<2x5x3xf32>
}

// -----

// CHECK-LABEL: func.func @no_steps_pass_the_state
// CHECK-SAME: %[[F:[a-z0-9]+]]: tensor<2x3xf32>)
// CHECK: return %[[F]]
func.func @no_steps_pass_the_state(%a: tensor<2x0x3xf32>, %s: tensor<2x3xf32>, %f: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %da, %db, %ds = heddle.linear_scan_grad %a, %a, %a initial_state(%s : tensor<2x3xf32>) dfinal_state(%f : tensor<2x3xf32>)
    : tensor<2x0x3xf32>, tensor<2x0x3xf32>, tensor<2x0x3xf32>
    -> (tensor<2x0x3xf32>, tensor<2x0x3xf32>, initial_state tensor<2x3xf32>)
  return %ds : tensor<2x3xf32>
}

// -----

// Other gradients stay.
// CHECK-LABEL: func.func @a_selective_gradient_stays
// CHECK: heddle.selective_scan_grad
// CHECK-SAME: -> (tensor<1x5x4xf32>, tensor<1x5x4xf32>, tensor<4x3xf32>, tensor<1x5x3xf32>, tensor<1x5x3xf32>, d tensor<4xf32>)
func.func @a_selective_gradient_stays(%u: tensor<1x5x4xf32>, %a: tensor<4x3xf32>, %b: tensor<1x5x3xf32>, %d: tensor<4xf32>) -> tensor<4xf32> {
  %0:6 = heddle.selective_scan_grad %u, %u, %a, %b, %b, %u d(%d : tensor<4xf32>)
    : tensor<1x5x4xf32>, tensor<1x5x4xf32>, tensor<4x3xf32>, tensor<1x5x3xf32>, tensor<1x5x3xf32>, tensor<1x5x4xf32>
    -> (tensor<1x5x4xf32>, tensor<1x5x4xf32>, tensor<4x3xf32>, tensor<1x5x3xf32>, tensor<1x5x3xf32>, d tensor<4xf32>)
  return %0#5 : tensor<4xf32>
}
