// RUN: heddle-opt %s -split-input-file -verify-diagnostics

// One case per labelled constraint of the maps of chunks, and of scans over chunks.

// -----

// /*linear_scan_maps_c1*/
func.func @b_is_rank_3(%a: tensor<2x64x8xf32>, %b: tensor<64x8xf32>) {
  // expected-error @+1 {{expected b of shape (B, L, D) and element type float (f16, bf16 or f32), got 'tensor<64x8xf32>'}}
  %0:2 = heddle.linear_scan_maps %a, %b : tensor<2x64x8xf32>, tensor<64x8xf32> -> (tensor<2x4x8xf32>, tensor<2x4x8xf32>)
  return
}

// -----

// /*linear_scan_maps_c1*/
func.func @a_has_the_type_of_b(%a: tensor<8xbf16>, %b: tensor<2x64x8xf32>) {
  // expected-error @+1 {{expected a of shape (D=8) and element type f32, got 'tensor<8xbf16>'}}
  %0:2 = heddle.linear_scan_maps %a, %b : tensor<8xbf16>, tensor<2x64x8xf32> -> (tensor<2x4x8xf32>, tensor<2x4x8xf32>)
  return
}

// -----

// /*linear_scan_maps_c2*/
func.func @imaginary_parts_have_the_types_of_real_ones(%a: tensor<8xf32>, %b: tensor<2x64x8xf32>) {
  // expected-error @+1 {{expected b_imag of shape (B=2, L=64, D=8) and element type f32, got 'tensor<8xf32>'}}
  %0:4 = heddle.linear_scan_maps %a, %b imag(%a, %a : tensor<8xf32>, tensor<8xf32>) : tensor<8xf32>, tensor<2x64x8xf32>
    -> (tensor<2x4x8xf32>, tensor<2x4x8xf32>, decay_imag tensor<2x4x8xf32>, state_imag tensor<2x4x8xf32>)
  return
}

// -----

// /*linear_scan_maps_c3*/
func.func @maps_are_f32(%a: tensor<8xbf16>, %b: tensor<2x64x8xbf16>) {
  // expected-error @+1 {{expected decay of shape (B=2, C, D=8) and element type f32, got 'tensor<2x4x8xbf16>'}}
  %0:2 = heddle.linear_scan_maps %a, %b : tensor<8xbf16>, tensor<2x64x8xbf16> -> (tensor<2x4x8xbf16>, tensor<2x4x8xbf16>)
  return
}

// -----

// /*linear_scan_maps_c3*/
func.func @maps_of_complex_scans_are_complex(%a: tensor<8xf32>, %b: tensor<2x64x8xf32>) {
  // expected-error @+1 {{expected decay_imag with imag operands, got none}}
  %0:2 = heddle.linear_scan_maps %a, %b imag(%a, %b : tensor<8xf32>, tensor<2x64x8xf32>) : tensor<8xf32>, tensor<2x64x8xf32>
    -> (tensor<2x4x8xf32>, tensor<2x4x8xf32>)
  return
}

// -----

// /*linear_scan_maps_c4*/
func.func @reset_ids_are_of_all_steps(%a: tensor<8xf32>, %b: tensor<2x64x8xf32>, %r: tensor<2x4xi32>) {
  // expected-error @+1 {{expected reset_ids of shape (B=2, L=64) and element type i32, got 'tensor<2x4xi32>'}}
  %0:2 = heddle.linear_scan_maps %a, %b reset_ids(%r : tensor<2x4xi32>) : tensor<8xf32>, tensor<2x64x8xf32>
    -> (tensor<2x4x8xf32>, tensor<2x4x8xf32>)
  return
}

// -----

// /*linear_scan_maps_c5*/
func.func @one_chunk_has_no_map_to_give(%a: tensor<8xf32>, %b: tensor<2x64x8xf32>) {
  // expected-error @+1 {{expected at least 2 chunks, got 1}}
  %0:2 = heddle.linear_scan_maps %a, %b : tensor<8xf32>, tensor<2x64x8xf32> -> (tensor<2x1x8xf32>, tensor<2x1x8xf32>)
  return
}

