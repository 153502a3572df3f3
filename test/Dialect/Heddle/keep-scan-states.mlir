// RUN: heddle-opt %s --heddle-keep-scan-states | FileCheck %s

// Few channels have chunks of 64 steps on a GPU. What follows the states, d and c,
// may differ.
// CHECK-LABEL: func @a_gradient_takes_the_states_of_its_scan
// CHECK: %[[Y:.*]], %[[F:.*]], %[[S:.*]] = heddle.selective_scan %{{.*}}, %{{.*}} {chunk = 64 : i64, delta_softplus} {{.*}} -> tensor<2x130x8xf32>, tensor<2x8x16xf32>, chunk_states tensor<2x2x8x16xf32>
// CHECK: heddle.selective_scan_grad {{.*}} d({{.*}}) chunk_states(%[[S]] : tensor<2x2x8x16xf32>) {chunk = 64 : i64, delta_softplus}
// CHECK: return %[[Y]], %[[F]]
func.func @a_gradient_takes_the_states_of_its_scan(%u: tensor<2x130x8xf32>, %a: tensor<8x16xf32>, %b: tensor<2x130x16xf32>, %d: tensor<8xf32>)
    -> (tensor<2x130x8xf32>, tensor<2x8x16xf32>, tensor<8xf32>) {
  %y, %f = heddle.selective_scan %u, %u, %a, %b, %b {delta_softplus}
    : tensor<2x130x8xf32>, tensor<2x130x8xf32>, tensor<8x16xf32>, tensor<2x130x16xf32>, tensor<2x130x16xf32> -> tensor<2x130x8xf32>, tensor<2x8x16xf32>
  %g:6 = heddle.selective_scan_grad %u, %u, %a, %b, %b, %y d(%d : tensor<8xf32>) {delta_softplus}
    : tensor<2x130x8xf32>, tensor<2x130x8xf32>, tensor<8x16xf32>, tensor<2x130x16xf32>, tensor<2x130x16xf32>, tensor<2x130x8xf32> -> (tensor<2x130x8xf32>, tensor<2x130x8xf32>, tensor<8x16xf32>, tensor<2x130x16xf32>, tensor<2x130x16xf32>, d tensor<8xf32>)
  return %y, %f, %g#5 : tensor<2x130x8xf32>, tensor<2x8x16xf32>, tensor<8xf32>
}

// The last scan serves, also two gradients.
// CHECK-LABEL: func @the_last_scan_serves
// CHECK: heddle.selective_scan {{.*}} -> tensor<2x130x8xf32>{{$}}
// CHECK: %{{.*}}, %[[S:.*]] = heddle.selective_scan {{.*}}, chunk_states
// CHECK: heddle.selective_scan_grad {{.*}} chunk_states(%[[S]]
// CHECK: heddle.selective_scan_grad {{.*}} chunk_states(%[[S]]
// CHECK: heddle.selective_scan {{.*}} -> tensor<2x130x8xf32>{{$}}
func.func @the_last_scan_serves(%u: tensor<2x130x8xf32>, %a: tensor<8x16xf32>, %b: tensor<2x130x16xf32>)
    -> (tensor<2x130x8xf32>, tensor<2x130x8xf32>, tensor<2x130x8xf32>, tensor<8x16xf32>, tensor<8x16xf32>) {
  %x = heddle.selective_scan %u, %u, %a, %b, %b : tensor<2x130x8xf32>, tensor<2x130x8xf32>, tensor<8x16xf32>, tensor<2x130x16xf32>, tensor<2x130x16xf32> -> tensor<2x130x8xf32>
  %y = heddle.selective_scan %u, %u, %a, %b, %b : tensor<2x130x8xf32>, tensor<2x130x8xf32>, tensor<8x16xf32>, tensor<2x130x16xf32>, tensor<2x130x16xf32> -> tensor<2x130x8xf32>
  %g:5 = heddle.selective_scan_grad %u, %u, %a, %b, %b, %y
    : tensor<2x130x8xf32>, tensor<2x130x8xf32>, tensor<8x16xf32>, tensor<2x130x16xf32>, tensor<2x130x16xf32>, tensor<2x130x8xf32> -> (tensor<2x130x8xf32>, tensor<2x130x8xf32>, tensor<8x16xf32>, tensor<2x130x16xf32>, tensor<2x130x16xf32>)
  %h:5 = heddle.selective_scan_grad %u, %u, %a, %b, %b, %x
    : tensor<2x130x8xf32>, tensor<2x130x8xf32>, tensor<8x16xf32>, tensor<2x130x16xf32>, tensor<2x130x16xf32>, tensor<2x130x8xf32> -> (tensor<2x130x8xf32>, tensor<2x130x8xf32>, tensor<8x16xf32>, tensor<2x130x16xf32>, tensor<2x130x16xf32>)
  %z = heddle.selective_scan %u, %u, %a, %b, %b : tensor<2x130x8xf32>, tensor<2x130x8xf32>, tensor<8x16xf32>, tensor<2x130x16xf32>, tensor<2x130x16xf32> -> tensor<2x130x8xf32>
  return %x, %y, %z, %g#2, %h#2 : tensor<2x130x8xf32>, tensor<2x130x8xf32>, tensor<2x130x8xf32>, tensor<8x16xf32>, tensor<8x16xf32>
}

