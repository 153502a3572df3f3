// RUN: heddle-compile %s --compile-to=tile --cpu=x86-64-v4 | heddle-opt --pass-pipeline='builtin.module(builtin.module(convert-tile-to-cpu{cpu=x86-64-v4}))' | FileCheck %s
// RUN: not heddle-opt %s -convert-tile-to-cpu=cpu=z80 2>&1 | FileCheck %s --check-prefix=CPU

// The grid becomes a block number; the kernel says how many there are and what
// scratch one worker needs. The register tile keeps its accumulators over the
// whole depth: a vector of 32 rows, twelve columns, multiply-adds.

// CHECK-LABEL: func.func private @matmul_256_24_f32
// CHECK-SAME: index, %{{.*}}: memref<[[BYTES:[0-9]+]]xi8>
// CHECK-SAME: heddle.num_blocks = 2 : i64
// CHECK-SAME: heddle.scratch_bytes = [[BYTES]] : i64
// CHECK-NOT: scf.forall
// CHECK-NOT: linalg.generic
// CHECK-COUNT-12: math.fma {{.*}} : vector<32xf32>
// CHECK-NOT: math.fma
func.func @matmul(%x: tensor<256x64xf32>, %w: tensor<64x24xf32>) -> tensor<256x24xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<256x24xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<256x24xf32>) -> tensor<256x24xf32>
  %y = linalg.matmul ins(%x, %w : tensor<256x64xf32>, tensor<64x24xf32>) outs(%f : tensor<256x24xf32>) -> tensor<256x24xf32>
  return %y : tensor<256x24xf32>
}

// CPU: error: expected --cpu to be native, x86-64-v3 or x86-64-v4, got 'z80'