// -----

// /*linear_scan_maps_c5*/
func.func @chunks_of_maps_have_steps(%a: tensor<8xf32>, %b: tensor<2x64x8xf32>) {
  // expected-error @+1 {{expected chunks that all have steps, got 5 chunks of 16 steps for 64; use fewer}}
  %0:2 = heddle.linear_scan_maps %a, %b : tensor<8xf32>, tensor<2x64x8xf32> -> (tensor<2x5x8xf32>, tensor<2x5x8xf32>)
  return
}

// -----

// /*selective_scan_maps_c1*/
func.func @operands_are_those_of_a_selective_scan(%u: tensor<2x64x8xf32>, %dt: tensor<2x64x1xf32>, %a: tensor<8x3xf32>, %b: tensor<2x64x3xf32>) {
  // expected-error @+1 {{expected delta of shape (B=2, L=64, D=8) and element type float (f16, bf16 or f32), got 'tensor<2x64x1xf32>'}}
  %0:2 = heddle.selective_scan_maps %u, %dt, %a, %b : tensor<2x64x8xf32>, tensor<2x64x1xf32>, tensor<8x3xf32>, tensor<2x64x3xf32>
    -> tensor<2x4x8x3xf32>, tensor<2x4x8x3xf32>
  return
}

// -----

// /*selective_scan_maps_c1*/
func.func @groups_of_maps_divide_the_channels(%u: tensor<2x64x8xf32>, %a: tensor<8x3xf32>, %b: tensor<2x64x3x3xf32>) {
  // expected-error @+1 {{expected D divisible by the groups of b, got 8 and 3}}
  %0:2 = heddle.selective_scan_maps %u, %u, %a, %b : tensor<2x64x8xf32>, tensor<2x64x8xf32>, tensor<8x3xf32>, tensor<2x64x3x3xf32>
    -> tensor<2x4x8x3xf32>, tensor<2x4x8x3xf32>
  return
}

// -----

// /*selective_scan_maps_c2*/
func.func @state_has_the_chunks_of_decay(%u: tensor<2x64x8xf32>, %a: tensor<8x3xf32>, %b: tensor<2x64x3xf32>) {
  // expected-error @+1 {{expected state of shape (B=2, C=4, D=8, N=3) and element type f32, got 'tensor<2x3x8x3xf32>'}}
  %0:2 = heddle.selective_scan_maps %u, %u, %a, %b : tensor<2x64x8xf32>, tensor<2x64x8xf32>, tensor<8x3xf32>, tensor<2x64x3xf32>
    -> tensor<2x4x8x3xf32>, tensor<2x3x8x3xf32>
  return
}

// -----

// /*selective_scan_maps_c3*/
func.func @chunks_of_states_have_steps(%u: tensor<2x64x8xf32>, %a: tensor<8x3xf32>, %b: tensor<2x64x3xf32>) {
  // expected-error @+1 {{expected chunks that all have steps, got 64 chunks of 16 steps for 64; use fewer}}
  %0:2 = heddle.selective_scan_maps %u, %u, %a, %b : tensor<2x64x8xf32>, tensor<2x64x8xf32>, tensor<8x3xf32>, tensor<2x64x3xf32>
    -> tensor<2x64x8x3xf32>, tensor<2x64x8x3xf32>
  return
}

// -----

// /*selective_scan_maps_c4*/
func.func @gates_are_for_cotangents(%u: tensor<2x64x8xf32>, %a: tensor<8x3xf32>, %b: tensor<2x64x3xf32>) {
  // expected-error @+1 {{expected no z without gradient, got one}}
  %0:2 = heddle.selective_scan_maps %u, %u, %a, %b z(%u : tensor<2x64x8xf32>) : tensor<2x64x8xf32>, tensor<2x64x8xf32>, tensor<8x3xf32>, tensor<2x64x3xf32>
    -> tensor<2x4x8x3xf32>, tensor<2x4x8x3xf32>
  return
}

