// RUN: heddle-compile %s --target=sm_80 --emit=ptx -o - | FileCheck %s

// Buffers of more than 2^31 elements: rows are multiplied by their length in 64 bits.

// CHECK-LABEL: .entry attention_2_16_1_64_bf16
// CHECK-NOT: .lo.s32 {{.*}}2560000000
// CHECK: mul.lo.s64 %rd{{[0-9]+}}, %rd{{[0-9]+}}, 5120000000;
func.func @keys(%q: tensor<2x16x1x64xbf16>, %k: tensor<2x40000000x1x64xbf16>, %v: tensor<2x40000000x1x64xbf16>) -> tensor<2x16x1x64xbf16> {
  %o = heddle.attention %q, %k, %v
    : tensor<2x16x1x64xbf16>, tensor<2x40000000x1x64xbf16>, tensor<2x40000000x1x64xbf16> -> tensor<2x16x1x64xbf16>
  return %o : tensor<2x16x1x64xbf16>
}

// A row has 80000 bytes, there are 60000.
// CHECK-LABEL: .entry matmul_60000_64_f32
// CHECK-NOT: mul.lo.s32 {{.*}}, 80000;
// CHECK: mul.wide.{{[su]}}32 %rd{{[0-9]+}}, %r{{[0-9]+}}, 80000;
// CHECK-NOT: mul.lo.s32 {{.*}}, 80000;
func.func @product(%a: tensor<60000x40000xbf16>, %b: tensor<40000x64xbf16>) -> tensor<60000x64xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<60000x64xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<60000x64xf32>) -> tensor<60000x64xf32>
  %r = linalg.matmul ins(%a, %b : tensor<60000x40000xbf16>, tensor<40000x64xbf16>) outs(%f : tensor<60000x64xf32>) -> tensor<60000x64xf32>
  return %r : tensor<60000x64xf32>
}

// CHECK-LABEL: .entry elementwise_70000_40000_f32
// CHECK: mul.wide.u32 %[[ROW:rd[0-9]+]], %r{{[0-9]+}}, 40000;
// CHECK-NEXT: shl.b64 %rd{{[0-9]+}}, %[[ROW]], 2;
func.func @elements(%a: tensor<70000x40000xf32>) -> tensor<70000x40000xf32> {
  %r = arith.addf %a, %a : tensor<70000x40000xf32>
  return %r : tensor<70000x40000xf32>
}
