// RUN: heddle-opt %s -heddle-differentiate -split-input-file | FileCheck %s

// The loss goes, its value and gradient stand in its place.
// CHECK-NOT: @loss
// CHECK-LABEL: func.func @chain_rule(
// CHECK-SAME: %[[X:.*]]: tensor<f32>, %[[Y:.*]]: tensor<f32>)
// CHECK: %[[T:.*]] = math.tanh %[[X]]
// CHECK: %[[V:.*]] = arith.mulf %[[T]], %[[Y]]
// CHECK: %[[ONE:.*]] = arith.constant dense<1.0{{.*}}> : tensor<f32>
// CHECK: %[[DT:.*]] = arith.mulf %[[ONE]], %[[Y]]
// CHECK: %[[TT:.*]] = arith.mulf %[[T]], %[[T]]
// CHECK: %[[S:.*]] = arith.subf %{{.*}}, %[[TT]]
// CHECK: %[[DX:.*]] = arith.mulf %[[DT]], %[[S]]
// CHECK: return %[[V]], %[[DX]]
func.func private @loss(%x: tensor<f32>, %y: tensor<f32>) -> tensor<f32> {
  %a = math.tanh %x : tensor<f32>
  %b = arith.mulf %a, %y : tensor<f32>
  return %b : tensor<f32>
}
func.func @chain_rule(%x: tensor<f32>, %y: tensor<f32>)
    -> (tensor<f32>, tensor<f32>) {
  %v, %g = heddle.value_and_grad @loss(%x, %y) wrt [0]
    : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
  return %v, %g : tensor<f32>, tensor<f32>
}

// -----

// A public loss stays. What the value does not depend on has the gradient zero.
// CHECK-LABEL: func.func @constant_loss
func.func @constant_loss(%x: tensor<2xf32>) -> tensor<f32> {
  %c = arith.constant dense<3.0> : tensor<f32>
  return %c : tensor<f32>
}
// CHECK-LABEL: func.func @no_path_gives_zeros
// CHECK: %[[Z:.*]] = arith.constant dense<0.0{{.*}}> : tensor<2xf32>
// CHECK: return %[[Z]]
func.func @no_path_gives_zeros(%x: tensor<2xf32>) -> tensor<2xf32> {
  %v, %g = heddle.value_and_grad @constant_loss(%x) wrt [0]
    : (tensor<2xf32>) -> (tensor<f32>, tensor<2xf32>)
  return %g : tensor<2xf32>
}

// -----

// One argument twice: the gradients are those of the loss's own arguments.
// CHECK-LABEL: func.func @same_value_twice(
// CHECK-SAME: %[[X:.*]]: tensor<f32>)
// CHECK: %[[ONE:.*]] = arith.constant
// CHECK: %[[N:.*]] = arith.negf %[[ONE]]
// CHECK: return %[[ONE]], %[[N]]
func.func private @difference(%x: tensor<f32>, %y: tensor<f32>) -> tensor<f32> {
  %d = arith.subf %x, %y : tensor<f32>
  return %d : tensor<f32>
}
func.func @same_value_twice(%x: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  %v, %g0, %g1 = heddle.value_and_grad @difference(%x, %x) wrt [0, 1]
    : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<f32>)
  return %g0, %g1 : tensor<f32>, tensor<f32>
}

// -----

// Contributions of bf16 values are summed in f32 and rounded once; the gradient
// of a cast parameter is never rounded.
// CHECK-LABEL: func.func @cast_parameters_get_f32_gradients(
// CHECK: %[[L:.*]] = arith.extf %[[L16:.*]] : tensor<bf16> to tensor<f32>
// CHECK: %[[R:.*]] = arith.extf %[[R16:.*]] : tensor<bf16> to tensor<f32>
// CHECK: %[[S:.*]] = arith.addf %[[L]], %[[R]] : tensor<f32>
// CHECK-NOT: arith.extf
// CHECK: return %[[S]] : tensor<f32>
func.func private @squared(%x: tensor<f32>) -> tensor<bf16> {
  %h = arith.truncf %x : tensor<f32> to tensor<bf16>
  %y = arith.mulf %h, %h : tensor<bf16>
  return %y : tensor<bf16>
}
func.func @cast_parameters_get_f32_gradients(%x: tensor<f32>) -> tensor<f32> {
  %v, %g = heddle.value_and_grad @squared(%x) wrt [0]
    : (tensor<f32>) -> (tensor<bf16>, tensor<f32>)
  return %g : tensor<f32>
}

// -----

// Checkpoints are differentiated through.
// CHECK-LABEL: func.func @through_a_checkpoint
// CHECK-NOT: heddle.checkpoint
// CHECK: arith.mulf
func.func private @remat(%x: tensor<f32>) -> tensor<f32> {
  %y = heddle.checkpoint policy<none> (%a = %x) : (tensor<f32>) -> tensor<f32> {
    %e = math.exp %a : tensor<f32>
    heddle.yield %e : tensor<f32>
  }
  return %y : tensor<f32>
}
func.func @through_a_checkpoint(%x: tensor<f32>) -> tensor<f32> {
  %v, %g = heddle.value_and_grad @remat(%x) wrt [0]
    : (tensor<f32>) -> (tensor<f32>, tensor<f32>)
  return %g : tensor<f32>
}
