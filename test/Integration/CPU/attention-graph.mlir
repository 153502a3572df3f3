// Attention on transposed and sliced values of the graph, and among unit axes.

// RUN: %check %s %t

// Heads before positions in memory, moved by the graph; and back.
func.func @transposed_inputs_and_output(%q: tensor<2x3x37x8xf32>, %k: tensor<2x3x8x41xf32>, %v: tensor<41x2x3x5xf32>) -> tensor<2x3x5x37xf32> {
  %e = tensor.empty() : tensor<2x37x3x8xf32>
  %a = linalg.transpose ins(%q : tensor<2x3x37x8xf32>) outs(%e : tensor<2x37x3x8xf32>) permutation = [0, 2, 1, 3]
  %f = tensor.empty() : tensor<2x41x3x8xf32>
  %b = linalg.transpose ins(%k : tensor<2x3x8x41xf32>) outs(%f : tensor<2x41x3x8xf32>) permutation = [0, 3, 1, 2]
  %g = tensor.empty() : tensor<2x41x3x5xf32>
  %c = linalg.transpose ins(%v : tensor<41x2x3x5xf32>) outs(%g : tensor<2x41x3x5xf32>) permutation = [1, 0, 2, 3]
  %o = heddle.attention %a, %b, %c : tensor<2x37x3x8xf32>, tensor<2x41x3x8xf32>, tensor<2x41x3x5xf32> -> tensor<2x37x3x5xf32>
  %h = tensor.empty() : tensor<2x3x5x37xf32>
  %y = linalg.transpose ins(%o : tensor<2x37x3x5xf32>) outs(%h : tensor<2x3x5x37xf32>) permutation = [0, 2, 3, 1]
  return %y : tensor<2x3x5x37xf32>
}