// CHECK-LABEL: func @other_states_do_not
// CHECK-NOT: chunk
func.func @other_states_do_not(%u: tensor<2x130x8xf32>, %v: tensor<2x130x8xf32>, %a: tensor<8x16xf32>, %b: tensor<2x130x16xf32>, %s: tensor<8xf32>)
    -> (tensor<2x130x8xf32>, tensor<2x130x8xf32>, tensor<2x130x8xf32>, tensor<8x16xf32>) {
  %x = heddle.selective_scan %u, %v, %a, %b, %b : tensor<2x130x8xf32>, tensor<2x130x8xf32>, tensor<8x16xf32>, tensor<2x130x16xf32>, tensor<2x130x16xf32> -> tensor<2x130x8xf32>
  %y = heddle.selective_scan %u, %u, %a, %b, %b {reverse} : tensor<2x130x8xf32>, tensor<2x130x8xf32>, tensor<8x16xf32>, tensor<2x130x16xf32>, tensor<2x130x16xf32> -> tensor<2x130x8xf32>
  %z = heddle.selective_scan %u, %u, %a, %b, %b delta_bias(%s : tensor<8xf32>) : tensor<2x130x8xf32>, tensor<2x130x8xf32>, tensor<8x16xf32>, tensor<2x130x16xf32>, tensor<2x130x16xf32> -> tensor<2x130x8xf32>
  %g:5 = heddle.selective_scan_grad %u, %u, %a, %b, %b, %y
    : tensor<2x130x8xf32>, tensor<2x130x8xf32>, tensor<8x16xf32>, tensor<2x130x16xf32>, tensor<2x130x16xf32>, tensor<2x130x8xf32> -> (tensor<2x130x8xf32>, tensor<2x130x8xf32>, tensor<8x16xf32>, tensor<2x130x16xf32>, tensor<2x130x16xf32>)
  return %x, %y, %z, %g#2 : tensor<2x130x8xf32>, tensor<2x130x8xf32>, tensor<2x130x8xf32>, tensor<8x16xf32>
}

// CHECK-LABEL: func @one_chunk_needs_none
// CHECK-NOT: chunk
func.func @one_chunk_needs_none(%u: tensor<2x64x8xf32>, %a: tensor<8x16xf32>, %b: tensor<2x64x16xf32>) -> (tensor<2x64x8xf32>, tensor<8x16xf32>) {
  %y = heddle.selective_scan %u, %u, %a, %b, %b
    : tensor<2x64x8xf32>, tensor<2x64x8xf32>, tensor<8x16xf32>, tensor<2x64x16xf32>, tensor<2x64x16xf32> -> tensor<2x64x8xf32>
  %g:5 = heddle.selective_scan_grad %u, %u, %a, %b, %b, %y
    : tensor<2x64x8xf32>, tensor<2x64x8xf32>, tensor<8x16xf32>, tensor<2x64x16xf32>, tensor<2x64x16xf32>, tensor<2x64x8xf32> -> (tensor<2x64x8xf32>, tensor<2x64x8xf32>, tensor<8x16xf32>, tensor<2x64x16xf32>, tensor<2x64x16xf32>)
  return %y, %g#2 : tensor<2x64x8xf32>, tensor<8x16xf32>
}