// -----

// /*selective_scan_c8*/
func.func @states_of_chunks_of_a_selective_scan(%u: tensor<2x64x8xf32>, %a: tensor<8x3xf32>, %b: tensor<2x64x3xf32>, %h: tensor<2x9x8x3xf32>) {
  // expected-error @+1 {{expected chunks that all have steps, got 9 chunks of 16 steps for 64; use fewer}}
  %0 = heddle.selective_scan %u, %u, %a, %b, %b initial_state(%h : tensor<2x9x8x3xf32>)
    : tensor<2x64x8xf32>, tensor<2x64x8xf32>, tensor<8x3xf32>, tensor<2x64x3xf32>, tensor<2x64x3xf32> -> tensor<2x64x8xf32>
  return
}

// -----

// /*linear_scan_c9*/
func.func @states_of_chunks_of_a_linear_scan(%a: tensor<8xf32>, %b: tensor<2x64x8xf32>, %h: tensor<2x1x8xf32>) {
  // expected-error @+1 {{expected at least 2 chunks, got 1}}
  %0 = heddle.linear_scan %a, %b initial_state(%h : tensor<2x1x8xf32>) : tensor<8xf32>, tensor<2x64x8xf32> -> (tensor<2x64x8xf32>)
  return
}

// -----

// /*linear_scan_c10*/
func.func @nan_resets_are_in_a_decay_that_varies(%a: tensor<8xf32>, %b: tensor<2x64x8xf32>) {
  // expected-error @+1 {{expected nan_resets only with an a that varies over time}}
  %0 = heddle.linear_scan %a, %b {nan_resets} : tensor<8xf32>, tensor<2x64x8xf32> -> (tensor<2x64x8xf32>)
  return
}

// -----

// /*linear_scan_grad_c8*/
func.func @cotangents_of_chunks(%a: tensor<2x64x8xf32>, %g: tensor<2x5x8xf32>) {
  // expected-error @+1 {{expected chunks that all have steps, got 5 chunks of 16 steps for 64; use fewer}}
  %0:2 = heddle.linear_scan_grad %a, %a, %a dfinal_state(%g : tensor<2x5x8xf32>)
    : tensor<2x64x8xf32>, tensor<2x64x8xf32>, tensor<2x64x8xf32> -> (tensor<2x64x8xf32>, tensor<2x64x8xf32>)
  return
}

// -----

// /*linear_scan_c11*/
func.func @a_fresh_linear_scan_has_chunks(%a: tensor<8xf32>, %b: tensor<2x64x8xf32>, %h: tensor<2x8xf32>) {
  // expected-error @+1 {{expected fresh only with initial states of chunks; leave out the initial state}}
  %0 = heddle.linear_scan %a, %b initial_state(%h : tensor<2x8xf32>) {fresh} : tensor<8xf32>, tensor<2x64x8xf32> -> (tensor<2x64x8xf32>)
  return
}

// -----

// /*selective_scan_c12*/
func.func @a_fresh_selective_scan_has_chunks(%u: tensor<2x64x8xf32>, %a: tensor<8x3xf32>, %b: tensor<2x64x3xf32>) {
  // expected-error @+1 {{expected fresh only with initial states of chunks; leave out the initial state}}
  %0 = heddle.selective_scan %u, %u, %a, %b, %b {fresh}
    : tensor<2x64x8xf32>, tensor<2x64x8xf32>, tensor<8x3xf32>, tensor<2x64x3xf32>, tensor<2x64x3xf32> -> tensor<2x64x8xf32>
  return
}

// -----

