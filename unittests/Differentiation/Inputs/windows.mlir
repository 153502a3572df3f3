// Convolutions and pooling: what they read is gathered, not scattered.

func.func @conv_1d(%x: tensor<2x7x2xf32>, %w: tensor<3x2x2xf32>) -> tensor<2x5x2xf32> {
  %z = arith.constant dense<0.0> : tensor<2x5x2xf32>
  %y = linalg.conv_1d_nwc_wcf {dilations = dense<1> : tensor<1xi64>, strides = dense<1> : tensor<1xi64>}
    ins(%x, %w : tensor<2x7x2xf32>, tensor<3x2x2xf32>) outs(%z : tensor<2x5x2xf32>) -> tensor<2x5x2xf32>
  return %y : tensor<2x5x2xf32>
}

// Stride 2, kernel 4: the last element of x is never read.
func.func @conv_1d_strided(%x: tensor<1x9x2xf32>, %w: tensor<4x2x3xf32>) -> tensor<1x3x3xf32> {
  %z = arith.constant dense<0.0> : tensor<1x3x3xf32>
  %y = linalg.conv_1d_nwc_wcf {dilations = dense<1> : tensor<1xi64>, strides = dense<2> : tensor<1xi64>}
    ins(%x, %w : tensor<1x9x2xf32>, tensor<4x2x3xf32>) outs(%z : tensor<1x3x3xf32>) -> tensor<1x3x3xf32>
  return %y : tensor<1x3x3xf32>
}

func.func @conv_1d_dilated_and_strided(%x: tensor<1x11x1xf32>, %w: tensor<3x1x2xf32>) -> tensor<1x3x2xf32> {
  %z = arith.constant dense<0.0> : tensor<1x3x2xf32>
  %y = linalg.conv_1d_nwc_wcf {dilations = dense<2> : tensor<1xi64>, strides = dense<3> : tensor<1xi64>}
    ins(%x, %w : tensor<1x11x1xf32>, tensor<3x1x2xf32>) outs(%z : tensor<1x3x2xf32>) -> tensor<1x3x2xf32>
  return %y : tensor<1x3x2xf32>
}

// Stride above the kernel: gaps that nothing reads.
func.func @conv_1d_with_gaps(%x: tensor<1x8x1xf32>, %w: tensor<2x1x1xf32>) -> tensor<1x3x1xf32> {
  %z = arith.constant dense<0.0> : tensor<1x3x1xf32>
  %y = linalg.conv_1d_nwc_wcf {dilations = dense<1> : tensor<1xi64>, strides = dense<3> : tensor<1xi64>}
    ins(%x, %w : tensor<1x8x1xf32>, tensor<2x1x1xf32>) outs(%z : tensor<1x3x1xf32>) -> tensor<1x3x1xf32>
  return %y : tensor<1x3x1xf32>
}

func.func @conv_1d_channels_first(%x: tensor<1x2x5xf32>, %w: tensor<3x2x2xf32>) -> tensor<1x3x4xf32> {
  %z = arith.constant dense<0.0> : tensor<1x3x4xf32>
  %y = linalg.conv_1d_ncw_fcw {dilations = dense<1> : tensor<1xi64>, strides = dense<1> : tensor<1xi64>}
    ins(%x, %w : tensor<1x2x5xf32>, tensor<3x2x2xf32>) outs(%z : tensor<1x3x4xf32>) -> tensor<1x3x4xf32>
  return %y : tensor<1x3x4xf32>
}

// One tap: a product at every second position.
func.func @conv_1d_pointwise(%x: tensor<1x5x2xf32>, %w: tensor<1x2x2xf32>) -> tensor<1x3x2xf32> {
  %z = arith.constant dense<0.0> : tensor<1x3x2xf32>
  %y = linalg.conv_1d_nwc_wcf {dilations = dense<1> : tensor<1xi64>, strides = dense<2> : tensor<1xi64>}
    ins(%x, %w : tensor<1x5x2xf32>, tensor<1x2x2xf32>) outs(%z : tensor<1x3x2xf32>) -> tensor<1x3x2xf32>
  return %y : tensor<1x3x2xf32>
}