// Chunks of 32 steps have four times as many states as u has elements, for 8 channels
// a quarter of what b and c have.
// CHECK-LABEL: func @few_beside_the_rows
// CHECK: heddle.selective_scan_grad {{.*}} chunk_states({{.*}} : tensor<2x4x8x128xf32>) {chunk = 32 : i64}
func.func @few_beside_the_rows(%u: tensor<2x130x8xf32>, %a: tensor<8x128xf32>, %b: tensor<2x130x128xf32>) -> (tensor<2x130x8xf32>, tensor<8x128xf32>) {
  %y = heddle.selective_scan %u, %u, %a, %b, %b
    : tensor<2x130x8xf32>, tensor<2x130x8xf32>, tensor<8x128xf32>, tensor<2x130x128xf32>, tensor<2x130x128xf32> -> tensor<2x130x8xf32>
  %g:5 = heddle.selective_scan_grad %u, %u, %a, %b, %b, %y
    : tensor<2x130x8xf32>, tensor<2x130x8xf32>, tensor<8x128xf32>, tensor<2x130x128xf32>, tensor<2x130x128xf32>, tensor<2x130x8xf32> -> (tensor<2x130x8xf32>, tensor<2x130x8xf32>, tensor<8x128xf32>, tensor<2x130x128xf32>, tensor<2x130x128xf32>)
  return %y, %g#2 : tensor<2x130x8xf32>, tensor<8x128xf32>
}

// Chunks of 16 steps have eight times as many states as u has elements, for 128 channels
// more than b and c have.
// CHECK-LABEL: func @many_states_are_made_again
// CHECK-NOT: chunk
func.func @many_states_are_made_again(%u: tensor<2x130x128xf32>, %a: tensor<128x128xf32>, %b: tensor<2x130x128xf32>) -> (tensor<2x130x128xf32>, tensor<128x128xf32>) {
  %y = heddle.selective_scan %u, %u, %a, %b, %b
    : tensor<2x130x128xf32>, tensor<2x130x128xf32>, tensor<128x128xf32>, tensor<2x130x128xf32>, tensor<2x130x128xf32> -> tensor<2x130x128xf32>
  %g:5 = heddle.selective_scan_grad %u, %u, %a, %b, %b, %y
    : tensor<2x130x128xf32>, tensor<2x130x128xf32>, tensor<128x128xf32>, tensor<2x130x128xf32>, tensor<2x130x128xf32>, tensor<2x130x128xf32> -> (tensor<2x130x128xf32>, tensor<2x130x128xf32>, tensor<128x128xf32>, tensor<2x130x128xf32>, tensor<2x130x128xf32>)
  return %y, %g#2 : tensor<2x130x128xf32>, tensor<128x128xf32>
}

// Chunks of time have states of their own.
// CHECK-LABEL: func @scans_over_chunks_stay
// CHECK-NOT: chunk
func.func @scans_over_chunks_stay(%u: tensor<2x160x8xf32>, %a: tensor<8x16xf32>, %b: tensor<2x160x16xf32>, %h: tensor<2x2x8x16xf32>)
    -> (tensor<2x160x8xf32>, tensor<8x16xf32>) {
  %y = heddle.selective_scan %u, %u, %a, %b, %b initial_state(%h : tensor<2x2x8x16xf32>)
    : tensor<2x160x8xf32>, tensor<2x160x8xf32>, tensor<8x16xf32>, tensor<2x160x16xf32>, tensor<2x160x16xf32> -> tensor<2x160x8xf32>
  %g:6 = heddle.selective_scan_grad %u, %u, %a, %b, %b, %y initial_state(%h : tensor<2x2x8x16xf32>) dfinal_state(%h : tensor<2x2x8x16xf32>)
    : tensor<2x160x8xf32>, tensor<2x160x8xf32>, tensor<8x16xf32>, tensor<2x160x16xf32>, tensor<2x160x16xf32>, tensor<2x160x8xf32>
    -> (tensor<2x160x8xf32>, tensor<2x160x8xf32>, tensor<8x16xf32>, tensor<2x160x16xf32>, tensor<2x160x16xf32>, initial_state tensor<2x8x16xf32>)
  return %y, %g#2 : tensor<2x160x8xf32>, tensor<8x16xf32>
}
