// Gradients where the decay of a step that no state comes before is infinite.

// RUN: %check %s %t

// INPUT 0: full(1.0)
// INPUT 1: full(0.25).put(0, 0, 300.0).put(0, 7, 300.0)
// INPUT 2: [1, -1, 1, -1, 1, -1]
// INPUT 3: full(1.0)
// INPUT 5: full(1).put(0, range(7, 20), 2)
func.func @selective(%u: tensor<1x20x3xf32>, %dt: tensor<1x20x3xf32>, %a: tensor<3x2xf32>, %b: tensor<1x20x2xf32>, %dy: tensor<1x20x3xf32>, %r: tensor<1x20xi32>)
    -> (tensor<1x20x3xf32>, tensor<1x20x3xf32>, tensor<3x2xf32>, tensor<1x20x2xf32>, tensor<1x20x2xf32>) {
  %g:5 = heddle.selective_scan_grad %u, %dt, %a, %b, %b, %dy reset_ids(%r : tensor<1x20xi32>)
    : tensor<1x20x3xf32>, tensor<1x20x3xf32>, tensor<3x2xf32>, tensor<1x20x2xf32>, tensor<1x20x2xf32>, tensor<1x20x3xf32>
    -> (tensor<1x20x3xf32>, tensor<1x20x3xf32>, tensor<3x2xf32>, tensor<1x20x2xf32>, tensor<1x20x2xf32>)
  return %g#0, %g#1, %g#2, %g#3, %g#4 : tensor<1x20x3xf32>, tensor<1x20x3xf32>, tensor<3x2xf32>, tensor<1x20x2xf32>, tensor<1x20x2xf32>
}

// INPUT 0: full(1.0)
// INPUT 1: full(0.25).put(0, 0, 300.0)
// INPUT 2: [1, -1, 1, -1, 1, -1]
// INPUT 3: full(1.0)
func.func @without_resets(%u: tensor<1x20x3xf32>, %dt: tensor<1x20x3xf32>, %a: tensor<3x2xf32>, %b: tensor<1x20x2xf32>, %dy: tensor<1x20x3xf32>)
    -> (tensor<1x20x3xf32>, tensor<1x20x3xf32>, tensor<3x2xf32>, tensor<1x20x2xf32>, tensor<1x20x2xf32>) {
  %g:5 = heddle.selective_scan_grad %u, %dt, %a, %b, %b, %dy
    : tensor<1x20x3xf32>, tensor<1x20x3xf32>, tensor<3x2xf32>, tensor<1x20x2xf32>, tensor<1x20x2xf32>, tensor<1x20x3xf32>
    -> (tensor<1x20x3xf32>, tensor<1x20x3xf32>, tensor<3x2xf32>, tensor<1x20x2xf32>, tensor<1x20x2xf32>)
  return %g#0, %g#1, %g#2, %g#3, %g#4 : tensor<1x20x3xf32>, tensor<1x20x3xf32>, tensor<3x2xf32>, tensor<1x20x2xf32>, tensor<1x20x2xf32>
}
