// Layer scans of so many layers that they stay loops over commands.

// RUN: %check %s %t

// Carried values in another order, one that begins as a constant, slices that
// begin at any multiple of 4 bytes, constants of the body, ops round the loop.
func.func @values_change_places(%a: tensor<5xf32> {heddle.donated}, %b: tensor<5xf32>, %s: tensor<40x5xf32>, %c: tensor<5xf32>) -> (tensor<5xf32>, tensor<5xf32>, tensor<40x5xf32>, tensor<5xf32>) {
  %ones = arith.constant dense<1.0> : tensor<5xf32>
  %begin = arith.addf %b, %c : tensor<5xf32>
  %r:4 = heddle.layer_scan carried(%x = %a, %y = %begin, %w = %ones) stacked(%t = %s) invariant(%d = %c)
      : (tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<40x5xf32>, tensor<5xf32>) -> (tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<40x5xf32>) {
    %k = arith.constant dense<[0.1, 0.2, 0.3, 0.4, 0.5]> : tensor<5xf32>
    %0 = arith.mulf %x, %d : tensor<5xf32>
    %1 = arith.addf %0, %t : tensor<5xf32>
    %m = arith.mulf %1, %k : tensor<5xf32>
    %2 = arith.addf %w, %m : tensor<5xf32>
    %3 = math.tanh %2 : tensor<5xf32>
    heddle.yield %y, %m, %3, %2 : tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>
  }
  %q = arith.addf %r#2, %r#0 : tensor<5xf32>
  return %r#0, %r#1, %r#3, %q : tensor<5xf32>, tensor<5xf32>, tensor<40x5xf32>, tensor<5xf32>
}

// Slices of 64 bytes are read and written where they are, last one first.
func.func @from_the_last_layer(%x: tensor<16xf32>, %s: tensor<33x16xf32>) -> (tensor<16xf32>, tensor<33x16xf32>) {
  %r:2 = heddle.layer_scan carried(%h = %x) stacked(%w = %s) reverse
      : (tensor<16xf32>, tensor<33x16xf32>) -> (tensor<16xf32>, tensor<33x16xf32>) {
    %0 = arith.addf %h, %w : tensor<16xf32>
    %1 = math.sin %0 : tensor<16xf32>
    heddle.yield %1, %0 : tensor<16xf32>, tensor<16xf32>
  }
  return %r#0, %r#1 : tensor<16xf32>, tensor<33x16xf32>
}

// A loop in a loop: slices of slices, and the same body for both launches.
func.func @loops_nest(%x: tensor<4xf32>, %s: tensor<34x35x4xf32>) -> (tensor<4xf32>, tensor<34x35x4xf32>) {
  %r:2 = heddle.layer_scan carried(%h = %x) stacked(%rows = %s) 
      : (tensor<4xf32>, tensor<34x35x4xf32>) -> (tensor<4xf32>, tensor<34x35x4xf32>) {
    %i:2 = heddle.layer_scan carried(%g = %h) stacked(%row = %rows) reverse
        : (tensor<4xf32>, tensor<35x4xf32>) -> (tensor<4xf32>, tensor<35x4xf32>) {
      %0 = arith.addf %g, %row : tensor<4xf32>
      %1 = math.sin %0 : tensor<4xf32>
      heddle.yield %1, %0 : tensor<4xf32>, tensor<4xf32>
    }
    %k = arith.constant dense<[0.5, 0.6, 0.7, 0.8]> : tensor<4xf32>
    %2 = arith.mulf %i#0, %k : tensor<4xf32>
    heddle.yield %2, %i#1 : tensor<4xf32>, tensor<35x4xf32>
  }
  return %r#0, %r#1 : tensor<4xf32>, tensor<34x35x4xf32>
}

// One value begins two loops, and one is carried unchanged.
func.func @loops_in_a_row(%x: tensor<8xf32>, %s: tensor<36x8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %begin = math.cos %x : tensor<8xf32>
  %r:2 = heddle.layer_scan carried(%h = %begin, %same = %x) stacked(%w = %s)
      : (tensor<8xf32>, tensor<8xf32>, tensor<36x8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    %0 = arith.addf %h, %w : tensor<8xf32>
    %1 = math.sin %0 : tensor<8xf32>
    heddle.yield %1, %same : tensor<8xf32>, tensor<8xf32>
  }
  %q = heddle.layer_scan carried(%h = %begin) stacked(%w = %s) invariant(%d = %r#0)
      : (tensor<8xf32>, tensor<36x8xf32>, tensor<8xf32>) -> tensor<8xf32> {
    %0 = arith.addf %h, %w : tensor<8xf32>
    %1 = arith.addf %0, %d : tensor<8xf32>
    %2 = math.sin %1 : tensor<8xf32>
    heddle.yield %2 : tensor<8xf32>
  }
  return %r#0, %r#1, %q : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// The gradients of a loss that loops.
func.func private @loss(%w: tensor<40x8x8xf32>, %x: tensor<6x8xf32>) -> tensor<f32> {
  %y = heddle.layer_scan carried(%h = %x) stacked(%k = %w)
      : (tensor<6x8xf32>, tensor<40x8x8xf32>) -> tensor<6x8xf32> {
    %z = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<6x8xf32>
    %f = linalg.fill ins(%z : f32) outs(%e : tensor<6x8xf32>) -> tensor<6x8xf32>
    %p = linalg.matmul ins(%h, %k : tensor<6x8xf32>, tensor<8x8xf32>) outs(%f : tensor<6x8xf32>) -> tensor<6x8xf32>
    %rate = arith.constant dense<0.1> : tensor<6x8xf32>
    %q = arith.mulf %p, %rate : tensor<6x8xf32>
    %t = math.tanh %q : tensor<6x8xf32>
    %y1 = arith.addf %t, %h : tensor<6x8xf32>
    heddle.yield %y1 : tensor<6x8xf32>
  }
  %zero = arith.constant dense<0.0> : tensor<f32>
  %s = linalg.reduce ins(%y : tensor<6x8xf32>) outs(%zero : tensor<f32>) dimensions = [0, 1]
    (%in: f32, %acc: f32) {
      %q = arith.addf %in, %acc : f32
      linalg.yield %q : f32
    }
  return %s : tensor<f32>
}
func.func @gradients_of_a_deep_model(%w: tensor<40x8x8xf32>, %x: tensor<6x8xf32>) -> (tensor<f32>, tensor<40x8x8xf32>) {
  %v, %g = heddle.value_and_grad @loss(%w, %x) wrt [0] : (tensor<40x8x8xf32>, tensor<6x8xf32>) -> (tensor<f32>, tensor<40x8x8xf32>)
  return %v, %g : tensor<f32>, tensor<40x8x8xf32>
}
