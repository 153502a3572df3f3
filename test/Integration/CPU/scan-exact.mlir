// Scans whose numbers follow from the definition by hand.

// RUN: %check %s %t

// Over no step at all the state leaves as it came.
// INPUT 2: [6, 7]
// EXPECT 1: [6, 7]
// REFERENCE: none
func.func @length_zero_returns_the_incoming_state(
    %a: tensor<2xf32>, %b: tensor<1x0x2xf32>, %s: tensor<1x2xf32>)
    -> (tensor<1x0x2xf32>, tensor<1x2xf32>) {
  %h, %f = heddle.linear_scan %a, %b initial_state(%s : tensor<1x2xf32>)
    : tensor<2xf32>, tensor<1x0x2xf32> -> (tensor<1x0x2xf32>, final tensor<1x2xf32>)
  return %h, %f : tensor<1x0x2xf32>, tensor<1x2xf32>
}

// REFERENCE: none
// EXPECT 0: [0, 0, 0, 0]
func.func @length_zero_without_a_state_gives_zeros(
    %u: tensor<1x0x2xf32>, %a: tensor<2x2xf32>, %b: tensor<1x0x2xf32>) -> tensor<1x2x2xf32> {
  %y, %f = heddle.selective_scan %u, %u, %a, %b, %b
    : tensor<1x0x2xf32>, tensor<1x0x2xf32>, tensor<2x2xf32>, tensor<1x0x2xf32>, tensor<1x0x2xf32>
    -> tensor<1x0x2xf32>, tensor<1x2x2xf32>
  return %f : tensor<1x2x2xf32>
}

// INPUT 0: [2]
// INPUT 1: [1, 1, 1, 1, 1]
// INPUT 2: [4, 4, 4, 9, 9]
// INPUT 3: [10]
// EXPECT 0: [21, 43, 87, 1, 3]
func.func @a_segment_starts_from_zero(
    %a: tensor<1xf32>, %b: tensor<1x5x1xf32>, %r: tensor<1x5xi32>, %s: tensor<1x1xf32>) -> tensor<1x5x1xf32> {
  %h = heddle.linear_scan %a, %b initial_state(%s : tensor<1x1xf32>) reset_ids(%r : tensor<1x5xi32>)
    : tensor<1xf32>, tensor<1x5x1xf32> -> (tensor<1x5x1xf32>)
  return %h : tensor<1x5x1xf32>
}

// The state enters at the end, and the segment that walking order meets second
// is the first in memory.
// INPUT 0: [2]
// INPUT 1: [1, 1, 1, 1, 1]
// INPUT 2: [4, 4, 4, 9, 9]
// INPUT 3: [10]
// EXPECT 0: [7, 3, 1, 43, 21]
// EXPECT 1: [7]
func.func @reverse_walks_from_the_end(
    %a: tensor<1xf32>, %b: tensor<1x5x1xf32>, %r: tensor<1x5xi32>, %s: tensor<1x1xf32>)
    -> (tensor<1x5x1xf32>, tensor<1x1xf32>) {
  %h, %f = heddle.linear_scan %a, %b initial_state(%s : tensor<1x1xf32>) reset_ids(%r : tensor<1x5xi32>) {reverse}
    : tensor<1xf32>, tensor<1x5x1xf32> -> (tensor<1x5x1xf32>, final tensor<1x1xf32>)
  return %h, %f : tensor<1x5x1xf32>, tensor<1x1xf32>
}

// A state that a reset leaves behind is selected away, not multiplied by zero.
// INPUT 0: [1]
// INPUT 1: [inf, nan, 1, 2]
// INPUT 2: [0, 0, 1, 1]
// EXPECT 0: [inf, nan, 1, 3]
func.func @nothing_crosses_a_reset(%a: tensor<1xf32>, %b: tensor<1x4x1xf32>, %r: tensor<1x4xi32>) -> tensor<1x4x1xf32> {
  %h = heddle.linear_scan %a, %b reset_ids(%r : tensor<1x4xi32>)
    : tensor<1xf32>, tensor<1x4x1xf32> -> (tensor<1x4x1xf32>)
  return %h : tensor<1x4x1xf32>
}

