// RUN: heddle-opt %s -heddle-differentiate -split-input-file -verify-diagnostics

func.func private @loss(%q: tensor<1x5x2x4xf32>, %slopes: tensor<2xf32>) -> tensor<f32> {
  // expected-error @+1 {{'heddle.attention' op cannot be differentiated: its region reads a value that the gradient depends on; pass it as an operand}}
  %o = heddle.attention %q, %q, %q score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
    %x = tensor.extract %slopes[%h] : tensor<2xf32>
    %y = arith.mulf %s, %x : f32
    heddle.yield %y : f32
  } : tensor<1x5x2x4xf32>, tensor<1x5x2x4xf32>, tensor<1x5x2x4xf32> -> tensor<1x5x2x4xf32>
  %z = arith.constant dense<0.0> : tensor<f32>
  // expected-note @+1 {{the differentiated value depends on it through}}
  %s = linalg.reduce { arith.addf } ins(%o : tensor<1x5x2x4xf32>) outs(%z : tensor<f32>) dimensions = [0, 1, 2, 3]
  return %s : tensor<f32>
}
func.func @captured_values_get_no_gradient(%q: tensor<1x5x2x4xf32>, %slopes: tensor<2xf32>) -> tensor<2xf32> {
  %l, %d = heddle.value_and_grad @loss(%q, %slopes) wrt [1] : (tensor<1x5x2x4xf32>, tensor<2xf32>) -> (tensor<f32>, tensor<2xf32>)
  return %d : tensor<2xf32>
}
