// RUN: heddle-opt %s -split-input-file -verify-diagnostics

// One case per labelled constraint of heddle.attention.

// -----

// /*attention_c1*/
func.func @key_has_rank_4(%q: tensor<2x8x4x16xf32>, %k: tensor<2x12x16xf32>, %v: tensor<2x12x16xf32>) {
  // expected-error @+1 {{expected key of rank 4 and element type of query, got 'tensor<2x12x16xf32>'}}
  %0 = heddle.attention %q, %k, %v 
    : tensor<2x8x4x16xf32>, tensor<2x12x16xf32>, tensor<2x12x16xf32> -> tensor<2x8x4x16xf32>
  return
}

// -----

// /*attention_c1*/
func.func @value_has_the_type_of_query(%q: tensor<2x8x4x16xf32>, %k: tensor<2x12x2x16xf32>, %v: tensor<2x12x2x16xbf16>) {
  // expected-error @+1 {{expected value of rank 4 and element type of query, got 'tensor<2x12x2x16xbf16>'}}
  %0 = heddle.attention %q, %k, %v 
    : tensor<2x8x4x16xf32>, tensor<2x12x2x16xf32>, tensor<2x12x2x16xbf16> -> tensor<2x8x4x16xf32>
  return
}

// -----

// /*attention_c1*/
func.func @query_is_f16_bf16_or_f32(%q: tensor<2x8x4x16xi8>, %k: tensor<2x12x2x16xf32>, %v: tensor<2x12x2x16xf32>) {
  // expected-error @+1 {{expected query of rank 4 and element type f16, bf16 or f32, got 'tensor<2x8x4x16xi8>'}}
  %0 = heddle.attention %q, %k, %v 
    : tensor<2x8x4x16xi8>, tensor<2x12x2x16xf32>, tensor<2x12x2x16xf32> -> tensor<2x8x4x16xf32>
  return
}

// -----

// /*attention_c2*/
func.func @key_has_the_batch_size_of_query(%q: tensor<2x8x4x16xf32>, %k: tensor<3x12x2x16xf32>, %v: tensor<3x12x2x16xf32>) {
  // expected-error @+1 {{expected key of shape (B=2, Sk, Hk, d_qk=16) and element type f32, got 'tensor<3x12x2x16xf32>'}}
  %0 = heddle.attention %q, %k, %v 
    : tensor<2x8x4x16xf32>, tensor<3x12x2x16xf32>, tensor<3x12x2x16xf32> -> tensor<2x8x4x16xf32>
  return
}

// -----

// /*attention_c2*/
func.func @key_has_the_head_dim_of_query(%q: tensor<2x8x4x16xf32>, %k: tensor<2x12x2x8xf32>, %v: tensor<2x12x2x8xf32>) {
  // expected-error @+1 {{expected key of shape (B=2, Sk, Hk, d_qk=16) and element type f32, got 'tensor<2x12x2x8xf32>'}}
  %0 = heddle.attention %q, %k, %v 
    : tensor<2x8x4x16xf32>, tensor<2x12x2x8xf32>, tensor<2x12x2x8xf32> -> tensor<2x8x4x16xf32>
  return
}

// -----

// /*attention_c3*/
func.func @value_has_the_length_of_key(%q: tensor<2x4x8x16xf32>, %k: tensor<2x2x12x16xf32>, %v: tensor<2x2x11x16xf32>) {
  // expected-error @+1 {{expected value of shape (B=2, Hk=2, Sk=12, d_v) and element type f32, got 'tensor<2x2x11x16xf32>'}}
  %0 = heddle.attention %q, %k, %v layout = bhsd
    : tensor<2x4x8x16xf32>, tensor<2x2x12x16xf32>, tensor<2x2x11x16xf32> -> tensor<2x8x4x16xf32>
  return
}

// -----