// The state turns by a quarter per step and keeps its length.
// INPUT 0: [0]
// INPUT 1: full(0.0).put(0, 0, 1.0)
// INPUT 2: [1]
// INPUT 3: full(0.0)
// EXPECT 0: [1, 0, -1, 0, 1, 0, -1, 0, 1]
// EXPECT 1: [0, 1, 0, -1, 0, 1, 0, -1, 0]
func.func @complex_decay_rotates(
    %a: tensor<1xf32>, %b: tensor<1x9x1xf32>, %ai: tensor<1xf32>, %bi: tensor<1x9x1xf32>)
    -> (tensor<1x9x1xf32>, tensor<1x9x1xf32>) {
  %h, %hi = heddle.linear_scan %a, %b imag(%ai, %bi : tensor<1xf32>, tensor<1x9x1xf32>)
    : tensor<1xf32>, tensor<1x9x1xf32> -> (tensor<1x9x1xf32>, imag tensor<1x9x1xf32>)
  return %h, %hi : tensor<1x9x1xf32>, tensor<1x9x1xf32>
}

// With a = 0 and b = c = u = 1 the output is the running sum of the step sizes:
// softplus(100) = 100, and softplus(-100) is 0, not nan.
// INPUT 0: [1, 1, 1]
// INPUT 1: [101, -99, 1]
// INPUT 2: [0]
// INPUT 3: [1, 1, 1]
// INPUT 4: [-1]
// EXPECT 0: [100, 100, 100.69314718]
func.func @softplus_is_the_identity_above_20(
    %u: tensor<1x3x1xf32>, %dt: tensor<1x3x1xf32>, %a: tensor<1x1xf32>,
    %b: tensor<1x3x1xf32>, %bias: tensor<1xf32>) -> tensor<1x3x1xf32> {
  %y = heddle.selective_scan %u, %dt, %a, %b, %b delta_bias(%bias : tensor<1xf32>) {delta_softplus}
    : tensor<1x3x1xf32>, tensor<1x3x1xf32>, tensor<1x1xf32>, tensor<1x3x1xf32>, tensor<1x3x1xf32>
    -> tensor<1x3x1xf32>
  return %y : tensor<1x3x1xf32>
}

