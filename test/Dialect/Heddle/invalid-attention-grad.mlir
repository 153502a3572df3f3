// RUN: heddle-opt %s -split-input-file -verify-diagnostics

// One case per labelled constraint of heddle.attention_grad.

// -----

// /*attention_grad_c1*/
func.func @key_has_the_head_dim_of_query(%q: tensor<2x8x4x16xf32>, %k: tensor<2x12x2x8xf32>, %v: tensor<2x12x2x8xf32>, %l: tensor<2x4x8xf32>, %g: tensor<2x8x4x8xf32>, %o: tensor<2x8x4x8xf32>) {
  // expected-error @+1 {{expected key of shape (B=2, Sk, Hk, d_qk=16) and element type f32, got 'tensor<2x12x2x8xf32>'}}
  %0 = heddle.attention_grad %q, %k, %v, %l, %g out(%o : tensor<2x8x4x8xf32>)
    : tensor<2x8x4x16xf32>, tensor<2x12x2x8xf32>, tensor<2x12x2x8xf32>, tensor<2x4x8xf32>, tensor<2x8x4x8xf32> -> d_query tensor<2x8x4x16xf32>
  return
}

// -----

// /*attention_grad_c1*/
func.func @bias_broadcasts_to_the_scores(%q: tensor<2x8x4x16xf32>, %k: tensor<2x12x2x16xf32>, %v: tensor<2x12x2x8xf32>, %l: tensor<2x4x8xf32>, %g: tensor<2x8x4x8xf32>, %o: tensor<2x8x4x8xf32>, %b: tensor<2x4x8x8xf32>) {
  // expected-error @+1 {{expected bias of shape (B=2 or 1, H=4 or 1, Sq=8 or 1, Sk=12 or 1) and element type float (f16, bf16 or f32), got 'tensor<2x4x8x8xf32>'}}
  %0 = heddle.attention_grad %q, %k, %v, %l, %g out(%o : tensor<2x8x4x8xf32>) bias(%b : tensor<2x4x8x8xf32>)
    : tensor<2x8x4x16xf32>, tensor<2x12x2x16xf32>, tensor<2x12x2x8xf32>, tensor<2x4x8xf32>, tensor<2x8x4x8xf32> -> d_query tensor<2x8x4x16xf32>
  return
}

// -----

// /*attention_grad_c1*/
func.func @causal_needs_equal_lengths(%q: tensor<2x8x4x16xf32>, %k: tensor<2x12x2x16xf32>, %v: tensor<2x12x2x8xf32>, %l: tensor<2x4x8xf32>, %g: tensor<2x8x4x8xf32>, %o: tensor<2x8x4x8xf32>) {
  // expected-error @+1 {{expected equal query and key lengths with causal, got 8 and 12; say causal_lower_right or causal_upper_left}}
  %0 = heddle.attention_grad %q, %k, %v, %l, %g out(%o : tensor<2x8x4x8xf32>) {mask = #heddle.mask<causal>}
    : tensor<2x8x4x16xf32>, tensor<2x12x2x16xf32>, tensor<2x12x2x8xf32>, tensor<2x4x8xf32>, tensor<2x8x4x8xf32> -> d_query tensor<2x8x4x16xf32>
  return
}

// -----

// /*attention_grad_c2*/
func.func @d_out_has_the_type_of_query(%q: tensor<2x8x4x16xf32>, %k: tensor<2x12x2x16xf32>, %v: tensor<2x12x2x8xf32>, %l: tensor<2x4x8xf32>, %g: tensor<2x8x4x8xbf16>, %o: tensor<2x8x4x8xf32>) {
  // expected-error @+1 {{expected d_out of shape (B=2, Sq=8, H=4, d_v=8) and element type f32, got 'tensor<2x8x4x8xbf16>'}}
  %0 = heddle.attention_grad %q, %k, %v, %l, %g out(%o : tensor<2x8x4x8xf32>)
    : tensor<2x8x4x16xf32>, tensor<2x12x2x16xf32>, tensor<2x12x2x8xf32>, tensor<2x4x8xf32>, tensor<2x8x4x8xbf16> -> d_query tensor<2x8x4x16xf32>
  return
}

// -----

// /*attention_grad_c2*/
func.func @out_has_the_head_dim_of_value(%q: tensor<2x8x4x16xf32>, %k: tensor<2x12x2x16xf32>, %v: tensor<2x12x2x8xf32>, %l: tensor<2x4x8xf32>, %g: tensor<2x8x4x8xf32>, %o: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{expected out of shape (B=2, Sq=8, H=4, d_v=8) and element type f32, got 'tensor<2x8x4x16xf32>'}}
  %0 = heddle.attention_grad %q, %k, %v, %l, %g out(%o : tensor<2x8x4x16xf32>)
    : tensor<2x8x4x16xf32>, tensor<2x12x2x16xf32>, tensor<2x12x2x8xf32>, tensor<2x4x8xf32>, tensor<2x8x4x8xf32> -> d_query tensor<2x8x4x16xf32>
  return
}

