// Two kernels that no GPU has code for, and one that it has.
func.func @three(%a: tensor<8x9xf32>, %b: tensor<4x9xf32>)
    -> (tensor<8x9xf32>, tensor<4x9xf32>, tensor<4x9xf32>) {
  %x = math.sinh %a : tensor<8x9xf32>
  %y = math.cosh %b : tensor<4x9xf32>
  %z = arith.negf %b : tensor<4x9xf32>
  return %x, %y, %z : tensor<8x9xf32>, tensor<4x9xf32>, tensor<4x9xf32>
}
