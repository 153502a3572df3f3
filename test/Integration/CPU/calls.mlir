// Functions that models and losses call.

// RUN: heddle-run %s --function=gradient_through_a_call --check=reference
// RUN: heddle-run %s --function=two_calls --check=reference
// RUN: heddle-compile %s --entry=two_calls -o %t.heddle --report | FileCheck %s
// CHECK: two_calls


func.func private @dense(%x: tensor<5x7xf32>, %w: tensor<7x3xf32>) -> tensor<5x3xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<5x3xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<5x3xf32>) -> tensor<5x3xf32>
  %y = linalg.matmul ins(%x, %w : tensor<5x7xf32>, tensor<7x3xf32>) outs(%f : tensor<5x3xf32>) -> tensor<5x3xf32>
  return %y : tensor<5x3xf32>
}

func.func private @loss(%w: tensor<7x3xf32>, %x: tensor<5x7xf32>) -> tensor<f32> {
  %y = func.call @dense(%x, %w) : (tensor<5x7xf32>, tensor<7x3xf32>) -> tensor<5x3xf32>
  %t = math.tanh %y : tensor<5x3xf32>
  %z = arith.constant dense<0.0> : tensor<f32>
  %s = linalg.reduce { arith.addf } ins(%t : tensor<5x3xf32>) outs(%z : tensor<f32>) dimensions = [0, 1]
  return %s : tensor<f32>
}

func.func @gradient_through_a_call(%w: tensor<7x3xf32>, %x: tensor<5x7xf32>) -> (tensor<f32>, tensor<7x3xf32>) {
  %v, %g = heddle.value_and_grad @loss(%w, %x) wrt [0] : (tensor<7x3xf32>, tensor<5x7xf32>) -> (tensor<f32>, tensor<7x3xf32>)
  return %v, %g : tensor<f32>, tensor<7x3xf32>
}

func.func @two_calls(%w: tensor<7x3xf32>, %x: tensor<5x7xf32>, %y: tensor<5x7xf32>) -> tensor<5x3xf32> {
  %0 = func.call @dense(%x, %w) : (tensor<5x7xf32>, tensor<7x3xf32>) -> tensor<5x3xf32>
  %1 = func.call @dense(%y, %w) : (tensor<5x7xf32>, tensor<7x3xf32>) -> tensor<5x3xf32>
  %2 = arith.mulf %0, %1 : tensor<5x3xf32>
  return %2 : tensor<5x3xf32>
}