// -----

// /*attention_grad_c3*/
func.func @lse_has_heads_before_positions(%q: tensor<2x8x4x16xf32>, %k: tensor<2x12x2x16xf32>, %v: tensor<2x12x2x8xf32>, %l: tensor<2x8x4xf32>, %g: tensor<2x8x4x8xf32>, %o: tensor<2x8x4x8xf32>) {
  // expected-error @+1 {{expected lse of shape (B=2, H=4, Sq=8) and element type f32, got 'tensor<2x8x4xf32>'}}
  %0 = heddle.attention_grad %q, %k, %v, %l, %g out(%o : tensor<2x8x4x8xf32>)
    : tensor<2x8x4x16xf32>, tensor<2x12x2x16xf32>, tensor<2x12x2x8xf32>, tensor<2x8x4xf32>, tensor<2x8x4x8xf32> -> d_query tensor<2x8x4x16xf32>
  return
}

// -----

// /*attention_grad_c3*/
func.func @row_dots_are_f32(%q: tensor<2x8x4x16xf32>, %k: tensor<2x12x2x16xf32>, %v: tensor<2x12x2x8xf32>, %l: tensor<2x4x8xf32>, %g: tensor<2x8x4x8xf32>, %o: tensor<2x8x4x8xf32>, %d: tensor<2x4x8xbf16>) {
  // expected-error @+1 {{expected row_dots of shape (B=2, H=4, Sq=8) and element type f32, got 'tensor<2x4x8xbf16>'}}
  %0 = heddle.attention_grad %q, %k, %v, %l, %g row_dots(%d : tensor<2x4x8xbf16>)
    : tensor<2x8x4x16xf32>, tensor<2x12x2x16xf32>, tensor<2x12x2x8xf32>, tensor<2x4x8xf32>, tensor<2x8x4x8xf32> -> d_query tensor<2x8x4x16xf32>
  return
}

// -----

// /*attention_grad_c4*/
func.func @out_or_row_dots_is_there(%q: tensor<2x8x4x16xf32>, %k: tensor<2x12x2x16xf32>, %v: tensor<2x12x2x8xf32>, %l: tensor<2x4x8xf32>, %g: tensor<2x8x4x8xf32>, %o: tensor<2x8x4x8xf32>) {
  // expected-error @+1 {{expected out or row_dots, got neither}}
  %0 = heddle.attention_grad %q, %k, %v, %l, %g 
    : tensor<2x8x4x16xf32>, tensor<2x12x2x16xf32>, tensor<2x12x2x8xf32>, tensor<2x4x8xf32>, tensor<2x8x4x8xf32> -> d_query tensor<2x8x4x16xf32>
  return
}

// -----

