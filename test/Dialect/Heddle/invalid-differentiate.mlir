// RUN: heddle-opt %s -heddle-differentiate -split-input-file -verify-diagnostics

// The error names the op and the way from it to the value.
func.func private @no_rule(%x: tensor<f32>) -> tensor<f32> {
  // expected-error @below {{'arith.bitcast' op cannot be differentiated: it has no gradient rule}}
  %i = arith.bitcast %x : tensor<f32> to tensor<f32>
  // expected-note @below {{the differentiated value depends on it through 'arith.mulf' here}}
  %b = arith.mulf %i, %x : tensor<f32>
  // expected-note @below {{the differentiated value depends on it through 'math.exp' here}}
  %c = math.exp %b : tensor<f32>
  return %c : tensor<f32>
}
func.func @op_without_a_rule(%x: tensor<f32>) -> tensor<f32> {
  %v, %g = heddle.value_and_grad @no_rule(%x) wrt [0]
    : (tensor<f32>) -> (tensor<f32>, tensor<f32>)
  return %g : tensor<f32>
}

// -----

// Off the path such an op is fine.
func.func private @off_path(%x: tensor<f32>) -> tensor<f32> {
  %i = arith.bitcast %x : tensor<f32> to tensor<i32>
  %f = arith.sitofp %i : tensor<i32> to tensor<f32>
  %c = math.exp %f : tensor<f32>
  return %c : tensor<f32>
}
func.func @integers_end_the_path(%x: tensor<f32>) -> tensor<f32> {
  %v, %g = heddle.value_and_grad @off_path(%x) wrt [0]
    : (tensor<f32>) -> (tensor<f32>, tensor<f32>)
  return %g : tensor<f32>
}

// -----

func.func private @recursive(%x: tensor<f32>) -> tensor<f32> {
  // expected-error @below {{expected a loss that does not differentiate itself, got @recursive}}
  %v, %g = heddle.value_and_grad @recursive(%x) wrt [0]
    : (tensor<f32>) -> (tensor<f32>, tensor<f32>)
  return %v : tensor<f32>
}
func.func @loss_of_itself(%x: tensor<f32>) -> tensor<f32> {
  %v, %g = heddle.value_and_grad @recursive(%x) wrt [0]
    : (tensor<f32>) -> (tensor<f32>, tensor<f32>)
  return %g : tensor<f32>
}

// -----

func.func private @declared(%x: tensor<f32>) -> tensor<f32>
func.func @loss_without_a_body(%x: tensor<f32>) -> tensor<f32> {
  // expected-error @below {{expected @declared to be a func.func of one block, to differentiate it}}
  %v, %g = heddle.value_and_grad @declared(%x) wrt [0]
    : (tensor<f32>) -> (tensor<f32>, tensor<f32>)
  return %g : tensor<f32>
}

// -----

func.func private @product(%x: tensor<3xf32>) -> tensor<f32> {
  %one = arith.constant dense<1.0> : tensor<f32>
  // expected-error @below {{'linalg.generic' op cannot be differentiated: expected its reduction to add to the accumulator, or to keep the largest or smallest of it and one value}}
  %y = linalg.reduce { arith.mulf } ins(%x : tensor<3xf32>) outs(%one : tensor<f32>) dimensions = [0]
  return %y : tensor<f32>
}
func.func @reduction_by_multiplication(%x: tensor<3xf32>) -> tensor<3xf32> {
  %v, %g = heddle.value_and_grad @product(%x) wrt [0]
    : (tensor<3xf32>) -> (tensor<f32>, tensor<3xf32>)
  return %g : tensor<3xf32>
}

// -----

