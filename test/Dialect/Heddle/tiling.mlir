// RUN: heddle-opt %s -transform-interpreter -canonicalize -split-input-file -verify-diagnostics | FileCheck %s

// Every operand is sliced along the tiled axes, and the score region counts
// from the start of the whole op.
// CHECK-LABEL: func @tiles_of_batch_heads_and_rows
// CHECK: scf.for %[[B:[^ :]*]] = %c0 to %c4 step %c2
// CHECK: scf.for %[[H:[^ :]*]] =
// CHECK: scf.for %[[I:[^ :]*]] =
// CHECK: tensor.extract_slice %arg0[%[[B]], %[[I]], %[[H]], 0] [2, 4, 1, 16] [1, 1, 1, 1]
// CHECK: tensor.extract_slice %arg1[%[[B]], 0, 0, 0] [2, 12, 1, 16] [1, 1, 1, 1]
// CHECK: tensor.extract_slice %arg2[0, %[[H]], 0, 0] [1, 1, 1, 12] [1, 1, 1, 1]
// CHECK: tensor.extract_slice %arg3[%[[B]]] [2] [1]
// CHECK: heddle.attention
// CHECK: ^bb0(%{{.*}}: f32, %[[TB:[^ :]*]]: index, %{{.*}}: index, %[[TI:[^ :]*]]: index, %[[TJ:[^ :]*]]: index):
// CHECK: %[[ROW:.*]] = arith.addi %[[TI]], %[[I]] : index
// CHECK: arith.cmpi eq, %[[ROW]], %[[TJ]] : index
// CHECK: {mask = #heddle.mask<prefix<7>>} : tensor<2x4x1x16xf32>, tensor<2x12x1x16xf32>, tensor<2x12x1x16xf32> -> tensor<2x4x1x16xf32>, tensor<2x1x4xf32>
// CHECK: tensor.insert_slice %{{.*}} into %{{.*}}[%[[B]], %[[I]], %[[H]], 0] [2, 4, 1, 16] [1, 1, 1, 1]
// CHECK: tensor.insert_slice %{{.*}} into %{{.*}}[%[[B]], %[[H]], %[[I]]] [2, 1, 4] [1, 1, 1]
func.func @tiles_of_batch_heads_and_rows(%q: tensor<4x8x4x16xf32>, %k: tensor<4x12x1x16xf32>,
    %bias: tensor<1x4x1x12xf32>, %len: tensor<4xi32>) -> (tensor<4x8x4x16xf32>, tensor<4x4x8xf32>) {
  %0:2 = heddle.attention %q, %k, %k bias(%bias : tensor<1x4x1x12xf32>) key_lengths(%len : tensor<4xi32>) score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
    %same = arith.cmpi eq, %i, %j : index
    %zero = arith.constant 0.0 : f32
    %r = arith.select %same, %s, %zero : f32
    heddle.yield %r : f32
  } {mask = #heddle.mask<prefix<7>>} : tensor<4x8x4x16xf32>, tensor<4x12x1x16xf32>, tensor<4x12x1x16xf32>
    -> tensor<4x8x4x16xf32>, tensor<4x4x8xf32>
  return %0#0, %0#1 : tensor<4x8x4x16xf32>, tensor<4x4x8xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["heddle.attention"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled, %loops:3 = transform.structured.tile_using_for %op tile_sizes [2, 1, 4]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// A tile of rows would count its rows from 0, which a causal mask cannot see.
func.func @rows_of_a_causal_mask_are_not_tiled(%q: tensor<4x8x4x16xf32>) -> tensor<4x8x4x16xf32> {
  // expected-error @+3 {{faild to tile operation}}
  // expected-error @+2 {{failed to generate tiling loops}}
  // expected-error @+1 {{expected a mask without query positions to tile query rows, got #heddle.mask<causal>; tile batch and heads only}}
  %0 = heddle.attention %q, %q, %q {mask = #heddle.mask<causal>}
    : tensor<4x8x4x16xf32>, tensor<4x8x4x16xf32>, tensor<4x8x4x16xf32> -> tensor<4x8x4x16xf32>
  return %0 : tensor<4x8x4x16xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["heddle.attention"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled, %loop = transform.structured.tile_using_for %op tile_sizes [0, 0, 4]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