// /*attention_c4*/
func.func @head_dim_is_at_least_1(%q: tensor<2x8x4x0xf32>, %k: tensor<2x12x2x0xf32>, %v: tensor<2x12x2x0xf32>) {
  // expected-error @+1 {{expected d_qk of at least 1, got 0}}
  %0 = heddle.attention %q, %k, %v 
    : tensor<2x8x4x0xf32>, tensor<2x12x2x0xf32>, tensor<2x12x2x0xf32> -> tensor<2x8x4x16xf32>
  return
}

// -----

// /*attention_c4*/
func.func @there_is_a_key_head(%q: tensor<2x8x4x16xf32>, %k: tensor<2x12x0x16xf32>, %v: tensor<2x12x0x16xf32>) {
  // expected-error @+1 {{expected key heads of at least 1, got 0}}
  %0 = heddle.attention %q, %k, %v 
    : tensor<2x8x4x16xf32>, tensor<2x12x0x16xf32>, tensor<2x12x0x16xf32> -> tensor<2x8x4x16xf32>
  return
}

// -----

// /*attention_c5*/
func.func @query_heads_are_a_multiple_of_key_heads(%q: tensor<2x8x4x16xf32>, %k: tensor<2x12x3x16xf32>, %v: tensor<2x12x3x16xf32>) {
  // expected-error @+1 {{expected query heads divisible by key heads, got 4 and 3; heads are axis 2 in layout bshd}}
  %0 = heddle.attention %q, %k, %v 
    : tensor<2x8x4x16xf32>, tensor<2x12x3x16xf32>, tensor<2x12x3x16xf32> -> tensor<2x8x4x16xf32>
  return
}

// -----

// /*attention_c6*/
func.func @out_has_the_head_dim_of_value(%q: tensor<2x8x4x16xf32>, %k: tensor<2x12x2x16xf32>, %v: tensor<2x12x2x6xf32>) {
  // expected-error @+1 {{expected out of shape (B=2, Sq=8, H=4, d_v=6) and element type f32, got 'tensor<2x8x4x16xf32>'}}
  %0 = heddle.attention %q, %k, %v 
    : tensor<2x8x4x16xf32>, tensor<2x12x2x16xf32>, tensor<2x12x2x6xf32> -> tensor<2x8x4x16xf32>
  return
}

// -----

// /*attention_c6*/
func.func @out_has_the_type_of_query(%q: tensor<2x8x4x16xf32>, %k: tensor<2x12x2x16xf32>, %v: tensor<2x12x2x16xf32>) {
  // expected-error @+1 {{expected out of shape (B=2, Sq=8, H=4, d_v=16) and element type f32, got 'tensor<2x8x4x16xbf16>'}}
  %0 = heddle.attention %q, %k, %v 
    : tensor<2x8x4x16xf32>, tensor<2x12x2x16xf32>, tensor<2x12x2x16xf32> -> tensor<2x8x4x16xbf16>
  return
}

// -----

// /*attention_c7*/
func.func @lse_is_f32_by_batch_head_row(%q: tensor<2x8x4x16xf32>, %k: tensor<2x12x2x16xf32>, %v: tensor<2x12x2x16xf32>) {
  // expected-error @+1 {{expected lse of shape (B=2, H=4, Sq=8) and element type f32, got 'tensor<2x8x4xf32>'}}
  %0:2 = heddle.attention %q, %k, %v 
    : tensor<2x8x4x16xf32>, tensor<2x12x2x16xf32>, tensor<2x12x2x16xf32> -> tensor<2x8x4x16xf32>, tensor<2x8x4xf32>
  return
}

// -----

