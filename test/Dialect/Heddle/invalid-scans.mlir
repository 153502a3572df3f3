// RUN: heddle-opt %s -split-input-file -verify-diagnostics

// One case per labelled constraint of the scans.

// -----

// /*selective_scan_c1*/
func.func @u_is_rank_3(%u: tensor<5x8xf32>, %dt: tensor<2x5x8xf32>, %a: tensor<8x3xf32>, %b: tensor<2x5x3xf32>) {
  // expected-error @+1 {{expected u of shape (B, L, D) and element type float (f16, bf16 or f32), got 'tensor<5x8xf32>'; reshape it to rank 3}}
  %0 = heddle.selective_scan %u, %dt, %a, %b, %b 
    : tensor<5x8xf32>, tensor<2x5x8xf32>, tensor<8x3xf32>, tensor<2x5x3xf32>, tensor<2x5x3xf32> -> tensor<2x5x8xf32>
  return
}

// -----

// /*selective_scan_c2*/
func.func @delta_has_the_shape_of_u(%u: tensor<2x5x8xf32>, %dt: tensor<2x5x1xf32>, %a: tensor<8x3xf32>, %b: tensor<2x5x3xf32>) {
  // expected-error @+1 {{expected delta of shape (B=2, L=5, D=8) and element type float (f16, bf16 or f32), got 'tensor<2x5x1xf32>'; make its axis D 8 long}}
  %0 = heddle.selective_scan %u, %dt, %a, %b, %b 
    : tensor<2x5x8xf32>, tensor<2x5x1xf32>, tensor<8x3xf32>, tensor<2x5x3xf32>, tensor<2x5x3xf32> -> tensor<2x5x8xf32>
  return
}

// -----

// /*selective_scan_c3*/
func.func @a_is_f32_by_channel_and_state(%u: tensor<2x5x8xf32>, %dt: tensor<2x5x8xf32>, %a: tensor<3x8xf32>, %b: tensor<2x5x3xf32>) {
  // expected-error @+1 {{expected a of shape (D=8, N) and element type f32, got 'tensor<3x8xf32>'; make its axis D 8 long}}
  %0 = heddle.selective_scan %u, %dt, %a, %b, %b 
    : tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<3x8xf32>, tensor<2x5x3xf32>, tensor<2x5x3xf32> -> tensor<2x5x8xf32>
  return
}

// -----

// /*selective_scan_c4*/
func.func @b_has_the_state_size_of_a(%u: tensor<2x5x8xf32>, %dt: tensor<2x5x8xf32>, %a: tensor<8x3xf32>, %b: tensor<2x5x4xf32>) {
  // expected-error @+1 {{expected b of shape (B=2, L=5, N=3) and element type float (f16, bf16 or f32), got 'tensor<2x5x4xf32>'; make its axis N 3 long}}
  %0 = heddle.selective_scan %u, %dt, %a, %b, %b 
    : tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<8x3xf32>, tensor<2x5x4xf32>, tensor<2x5x4xf32> -> tensor<2x5x8xf32>
  return
}

// -----

// /*selective_scan_c5*/
func.func @groups_divide_the_channels(%u: tensor<2x5x8xf32>, %dt: tensor<2x5x8xf32>, %a: tensor<8x3xf32>, %b: tensor<2x5x3x3xf32>) {
  // expected-error @+1 {{expected D divisible by the groups of b, got 8 and 3; use a number of groups that divides D}}
  %0 = heddle.selective_scan %u, %dt, %a, %b, %b 
    : tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<8x3xf32>, tensor<2x5x3x3xf32>, tensor<2x5x3x3xf32> -> tensor<2x5x8xf32>
  return
}

// -----

// /*selective_scan_c6*/
func.func @d_is_by_channel(%u: tensor<2x5x8xf32>, %dt: tensor<2x5x8xf32>, %a: tensor<8x3xf32>, %b: tensor<2x5x3xf32>, %d: tensor<5xf32>) {
  // expected-error @+1 {{expected d of shape (D=8) and element type float (f16, bf16 or f32), got 'tensor<5xf32>'; make its axis D 8 long}}
  %0 = heddle.selective_scan %u, %dt, %a, %b, %b d(%d : tensor<5xf32>)
    : tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<8x3xf32>, tensor<2x5x3xf32>, tensor<2x5x3xf32> -> tensor<2x5x8xf32>
  return
}

