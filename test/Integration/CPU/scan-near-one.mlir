// Decays near one: 16384 steps are remembered, and so are their rounding errors.

// RUN: %check %s %t

// INPUT 0: full(0.999999)
// INPUT 1: normal(3)
// INPUT 2: normal(4)
// INPUT 3: normal(7)
// INPUT 4: normal(9)
func.func @gradient_of_a_constant_decay(
    %0: tensor<9xf32>, %1: tensor<1x16384x9xf32>, %2: tensor<1x16384x9xf32>, %3: tensor<1x9xf32>, %4: tensor<1x9xf32>)
    -> (tensor<9xf32>, tensor<1x16384x9xf32>, tensor<1x9xf32>) {
  %r0, %r1, %r2 = heddle.linear_scan_grad %0, %1, %2 initial_state(%3 : tensor<1x9xf32>) dfinal_state(%4 : tensor<1x9xf32>)
    : tensor<9xf32>, tensor<1x16384x9xf32>, tensor<1x16384x9xf32> -> (tensor<9xf32>, tensor<1x16384x9xf32>, initial_state tensor<1x9xf32>)
  return %r0, %r1, %r2 : tensor<9xf32>, tensor<1x16384x9xf32>, tensor<1x9xf32>
}

// INPUT 0: full(0.999999)
// INPUT 1: normal(3)
// INPUT 2: normal(4)
// INPUT 3: normal(7)
// INPUT 4: normal(9)
func.func @gradient_of_decays_of_each_step(
    %0: tensor<1x16384x9xf32>, %1: tensor<1x16384x9xf32>, %2: tensor<1x16384x9xf32>, %3: tensor<1x9xf32>, %4: tensor<1x9xf32>)
    -> (tensor<1x16384x9xf32>, tensor<1x16384x9xf32>, tensor<1x9xf32>) {
  %r0, %r1, %r2 = heddle.linear_scan_grad %0, %1, %2 initial_state(%3 : tensor<1x9xf32>) dfinal_state(%4 : tensor<1x9xf32>)
    : tensor<1x16384x9xf32>, tensor<1x16384x9xf32>, tensor<1x16384x9xf32> -> (tensor<1x16384x9xf32>, tensor<1x16384x9xf32>, initial_state tensor<1x9xf32>)
  return %r0, %r1, %r2 : tensor<1x16384x9xf32>, tensor<1x16384x9xf32>, tensor<1x9xf32>
}
