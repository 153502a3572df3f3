// Reshapes, slices, pads, concatenations and insertions, alone and between
// kernels.

// RUN: %check %s %t

func.func @collapse_between_kernels(%x: tensor<3x5x7xf32>) -> tensor<15x7xf32> {
  %s = arith.mulf %x, %x : tensor<3x5x7xf32>
  %c = tensor.collapse_shape %s [[0, 1], [2]] : tensor<3x5x7xf32> into tensor<15x7xf32>
  %y = arith.addf %c, %c : tensor<15x7xf32>
  return %y : tensor<15x7xf32>
}

func.func @expand_of_an_argument_is_returned(%x: tensor<15x7xf32>) -> tensor<3x5x7xf32> {
  %e = tensor.expand_shape %x [[0, 1], [2]] output_shape [3, 5, 7] : tensor<15x7xf32> into tensor<3x5x7xf32>
  return %e : tensor<3x5x7xf32>
}

func.func @unit_axes_come_and_go(%x: tensor<40xf32>) -> tensor<1x40x1xf32> {
  %e = tensor.expand_shape %x [[0, 1, 2]] output_shape [1, 40, 1] : tensor<40xf32> into tensor<1x40x1xf32>
  %y = math.tanh %e : tensor<1x40x1xf32>
  return %y : tensor<1x40x1xf32>
}

func.func @rank_0_and_back(%x: tensor<1x1xf32>) -> tensor<1xf32> {
  %c = tensor.collapse_shape %x [] : tensor<1x1xf32> into tensor<f32>
  %y = math.exp %c : tensor<f32>
  %e = tensor.expand_shape %y [] output_shape [1] : tensor<f32> into tensor<1xf32>
  return %e : tensor<1xf32>
}

func.func @slice_of_leading_indices(%x: tensor<4x6x5xf32>) -> (tensor<2x6x5xf32>, tensor<6x5xf32>, tensor<3x5xf32>) {
  %a = tensor.extract_slice %x[1, 0, 0] [2, 6, 5] [1, 1, 1] : tensor<4x6x5xf32> to tensor<2x6x5xf32>
  %b = tensor.extract_slice %x[3, 0, 0] [1, 6, 5] [1, 1, 1] : tensor<4x6x5xf32> to tensor<6x5xf32>
  %c = tensor.extract_slice %x[2, 3, 0] [1, 3, 5] [1, 1, 1] : tensor<4x6x5xf32> to tensor<3x5xf32>
  %d = math.tanh %c : tensor<3x5xf32>
  return %a, %b, %d : tensor<2x6x5xf32>, tensor<6x5xf32>, tensor<3x5xf32>
}

func.func @slice_of_inner_axes(%x: tensor<4x6x5xf32>) -> (tensor<4x3x2xf32>, tensor<4x5xf32>, tensor<2x3x5xf32>) {
  %a = tensor.extract_slice %x[0, 2, 3] [4, 3, 2] [1, 1, 1] : tensor<4x6x5xf32> to tensor<4x3x2xf32>
  %b = tensor.extract_slice %x[0, 5, 0] [4, 1, 5] [1, 1, 1] : tensor<4x6x5xf32> to tensor<4x5xf32>
  %c = tensor.extract_slice %x[0, 1, 0] [2, 3, 5] [2, 2, 1] : tensor<4x6x5xf32> to tensor<2x3x5xf32>
  return %a, %b, %c : tensor<4x3x2xf32>, tensor<4x5xf32>, tensor<2x3x5xf32>
}

// The three operands of attention out of one projection.
func.func @packed_projection(%x: tensor<2x9x6xf32>, %w: tensor<6x24xf32>) -> tensor<2x9x2x4xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x9x24xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<2x9x24xf32>) -> tensor<2x9x24xf32>
  %p = linalg.generic {indexing_maps = [affine_map<(b, i, j, k) -> (b, i, k)>, affine_map<(b, i, j, k) -> (k, j)>, affine_map<(b, i, j, k) -> (b, i, j)>],
      iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%x, %w : tensor<2x9x6xf32>, tensor<6x24xf32>) outs(%f : tensor<2x9x24xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %c, %m : f32
    linalg.yield %s : f32
  } -> tensor<2x9x24xf32>
  %h = tensor.expand_shape %p [[0], [1], [2, 3, 4]] output_shape [2, 9, 3, 2, 4] : tensor<2x9x24xf32> into tensor<2x9x3x2x4xf32>
  %q = tensor.extract_slice %h[0, 0, 0, 0, 0] [2, 9, 1, 2, 4] [1, 1, 1, 1, 1] : tensor<2x9x3x2x4xf32> to tensor<2x9x2x4xf32>
  %k = tensor.extract_slice %h[0, 0, 1, 0, 0] [2, 9, 1, 2, 4] [1, 1, 1, 1, 1] : tensor<2x9x3x2x4xf32> to tensor<2x9x2x4xf32>
  %v = tensor.extract_slice %h[0, 0, 2, 0, 0] [2, 9, 1, 2, 4] [1, 1, 1, 1, 1] : tensor<2x9x3x2x4xf32> to tensor<2x9x2x4xf32>
  %o = heddle.attention %q, %k, %v {mask = #heddle.mask<causal>} : tensor<2x9x2x4xf32>, tensor<2x9x2x4xf32>, tensor<2x9x2x4xf32> -> tensor<2x9x2x4xf32>
  return %o : tensor<2x9x2x4xf32>
}

