// Ops that move elements, and rows by index.

func.func @reshapes(%a: tensor<4x6xf32>) -> tensor<8x3xf32> {
  %0 = tensor.expand_shape %a [[0], [1, 2]] output_shape [4, 2, 3] : tensor<4x6xf32> into tensor<4x2x3xf32>
  %1 = tensor.collapse_shape %0 [[0, 1], [2]] : tensor<4x2x3xf32> into tensor<8x3xf32>
  %y = math.exp %1 : tensor<8x3xf32>
  return %y : tensor<8x3xf32>
}

func.func @reshape_by_shape(%a: tensor<4x6xf32>) -> tensor<3x8xf32> attributes {test.no_cpu} {
  %s = arith.constant dense<[3, 8]> : tensor<2xindex>
  %0 = tensor.reshape %a(%s) : (tensor<4x6xf32>, tensor<2xindex>) -> tensor<3x8xf32>
  %y = math.exp %0 : tensor<3x8xf32>
  return %y : tensor<3x8xf32>
}

func.func @slices(%a: tensor<4x6xf32>, %b: tensor<2x2xf32>) -> tensor<4x6xf32> {
  %0 = tensor.extract_slice %a[1, 0] [2, 2] [1, 1] : tensor<4x6xf32> to tensor<2x2xf32>
  %1 = arith.mulf %0, %b : tensor<2x2xf32>
  %2 = math.sin %a : tensor<4x6xf32>
  %y = tensor.insert_slice %1 into %2[0, 3] [2, 2] [1, 1] : tensor<2x2xf32> into tensor<4x6xf32>
  return %y : tensor<4x6xf32>
}

// Strides, and axes that a slice drops.
func.func @strided_slices(%a: tensor<4x6xf32>, %b: tensor<3xf32>) -> tensor<4x6xf32> {
  %0 = tensor.extract_slice %a[2, 1] [1, 3] [1, 2] : tensor<4x6xf32> to tensor<3xf32>
  %1 = arith.mulf %0, %b : tensor<3xf32>
  %y = tensor.insert_slice %1 into %a[3, 0] [1, 3] [1, 2] : tensor<3xf32> into tensor<4x6xf32>
  return %y : tensor<4x6xf32>
}

func.func @pad_and_concat(%a: tensor<2x3xf32>, %b: tensor<2x2xf32>) -> tensor<4x8xf32> {
  %z = arith.constant 0.0 : f32
  %0 = tensor.concat dim(1) %a, %b, %a : (tensor<2x3xf32>, tensor<2x2xf32>, tensor<2x3xf32>) -> tensor<2x8xf32>
  %1 = tensor.pad %0 low[1, 0] high[1, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %z : f32
  } : tensor<2x8xf32> to tensor<4x8xf32>
  %y = math.exp %1 : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

func.func @single_elements(%a: tensor<2x3xf32>, %b: tensor<2x2xf32>) -> tensor<2x2xf32> attributes {test.no_cpu} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = tensor.extract %a[%c1, %c0] : tensor<2x3xf32>
  %1 = tensor.extract %b[%c0, %c1] : tensor<2x2xf32>
  %2 = arith.mulf %0, %1 : f32
  %3 = tensor.insert %2 into %b[%c1, %c1] : tensor<2x2xf32>
  %4 = tensor.splat %2 : tensor<2x2xf32>
  %5 = tensor.from_elements %0, %1, %2, %0 : tensor<2x2xf32>
  %6 = arith.mulf %3, %4 : tensor<2x2xf32>
  %y = arith.mulf %6, %5 : tensor<2x2xf32>
  return %y : tensor<2x2xf32>
}

// Repeated rows add up; an index outside reads the nearest row.
func.func @gather_clips(%t: tensor<3x2xf32>,
    %i: tensor<5xi32> {test.values = [1 : i32, 1 : i32, 7 : i32, -3 : i32, 0 : i32]}) -> tensor<5x2xf32> attributes {test.no_cpu} {
  %0 = heddle.gather %t[%i] : tensor<3x2xf32>, tensor<5xi32> -> tensor<5x2xf32>
  %y = math.exp %0 : tensor<5x2xf32>
  return %y : tensor<5x2xf32>
}

func.func @gather_drops(%t: tensor<3x2xf32>,
    %i: tensor<5xi32> {test.values = [1 : i32, 1 : i32, 7 : i32, -3 : i32, 0 : i32]}) -> tensor<5x2xf32> attributes {test.no_cpu} {
  %0 = heddle.gather %t[%i] mode = drop : tensor<3x2xf32>, tensor<5xi32> -> tensor<5x2xf32>
  %y = math.exp %0 : tensor<5x2xf32>
  return %y : tensor<5x2xf32>
}

func.func @scatter_add(%t: tensor<3x2xf32>, %u: tensor<5x2xf32>,
    %i: tensor<5xi32> {test.values = [1 : i32, 1 : i32, 7 : i32, -3 : i32, 0 : i32]}) -> tensor<3x2xf32> attributes {test.no_cpu} {
  %0 = heddle.scatter_add %u into %t[%i] : tensor<5x2xf32>, tensor<3x2xf32>, tensor<5xi32>
  %1 = heddle.scatter_add %u into %0[%i] mode = drop : tensor<5x2xf32>, tensor<3x2xf32>, tensor<5xi32>
  %y = math.exp %1 : tensor<3x2xf32>
  return %y : tensor<3x2xf32>
}
