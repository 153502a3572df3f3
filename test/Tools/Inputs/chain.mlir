// Two products: the hidden value lies in the arena.
#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (k, n)>
#y = affine_map<(m, n, k) -> (m, n)>
func.func @chain(%x: tensor<300x64xbf16>, %v: tensor<64x128xbf16>, %w: tensor<128x64xbf16>) -> (tensor<300x64xf32>, tensor<300xf32>) {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<300x128xf32>
  %e1 = tensor.empty() : tensor<300x64xf32>
  %e2 = tensor.empty() : tensor<300xf32>
  %z0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<300x128xf32>) -> tensor<300x128xf32>
  %z1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<300x64xf32>) -> tensor<300x64xf32>
  %z2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<300xf32>) -> tensor<300xf32>
  %h = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %v : tensor<300x64xbf16>, tensor<64x128xbf16>) outs(%z0 : tensor<300x128xf32>) {
  ^bb0(%a: bf16, %b: bf16, %c: f32):
    %0 = arith.extf %a : bf16 to f32
    %1 = arith.extf %b : bf16 to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.addf %c, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<300x128xf32>
  %t = arith.truncf %h : tensor<300x128xf32> to tensor<300x128xbf16>
  %y = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%t, %w : tensor<300x128xbf16>, tensor<128x64xbf16>) outs(%z1 : tensor<300x64xf32>) {
  ^bb0(%a: bf16, %b: bf16, %c: f32):
    %0 = arith.extf %a : bf16 to f32
    %1 = arith.extf %b : bf16 to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.addf %c, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<300x64xf32>
  %s = linalg.reduce { arith.addf } ins(%h : tensor<300x128xf32>) outs(%z2 : tensor<300xf32>) dimensions = [1]
  return %y, %s : tensor<300x64xf32>, tensor<300xf32>
}