// Two halves with the state carried between them, and single steps: all are the
// whole, to the bit.
// INPUT 1: uniform(0.01, 0.5, 2)
// INPUT 2: uniform(-2.0, -0.1, 3)
// EXPECT 3: [0, 0, 0]
// REFERENCE: none
func.func @parts_with_carried_state_equal_the_whole(
    %u: tensor<1x3x40xf32>, %dt: tensor<1x3x40xf32>, %a: tensor<40x5xf32>, %b: tensor<1x3x5xf32>)
    -> (tensor<1x3x40xf32>, tensor<1x1x40xf32>, tensor<1x40x5xf32>, tensor<3xf32>) {
  %y, %f = heddle.selective_scan %u, %dt, %a, %b, %b
    : tensor<1x3x40xf32>, tensor<1x3x40xf32>, tensor<40x5xf32>, tensor<1x3x5xf32>, tensor<1x3x5xf32>
    -> tensor<1x3x40xf32>, tensor<1x40x5xf32>
  %u0 = tensor.extract_slice %u[0, 0, 0] [1, 2, 40] [1, 1, 1] : tensor<1x3x40xf32> to tensor<1x2x40xf32>
  %dt0 = tensor.extract_slice %dt[0, 0, 0] [1, 2, 40] [1, 1, 1] : tensor<1x3x40xf32> to tensor<1x2x40xf32>
  %b0 = tensor.extract_slice %b[0, 0, 0] [1, 2, 5] [1, 1, 1] : tensor<1x3x5xf32> to tensor<1x2x5xf32>
  %y0, %f0 = heddle.selective_scan %u0, %dt0, %a, %b0, %b0
    : tensor<1x2x40xf32>, tensor<1x2x40xf32>, tensor<40x5xf32>, tensor<1x2x5xf32>, tensor<1x2x5xf32>
    -> tensor<1x2x40xf32>, tensor<1x40x5xf32>
  %u1 = tensor.extract_slice %u[0, 2, 0] [1, 1, 40] [1, 1, 1] : tensor<1x3x40xf32> to tensor<1x1x40xf32>
  %dt1 = tensor.extract_slice %dt[0, 2, 0] [1, 1, 40] [1, 1, 1] : tensor<1x3x40xf32> to tensor<1x1x40xf32>
  %b1 = tensor.extract_slice %b[0, 2, 0] [1, 1, 5] [1, 1, 1] : tensor<1x3x5xf32> to tensor<1x1x5xf32>
  %y1, %f1 = heddle.selective_scan %u1, %dt1, %a, %b1, %b1 initial_state(%f0 : tensor<1x40x5xf32>)
    : tensor<1x1x40xf32>, tensor<1x1x40xf32>, tensor<40x5xf32>, tensor<1x1x5xf32>, tensor<1x1x5xf32>
    -> tensor<1x1x40xf32>, tensor<1x40x5xf32>
  %zero = arith.constant 0.0 : f32
  %e3 = tensor.empty() : tensor<3xf32>
  %z3 = linalg.fill ins(%zero : f32) outs(%e3 : tensor<3xf32>) -> tensor<3xf32>
  %w = tensor.extract_slice %y[0, 0, 0] [1, 2, 40] [1, 1, 1] : tensor<1x3x40xf32> to tensor<1x2x40xf32>
  %d0 = arith.subf %w, %y0 : tensor<1x2x40xf32>
  %l = tensor.extract_slice %y[0, 2, 0] [1, 1, 40] [1, 1, 1] : tensor<1x3x40xf32> to tensor<1x1x40xf32>
  %d1 = arith.subf %l, %y1 : tensor<1x1x40xf32>
  %d2 = arith.subf %f, %f1 : tensor<1x40x5xf32>
  %m0 = math.absf %d0 : tensor<1x2x40xf32>
  %c0 = tensor.collapse_shape %m0 [[0, 1, 2]] : tensor<1x2x40xf32> into tensor<80xf32>
  %m1 = math.absf %d1 : tensor<1x1x40xf32>
  %c1 = tensor.collapse_shape %m1 [[0, 1, 2]] : tensor<1x1x40xf32> into tensor<40xf32>
  %m2 = math.absf %d2 : tensor<1x40x5xf32>
  %c2 = tensor.collapse_shape %m2 [[0, 1, 2]] : tensor<1x40x5xf32> into tensor<200xf32>
  %e = tensor.empty() : tensor<f32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %s0 = linalg.reduce { arith.addf } ins(%c0 : tensor<80xf32>) outs(%z : tensor<f32>) dimensions = [0]
  %s1 = linalg.reduce { arith.addf } ins(%c1 : tensor<40xf32>) outs(%z : tensor<f32>) dimensions = [0]
  %s2 = linalg.reduce { arith.addf } ins(%c2 : tensor<200xf32>) outs(%z : tensor<f32>) dimensions = [0]
  %sum = arith.addf %s0, %s1 : tensor<f32>
  %all = arith.addf %sum, %s2 : tensor<f32>
  %r = linalg.broadcast ins(%all : tensor<f32>) outs(%e3 : tensor<3xf32>) dimensions = [0]
  return %y, %y1, %f1, %r : tensor<1x3x40xf32>, tensor<1x1x40xf32>, tensor<1x40x5xf32>, tensor<3xf32>
}

// Gradients over no step: that of the state passes, all others are zero.
// INPUT 3: [6, 7]
// INPUT 4: [8, 9]
// EXPECT 0: [0, 0]
// EXPECT 2: [8, 9]
// REFERENCE: none
func.func @linear_gradient_of_length_zero(
    %a: tensor<2xf32>, %h: tensor<1x0x2xf32>, %dh: tensor<1x0x2xf32>, %s: tensor<1x2xf32>, %f: tensor<1x2xf32>)
    -> (tensor<2xf32>, tensor<1x0x2xf32>, tensor<1x2xf32>) {
  %da, %db, %ds = heddle.linear_scan_grad %a, %h, %dh initial_state(%s : tensor<1x2xf32>) dfinal_state(%f : tensor<1x2xf32>)
    : tensor<2xf32>, tensor<1x0x2xf32>, tensor<1x0x2xf32>
    -> (tensor<2xf32>, tensor<1x0x2xf32>, initial_state tensor<1x2xf32>)
  return %da, %db, %ds : tensor<2xf32>, tensor<1x0x2xf32>, tensor<1x2xf32>
}

