// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-widen-decays,cse))' --split-input-file | FileCheck %s

#id = affine_map<(d0) -> (d0)>

// One op for both, in f64 from the parameter to the decay; the phase stays for
// who else reads it.
// CHECK-LABEL: func.func @functions_before_a_decay_are_one_op_in_f64
// CHECK-SAME: (%[[THETA:.*]]: tensor<8xf32>,
// CHECK: %[[PHASE:.*]] = linalg.generic
// CHECK: math.exp %{{.*}} : f32
// CHECK: %[[A:.*]] = linalg.generic {{.*}} ins(%[[THETA]] : tensor<8xf32>)
// CHECK: arith.extf %{{.*}} : f32 to f64
// CHECK: math.exp %{{.*}} : f64
// CHECK: arith.constant 5.000000e-01 : f64
// CHECK: math.cos %{{.*}} : f64
// CHECK: arith.mulf %{{.*}} : f64
// CHECK: arith.truncf %{{.*}} : f64 to f32
// CHECK: heddle.linear_scan %[[A]],
// CHECK: return %{{.*}}, %[[PHASE]]
func.func @functions_before_a_decay_are_one_op_in_f64(%theta: tensor<8xf32>, %b: tensor<2x5x8xf32>) -> (tensor<2x5x8xf32>, tensor<8xf32>) {
  %e = tensor.empty() : tensor<8xf32>
  %phase = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%theta : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%x: f32, %o: f32):
    %0 = math.exp %x : f32
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%phase : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%x: f32, %o: f32):
    %half = arith.constant 0.5 : f32
    %0 = math.cos %x : f32
    %1 = arith.mulf %0, %half : f32
    linalg.yield %1 : f32
  } -> tensor<8xf32>
  %h = heddle.linear_scan %a, %b : tensor<8xf32>, tensor<2x5x8xf32> -> (tensor<2x5x8xf32>)
  return %h, %phase : tensor<2x5x8xf32>, tensor<8xf32>
}

// -----

#id = affine_map<(d0) -> (d0)>

// The scan and its gradient read the same decay; a captured value is widened.
// CHECK-LABEL: func.func @a_gradient_reads_the_same_decay
// CHECK-SAME: %[[S:[a-z0-9]+]]: f32
// CHECK: %[[A:.*]] = linalg.generic
// CHECK: arith.extf %[[S]] : f32 to f64
// CHECK: arith.truncf
// CHECK: heddle.linear_scan %[[A]],
// CHECK: heddle.linear_scan_grad %[[A]],
func.func @a_gradient_reads_the_same_decay(%nu: tensor<8xf32>, %s: f32, %b: tensor<2x5x8xf32>) -> (tensor<8xf32>, tensor<2x5x8xf32>) {
  %e = tensor.empty() : tensor<8xf32>
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%nu : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%x: f32, %o: f32):
    %0 = math.exp %x : f32
    %1 = arith.mulf %0, %s : f32
    %2 = math.exp %1 : f32
    linalg.yield %2 : f32
  } -> tensor<8xf32>
  %h = heddle.linear_scan %a, %b : tensor<8xf32>, tensor<2x5x8xf32> -> (tensor<2x5x8xf32>)
  %da, %db = heddle.linear_scan_grad %a, %h, %b : tensor<8xf32>, tensor<2x5x8xf32>, tensor<2x5x8xf32> -> (tensor<8xf32>, tensor<2x5x8xf32>)
  return %da, %db : tensor<8xf32>, tensor<2x5x8xf32>
}

// -----

#id = affine_map<(d0, d1, d2) -> (d0, d1, d2)>

// A decay for each step is as large as the scan.
// CHECK-LABEL: func.func @a_decay_that_varies_stays
// CHECK-NOT: f64
// CHECK: return
func.func @a_decay_that_varies_stays(%x: tensor<2x5x8xf32>) -> tensor<2x5x8xf32> {
  %e = tensor.empty() : tensor<2x5x8xf32>
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : tensor<2x5x8xf32>) outs(%e : tensor<2x5x8xf32>) {
  ^bb0(%v: f32, %o: f32):
    %0 = math.exp %v : f32
    linalg.yield %0 : f32
  } -> tensor<2x5x8xf32>
  %h = heddle.linear_scan %a, %x : tensor<2x5x8xf32>, tensor<2x5x8xf32> -> (tensor<2x5x8xf32>)
  return %h : tensor<2x5x8xf32>
}

// -----

#id = affine_map<(d0) -> (d0)>

// CHECK-LABEL: func.func @a_decay_of_16_bits_stays
// CHECK-NOT: f64
// CHECK: return
func.func @a_decay_of_16_bits_stays(%nu: tensor<8xbf16>, %b: tensor<2x5x8xbf16>) -> tensor<2x5x8xbf16> {
  %e = tensor.empty() : tensor<8xbf16>
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%nu : tensor<8xbf16>) outs(%e : tensor<8xbf16>) {
  ^bb0(%x: bf16, %o: bf16):
    %0 = math.exp %x : bf16
    linalg.yield %0 : bf16
  } -> tensor<8xbf16>
  %h = heddle.linear_scan %a, %b : tensor<8xbf16>, tensor<2x5x8xbf16> -> (tensor<2x5x8xbf16>)
  return %h : tensor<2x5x8xbf16>
}
