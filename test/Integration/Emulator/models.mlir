// Models of each kernel family, judged by the reference device and by the
// emulator's checks.

// RUN: %check %s %t

func.func @elementwise_of_odd_sizes(%a: tensor<3x5xf32>, %b: tensor<3x5xf32>) -> (tensor<3x5xf32>, tensor<3x5xf32>) {
  %y = arith.addf %a, %b : tensor<3x5xf32>
  %z = arith.subf %a, %b : tensor<3x5xf32>
  return %y, %z : tensor<3x5xf32>, tensor<3x5xf32>
}

func.func @elementwise_chain_of_several_tiles(%a: tensor<67x129xf32>, %b: tensor<67x129xf32>) -> tensor<67x129xf32> {
  %x = math.exp %a : tensor<67x129xf32>
  %y = arith.mulf %x, %b : tensor<67x129xf32>
  %z = arith.addf %y, %a : tensor<67x129xf32>
  return %z : tensor<67x129xf32>
}

func.func @argument_is_returned(%x: tensor<3x5xf32>) -> tensor<3x5xf32> {
  return %x : tensor<3x5xf32>
}

func.func @causal_attention_of_ragged_length(%q: tensor<1x70x2x32xbf16>, %k: tensor<1x70x2x32xbf16>, %v: tensor<1x70x2x32xbf16>) -> tensor<1x70x2x32xbf16> {
  %o = heddle.attention %q, %k, %v {mask = #heddle.mask<causal_lower_right>}
    : tensor<1x70x2x32xbf16>, tensor<1x70x2x32xbf16>, tensor<1x70x2x32xbf16> -> tensor<1x70x2x32xbf16>
  return %o : tensor<1x70x2x32xbf16>
}

func.func @values_pass_through_the_arena(%a: tensor<40x64xf32>, %w: tensor<64x48xf32>, %u: tensor<48x24xf32>) -> tensor<40x24xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<40x48xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<40x48xf32>) -> tensor<40x48xf32>
  %m = linalg.matmul ins(%a, %w : tensor<40x64xf32>, tensor<64x48xf32>) outs(%f : tensor<40x48xf32>) -> tensor<40x48xf32>
  %g = tensor.empty() : tensor<40x24xf32>
  %h = linalg.fill ins(%zero : f32) outs(%g : tensor<40x24xf32>) -> tensor<40x24xf32>
  %n = linalg.matmul ins(%m, %u : tensor<40x48xf32>, tensor<48x24xf32>) outs(%h : tensor<40x24xf32>) -> tensor<40x24xf32>
  return %n : tensor<40x24xf32>
}
