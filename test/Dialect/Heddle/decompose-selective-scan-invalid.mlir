// RUN: heddle-opt %s --heddle-decompose-selective-scan -split-input-file --verify-diagnostics

func.func @needs_static_shapes(%u: tensor<2x?x4xf32>, %a: tensor<4x3xf32>, %b: tensor<2x?x3xf32>) -> tensor<2x?x4xf32> {
  // expected-error @+1 {{'heddle.selective_scan' op expected static shapes to decompose, got 'tensor<2x?x4xf32>'; specialise the function first}}
  %y = heddle.selective_scan %u, %u, %a, %b, %b
    : tensor<2x?x4xf32>, tensor<2x?x4xf32>, tensor<4x3xf32>, tensor<2x?x3xf32>, tensor<2x?x3xf32> -> tensor<2x?x4xf32>
  return %y : tensor<2x?x4xf32>
}

// -----

func.func @leaves_no_states_of_chunks(%u: tensor<2x5x4xf32>, %a: tensor<4x3xf32>, %b: tensor<2x5x3xf32>) -> (tensor<2x5x4xf32>, tensor<2x2x4x3xf32>) {
  // expected-error @+1 {{'heddle.selective_scan' op expected no chunk_states where a scan is written out; heddle-keep-scan-states adds them later}}
  %y, %s = heddle.selective_scan %u, %u, %a, %b, %b {chunk = 2}
    : tensor<2x5x4xf32>, tensor<2x5x4xf32>, tensor<4x3xf32>, tensor<2x5x3xf32>, tensor<2x5x3xf32> -> tensor<2x5x4xf32>, chunk_states tensor<2x2x4x3xf32>
  return %y, %s : tensor<2x5x4xf32>, tensor<2x2x4x3xf32>
}