// /*selective_scan_c12*/
func.func @a_fresh_gradient_has_chunks(%u: tensor<2x64x8xf32>, %a: tensor<8x3xf32>, %b: tensor<2x64x3xf32>) {
  // expected-error @+1 {{expected fresh only with initial states of chunks; leave out the initial state}}
  %0:5 = heddle.selective_scan_grad %u, %u, %a, %b, %b, %u {fresh}
    : tensor<2x64x8xf32>, tensor<2x64x8xf32>, tensor<8x3xf32>, tensor<2x64x3xf32>, tensor<2x64x3xf32>, tensor<2x64x8xf32>
    -> (tensor<2x64x8xf32>, tensor<2x64x8xf32>, tensor<8x3xf32>, tensor<2x64x3xf32>, tensor<2x64x3xf32>)
  return
}

// -----

// /*selective_scan_grad_c2*/
func.func @chunks_of_a_gradient_have_cotangents(%u: tensor<2x64x8xf32>, %a: tensor<8x3xf32>, %b: tensor<2x64x3xf32>, %h: tensor<2x4x8x3xf32>) {
  // expected-error @+1 {{expected a dfinal_state of each chunk, as there are initial states of chunks, got none}}
  %0:6 = heddle.selective_scan_grad %u, %u, %a, %b, %b, %u initial_state(%h : tensor<2x4x8x3xf32>)
    : tensor<2x64x8xf32>, tensor<2x64x8xf32>, tensor<8x3xf32>, tensor<2x64x3xf32>, tensor<2x64x3xf32>, tensor<2x64x8xf32>
    -> (tensor<2x64x8xf32>, tensor<2x64x8xf32>, tensor<8x3xf32>, tensor<2x64x3xf32>, tensor<2x64x3xf32>, initial_state tensor<2x8x3xf32>)
  return
}

// -----

// /*selective_scan_grad_c2*/
func.func @cotangents_have_the_chunks_of_states(%u: tensor<2x64x8xf32>, %a: tensor<8x3xf32>, %b: tensor<2x64x3xf32>, %h: tensor<2x4x8x3xf32>, %g: tensor<2x2x8x3xf32>) {
  // expected-error @+1 {{expected dfinal_state of shape (B=2, C=4, D=8, N=3) and element type f32, got 'tensor<2x2x8x3xf32>'}}
  %0:6 = heddle.selective_scan_grad %u, %u, %a, %b, %b, %u initial_state(%h : tensor<2x4x8x3xf32>) dfinal_state(%g : tensor<2x2x8x3xf32>)
    : tensor<2x64x8xf32>, tensor<2x64x8xf32>, tensor<8x3xf32>, tensor<2x64x3xf32>, tensor<2x64x3xf32>, tensor<2x64x8xf32>
    -> (tensor<2x64x8xf32>, tensor<2x64x8xf32>, tensor<8x3xf32>, tensor<2x64x3xf32>, tensor<2x64x3xf32>, initial_state tensor<2x8x3xf32>)
  return
}

// -----

// /*selective_scan_grad_c4*/
func.func @the_first_chunk_has_the_gradient(%u: tensor<2x64x8xf32>, %a: tensor<8x3xf32>, %b: tensor<2x64x3xf32>, %h: tensor<2x4x8x3xf32>) {
  // expected-error @+1 {{expected dinitial_state of type 'tensor<2x8x3xf32>', got 'tensor<2x4x8x3xf32>'}}
  %0:6 = heddle.selective_scan_grad %u, %u, %a, %b, %b, %u initial_state(%h : tensor<2x4x8x3xf32>) dfinal_state(%h : tensor<2x4x8x3xf32>)
    : tensor<2x64x8xf32>, tensor<2x64x8xf32>, tensor<8x3xf32>, tensor<2x64x3xf32>, tensor<2x64x3xf32>, tensor<2x64x8xf32>
    -> (tensor<2x64x8xf32>, tensor<2x64x8xf32>, tensor<8x3xf32>, tensor<2x64x3xf32>, tensor<2x64x3xf32>, initial_state tensor<2x4x8x3xf32>)
  return
}

// -----

