// RUN: heddle-opt %s -heddle-differentiate -canonicalize -split-input-file | FileCheck %s

// Attention without an lse is made with one, and runs once; only the gradients
// that are asked for are results.

// CHECK-LABEL: func.func @step
// CHECK: %[[O:.*]], %[[L:.*]] = heddle.attention %[[Q:.*]], %[[K:.*]], %[[V:.*]] {mask = #heddle.mask<causal>}
// CHECK-NOT: heddle.attention %
// CHECK: %[[DQ:.*]], %[[DV:.*]] = heddle.attention_grad %[[Q]], %[[K]], %[[V]], %[[L]], %{{.*}} out(%[[O]] : tensor<1x5x2x4xf32>) {mask = #heddle.mask<causal>}
// CHECK-SAME: -> d_query tensor<1x5x2x4xf32> d_value tensor<1x5x2x4xf32>
// CHECK: return %{{.*}}, %[[DQ]], %[[DV]]
func.func private @loss(%q: tensor<1x5x2x4xf32>, %k: tensor<1x5x2x4xf32>, %v: tensor<1x5x2x4xf32>) -> tensor<f32> {
  %o = heddle.attention %q, %k, %v {mask = #heddle.mask<causal>} : tensor<1x5x2x4xf32>, tensor<1x5x2x4xf32>, tensor<1x5x2x4xf32> -> tensor<1x5x2x4xf32>
  %z = arith.constant dense<0.0> : tensor<f32>
  %s = linalg.reduce { arith.addf } ins(%o : tensor<1x5x2x4xf32>) outs(%z : tensor<f32>) dimensions = [0, 1, 2, 3]
  return %s : tensor<f32>
}
func.func @step(%q: tensor<1x5x2x4xf32>, %k: tensor<1x5x2x4xf32>, %v: tensor<1x5x2x4xf32>) -> (tensor<f32>, tensor<1x5x2x4xf32>, tensor<1x5x2x4xf32>) {
  %l, %dq, %dv = heddle.value_and_grad @loss(%q, %k, %v) wrt [0, 2]
    : (tensor<1x5x2x4xf32>, tensor<1x5x2x4xf32>, tensor<1x5x2x4xf32>) -> (tensor<f32>, tensor<1x5x2x4xf32>, tensor<1x5x2x4xf32>)
  return %l, %dq, %dv : tensor<f32>, tensor<1x5x2x4xf32>, tensor<1x5x2x4xf32>
}

// -----

// The score region yields its derivative as well; a score that ignores query and
// key has the derivative 0.

// CHECK-LABEL: func.func @squared_and_constant
// CHECK: heddle.attention_grad {{.*}} score {
// CHECK: ^bb0(%{{.*}}: f32, %{{.*}}: index, %{{.*}}: index, %{{.*}}: index, %{{.*}}: index):
// CHECK: heddle.yield %[[C:.*]], %[[ZERO:.*]] : f32, f32
// CHECK: heddle.attention_grad {{.*}} score {
// CHECK: ^bb0(%[[S:.*]]: f32, %{{.*}}: index, %{{.*}}: index, %{{.*}}: index, %{{.*}}: index):
// CHECK: %[[Y:.*]] = arith.mulf %[[S]], %[[S]]
// CHECK: %[[D:.*]] = arith.addf %[[S]], %[[S]]
// CHECK: heddle.yield %[[Y]], %[[D]] : f32, f32
func.func private @loss(%q: tensor<1x5x2x4xf32>) -> tensor<f32> {
  %o = heddle.attention %q, %q, %q score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
    %y = arith.mulf %s, %s : f32
    heddle.yield %y : f32
  } : tensor<1x5x2x4xf32>, tensor<1x5x2x4xf32>, tensor<1x5x2x4xf32> -> tensor<1x5x2x4xf32>
  %p = heddle.attention %q, %q, %o score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
    %one = arith.constant 1.0 : f32
    heddle.yield %one : f32
  } : tensor<1x5x2x4xf32>, tensor<1x5x2x4xf32>, tensor<1x5x2x4xf32> -> tensor<1x5x2x4xf32>
  %z = arith.constant dense<0.0> : tensor<f32>
  %s = linalg.reduce { arith.addf } ins(%p : tensor<1x5x2x4xf32>) outs(%z : tensor<f32>) dimensions = [0, 1, 2, 3]
  return %s : tensor<f32>
}
func.func @squared_and_constant(%q: tensor<1x5x2x4xf32>) -> tensor<1x5x2x4xf32> {
  %l, %dq = heddle.value_and_grad @loss(%q) wrt [0] : (tensor<1x5x2x4xf32>) -> (tensor<f32>, tensor<1x5x2x4xf32>)
  return %dq : tensor<1x5x2x4xf32>
}
