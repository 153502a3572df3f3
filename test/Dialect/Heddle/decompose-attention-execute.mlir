// The decomposition computes what the op says. Expected values are closed
// forms, to the digits that f32 prints.

// RUN: heddle-opt %s --heddle-decompose-attention \
// RUN:   --one-shot-bufferize="bufferize-function-boundaries" \
// RUN:   --convert-linalg-to-loops --expand-strided-metadata --lower-affine \
// RUN:   --convert-scf-to-cf --convert-math-to-llvm --convert-math-to-libm --convert-to-llvm \
// RUN:   --reconcile-unrealized-casts \
// RUN: | mlir-runner -e main --entry-point-result=void \
// RUN:   --shared-libs=%llvm_lib/libmlir_runner_utils.so,%llvm_lib/libmlir_c_runner_utils.so \
// RUN: | FileCheck %s
// REQUIRES: mlir-runner

func.func private @printMemrefF32(tensor<*xf32>)

// Rows 0 to 2 see no key: output 0, lse -inf.
// CHECK: rank = 1 offset = 0 sizes = [5]
// CHECK-NEXT: [0, 0, 0, 10, 10.0005]
// CHECK: rank = 1 offset = 0 sizes = [5]
// CHECK-NEXT: [-inf, -inf, -inf, 4, 5.00005]
func.func @more_queries_than_keys_lower_right() {
  %q = arith.constant dense<[[[[1.0]], [[2.0]], [[3.0]], [[4.0]], [[5.0]]]]> : tensor<1x5x1x1xf32>
  %k = arith.constant dense<[[[[1.0]], [[-1.0]]]]> : tensor<1x2x1x1xf32>
  %v = arith.constant dense<[[[[10.0]], [[20.0]]]]> : tensor<1x2x1x1xf32>
  %o, %lse = heddle.attention %q, %k, %v {mask = #heddle.mask<causal_lower_right>, scale = 1.0}
    : tensor<1x5x1x1xf32>, tensor<1x2x1x1xf32>, tensor<1x2x1x1xf32> -> tensor<1x5x1x1xf32>, tensor<1x1x5xf32>
  %c = tensor.collapse_shape %o [[0, 1, 2, 3]] : tensor<1x5x1x1xf32> into tensor<5xf32>
  %cu = tensor.cast %c : tensor<5xf32> to tensor<*xf32>
  call @printMemrefF32(%cu) : (tensor<*xf32>) -> ()
  %l = tensor.collapse_shape %lse [[0, 1, 2]] : tensor<1x1x5xf32> into tensor<5xf32>
  %lu = tensor.cast %l : tensor<5xf32> to tensor<*xf32>
  call @printMemrefF32(%lu) : (tensor<*xf32>) -> ()
  return
}

// Key 1 is NaN and masked for row 0, visible for row 1.
// CHECK: rank = 1 offset = 0 sizes = [2]
// CHECK-NEXT: [10, nan]
func.func @nan_in_a_masked_key_stays_there() {
  %q = arith.constant dense<1.0> : tensor<1x2x1x1xf32>
  %k = arith.constant dense<[[[[1.0]], [[0x7FC00000]]]]> : tensor<1x2x1x1xf32>
  %v = arith.constant dense<[[[[10.0]], [[0x7FC00000]]]]> : tensor<1x2x1x1xf32>
  %o = heddle.attention %q, %k, %v {mask = #heddle.mask<causal>}
    : tensor<1x2x1x1xf32>, tensor<1x2x1x1xf32>, tensor<1x2x1x1xf32> -> tensor<1x2x1x1xf32>
  %c = tensor.collapse_shape %o [[0, 1, 2, 3]] : tensor<1x2x1x1xf32> into tensor<2xf32>
  %cu = tensor.cast %c : tensor<2xf32> to tensor<*xf32>
  call @printMemrefF32(%cu) : (tensor<*xf32>) -> ()
  return
}

// Two query heads per key head, contiguous: heads 0, 1 read key head 0. With
// scale 0 every head averages its keys, and a sink of 0 counts as one key more
// with value 0: (1+3)/3, (1+3)/3, (5+7)/3, (5+7)/3. Layout bhsd.
// CHECK: rank = 1 offset = 0 sizes = [4]
// CHECK-NEXT: [1.33333, 1.33333, 4, 4]
// CHECK: rank = 1 offset = 0 sizes = [4]
// CHECK-NEXT: [1.09861, 1.09861, 1.09861, 1.09861]
func.func @groups_are_contiguous_and_sinks_join_the_denominator() {
  %q = arith.constant dense<1.0> : tensor<1x4x1x1xf32>
  %v = arith.constant dense<[[[[1.0], [3.0]], [[5.0], [7.0]]]]> : tensor<1x2x2x1xf32>
  %s = arith.constant dense<0.0> : tensor<4xf32>
  %o, %lse = heddle.attention %q, %v, %v sinks(%s : tensor<4xf32>) layout = bhsd {scale = 0.0}
    : tensor<1x4x1x1xf32>, tensor<1x2x2x1xf32>, tensor<1x2x2x1xf32> -> tensor<1x4x1x1xf32>, tensor<1x4x1xf32>
  %c = tensor.collapse_shape %o [[0, 1, 2, 3]] : tensor<1x4x1x1xf32> into tensor<4xf32>
  %cu = tensor.cast %c : tensor<4xf32> to tensor<*xf32>
  call @printMemrefF32(%cu) : (tensor<*xf32>) -> ()
  %l = tensor.collapse_shape %lse [[0, 1, 2]] : tensor<1x4x1xf32> into tensor<4xf32>
  %lu = tensor.cast %l : tensor<4xf32> to tensor<*xf32>
  call @printMemrefF32(%lu) : (tensor<*xf32>) -> ()
  return
}

// Scale 0, so that a row's output is the mean of the keys that it sees; values
// are powers of two. Union of window<0, 1> and j = 0 (an affine set), cut by
// key_lengths 3 and by segments {0, 1} and {2, 3}:
// rows 0, 1 see keys 0, 1 of their segment; row 2 sees 2 (3 is beyond the
// length); row 3 sees nothing.
// CHECK: rank = 1 offset = 0 sizes = [4]
// CHECK-NEXT: [1.5, 1.5, 4, 0]
func.func @masks_intersect() {
  %q = arith.constant dense<1.0> : tensor<1x4x1x1xf32>
  %v = arith.constant dense<[[[[1.0]], [[2.0]], [[4.0]], [[8.0]]]]> : tensor<1x4x1x1xf32>
  %seg = arith.constant dense<[[0, 0, 1, 1]]> : tensor<1x4xi32>
  %len = arith.constant dense<3> : tensor<1xi32>
  %o = heddle.attention %q, %v, %v query_segments(%seg : tensor<1x4xi32>)
    key_segments(%seg : tensor<1x4xi32>) key_lengths(%len : tensor<1xi32>)
    {scale = 0.0, mask = #heddle.mask<union<window<0, 1>, affine_set<"(i, j) : (j == 0)">>>}
    : tensor<1x4x1x1xf32>, tensor<1x4x1x1xf32>, tensor<1x4x1x1xf32> -> tensor<1x4x1x1xf32>
  %c = tensor.collapse_shape %o [[0, 1, 2, 3]] : tensor<1x4x1x1xf32> into tensor<4xf32>
  %cu = tensor.cast %c : tensor<4xf32> to tensor<*xf32>
  call @printMemrefF32(%cu) : (tensor<*xf32>) -> ()
  return
}

// The score region sees positions, bias comes after it: score 100 * (j == i) in
// effect picks key i; a bias of -inf at key 1 leaves row 1 nothing.
// CHECK: rank = 1 offset = 0 sizes = [2]
// CHECK-NEXT: [1, 1]
func.func @order_is_score_region_then_bias() {
  %q = arith.constant dense<1.0> : tensor<1x2x1x1xf32>
  %v = arith.constant dense<[[[[1.0]], [[2.0]]]]> : tensor<1x2x1x1xf32>
  %bias = arith.constant dense<[[[[0.0, 0xFF800000]]]]> : tensor<1x1x1x2xf32>
  %o = heddle.attention %q, %v, %v bias(%bias : tensor<1x1x1x2xf32>) score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
    %hundred = arith.constant 100.0 : f32
    %zero = arith.constant 0.0 : f32
    %same = arith.cmpi eq, %i, %j : index
    %r = arith.select %same, %hundred, %zero : f32
    heddle.yield %r : f32
  } : tensor<1x2x1x1xf32>, tensor<1x2x1x1xf32>, tensor<1x2x1x1xf32> -> tensor<1x2x1x1xf32>
  %c = tensor.collapse_shape %o [[0, 1, 2, 3]] : tensor<1x2x1x1xf32> into tensor<2xf32>
  %cu = tensor.cast %c : tensor<2xf32> to tensor<*xf32>
  call @printMemrefF32(%cu) : (tensor<*xf32>) -> ()
  return
}

// The lowest finite bias masks as -inf does: row 0 sees key 0, row 1 nothing.
// CHECK: rank = 1 offset = 0 sizes = [2]
// CHECK-NEXT: [1, 0]
func.func @lowest_finite_bias_masks() {
  %q = arith.constant dense<1.0> : tensor<1x2x1x1xf32>
  %v = arith.constant dense<[[[[1.0]], [[2.0]]]]> : tensor<1x2x1x1xf32>
  %bias = arith.constant dense<[[[[0.0, 0xFF7FFFFF], [0xFF7FFFFF, 0xFF7FFFFF]]]]> : tensor<1x1x2x2xf32>
  %o = heddle.attention %q, %v, %v bias(%bias : tensor<1x1x2x2xf32>)
    : tensor<1x2x1x1xf32>, tensor<1x2x1x1xf32>, tensor<1x2x1x1xf32> -> tensor<1x2x1x1xf32>
  %c = tensor.collapse_shape %o [[0, 1, 2, 3]] : tensor<1x2x1x1xf32> into tensor<2xf32>
  %cu = tensor.cast %c : tensor<2xf32> to tensor<*xf32>
  call @printMemrefF32(%cu) : (tensor<*xf32>) -> ()
  return
}

func.func @main() {
  call @more_queries_than_keys_lower_right() : () -> ()
  call @nan_in_a_masked_key_stays_there() : () -> ()
  call @groups_are_contiguous_and_sinks_join_the_denominator() : () -> ()
  call @masks_intersect() : () -> ()
  call @order_is_score_region_then_bias() : () -> ()
  call @lowest_finite_bias_masks() : () -> ()
  return
}
