// w - g, and 2 g.
func.func @step(%w: tensor<4xf32> {heddle.arg_name = "w"},
                %g: tensor<4xf32> {heddle.arg_name = "g"}) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = arith.subf %w, %g : tensor<4xf32>
  %1 = arith.addf %g, %g : tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
