// RUN: heddle-compile %s --compile-to=tile | FileCheck %s
// RUN: heddle-compile %s --compile-to=tile | heddle-opt --pass-pipeline='builtin.module(builtin.module(convert-tile-to-cpu))' | FileCheck %s --check-prefix=CPU

// Blocks share the outermost axis. A sum of bf16 is carried in f32 through all
// its loops and rounded once, where it is stored.

// CHECK-LABEL: func.func private @loops_64_bf16
// CHECK: scf.forall (%[[B:.*]]) in (2)
// CHECK: %[[BEGIN:.*]] = arith.muli %[[B]], %c32
// CHECK: scf.for %{{.*}} = %[[BEGIN]] to
// CHECK: scf.for {{.*}} -> (f32)
// CHECK: scf.for {{.*}} -> (f32)
// CHECK: arith.extf
// CHECK: arith.addf {{.*}} : f32
// CHECK-NOT: arith.truncf
// CHECK: scf.yield
// CHECK: scf.yield
// CHECK: %[[SUM:.*]] = arith.truncf
// CHECK: memref.store %[[SUM]], %{{.*}} : memref<64xbf16>

// CPU-LABEL: func.func private @loops_64_bf16
// CPU-SAME: index, %{{.*}}: memref<64xi8>
// CPU-SAME: heddle.num_blocks = 2 : i64, heddle.scratch_bytes = 0 : i64
// CPU-NOT: scf.forall
func.func @sum_of_even_elements(%x: tensor<64x15x9xbf16>, %window: tensor<8xbf16>) -> tensor<64xbf16> {
  %z = arith.constant dense<0.0> : tensor<64xbf16>
  %y = linalg.generic {indexing_maps = [affine_map<(a, i, j) -> (a, 2 * i, j)>, affine_map<(a, i, j) -> (i)>, affine_map<(a, i, j) -> (a)>],
      iterator_types = ["parallel", "reduction", "reduction"]}
      ins(%x, %window : tensor<64x15x9xbf16>, tensor<8xbf16>) outs(%z : tensor<64xbf16>) {
  ^bb0(%e: bf16, %w: bf16, %acc: bf16):
    %0 = arith.addf %acc, %e : bf16
    linalg.yield %0 : bf16
  } -> tensor<64xbf16>
  return %y : tensor<64xbf16>
}

// Where points of the loops meet in one element, each element looks for its
// points: k follows from t, and t + k is only reached by some t. Blocks share the
// elements.

// CHECK-LABEL: func.func private @loops_4095_bf16
// CHECK: scf.forall {{.*}} in (7)
// CHECK: scf.for %[[O:[a-z0-9]*]] = %{{.*}} to
// CHECK: arith.addi %[[O]], %c-3
// CHECK: scf.for %[[T:[a-z0-9]*]] = %{{.*}} -> (f32)
// CHECK: %[[K:.*]] = arith.subi %{{.*}}, %[[T]]
// CHECK: %[[IS:.*]] = arith.cmpi ult, %[[K]], %c4
// CHECK: scf.if %[[IS]] -> (f32)
// CHECK: memref.load %{{.*}}[%[[K]]]
// CHECK: arith.addf {{.*}} : f32
// CHECK-NOT: memref.alloc
// CHECK: arith.truncf
// CHECK: memref.store {{.*}} : memref<4095xbf16>

// CPU-LABEL: func.func private @loops_4095_bf16
// CPU-SAME: heddle.num_blocks = 7 : i64, heddle.scratch_bytes = 0 : i64
func.func @full_convolution(%x: tensor<4092xbf16>, %w: tensor<4xbf16>, %a: tensor<4095xbf16>) -> tensor<4095xbf16> {
  %y = linalg.generic {indexing_maps = [affine_map<(t, k) -> (t)>, affine_map<(t, k) -> (k)>, affine_map<(t, k) -> (t + k)>],
      iterator_types = ["reduction", "reduction"]} ins(%x, %w : tensor<4092xbf16>, tensor<4xbf16>) outs(%a : tensor<4095xbf16>) {
  ^bb0(%l: bf16, %r: bf16, %c: bf16):
    %m = arith.mulf %l, %r : bf16
    %s = arith.addf %c, %m : bf16
    linalg.yield %s : bf16
  } -> tensor<4095xbf16>
  return %y : tensor<4095xbf16>
}

// Results of different maps are made in the order of the loops, by one block.
// Sums are in memory, as f32 too.

// CHECK-LABEL: func.func private @loops_9_bf16
// CHECK: scf.forall {{.*}} in (1)
// CHECK: %[[SUMS:.*]] = memref.alloc() : memref<9xf32>
// CHECK: memref.store %{{.*}}, %[[SUMS]]
// CHECK: memref.load %[[SUMS]]
// CHECK: arith.addf {{.*}} : f32
// CHECK: memref.store %{{.*}}, %[[SUMS]]
// CHECK: memref.load %[[SUMS]]
// CHECK: arith.truncf
// CHECK: memref.store {{.*}} : memref<9xbf16>

// CPU-LABEL: func.func private @loops_9_bf16
// CPU-SAME: %[[SCRATCH:[a-z0-9]*]]: memref<128xi8>
// CPU-SAME: heddle.num_blocks = 1 : i64, heddle.scratch_bytes = 128 : i64
// CPU: memref.view %[[SCRATCH]]{{.*}} to memref<9xf32>
func.func @two_maps(%x: tensor<6x4xbf16>, %a: tensor<9xbf16>, %b: tensor<6xbf16>) -> (tensor<9xbf16>, tensor<6xbf16>) {
  %y, %z = linalg.generic {indexing_maps = [affine_map<(t, k) -> (t, k)>, affine_map<(t, k) -> (t + k)>, affine_map<(t, k) -> (t)>],
      iterator_types = ["reduction", "reduction"]} ins(%x : tensor<6x4xbf16>) outs(%a, %b : tensor<9xbf16>, tensor<6xbf16>) {
  ^bb0(%v: bf16, %s: bf16, %r: bf16):
    %p = arith.addf %s, %v : bf16
    %q = arith.addf %r, %s : bf16
    linalg.yield %p, %q : bf16, bf16
  } -> (tensor<9xbf16>, tensor<6xbf16>)
  return %y, %z : tensor<9xbf16>, tensor<6xbf16>
}
