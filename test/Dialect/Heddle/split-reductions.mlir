// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-split-reductions))' --split-input-file | FileCheck %s

#all = affine_map<(d0, d1) -> (d0, d1)>
#cols = affine_map<(d0, d1) -> (d1)>

// Four parts of 512 rows, then a sum of four.

// CHECK: #[[$PART:.*]] = affine_map<(d0, d1, d2) -> (d2 * 512 + d0, d1)>
// CHECK-LABEL: func.func @columns_are_sums_of_parts
// CHECK: %[[P:.*]] = linalg.generic {indexing_maps = [#[[$PART]], {{.*}}], iterator_types = ["reduction", "parallel", "parallel"]}
// CHECK: -> tensor<4x40xf32>
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]} ins(%[[P]] : tensor<4x40xf32>) outs(%{{.*}} : tensor<40xf32>)
func.func @columns_are_sums_of_parts(%x: tensor<2048x40xf32>, %z: tensor<40xf32>) -> tensor<40xf32> {
  %0 = linalg.generic {indexing_maps = [#all, #cols], iterator_types = ["reduction", "parallel"]} ins(%x : tensor<2048x40xf32>) outs(%z : tensor<40xf32>) {
  ^bb0(%a: f32, %s: f32):
    %1 = arith.addf %s, %a : f32
    linalg.yield %1 : f32
  } -> tensor<40xf32>
  return %0 : tensor<40xf32>
}

// -----

#all = affine_map<(d0, d1) -> (d0, d1)>
#cols = affine_map<(d0, d1) -> (d1)>

// 1031 is a prime: the last 7 rows start the sum of the parts.

// CHECK: #[[$TAIL:.*]] = affine_map<(d0, d1) -> (d0 + 1024, d1)>
// CHECK-LABEL: func.func @a_tail_starts_the_sum
// CHECK: %[[T:.*]] = linalg.generic {indexing_maps = [#[[$TAIL]]
// CHECK-SAME: tensor<7xf32>
// CHECK: linalg.generic {{.*}} ins(%{{.*}} : tensor<2x40xf32>) outs(%[[T]] : tensor<40xf32>)
func.func @a_tail_starts_the_sum(%x: tensor<1031x40xf32>, %z: tensor<40xf32>) -> tensor<40xf32> {
  %0 = linalg.generic {indexing_maps = [#all, #cols], iterator_types = ["reduction", "parallel"]} ins(%x : tensor<1031x40xf32>) outs(%z : tensor<40xf32>) {
  ^bb0(%a: f32, %s: f32):
    %1 = arith.addf %s, %a : f32
    linalg.yield %1 : f32
  } -> tensor<40xf32>
  return %0 : tensor<40xf32>
}

// -----

#all = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#none = affine_map<(d0, d1, d2) -> ()>

// Rank 0: one sum per channel first, of parts that the batch gives, then their
// sum.

// CHECK-LABEL: func.func @rank_0_keeps_the_last_axis_first
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "reduction", "parallel"]
// CHECK-SAME: tensor<8x300x64xf32>
// CHECK: -> tensor<8x64xf32>
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]
// CHECK: -> tensor<64xf32>
// CHECK: linalg.generic {{.*}} iterator_types = ["reduction"]
// CHECK: -> tensor<f32>
func.func @rank_0_keeps_the_last_axis_first(%x: tensor<8x300x64xf32>, %z: tensor<f32>) -> tensor<f32> {
  %0 = linalg.generic {indexing_maps = [#all, #none], iterator_types = ["reduction", "reduction", "reduction"]} ins(%x : tensor<8x300x64xf32>) outs(%z : tensor<f32>) {
  ^bb0(%a: f32, %s: f32):
    %1 = arith.mulf %a, %a : f32
    %2 = arith.addf %s, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

#all = affine_map<(d0, d1) -> (d0, d1)>
#cols = affine_map<(d0, d1) -> (d1)>

// CHECK-LABEL: func.func @bf16_sums_are_formed_in_f32
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<9xf32>)
// CHECK: arith.extf {{.*}} : bf16 to f32
// CHECK: arith.addf {{.*}} : f32
// CHECK: arith.truncf {{.*}} : f32 to bf16
// CHECK: return %{{.*}} : tensor<9xbf16>
func.func @bf16_sums_are_formed_in_f32(%x: tensor<8x9xbf16>) -> tensor<9xbf16> {
  %z = arith.constant dense<0.0> : tensor<9xbf16>
  %0 = linalg.generic {indexing_maps = [#all, #cols], iterator_types = ["reduction", "parallel"]} ins(%x : tensor<8x9xbf16>) outs(%z : tensor<9xbf16>) {
  ^bb0(%a: bf16, %s: bf16):
    %1 = arith.addf %s, %a : bf16
    linalg.yield %1 : bf16
  } -> tensor<9xbf16>
  return %0 : tensor<9xbf16>
}

// -----

#all = affine_map<(d0, d1) -> (d0, d1)>
#rows = affine_map<(d0, d1) -> (d0)>

// A statistic that the row itself needs stays one reduction.

// CHECK-LABEL: func.func @statistics_of_rows_stay
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]} ins(%arg0 : tensor<16x2048xf32>) outs(%{{.*}} : tensor<16xf32>)
func.func @statistics_of_rows_stay(%x: tensor<16x2048xf32>, %z: tensor<16xf32>, %e: tensor<16x2048xf32>) -> tensor<16x2048xf32> {
  %0 = linalg.generic {indexing_maps = [#all, #rows], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<16x2048xf32>) outs(%z : tensor<16xf32>) {
  ^bb0(%a: f32, %s: f32):
    %1 = arith.addf %s, %a : f32
    linalg.yield %1 : f32
  } -> tensor<16xf32>
  %2 = linalg.generic {indexing_maps = [#all, #rows, #all], iterator_types = ["parallel", "parallel"]} ins(%x, %0 : tensor<16x2048xf32>, tensor<16xf32>) outs(%e : tensor<16x2048xf32>) {
  ^bb0(%a: f32, %s: f32, %o: f32):
    %1 = arith.divf %a, %s : f32
    linalg.yield %1 : f32
  } -> tensor<16x2048xf32>
  return %2 : tensor<16x2048xf32>
}

// -----

#all = affine_map<(d0, d1) -> (d0, d1)>
#cols = affine_map<(d0, d1) -> (d1)>

// Subtraction is not associative: the order is the program's.

// CHECK-LABEL: func.func @other_steps_stay
// CHECK: linalg.generic {{.*}} ins(%arg0 : tensor<2048x40xf32>) outs(%arg1 : tensor<40xf32>)
func.func @other_steps_stay(%x: tensor<2048x40xf32>, %z: tensor<40xf32>) -> tensor<40xf32> {
  %0 = linalg.generic {indexing_maps = [#all, #cols], iterator_types = ["reduction", "parallel"]} ins(%x : tensor<2048x40xf32>) outs(%z : tensor<40xf32>) {
  ^bb0(%a: f32, %s: f32):
    %1 = arith.subf %s, %a : f32
    linalg.yield %1 : f32
  } -> tensor<40xf32>
  return %0 : tensor<40xf32>
}
