// What a model may say of math needs no libdevice: instructions, polynomials and
// expansions stand in for it, and PTX leaves nothing to link.
// RUN: env CUDA_HOME=%t.none heddle-compile %s --emit=ptx --target=sm_80 | FileCheck %s --implicit-check-not=__nv_ --implicit-check-not='.extern .func'
// CHECK-COUNT-2: .visible .entry

func.func @math_f32(%x0: tensor<64xf32>) -> tensor<64xf32> {
  %x1 = math.exp %x0 : tensor<64xf32>
  %x2 = math.exp2 %x1 : tensor<64xf32>
  %x3 = math.expm1 %x2 : tensor<64xf32>
  %x4 = math.log %x3 : tensor<64xf32>
  %x5 = math.log2 %x4 : tensor<64xf32>
  %x6 = math.log10 %x5 : tensor<64xf32>
  %x7 = math.log1p %x6 : tensor<64xf32>
  %x8 = math.sin %x7 : tensor<64xf32>
  %x9 = math.cos %x8 : tensor<64xf32>
  %x10 = math.tan %x9 : tensor<64xf32>
  %x11 = math.asin %x10 : tensor<64xf32>
  %x12 = math.acos %x11 : tensor<64xf32>
  %x13 = math.atan %x12 : tensor<64xf32>
  %x14 = math.sinh %x13 : tensor<64xf32>
  %x15 = math.cosh %x14 : tensor<64xf32>
  %x16 = math.tanh %x15 : tensor<64xf32>
  %x17 = math.asinh %x16 : tensor<64xf32>
  %x18 = math.acosh %x17 : tensor<64xf32>
  %x19 = math.atanh %x18 : tensor<64xf32>
  %x20 = math.erf %x19 : tensor<64xf32>
  %x21 = math.erfc %x20 : tensor<64xf32>
  %x22 = math.cbrt %x21 : tensor<64xf32>
  %x23 = math.sqrt %x22 : tensor<64xf32>
  %x24 = math.rsqrt %x23 : tensor<64xf32>
  %x25 = math.floor %x24 : tensor<64xf32>
  %x26 = math.ceil %x25 : tensor<64xf32>
  %x27 = math.round %x26 : tensor<64xf32>
  %x28 = math.roundeven %x27 : tensor<64xf32>
  %x29 = math.trunc %x28 : tensor<64xf32>
  %x30 = math.powf %x29, %x0 : tensor<64xf32>
  %x31 = math.atan2 %x30, %x0 : tensor<64xf32>
  return %x31 : tensor<64xf32>
}
func.func @math_f64(%x0: tensor<64xf64>) -> tensor<64xf64> {
  %x1 = math.exp %x0 : tensor<64xf64>
  %x2 = math.exp2 %x1 : tensor<64xf64>
  %x3 = math.expm1 %x2 : tensor<64xf64>
  %x4 = math.log %x3 : tensor<64xf64>
  %x5 = math.log2 %x4 : tensor<64xf64>
  %x6 = math.log10 %x5 : tensor<64xf64>
  %x7 = math.log1p %x6 : tensor<64xf64>
  %x8 = math.sin %x7 : tensor<64xf64>
  %x9 = math.cos %x8 : tensor<64xf64>
  %x10 = math.tan %x9 : tensor<64xf64>
  %x11 = math.asin %x10 : tensor<64xf64>
  %x12 = math.acos %x11 : tensor<64xf64>
  %x13 = math.atan %x12 : tensor<64xf64>
  %x14 = math.sinh %x13 : tensor<64xf64>
  %x15 = math.cosh %x14 : tensor<64xf64>
  %x16 = math.tanh %x15 : tensor<64xf64>
  %x17 = math.asinh %x16 : tensor<64xf64>
  %x18 = math.acosh %x17 : tensor<64xf64>
  %x19 = math.atanh %x18 : tensor<64xf64>
  %x20 = math.erf %x19 : tensor<64xf64>
  %x21 = math.erfc %x20 : tensor<64xf64>
  %x22 = math.cbrt %x21 : tensor<64xf64>
  %x23 = math.sqrt %x22 : tensor<64xf64>
  %x24 = math.rsqrt %x23 : tensor<64xf64>
  %x25 = math.floor %x24 : tensor<64xf64>
  %x26 = math.ceil %x25 : tensor<64xf64>
  %x27 = math.round %x26 : tensor<64xf64>
  %x28 = math.roundeven %x27 : tensor<64xf64>
  %x29 = math.trunc %x28 : tensor<64xf64>
  %x30 = math.powf %x29, %x0 : tensor<64xf64>
  %x31 = math.atan2 %x30, %x0 : tensor<64xf64>
  return %x31 : tensor<64xf64>
}
