// Functions that saturate: their slope is 0 where an intermediate value is
// infinite, and not the NaN of 0 times infinity.

// RUN: %check %s %t

// x / (1 + exp(-v)): the gate is 0, 1/2 or 1. That is the slope of x; the slope
// of v is x/4 in the middle and 0 outside.
// INPUT 0: [3, 3, 3, 3, 3, 3]
// INPUT 1: [-1000, -100, 0, 100, 1000, 3e38]
// EXPECT 0: [0, 0, 0.5, 1, 1, 1]
// EXPECT 1: [0, 0, 0.75, 0, 0, 0]
// REFERENCE: none
func.func @gate(%x: tensor<6xf32>, %v: tensor<6xf32>) -> (tensor<6xf32>, tensor<6xf32>) {
  %s, %dx, %dv = heddle.value_and_grad @gate_loss(%x, %v) wrt [0, 1]
    : (tensor<6xf32>, tensor<6xf32>) -> (tensor<f32>, tensor<6xf32>, tensor<6xf32>)
  return %dx, %dv : tensor<6xf32>, tensor<6xf32>
}
func.func private @gate_loss(%x: tensor<6xf32>, %v: tensor<6xf32>) -> tensor<f32> {
  %zero = arith.constant dense<0.0> : tensor<f32>
  %s = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
      ins(%x, %v : tensor<6xf32>, tensor<6xf32>) outs(%zero : tensor<f32>) {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %one = arith.constant 1.0 : f32
    %n = arith.negf %b : f32
    %e = math.exp %n : f32
    %d = arith.addf %one, %e : f32
    %q = arith.divf %a, %d : f32
    %0 = arith.addf %acc, %q : f32
    linalg.yield %0 : f32
  } -> tensor<f32>
  return %s : tensor<f32>
}

// x/2 (1 + tanh(c x + d x^3)): 0 or 1, also where x^2 is infinite in f32.
// INPUT 0: [-1e30, -1e13, 0, 20, 1e20, 1e38]
// EXPECT 0: [0, 0, 0.5, 1, 1, 1]
// REFERENCE: none
func.func @gelu(%x: tensor<6xf32>) -> tensor<6xf32> {
  %s, %dx = heddle.value_and_grad @gelu_loss(%x) wrt [0] : (tensor<6xf32>) -> (tensor<f32>, tensor<6xf32>)
  return %dx : tensor<6xf32>
}
func.func private @gelu_loss(%x: tensor<6xf32>) -> tensor<f32> {
  %zero = arith.constant dense<0.0> : tensor<f32>
  %s = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
      ins(%x : tensor<6xf32>) outs(%zero : tensor<f32>) {
  ^bb0(%a: f32, %acc: f32):
    %c = arith.constant 0.7978845608 : f32
    %d = arith.constant 0.044715 : f32
    %one = arith.constant 1.0 : f32
    %half = arith.constant 0.5 : f32
    %square = arith.mulf %a, %a : f32
    %cube = arith.mulf %square, %a : f32
    %scaled = arith.mulf %d, %cube : f32
    %in = arith.addf %a, %scaled : f32
    %arg = arith.mulf %c, %in : f32
    %t = math.tanh %arg : f32
    %u = arith.addf %t, %one : f32
    %h = arith.mulf %half, %a : f32
    %y = arith.mulf %h, %u : f32
    %0 = arith.addf %acc, %y : f32
    linalg.yield %0 : f32
  } -> tensor<f32>
  return %s : tensor<f32>
}

// Every function that grows without bound, under tanh.
// INPUT 0: [200, 1000, 1e10, 1e20, 1e30, 3e38]
// EXPECT 0: [0, 0, 0, 0, 0, 0]
// REFERENCE: none
func.func @powers(%x: tensor<6xf32>) -> tensor<6xf32> {
  %s, %dx = heddle.value_and_grad @powers_loss(%x) wrt [0] : (tensor<6xf32>) -> (tensor<f32>, tensor<6xf32>)
  return %dx : tensor<6xf32>
}
func.func private @powers_loss(%x: tensor<6xf32>) -> tensor<f32> {
  %zero = arith.constant dense<0.0> : tensor<f32>
  %s = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
      ins(%x : tensor<6xf32>) outs(%zero : tensor<f32>) {
  ^bb0(%a: f32, %acc: f32):
    %three = arith.constant 3.0 : f32
    %p = math.powf %a, %three : f32
    %e = math.exp2 %a : f32
    %s = math.sinh %a : f32
    %c = math.cosh %a : f32
    %m = math.expm1 %a : f32
    %t0 = math.tanh %p : f32
    %t2 = math.tanh %e : f32
    %t3 = math.tanh %s : f32
    %t4 = math.tanh %c : f32
    %t5 = math.tanh %m : f32
    %0 = arith.addf %acc, %t0 : f32
    %2 = arith.addf %0, %t2 : f32
    %3 = arith.addf %2, %t3 : f32
    %4 = arith.addf %3, %t4 : f32
    %5 = arith.addf %4, %t5 : f32
    linalg.yield %5 : f32
  } -> tensor<f32>
  return %s : tensor<f32>
}
