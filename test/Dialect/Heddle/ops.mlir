// RUN: heddle-opt %s | heddle-opt | FileCheck %s
// RUN: heddle-opt %s --mlir-print-op-generic | heddle-opt | FileCheck %s
// RUN: heddle-opt %s --emit-bytecode | heddle-opt | FileCheck %s
// RUN: heddle-opt %s --verify-roundtrip -o /dev/null

//===----------------------------------------------------------------------===//
// attention
//===----------------------------------------------------------------------===//

// CHECK-LABEL: func @attention_defaults_are_not_printed
// CHECK: heddle.attention %{{.*}}, %{{.*}}, %{{.*}} : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32> -> tensor<2x8x4x16xf32>
func.func @attention_defaults_are_not_printed(%q: tensor<2x8x4x16xf32>,
    %k: tensor<2x8x4x16xf32>, %v: tensor<2x8x4x16xf32>) -> tensor<2x8x4x16xf32> {
  %0 = heddle.attention %q, %k, %v
    : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32> -> tensor<2x8x4x16xf32>
  return %0 : tensor<2x8x4x16xf32>
}

// CHECK-LABEL: func @attention_takes_every_operand
// CHECK: %out, %lse = heddle.attention %{{.*}} bias(%{{[^ ]*}} : tensor<1x4x8x12xbf16>)
// CHECK-SAME: query_segments(%{{[^ ]*}} : tensor<2x8xi32>)
// CHECK-SAME: key_segments(%{{[^ ]*}} : tensor<2x12xi32>)
// CHECK-SAME: key_lengths(%{{[^ ]*}} : tensor<2xi32>)
// CHECK-SAME: mask_tensor(%{{[^ ]*}} : tensor<2x1x1x12xi1>)
// CHECK-SAME: sinks(%{{[^ ]*}} : tensor<4xf32>)
// CHECK-SAME: precision = tf32
// CHECK-SAME: score {
// CHECK: ^bb0(%[[S:.*]]: f32, %{{.*}}: index, %{{.*}}: index, %{{.*}}: index, %{{.*}}: index):
// CHECK: heddle.yield
// CHECK: {mask = #heddle.mask<causal_lower_right>, scale = 2.500000e-01 : f64}
func.func @attention_takes_every_operand(%q: tensor<2x8x4x16xf32>, %k: tensor<2x12x2x16xf32>,
    %v: tensor<2x12x2x8xf32>, %bias: tensor<1x4x8x12xbf16>, %qs: tensor<2x8xi32>,
    %ks: tensor<2x12xi32>, %len: tensor<2xi32>, %m: tensor<2x1x1x12xi1>, %sinks: tensor<4xf32>)
    -> (tensor<2x8x4x8xf32>, tensor<2x4x8xf32>) {
  %0:2 = heddle.attention %q, %k, %v bias(%bias : tensor<1x4x8x12xbf16>)
    query_segments(%qs : tensor<2x8xi32>) key_segments(%ks : tensor<2x12xi32>)
    key_lengths(%len : tensor<2xi32>) mask_tensor(%m : tensor<2x1x1x12xi1>)
    sinks(%sinks : tensor<4xf32>) precision = tf32
    score {
    ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
      %t = math.tanh %s : f32
      heddle.yield %t : f32
    }
    {scale = 0.25 : f64, mask = #heddle.mask<causal_lower_right>}
    : tensor<2x8x4x16xf32>, tensor<2x12x2x16xf32>, tensor<2x12x2x8xf32>
    -> tensor<2x8x4x8xf32>, tensor<2x4x8xf32>
  return %0#0, %0#1 : tensor<2x8x4x8xf32>, tensor<2x4x8xf32>
}

// CHECK-LABEL: func @attention_grad_names_its_results
// CHECK: %d_query, %d_value = heddle.attention_grad %{{.*}} out(%{{[^ ]*}} : tensor<2x8x4x8xf32>) {mask = #heddle.mask<causal_lower_right>}
// CHECK-SAME: -> d_query tensor<2x8x4x16xf32> d_value tensor<2x12x2x8xf32>
func.func @attention_grad_names_its_results(%q: tensor<2x8x4x16xf32>, %k: tensor<2x12x2x16xf32>,
    %v: tensor<2x12x2x8xf32>, %o: tensor<2x8x4x8xf32>, %l: tensor<2x4x8xf32>)
    -> (tensor<2x8x4x16xf32>, tensor<2x12x2x8xf32>) {
  %0:2 = heddle.attention_grad %q, %k, %v, %l, %o out(%o : tensor<2x8x4x8xf32>)
    {mask = #heddle.mask<causal_lower_right>}
    : tensor<2x8x4x16xf32>, tensor<2x12x2x16xf32>, tensor<2x12x2x8xf32>, tensor<2x4x8xf32>, tensor<2x8x4x8xf32>
    -> d_query tensor<2x8x4x16xf32> d_value tensor<2x12x2x8xf32>
  return %0#0, %0#1 : tensor<2x8x4x16xf32>, tensor<2x12x2x8xf32>
}

// CHECK-LABEL: func @attention_grad_takes_every_operand
// CHECK: %d_query, %d_key, %d_value, %d_bias, %d_sinks, %row_dots_out = heddle.attention_grad
// CHECK-SAME: out(%{{[^ ]*}} : tensor<2x4x8x8xf32>)
// CHECK-SAME: d_lse(%{{[^ ]*}} : tensor<2x4x8xf32>)
// CHECK-SAME: bias(%{{[^ ]*}} : tensor<1x4x8x12xbf16>)
// CHECK-SAME: query_segments(%{{[^ ]*}} : tensor<2x8xi32>)
// CHECK-SAME: key_segments(%{{[^ ]*}} : tensor<2x12xi32>)
// CHECK-SAME: key_lengths(%{{[^ ]*}} : tensor<2xi32>)
// CHECK-SAME: mask_tensor(%{{[^ ]*}} : tensor<2x1x1x12xi1>)
// CHECK-SAME: sinks(%{{[^ ]*}} : tensor<4xf32>)
// CHECK-SAME: layout = bhsd
// CHECK-SAME: precision = tf32
// CHECK-SAME: score {
// CHECK: heddle.yield %{{.*}}, %{{.*}} : f32, f32
// CHECK: {scale = 2.500000e-01 : f64}
// CHECK-SAME: -> d_query tensor<2x4x8x16xf32> d_key tensor<2x2x12x16xf32> d_value tensor<2x2x12x8xf32> d_bias tensor<1x4x8x12xbf16> d_sinks tensor<4xf32> row_dots tensor<2x4x8xf32>
func.func @attention_grad_takes_every_operand(%q: tensor<2x4x8x16xf32>, %k: tensor<2x2x12x16xf32>,
    %v: tensor<2x2x12x8xf32>, %o: tensor<2x4x8x8xf32>, %l: tensor<2x4x8xf32>, %bias: tensor<1x4x8x12xbf16>,
    %qs: tensor<2x8xi32>, %ks: tensor<2x12xi32>, %len: tensor<2xi32>, %m: tensor<2x1x1x12xi1>,
    %sinks: tensor<4xf32>) -> (tensor<2x4x8x16xf32>, tensor<4xf32>) {
  %0:6 = heddle.attention_grad %q, %k, %v, %l, %o out(%o : tensor<2x4x8x8xf32>) d_lse(%l : tensor<2x4x8xf32>)
    bias(%bias : tensor<1x4x8x12xbf16>) query_segments(%qs : tensor<2x8xi32>)
    key_segments(%ks : tensor<2x12xi32>) key_lengths(%len : tensor<2xi32>)
    mask_tensor(%m : tensor<2x1x1x12xi1>) sinks(%sinks : tensor<4xf32>) layout = bhsd precision = tf32
    score {
    ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
      %y = arith.mulf %s, %s : f32
      %z = arith.addf %s, %s : f32
      heddle.yield %y, %z : f32, f32
    } {scale = 0.25}
    : tensor<2x4x8x16xf32>, tensor<2x2x12x16xf32>, tensor<2x2x12x8xf32>, tensor<2x4x8xf32>, tensor<2x4x8x8xf32>
    -> d_query tensor<2x4x8x16xf32> d_key tensor<2x2x12x16xf32> d_value tensor<2x2x12x8xf32>
       d_bias tensor<1x4x8x12xbf16> d_sinks tensor<4xf32> row_dots tensor<2x4x8xf32>
  return %0#0, %0#4 : tensor<2x4x8x16xf32>, tensor<4xf32>
}

// CHECK-LABEL: func @attention_layout_swaps_sequence_and_heads
// CHECK: heddle.attention %{{.*}} layout = bhsd
func.func @attention_layout_swaps_sequence_and_heads(%q: tensor<2x4x8x16xf16>,
    %k: tensor<2x1x12x16xf16>, %v: tensor<2x1x12x8xf16>) -> tensor<2x4x8x8xf16> {
  %0 = heddle.attention %q, %k, %v layout = bhsd
    : tensor<2x4x8x16xf16>, tensor<2x1x12x16xf16>, tensor<2x1x12x8xf16> -> tensor<2x4x8x8xf16>
  return %0 : tensor<2x4x8x8xf16>
}

// The attribute form of the enums is read as well.
// CHECK-LABEL: func @attention_layout_in_the_dictionary
// CHECK: heddle.attention %{{.*}} layout = bhsd
func.func @attention_layout_in_the_dictionary(%q: tensor<2x4x8x16xf16>) -> tensor<2x4x8x16xf16> {
  %0 = heddle.attention %q, %q, %q {layout = 1 : i32}
    : tensor<2x4x8x16xf16>, tensor<2x4x8x16xf16>, tensor<2x4x8x16xf16> -> tensor<2x4x8x16xf16>
  return %0 : tensor<2x4x8x16xf16>
}

// CHECK-LABEL: func @attention_verifies_on_dynamic_shapes
func.func @attention_verifies_on_dynamic_shapes(%q: tensor<?x?x?x?xf32>,
    %k: tensor<?x?x?x?xf32>, %m: tensor<?x?x?x?xi1>) -> (tensor<?x?x?x?xf32>, tensor<?x?x?xf32>) {
  %0:2 = heddle.attention %q, %k, %k mask_tensor(%m : tensor<?x?x?x?xi1>) {mask = #heddle.mask<causal>}
    : tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>
    -> tensor<?x?x?x?xf32>, tensor<?x?x?xf32>
  return %0#0, %0#1 : tensor<?x?x?x?xf32>, tensor<?x?x?xf32>
}

// No queries, or no keys: every row is fully masked.
// CHECK-LABEL: func @attention_lengths_may_be_zero
func.func @attention_lengths_may_be_zero(%q: tensor<2x0x4x1xf32>, %k: tensor<2x0x4x1xf32>)
    -> tensor<2x0x4x1xf32> {
  %0 = heddle.attention %q, %k, %k
    : tensor<2x0x4x1xf32>, tensor<2x0x4x1xf32>, tensor<2x0x4x1xf32> -> tensor<2x0x4x1xf32>
  return %0 : tensor<2x0x4x1xf32>
}

//===----------------------------------------------------------------------===//
// Scans
//===----------------------------------------------------------------------===//

// CHECK-LABEL: func @selective_scan_takes_every_operand
// CHECK: %{{.*}}, %{{.*}} = heddle.selective_scan %{{.*}} d(%{{[^ ]*}} : tensor<8xf32>)
// CHECK-SAME: z(%{{[^ ]*}} : tensor<2x5x8xbf16>) delta_bias(%{{[^ ]*}} : tensor<8xf32>)
// CHECK-SAME: initial_state(%{{[^ ]*}} : tensor<2x8x3xf32>) reset_ids(%{{[^ ]*}} : tensor<2x5xi32>)
// CHECK-SAME: {delta_softplus, reverse}
func.func @selective_scan_takes_every_operand(%u: tensor<2x5x8xbf16>, %a: tensor<8x3xf32>,
    %b: tensor<2x5x4x3xbf16>, %c: tensor<2x5x3xbf16>, %d: tensor<8xf32>,
    %h: tensor<2x8x3xf32>, %r: tensor<2x5xi32>) -> (tensor<2x5x8xbf16>, tensor<2x8x3xf32>) {
  %y, %f = heddle.selective_scan %u, %u, %a, %b, %c d(%d : tensor<8xf32>)
    z(%u : tensor<2x5x8xbf16>) delta_bias(%d : tensor<8xf32>)
    initial_state(%h : tensor<2x8x3xf32>) reset_ids(%r : tensor<2x5xi32>)
    {delta_softplus, reverse}
    : tensor<2x5x8xbf16>, tensor<2x5x8xbf16>, tensor<8x3xf32>, tensor<2x5x4x3xbf16>,
      tensor<2x5x3xbf16> -> tensor<2x5x8xbf16>, tensor<2x8x3xf32>
  return %y, %f : tensor<2x5x8xbf16>, tensor<2x8x3xf32>
}

// CHECK-LABEL: func @selective_scan_leaves_states
// CHECK: %{{.*}}, %[[S:.*]] = heddle.selective_scan {{.*}} {chunk = 2 : i64} : {{.*}} -> tensor<2x5x8xf32>, chunk_states tensor<2x2x8x3xf32>
// CHECK: %{{.*}}, %[[F:.*]], %[[T:.*]] = heddle.selective_scan {{.*}} {chunk = 5 : i64} : {{.*}} -> tensor<2x5x8xf32>, tensor<2x8x3xf32>, chunk_states tensor<2x0x8x3xf32>
// CHECK: heddle.selective_scan_grad {{.*}} chunk_states(%[[S]] : tensor<2x2x8x3xf32>) {chunk = 2 : i64, partial_sums = 1 : i64}
// CHECK-SAME: tensor<1x2x5x3xf32>{{ ?}}, scratch tensor<4x7xf32>)
func.func @selective_scan_leaves_states(%u: tensor<2x5x8xf32>, %a: tensor<8x3xf32>, %b: tensor<2x5x3xf32>)
    -> (tensor<2x5x8xf32>, tensor<2x8x3xf32>, tensor<2x0x8x3xf32>, tensor<2x8x3xf32>) {
  %y, %s = heddle.selective_scan %u, %u, %a, %b, %b {chunk = 2}
    : tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<8x3xf32>, tensor<2x5x3xf32>, tensor<2x5x3xf32>
    -> tensor<2x5x8xf32>, chunk_states tensor<2x2x8x3xf32>
  %z, %f, %t = heddle.selective_scan %u, %u, %a, %b, %b {chunk = 5}
    : tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<8x3xf32>, tensor<2x5x3xf32>, tensor<2x5x3xf32>
    -> tensor<2x5x8xf32>, tensor<2x8x3xf32>, chunk_states tensor<2x0x8x3xf32>
  %g:6 = heddle.selective_scan_grad %u, %u, %a, %b, %b, %y chunk_states(%s : tensor<2x2x8x3xf32>) {chunk = 2, partial_sums = 1}
    : tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<8x3xf32>, tensor<2x5x3xf32>, tensor<2x5x3xf32>, tensor<2x5x8xf32>
    -> (tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<2x8x3xf32>, tensor<1x2x5x3xf32>, tensor<1x2x5x3xf32>, scratch tensor<4x7xf32>)
  return %z, %f, %t, %g#2 : tensor<2x5x8xf32>, tensor<2x8x3xf32>, tensor<2x0x8x3xf32>, tensor<2x8x3xf32>
}

// CHECK-LABEL: func @ssd_takes_every_operand
// CHECK: heddle.ssd %{{.*}} initial_state(%{{[^ ]*}} : tensor<2x4x3x6xf32>)
// CHECK-SAME: reset_ids(%{{[^ ]*}} : tensor<2x5xi32>) {log_decay_nonpositive, reverse}
func.func @ssd_takes_every_operand(%q: tensor<2x5x2x3xf32>, %v: tensor<2x5x4x6xf32>,
    %a: tensor<2x5x4xf32>, %h: tensor<2x4x3x6xf32>, %r: tensor<2x5xi32>)
    -> (tensor<2x5x4x6xf32>, tensor<2x4x3x6xf32>) {
  %0:2 = heddle.ssd %q, %q, %v, %a initial_state(%h : tensor<2x4x3x6xf32>)
    reset_ids(%r : tensor<2x5xi32>) {log_decay_nonpositive, reverse}
    : tensor<2x5x2x3xf32>, tensor<2x5x2x3xf32>, tensor<2x5x4x6xf32>, tensor<2x5x4xf32>
    -> tensor<2x5x4x6xf32>, tensor<2x4x3x6xf32>
  return %0#0, %0#1 : tensor<2x5x4x6xf32>, tensor<2x4x3x6xf32>
}

// CHECK-LABEL: func @linear_scan_real_with_final_state
// CHECK: heddle.linear_scan %{{.*}}, %{{.*}} initial_state(%{{[^ ]*}} : tensor<2x8xf32>)
// CHECK-SAME: tensor<8xf32>, tensor<2x0x8xf32> -> (tensor<2x0x8xf32>, final tensor<2x8xf32>)
func.func @linear_scan_real_with_final_state(%a: tensor<8xf32>, %b: tensor<2x0x8xf32>,
    %h: tensor<2x8xf32>) -> (tensor<2x0x8xf32>, tensor<2x8xf32>) {
  %0:2 = heddle.linear_scan %a, %b initial_state(%h : tensor<2x8xf32>)
    : tensor<8xf32>, tensor<2x0x8xf32> -> (tensor<2x0x8xf32>, final tensor<2x8xf32>)
  return %0#0, %0#1 : tensor<2x0x8xf32>, tensor<2x8xf32>
}

// CHECK-LABEL: func @linear_scan_complex_with_states
// CHECK: heddle.linear_scan %{{.*}} imag(%{{[^ ]*}}, %{{.*}} : tensor<2x5x8xf32>, tensor<2x5x8xf32>)
// CHECK-SAME: -> (tensor<2x5x8xf32>, imag tensor<2x5x8xf32>, final tensor<2x8xf32>, final_imag tensor<2x8xf32>)
func.func @linear_scan_complex_with_states(%a: tensor<2x5x8xf32>, %h: tensor<2x8xf32>,
    %r: tensor<2x5xi32>)
    -> (tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>) {
  %0:4 = heddle.linear_scan %a, %a imag(%a, %a : tensor<2x5x8xf32>, tensor<2x5x8xf32>)
    initial_state(%h : tensor<2x8xf32>) initial_state_imag(%h : tensor<2x8xf32>)
    reset_ids(%r : tensor<2x5xi32>) {reverse} : tensor<2x5x8xf32>, tensor<2x5x8xf32>
    -> (tensor<2x5x8xf32>, imag tensor<2x5x8xf32>, final tensor<2x8xf32>, final_imag tensor<2x8xf32>)
  return %0#0, %0#1, %0#2, %0#3
    : tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>
}

//===----------------------------------------------------------------------===//
// Remat, layers, differentiation
//===----------------------------------------------------------------------===//

// CHECK-LABEL: func @checkpoints_nest
// CHECK: heddle.checkpoint policy<full> (%[[A:.*]] = %{{.*}}, %[[B:.*]] = %{{.*}}) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT: heddle.checkpoint policy<save_names<["gate", "up"]>> (%{{[^ ]*}} = %[[A]]) attributes {tool.note = 1 : i64} : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
// CHECK: heddle.name %{{.*}} "gate" : tensor<4xf32>
// CHECK: heddle.yield %{{.*}}, %{{.*}} : tensor<4xf32>, tensor<4xf32>
func.func @checkpoints_nest(%x: tensor<4xf32>, %w: tensor<4xf32>) -> tensor<4xf32> {
  %y = heddle.checkpoint policy<full> (%a = %x, %b = %w) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> {
    %0:2 = heddle.checkpoint policy<save_names<["gate", "up"]>> (%c = %a) attributes {tool.note = 1 : i64}
        : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
      %1 = math.exp %c : tensor<4xf32>
      %2 = heddle.name %1 "gate" : tensor<4xf32>
      heddle.yield %2, %1 : tensor<4xf32>, tensor<4xf32>
    }
    %3 = arith.mulf %0#0, %b : tensor<4xf32>
    heddle.yield %3 : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// CHECK-LABEL: func @checkpoint_without_values
// CHECK: heddle.checkpoint policy<none> () : () -> () {
// CHECK-NEXT: heddle.yield
// CHECK-NEXT: }
func.func @checkpoint_without_values() {
  heddle.checkpoint policy<none> () : () -> () {
  }
  return
}

// CHECK-LABEL: func @layer_scan_binds_operands_by_kind
// CHECK: heddle.layer_scan carried(%{{[^ ]*}} = %{{.*}}) stacked(%[[W:.*]] = %{{.*}}, %[[B:.*]] = %{{.*}}) invariant(%{{[^ ]*}} = %{{.*}}) policy<dots_saveable> reverse
// CHECK-SAME: : (tensor<8xf32>, tensor<24x8xf32>, tensor<24xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<24x8xf32>) {
// CHECK: tensor.extract %[[B]][] : tensor<f32>
func.func @layer_scan_binds_operands_by_kind(%x: tensor<8xf32>, %ws: tensor<24x8xf32>,
    %bs: tensor<24xf32>, %s: tensor<8xf32>) -> (tensor<8xf32>, tensor<24x8xf32>) {
  %y:2 = heddle.layer_scan carried(%h = %x) stacked(%w = %ws, %b = %bs) invariant(%c = %s)
      policy<dots_saveable> reverse
      : (tensor<8xf32>, tensor<24x8xf32>, tensor<24xf32>, tensor<8xf32>)
      -> (tensor<8xf32>, tensor<24x8xf32>) {
    %0 = arith.mulf %h, %w : tensor<8xf32>
    %1 = tensor.extract %b[] : tensor<f32>
    %2 = tensor.splat %1 : tensor<8xf32>
    %3 = arith.addf %0, %2 : tensor<8xf32>
    %4 = arith.addf %3, %c : tensor<8xf32>
    heddle.yield %4, %0 : tensor<8xf32>, tensor<8xf32>
  }
  return %y#0, %y#1 : tensor<8xf32>, tensor<24x8xf32>
}

// CHECK-LABEL: func @layer_scan_without_invariants
// CHECK: heddle.layer_scan carried(%{{[^ ]*}} = %{{.*}}) stacked(%{{[^ ]*}} = %{{.*}}) : (tensor<8xf32>, tensor<0x8xf32>) -> tensor<8xf32> {
func.func @layer_scan_without_invariants(%x: tensor<8xf32>, %ws: tensor<0x8xf32>) -> tensor<8xf32> {
  %y = heddle.layer_scan carried(%h = %x) stacked(%w = %ws)
      : (tensor<8xf32>, tensor<0x8xf32>) -> tensor<8xf32> {
    %0 = arith.mulf %h, %w : tensor<8xf32>
    heddle.yield %0 : tensor<8xf32>
  }
  return %y : tensor<8xf32>
}

func.func private @loss(tensor<4xf32>, tensor<4xbf16>) -> tensor<f32>

// CHECK-LABEL: func @value_and_grad_of_two_arguments
// CHECK: heddle.value_and_grad @loss(%{{[^ ]*}}, %{{.*}}) wrt [1, 0] : (tensor<4xf32>, tensor<4xbf16>) -> (tensor<f32>, tensor<4xbf16>, tensor<4xf32>)
func.func @value_and_grad_of_two_arguments(%w: tensor<4xf32>, %x: tensor<4xbf16>)
    -> (tensor<f32>, tensor<4xbf16>, tensor<4xf32>) {
  %0:3 = heddle.value_and_grad @loss(%w, %x) wrt [1, 0]
    : (tensor<4xf32>, tensor<4xbf16>) -> (tensor<f32>, tensor<4xbf16>, tensor<4xf32>)
  return %0#0, %0#1, %0#2 : tensor<f32>, tensor<4xbf16>, tensor<4xf32>
}

//===----------------------------------------------------------------------===//
// Indexing and random bits
//===----------------------------------------------------------------------===//

// CHECK-LABEL: func @gather_and_scatter_add
// CHECK: heddle.gather %{{.*}}[%{{.*}}] : tensor<100x16xf32>, tensor<2x8xi32> -> tensor<2x8x16xf32>
// CHECK: heddle.gather %{{.*}}[%{{.*}}] mode = drop : tensor<100x16xf32>, tensor<2x8xi32> -> tensor<2x8x16xf32>
// CHECK: heddle.scatter_add %{{.*}} into %{{.*}}[%{{.*}}] : tensor<2x8x16xf32>, tensor<100x16xf32>, tensor<2x8xi32>
// CHECK: heddle.scatter_add %{{.*}} into %{{.*}}[%{{.*}}] mode = drop :
func.func @gather_and_scatter_add(%t: tensor<100x16xf32>, %i: tensor<2x8xi32>) -> tensor<100x16xf32> {
  %0 = heddle.gather %t[%i] : tensor<100x16xf32>, tensor<2x8xi32> -> tensor<2x8x16xf32>
  %1 = heddle.gather %t[%i] mode = drop : tensor<100x16xf32>, tensor<2x8xi32> -> tensor<2x8x16xf32>
  %2 = heddle.scatter_add %0 into %t[%i] : tensor<2x8x16xf32>, tensor<100x16xf32>, tensor<2x8xi32>
  %3 = heddle.scatter_add %1 into %2[%i] {mode = 1 : i32} : tensor<2x8x16xf32>, tensor<100x16xf32>, tensor<2x8xi32>
  return %3 : tensor<100x16xf32>
}

// CHECK-LABEL: func @random_bits
// CHECK: heddle.random_bits %{{.*}}, %{{.*}} : tensor<i64>, tensor<i64> -> tensor<4x7xi32>
func.func @random_bits(%s: tensor<i64>, %o: tensor<i64>) -> tensor<4x7xi32> {
  %0 = heddle.random_bits %s, %o : tensor<i64>, tensor<i64> -> tensor<4x7xi32>
  return %0 : tensor<4x7xi32>
}

// CHECK-LABEL: func @selective_scan_grad_gives_a_gradient_per_operand
// CHECK: %{{.*}} = heddle.selective_scan_grad %{{.*}} d(%{{[^ ]*}} : tensor<8xf32>)
// CHECK-SAME: z(%{{[^ ]*}} : tensor<2x5x8xbf16>) delta_bias(%{{[^ ]*}} : tensor<8xf32>)
// CHECK-SAME: initial_state(%{{[^ ]*}} : tensor<2x8x3xf32>) reset_ids(%{{[^ ]*}} : tensor<2x5xi32>)
// CHECK-SAME: dfinal_state(%{{[^ ]*}} : tensor<2x8x3xf32>) {delta_softplus, reverse}
// CHECK-SAME: tensor<2x5x3xbf16>{{ ?}}, d tensor<8xf32>, z tensor<2x5x8xbf16>, delta_bias tensor<8xf32>, initial_state tensor<2x8x3xf32>)
func.func @selective_scan_grad_gives_a_gradient_per_operand(%u: tensor<2x5x8xbf16>, %a: tensor<8x3xf32>,
    %b: tensor<2x5x4x3xbf16>, %c: tensor<2x5x3xbf16>, %d: tensor<8xf32>,
    %h: tensor<2x8x3xf32>, %r: tensor<2x5xi32>) -> tensor<8x3xf32> {
  %g:9 = heddle.selective_scan_grad %u, %u, %a, %b, %c, %u d(%d : tensor<8xf32>)
    z(%u : tensor<2x5x8xbf16>) delta_bias(%d : tensor<8xf32>)
    initial_state(%h : tensor<2x8x3xf32>) reset_ids(%r : tensor<2x5xi32>)
    dfinal_state(%h : tensor<2x8x3xf32>)
    {delta_softplus, reverse}
    : tensor<2x5x8xbf16>, tensor<2x5x8xbf16>, tensor<8x3xf32>, tensor<2x5x4x3xbf16>,
      tensor<2x5x3xbf16>, tensor<2x5x8xbf16>
    -> (tensor<2x5x8xbf16>, tensor<2x5x8xbf16>, tensor<8x3xf32>, tensor<2x5x4x3xbf16>,
      tensor<2x5x3xbf16>, d tensor<8xf32>, z tensor<2x5x8xbf16>, delta_bias tensor<8xf32>,
      initial_state tensor<2x8x3xf32>)
  return %g#2 : tensor<8x3xf32>
}

// CHECK-LABEL: func @linear_scan_grad_real_and_complex
// CHECK: %{{.*}}, %{{.*}} = heddle.linear_scan_grad %{{.*}}, %{{.*}}, %{{.*}} : tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<2x5x8xf32> -> (tensor<2x5x8xf32>, tensor<2x5x8xf32>{{ ?}})
// CHECK: %{{.*}} = heddle.linear_scan_grad %{{.*}} imag({{.*}}) initial_state({{.*}}) initial_state_imag({{.*}}) dfinal_state({{.*}}) dfinal_state_imag({{.*}}) reset_ids({{.*}}) {reverse}
// CHECK-SAME: -> (tensor<8xf32>, tensor<2x5x8xf32>{{ ?}}, a_imag tensor<8xf32>, b_imag tensor<2x5x8xf32>, initial_state tensor<2x8xf32>, initial_state_imag tensor<2x8xf32>)
func.func @linear_scan_grad_real_and_complex(%a: tensor<8xf32>, %h: tensor<2x5x8xf32>, %s: tensor<2x8xf32>,
    %r: tensor<2x5xi32>) -> (tensor<2x5x8xf32>, tensor<8xf32>) {
  %0:2 = heddle.linear_scan_grad %h, %h, %h
    : tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<2x5x8xf32> -> (tensor<2x5x8xf32>, tensor<2x5x8xf32>)
  %1:6 = heddle.linear_scan_grad %a, %h, %h imag(%a, %h, %h : tensor<8xf32>, tensor<2x5x8xf32>, tensor<2x5x8xf32>)
    initial_state(%s : tensor<2x8xf32>) initial_state_imag(%s : tensor<2x8xf32>)
    dfinal_state(%s : tensor<2x8xf32>) dfinal_state_imag(%s : tensor<2x8xf32>)
    reset_ids(%r : tensor<2x5xi32>) {reverse}
    : tensor<8xf32>, tensor<2x5x8xf32>, tensor<2x5x8xf32>
    -> (tensor<8xf32>, tensor<2x5x8xf32>, a_imag tensor<8xf32>, b_imag tensor<2x5x8xf32>,
        initial_state tensor<2x8xf32>, initial_state_imag tensor<2x8xf32>)
  return %0#0, %1#2 : tensor<2x5x8xf32>, tensor<8xf32>
}
