// Layer loops: weights that differ by layer, invariant operands, per-layer
// outputs, both directions.

func.func @layers(%x: tensor<4xf32>, %ws: tensor<3x4xf32>, %s: tensor<4xf32>) -> tensor<4xf32> {
  %y = heddle.layer_scan carried(%h = %x) stacked(%w = %ws) invariant(%c = %s)
      : (tensor<4xf32>, tensor<3x4xf32>, tensor<4xf32>) -> tensor<4xf32> {
    %0 = arith.mulf %h, %w : tensor<4xf32>
    %1 = math.tanh %0 : tensor<4xf32>
    %2 = arith.mulf %1, %c : tensor<4xf32>
    %3 = arith.addf %2, %h : tensor<4xf32>
    heddle.yield %3 : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

func.func @reversed_with_outputs(%x: tensor<2xf32>, %ws: tensor<3x2x2xf32>, %s: tensor<2xf32>) -> (tensor<2xf32>, tensor<3x2xf32>) {
  %y, %o = heddle.layer_scan carried(%h = %x) stacked(%w = %ws) invariant(%c = %s) policy<full> reverse
      : (tensor<2xf32>, tensor<3x2x2xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<3x2xf32>) {
    %z = arith.constant dense<0.0> : tensor<2xf32>
    %0 = linalg.matvec ins(%w, %h : tensor<2x2xf32>, tensor<2xf32>) outs(%z : tensor<2xf32>) -> tensor<2xf32>
    %1 = math.exp %0 : tensor<2xf32>
    %2 = arith.mulf %1, %c : tensor<2xf32>
    heddle.yield %1, %2 : tensor<2xf32>, tensor<2xf32>
  }
  return %y, %o : tensor<2xf32>, tensor<3x2xf32>
}

// A value that becomes active in the second layer, and one that never is.
func.func @exchanged_values(%x: tensor<2xf32> {test.constant}, %y: tensor<2xf32>, %n: tensor<2xf32> {test.constant},
                            %ws: tensor<3x2xf32>) -> tensor<2xf32> {
  %a, %b, %c = heddle.layer_scan carried(%p = %x, %q = %y, %r = %n) stacked(%w = %ws)
      : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<3x2xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
    %0 = arith.mulf %p, %w : tensor<2xf32>
    %1 = math.sin %q : tensor<2xf32>
    %2 = arith.addf %0, %r : tensor<2xf32>
    %3 = math.exp %r : tensor<2xf32>
    heddle.yield %1, %2, %3 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
  }
  %s = arith.mulf %a, %b : tensor<2xf32>
  return %s : tensor<2xf32>
}
