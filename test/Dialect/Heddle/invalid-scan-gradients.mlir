// RUN: heddle-opt %s -split-input-file -verify-diagnostics

// One case per labelled constraint of the gradients of scans.

// /*selective_scan_grad_c6*/
func.func @states_of_chunks_fit_their_chunk(%u: tensor<2x5x8xf32>, %a: tensor<8x3xf32>, %b: tensor<2x5x3xf32>, %h: tensor<2x2x8x3xf32>) {
  // expected-error @+1 {{expected chunk_states of shape (B=2, boundaries=4, D=8, N=3) and element type f32, got 'tensor<2x2x8x3xf32>'}}
  %0:5 = heddle.selective_scan_grad %u, %u, %a, %b, %b, %u chunk_states(%h : tensor<2x2x8x3xf32>) {chunk = 1}
    : tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<8x3xf32>, tensor<2x5x3xf32>, tensor<2x5x3xf32>, tensor<2x5x8xf32>
    -> (tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<8x3xf32>, tensor<2x5x3xf32>, tensor<2x5x3xf32>)
  return
}

// -----

// /*selective_scan_grad_c6*/
func.func @states_of_chunks_say_which(%u: tensor<2x5x8xf32>, %a: tensor<8x3xf32>, %b: tensor<2x5x3xf32>, %h: tensor<2x2x8x3xf32>) {
  // expected-error @+1 {{expected chunk and chunk_states together, got only chunk_states}}
  %0:5 = heddle.selective_scan_grad %u, %u, %a, %b, %b, %u chunk_states(%h : tensor<2x2x8x3xf32>)
    : tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<8x3xf32>, tensor<2x5x3xf32>, tensor<2x5x3xf32>, tensor<2x5x8xf32>
    -> (tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<8x3xf32>, tensor<2x5x3xf32>, tensor<2x5x3xf32>)
  return
}

// -----

// /*selective_scan_grad_c7*/
func.func @scratch_is_of_kernels(%u: tensor<2x5x8xf32>, %a: tensor<8x3xf32>, %b: tensor<2x5x3xf32>, %h: tensor<2x2x8x3xf32>) {
  // expected-error @+1 {{expected scratch only with partial_sums, got it alone; heddle-split-scans adds both}}
  %0:6 = heddle.selective_scan_grad %u, %u, %a, %b, %b, %u
    : tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<8x3xf32>, tensor<2x5x3xf32>, tensor<2x5x3xf32>, tensor<2x5x8xf32>
    -> (tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<8x3xf32>, tensor<2x5x3xf32>, tensor<2x5x3xf32>, scratch tensor<2x2xf32>)
  return
}

// -----

// /*selective_scan_grad_c7*/
func.func @scratch_has_rank_2(%u: tensor<2x5x8xf32>, %a: tensor<8x3xf32>, %b: tensor<2x5x3xf32>, %h: tensor<2x2x8x3xf32>) {
  // expected-error @+1 {{expected scratch of shape (rows, columns) and element type f32, got 'tensor<4xf32>'}}
  %0:6 = heddle.selective_scan_grad %u, %u, %a, %b, %b, %u {partial_sums = 1}
    : tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<8x3xf32>, tensor<2x5x3xf32>, tensor<2x5x3xf32>, tensor<2x5x8xf32>
    -> (tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<2x8x3xf32>, tensor<1x2x5x3xf32>, tensor<1x2x5x3xf32>, scratch tensor<4xf32>)
  return
}

// -----

// /*selective_scan_grad_c1*/
func.func @gradient_has_the_operands_of_the_scan(%u: tensor<2x5x8xf32>, %dt: tensor<2x5x1xf32>, %a: tensor<8x3xf32>, %b: tensor<2x5x3xf32>) {
  // expected-error @+1 {{expected delta of shape (B=2, L=5, D=8) and element type float (f16, bf16 or f32), got 'tensor<2x5x1xf32>'; make its axis D 8 long}}
  %0:5 = heddle.selective_scan_grad %u, %dt, %a, %b, %b, %u
    : tensor<2x5x8xf32>, tensor<2x5x1xf32>, tensor<8x3xf32>, tensor<2x5x3xf32>, tensor<2x5x3xf32>, tensor<2x5x8xf32>
    -> (tensor<2x5x8xf32>, tensor<2x5x1xf32>, tensor<8x3xf32>, tensor<2x5x3xf32>, tensor<2x5x3xf32>)
  return
}

// -----

// /*selective_scan_grad_c1*/
func.func @cotangent_of_y_has_the_type_of_u(%u: tensor<2x5x8xf32>, %a: tensor<8x3xf32>, %b: tensor<2x5x3xf32>, %dy: tensor<2x5x8xbf16>) {
  // expected-error @+1 {{expected dy of type 'tensor<2x5x8xf32>', got 'tensor<2x5x8xbf16>'; convert an operand, declare a result so}}
  %0:5 = heddle.selective_scan_grad %u, %u, %a, %b, %b, %dy
    : tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<8x3xf32>, tensor<2x5x3xf32>, tensor<2x5x3xf32>, tensor<2x5x8xbf16>
    -> (tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<8x3xf32>, tensor<2x5x3xf32>, tensor<2x5x3xf32>)
  return
}