func.func @pad_by_a_constant(%x: tensor<3x5xf32>) -> tensor<6x9xf32> {
  %c = arith.constant 2.5 : f32
  %y = tensor.pad %x low[1, 0] high[2, 4] {
  ^bb0(%i: index, %j: index):
    tensor.yield %c : f32
  } : tensor<3x5xf32> to tensor<6x9xf32>
  return %y : tensor<6x9xf32>
}

func.func @pad_of_integers_and_bf16(%x: tensor<3xi32>, %y: tensor<3xbf16>) -> (tensor<5xi32>, tensor<5xbf16>) {
  %c = arith.constant 7 : i32
  %d = arith.constant 7.0 : bf16
  %a = tensor.pad %x low[1] high[1] {
  ^bb0(%i: index):
    tensor.yield %c : i32
  } : tensor<3xi32> to tensor<5xi32>
  %b = tensor.pad %y low[0] high[2] {
  ^bb0(%i: index):
    tensor.yield %d : bf16
  } : tensor<3xbf16> to tensor<5xbf16>
  return %a, %b : tensor<5xi32>, tensor<5xbf16>
}

func.func @concat_of_three(%x: tensor<3x5xf32>, %y: tensor<3x2xf32>) -> (tensor<3x12xf32>, tensor<6x5xf32>) {
  %s = arith.mulf %x, %x : tensor<3x5xf32>
  %a = tensor.concat dim(1) %x, %y, %s : (tensor<3x5xf32>, tensor<3x2xf32>, tensor<3x5xf32>) -> tensor<3x12xf32>
  %b = tensor.concat dim(0) %s, %x : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<6x5xf32>
  return %a, %b : tensor<3x12xf32>, tensor<6x5xf32>
}

func.func @concat_with_a_constant(%x: tensor<3x5xf32>) -> tensor<3x7xf32> {
  %c = arith.constant dense<1.5> : tensor<3x2xf32>
  %a = tensor.concat dim(1) %x, %c : (tensor<3x5xf32>, tensor<3x2xf32>) -> tensor<3x7xf32>
  return %a : tensor<3x7xf32>
}

func.func @concat_of_views(%x: tensor<30xf32>) -> tensor<6x10xf32> {
  %e = tensor.expand_shape %x [[0, 1]] output_shape [3, 10] : tensor<30xf32> into tensor<3x10xf32>
  %a = tensor.concat dim(0) %e, %e : (tensor<3x10xf32>, tensor<3x10xf32>) -> tensor<6x10xf32>
  return %a : tensor<6x10xf32>
}

func.func @insert_into_an_argument_leaves_it(%x: tensor<4x6xf32>, %y: tensor<2x3xf32>) -> (tensor<4x6xf32>, tensor<4x6xf32>) {
  %a = tensor.insert_slice %y into %x[1, 2] [2, 3] [1, 1] : tensor<2x3xf32> into tensor<4x6xf32>
  %b = arith.addf %a, %x : tensor<4x6xf32>
  return %a, %b : tensor<4x6xf32>, tensor<4x6xf32>
}

func.func @insert_with_strides_into_zeros(%y: tensor<2x3xf32>) -> tensor<4x6xf32> {
  %z = arith.constant dense<0.0> : tensor<4x6xf32>
  %a = tensor.insert_slice %y into %z[0, 1] [2, 3] [2, 2] : tensor<2x3xf32> into tensor<4x6xf32>
  return %a : tensor<4x6xf32>
}

func.func @insert_row_by_row(%x: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %e = tensor.empty() : tensor<3x5xf32>
  %a = tensor.extract_slice %x[0, 0] [1, 5] [1, 1] : tensor<3x5xf32> to tensor<5xf32>
  %b = tensor.extract_slice %x[1, 0] [2, 5] [1, 1] : tensor<3x5xf32> to tensor<2x5xf32>
  %p = tensor.insert_slice %a into %e[2, 0] [1, 5] [1, 1] : tensor<5xf32> into tensor<3x5xf32>
  %q = tensor.insert_slice %b into %p[0, 0] [2, 5] [1, 1] : tensor<2x5xf32> into tensor<3x5xf32>
  return %q : tensor<3x5xf32>
}

// A slice of a slice of a computed value, which dies in a kernel that could
// write over a whole value only.
func.func @computed_slices(%x: tensor<4x40xf32>) -> tensor<40xf32> {
  %s = math.tanh %x : tensor<4x40xf32>
  %a = tensor.extract_slice %s[1, 0] [3, 40] [1, 1] : tensor<4x40xf32> to tensor<3x40xf32>
  %b = tensor.extract_slice %a[1, 0] [1, 40] [1, 1] : tensor<3x40xf32> to tensor<40xf32>
  %c = tensor.extract_slice %s[0, 0] [1, 40] [1, 1] : tensor<4x40xf32> to tensor<40xf32>
  %y = arith.mulf %b, %c : tensor<40xf32>
  return %y : tensor<40xf32>
}

func.func @slices_of_i1_and_i64(%x: tensor<6x5xi1>, %y: tensor<6xi64>) -> (tensor<6x2xi1>, tensor<3xi64>) {
  %a = tensor.extract_slice %x[0, 1] [6, 2] [1, 1] : tensor<6x5xi1> to tensor<6x2xi1>
  %b = tensor.extract_slice %y[1] [3] [2] : tensor<6xi64> to tensor<3xi64>
  return %a, %b : tensor<6x2xi1>, tensor<3xi64>
}
