// RUN: heddle-opt %s --heddle-collapse-reductions --split-input-file | FileCheck %s

// A weight gradient sums over batch and time: one loop of 6.
// CHECK-LABEL: func.func @batch_and_time_become_one_loop
// CHECK-DAG: tensor.collapse_shape %arg0 {{\[}}[0, 1], [2]] : tensor<2x3x4xf32> into tensor<6x4xf32>
// CHECK-DAG: tensor.collapse_shape %arg1 {{\[}}[0, 1], [2]] : tensor<2x3x5xf32> into tensor<6x5xf32>
// CHECK: linalg.generic
// CHECK-SAME: iterator_types = ["parallel", "parallel", "reduction"]
func.func @batch_and_time_become_one_loop(%x: tensor<2x3x4xf32>, %dy: tensor<2x3x5xf32>, %zero: tensor<4x5xf32>) -> tensor<4x5xf32> {
  %0 = linalg.generic {indexing_maps = [affine_map<(k, n, b, t) -> (b, t, k)>, affine_map<(k, n, b, t) -> (b, t, n)>, affine_map<(k, n, b, t) -> (k, n)>],
      iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
      ins(%x, %dy : tensor<2x3x4xf32>, tensor<2x3x5xf32>) outs(%zero : tensor<4x5xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %1 = arith.mulf %a, %b : f32
    %2 = arith.addf %c, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<4x5xf32>
  return %0 : tensor<4x5xf32>
}

// -----

// One operand lacks b, the other has it elsewhere.
// CHECK-LABEL: func.func @loops_that_lie_apart_stay
// CHECK-NOT: tensor.collapse_shape
// CHECK: return
func.func @loops_that_lie_apart_stay(%x: tensor<3x4xf32>, %dy: tensor<3x5x2xf32>, %zero: tensor<4x5xf32>) -> tensor<4x5xf32> {
  %0 = linalg.generic {indexing_maps = [affine_map<(k, n, b, t) -> (t, k)>, affine_map<(k, n, b, t) -> (t, n, b)>, affine_map<(k, n, b, t) -> (k, n)>],
      iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
      ins(%x, %dy : tensor<3x4xf32>, tensor<3x5x2xf32>) outs(%zero : tensor<4x5xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %1 = arith.mulf %a, %b : f32
    %2 = arith.addf %c, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<4x5xf32>
  return %0 : tensor<4x5xf32>
}

// -----

// x is computed where it is used, from what is in memory: no view is made of it.
// CHECK-LABEL: func.func @loops_of_recomputed_operands_stay
// CHECK-NOT: tensor.collapse_shape
// CHECK: return
func.func @loops_of_recomputed_operands_stay(%x: tensor<2x3x4xf32>, %dy: tensor<2x3x5xf32>, %zero: tensor<4x5xf32>, %e: tensor<2x3x4xf32>) -> tensor<4x5xf32> {
  %h = linalg.generic {indexing_maps = [affine_map<(b, t, k) -> (b, t, k)>, affine_map<(b, t, k) -> (b, t, k)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x : tensor<2x3x4xf32>) outs(%e : tensor<2x3x4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %1 = math.tanh %a : f32
    linalg.yield %1 : f32
  } -> tensor<2x3x4xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(k, n, b, t) -> (b, t, k)>, affine_map<(k, n, b, t) -> (b, t, n)>, affine_map<(k, n, b, t) -> (k, n)>],
      iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
      ins(%h, %dy : tensor<2x3x4xf32>, tensor<2x3x5xf32>) outs(%zero : tensor<4x5xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %1 = arith.mulf %a, %b : f32
    %2 = arith.addf %c, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<4x5xf32>
  return %0 : tensor<4x5xf32>
}