// -----

// /*selective_scan_grad_c2*/
func.func @cotangent_of_the_final_state_is_a_state(%u: tensor<2x5x8xf32>, %a: tensor<8x3xf32>, %b: tensor<2x5x3xf32>) {
  // expected-error @+1 {{expected dfinal_state of shape (B=2, D=8, N=3) and element type f32, got 'tensor<8x3xf32>'; reshape it to rank 3}}
  %0:5 = heddle.selective_scan_grad %u, %u, %a, %b, %b, %u dfinal_state(%a : tensor<8x3xf32>)
    : tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<8x3xf32>, tensor<2x5x3xf32>, tensor<2x5x3xf32>, tensor<2x5x8xf32>
    -> (tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<8x3xf32>, tensor<2x5x3xf32>, tensor<2x5x3xf32>)
  return
}

// -----

// /*selective_scan_grad_c3*/
func.func @each_operand_has_its_gradient(%u: tensor<2x5x8xf32>, %a: tensor<8x3xf32>, %b: tensor<2x5x3xf32>, %d: tensor<8xf32>) {
  // expected-error @+1 {{expected dd exactly with d, got only d; declare the result too}}
  %0:5 = heddle.selective_scan_grad %u, %u, %a, %b, %b, %u d(%d : tensor<8xf32>)
    : tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<8x3xf32>, tensor<2x5x3xf32>, tensor<2x5x3xf32>, tensor<2x5x8xf32>
    -> (tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<8x3xf32>, tensor<2x5x3xf32>, tensor<2x5x3xf32>)
  return
}

// -----

// /*selective_scan_grad_c3*/
func.func @no_gradient_without_its_operand(%u: tensor<2x5x8xf32>, %a: tensor<8x3xf32>, %b: tensor<2x5x3xf32>) {
  // expected-error @+1 {{expected dz exactly with z, got only dz; give the operand too}}
  %0:6 = heddle.selective_scan_grad %u, %u, %a, %b, %b, %u
    : tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<8x3xf32>, tensor<2x5x3xf32>, tensor<2x5x3xf32>, tensor<2x5x8xf32>
    -> (tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<8x3xf32>, tensor<2x5x3xf32>, tensor<2x5x3xf32>, z tensor<2x5x8xf32>)
  return
}

// -----

// /*selective_scan_grad_c4*/
func.func @a_gradient_has_the_type_of_its_operand(%u: tensor<2x5x8xf32>, %a: tensor<8x3xf32>, %b: tensor<2x5x3xf32>) {
  // expected-error @+1 {{expected da of type 'tensor<8x3xf32>', got 'tensor<2x8x3xf32>'; convert an operand, declare a result so}}
  %0:5 = heddle.selective_scan_grad %u, %u, %a, %b, %b, %u
    : tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<8x3xf32>, tensor<2x5x3xf32>, tensor<2x5x3xf32>, tensor<2x5x8xf32>
    -> (tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<2x8x3xf32>, tensor<2x5x3xf32>, tensor<2x5x3xf32>)
  return
}

// -----

// /*selective_scan_grad_c5*/
func.func @partial_sums_are_positive(%u: tensor<2x5x8xf32>, %a: tensor<8x3xf32>, %b: tensor<2x5x3xf32>) {
  // expected-error @+1 {{expected positive partial_sums, got 0; leave it out, heddle-split-scans sets it}}
  %0:5 = heddle.selective_scan_grad %u, %u, %a, %b, %b, %u {partial_sums = 0}
    : tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<8x3xf32>, tensor<2x5x3xf32>, tensor<2x5x3xf32>, tensor<2x5x8xf32>
    -> (tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<8x3xf32>, tensor<2x5x3xf32>, tensor<2x5x3xf32>)
  return
}

// -----

// /*selective_scan_grad_c5*/
func.func @several_parts_are_f32(%u: tensor<2x5x8xbf16>, %a: tensor<8x3xf32>, %b: tensor<2x5x3xbf16>) {
  // expected-error @+1 {{expected db of type 'tensor<4x2x5x3xf32>', got 'tensor<4x2x5x3xbf16>'; convert an operand, declare a result so}}
  %0:5 = heddle.selective_scan_grad %u, %u, %a, %b, %b, %u {partial_sums = 4}
    : tensor<2x5x8xbf16>, tensor<2x5x8xbf16>, tensor<8x3xf32>, tensor<2x5x3xbf16>, tensor<2x5x3xbf16>, tensor<2x5x8xbf16>
    -> (tensor<2x5x8xbf16>, tensor<2x5x8xbf16>, tensor<2x8x3xf32>, tensor<4x2x5x3xbf16>, tensor<4x2x5x3xbf16>)
  return
}

