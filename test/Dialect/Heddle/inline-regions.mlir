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
