// RUN: heddle-opt %s -split-input-file -heddle-split-attention-grad | FileCheck %s

// d_query leaves the dots of d_out and out for d_key and d_value.

// CHECK-LABEL: func @queries_before_keys
// CHECK: %[[Q:.*]], %[[DOTS:.*]] = heddle.attention_grad {{.*}} out(%{{.*}}) {mask = #heddle.mask<causal>} {{.*}} -> d_query tensor<2x8x4x16xf32> row_dots tensor<2x4x8xf32>
// CHECK: %[[K:.*]], %[[V:.*]] = heddle.attention_grad {{.*}} row_dots(%[[DOTS]] : tensor<2x4x8xf32>) {mask = #heddle.mask<causal>} {{.*}} -> d_key tensor<2x8x4x16xf32> d_value tensor<2x8x4x16xf32>
// CHECK: return %[[Q]], %[[K]], %[[V]]
func.func @queries_before_keys(%q: tensor<2x8x4x16xf32>, %l: tensor<2x4x8xf32>) -> (tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>) {
  %0:3 = heddle.attention_grad %q, %q, %q, %l, %q out(%q : tensor<2x8x4x16xf32>) {mask = #heddle.mask<causal>}
    : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x4x8xf32>, tensor<2x8x4x16xf32>
    -> d_query tensor<2x8x4x16xf32> d_key tensor<2x8x4x16xf32> d_value tensor<2x8x4x16xf32>
  return %0#0, %0#1, %0#2 : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>
}

// -----

// One kernel already: d_value alone needs no dots.

// CHECK-LABEL: func @one_kernel_stays
// CHECK: heddle.attention_grad {{.*}} out(%{{.*}}) : {{.*}} -> d_query tensor<2x8x4x16xf32>{{$}}
// CHECK: heddle.attention_grad {{.*}} out(%{{.*}}) : {{.*}} -> d_value tensor<2x8x4x16xf32>{{$}}
// CHECK-NOT: heddle.attention_grad
func.func @one_kernel_stays(%q: tensor<2x8x4x16xf32>, %l: tensor<2x4x8xf32>) -> (tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>) {
  %0 = heddle.attention_grad %q, %q, %q, %l, %q out(%q : tensor<2x8x4x16xf32>)
    : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x4x8xf32>, tensor<2x8x4x16xf32>
    -> d_query tensor<2x8x4x16xf32>
  %1 = heddle.attention_grad %q, %q, %q, %l, %q out(%q : tensor<2x8x4x16xf32>)
    : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x4x8xf32>, tensor<2x8x4x16xf32>
    -> d_value tensor<2x8x4x16xf32>
  return %0, %1 : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>
}

// -----

// The gradient of sinks is a small sum; nothing else reads them.

// CHECK-LABEL: func @sinks_are_linalg
// CHECK: heddle.attention_grad
// CHECK-NOT: sinks
// CHECK-SAME: -> row_dots tensor<2x4x8xf32>
// CHECK: linalg.generic
// CHECK: math.exp
// CHECK: linalg.generic {{.*}}"reduction"
// CHECK: linalg.generic {{.*}}"reduction"
// CHECK: return %{{.*}} : tensor<4xf32>
func.func @sinks_are_linalg(%q: tensor<2x8x4x16xf32>, %l: tensor<2x4x8xf32>, %s: tensor<4xf32>) -> tensor<4xf32> {
  %0 = heddle.attention_grad %q, %q, %q, %l, %q out(%q : tensor<2x8x4x16xf32>) sinks(%s : tensor<4xf32>)
    : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x4x8xf32>, tensor<2x8x4x16xf32>
    -> d_sinks tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// A bias that all pairs of a head share is summed per query first.

// CHECK-LABEL: func @bias_of_a_head
// CHECK: %[[DOTS:.*]] = heddle.attention_grad {{.*}} -> row_dots tensor<2x4x8xf32>
// CHECK: %[[B:.*]] = heddle.attention_grad {{.*}} row_dots(%[[DOTS]] : tensor<2x4x8xf32>) bias(%{{[^ ]*}} : tensor<1x4x8x1xf32>) {{.*}} -> d_bias tensor<1x4x8x1xf32>
// CHECK: linalg.generic {{.*}}"reduction"
// CHECK: return %{{.*}} : tensor<1x4x1x1xf32>
func.func @bias_of_a_head(%q: tensor<2x8x4x16xf32>, %l: tensor<2x4x8xf32>, %b: tensor<1x4x1x1xf32>) -> tensor<1x4x1x1xf32> {
  %0 = heddle.attention_grad %q, %q, %q, %l, %q out(%q : tensor<2x8x4x16xf32>) bias(%b : tensor<1x4x1x1xf32>)
    : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x4x8xf32>, tensor<2x8x4x16xf32>
    -> d_bias tensor<1x4x1x1xf32>
  return %0 : tensor<1x4x1x1xf32>
}
