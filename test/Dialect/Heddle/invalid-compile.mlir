// What fusion and planning refuse, and what they remove before they look.

// RUN: heddle-opt %s -split-input-file -verify-diagnostics -heddle-fuse-kernels -heddle-plan-memory | FileCheck %s

func.func @scalar_between_ops(%x: tensor<f32>) -> tensor<4xf32> {
  // expected-error @below {{expected a tensor result outside of regions, got 'f32'; keep the value in a tensor of rank 0}}
  %e = tensor.extract %x[] : tensor<f32>
  %s = tensor.splat %e : tensor<4xf32>
  return %s : tensor<4xf32>
}

// -----

func.func @sparse_constant() -> tensor<4xf32> {
  // expected-error @below {{expected a dense constant, got sparse<1, 2.000000e+00> : tensor<4xf32>; write it out as dense<...>}}
  %c = arith.constant sparse<[[1]], [2.0]> : tensor<4xf32>
  return %c : tensor<4xf32>
}

// -----

// No kernel sees an empty iteration space: the initial value is the result.
// CHECK-LABEL: func.func @sum_of_nothing
// CHECK-NOT: heddle.launch
// CHECK-NOT: linalg.generic
func.func @sum_of_nothing(%x: tensor<3x0xf32>) -> tensor<3xf32> {
  %z = arith.constant dense<0.0> : tensor<3xf32>
  %y = linalg.reduce { arith.addf } ins(%x : tensor<3x0xf32>) outs(%z : tensor<3xf32>) dimensions = [1]
  return %y : tensor<3xf32>
}