// INPUT 3: [6, 7, 8, 9]
// INPUT 4: [1, 2, 3, 4]
// EXPECT 0: [0, 0, 0, 0]
// EXPECT 1: [1, 2, 3, 4]
// REFERENCE: none
func.func @selective_gradient_of_length_zero(
    %u: tensor<1x0x2xf32>, %a: tensor<2x2xf32>, %b: tensor<1x0x2xf32>, %s: tensor<1x2x2xf32>, %f: tensor<1x2x2xf32>)
    -> (tensor<2x2xf32>, tensor<1x2x2xf32>) {
  %g:6 = heddle.selective_scan_grad %u, %u, %a, %b, %b, %u initial_state(%s : tensor<1x2x2xf32>) dfinal_state(%f : tensor<1x2x2xf32>)
    : tensor<1x0x2xf32>, tensor<1x0x2xf32>, tensor<2x2xf32>, tensor<1x0x2xf32>, tensor<1x0x2xf32>, tensor<1x0x2xf32>
    -> (tensor<1x0x2xf32>, tensor<1x0x2xf32>, tensor<2x2xf32>, tensor<1x0x2xf32>, tensor<1x0x2xf32>, initial_state tensor<1x2x2xf32>)
  return %g#2, %g#5 : tensor<2x2xf32>, tensor<1x2x2xf32>
}

// With a = 0 and b = c = u = 1 the output is the running sum of the step sizes,
// and softplus has the slope 1 far up and 0, not nan, far down.
// INPUT 0: [1, 1, 1]
// INPUT 1: [100, -100, 0]
// INPUT 2: [0]
// INPUT 3: [1, 1, 1]
// INPUT 4: [1, 1, 1]
// EXPECT 0: [3, 0, 0.5]
// REFERENCE: none
func.func @softplus_has_the_slopes_of_its_ends(
    %u: tensor<1x3x1xf32>, %dt: tensor<1x3x1xf32>, %a: tensor<1x1xf32>, %b: tensor<1x3x1xf32>, %dy: tensor<1x3x1xf32>)
    -> tensor<1x3x1xf32> {
  %g:5 = heddle.selective_scan_grad %u, %dt, %a, %b, %b, %dy {delta_softplus}
    : tensor<1x3x1xf32>, tensor<1x3x1xf32>, tensor<1x1xf32>, tensor<1x3x1xf32>, tensor<1x3x1xf32>, tensor<1x3x1xf32>
    -> (tensor<1x3x1xf32>, tensor<1x3x1xf32>, tensor<1x1xf32>, tensor<1x3x1xf32>, tensor<1x3x1xf32>)
  return %g#1 : tensor<1x3x1xf32>
}

// A state without elements adds nothing, whatever the length.
// REFERENCE: none
// EXPECT 0: [0, 0, 0, 0]
func.func @ssd_without_key_elements_gives_zeros(
    %q: tensor<1x2x1x0xf32>, %v: tensor<1x2x1x2xf32>, %l: tensor<1x2x1xf32>) -> tensor<1x2x1x2xf32> {
  %o = heddle.ssd %q, %q, %v, %l : tensor<1x2x1x0xf32>, tensor<1x2x1x0xf32>, tensor<1x2x1x2xf32>, tensor<1x2x1xf32> -> tensor<1x2x1x2xf32>
  return %o : tensor<1x2x1x2xf32>
}

// REFERENCE: none
// EXPECT 3: [0, 0, 0, 0]
// EXPECT 4: [0, 0, 0, 0]
func.func @gradients_without_channels_are_zero(
    %u: tensor<1x2x0xf32>, %a: tensor<0x2xf32>, %b: tensor<1x2x2xf32>)
    -> (tensor<1x2x0xf32>, tensor<1x2x0xf32>, tensor<0x2xf32>, tensor<1x2x2xf32>, tensor<1x2x2xf32>) {
  %g:5 = heddle.selective_scan_grad %u, %u, %a, %b, %b, %u
    : tensor<1x2x0xf32>, tensor<1x2x0xf32>, tensor<0x2xf32>, tensor<1x2x2xf32>, tensor<1x2x2xf32>, tensor<1x2x0xf32>
    -> (tensor<1x2x0xf32>, tensor<1x2x0xf32>, tensor<0x2xf32>, tensor<1x2x2xf32>, tensor<1x2x2xf32>)
  return %g#0, %g#1, %g#2, %g#3, %g#4 : tensor<1x2x0xf32>, tensor<1x2x0xf32>, tensor<0x2xf32>, tensor<1x2x2xf32>, tensor<1x2x2xf32>
}
