// RUN: heddle-opt %s -heddle-inline-regions | FileCheck %s

// CHECK-LABEL: func.func @checkpoint_is_its_body
// CHECK-NOT: heddle.checkpoint
// CHECK-NOT: heddle.name
// CHECK: %[[R:.*]] = math.exp %arg0
// CHECK: return %[[R]]
func.func @checkpoint_is_its_body(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = heddle.checkpoint policy<full> (%a = %x) : (tensor<4xf32>) -> tensor<4xf32> {
    %e = math.exp %a : tensor<4xf32>
    %n = heddle.name %e "kept" : tensor<4xf32>
    heddle.yield %n : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// CHECK-LABEL: func.func @layers_are_unrolled_over_slices
// CHECK: %[[W0:.*]] = tensor.extract_slice %arg1[0, 0] [1, 4] [1, 1]
// CHECK: %[[H0:.*]] = arith.addf %arg0, %[[W0]]
// CHECK: %[[W1:.*]] = tensor.extract_slice %arg1[1, 0] [1, 4] [1, 1]
// CHECK: %[[H1:.*]] = arith.addf %[[H0]], %[[W1]]
// CHECK: return %[[H1]]
func.func @layers_are_unrolled_over_slices(%x: tensor<4xf32>, %w: tensor<2x4xf32>) -> tensor<4xf32> {
  %y = heddle.layer_scan carried(%h = %x) stacked(%l = %w) : (tensor<4xf32>, tensor<2x4xf32>) -> tensor<4xf32> {
    %s = arith.addf %h, %l : tensor<4xf32>
    heddle.yield %s : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// Outputs of the layers stand by layer, whatever the direction.
// CHECK-LABEL: func.func @outputs_of_layers_are_stacked
// CHECK: %[[W1:.*]] = tensor.extract_slice %arg1[1, 0]
// CHECK: %[[H1:.*]] = arith.addf %arg0, %[[W1]]
// CHECK: %[[E1:.*]] = tensor.expand_shape %[[H1]] {{\[}}[0, 1]]
// CHECK: %[[W0:.*]] = tensor.extract_slice %arg1[0, 0]
// CHECK: %[[H0:.*]] = arith.addf %[[H1]], %[[W0]]
// CHECK: %[[E0:.*]] = tensor.expand_shape %[[H0]]
// CHECK: %[[S:.*]] = tensor.concat dim(0) %[[E0]], %[[E1]]
// CHECK: return %[[H0]], %[[S]]
func.func @outputs_of_layers_are_stacked(%x: tensor<4xf32>, %w: tensor<2x4xf32>) -> (tensor<4xf32>, tensor<2x4xf32>) {
  %y:2 = heddle.layer_scan carried(%h = %x) stacked(%l = %w) reverse : (tensor<4xf32>, tensor<2x4xf32>) -> (tensor<4xf32>, tensor<2x4xf32>) {
    %s = arith.addf %h, %l : tensor<4xf32>
    heddle.yield %s, %s : tensor<4xf32>, tensor<4xf32>
  }
  return %y#0, %y#1 : tensor<4xf32>, tensor<2x4xf32>
}

// A function without a body has nothing to inline.
// CHECK: func.func private @external
func.func private @external(tensor<4xf32>) -> tensor<4xf32>

// What one loop stacks and another one takes apart stays in pieces.
// CHECK-LABEL: func.func @stacks_between_loops_go
// CHECK: %[[E0:.*]] = math.exp %arg0
// CHECK: %[[E1:.*]] = math.exp %[[E0]]
// CHECK-NOT: tensor.extract_slice %{{.*}} : tensor<2x4xf32>
// CHECK: arith.addf %arg0, %[[E1]]
// CHECK: arith.addf %{{.*}}, %[[E0]]
func.func @stacks_between_loops_go(%x: tensor<4xf32>, %ws: tensor<2x1xf32>) -> tensor<4xf32> {
  %last, %all = heddle.layer_scan carried(%h = %x) stacked(%w = %ws)
      : (tensor<4xf32>, tensor<2x1xf32>) -> (tensor<4xf32>, tensor<2x4xf32>) {
    %e = math.exp %h : tensor<4xf32>
    heddle.yield %e, %e : tensor<4xf32>, tensor<4xf32>
  }
  %sum = heddle.layer_scan carried(%h = %x) stacked(%e = %all) reverse
      : (tensor<4xf32>, tensor<2x4xf32>) -> tensor<4xf32> {
    %s = arith.addf %h, %e : tensor<4xf32>
    heddle.yield %s : tensor<4xf32>
  }
  return %sum : tensor<4xf32>
}
