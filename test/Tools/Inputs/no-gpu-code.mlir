// Two kernels that no GPU has code for, and one that it has.
func.func @three(%a: tensor<8x9xi32>, %b: tensor<4x9xi32>)
    -> (tensor<8x9xi32>, tensor<4x9xi32>, tensor<4x9xi32>) {
  %x = math.ipowi %a, %a : tensor<8x9xi32>
  %y = math.ipowi %b, %b : tensor<4x9xi32>
  %z = arith.addi %b, %b : tensor<4x9xi32>
  return %x, %y, %z : tensor<8x9xi32>, tensor<4x9xi32>, tensor<4x9xi32>
}