// /*attention_grad_c4*/
func.func @out_and_row_dots_exclude_each_other(%q: tensor<2x8x4x16xf32>, %k: tensor<2x12x2x16xf32>, %v: tensor<2x12x2x8xf32>, %l: tensor<2x4x8xf32>, %g: tensor<2x8x4x8xf32>, %o: tensor<2x8x4x8xf32>) {
  // expected-error @+1 {{expected out or row_dots, got both}}
  %0 = heddle.attention_grad %q, %k, %v, %l, %g out(%o : tensor<2x8x4x8xf32>) row_dots(%l : tensor<2x4x8xf32>)
    : tensor<2x8x4x16xf32>, tensor<2x12x2x16xf32>, tensor<2x12x2x8xf32>, tensor<2x4x8xf32>, tensor<2x8x4x8xf32> -> d_query tensor<2x8x4x16xf32>
  return
}

// -----

// /*attention_grad_c4*/
func.func @row_dots_hold_d_lse(%q: tensor<2x8x4x16xf32>, %k: tensor<2x12x2x16xf32>, %v: tensor<2x12x2x8xf32>, %l: tensor<2x4x8xf32>, %g: tensor<2x8x4x8xf32>, %o: tensor<2x8x4x8xf32>) {
  // expected-error @+1 {{expected d_lse with out, got it with row_dots, which has it taken off already}}
  %0 = heddle.attention_grad %q, %k, %v, %l, %g row_dots(%l : tensor<2x4x8xf32>) d_lse(%l : tensor<2x4x8xf32>)
    : tensor<2x8x4x16xf32>, tensor<2x12x2x16xf32>, tensor<2x12x2x8xf32>, tensor<2x4x8xf32>, tensor<2x8x4x8xf32> -> d_query tensor<2x8x4x16xf32>
  return
}

// -----

// /*attention_grad_c5*/
func.func @d_key_has_the_type_of_key(%q: tensor<2x8x4x16xf32>, %k: tensor<2x12x2x16xf32>, %v: tensor<2x12x2x8xf32>, %l: tensor<2x4x8xf32>, %g: tensor<2x8x4x8xf32>, %o: tensor<2x8x4x8xf32>) {
  // expected-error @+1 {{expected d_key of type 'tensor<2x12x2x16xf32>', got 'tensor<2x8x4x16xf32>'}}
  %0 = heddle.attention_grad %q, %k, %v, %l, %g out(%o : tensor<2x8x4x8xf32>)
    : tensor<2x8x4x16xf32>, tensor<2x12x2x16xf32>, tensor<2x12x2x8xf32>, tensor<2x4x8xf32>, tensor<2x8x4x8xf32> -> d_key tensor<2x8x4x16xf32>
  return
}

// -----

// /*attention_grad_c6*/
func.func @d_bias_needs_bias(%q: tensor<2x8x4x16xf32>, %k: tensor<2x12x2x16xf32>, %v: tensor<2x12x2x8xf32>, %l: tensor<2x4x8xf32>, %g: tensor<2x8x4x8xf32>, %o: tensor<2x8x4x8xf32>) {
  // expected-error @+1 {{expected bias with d_bias, got none}}
  %0 = heddle.attention_grad %q, %k, %v, %l, %g out(%o : tensor<2x8x4x8xf32>)
    : tensor<2x8x4x16xf32>, tensor<2x12x2x16xf32>, tensor<2x12x2x8xf32>, tensor<2x4x8xf32>, tensor<2x8x4x8xf32> -> d_bias tensor<1x1x8x12xf32>
  return
}

// -----

// /*attention_grad_c6*/
func.func @d_sinks_needs_sinks(%q: tensor<2x8x4x16xf32>, %k: tensor<2x12x2x16xf32>, %v: tensor<2x12x2x8xf32>, %l: tensor<2x4x8xf32>, %g: tensor<2x8x4x8xf32>, %o: tensor<2x8x4x8xf32>) {
  // expected-error @+1 {{expected sinks with d_sinks, got none}}
  %0 = heddle.attention_grad %q, %k, %v, %l, %g out(%o : tensor<2x8x4x8xf32>)
    : tensor<2x8x4x16xf32>, tensor<2x12x2x16xf32>, tensor<2x12x2x8xf32>, tensor<2x4x8xf32>, tensor<2x8x4x8xf32> -> d_sinks tensor<4xf32>
  return
}