// -----

// /*selective_scan_c6*/
func.func @delta_bias_is_by_channel(%u: tensor<2x5x8xf32>, %dt: tensor<2x5x8xf32>, %a: tensor<8x3xf32>, %b: tensor<2x5x3xf32>, %d: tensor<8xi32>) {
  // expected-error @+1 {{expected delta_bias of shape (D=8) and element type float (f16, bf16 or f32), got 'tensor<8xi32>'; cast it}}
  %0 = heddle.selective_scan %u, %dt, %a, %b, %b delta_bias(%d : tensor<8xi32>)
    : tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<8x3xf32>, tensor<2x5x3xf32>, tensor<2x5x3xf32> -> tensor<2x5x8xf32>
  return
}

// -----

// /*selective_scan_c7*/
func.func @z_has_the_type_of_u(%u: tensor<2x5x8xf32>, %dt: tensor<2x5x8xf32>, %a: tensor<8x3xf32>, %b: tensor<2x5x3xf32>, %z: tensor<2x5x8xbf16>) {
  // expected-error @+1 {{expected z of shape (B=2, L=5, D=8) and element type f32, got 'tensor<2x5x8xbf16>'; cast it}}
  %0 = heddle.selective_scan %u, %dt, %a, %b, %b z(%z : tensor<2x5x8xbf16>)
    : tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<8x3xf32>, tensor<2x5x3xf32>, tensor<2x5x3xf32> -> tensor<2x5x8xf32>
  return
}

// -----

// /*selective_scan_c8*/
func.func @initial_state_is_f32(%u: tensor<2x5x8xf32>, %dt: tensor<2x5x8xf32>, %a: tensor<8x3xf32>, %b: tensor<2x5x3xf32>, %h: tensor<2x8x3xbf16>) {
  // expected-error @+1 {{expected initial_state of shape (B=2, D=8, N=3) and element type f32, got 'tensor<2x8x3xbf16>'; cast it}}
  %0 = heddle.selective_scan %u, %dt, %a, %b, %b initial_state(%h : tensor<2x8x3xbf16>)
    : tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<8x3xf32>, tensor<2x5x3xf32>, tensor<2x5x3xf32> -> tensor<2x5x8xf32>
  return
}

// -----

// /*selective_scan_c8*/
func.func @final_state_is_by_batch_channel_state(%u: tensor<2x5x8xf32>, %dt: tensor<2x5x8xf32>, %a: tensor<8x3xf32>, %b: tensor<2x5x3xf32>) {
  // expected-error @+1 {{expected final_state of shape (B=2, D=8, N=3) and element type f32, got 'tensor<2x3x8xf32>'; declare the result so}}
  %0:2 = heddle.selective_scan %u, %dt, %a, %b, %b 
    : tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<8x3xf32>, tensor<2x5x3xf32>, tensor<2x5x3xf32> -> tensor<2x5x8xf32>, tensor<2x3x8xf32>
  return
}

// -----

// /*selective_scan_c9*/
func.func @reset_ids_are_i32_by_batch_and_step(%u: tensor<2x5x8xf32>, %dt: tensor<2x5x8xf32>, %a: tensor<8x3xf32>, %b: tensor<2x5x3xf32>, %r: tensor<5xi32>) {
  // expected-error @+1 {{expected reset_ids of shape (B=2, L=5) and element type i32, got 'tensor<5xi32>'; reshape it to rank 2}}
  %0 = heddle.selective_scan %u, %dt, %a, %b, %b reset_ids(%r : tensor<5xi32>)
    : tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<8x3xf32>, tensor<2x5x3xf32>, tensor<2x5x3xf32> -> tensor<2x5x8xf32>
  return
}

// -----

// /*selective_scan_c10*/
func.func @y_has_the_type_of_u(%u: tensor<2x5x8xf32>, %dt: tensor<2x5x8xf32>, %a: tensor<8x3xf32>, %b: tensor<2x5x3xf32>) {
  // expected-error @+1 {{expected y of shape (B=2, L=5, D=8) and element type f32, got 'tensor<2x5x8xbf16>'; declare the result so}}
  %0 = heddle.selective_scan %u, %dt, %a, %b, %b 
    : tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<8x3xf32>, tensor<2x5x3xf32>, tensor<2x5x3xf32> -> tensor<2x5x8xbf16>
  return
}

