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
