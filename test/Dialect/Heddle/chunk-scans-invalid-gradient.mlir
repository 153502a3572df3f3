// RUN: heddle-opt %s -verify-diagnostics --heddle-chunk-scans=chunks=2 --heddle-stage-fuse --heddle-stage-plan --heddle-stage-tile

// Tile programs of a CPU walk over all of time.

func.func @selective(%u: tensor<2x64x8xf32>, %a: tensor<8x3xf32>, %b: tensor<2x64x3xf32>) -> tensor<8x3xf32> {
  // expected-error@+1 {{expected a scan over all of time on a CPU, got chunks of it; heddle-chunk-scans is for GPUs}}
  %0:5 = heddle.selective_scan_grad %u, %u, %a, %b, %b, %u
    : tensor<2x64x8xf32>, tensor<2x64x8xf32>, tensor<8x3xf32>, tensor<2x64x3xf32>, tensor<2x64x3xf32>, tensor<2x64x8xf32>
    -> (tensor<2x64x8xf32>, tensor<2x64x8xf32>, tensor<8x3xf32>, tensor<2x64x3xf32>, tensor<2x64x3xf32>)
  return %0#2 : tensor<8x3xf32>
}
