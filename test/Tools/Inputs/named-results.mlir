// w - g, and 2 g, which take the names of the arguments of the next step.
func.func @step(%w: tensor<4xf32> {heddle.arg_name = "w"},
                %g: tensor<4xf32> {heddle.arg_name = "g"})
    -> (tensor<4xf32> {heddle.result_name = "w"}, tensor<4xf32> {heddle.result_name = "g"}, tensor<f32>) {
  %0 = arith.subf %w, %g : tensor<4xf32>
  %1 = arith.addf %g, %g : tensor<4xf32>
  %2 = arith.constant dense<1.0> : tensor<f32>
  return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<f32>
}
