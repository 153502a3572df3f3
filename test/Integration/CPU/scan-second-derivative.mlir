// The gradient of a penalty on a gradient: the scan is written out as a linear one.

// RUN: heddle-run %s --function=penalised --check=reference --threads=2 | FileCheck %s
// CHECK-COUNT-4: matches the reference device

func.func private @energy(%u: tensor<2x17x6xf32>, %dt: tensor<2x17x6xf32>, %a: tensor<6x4xf32>, %b: tensor<2x17x2x4xf32>,
                          %c: tensor<2x17x4xf32>, %s: tensor<2x6x4xf32>) -> tensor<f32> {
  %negative = math.absf %a : tensor<6x4xf32>
  %decay = arith.negf %negative : tensor<6x4xf32>
  %y, %f = heddle.selective_scan %u, %dt, %decay, %b, %c initial_state(%s : tensor<2x6x4xf32>) {delta_softplus}
    : tensor<2x17x6xf32>, tensor<2x17x6xf32>, tensor<6x4xf32>, tensor<2x17x2x4xf32>, tensor<2x17x4xf32>
    -> tensor<2x17x6xf32>, tensor<2x6x4xf32>
  %squares = arith.mulf %y, %y : tensor<2x17x6xf32>
  %zero = arith.constant dense<0.0> : tensor<f32>
  %sum = linalg.reduce { arith.addf } ins(%squares : tensor<2x17x6xf32>) outs(%zero : tensor<f32>) dimensions = [0, 1, 2]
  return %sum : tensor<f32>
}

func.func private @penalty(%u: tensor<2x17x6xf32>, %dt: tensor<2x17x6xf32>, %a: tensor<6x4xf32>, %b: tensor<2x17x2x4xf32>,
                           %c: tensor<2x17x4xf32>, %s: tensor<2x6x4xf32>) -> tensor<f32> {
  %v, %g = heddle.value_and_grad @energy(%u, %dt, %a, %b, %c, %s) wrt [0]
    : (tensor<2x17x6xf32>, tensor<2x17x6xf32>, tensor<6x4xf32>, tensor<2x17x2x4xf32>, tensor<2x17x4xf32>, tensor<2x6x4xf32>)
    -> (tensor<f32>, tensor<2x17x6xf32>)
  %squares = arith.mulf %g, %g : tensor<2x17x6xf32>
  %zero = arith.constant dense<0.0> : tensor<f32>
  %sum = linalg.reduce { arith.addf } ins(%squares : tensor<2x17x6xf32>) outs(%zero : tensor<f32>) dimensions = [0, 1, 2]
  return %sum : tensor<f32>
}

func.func @penalised(%u: tensor<2x17x6xf32>, %dt: tensor<2x17x6xf32>, %a: tensor<6x4xf32>, %b: tensor<2x17x2x4xf32>,
                     %c: tensor<2x17x4xf32>, %s: tensor<2x6x4xf32>) -> (tensor<f32>, tensor<2x17x6xf32>, tensor<6x4xf32>, tensor<2x17x2x4xf32>) {
  %v, %g:3 = heddle.value_and_grad @penalty(%u, %dt, %a, %b, %c, %s) wrt [1, 2, 3]
    : (tensor<2x17x6xf32>, tensor<2x17x6xf32>, tensor<6x4xf32>, tensor<2x17x2x4xf32>, tensor<2x17x4xf32>, tensor<2x6x4xf32>)
    -> (tensor<f32>, tensor<2x17x6xf32>, tensor<6x4xf32>, tensor<2x17x2x4xf32>)
  return %v, %g#0, %g#1, %g#2 : tensor<f32>, tensor<2x17x6xf32>, tensor<6x4xf32>, tensor<2x17x2x4xf32>
}
