// Scans: linear ones real and complex, decay constant or not, states, resets,
// both directions; selective ones and ssd with all operands.

func.func @real(%a: tensor<2x5x3xf32>, %b: tensor<2x5x3xf32>) -> tensor<2x5x3xf32> {
  %h = heddle.linear_scan %a, %b : tensor<2x5x3xf32>, tensor<2x5x3xf32> -> (tensor<2x5x3xf32>)
  return %h : tensor<2x5x3xf32>
}

func.func @real_with_states_and_resets(%a: tensor<2x5x3xf32>, %b: tensor<2x5x3xf32>, %s: tensor<2x3xf32>,
    %i: tensor<2x5xi32> {test.values = [0 : i32, 0 : i32, 1 : i32, 1 : i32, 2 : i32, 4 : i32, 4 : i32, 4 : i32, 5 : i32, 5 : i32]})
    -> (tensor<2x5x3xf32>, tensor<2x3xf32>) {
  %h, %f = heddle.linear_scan %a, %b initial_state(%s : tensor<2x3xf32>) reset_ids(%i : tensor<2x5xi32>)
    : tensor<2x5x3xf32>, tensor<2x5x3xf32> -> (tensor<2x5x3xf32>, final tensor<2x3xf32>)
  return %h, %f : tensor<2x5x3xf32>, tensor<2x3xf32>
}

func.func @reversed_with_states_and_resets(%a: tensor<2x5x3xf32>, %b: tensor<2x5x3xf32>, %s: tensor<2x3xf32>,
    %i: tensor<2x5xi32> {test.values = [0 : i32, 0 : i32, 1 : i32, 1 : i32, 2 : i32, 4 : i32, 4 : i32, 4 : i32, 5 : i32, 5 : i32]})
    -> (tensor<2x5x3xf32>, tensor<2x3xf32>) {
  %h, %f = heddle.linear_scan %a, %b initial_state(%s : tensor<2x3xf32>) reset_ids(%i : tensor<2x5xi32>) {reverse}
    : tensor<2x5x3xf32>, tensor<2x5x3xf32> -> (tensor<2x5x3xf32>, final tensor<2x3xf32>)
  return %h, %f : tensor<2x5x3xf32>, tensor<2x3xf32>
}

func.func @constant_decay(%a: tensor<3xf32>, %b: tensor<2x5x3xf32>, %s: tensor<2x3xf32>,
    %i: tensor<2x5xi32> {test.values = [0 : i32, 0 : i32, 1 : i32, 1 : i32, 1 : i32, 4 : i32, 4 : i32, 4 : i32, 4 : i32, 4 : i32]})
    -> (tensor<2x5x3xf32>, tensor<2x3xf32>) {
  %h, %f = heddle.linear_scan %a, %b initial_state(%s : tensor<2x3xf32>) reset_ids(%i : tensor<2x5xi32>)
    : tensor<3xf32>, tensor<2x5x3xf32> -> (tensor<2x5x3xf32>, final tensor<2x3xf32>)
  return %h, %f : tensor<2x5x3xf32>, tensor<2x3xf32>
}

// Only the last state is used.
func.func @final_state_alone(%a: tensor<2x5x3xf32>, %b: tensor<2x5x3xf32>) -> tensor<2x3xf32> {
  %h, %f = heddle.linear_scan %a, %b : tensor<2x5x3xf32>, tensor<2x5x3xf32> -> (tensor<2x5x3xf32>, final tensor<2x3xf32>)
  return %f : tensor<2x3xf32>
}

func.func @complex(%a: tensor<2x5x2xf32>, %ai: tensor<2x5x2xf32>, %b: tensor<2x5x2xf32>, %bi: tensor<2x5x2xf32>,
    %s: tensor<2x2xf32>, %si: tensor<2x2xf32>,
    %i: tensor<2x5xi32> {test.values = [0 : i32, 0 : i32, 1 : i32, 1 : i32, 2 : i32, 4 : i32, 4 : i32, 4 : i32, 5 : i32, 5 : i32]})
    -> (tensor<2x5x2xf32>, tensor<2x5x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>) {
  %h, %hi, %f, %fi = heddle.linear_scan %a, %b imag(%ai, %bi : tensor<2x5x2xf32>, tensor<2x5x2xf32>)
    initial_state(%s : tensor<2x2xf32>) initial_state_imag(%si : tensor<2x2xf32>) reset_ids(%i : tensor<2x5xi32>)
    : tensor<2x5x2xf32>, tensor<2x5x2xf32> -> (tensor<2x5x2xf32>, imag tensor<2x5x2xf32>, final tensor<2x2xf32>, final_imag tensor<2x2xf32>)
  return %h, %hi, %f, %fi : tensor<2x5x2xf32>, tensor<2x5x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>
}

