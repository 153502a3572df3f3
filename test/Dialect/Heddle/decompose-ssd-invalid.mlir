// RUN: heddle-opt %s --heddle-decompose-ssd --split-input-file --verify-diagnostics
// RUN: not heddle-opt %s --heddle-decompose-ssd="chunk=0" --split-input-file 2>&1 | FileCheck %s
// CHECK: expected a chunk of at least 1, got 0

func.func @shapes_are_static(
    %q: tensor<2x?x1x5xf32>, %v: tensor<2x?x1x6xf32>, %a: tensor<2x?x1xf32>)
    -> tensor<2x?x1x6xf32> {
  // expected-error@+1 {{expected static shapes to decompose, got 'tensor<2x?x1x5xf32>'; specialise the function first}}
  %o = heddle.ssd %q, %q, %v, %a
    : tensor<2x?x1x5xf32>, tensor<2x?x1x5xf32>, tensor<2x?x1x6xf32>,
      tensor<2x?x1xf32> -> tensor<2x?x1x6xf32>
  return %o : tensor<2x?x1x6xf32>
}