// -----

// /*attention_grad_c6*/
func.func @a_gradient_is_wanted(%q: tensor<2x8x4x16xf32>, %k: tensor<2x12x2x16xf32>, %v: tensor<2x12x2x8xf32>, %l: tensor<2x4x8xf32>, %g: tensor<2x8x4x8xf32>, %o: tensor<2x8x4x8xf32>) {
  // expected-error @+1 {{expected at least one gradient, got none}}
  "heddle.attention_grad"(%q, %k, %v, %l, %g, %o) ({})
    {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0>, resultSegmentSizes = array<i32: 0, 0, 0, 0, 0, 0>}
    : (tensor<2x8x4x16xf32>, tensor<2x12x2x16xf32>, tensor<2x12x2x8xf32>, tensor<2x4x8xf32>, tensor<2x8x4x8xf32>, tensor<2x8x4x8xf32>) -> ()
  return
}

// -----

// /*attention_grad_c7*/
func.func @the_score_region_takes_positions(%q: tensor<2x8x4x16xf32>, %k: tensor<2x12x2x16xf32>, %v: tensor<2x12x2x8xf32>, %l: tensor<2x4x8xf32>, %g: tensor<2x8x4x8xf32>, %o: tensor<2x8x4x8xf32>) {
  // expected-error @+1 {{expected a score region over (f32, index, index, index, index) for (score, b, h, i, j), got ('f32')}}
  %0 = heddle.attention_grad %q, %k, %v, %l, %g out(%o : tensor<2x8x4x8xf32>) score {
  ^bb0(%s: f32):
    heddle.yield %s, %s : f32, f32
  }
    : tensor<2x8x4x16xf32>, tensor<2x12x2x16xf32>, tensor<2x12x2x8xf32>, tensor<2x4x8xf32>, tensor<2x8x4x8xf32> -> d_query tensor<2x8x4x16xf32>
  return
}

// -----

// /*attention_grad_c8*/
func.func @the_score_region_yields_a_derivative(%q: tensor<2x8x4x16xf32>, %k: tensor<2x12x2x16xf32>, %v: tensor<2x12x2x8xf32>, %l: tensor<2x4x8xf32>, %g: tensor<2x8x4x8xf32>, %o: tensor<2x8x4x8xf32>) {
  // expected-error @+1 {{expected the score region to yield two f32 (score, derivative), got ('f32')}}
  %0 = heddle.attention_grad %q, %k, %v, %l, %g out(%o : tensor<2x8x4x8xf32>) score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
    heddle.yield %s : f32
  }
    : tensor<2x8x4x16xf32>, tensor<2x12x2x16xf32>, tensor<2x12x2x8xf32>, tensor<2x4x8xf32>, tensor<2x8x4x8xf32> -> d_query tensor<2x8x4x16xf32>
  return
}

// -----

// /*attention_grad_c9*/
func.func private @effect()
func.func @the_score_region_has_no_side_effects(%q: tensor<2x8x4x16xf32>, %k: tensor<2x12x2x16xf32>, %v: tensor<2x12x2x8xf32>, %l: tensor<2x4x8xf32>, %g: tensor<2x8x4x8xf32>, %o: tensor<2x8x4x8xf32>) {
  // expected-error @+1 {{expected a score region without side effects, got func.call}}
  %0 = heddle.attention_grad %q, %k, %v, %l, %g out(%o : tensor<2x8x4x8xf32>) score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
    // expected-note @+1 {{this op may have side effects}}
    func.call @effect() : () -> ()
    heddle.yield %s, %s : f32, f32
  }
    : tensor<2x8x4x16xf32>, tensor<2x12x2x16xf32>, tensor<2x12x2x8xf32>, tensor<2x4x8xf32>, tensor<2x8x4x8xf32> -> d_query tensor<2x8x4x16xf32>
  return
}