func.func @complex_constant_decay_reversed(%a: tensor<2xf32>, %ai: tensor<2xf32>, %b: tensor<2x5x2xf32>, %bi: tensor<2x5x2xf32>,
    %s: tensor<2x2xf32>, %si: tensor<2x2xf32>) -> (tensor<2x5x2xf32>, tensor<2x2xf32>) {
  %h, %hi, %f, %fi = heddle.linear_scan %a, %b imag(%ai, %bi : tensor<2xf32>, tensor<2x5x2xf32>)
    initial_state(%s : tensor<2x2xf32>) initial_state_imag(%si : tensor<2x2xf32>) {reverse}
    : tensor<2xf32>, tensor<2x5x2xf32> -> (tensor<2x5x2xf32>, imag tensor<2x5x2xf32>, final tensor<2x2xf32>, final_imag tensor<2x2xf32>)
  return %h, %fi : tensor<2x5x2xf32>, tensor<2x2xf32>
}

// 16-bit: scans and products in f32, rounded once.
func.func @in_bf16(%a: tensor<2x5x3xf32>, %b: tensor<2x5x3xf32>, %s: tensor<2x3xf32>) -> tensor<2x5x3xbf16> {
  %ah = arith.truncf %a : tensor<2x5x3xf32> to tensor<2x5x3xbf16>
  %bh = arith.truncf %b : tensor<2x5x3xf32> to tensor<2x5x3xbf16>
  %h = heddle.linear_scan %ah, %bh initial_state(%s : tensor<2x3xf32>) : tensor<2x5x3xbf16>, tensor<2x5x3xbf16> -> (tensor<2x5x3xbf16>)
  return %h : tensor<2x5x3xbf16>
}

// No steps: the state passes through.
func.func @no_steps(%a: tensor<2x0x3xf32>, %b: tensor<2x0x3xf32>, %s: tensor<2x3xf32>) -> tensor<2x3xf32> attributes {test.no_cpu} {
  %h, %f = heddle.linear_scan %a, %b initial_state(%s : tensor<2x3xf32>)
    : tensor<2x0x3xf32>, tensor<2x0x3xf32> -> (tensor<2x0x3xf32>, final tensor<2x3xf32>)
  return %f : tensor<2x3xf32>
}

func.func @one_step(%a: tensor<2x1x3xf32>, %b: tensor<2x1x3xf32>, %s: tensor<2x3xf32>) -> (tensor<2x1x3xf32>, tensor<2x3xf32>) {
  %h, %f = heddle.linear_scan %a, %b initial_state(%s : tensor<2x3xf32>)
    : tensor<2x1x3xf32>, tensor<2x1x3xf32> -> (tensor<2x1x3xf32>, final tensor<2x3xf32>)
  return %h, %f : tensor<2x1x3xf32>, tensor<2x3xf32>
}

// The imaginary part is not used: its cotangent is zero.
func.func @real_part_of_complex(%a: tensor<2xf32>, %ai: tensor<2xf32>, %b: tensor<2x5x2xf32>, %bi: tensor<2x5x2xf32>) -> tensor<2x5x2xf32> {
  %h, %hi = heddle.linear_scan %a, %b imag(%ai, %bi : tensor<2xf32>, tensor<2x5x2xf32>)
    : tensor<2xf32>, tensor<2x5x2xf32> -> (tensor<2x5x2xf32>, imag tensor<2x5x2xf32>)
  return %h : tensor<2x5x2xf32>
}

// The imaginary part of the last state alone.
func.func @imaginary_final_state_of_complex(%a: tensor<2x4x2xf32>, %ai: tensor<2x4x2xf32>, %b: tensor<2x4x2xf32>, %bi: tensor<2x4x2xf32>) -> tensor<2x2xf32> {
  %h, %hi, %f, %fi = heddle.linear_scan %a, %b imag(%ai, %bi : tensor<2x4x2xf32>, tensor<2x4x2xf32>)
    : tensor<2x4x2xf32>, tensor<2x4x2xf32> -> (tensor<2x4x2xf32>, imag tensor<2x4x2xf32>, final tensor<2x2xf32>, final_imag tensor<2x2xf32>)
  return %fi : tensor<2x2xf32>
}

