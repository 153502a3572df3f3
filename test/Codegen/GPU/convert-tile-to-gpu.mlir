// RUN: heddle-compile %s --target=sm_80 --compile-to=tile | heddle-opt -pass-pipeline='builtin.module(builtin.module(convert-tile-to-gpu))' | FileCheck %s

// Each kernel becomes a gpu.module with one kernel, whose grid is along x.

// A row is reduced where it lies, and spread again. Tiles have a power of two of
// columns; what is outside of the buffer is padding, and left out of reductions. The result goes over the input, which others may still read.
// CHECK-LABEL: gpu.func @rows_70_100_f32(%arg0: memref<70x100xf32>, %arg1: memref<70x100xf32>) kernel
// CHECK-SAME: heddle.grid = 5 : i64
// CHECK-SAME: heddle_gpu.warps = 4 : i64
// CHECK-SAME: known_block_size = array<i32: 128, 1, 1>
// CHECK: %[[B:.*]] = gpu.block_id x
// CHECK: heddle_gpu.load %arg0[%{{.*}}, %{{.*}}] dims [0, 1] pad %{{.*}} : memref<70x100xf32> -> tensor<16x128xf32, #{{.*}}>
// CHECK: %[[AT:.*]] = heddle_gpu.iota axis 1
// CHECK: %[[IN:.*]] = arith.cmpi slt, %[[AT]]
// CHECK: arith.select %[[IN]]
// CHECK: %[[MAX:.*]] = heddle_gpu.reduce {{.*}} axis 1
// CHECK: heddle_gpu.broadcast %{{.*}} dims [1] : tensor<16xf32, #{{.*}}> -> tensor<16x128xf32, #{{.*}}>
// CHECK: math.exp {{.*}} : tensor<16x128xf32, #{{.*}}>
// CHECK: heddle_gpu.reduce add %{{.*}} axis 1
// CHECK: arith.divf
// CHECK: heddle_gpu.barrier
// CHECK-NEXT: heddle_gpu.store %{{.*}} into %arg1[%{{.*}}, %{{.*}}] dims [0, 1] : tensor
// CHECK-NEXT: gpu.return
func.func @softmax(%x: tensor<70x100xf32>) -> tensor<70x100xf32> {
  %e = tensor.empty() : tensor<70x100xf32>
  %y = linalg.softmax dimension(1) ins(%x : tensor<70x100xf32>) outs(%e : tensor<70x100xf32>) -> tensor<70x100xf32>
  return %y : tensor<70x100xf32>
}

// Operands of a product are staged in shared memory, by asynchronous copies; sizes
// that tiles divide need no bounds.
// CHECK-LABEL: gpu.func @matmul_128_128_f32
// CHECK-SAME: heddle.grid = 4 : i64
// CHECK-COUNT-2: heddle_gpu.smem_alloc
// CHECK-COUNT-2: heddle_gpu.async_copy %{{.*}} dims [0, 1] in_bounds into
// CHECK: heddle_gpu.barrier
// CHECK-DAG: heddle_gpu.smem_load %{{.*}} -> tensor<64x64xbf16
// CHECK: heddle_gpu.dot mma %{{.*}} : tensor<64x64xbf16, #{{.*}}>, tensor<64x64xbf16, #{{.*}}>, tensor<64x64xf32, #{{.*}}>
// CHECK: heddle_gpu.store {{.*}} in_bounds : tensor<64x64xf32
func.func @product(%a: tensor<128x64xbf16>, %w: tensor<64x128xbf16>) -> tensor<128x128xf32> {
  %z = arith.constant dense<0.0> : tensor<128x128xf32>
  %m = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %w : tensor<128x64xbf16>, tensor<64x128xbf16>) outs(%z : tensor<128x128xf32>) {
  ^bb0(%x: bf16, %y: bf16, %c: f32):
    %p = arith.extf %x : bf16 to f32
    %q = arith.extf %y : bf16 to f32
    %r = arith.mulf %p, %q : f32
    %s = arith.addf %c, %r : f32
    linalg.yield %s : f32
  } -> tensor<128x128xf32>
  return %m : tensor<128x128xf32>
}

// A vector along the columns is loaded once for all rows of the tile.
// CHECK-LABEL: gpu.func @elementwise_67_129_f32
// CHECK-SAME: heddle.grid = 9 : i64
// CHECK: %[[V:.*]] = heddle_gpu.load %arg1[%{{.*}}] dims [0] pad
// CHECK: heddle_gpu.broadcast %[[V]] dims [0]
// CHECK: arith.addf {{.*}} : tensor<8x256xf32
func.func @add(%x: tensor<67x129xf32>, %b: tensor<129xf32>) -> tensor<67x129xf32> {
  %e = tensor.empty() : tensor<67x129xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x, %b : tensor<67x129xf32>, tensor<129xf32>) outs(%e : tensor<67x129xf32>) {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %s = arith.addf %a, %c : f32
    linalg.yield %s : f32
  } -> tensor<67x129xf32>
  return %y : tensor<67x129xf32>
}

// A transposition is one of layouts.
// CHECK-LABEL: gpu.func @elementwise_50_37_f32
// CHECK: heddle_gpu.load %arg0[%{{.*}}, %{{.*}}] dims [{{0, 1|1, 0}}]
// CHECK-NOT: heddle_gpu.smem
// CHECK: heddle_gpu.store
func.func @transpose(%x: tensor<37x50xf32>) -> tensor<50x37xf32> {
  %e = tensor.empty() : tensor<50x37xf32>
  %y = linalg.transpose ins(%x : tensor<37x50xf32>) outs(%e : tensor<50x37xf32>) permutation = [1, 0]
  return %y : tensor<50x37xf32>
}
