// RUN: heddle-opt %s -split-input-file -verify-diagnostics -heddle-inline-calls | FileCheck %s

// Calls within calls; the private functions go.
// CHECK-NOT: @inner
// CHECK-NOT: @outer
// CHECK-LABEL: func.func @calls_are_written_out(
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>)
// CHECK-NOT: call
// CHECK: %[[E:.*]] = math.exp %[[X]]
// CHECK: %[[A:.*]] = arith.addf %[[E]], %[[X]]
// CHECK: %[[F:.*]] = math.exp %[[A]]
// CHECK: return %[[F]], %[[A]]
func.func private @inner(%x: tensor<4xf32>) -> tensor<4xf32> {
  %e = math.exp %x : tensor<4xf32>
  return %e : tensor<4xf32>
}
func.func private @outer(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %e = func.call @inner(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %a = arith.addf %e, %x : tensor<4xf32>
  return %a, %x : tensor<4xf32>, tensor<4xf32>
}
func.func @calls_are_written_out(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %a:2 = func.call @outer(%x) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  %e = func.call @inner(%a#0) : (tensor<4xf32>) -> tensor<4xf32>
  return %e, %a#0 : tensor<4xf32>, tensor<4xf32>
}

// -----

// A public function that is called stays; so does one whose gradient is taken.
// CHECK: func.func @square
// CHECK: func.func private @loss
// CHECK-NEXT: arith.mulf
// CHECK-LABEL: func.func @public_functions_and_losses_stay
// CHECK-NEXT: arith.mulf
// CHECK-NEXT: heddle.value_and_grad @loss
func.func @square(%x: tensor<f32>) -> tensor<f32> {
  %y = arith.mulf %x, %x : tensor<f32>
  return %y : tensor<f32>
}
func.func private @loss(%x: tensor<f32>) -> tensor<f32> {
  %y = func.call @square(%x) : (tensor<f32>) -> tensor<f32>
  return %y : tensor<f32>
}
func.func @public_functions_and_losses_stay(%x: tensor<f32>) -> tensor<f32> {
  %y = func.call @loss(%x) : (tensor<f32>) -> tensor<f32>
  %v, %g = heddle.value_and_grad @loss(%y) wrt [0] : (tensor<f32>) -> (tensor<f32>, tensor<f32>)
  return %g : tensor<f32>
}

// -----

// expected-note @below {{which is this function}}
func.func @ping(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = func.call @pong(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
func.func private @pong(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{expected a function that does not call itself, got @ping; use heddle.layer_scan for work that repeats}}
  %y = func.call @ping(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

func.func private @elsewhere(tensor<4xf32>) -> tensor<4xf32>
func.func @callee_needs_a_body(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{expected @elsewhere to be a func.func of one block, to write it out here}}
  %y = func.call @elsewhere(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