// A gradient of its gradient goes through the scan written out.
func.func @selective(%u: tensor<2x5x4xf32>, %dt: tensor<2x5x4xf32>, %a: tensor<4x3xf32> {test.low = -2.0 : f64, test.high = -0.5 : f64},
    %b: tensor<2x5x2x3xf32>, %c: tensor<2x5x2x3xf32>, %d: tensor<4xf32>, %z: tensor<2x5x4xf32>, %bias: tensor<4xf32>, %s: tensor<2x4x3xf32>,
    %i: tensor<2x5xi32> {test.values = [0 : i32, 0 : i32, 1 : i32, 1 : i32, 2 : i32, 4 : i32, 4 : i32, 4 : i32, 5 : i32, 5 : i32]})
    -> (tensor<2x5x4xf32>, tensor<2x4x3xf32>) {
  %y, %f = heddle.selective_scan %u, %dt, %a, %b, %c d(%d : tensor<4xf32>) z(%z : tensor<2x5x4xf32>) delta_bias(%bias : tensor<4xf32>)
    initial_state(%s : tensor<2x4x3xf32>) reset_ids(%i : tensor<2x5xi32>) {delta_softplus}
    : tensor<2x5x4xf32>, tensor<2x5x4xf32>, tensor<4x3xf32>, tensor<2x5x2x3xf32>, tensor<2x5x2x3xf32> -> tensor<2x5x4xf32>, tensor<2x4x3xf32>
  return %y, %f : tensor<2x5x4xf32>, tensor<2x4x3xf32>
}

func.func @selective_without_steps(%u: tensor<2x0x4xf32>, %a: tensor<4x3xf32> {test.zero}, %b: tensor<2x0x3xf32>, %s: tensor<2x4x3xf32>)
    -> tensor<2x4x3xf32> attributes {test.no_cpu} {
  %y, %f = heddle.selective_scan %u, %u, %a, %b, %b initial_state(%s : tensor<2x4x3xf32>)
    : tensor<2x0x4xf32>, tensor<2x0x4xf32>, tensor<4x3xf32>, tensor<2x0x3xf32>, tensor<2x0x3xf32> -> tensor<2x0x4xf32>, tensor<2x4x3xf32>
  return %f : tensor<2x4x3xf32>
}

// Only c has groups; nothing but the last state and the output, back in time.
func.func @selective_reversed(%u: tensor<2x3x4xf32>, %dt: tensor<2x3x4xf32> {test.low = 0.1 : f64, test.high = 1.0 : f64},
    %a: tensor<4x2xf32> {test.low = -2.0 : f64, test.high = -0.5 : f64}, %b: tensor<2x3x2xf32>, %c: tensor<2x3x2x2xf32>)
    -> (tensor<2x3x4xf32>, tensor<2x4x2xf32>) {
  %y, %f = heddle.selective_scan %u, %dt, %a, %b, %c {reverse}
    : tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<4x2xf32>, tensor<2x3x2xf32>, tensor<2x3x2x2xf32> -> tensor<2x3x4xf32>, tensor<2x4x2xf32>
  return %y, %f : tensor<2x3x4xf32>, tensor<2x4x2xf32>
}

func.func @ssd(%q: tensor<1x5x1x2xf32>, %k: tensor<1x5x1x2xf32>, %v: tensor<1x5x2x2xf32>, %a: tensor<1x5x2xf32>, %s: tensor<1x2x2x2xf32>,
    %i: tensor<1x5xi32> {test.values = [0 : i32, 0 : i32, 1 : i32, 1 : i32, 1 : i32]}) -> (tensor<1x5x2x2xf32>, tensor<1x2x2x2xf32>) {
  %o, %f = heddle.ssd %q, %k, %v, %a initial_state(%s : tensor<1x2x2x2xf32>) reset_ids(%i : tensor<1x5xi32>)
    : tensor<1x5x1x2xf32>, tensor<1x5x1x2xf32>, tensor<1x5x2x2xf32>, tensor<1x5x2xf32> -> tensor<1x5x2x2xf32>, tensor<1x2x2x2xf32>
  return %o, %f : tensor<1x5x2x2xf32>, tensor<1x2x2x2xf32>
}

// Two chunks of 128 positions, the second with two of them.
func.func @ssd_in_chunks(%q: tensor<1x130x1x1xf32>, %k: tensor<1x130x1x1xf32>, %v: tensor<1x130x1x1xf32>,
    %a: tensor<1x130x1xf32> {test.low = -0.1 : f64, test.high = 0.05 : f64}, %s: tensor<1x1x1x1xf32>)
    -> (tensor<1x130x1x1xf32>, tensor<1x1x1x1xf32>) attributes {test.first_order} {
  %o, %f = heddle.ssd %q, %k, %v, %a initial_state(%s : tensor<1x1x1x1xf32>) {reverse}
    : tensor<1x130x1x1xf32>, tensor<1x130x1x1xf32>, tensor<1x130x1x1xf32>, tensor<1x130x1xf32> -> tensor<1x130x1x1xf32>, tensor<1x1x1x1xf32>
  return %o, %f : tensor<1x130x1x1xf32>, tensor<1x1x1x1xf32>
}