// -----

// /*selective_scan_c11*/
func.func @a_chunk_has_steps(%u: tensor<2x5x8xf32>, %a: tensor<8x3xf32>, %b: tensor<2x5x3xf32>, %h: tensor<2x2x8x3xf32>) {
  // expected-error @+1 {{expected a positive chunk, got 0; it is the number of steps between states}}
  %0:2 = heddle.selective_scan %u, %u, %a, %b, %b {chunk = 0}
    : tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<8x3xf32>, tensor<2x5x3xf32>, tensor<2x5x3xf32> -> tensor<2x5x8xf32>, chunk_states tensor<2x4x8x3xf32>
  return
}

// -----

// /*selective_scan_c11*/
func.func @a_chunk_leaves_states(%u: tensor<2x5x8xf32>, %a: tensor<8x3xf32>, %b: tensor<2x5x3xf32>, %h: tensor<2x2x8x3xf32>) {
  // expected-error @+1 {{expected chunk and chunk_states together, got only chunk}}
  %0 = heddle.selective_scan %u, %u, %a, %b, %b {chunk = 2}
    : tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<8x3xf32>, tensor<2x5x3xf32>, tensor<2x5x3xf32> -> tensor<2x5x8xf32>
  return
}

// -----

// /*selective_scan_c11*/
func.func @states_of_chunks_need_a_chunk(%u: tensor<2x5x8xf32>, %a: tensor<8x3xf32>, %b: tensor<2x5x3xf32>, %h: tensor<2x2x8x3xf32>) {
  // expected-error @+1 {{expected chunk and chunk_states together, got only chunk_states}}
  %0:2 = heddle.selective_scan %u, %u, %a, %b, %b
    : tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<8x3xf32>, tensor<2x5x3xf32>, tensor<2x5x3xf32> -> tensor<2x5x8xf32>, chunk_states tensor<2x2x8x3xf32>
  return
}

// -----

// /*selective_scan_c11*/
func.func @there_is_a_state_between_chunks(%u: tensor<2x5x8xf32>, %a: tensor<8x3xf32>, %b: tensor<2x5x3xf32>, %h: tensor<2x2x8x3xf32>) {
  // expected-error @+1 {{expected chunk_states of shape (B=2, boundaries=2, D=8, N=3) and element type f32, got 'tensor<2x3x8x3xf32>'}}
  %0:2 = heddle.selective_scan %u, %u, %a, %b, %b {chunk = 2}
    : tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<8x3xf32>, tensor<2x5x3xf32>, tensor<2x5x3xf32> -> tensor<2x5x8xf32>, chunk_states tensor<2x3x8x3xf32>
  return
}

// -----

// /*ssd_c1*/
func.func @query_is_rank_4(%q: tensor<2x5x3xf32>, %k: tensor<2x5x3xf32>, %v: tensor<2x5x4x6xf32>, %a: tensor<2x5x4xf32>) {
  // expected-error @+1 {{expected query of shape (B, L, G, dk) and element type float (f16, bf16 or f32), got 'tensor<2x5x3xf32>'; reshape it to rank 4}}
  %0 = heddle.ssd %q, %k, %v, %a 
    : tensor<2x5x3xf32>, tensor<2x5x3xf32>, tensor<2x5x4x6xf32>, tensor<2x5x4xf32> -> tensor<2x5x4x6xf32>
  return
}

// -----

// /*ssd_c2*/
func.func @key_has_the_type_of_query(%q: tensor<2x5x2x3xf32>, %k: tensor<2x5x2x4xf32>, %v: tensor<2x5x4x6xf32>, %a: tensor<2x5x4xf32>) {
  // expected-error @+1 {{expected key of shape (B=2, L=5, G=2, dk=3) and element type f32, got 'tensor<2x5x2x4xf32>'; make its axis dk 3 long}}
  %0 = heddle.ssd %q, %k, %v, %a 
    : tensor<2x5x2x3xf32>, tensor<2x5x2x4xf32>, tensor<2x5x4x6xf32>, tensor<2x5x4xf32> -> tensor<2x5x4x6xf32>
  return
}

