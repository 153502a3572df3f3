// A step that no state comes before - the first of a scan without an initial
// state, and one that resets - has its input alone, however large its decay. A
// given state is multiplied, one of zeros too. Devices see the same values.

// RUN: %check %s %t

// INPUT 0: [inf, 2, inf, 2, 3]
// INPUT 1: [1, 1, 1, 1, 1]
// INPUT 2: [4, 4, 9, 9, 9]
// EXPECT 0: [1, 3, 1, 3, 10]
func.func @linear(%a: tensor<1x5x1xf32>, %b: tensor<1x5x1xf32>, %r: tensor<1x5xi32>) -> tensor<1x5x1xf32> {
  %h = heddle.linear_scan %a, %b reset_ids(%r : tensor<1x5xi32>)
    : tensor<1x5x1xf32>, tensor<1x5x1xf32> -> (tensor<1x5x1xf32>)
  return %h : tensor<1x5x1xf32>
}

// INPUT 0: full(2.0).put(0, 0, inf)
// INPUT 1: full(1.0)
// REFERENCE: none
// EXPECT 1: [1073741823.0] +- 1e-6
func.func @linear_of_many_steps(%a: tensor<1x30x1xf32>, %b: tensor<1x30x1xf32>) -> (tensor<1x30x1xf32>, tensor<1x1xf32>) {
  %h, %f = heddle.linear_scan %a, %b
    : tensor<1x30x1xf32>, tensor<1x30x1xf32> -> (tensor<1x30x1xf32>, final tensor<1x1xf32>)
  return %h, %f : tensor<1x30x1xf32>, tensor<1x1xf32>
}

// INPUT 0: [inf]
// INPUT 1: [1, 1, 1, 2]
// INPUT 2: [1, 1, 2, 2]
// EXPECT 0: [1, inf, 1, inf]
func.func @linear_with_a_constant_decay(%a: tensor<1xf32>, %b: tensor<1x4x1xf32>, %r: tensor<1x4xi32>) -> tensor<1x4x1xf32> {
  %h = heddle.linear_scan %a, %b reset_ids(%r : tensor<1x4xi32>)
    : tensor<1xf32>, tensor<1x4x1xf32> -> (tensor<1x4x1xf32>)
  return %h : tensor<1x4x1xf32>
}

// INPUT 0: [2, 2, inf]
// INPUT 1: [1, 1, 1]
// EXPECT 0: [7, 3, 1]
func.func @linear_back_in_time(%a: tensor<1x3x1xf32>, %b: tensor<1x3x1xf32>) -> tensor<1x3x1xf32> {
  %h = heddle.linear_scan %a, %b {reverse} : tensor<1x3x1xf32>, tensor<1x3x1xf32> -> (tensor<1x3x1xf32>)
  return %h : tensor<1x3x1xf32>
}

// INPUT 0: [inf, 0, inf]
// INPUT 1: [1, 1, 5]
// INPUT 2: [inf, 1, -inf]
// INPUT 3: [2, 0, 6]
// INPUT 4: [0, 0, 1]
// EXPECT 0: [1, -1, 5]
// EXPECT 1: [2, 1, 6]
func.func @complex_linear(%a: tensor<1x3x1xf32>, %b: tensor<1x3x1xf32>, %ai: tensor<1x3x1xf32>, %bi: tensor<1x3x1xf32>, %r: tensor<1x3xi32>)
    -> (tensor<1x3x1xf32>, tensor<1x3x1xf32>) {
  %h, %hi = heddle.linear_scan %a, %b imag(%ai, %bi : tensor<1x3x1xf32>, tensor<1x3x1xf32>) reset_ids(%r : tensor<1x3xi32>)
    : tensor<1x3x1xf32>, tensor<1x3x1xf32> -> (tensor<1x3x1xf32>, imag tensor<1x3x1xf32>)
  return %h, %hi : tensor<1x3x1xf32>, tensor<1x3x1xf32>
}

// INPUT 0: [inf, 2]
// INPUT 1: [1, 1]
// INPUT 2: [0]
// EXPECT 0: [nan, nan]
// REFERENCE: none
func.func @a_state_of_zeros_is_multiplied(%a: tensor<1x2x1xf32>, %b: tensor<1x2x1xf32>, %s: tensor<1x1xf32>) -> tensor<1x2x1xf32> {
  %h = heddle.linear_scan %a, %b initial_state(%s : tensor<1x1xf32>)
    : tensor<1x2x1xf32>, tensor<1x2x1xf32> -> (tensor<1x2x1xf32>)
  return %h : tensor<1x2x1xf32>
}

// exp(300) is infinite in f32 only, exp(3000) in f64 too.
// INPUT 0: full(1.0)
// INPUT 1: [3000, 0, 0, 300, 0]
// INPUT 2: [1, -1]
// INPUT 3: full(1.0)
// INPUT 4: [1, 1, 1, 2, 2]
// EXPECT 0: [6000, 6000, 6000, 600, 600]
func.func @selective(%u: tensor<1x5x1xf32>, %dt: tensor<1x5x1xf32>, %a: tensor<1x2xf32>, %b: tensor<1x5x2xf32>, %r: tensor<1x5xi32>)
    -> tensor<1x5x1xf32> {
  %y = heddle.selective_scan %u, %dt, %a, %b, %b reset_ids(%r : tensor<1x5xi32>)
    : tensor<1x5x1xf32>, tensor<1x5x1xf32>, tensor<1x2xf32>, tensor<1x5x2xf32>, tensor<1x5x2xf32>
    -> tensor<1x5x1xf32>
  return %y : tensor<1x5x1xf32>
}

// INPUT 0: full(1.0)
// INPUT 1: full(0.25).put(0, 19, 300.0)
// INPUT 2: [1, -1, 1, -1, 1, -1]
// INPUT 3: full(1.0)
func.func @selective_back_in_time(%u: tensor<1x20x3xf32>, %dt: tensor<1x20x3xf32>, %a: tensor<3x2xf32>, %b: tensor<1x20x2xf32>)
    -> (tensor<1x20x3xf32>, tensor<1x3x2xf32>) {
  %y, %h = heddle.selective_scan %u, %dt, %a, %b, %b {reverse}
    : tensor<1x20x3xf32>, tensor<1x20x3xf32>, tensor<3x2xf32>, tensor<1x20x2xf32>, tensor<1x20x2xf32>
    -> tensor<1x20x3xf32>, tensor<1x3x2xf32>
  return %y, %h : tensor<1x20x3xf32>, tensor<1x3x2xf32>
}
