// RUN: heddle-compile %s --target=sm_80 --report -o %t | FileCheck %s
// RUN: heddle-compile %s --target=sm_80 --scan-chunks=1 --report -o %t | FileCheck %s --check-prefix=ONE

// Chunks of time fill 108 multiprocessors where two blocks would run. The memory for it is
// that of states per chunk: two tensors, of which the states between chunks take one.

// CHECK-LABEL: function linear
// CHECK: scan_1_64_64_f32 {{ *}}scan {{ *}}1 {{ *}}126 {{.*}}c32_t16x8
// CHECK: scan_1_64_64_f32_0 {{ *}}scan {{ *}}1 {{ *}}2 {{.*}}c32_t8x8
// CHECK: scan_1_16384_64_f32 {{ *}}scan {{ *}}1 {{ *}}128 {{.*}}c32_t16x8
// CHECK: commands: 3 launch, 0 copy
// CHECK: work 0.031
// ONE-LABEL: function linear
// ONE: scan_1_16384_64_f32 {{ *}}scan {{ *}}1 {{ *}}2 {{.*}}c32_t16x8
// ONE: commands: 1 launch, 0 copy
// ONE: work 0.000
func.func @linear(%a: tensor<1x16384x64xf32>, %b: tensor<1x16384x64xf32>) -> tensor<1x16384x64xf32> {
  %0 = heddle.linear_scan %a, %b : tensor<1x16384x64xf32>, tensor<1x16384x64xf32> -> (tensor<1x16384x64xf32>)
  return %0 : tensor<1x16384x64xf32>
}

// CHECK-LABEL: function selective
// CHECK: scan_1_128_64_16_f32 {{ *}}scan {{ *}}1 {{ *}}127 {{.*}}c64_l4_t16
// CHECK: scan_1_128_1024_f32 {{ *}}scan {{ *}}1 {{ *}}32 {{.*}}c32_t16x8
// CHECK: scan_1_16384_64_f32_1 {{ *}}scan {{ *}}1 {{ *}}128 {{.*}}c64_l4_t16
// CHECK: commands: 3 launch, 0 copy
// CHECK: work 1.000
// ONE-LABEL: function selective
// ONE: scan_1_16384_64_f32_0 {{ *}}scan {{ *}}1 {{ *}}2 {{.*}}c32_l4_t16
// ONE: commands: 1 launch, 0 copy
// ONE: work 0.000
func.func @selective(%u: tensor<1x16384x64xf32>, %dt: tensor<1x16384x64xf32>, %a: tensor<64x16xf32>, %b: tensor<1x16384x16xf32>, %c: tensor<1x16384x16xf32>) -> tensor<1x16384x64xf32> {
  %0 = heddle.selective_scan %u, %dt, %a, %b, %c {delta_softplus}
    : tensor<1x16384x64xf32>, tensor<1x16384x64xf32>, tensor<64x16xf32>, tensor<1x16384x16xf32>, tensor<1x16384x16xf32> -> tensor<1x16384x64xf32>
  return %0 : tensor<1x16384x64xf32>
}

// States that enter chunks of the gradient are those of the scan; neither leaves states at
// boundaries of chunks that the gradient walks through.
// CHECK-LABEL: function selective_gradient
// CHECK: scan_1_128_64_16_f32 {{ *}}scan {{ *}}1 {{ *}}127 {{.*}}c64_l4_t16
// CHECK: scan_1_128_1024_f32 {{ *}}scan {{ *}}1 {{ *}}32 {{.*}}c32_t16x8
// CHECK: scan_1_16384_64_f32_1 {{ *}}scan {{ *}}1 {{ *}}128 {{.*}}c64_l4_t16
// CHECK: scan_1_128_64_16_f32_2 {{ *}}scan {{ *}}1 {{ *}}127 {{.*}}c64_l4_t16
// CHECK: scan_1_128_1024_f32_3 {{ *}}scan {{ *}}1 {{ *}}32 {{.*}}c32_t16x8
// CHECK: scan_1_16384_64_f32_4 {{ *}}scan {{ *}}1 {{ *}}128 {{.*}}c64_l4_t
// CHECK: commands: 7 launch
// ONE-LABEL: function selective_gradient
// ONE: scan_1_16384_64_f32_1 {{ *}}scan {{ *}}1 {{ *}}2 {{.*}}c32_l4_t16
// ONE: scan_1_16384_64_f32_2 {{ *}}scan {{ *}}1 {{ *}}1 {{.*}}c64_l4_t
// ONE: commands: 2 launch
func.func @selective_gradient(%u: tensor<1x16384x64xf32>, %dt: tensor<1x16384x64xf32>, %a: tensor<64x16xf32>, %b: tensor<1x16384x16xf32>, %c: tensor<1x16384x16xf32>, %dy: tensor<1x16384x64xf32>)
    -> (tensor<1x16384x64xf32>, tensor<1x16384x64xf32>, tensor<1x16384x64xf32>, tensor<64x16xf32>, tensor<1x16384x16xf32>, tensor<1x16384x16xf32>) {
  %y = heddle.selective_scan %u, %dt, %a, %b, %c {delta_softplus}
    : tensor<1x16384x64xf32>, tensor<1x16384x64xf32>, tensor<64x16xf32>, tensor<1x16384x16xf32>, tensor<1x16384x16xf32> -> tensor<1x16384x64xf32>
  %g:5 = heddle.selective_scan_grad %u, %dt, %a, %b, %c, %dy {delta_softplus}
    : tensor<1x16384x64xf32>, tensor<1x16384x64xf32>, tensor<64x16xf32>, tensor<1x16384x16xf32>, tensor<1x16384x16xf32>, tensor<1x16384x64xf32>
    -> (tensor<1x16384x64xf32>, tensor<1x16384x64xf32>, tensor<64x16xf32>, tensor<1x16384x16xf32>, tensor<1x16384x16xf32>)
  return %y, %g#0, %g#1, %g#2, %g#3, %g#4 : tensor<1x16384x64xf32>, tensor<1x16384x64xf32>, tensor<1x16384x64xf32>, tensor<64x16xf32>, tensor<1x16384x16xf32>, tensor<1x16384x16xf32>
}
