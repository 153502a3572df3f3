// w - g, in the place of w.
func.func @step(%w: tensor<4xf32> {heddle.arg_name = "w", heddle.donate = 0 : i64},
                %g: tensor<4xf32> {heddle.arg_name = "g"}) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = arith.subf %w, %g : tensor<4xf32>
  %1 = arith.addf %g, %g : tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
