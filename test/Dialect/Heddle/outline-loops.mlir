// RUN: heddle-opt %s -split-input-file -heddle-outline-loops | FileCheck %s
// RUN: heddle-opt %s -split-input-file -heddle-outline-loops=unroll=1 | FileCheck %s --check-prefix=ALL

// CHECK-LABEL: func.func @many_layers_are_one_launch(
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>, %[[W:.*]]: tensor<33x4xf32>
// CHECK: %[[R:.*]]:2 = heddle.launch @many_layers_are_one_launch_loop(%[[X]], %[[W]])
// CHECK: return %[[R]]#0, %[[R]]#1
// CHECK: func.func private @many_layers_are_one_launch_loop_body(
// CHECK-SAME: %[[H:.*]]: tensor<4xf32> {heddle.donated}, %[[S:.*]]: tensor<4xf32>)
// CHECK-SAME: attributes {heddle.loop_state = 1 : i64}
// CHECK: %[[Y:.*]] = arith.addf %[[H]], %[[S]]
// CHECK: return %[[Y]], %[[H]]
// CHECK: func.func private @many_layers_are_one_launch_loop(tensor<4xf32>, tensor<33x4xf32>) -> (tensor<4xf32>, tensor<33x4xf32>)
// CHECK-SAME: heddle.in_place = [array<i64: 0>, array<i64>]
// CHECK-SAME: heddle.loop_body = @many_layers_are_one_launch_loop_body
// CHECK-SAME: heddle.loop_carried = 1 : i64
// CHECK-SAME: heddle.loop_reverse
// CHECK-SAME: heddle.loop_stacked = 1 : i64
// CHECK-SAME: heddle.loop_trips = 33 : i64
func.func @many_layers_are_one_launch(%x: tensor<4xf32>, %w: tensor<33x4xf32>) -> (tensor<4xf32>, tensor<33x4xf32>) {
  %r:2 = heddle.layer_scan carried(%h = %x) stacked(%s = %w) reverse
      : (tensor<4xf32>, tensor<33x4xf32>) -> (tensor<4xf32>, tensor<33x4xf32>) {
    %y = arith.addf %h, %s : tensor<4xf32>
    heddle.yield %y, %h : tensor<4xf32>, tensor<4xf32>
  }
  return %r#0, %r#1 : tensor<4xf32>, tensor<33x4xf32>
}

// -----

// CHECK-LABEL: func.func @few_layers_stay
// CHECK: heddle.layer_scan
// ALL-LABEL: func.func @few_layers_stay
// ALL: heddle.launch @few_layers_stay_loop
func.func @few_layers_stay(%x: tensor<4xf32>, %w: tensor<32x4xf32>) -> tensor<4xf32> {
  %r = heddle.layer_scan carried(%h = %x) stacked(%s = %w)
      : (tensor<4xf32>, tensor<32x4xf32>) -> tensor<4xf32> {
    %y = arith.addf %h, %s : tensor<4xf32>
    heddle.yield %y : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

// -----

// A value that is the same number everywhere is written for the loop to carry.
// CHECK-LABEL: func.func @splats_go_to_memory
// CHECK: %[[ONES:.*]] = linalg.generic
// CHECK: heddle.launch @splats_go_to_memory_loop(%[[ONES]],
func.func @splats_go_to_memory(%w: tensor<40x4xf32>) -> tensor<4xf32> {
  %one = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %x = linalg.fill ins(%one : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %r = heddle.layer_scan carried(%h = %x) stacked(%s = %w)
      : (tensor<4xf32>, tensor<40x4xf32>) -> tensor<4xf32> {
    %y = arith.addf %h, %s : tensor<4xf32>
    heddle.yield %y : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

// -----

// The loop in the body is a loop as well.
// CHECK-LABEL: func.func @loops_nest
// CHECK: heddle.launch @loops_nest_loop(
// CHECK: func.func private @loops_nest_loop_body(
// CHECK: heddle.launch @loops_nest_loop_body_loop(
// CHECK: func.func private @loops_nest_loop_body_loop_body(
func.func @loops_nest(%x: tensor<4xf32>, %w: tensor<40x50x4xf32>) -> tensor<4xf32> {
  %r = heddle.layer_scan carried(%h = %x) stacked(%s = %w)
      : (tensor<4xf32>, tensor<40x50x4xf32>) -> tensor<4xf32> {
    %q = heddle.layer_scan carried(%g = %h) stacked(%t = %s)
        : (tensor<4xf32>, tensor<50x4xf32>) -> tensor<4xf32> {
      %y = arith.addf %g, %t : tensor<4xf32>
      heddle.yield %y : tensor<4xf32>
    }
    heddle.yield %q : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}