// -----

// /*ssd_c3*/
func.func @value_has_the_length_of_query(%q: tensor<2x5x2x3xf32>, %k: tensor<2x5x2x3xf32>, %v: tensor<2x6x4x6xf32>, %a: tensor<2x5x4xf32>) {
  // expected-error @+1 {{expected value of shape (B=2, L=5, H, dv) and element type f32, got 'tensor<2x6x4x6xf32>'; make its axis L 5 long}}
  %0 = heddle.ssd %q, %k, %v, %a 
    : tensor<2x5x2x3xf32>, tensor<2x5x2x3xf32>, tensor<2x6x4x6xf32>, tensor<2x5x4xf32> -> tensor<2x5x4x6xf32>
  return
}

// -----

// /*ssd_c4*/
func.func @groups_divide_the_value_heads(%q: tensor<2x5x3x3xf32>, %k: tensor<2x5x3x3xf32>, %v: tensor<2x5x4x6xf32>, %a: tensor<2x5x4xf32>) {
  // expected-error @+1 {{expected value heads divisible by the groups of query and key, got 4 and 3; use a number of groups that divides H}}
  %0 = heddle.ssd %q, %k, %v, %a 
    : tensor<2x5x3x3xf32>, tensor<2x5x3x3xf32>, tensor<2x5x4x6xf32>, tensor<2x5x4xf32> -> tensor<2x5x4x6xf32>
  return
}

// -----

// /*ssd_c5*/
func.func @log_decay_is_by_head(%q: tensor<2x5x2x3xf32>, %k: tensor<2x5x2x3xf32>, %v: tensor<2x5x4x6xf32>, %a: tensor<2x5x2xf32>) {
  // expected-error @+1 {{expected log_decay of shape (B=2, L=5, H=4) and element type float (f16, bf16 or f32), got 'tensor<2x5x2xf32>'; make its axis H 4 long}}
  %0 = heddle.ssd %q, %k, %v, %a 
    : tensor<2x5x2x3xf32>, tensor<2x5x2x3xf32>, tensor<2x5x4x6xf32>, tensor<2x5x2xf32> -> tensor<2x5x4x6xf32>
  return
}

// -----

// /*ssd_c6*/
func.func @initial_state_is_a_matrix_per_head(%q: tensor<2x5x2x3xf32>, %k: tensor<2x5x2x3xf32>, %v: tensor<2x5x4x6xf32>, %a: tensor<2x5x4xf32>, %h: tensor<2x4x6x3xf32>) {
  // expected-error @+1 {{expected initial_state of shape (B=2, H=4, dk=3, dv=6) and element type f32, got 'tensor<2x4x6x3xf32>'; make its axis dk 3 long}}
  %0 = heddle.ssd %q, %k, %v, %a initial_state(%h : tensor<2x4x6x3xf32>)
    : tensor<2x5x2x3xf32>, tensor<2x5x2x3xf32>, tensor<2x5x4x6xf32>, tensor<2x5x4xf32> -> tensor<2x5x4x6xf32>
  return
}

// -----

// /*ssd_c6*/
func.func @final_state_is_a_matrix_per_head(%q: tensor<2x5x2x3xf32>, %k: tensor<2x5x2x3xf32>, %v: tensor<2x5x4x6xf32>, %a: tensor<2x5x4xf32>) {
  // expected-error @+1 {{expected final_state of shape (B=2, H=4, dk=3, dv=6) and element type f32, got 'tensor<2x2x3x6xf32>'; declare the result so}}
  %0:2 = heddle.ssd %q, %k, %v, %a 
    : tensor<2x5x2x3xf32>, tensor<2x5x2x3xf32>, tensor<2x5x4x6xf32>, tensor<2x5x4xf32> -> tensor<2x5x4x6xf32>, tensor<2x2x3x6xf32>
  return
}

// -----