// -----

// /*selective_scan_grad_c5*/
func.func @open_sums_have_a_leading_axis(%u: tensor<2x5x8xf32>, %a: tensor<8x3xf32>, %b: tensor<2x5x3xf32>) {
  // expected-error @+1 {{expected db of type 'tensor<4x2x5x3xf32>', got 'tensor<2x5x3xf32>'; convert an operand, declare a result so}}
  %0:5 = heddle.selective_scan_grad %u, %u, %a, %b, %b, %u {partial_sums = 4}
    : tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<8x3xf32>, tensor<2x5x3xf32>, tensor<2x5x3xf32>, tensor<2x5x8xf32>
    -> (tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<2x8x3xf32>, tensor<2x5x3xf32>, tensor<2x5x3xf32>)
  return
}

// -----

// /*linear_scan_grad_c1*/
func.func @dh_has_the_type_of_h(%h: tensor<2x5x8xf32>, %dh: tensor<2x5x8xbf16>) {
  // expected-error @+1 {{expected dh of type 'tensor<2x5x8xf32>', got 'tensor<2x5x8xbf16>'; convert an operand, declare a result so}}
  %0:2 = heddle.linear_scan_grad %h, %h, %dh : tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<2x5x8xbf16>
    -> (tensor<2x5x8xf32>, tensor<2x5x8xf32>)
  return
}

// -----

// /*linear_scan_grad_c2*/
func.func @a_is_by_channel_or_by_step(%h: tensor<2x5x8xf32>, %a: tensor<5xf32>) {
  // expected-error @+1 {{expected a of shape (D=8) and element type f32, got 'tensor<5xf32>'; make its axis D 8 long}}
  %0:2 = heddle.linear_scan_grad %a, %h, %h : tensor<5xf32>, tensor<2x5x8xf32>, tensor<2x5x8xf32>
    -> (tensor<5xf32>, tensor<2x5x8xf32>)
  return
}

// -----

// /*linear_scan_grad_c3*/
func.func @imaginary_parts_come_together(%h: tensor<2x5x8xf32>) {
  // expected-error @+1 {{expected a_imag, h_imag and dh_imag together, got no dh_imag; write all three, as in imag(%a_imag, %h_imag, %dh_imag : ...)}}
  %0:4 = "heddle.linear_scan_grad"(%h, %h, %h, %h, %h) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0>,
      resultSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0>}>
    : (tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<2x5x8xf32>)
    -> (tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<2x5x8xf32>)
  return
}

// -----

// /*linear_scan_grad_c4*/
func.func @a_complex_state_has_two_parts(%h: tensor<2x5x8xf32>, %s: tensor<2x8xf32>) {
  // expected-error @+1 {{expected an imaginary part of dfinal_state, got none; give it too}}
  %0:4 = heddle.linear_scan_grad %h, %h, %h imag(%h, %h, %h : tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<2x5x8xf32>)
    dfinal_state(%s : tensor<2x8xf32>) : tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<2x5x8xf32>
    -> (tensor<2x5x8xf32>, tensor<2x5x8xf32>, a_imag tensor<2x5x8xf32>, b_imag tensor<2x5x8xf32>)
  return
}

// -----

// /*linear_scan_grad_c5*/
func.func @gradient_reset_ids_are_i32_by_step(%h: tensor<2x5x8xf32>, %r: tensor<2x4xi32>) {
  // expected-error @+1 {{expected reset_ids of shape (B=2, L=5) and element type i32, got 'tensor<2x4xi32>'; make its axis L 5 long}}
  %0:2 = heddle.linear_scan_grad %h, %h, %h reset_ids(%r : tensor<2x4xi32>)
    : tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<2x5x8xf32> -> (tensor<2x5x8xf32>, tensor<2x5x8xf32>)
  return
}

// -----

// /*linear_scan_grad_c6*/
func.func @the_initial_state_has_a_gradient(%h: tensor<2x5x8xf32>, %s: tensor<2x8xf32>) {
  // expected-error @+1 {{expected a dinitial_state, got none; declare the result}}
  %0:2 = heddle.linear_scan_grad %h, %h, %h initial_state(%s : tensor<2x8xf32>)
    : tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<2x5x8xf32> -> (tensor<2x5x8xf32>, tensor<2x5x8xf32>)
  return
}

// -----

// /*linear_scan_grad_c7*/
func.func @only_a_constant_decay_is_summed(%h: tensor<2x5x8xf32>) {
  // expected-error @+1 {{expected partial_sums only with an a that is constant over time, got one of each step; leave it out, heddle-split-scans sets it}}
  %0:2 = heddle.linear_scan_grad %h, %h, %h {partial_sums}
    : tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<2x5x8xf32> -> (tensor<2x5x8xf32>, tensor<2x5x8xf32>)
  return
}
