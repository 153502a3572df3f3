// y = a + b, z = a - b in two results.
func.func @sum(%a: tensor<3x5xf32> {heddle.arg_name = "a"},
               %b: tensor<3x5xf32> {heddle.arg_name = "b"})
    -> (tensor<3x5xf32>, tensor<3x5xf32>) {
  %y = arith.addf %a, %b : tensor<3x5xf32>
  %z = arith.subf %a, %b : tensor<3x5xf32>
  return %y, %z : tensor<3x5xf32>, tensor<3x5xf32>
}