// /*selective_scan_grad_c5*/
func.func @sums_of_chunks_are_parts(%u: tensor<2x64x8xf32>, %a: tensor<8x3xf32>, %b: tensor<2x64x3xf32>, %h: tensor<2x4x8x3xf32>) {
  // expected-error @+1 {{expected da of type 'tensor<8x8x3xf32>', got 'tensor<2x8x3xf32>'}}
  %0:6 = heddle.selective_scan_grad %u, %u, %a, %b, %b, %u initial_state(%h : tensor<2x4x8x3xf32>) dfinal_state(%h : tensor<2x4x8x3xf32>) {partial_sums = 1 : i64}
    : tensor<2x64x8xf32>, tensor<2x64x8xf32>, tensor<8x3xf32>, tensor<2x64x3xf32>, tensor<2x64x3xf32>, tensor<2x64x8xf32>
    -> (tensor<2x64x8xf32>, tensor<2x64x8xf32>, tensor<2x8x3xf32>, tensor<1x2x64x3xf32>, tensor<1x2x64x3xf32>, initial_state tensor<2x8x3xf32>)
  return
}

// -----

// /*selective_scan_grad_c8*/
func.func @chunks_of_a_gradient_have_steps(%u: tensor<2x64x8xf32>, %a: tensor<8x3xf32>, %b: tensor<2x64x3xf32>, %h: tensor<2x5x8x3xf32>) {
  // expected-error @+1 {{expected chunks that all have steps, got 5 chunks of 16 steps for 64; use fewer}}
  %0:6 = heddle.selective_scan_grad %u, %u, %a, %b, %b, %u initial_state(%h : tensor<2x5x8x3xf32>) dfinal_state(%h : tensor<2x5x8x3xf32>)
    : tensor<2x64x8xf32>, tensor<2x64x8xf32>, tensor<8x3xf32>, tensor<2x64x3xf32>, tensor<2x64x3xf32>, tensor<2x64x8xf32>
    -> (tensor<2x64x8xf32>, tensor<2x64x8xf32>, tensor<8x3xf32>, tensor<2x64x3xf32>, tensor<2x64x3xf32>, initial_state tensor<2x8x3xf32>)
  return
}

// -----

// /*selective_scan_grad_c8*/
func.func @chunks_have_states_of_their_own(%u: tensor<2x64x8xf32>, %a: tensor<8x3xf32>, %b: tensor<2x64x3xf32>, %h: tensor<2x4x8x3xf32>, %s: tensor<2x3x8x3xf32>) {
  // expected-error @+1 {{expected no chunk_states with initial states of chunks, got both; give one of them}}
  %0:6 = heddle.selective_scan_grad %u, %u, %a, %b, %b, %u initial_state(%h : tensor<2x4x8x3xf32>) dfinal_state(%h : tensor<2x4x8x3xf32>) chunk_states(%s : tensor<2x3x8x3xf32>) {chunk = 16}
    : tensor<2x64x8xf32>, tensor<2x64x8xf32>, tensor<8x3xf32>, tensor<2x64x3xf32>, tensor<2x64x3xf32>, tensor<2x64x8xf32>
    -> (tensor<2x64x8xf32>, tensor<2x64x8xf32>, tensor<8x3xf32>, tensor<2x64x3xf32>, tensor<2x64x3xf32>, initial_state tensor<2x8x3xf32>)
  return
}

// -----

// /*selective_scan_c8*/
func.func @one_chunk_is_none(%u: tensor<2x64x8xf32>, %a: tensor<8x3xf32>, %b: tensor<2x64x3xf32>, %h: tensor<2x1x8x3xf32>) {
  // expected-error @+1 {{expected at least 2 chunks, got 1}}
  %0 = heddle.selective_scan %u, %u, %a, %b, %b initial_state(%h : tensor<2x1x8x3xf32>)
    : tensor<2x64x8xf32>, tensor<2x64x8xf32>, tensor<8x3xf32>, tensor<2x64x3xf32>, tensor<2x64x3xf32> -> tensor<2x64x8xf32>
  return
}
