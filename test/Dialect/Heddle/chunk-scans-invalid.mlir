// RUN: heddle-opt %s -split-input-file -verify-diagnostics --heddle-chunk-scans=chunks=2 --heddle-decompose-selective-scan --heddle-decompose-scan-grad
// RUN: heddle-opt %s -split-input-file -verify-diagnostics --heddle-chunk-scans=chunks=2 --heddle-stage-fuse --heddle-stage-plan --heddle-stage-tile

// What comes after chunks knows them, or says so: decompositions come before, tile programs
// of a CPU walk over all of time.

func.func @selective(%u: tensor<2x64x8xf32>, %a: tensor<8x3xf32>, %b: tensor<2x64x3xf32>) -> tensor<2x64x8xf32> {
  // expected-error-re@+1 {{{{expected a scan over all of time(, got one over chunks; decompose it before heddle-chunk-scans| on a CPU, got chunks of it; heddle-chunk-scans is for GPUs)}}}}
  %0 = heddle.selective_scan %u, %u, %a, %b, %b : tensor<2x64x8xf32>, tensor<2x64x8xf32>, tensor<8x3xf32>, tensor<2x64x3xf32>, tensor<2x64x3xf32> -> tensor<2x64x8xf32>
  return %0 : tensor<2x64x8xf32>
}

// -----

func.func @gradient(%a: tensor<2x64x8xf32>) -> tensor<2x64x8xf32> {
  // expected-error-re@+1 {{{{expected a scan over all of time(, got one over chunks; decompose it before heddle-chunk-scans| on a CPU, got chunks of it; heddle-chunk-scans is for GPUs)}}}}
  %0:2 = heddle.linear_scan_grad %a, %a, %a : tensor<2x64x8xf32>, tensor<2x64x8xf32>, tensor<2x64x8xf32> -> (tensor<2x64x8xf32>, tensor<2x64x8xf32>)
  return %0#1 : tensor<2x64x8xf32>
}
