// One pre-norm transformer block: h = x + MHA(LN1 x); y = h + MLP(LN2 h).
//
//   build/bin/heddle-compile examples/transformer_block.mlir -o build/block.heddle --report
//   build/bin/heddle-run build/block.heddle --check=reference --repeats=20
//
// The report shows what became of the ops below: norms are prologues of the
// products that read them, biases and residuals are epilogues, and the plan
// holds few temporaries. Stop after fusion to see it:
//
//   build/bin/heddle-compile examples/transformer_block.mlir --compile-to=fuse
//
// REQUIRES: heddle-compile, heddle-run
// RUN: heddle-compile %s -o %t.heddle && heddle-run %t.heddle --check=reference | FileCheck %s

// CHECK: result 0{{.*}}: float32[2,100,64]
// CHECK-NEXT: all finite
// CHECK-NEXT: matches the reference device

#both = affine_map<(r, c) -> (r, c)>
#rows = affine_map<(r, c) -> (r)>
#cols = affine_map<(r, c) -> (c)>
#row = affine_map<(r) -> (r)>

func.func @block(
    %ln1_g: tensor<64xf32> {heddle.arg_name = "ln1.scale"},
    %ln1_b: tensor<64xf32> {heddle.arg_name = "ln1.bias"},
    %query_w: tensor<64x64xf32> {heddle.arg_name = "attn.query.kernel"},
    %query_b: tensor<64xf32> {heddle.arg_name = "attn.query.bias"},
    %key_w: tensor<64x64xf32> {heddle.arg_name = "attn.key.kernel"},
    %key_b: tensor<64xf32> {heddle.arg_name = "attn.key.bias"},
    %value_w: tensor<64x64xf32> {heddle.arg_name = "attn.value.kernel"},
    %value_b: tensor<64xf32> {heddle.arg_name = "attn.value.bias"},
    %out_w: tensor<64x64xf32> {heddle.arg_name = "attn.out.kernel"},
    %out_b: tensor<64xf32> {heddle.arg_name = "attn.out.bias"},
    %ln2_g: tensor<64xf32> {heddle.arg_name = "ln2.scale"},
    %ln2_b: tensor<64xf32> {heddle.arg_name = "ln2.bias"},
    %up_w: tensor<64x256xf32> {heddle.arg_name = "mlp.up.kernel"},
    %up_b: tensor<256xf32> {heddle.arg_name = "mlp.up.bias"},
    %down_w: tensor<256x64xf32> {heddle.arg_name = "mlp.down.kernel"},
    %down_b: tensor<64xf32> {heddle.arg_name = "mlp.down.bias"},
    %x: tensor<2x100x64xf32> {heddle.arg_name = "x"})
    -> tensor<2x100x64xf32> {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %half = arith.constant 0.5 : f32
  %width = arith.constant 64.0 : f32
  %eps = arith.constant 1.0e-6 : f32
  %cubic = arith.constant 0.044715 : f32
  %sqrt_2_pi = arith.constant 0.797884583 : f32
  %empty_row = tensor.empty() : tensor<200xf32>
  %empty = tensor.empty() : tensor<200x64xf32>
  %empty_hidden = tensor.empty() : tensor<200x256xf32>
  %zero_row = linalg.fill ins(%zero : f32) outs(%empty_row : tensor<200xf32>) -> tensor<200xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<200x64xf32>) -> tensor<200x64xf32>
  %zeros_hidden = linalg.fill ins(%zero : f32) outs(%empty_hidden : tensor<200x256xf32>) -> tensor<200x256xf32>

  %x2 = tensor.collapse_shape %x [[0, 1], [2]] : tensor<2x100x64xf32> into tensor<200x64xf32>

  // LN1: mean, centred, variance, scale and shift by row.
  %ln1_sum = linalg.generic {indexing_maps = [#both, #rows], iterator_types = ["parallel", "reduction"]}
      ins(%x2 : tensor<200x64xf32>) outs(%zero_row : tensor<200xf32>) {
  ^bb0(%in: f32, %acc: f32):
    %0 = arith.addf %acc, %in : f32
    linalg.yield %0 : f32
  } -> tensor<200xf32>
  %ln1_mean = linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel"]}
      ins(%ln1_sum : tensor<200xf32>) outs(%empty_row : tensor<200xf32>) {
  ^bb0(%in: f32, %init: f32):
    %0 = arith.divf %in, %width : f32
    linalg.yield %0 : f32
  } -> tensor<200xf32>
  %ln1_centred = linalg.generic {indexing_maps = [#both, #rows, #both], iterator_types = ["parallel", "parallel"]}
      ins(%x2, %ln1_mean : tensor<200x64xf32>, tensor<200xf32>) outs(%empty : tensor<200x64xf32>) {
  ^bb0(%in: f32, %mean: f32, %init: f32):
    %0 = arith.subf %in, %mean : f32
    linalg.yield %0 : f32
  } -> tensor<200x64xf32>
  %ln1_squares = linalg.generic {indexing_maps = [#both, #rows], iterator_types = ["parallel", "reduction"]}
      ins(%ln1_centred : tensor<200x64xf32>) outs(%zero_row : tensor<200xf32>) {
  ^bb0(%in: f32, %acc: f32):
    %0 = arith.mulf %in, %in : f32
    %1 = arith.addf %acc, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<200xf32>
  %ln1_rstd = linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel"]}
      ins(%ln1_squares : tensor<200xf32>) outs(%empty_row : tensor<200xf32>) {
  ^bb0(%in: f32, %init: f32):
    %0 = arith.divf %in, %width : f32
    %1 = arith.addf %0, %eps : f32
    %2 = math.rsqrt %1 : f32
    linalg.yield %2 : f32
  } -> tensor<200xf32>
  %ln1 = linalg.generic {indexing_maps = [#both, #rows, #cols, #cols, #both], iterator_types = ["parallel", "parallel"]}
      ins(%ln1_centred, %ln1_rstd, %ln1_g, %ln1_b : tensor<200x64xf32>, tensor<200xf32>, tensor<64xf32>, tensor<64xf32>) outs(%empty : tensor<200x64xf32>) {
  ^bb0(%in: f32, %rstd: f32, %scale: f32, %shift: f32, %init: f32):
    %0 = arith.mulf %in, %rstd : f32
    %1 = arith.mulf %0, %scale : f32
    %2 = arith.addf %1, %shift : f32
    linalg.yield %2 : f32
  } -> tensor<200x64xf32>

  // Attention over heads of 16.
  %query_product = linalg.matmul ins(%ln1, %query_w : tensor<200x64xf32>, tensor<64x64xf32>) outs(%zeros : tensor<200x64xf32>) -> tensor<200x64xf32>
  %query = linalg.generic {indexing_maps = [#both, #cols, #both], iterator_types = ["parallel", "parallel"]}
      ins(%query_product, %query_b : tensor<200x64xf32>, tensor<64xf32>) outs(%empty : tensor<200x64xf32>) {
  ^bb0(%in: f32, %bias: f32, %init: f32):
    %0 = arith.addf %in, %bias : f32
    linalg.yield %0 : f32
  } -> tensor<200x64xf32>
  %key_product = linalg.matmul ins(%ln1, %key_w : tensor<200x64xf32>, tensor<64x64xf32>) outs(%zeros : tensor<200x64xf32>) -> tensor<200x64xf32>
  %key = linalg.generic {indexing_maps = [#both, #cols, #both], iterator_types = ["parallel", "parallel"]}
      ins(%key_product, %key_b : tensor<200x64xf32>, tensor<64xf32>) outs(%empty : tensor<200x64xf32>) {
  ^bb0(%in: f32, %bias: f32, %init: f32):
    %0 = arith.addf %in, %bias : f32
    linalg.yield %0 : f32
  } -> tensor<200x64xf32>
  %value_product = linalg.matmul ins(%ln1, %value_w : tensor<200x64xf32>, tensor<64x64xf32>) outs(%zeros : tensor<200x64xf32>) -> tensor<200x64xf32>
  %value = linalg.generic {indexing_maps = [#both, #cols, #both], iterator_types = ["parallel", "parallel"]}
      ins(%value_product, %value_b : tensor<200x64xf32>, tensor<64xf32>) outs(%empty : tensor<200x64xf32>) {
  ^bb0(%in: f32, %bias: f32, %init: f32):
    %0 = arith.addf %in, %bias : f32
    linalg.yield %0 : f32
  } -> tensor<200x64xf32>
  %query_heads = tensor.expand_shape %query [[0, 1], [2, 3]] output_shape [2, 100, 4, 16]
      : tensor<200x64xf32> into tensor<2x100x4x16xf32>
  %key_heads = tensor.expand_shape %key [[0, 1], [2, 3]] output_shape [2, 100, 4, 16]
      : tensor<200x64xf32> into tensor<2x100x4x16xf32>
  %value_heads = tensor.expand_shape %value [[0, 1], [2, 3]] output_shape [2, 100, 4, 16]
      : tensor<200x64xf32> into tensor<2x100x4x16xf32>
  // The weights that heddle-run draws have variance 1, not 1/64: a scale below
  // 1/sqrt(head_dim) keeps the softmax from saturating.
  %heads = heddle.attention %query_heads, %key_heads, %value_heads {scale = 0.03 : f64}
      : tensor<2x100x4x16xf32>, tensor<2x100x4x16xf32>, tensor<2x100x4x16xf32> -> tensor<2x100x4x16xf32>
  %joined = tensor.collapse_shape %heads [[0, 1], [2, 3]] : tensor<2x100x4x16xf32> into tensor<200x64xf32>
  %out_product = linalg.matmul ins(%joined, %out_w : tensor<200x64xf32>, tensor<64x64xf32>) outs(%zeros : tensor<200x64xf32>) -> tensor<200x64xf32>
  %out = linalg.generic {indexing_maps = [#both, #cols, #both], iterator_types = ["parallel", "parallel"]}
      ins(%out_product, %out_b : tensor<200x64xf32>, tensor<64xf32>) outs(%empty : tensor<200x64xf32>) {
  ^bb0(%in: f32, %bias: f32, %init: f32):
    %0 = arith.addf %in, %bias : f32
    linalg.yield %0 : f32
  } -> tensor<200x64xf32>
  %h = linalg.generic {indexing_maps = [#both, #both, #both], iterator_types = ["parallel", "parallel"]}
      ins(%x2, %out : tensor<200x64xf32>, tensor<200x64xf32>) outs(%empty : tensor<200x64xf32>) {
  ^bb0(%p: f32, %q: f32, %init: f32):
    %0 = arith.addf %p, %q : f32
    linalg.yield %0 : f32
  } -> tensor<200x64xf32>

  // LN2: mean, centred, variance, scale and shift by row.
  %ln2_sum = linalg.generic {indexing_maps = [#both, #rows], iterator_types = ["parallel", "reduction"]}
      ins(%h : tensor<200x64xf32>) outs(%zero_row : tensor<200xf32>) {
  ^bb0(%in: f32, %acc: f32):
    %0 = arith.addf %acc, %in : f32
    linalg.yield %0 : f32
  } -> tensor<200xf32>
  %ln2_mean = linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel"]}
      ins(%ln2_sum : tensor<200xf32>) outs(%empty_row : tensor<200xf32>) {
  ^bb0(%in: f32, %init: f32):
    %0 = arith.divf %in, %width : f32
    linalg.yield %0 : f32
  } -> tensor<200xf32>
  %ln2_centred = linalg.generic {indexing_maps = [#both, #rows, #both], iterator_types = ["parallel", "parallel"]}
      ins(%h, %ln2_mean : tensor<200x64xf32>, tensor<200xf32>) outs(%empty : tensor<200x64xf32>) {
  ^bb0(%in: f32, %mean: f32, %init: f32):
    %0 = arith.subf %in, %mean : f32
    linalg.yield %0 : f32
  } -> tensor<200x64xf32>
  %ln2_squares = linalg.generic {indexing_maps = [#both, #rows], iterator_types = ["parallel", "reduction"]}
      ins(%ln2_centred : tensor<200x64xf32>) outs(%zero_row : tensor<200xf32>) {
  ^bb0(%in: f32, %acc: f32):
    %0 = arith.mulf %in, %in : f32
    %1 = arith.addf %acc, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<200xf32>
  %ln2_rstd = linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel"]}
      ins(%ln2_squares : tensor<200xf32>) outs(%empty_row : tensor<200xf32>) {
  ^bb0(%in: f32, %init: f32):
    %0 = arith.divf %in, %width : f32
    %1 = arith.addf %0, %eps : f32
    %2 = math.rsqrt %1 : f32
    linalg.yield %2 : f32
  } -> tensor<200xf32>
  %ln2 = linalg.generic {indexing_maps = [#both, #rows, #cols, #cols, #both], iterator_types = ["parallel", "parallel"]}
      ins(%ln2_centred, %ln2_rstd, %ln2_g, %ln2_b : tensor<200x64xf32>, tensor<200xf32>, tensor<64xf32>, tensor<64xf32>) outs(%empty : tensor<200x64xf32>) {
  ^bb0(%in: f32, %rstd: f32, %scale: f32, %shift: f32, %init: f32):
    %0 = arith.mulf %in, %rstd : f32
    %1 = arith.mulf %0, %scale : f32
    %2 = arith.addf %1, %shift : f32
    linalg.yield %2 : f32
  } -> tensor<200x64xf32>

  // MLP with a tanh-GELU between the two products.
  %up_product = linalg.matmul ins(%ln2, %up_w : tensor<200x64xf32>, tensor<64x256xf32>) outs(%zeros_hidden : tensor<200x256xf32>) -> tensor<200x256xf32>
  %up = linalg.generic {indexing_maps = [#both, #cols, #both], iterator_types = ["parallel", "parallel"]}
      ins(%up_product, %up_b : tensor<200x256xf32>, tensor<256xf32>) outs(%empty_hidden : tensor<200x256xf32>) {
  ^bb0(%in: f32, %bias: f32, %init: f32):
    %0 = arith.addf %in, %bias : f32
    linalg.yield %0 : f32
  } -> tensor<200x256xf32>
  %gelu = linalg.generic {indexing_maps = [#both, #both], iterator_types = ["parallel", "parallel"]}
      ins(%up : tensor<200x256xf32>) outs(%empty_hidden : tensor<200x256xf32>) {
  ^bb0(%in: f32, %init: f32):
    %0 = arith.mulf %in, %in : f32
    %1 = arith.mulf %0, %in : f32
    %2 = arith.mulf %cubic, %1 : f32
    %3 = arith.addf %in, %2 : f32
    %4 = arith.mulf %sqrt_2_pi, %3 : f32
    %5 = math.tanh %4 : f32
    %6 = arith.addf %5, %one : f32
    %7 = arith.mulf %half, %in : f32
    %8 = arith.mulf %7, %6 : f32
    linalg.yield %8 : f32
  } -> tensor<200x256xf32>
  %down_product = linalg.matmul ins(%gelu, %down_w : tensor<200x256xf32>, tensor<256x64xf32>) outs(%zeros : tensor<200x64xf32>) -> tensor<200x64xf32>
  %down = linalg.generic {indexing_maps = [#both, #cols, #both], iterator_types = ["parallel", "parallel"]}
      ins(%down_product, %down_b : tensor<200x64xf32>, tensor<64xf32>) outs(%empty : tensor<200x64xf32>) {
  ^bb0(%in: f32, %bias: f32, %init: f32):
    %0 = arith.addf %in, %bias : f32
    linalg.yield %0 : f32
  } -> tensor<200x64xf32>
  %y = linalg.generic {indexing_maps = [#both, #both, #both], iterator_types = ["parallel", "parallel"]}
      ins(%h, %down : tensor<200x64xf32>, tensor<200x64xf32>) outs(%empty : tensor<200x64xf32>) {
  ^bb0(%p: f32, %q: f32, %init: f32):
    %0 = arith.addf %p, %q : f32
    linalg.yield %0 : f32
  } -> tensor<200x64xf32>
  %out3 = tensor.expand_shape %y [[0, 1], [2]] output_shape [2, 100, 64] : tensor<200x64xf32> into tensor<2x100x64xf32>
  return %out3 : tensor<2x100x64xf32>
}