// /*ssd_c7*/
func.func @ssd_reset_ids_are_i32(%q: tensor<2x5x2x3xf32>, %k: tensor<2x5x2x3xf32>, %v: tensor<2x5x4x6xf32>, %a: tensor<2x5x4xf32>, %r: tensor<2x5xi1>) {
  // expected-error @+1 {{expected reset_ids of shape (B=2, L=5) and element type i32, got 'tensor<2x5xi1>'; cast it}}
  %0 = heddle.ssd %q, %k, %v, %a reset_ids(%r : tensor<2x5xi1>)
    : tensor<2x5x2x3xf32>, tensor<2x5x2x3xf32>, tensor<2x5x4x6xf32>, tensor<2x5x4xf32> -> tensor<2x5x4x6xf32>
  return
}

// -----

// /*ssd_c8*/
func.func @out_has_the_type_of_value(%q: tensor<2x5x2x3xf32>, %k: tensor<2x5x2x3xf32>, %v: tensor<2x5x4x6xf32>, %a: tensor<2x5x4xf32>) {
  // expected-error @+1 {{expected out of shape (B=2, L=5, H=4, dv=6) and element type f32, got 'tensor<2x5x4x3xf32>'; declare the result so}}
  %0 = heddle.ssd %q, %k, %v, %a 
    : tensor<2x5x2x3xf32>, tensor<2x5x2x3xf32>, tensor<2x5x4x6xf32>, tensor<2x5x4xf32> -> tensor<2x5x4x3xf32>
  return
}

// -----

// /*linear_scan_c1*/
func.func @b_is_rank_3(%a: tensor<8xf32>, %b: tensor<5x8xf32>) {
  // expected-error @+1 {{expected b of shape (B, L, D) and element type float (f16, bf16 or f32), got 'tensor<5x8xf32>'; reshape it to rank 3}}
  %0 = heddle.linear_scan %a, %b 
    : tensor<8xf32>, tensor<5x8xf32> -> (tensor<2x5x8xf32>)
  return
}

// -----

// /*linear_scan_c2*/
func.func @a_is_by_channel_or_by_step(%a: tensor<5x8xf32>, %b: tensor<2x5x8xf32>) {
  // expected-error @+1 {{expected a of shape (D), constant over time, or (B, L, D), got 'tensor<5x8xf32>'; broadcast it over the axes that it lacks}}
  %0 = heddle.linear_scan %a, %b 
    : tensor<5x8xf32>, tensor<2x5x8xf32> -> (tensor<2x5x8xf32>)
  return
}

// -----

// /*linear_scan_c2*/
func.func @a_has_the_element_type_of_b(%a: tensor<8xbf16>, %b: tensor<2x5x8xf32>) {
  // expected-error @+1 {{expected a of shape (D=8) and element type f32, got 'tensor<8xbf16>'; cast it}}
  %0 = heddle.linear_scan %a, %b 
    : tensor<8xbf16>, tensor<2x5x8xf32> -> (tensor<2x5x8xf32>)
  return
}

// -----

// /*linear_scan_c3*/
func.func @imaginary_parts_come_together(%a: tensor<8xf32>, %b: tensor<2x5x8xf32>) {
  // expected-error @+1 {{expected a_imag and b_imag together, got only a_imag; write both, as in imag(%a_imag, %b_imag : ...)}}
  %0 = "heddle.linear_scan"(%a, %b, %a)
    <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0>, resultSegmentSizes = array<i32: 1, 0, 0, 0>}>
    : (tensor<8xf32>, tensor<2x5x8xf32>, tensor<8xf32>) -> tensor<2x5x8xf32>
  return
}

// -----

// /*linear_scan_c3*/
func.func @a_imag_has_the_type_of_a(%a: tensor<8xf32>, %b: tensor<2x5x8xf32>) {
  // expected-error @+1 {{expected a_imag of shape (D=8) and element type f32, got 'tensor<2x5x8xf32>'; reshape it to rank 1}}
  %0:2 = heddle.linear_scan %a, %b imag(%b, %b : tensor<2x5x8xf32>, tensor<2x5x8xf32>)
    : tensor<8xf32>, tensor<2x5x8xf32> -> (tensor<2x5x8xf32>, imag tensor<2x5x8xf32>)
  return
}

// -----