func.func @conv_2d(%x: tensor<1x5x6x2xf32>, %w: tensor<2x3x2x2xf32>) -> tensor<1x2x2x2xf32> {
  %z = arith.constant dense<0.0> : tensor<1x2x2x2xf32>
  %y = linalg.conv_2d_nhwc_hwcf {dilations = dense<[2, 1]> : tensor<2xi64>, strides = dense<[2, 3]> : tensor<2xi64>}
    ins(%x, %w : tensor<1x5x6x2xf32>, tensor<2x3x2x2xf32>) outs(%z : tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xf32>
  return %y : tensor<1x2x2x2xf32>
}

func.func @depthwise(%x: tensor<1x5x2xf32>, %w: tensor<3x2xf32>) -> tensor<1x3x2xf32> {
  %z = arith.constant dense<0.0> : tensor<1x3x2xf32>
  %y = linalg.depthwise_conv_1d_nwc_wc {dilations = dense<1> : tensor<1xi64>, strides = dense<1> : tensor<1xi64>}
    ins(%x, %w : tensor<1x5x2xf32>, tensor<3x2xf32>) outs(%z : tensor<1x3x2xf32>) -> tensor<1x3x2xf32>
  return %y : tensor<1x3x2xf32>
}

func.func @sum_pooling(%x: tensor<1x7x2xf32>) -> tensor<1x3x2xf32> {
  %z = arith.constant dense<0.0> : tensor<1x3x2xf32>
  %k = tensor.empty() : tensor<3xf32>
  %y = linalg.pooling_nwc_sum {dilations = dense<1> : tensor<1xi64>, strides = dense<2> : tensor<1xi64>}
    ins(%x, %k : tensor<1x7x2xf32>, tensor<3xf32>) outs(%z : tensor<1x3x2xf32>) -> tensor<1x3x2xf32>
  return %y : tensor<1x3x2xf32>
}

func.func @max_pooling(%x: tensor<1x7x2xf32>) -> tensor<1x3x2xf32> {
  %z = arith.constant dense<0xFF800000> : tensor<1x3x2xf32>
  %k = tensor.empty() : tensor<3xf32>
  %y = linalg.pooling_nwc_max {dilations = dense<1> : tensor<1xi64>, strides = dense<2> : tensor<1xi64>}
    ins(%x, %k : tensor<1x7x2xf32>, tensor<3xf32>) outs(%z : tensor<1x3x2xf32>) -> tensor<1x3x2xf32>
  return %y : tensor<1x3x2xf32>
}

// Every second element, from the second on.
func.func @subsample(%x: tensor<7xf32>) -> tensor<3xf32> {
  %e = tensor.empty() : tensor<3xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i * 2 + 1)>, affine_map<(i) -> (i)>],
      iterator_types = ["parallel"]} ins(%x : tensor<7xf32>) outs(%e : tensor<3xf32>) {
  ^bb0(%v: f32, %o: f32):
    %0 = arith.mulf %v, %v : f32
    linalg.yield %0 : f32
  } -> tensor<3xf32>
  return %y : tensor<3xf32>
}

// Equal cotangents: a constant that has to be padded like another.
func.func @sum_of_sum_pooling(%x: tensor<1x7x2xf32>) -> tensor<f32> {
  %z = arith.constant dense<0.0> : tensor<1x3x2xf32>
  %none = arith.constant dense<0.0> : tensor<f32>
  %k = tensor.empty() : tensor<3xf32>
  %y = linalg.pooling_nwc_sum {dilations = dense<1> : tensor<1xi64>, strides = dense<2> : tensor<1xi64>}
    ins(%x, %k : tensor<1x7x2xf32>, tensor<3xf32>) outs(%z : tensor<1x3x2xf32>) -> tensor<1x3x2xf32>
  %s = linalg.reduce { arith.addf } ins(%y : tensor<1x3x2xf32>) outs(%none : tensor<f32>) dimensions = [0, 1, 2]
  return %s : tensor<f32>
}