// /*attention_c8*/
func.func @bias_broadcasts_to_the_scores(%q: tensor<2x8x4x16xf32>, %k: tensor<2x12x2x16xf32>, %v: tensor<2x12x2x16xf32>, %b: tensor<1x2x8x12xf32>) {
  // expected-error @+1 {{expected bias of shape (B=2 or 1, H=4 or 1, Sq=8 or 1, Sk=12 or 1) and element type float (f16, bf16 or f32), got 'tensor<1x2x8x12xf32>'}}
  %0 = heddle.attention %q, %k, %v bias(%b : tensor<1x2x8x12xf32>)
    : tensor<2x8x4x16xf32>, tensor<2x12x2x16xf32>, tensor<2x12x2x16xf32> -> tensor<2x8x4x16xf32>
  return
}

// -----

// /*attention_c9*/
func.func @segments_come_in_pairs(%q: tensor<2x8x4x16xf32>, %k: tensor<2x12x2x16xf32>, %v: tensor<2x12x2x16xf32>, %s: tensor<2x12xi32>) {
  // expected-error @+1 {{expected query_segments and key_segments together, got only key_segments}}
  %0 = heddle.attention %q, %k, %v key_segments(%s : tensor<2x12xi32>)
    : tensor<2x8x4x16xf32>, tensor<2x12x2x16xf32>, tensor<2x12x2x16xf32> -> tensor<2x8x4x16xf32>
  return
}

// -----

// /*attention_c9*/
func.func @segments_are_i32_by_batch_and_position(%q: tensor<2x8x4x16xf32>, %k: tensor<2x12x2x16xf32>, %v: tensor<2x12x2x16xf32>, %s: tensor<2x8xi32>) {
  // expected-error @+1 {{expected key_segments of shape (B=2, Sk=12) and element type i32, got 'tensor<2x8xi32>'}}
  %0 = heddle.attention %q, %k, %v query_segments(%s : tensor<2x8xi32>) key_segments(%s : tensor<2x8xi32>)
    : tensor<2x8x4x16xf32>, tensor<2x12x2x16xf32>, tensor<2x12x2x16xf32> -> tensor<2x8x4x16xf32>
  return
}

// -----

// /*attention_c10*/
func.func @key_lengths_are_i32_by_batch(%q: tensor<2x8x4x16xf32>, %k: tensor<2x12x2x16xf32>, %v: tensor<2x12x2x16xf32>, %l: tensor<2xi64>) {
  // expected-error @+1 {{expected key_lengths of shape (B=2) and element type i32, got 'tensor<2xi64>'}}
  %0 = heddle.attention %q, %k, %v key_lengths(%l : tensor<2xi64>)
    : tensor<2x8x4x16xf32>, tensor<2x12x2x16xf32>, tensor<2x12x2x16xf32> -> tensor<2x8x4x16xf32>
  return
}

// -----

// /*attention_c11*/
func.func @mask_tensor_is_i1(%q: tensor<2x8x4x16xf32>, %k: tensor<2x12x2x16xf32>, %v: tensor<2x12x2x16xf32>, %m: tensor<2x4x8x12xi8>) {
  // expected-error @+1 {{expected mask_tensor of shape (B=2 or 1, H=4 or 1, Sq=8 or 1, Sk=12 or 1) and element type i1, got 'tensor<2x4x8x12xi8>'}}
  %0 = heddle.attention %q, %k, %v mask_tensor(%m : tensor<2x4x8x12xi8>)
    : tensor<2x8x4x16xf32>, tensor<2x12x2x16xf32>, tensor<2x12x2x16xf32> -> tensor<2x8x4x16xf32>
  return
}

// -----

// /*attention_c12*/
func.func @sinks_are_f32_by_head(%q: tensor<2x8x4x16xf32>, %k: tensor<2x12x2x16xf32>, %v: tensor<2x12x2x16xf32>, %s: tensor<2xf32>) {
  // expected-error @+1 {{expected sinks of shape (H=4) and element type f32, got 'tensor<2xf32>'}}
  %0 = heddle.attention %q, %k, %v sinks(%s : tensor<2xf32>)
    : tensor<2x8x4x16xf32>, tensor<2x12x2x16xf32>, tensor<2x12x2x16xf32> -> tensor<2x8x4x16xf32>
  return
}

