// Attention with heads of 1024 elements in f32.
func.func @wide_heads(%q: tensor<1x40x2x1024xf32>, %k: tensor<1x40x2x1024xf32>, %v: tensor<1x40x2x1024xf32>) -> tensor<1x40x2x1024xf32> {
  %o = heddle.attention %q, %k, %v
    : tensor<1x40x2x1024xf32>, tensor<1x40x2x1024xf32>, tensor<1x40x2x1024xf32> -> tensor<1x40x2x1024xf32>
  return %o : tensor<1x40x2x1024xf32>
}