// /*linear_scan_c4*/
func.func @h_has_the_type_of_b(%a: tensor<8xf32>, %b: tensor<2x5x8xf32>) {
  // expected-error @+1 {{expected h of shape (B=2, L=5, D=8) and element type f32, got 'tensor<2x5x4xf32>'; declare the result so}}
  %0 = heddle.linear_scan %a, %b 
    : tensor<8xf32>, tensor<2x5x8xf32> -> (tensor<2x5x4xf32>)
  return
}

// -----

// /*linear_scan_c5*/
func.func @real_scan_has_no_imaginary_part(%a: tensor<8xf32>, %b: tensor<2x5x8xf32>) {
  // expected-error @+1 {{expected an imaginary part of h only with imag operands, got one; remove it, or give the operands}}
  %0:2 = heddle.linear_scan %a, %b 
    : tensor<8xf32>, tensor<2x5x8xf32> -> (tensor<2x5x8xf32>, imag tensor<2x5x8xf32>)
  return
}

// -----

// /*linear_scan_c5*/
func.func @complex_scan_has_an_imaginary_part(%a: tensor<8xf32>, %b: tensor<2x5x8xf32>) {
  // expected-error @+1 {{expected an imaginary part of h with imag operands, got none; declare it after h}}
  %0 = heddle.linear_scan %a, %b imag(%a, %b : tensor<8xf32>, tensor<2x5x8xf32>)
    : tensor<8xf32>, tensor<2x5x8xf32> -> (tensor<2x5x8xf32>)
  return
}

// -----

// /*linear_scan_c6*/
func.func @states_are_f32_by_batch_and_channel(%a: tensor<8xf32>, %b: tensor<2x5x8xf32>) {
  // expected-error @+1 {{expected final_state of shape (B=2, D=8) and element type f32, got 'tensor<8xf32>'; declare the result so}}
  %0:2 = heddle.linear_scan %a, %b 
    : tensor<8xf32>, tensor<2x5x8xf32> -> (tensor<2x5x8xf32>, final tensor<8xf32>)
  return
}

// -----

// /*linear_scan_c7*/
func.func @complex_state_has_both_parts(%a: tensor<8xf32>, %b: tensor<2x5x8xf32>) {
  // expected-error @+1 {{expected an imaginary part of the final state, as the scan is complex and its real part is present, got none; give or declare it too}}
  %0:3 = heddle.linear_scan %a, %b imag(%a, %b : tensor<8xf32>, tensor<2x5x8xf32>)
    : tensor<8xf32>, tensor<2x5x8xf32> -> (tensor<2x5x8xf32>, imag tensor<2x5x8xf32>, final tensor<2x8xf32>)
  return
}

// -----

// /*linear_scan_c7*/
func.func @real_state_has_one_part(%a: tensor<8xf32>, %b: tensor<2x5x8xf32>, %h: tensor<2x8xf32>) {
  // expected-error @+1 {{expected no imaginary part of the initial state, as the scan is real and its real part is absent, got one; remove it}}
  %0 = heddle.linear_scan %a, %b initial_state_imag(%h : tensor<2x8xf32>)
    : tensor<8xf32>, tensor<2x5x8xf32> -> (tensor<2x5x8xf32>)
  return
}

// -----

// /*linear_scan_c8*/
func.func @linear_scan_reset_ids_are_i32(%a: tensor<8xf32>, %b: tensor<2x5x8xf32>, %r: tensor<2x8xi32>) {
  // expected-error @+1 {{expected reset_ids of shape (B=2, L=5) and element type i32, got 'tensor<2x8xi32>'; make its axis L 5 long}}
  %0 = heddle.linear_scan %a, %b reset_ids(%r : tensor<2x8xi32>)
    : tensor<8xf32>, tensor<2x5x8xf32> -> (tensor<2x5x8xf32>)
  return
}

// -----

// The optional results have an order.
func.func @results_are_in_order(%a: tensor<8xf32>, %b: tensor<2x5x8xf32>) {
  %0:2 = heddle.linear_scan %a, %b : tensor<8xf32>, tensor<2x5x8xf32>
    // expected-error @+1 {{expected imag, final and final_imag, each at most once and in this order, got 'imag'}}
    -> (tensor<2x5x8xf32>, final tensor<2x8xf32>, imag tensor<2x5x8xf32>)
  return
}