// -----

// /*attention_c13*/
func.func @causal_needs_equal_lengths(%q: tensor<2x8x4x16xf32>, %k: tensor<2x12x2x16xf32>, %v: tensor<2x12x2x16xf32>) {
  // expected-error @+1 {{expected equal query and key lengths with causal, got 8 and 12; say causal_lower_right or causal_upper_left}}
  %0 = heddle.attention %q, %k, %v {mask = #heddle.mask<union<prefix<2>, causal>>}
    : tensor<2x8x4x16xf32>, tensor<2x12x2x16xf32>, tensor<2x12x2x16xf32> -> tensor<2x8x4x16xf32>
  return
}

// -----

// /*attention_c14*/
func.func @score_region_takes_a_score_and_four_positions(%q: tensor<2x8x4x16xf32>, %k: tensor<2x12x2x16xf32>, %v: tensor<2x12x2x16xf32>) {
  // expected-error @+1 {{expected a score region over (f32, index, index, index, index) for (score, b, h, i, j), got ('f32', 'index')}}
  %0 = heddle.attention %q, %k, %v score {
    ^bb0(%s: f32, %b: index):
      heddle.yield %s : f32
    }
    : tensor<2x8x4x16xf32>, tensor<2x12x2x16xf32>, tensor<2x12x2x16xf32> -> tensor<2x8x4x16xf32>
  return
}

// -----

// /*attention_c15*/
func.func @score_region_yields_one_f32(%q: tensor<2x8x4x16xf32>, %k: tensor<2x12x2x16xf32>, %v: tensor<2x12x2x16xf32>) {
  // expected-error @+1 {{expected the score region to yield one f32, got ('index')}}
  %0 = heddle.attention %q, %k, %v score {
    ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
      heddle.yield %i : index
    }
    : tensor<2x8x4x16xf32>, tensor<2x12x2x16xf32>, tensor<2x12x2x16xf32> -> tensor<2x8x4x16xf32>
  return
}

// -----

// /*attention_c15*/
func.func @score_region_ends_with_a_yield(%q: tensor<2x8x4x16xf32>, %k: tensor<2x12x2x16xf32>, %v: tensor<2x12x2x16xf32>) {
  // expected-error @+1 {{expected heddle.yield at the end of the score region, got none}}
  %0 = heddle.attention %q, %k, %v score {
    ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
      llvm.unreachable
    }
    : tensor<2x8x4x16xf32>, tensor<2x12x2x16xf32>, tensor<2x12x2x16xf32> -> tensor<2x8x4x16xf32>
  return
}

// -----

// /*attention_c16*/
func.func private @effect()
func.func @score_region_has_no_side_effects(%q: tensor<2x8x4x16xf32>, %k: tensor<2x12x2x16xf32>, %v: tensor<2x12x2x16xf32>) {
  // expected-error @+1 {{expected a score region without side effects, got func.call}}
  %0 = heddle.attention %q, %k, %v score {
    ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
      // expected-note @+1 {{this op may have side effects}}
      func.call @effect() : () -> ()
      heddle.yield %s : f32
    }
    : tensor<2x8x4x16xf32>, tensor<2x12x2x16xf32>, tensor<2x12x2x16xf32> -> tensor<2x8x4x16xf32>
  return
}

// -----

// /*attention_c17*/
func.func @scale_is_finite(%q: tensor<2x8x4x16xf32>, %k: tensor<2x12x2x16xf32>, %v: tensor<2x12x2x16xf32>) {
  // expected-error @+1 {{expected a finite scale, got 0x7FF0000000000000 : f64}}
  %0 = heddle.attention %q, %k, %v {scale = 0x7FF0000000000000 : f64}
    : tensor<2x8x4x16xf32>, tensor<2x12x2x16xf32>, tensor<2x12x2x16xf32> -> tensor<2x8x4x16xf32>
  return
}
