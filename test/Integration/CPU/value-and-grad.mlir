// A training step: the loss of a small perceptron, its gradients, and one step
// of gradient descent, compiled and judged by the reference device.

// RUN: heddle-compile %s --compile-to=differentiate | FileCheck %s --check-prefix=STAGE
// RUN: heddle-compile %s --entry=step -o %t.heddle
// RUN: heddle-run %t.heddle --check=reference | FileCheck %s
// RUN: heddle-run %s --function=step --device=reference | FileCheck %s --check-prefix=REFERENCE

// STAGE-NOT: heddle.value_and_grad
// STAGE-NOT: heddle.checkpoint
// STAGE-LABEL: func.func @step
// CHECK-COUNT-4: matches the reference device
// REFERENCE: result 3: float32[16,3]

func.func private @loss(%w1: tensor<6x16xf32>, %w2: tensor<16x3xf32>, %x: tensor<10x6xf32>, %t: tensor<10x3xf32>) -> tensor<f32> {
  %zh = arith.constant dense<0.0> : tensor<10x16xf32>
  %zy = arith.constant dense<0.0> : tensor<10x3xf32>
  %none = arith.constant dense<0.0> : tensor<f32>
  %h = heddle.checkpoint policy<none> (%a = %x, %w = %w1, %z = %zh) : (tensor<10x6xf32>, tensor<6x16xf32>, tensor<10x16xf32>) -> tensor<10x16xf32> {
    %0 = linalg.matmul ins(%a, %w : tensor<10x6xf32>, tensor<6x16xf32>) outs(%z : tensor<10x16xf32>) -> tensor<10x16xf32>
    %1 = math.tanh %0 : tensor<10x16xf32>
    heddle.yield %1 : tensor<10x16xf32>
  }
  %y = linalg.matmul ins(%h, %w2 : tensor<10x16xf32>, tensor<16x3xf32>) outs(%zy : tensor<10x3xf32>) -> tensor<10x3xf32>
  %d = arith.subf %y, %t : tensor<10x3xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ()>], iterator_types = ["reduction", "reduction"]}
      ins(%d : tensor<10x3xf32>) outs(%none : tensor<f32>) {
  ^bb0(%v: f32, %acc: f32):
    %0 = arith.mulf %v, %v : f32
    %1 = arith.addf %acc, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<f32>
  return %s : tensor<f32>
}

func.func @step(%w1: tensor<6x16xf32>, %w2: tensor<16x3xf32>, %x: tensor<10x6xf32>, %t: tensor<10x3xf32>)
    -> (tensor<f32>, tensor<6x16xf32>, tensor<6x16xf32>, tensor<16x3xf32>) {
  %rate = arith.constant dense<1.0e-2> : tensor<6x16xf32>
  %v, %g1, %g2 = heddle.value_and_grad @loss(%w1, %w2, %x, %t) wrt [0, 1]
    : (tensor<6x16xf32>, tensor<16x3xf32>, tensor<10x6xf32>, tensor<10x3xf32>) -> (tensor<f32>, tensor<6x16xf32>, tensor<16x3xf32>)
  %u = arith.mulf %g1, %rate : tensor<6x16xf32>
  %n = arith.subf %w1, %u : tensor<6x16xf32>
  return %v, %n, %g1, %g2 : tensor<f32>, tensor<6x16xf32>, tensor<6x16xf32>, tensor<16x3xf32>
}