func.func private @conditional_sum(%x: tensor<3xf32>) -> tensor<f32> {
  %zero = arith.constant dense<0.0> : tensor<f32>
  // expected-error @below {{'linalg.generic' op cannot be differentiated: what it adds depends on the accumulator}}
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
      ins(%x : tensor<3xf32>) outs(%zero : tensor<f32>) {
  ^bb0(%v: f32, %acc: f32):
    %c = arith.cmpf ogt, %acc, %v : f32
    %w = arith.mulf %v, %v : f32
    %u = arith.select %c, %w, %v : f32
    %s = arith.addf %acc, %u : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  return %y : tensor<f32>
}
func.func @term_that_depends_on_the_sum(%x: tensor<3xf32>) -> tensor<3xf32> {
  %v, %g = heddle.value_and_grad @conditional_sum(%x) wrt [0]
    : (tensor<3xf32>) -> (tensor<f32>, tensor<3xf32>)
  return %g : tensor<3xf32>
}

// -----

func.func private @diagonal(%x: tensor<3x3xf32>) -> tensor<f32> {
  %zero = arith.constant dense<0.0> : tensor<f32>
  // expected-error @below {{'linalg.generic' op cannot be differentiated: expected operand 0 to be read at a permutation of some loops, or at windows whose gradient is a correlation, got affine_map<(d0) -> (d0, d0)>}}
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i, i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
      ins(%x : tensor<3x3xf32>) outs(%zero : tensor<f32>) {
  ^bb0(%v: f32, %acc: f32):
    %s = arith.addf %acc, %v : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  return %y : tensor<f32>
}
func.func @operand_read_on_the_diagonal(%x: tensor<3x3xf32>) -> tensor<3x3xf32> {
  %v, %g = heddle.value_and_grad @diagonal(%x) wrt [0]
    : (tensor<3x3xf32>) -> (tensor<f32>, tensor<3x3xf32>)
  return %g : tensor<3x3xf32>
}

// -----

// A rule fails inside a body: the body's op, then the ops around it.
func.func private @inner(%x: tensor<3xf32>) -> tensor<f32> {
  %zero = arith.constant dense<0.0> : tensor<f32>
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
      ins(%x : tensor<3xf32>) outs(%zero : tensor<f32>) {
  ^bb0(%v: f32, %acc: f32):
    // expected-error @below {{'arith.bitcast' op cannot be differentiated: it has no gradient rule}}
    %b = arith.bitcast %v : f32 to f32
    // expected-note @below {{the differentiated value depends on it through 'arith.addf' here}}
    %s = arith.addf %acc, %b : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  // expected-note @below {{the differentiated value depends on it through 'math.exp' here}}
  %z = math.exp %y : tensor<f32>
  return %z : tensor<f32>
}
func.func @op_without_a_rule_in_a_body(%x: tensor<3xf32>) -> tensor<3xf32> {
  %v, %g = heddle.value_and_grad @inner(%x) wrt [0]
    : (tensor<3xf32>) -> (tensor<f32>, tensor<3xf32>)
  return %g : tensor<3xf32>
}

// -----

func.func private @by_position(%x: tensor<3xf32>, %i: tensor<3xindex>) -> tensor<f32> {
  %zero = arith.constant dense<0.0> : tensor<f32>
  // expected-error @below {{'linalg.generic' op cannot be differentiated: its region reads a value that the gradient depends on; pass it as an operand}}
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
      ins(%i : tensor<3xindex>) outs(%zero : tensor<f32>) {
  ^bb0(%p: index, %acc: f32):
    %v = tensor.extract %x[%p] : tensor<3xf32>
    %s = arith.addf %acc, %v : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  return %y : tensor<f32>
}
func.func @region_that_captures(%x: tensor<3xf32>, %i: tensor<3xindex>) -> tensor<3xf32> {
  %v, %g = heddle.value_and_grad @by_position(%x, %i) wrt [0]
    : (tensor<3xf32>, tensor<3xindex>) -> (tensor<f32>, tensor<3xf32>)
  return %g : tensor<3xf32>
}

// -----

// An integer argument has no gradient, and a loss is one number.
func.func private @counted(%x: tensor<f32>, %n: tensor<i32>) -> tensor<f32> {
  return %x : tensor<f32>
}
func.func @gradient_of_an_integer(%x: tensor<f32>, %n: tensor<i32>) -> tensor<i32> {
  // expected-error @below {{expected argument 1 to be a ranked float tensor, as it is in wrt, got 'tensor<i32>'}}
  %v, %g = heddle.value_and_grad @counted(%x, %n) wrt [1]
    : (tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<i32>)
  return %g : tensor<i32>
}

// -----

func.func private @vector(%x: tensor<2xf32>) -> tensor<2xf32> {
  return %x : tensor<2xf32>
}
func.func @gradient_of_a_vector(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @below {{expected a float or a rank-0 float tensor as value, got 'tensor<2xf32>'}}
  %v, %g = heddle.value_and_grad @vector(%x) wrt [0]
    : (tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)
  return %g : tensor<2xf32>
}

// -----

func.func private @by_bits(%x: tensor<2xf32>) -> tensor<f32> {
  %i = arith.bitcast %x : tensor<2xf32> to tensor<2xi32>
  // expected-error @below {{cannot be differentiated: it reads the bits of a value that depends on what is differentiated; use float ops, or leave the argument out of wrt}}
  %f = arith.bitcast %i : tensor<2xi32> to tensor<2xf32>
  %z = arith.constant dense<0.0> : tensor<f32>
  %s = linalg.reduce { arith.addf } ins(%f : tensor<2xf32>) outs(%z : tensor<f32>) dimensions = [0]
  return %s : tensor<f32>
}
func.func @bits_of_a_float_that_varies(%x: tensor<2xf32>) -> tensor<2xf32> {
  %v, %g = heddle.value_and_grad @by_bits(%x) wrt [0]
    : (tensor<2xf32>) -> (tensor<f32>, tensor<2xf32>)
  return %g : tensor<2xf32>
}

// -----

// States that a scan leaves for its gradient carry none themselves.
func.func private @through_states_of_chunks(%u: tensor<1x4x2xf32>, %a: tensor<2x3xf32>, %b: tensor<1x4x3xf32>) -> tensor<f32> {
  // expected-error @below {{'heddle.selective_scan' op expected no gradient through chunk_states; use final_state of shorter scans}}
  %y, %s = heddle.selective_scan %u, %u, %a, %b, %b {chunk = 2}
    : tensor<1x4x2xf32>, tensor<1x4x2xf32>, tensor<2x3xf32>, tensor<1x4x3xf32>, tensor<1x4x3xf32>
    -> tensor<1x4x2xf32>, chunk_states tensor<1x1x2x3xf32>
  %zero = arith.constant dense<0.0> : tensor<f32>
  // expected-note @below {{the differentiated value depends on it through 'linalg.generic' here}}
  %sum = linalg.reduce { arith.addf } ins(%s : tensor<1x1x2x3xf32>) outs(%zero : tensor<f32>) dimensions = [0, 1, 2, 3]
  return %sum : tensor<f32>
}
func.func @gradient_of_states_of_chunks(%u: tensor<1x4x2xf32>, %a: tensor<2x3xf32>, %b: tensor<1x4x3xf32>) -> tensor<1x4x2xf32> {
  %v, %g = heddle.value_and_grad @through_states_of_chunks(%u, %a, %b) wrt [0]
    : (tensor<1x4x2xf32>, tensor<2x3xf32>, tensor<1x4x3xf32>) -> (tensor<f32>, tensor<1x4x2xf32>)
  return %g : tensor<1x4x2xf32>
}
