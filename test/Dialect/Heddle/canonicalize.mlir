// RUN: heddle-opt %s -canonicalize="test-convergence" -split-input-file | FileCheck %s

// CHECK-LABEL: func @unused_lse_is_dropped
// CHECK: %[[O:.*]] = heddle.attention %{{.*}} sinks(%{{.*}} : tensor<4xf32>) layout = bhsd score {
// CHECK: math.tanh
// CHECK: {mask = #heddle.mask<causal>, scale = 2.000000e+00 : f64, tool.note = "kept"} : {{.*}} -> tensor<2x4x8x16xf32>{{$}}
// CHECK: return %[[O]]
func.func @unused_lse_is_dropped(%q: tensor<2x4x8x16xf32>, %s: tensor<4xf32>) -> tensor<2x4x8x16xf32> {
  %0:2 = heddle.attention %q, %q, %q sinks(%s : tensor<4xf32>) layout = bhsd score {
  ^bb0(%x: f32, %b: index, %h: index, %i: index, %j: index):
    %t = math.tanh %x : f32
    heddle.yield %t : f32
  } {mask = #heddle.mask<causal>, tool.note = "kept", scale = 2.0 : f64}
    : tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>
    -> tensor<2x4x8x16xf32>, tensor<2x4x8xf32>
  return %0#0 : tensor<2x4x8x16xf32>
}

// -----

// CHECK-LABEL: func @used_lse_stays
// CHECK: heddle.attention {{.*}} -> tensor<2x8x4x16xf32>, tensor<2x4x8xf32>
func.func @used_lse_stays(%q: tensor<2x8x4x16xf32>) -> tensor<2x4x8xf32> {
  %0:2 = heddle.attention %q, %q, %q
    : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>
    -> tensor<2x8x4x16xf32>, tensor<2x4x8xf32>
  return %0#1 : tensor<2x4x8xf32>
}

// -----

// CHECK-LABEL: func @identity_score_region_and_full_mask_tensor_go
// CHECK-NEXT: heddle.attention %arg0, %arg0, %arg0 : tensor
func.func @identity_score_region_and_full_mask_tensor_go(%q: tensor<2x8x4x16xf32>) -> tensor<2x8x4x16xf32> {
  %m = arith.constant dense<true> : tensor<1x1x8x8xi1>
  %0 = heddle.attention %q, %q, %q mask_tensor(%m : tensor<1x1x8x8xi1>) score {
  ^bb0(%x: f32, %b: index, %h: index, %i: index, %j: index):
    heddle.yield %x : f32
  } : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32> -> tensor<2x8x4x16xf32>
  return %0 : tensor<2x8x4x16xf32>
}

// -----

// CHECK-LABEL: func @mask_tensor_with_a_false_stays
// CHECK: mask_tensor(%{{.*}} : tensor<1x1x1x8xi1>)
func.func @mask_tensor_with_a_false_stays(%q: tensor<2x8x4x16xf32>) -> tensor<2x8x4x16xf32> {
  %m = arith.constant dense<[[[[true, true, true, true, true, true, true, false]]]]> : tensor<1x1x1x8xi1>
  %0 = heddle.attention %q, %q, %q mask_tensor(%m : tensor<1x1x1x8xi1>)
    : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32> -> tensor<2x8x4x16xf32>
  return %0 : tensor<2x8x4x16xf32>
}

// -----

// CHECK-LABEL: func @nested_masks_are_flattened
// CHECK: {mask = #heddle.mask<union<prefix<4>, causal, intersection<window<1, 1>, block_diagonal<2>>>>}
func.func @nested_masks_are_flattened(%q: tensor<2x8x4x16xf32>) -> tensor<2x8x4x16xf32> {
  %0 = heddle.attention %q, %q, %q {mask = #heddle.mask<union<prefix<4>, union<causal, prefix<4>>,
      intersection<window<1, 1>, intersection<block_diagonal<2>>>>>}
    : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32> -> tensor<2x8x4x16xf32>
  return %0 : tensor<2x8x4x16xf32>
}

// -----

// CHECK-LABEL: func @unused_states_of_chunks_are_dropped
// CHECK: heddle.selective_scan {{[^{]*}} : {{.*}} -> tensor<2x5x8xf32>, tensor<2x8x3xf32>{{$}}
// CHECK: heddle.selective_scan {{.*}} {chunk = 2 : i64} {{.*}} -> tensor<2x5x8xf32>, chunk_states tensor<2x2x8x3xf32>{{$}}
func.func @unused_states_of_chunks_are_dropped(%u: tensor<2x5x8xf32>, %a: tensor<8x3xf32>, %b: tensor<2x5x3xf32>)
    -> (tensor<2x5x8xf32>, tensor<2x8x3xf32>, tensor<2x2x8x3xf32>) {
  %0:3 = heddle.selective_scan %u, %u, %a, %b, %b {chunk = 2}
    : tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<8x3xf32>, tensor<2x5x3xf32>, tensor<2x5x3xf32>
    -> tensor<2x5x8xf32>, tensor<2x8x3xf32>, chunk_states tensor<2x2x8x3xf32>
  %1:3 = heddle.selective_scan %u, %0#0, %a, %b, %b {chunk = 2}
    : tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<8x3xf32>, tensor<2x5x3xf32>, tensor<2x5x3xf32>
    -> tensor<2x5x8xf32>, tensor<2x8x3xf32>, chunk_states tensor<2x2x8x3xf32>
  return %1#0, %0#1, %1#2 : tensor<2x5x8xf32>, tensor<2x8x3xf32>, tensor<2x2x8x3xf32>
}

// -----

// CHECK-LABEL: func @unused_final_states_are_dropped
// CHECK: heddle.selective_scan {{.*}} {reverse} {{.*}} -> tensor<2x5x8xf32>{{$}}
// CHECK: heddle.ssd {{.*}} {log_decay_nonpositive} {{.*}} -> tensor<2x5x4x6xf32>{{$}}
// CHECK: heddle.linear_scan {{.*}} imag({{.*}}) {{.*}} -> (tensor<2x5x8xf32>, imag tensor<2x5x8xf32>){{$}}
// CHECK: heddle.linear_scan {{.*}} -> (tensor<2x5x8xf32>, imag tensor<2x5x8xf32>, final tensor<2x8xf32>, final_imag tensor<2x8xf32>)
func.func @unused_final_states_are_dropped(%u: tensor<2x5x8xf32>, %a: tensor<8x3xf32>,
    %b: tensor<2x5x3xf32>, %q: tensor<2x5x2x3xf32>, %v: tensor<2x5x4x6xf32>, %l: tensor<2x5x4xf32>)
    -> (tensor<2x5x8xf32>, tensor<2x5x4x6xf32>, tensor<2x5x8xf32>, tensor<2x8xf32>) {
  %0:2 = heddle.selective_scan %u, %u, %a, %b, %b {reverse}
    : tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<8x3xf32>, tensor<2x5x3xf32>, tensor<2x5x3xf32>
    -> tensor<2x5x8xf32>, tensor<2x8x3xf32>
  %1:2 = heddle.ssd %q, %q, %v, %l {log_decay_nonpositive}
    : tensor<2x5x2x3xf32>, tensor<2x5x2x3xf32>, tensor<2x5x4x6xf32>, tensor<2x5x4xf32>
    -> tensor<2x5x4x6xf32>, tensor<2x4x3x6xf32>
  %2:4 = heddle.linear_scan %u, %u imag(%u, %u : tensor<2x5x8xf32>, tensor<2x5x8xf32>)
    : tensor<2x5x8xf32>, tensor<2x5x8xf32>
    -> (tensor<2x5x8xf32>, imag tensor<2x5x8xf32>, final tensor<2x8xf32>, final_imag tensor<2x8xf32>)
  // One part is read, so both stay.
  %3:4 = heddle.linear_scan %u, %0#0 imag(%u, %u : tensor<2x5x8xf32>, tensor<2x5x8xf32>)
    : tensor<2x5x8xf32>, tensor<2x5x8xf32>
    -> (tensor<2x5x8xf32>, imag tensor<2x5x8xf32>, final tensor<2x8xf32>, final_imag tensor<2x8xf32>)
  return %0#0, %1#0, %2#1, %3#3
    : tensor<2x5x8xf32>, tensor<2x5x4x6xf32>, tensor<2x5x8xf32>, tensor<2x8xf32>
}

// -----

// CHECK-LABEL: func @checkpoint_policy_none_inlines
// CHECK-NEXT: %[[E:.*]] = math.exp %arg0
// CHECK-NEXT: return %[[E]]
func.func @checkpoint_policy_none_inlines(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = heddle.checkpoint policy<none> (%a = %x) : (tensor<4xf32>) -> tensor<4xf32> {
    %1 = math.exp %a : tensor<4xf32>
    heddle.yield %1 : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func @checkpoint_keeps_what_is_used
// CHECK: %[[Y:.*]] = heddle.checkpoint policy<full> (%[[A:.*]] = %arg1) attributes {tool.note = "kept"} : (tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT: %[[E:.*]] = math.exp %[[A]]
// CHECK-NEXT: heddle.yield %[[E]] : tensor<4xf32>
// CHECK: return %[[Y]], %arg1
func.func @checkpoint_keeps_what_is_used(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0:3 = heddle.checkpoint policy<full> (%a = %x, %b = %y) attributes {tool.note = "kept"}
      : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
    %1 = math.exp %b : tensor<4xf32>
    %2 = math.tanh %a : tensor<4xf32>
    heddle.yield %2, %1, %b : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
  return %0#1, %0#2 : tensor<4xf32>, tensor<4xf32>
}

// -----

// CHECK-LABEL: func @name_stays
// CHECK: heddle.name
func.func @name_stays(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = heddle.name %x "a" : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func @layer_scan_keeps_what_is_used
// CHECK: heddle.layer_scan carried(%[[H:.*]] = %arg0) stacked(%[[W:.*]] = %arg2) policy<full> reverse : (tensor<8xf32>, tensor<3x8xf32>) -> tensor<8xf32> {
// CHECK-NEXT: %[[E:.*]] = arith.mulf %[[H]], %[[W]]
// CHECK-NEXT: heddle.yield %[[E]] : tensor<8xf32>
func.func @layer_scan_keeps_what_is_used(%x: tensor<8xf32>, %v: tensor<3x8xf32>, %w: tensor<3x8xf32>,
    %i: tensor<8xf32>) -> tensor<8xf32> {
  %0:2 = heddle.layer_scan carried(%h = %x) stacked(%a = %v, %b = %w) invariant(%c = %i) policy<full> reverse
      : (tensor<8xf32>, tensor<3x8xf32>, tensor<3x8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<3x8xf32>) {
    %1 = arith.mulf %h, %b : tensor<8xf32>
    %2 = arith.addf %a, %c : tensor<8xf32>
    heddle.yield %1, %2 : tensor<8xf32>, tensor<8xf32>
  }
  return %0#0 : tensor<8xf32>
}

// -----

// CHECK-LABEL: func @layer_scan_keeps_its_layer_count
// CHECK: stacked(%{{.*}} = %arg2) : (tensor<8xf32>, tensor<3xf32>)
func.func @layer_scan_keeps_its_layer_count(%x: tensor<8xf32>, %v: tensor<3x8xf32>, %w: tensor<3xf32>) -> tensor<8xf32> {
  %0 = heddle.layer_scan carried(%h = %x) stacked(%a = %v, %b = %w)
      : (tensor<8xf32>, tensor<3x8xf32>, tensor<3xf32>) -> tensor<8xf32> {
    %1 = math.exp %h : tensor<8xf32>
    heddle.yield %1 : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}

// -----

// CHECK-LABEL: func @gather_of_a_splat_is_a_splat
// CHECK-DAG: %[[ONE:.*]] = arith.constant dense<1.000000e+00> : tensor<2x4xf32>
// CHECK-DAG: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<2x4xf32>
// CHECK: %[[G:.*]] = heddle.gather
// CHECK: return %[[ONE]], %[[ZERO]], %[[G]]
func.func @gather_of_a_splat_is_a_splat(%i: tensor<2xi32>) -> (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>) {
  %one = arith.constant dense<1.0> : tensor<5x4xf32>
  %zero = arith.constant dense<0.0> : tensor<5x4xf32>
  %0 = heddle.gather %one[%i] : tensor<5x4xf32>, tensor<2xi32> -> tensor<2x4xf32>
  %1 = heddle.gather %zero[%i] mode = drop : tensor<5x4xf32>, tensor<2xi32> -> tensor<2x4xf32>
  // A dropped row reads zero, not one.
  %2 = heddle.gather %one[%i] mode = drop : tensor<5x4xf32>, tensor<2xi32> -> tensor<2x4xf32>
  return %0, %1, %2 : tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>
}

// -----

// CHECK-LABEL: func @scatter_add_of_nothing_is_its_base
// CHECK-NEXT: return %arg0
func.func @scatter_add_of_nothing_is_its_base(%t: tensor<5x4xf32>, %u: tensor<0x4xf32>, %i: tensor<0xi32>) -> tensor<5x4xf32> {
  %0 = heddle.scatter_add %u into %t[%i] : tensor<0x4xf32>, tensor<5x4xf32>, tensor<0xi32>
  return %0 : tensor<5x4xf32>
}

// Over no step the states leave as they came, or are zero.
// CHECK-LABEL: func @scans_of_length_zero_return_the_incoming_state
// CHECK-SAME: %[[S:[a-z0-9]*]]: tensor<2x8x3xf32>, %[[T:[a-z0-9]*]]: tensor<2x8xf32>
// CHECK-NOT: heddle.
// CHECK: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<2x8xf32>
// CHECK: return %[[S]], %[[T]], %[[ZERO]]
func.func @scans_of_length_zero_return_the_incoming_state(
    %u: tensor<2x0x8xf32>, %a: tensor<8x3xf32>, %b: tensor<2x0x3xf32>,
    %s: tensor<2x8x3xf32>, %t: tensor<2x8xf32>)
    -> (tensor<2x8x3xf32>, tensor<2x8xf32>, tensor<2x8xf32>) {
  %0:2 = heddle.selective_scan %u, %u, %a, %b, %b initial_state(%s : tensor<2x8x3xf32>)
    : tensor<2x0x8xf32>, tensor<2x0x8xf32>, tensor<8x3xf32>, tensor<2x0x3xf32>, tensor<2x0x3xf32>
    -> tensor<2x0x8xf32>, tensor<2x8x3xf32>
  %1:2 = heddle.linear_scan %u, %u initial_state(%t : tensor<2x8xf32>)
    : tensor<2x0x8xf32>, tensor<2x0x8xf32> -> (tensor<2x0x8xf32>, final tensor<2x8xf32>)
  %2:2 = heddle.linear_scan %u, %u
    : tensor<2x0x8xf32>, tensor<2x0x8xf32> -> (tensor<2x0x8xf32>, final tensor<2x8xf32>)
  return %0#1, %1#1, %2#1 : tensor<2x8x3xf32>, tensor<2x8xf32>, tensor<2x8xf32>
}

// -----

// CHECK-LABEL: func @unused_gradients_are_dropped
// CHECK: %[[K:.*]], %[[V:.*]] = heddle.attention_grad {{.*}} layout = bhsd score {
// CHECK: {mask = #heddle.mask<causal>, tool.note = "kept"} : {{.*}} -> d_key tensor<2x4x8x16xf32> d_value tensor<2x4x8x16xf32>
// CHECK: return %[[K]], %[[V]]
func.func @unused_gradients_are_dropped(%q: tensor<2x4x8x16xf32>, %l: tensor<2x4x8xf32>) -> (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) {
  %0:3 = heddle.attention_grad %q, %q, %q, %l, %q out(%q : tensor<2x4x8x16xf32>) layout = bhsd score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
    %y = arith.mulf %s, %s : f32
    %z = arith.addf %s, %s : f32
    heddle.yield %y, %z : f32, f32
  } {mask = #heddle.mask<causal>, tool.note = "kept"}
    : tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8xf32>, tensor<2x4x8x16xf32>
    -> d_query tensor<2x4x8x16xf32> d_key tensor<2x4x8x16xf32> d_value tensor<2x4x8x16xf32>
  return %0#1, %0#2 : tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>
}

// -----

// CHECK-LABEL: func @masks_of_gradients_are_simplified
// CHECK-NOT: mask_tensor
// CHECK: heddle.attention_grad {{.*}} {mask = #heddle.mask<prefix<3>>}
func.func @masks_of_gradients_are_simplified(%q: tensor<2x8x4x16xf32>, %l: tensor<2x4x8xf32>) -> tensor<2x8x4x16xf32> {
  %m = arith.constant dense<true> : tensor<1x1x8x8xi1>
  %0 = heddle.attention_grad %q, %q, %q, %l, %q out(%q : tensor<2x8x4x16xf32>) mask_tensor(%m : tensor<1x1x8x8xi1>)
    {mask = #heddle.mask<union<prefix<3>, prefix<3>>>}
    : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x4x8xf32>, tensor<2x8x4x16xf32>
    -> d_query tensor<2x8x4x16xf32>
  return %0 : tensor<2x8x4x16xf32>
}