func.func @sliced_positions_heads_and_dims(%x: tensor<3x90x4x20xf32>) -> (tensor<2x30x2x7xf32>, tensor<2x2x30xf32>) {
  %q = tensor.extract_slice %x[1, 5, 1, 0] [2, 30, 2, 9] [1, 1, 1, 1] : tensor<3x90x4x20xf32> to tensor<2x30x2x9xf32>
  %k = tensor.extract_slice %x[0, 1, 0, 11] [2, 44, 2, 9] [2, 2, 3, 1] : tensor<3x90x4x20xf32> to tensor<2x44x2x9xf32>
  %v = tensor.extract_slice %x[0, 46, 2, 6] [2, 44, 2, 7] [1, 1, 1, 2] : tensor<3x90x4x20xf32> to tensor<2x44x2x7xf32>
  %o, %lse = heddle.attention %q, %k, %v {mask = #heddle.mask<causal_lower_right>}
    : tensor<2x30x2x9xf32>, tensor<2x44x2x9xf32>, tensor<2x44x2x7xf32> -> tensor<2x30x2x7xf32>, tensor<2x2x30xf32>
  return %o, %lse : tensor<2x30x2x7xf32>, tensor<2x2x30xf32>
}

// A contiguous slice is a view at an offset; the rows behind it are NaN and
// must not be read.
// INPUT 0: normal(1).put(0, nan).put(2, nan)
func.func @slice_between_nan(%x: tensor<3x33x2x8xf32>) -> tensor<1x33x2x8xf32> {
  %q = tensor.extract_slice %x[1, 0, 0, 0] [1, 33, 2, 8] [1, 1, 1, 1] : tensor<3x33x2x8xf32> to tensor<1x33x2x8xf32>
  %o = heddle.attention %q, %q, %q : tensor<1x33x2x8xf32>, tensor<1x33x2x8xf32>, tensor<1x33x2x8xf32> -> tensor<1x33x2x8xf32>
  return %o : tensor<1x33x2x8xf32>
}

// A transposed product as the key, a sliced result as the next query.
func.func @between_products(%x: tensor<40x16xbf16>, %w: tensor<16x40xbf16>) -> tensor<40x16xbf16> {
  %e = tensor.empty() : tensor<40x16xbf16>
  %t = linalg.transpose ins(%w : tensor<16x40xbf16>) outs(%e : tensor<40x16xbf16>) permutation = [1, 0]
  %s = arith.mulf %t, %x : tensor<40x16xbf16>
  %q = tensor.expand_shape %x [[0, 1], [2, 3]] output_shape [1, 40, 2, 8] : tensor<40x16xbf16> into tensor<1x40x2x8xbf16>
  %k = tensor.expand_shape %s [[0, 1], [2, 3]] output_shape [1, 40, 2, 8] : tensor<40x16xbf16> into tensor<1x40x2x8xbf16>
  %v = tensor.expand_shape %t [[0, 1], [2, 3]] output_shape [1, 40, 2, 8] : tensor<40x16xbf16> into tensor<1x40x2x8xbf16>
  %o = heddle.attention %q, %k, %v : tensor<1x40x2x8xbf16>, tensor<1x40x2x8xbf16>, tensor<1x40x2x8xbf16> -> tensor<1x40x2x8xbf16>
  %y = tensor.collapse_shape %o [[0, 1], [2, 3]] : tensor<1x40x2x8xbf16> into tensor<40x16xbf16>
  return %y : tensor<40x16xbf16>
}

// Every axis that can be 1 is 1 in turn.
func.func @unit_batch_and_heads(%q: tensor<1x19x1x6xf32>, %k: tensor<1x23x1x6xf32>, %v: tensor<1x23x1x1xf32>) -> (tensor<1x19x1x1xf32>, tensor<1x1x19xf32>) {
  %o, %l = heddle.attention %q, %k, %v : tensor<1x19x1x6xf32>, tensor<1x23x1x6xf32>, tensor<1x23x1x1xf32> -> tensor<1x19x1x1xf32>, tensor<1x1x19xf32>
  return %o, %l : tensor<1x19x1x1xf32>, tensor<1x1x19xf32>
}

func.func @unit_query_key_and_depth(%q: tensor<3x1x2x1xf32>, %k: tensor<3x1x2x1xf32>, %v: tensor<3x1x2x5xf32>) -> (tensor<3x1x2x5xf32>, tensor<3x2x1xf32>) {
  %o, %l = heddle.attention %q, %k, %v : tensor<3x1x2x1xf32>, tensor<3x1x2x1xf32>, tensor<3x1x2x5xf32> -> tensor<3x1x2x5xf32>, tensor<3x2x1xf32>
  return %o, %l : tensor<3x1x2x5xf32>, tensor<3x2x1xf32>
}

// Models of a few elements: everything around attention as well.
func.func @tiny_block_2344(%x: tensor<2x3x4x4xf32>, %w: tensor<4x4xf32>) -> tensor<2x3x4x4xf32> {
  %z = arith.constant dense<0.0> : tensor<2x3x4x4xf32>
  %p = linalg.generic {indexing_maps = [affine_map<(b, i, h, d, k) -> (b, i, h, k)>, affine_map<(b, i, h, d, k) -> (k, d)>, affine_map<(b, i, h, d, k) -> (b, i, h, d)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%x, %w : tensor<2x3x4x4xf32>, tensor<4x4xf32>) outs(%z : tensor<2x3x4x4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %c, %m : f32
    linalg.yield %s : f32
  } -> tensor<2x3x4x4xf32>
  %o = heddle.attention %p, %x, %p {mask = #heddle.mask<causal>} : tensor<2x3x4x4xf32>, tensor<2x3x4x4xf32>, tensor<2x3x4x4xf32> -> tensor<2x3x4x4xf32>
  %y = arith.addf %o, %x : tensor<2x3x4x4xf32>
  return %y : tensor<2x3x4x4xf32>
}

func.func @tiny_block_1111(%x: tensor<1x1x1x1xf32>, %w: tensor<1x1xf32>) -> (tensor<1x1x1x1xf32>, tensor<1x1xf32>) {
  %c = tensor.collapse_shape %x [[0, 1, 2], [3]] : tensor<1x1x1x1xf32> into tensor<1x1xf32>
  %z = arith.constant dense<0.0> : tensor<1x1xf32>
  %p = linalg.matmul ins(%c, %w : tensor<1x1xf32>, tensor<1x1xf32>) outs(%z : tensor<1x1xf32>) -> tensor<1x1xf32>
  %q = tensor.expand_shape %p [[0, 1, 2], [3]] output_shape [1, 1, 1, 1] : tensor<1x1xf32> into tensor<1x1x1x1xf32>
  %o = heddle.attention %q, %x, %q {mask = #heddle.mask<causal>} : tensor<1x1x1x1xf32>, tensor<1x1x1x1xf32>, tensor<1x1x1x1xf32> -> tensor<1x1x1x1xf32>
  %y = arith.addf %o, %x : tensor<1x1x1x1xf32>
  return %y, %p : tensor<1x1x1x1xf32>, tensor<1x1xf32>
}
