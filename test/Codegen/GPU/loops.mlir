// RUN: heddle-compile %s --target=sm_80 --compile-to=tile | FileCheck %s --check-prefix=TILE
// RUN: heddle-compile %s --target=sm_80 --compile-to=gpu | FileCheck %s --check-prefix=GPU
// RUN: heddle-compile %s --target=sm_80 --emit=ptx -o - | FileCheck %s --check-prefix=PTX

// Threads share the elements: neighbours have neighbouring ones. Positions have 64
// bits, divisions 32 where they do.

// TILE-LABEL: @loops_300_5_f64
// TILE: scf.forall (%[[B:.*]], %[[T:.*]]) in (12, 128)
// TILE: %[[AT:.*]] = arith.muli %[[B]], %c128
// TILE: %[[FIRST:.*]] = arith.addi %[[AT]], %[[T]]
// TILE: scf.for %[[E:.*]] = %[[FIRST]] to %c1500{{.*}} step %c1536
// TILE: %[[N:.*]] = arith.index_cast %[[E]] : index to i32
// TILE: arith.remui %[[N]], %c5_i32

// GPU-LABEL: gpu.func @loops_300_5_f64(%arg0: memref<300x5xf64>, %arg1: memref<300x5xf64>) kernel
// GPU-SAME: heddle.grid = 12 : i64, heddle.index_bits = 64 : i64
// GPU-SAME: known_block_size = array<i32: 128, 1, 1>
// GPU: gpu.block_id x
// GPU: gpu.thread_id x
// GPU: memref.store

// PTX-LABEL: .entry loops_300_5_f64_t128(
// PTX: .reqntid 128
// PTX-NOT: .local
// PTX: add.rn.f64
// PTX: st.global.b64
func.func @elements(%x: tensor<300x5xf64>) -> tensor<300x5xf64> {
  %y = arith.addf %x, %x : tensor<300x5xf64>
  return %y : tensor<300x5xf64>
}

// More elements than an i32 counts.
// TILE-LABEL: @loops_70000_40000_i64
// TILE: scf.forall {{.*}} in (1048576, 128)
// TILE: scf.for %[[E:.*]] = %{{.*}} to %c2800000000
// TILE: %[[N:.*]] = arith.index_cast %[[E]] : index to i64
// TILE: arith.remui %[[N]], %c40000_i64
// PTX-LABEL: .entry loops_70000_40000_i64
func.func @many(%x: tensor<70000x40000xi64>) -> tensor<70000x40000xi64> {
  %y = arith.addi %x, %x : tensor<70000x40000xi64>
  return %y : tensor<70000x40000xi64>
}

// One thread where elements meet in an order that both results follow.
// GPU-LABEL: gpu.func @loops_9_f32
// GPU-SAME: heddle.grid = 1 : i64
// GPU-SAME: known_block_size = array<i32: 1, 1, 1>
func.func @in_order(%x: tensor<6x4xf32>, %a: tensor<9xf32>, %b: tensor<6xf32>) -> (tensor<9xf32>, tensor<6xf32>) {
  %y, %z = linalg.generic {indexing_maps = [affine_map<(t, k) -> (t, k)>, affine_map<(t, k) -> (t + k)>, affine_map<(t, k) -> (t)>],
      iterator_types = ["reduction", "reduction"]} ins(%x : tensor<6x4xf32>) outs(%a, %b : tensor<9xf32>, tensor<6xf32>) {
  ^bb0(%v: f32, %s: f32, %r: f32):
    %p = arith.addf %s, %v : f32
    %q = arith.addf %r, %s : f32
    linalg.yield %p, %q : f32, f32
  } -> (tensor<9xf32>, tensor<6xf32>)
  return %y, %z : tensor<9xf32>, tensor<6xf32>
}
