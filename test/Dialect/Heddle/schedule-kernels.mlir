// RUN: heddle-opt %s -split-input-file -heddle-fuse-kernels -heddle-schedule-kernels | FileCheck %s
// RUN: heddle-opt %s -split-input-file -heddle-fuse-kernels -heddle-schedule-kernels -heddle-plan-memory | FileCheck %s --check-prefix=PLAN

// Each gradient is used up before the next one is made.

// CHECK-LABEL: func.func @update_follows_its_gradient
// CHECK: %[[G0:.*]] = heddle.launch
// CHECK-NEXT: heddle.launch @{{.*}}(%{{.*}}, %[[G0]])
// CHECK: %[[G1:.*]] = heddle.launch
// CHECK-NEXT: heddle.launch @{{.*}}(%{{.*}}, %[[G1]])
// PLAN-LABEL: func.func @update_follows_its_gradient
// PLAN-SAME: heddle.work_bytes = 1024
func.func @update_follows_its_gradient(%p0: tensor<16x16xf32>, %p1: tensor<16x16xf32>, %x: tensor<16x16xf32>, %y: tensor<16x16xf32>) -> (tensor<16x16xf32>, tensor<16x16xf32>) {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16x16xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<16x16xf32>) -> tensor<16x16xf32>
  %g0 = linalg.matmul ins(%x, %y : tensor<16x16xf32>, tensor<16x16xf32>) outs(%f : tensor<16x16xf32>) -> tensor<16x16xf32>
  %g1 = linalg.matmul ins(%y, %x : tensor<16x16xf32>, tensor<16x16xf32>) outs(%f : tensor<16x16xf32>) -> tensor<16x16xf32>
  %0 = linalg.matmul ins(%p0, %g0 : tensor<16x16xf32>, tensor<16x16xf32>) outs(%f : tensor<16x16xf32>) -> tensor<16x16xf32>
  %1 = linalg.matmul ins(%p1, %g1 : tensor<16x16xf32>, tensor<16x16xf32>) outs(%f : tensor<16x16xf32>) -> tensor<16x16xf32>
  return %0, %1 : tensor<16x16xf32>, tensor<16x16xf32>
}

// -----

// A chain has one order.

// CHECK-LABEL: func.func @chain_stays_as_it_is
// CHECK: %[[A:.*]] = heddle.launch
// CHECK-NEXT: %[[C:.*]] = tensor.cast %[[A]]
// CHECK-NEXT: %[[B:.*]] = heddle.launch @{{.*}}(%[[C]], %{{.*}})
// CHECK: return %[[B]]
func.func @chain_stays_as_it_is(%x: tensor<16x16xf32>, %w: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16x16xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<16x16xf32>) -> tensor<16x16xf32>
  %0 = linalg.matmul ins(%x, %w : tensor<16x16xf32>, tensor<16x16xf32>) outs(%f : tensor<16x16xf32>) -> tensor<16x16xf32>
  %c = tensor.cast %0 : tensor<16x16xf32> to tensor<16x16xf32>
  %1 = linalg.matmul ins(%c, %w : tensor<16x16xf32>, tensor<16x16xf32>) outs(%f : tensor<16x16xf32>) -> tensor<16x16xf32>
  return %1 : tensor<16x16xf32>
}

// -----

// A large value has two readers: both run before the next large one is made.

// CHECK-LABEL: func.func @all_readers_of_a_value_run_early
// CHECK: %[[A:.*]] = heddle.launch {{.*}} -> tensor<64x64xf32>
// CHECK-NEXT: heddle.launch @{{.*}}(%[[A]],
// CHECK-NEXT: heddle.launch @{{.*}}(%[[A]],
// CHECK-NEXT: heddle.launch @{{.*}}(%arg1, %arg0,
func.func @all_readers_of_a_value_run_early(%x: tensor<64x64xf32>, %y: tensor<64x64xf32>, %u: tensor<64x2xf32>, %v: tensor<64x2xf32>, %w: tensor<2x2xf32>) -> (tensor<64x2xf32>, tensor<64x2xf32>, tensor<64x2xf32>) {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x64xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<64x64xf32>) -> tensor<64x64xf32>
  %e2 = tensor.empty() : tensor<64x2xf32>
  %f2 = linalg.fill ins(%z : f32) outs(%e2 : tensor<64x2xf32>) -> tensor<64x2xf32>
  %a = linalg.matmul ins(%x, %y : tensor<64x64xf32>, tensor<64x64xf32>) outs(%f : tensor<64x64xf32>) -> tensor<64x64xf32>
  %b = linalg.matmul ins(%y, %x : tensor<64x64xf32>, tensor<64x64xf32>) outs(%f : tensor<64x64xf32>) -> tensor<64x64xf32>
  %r = linalg.matmul ins(%b, %u : tensor<64x64xf32>, tensor<64x2xf32>) outs(%f2 : tensor<64x2xf32>) -> tensor<64x2xf32>
  %s = linalg.matmul ins(%a, %u : tensor<64x64xf32>, tensor<64x2xf32>) outs(%f2 : tensor<64x2xf32>) -> tensor<64x2xf32>
  %t = linalg.matmul ins(%a, %v : tensor<64x64xf32>, tensor<64x2xf32>) outs(%f2 : tensor<64x2xf32>) -> tensor<64x2xf32>
  %so = linalg.matmul ins(%s, %w : tensor<64x2xf32>, tensor<2x2xf32>) outs(%f2 : tensor<64x2xf32>) -> tensor<64x2xf32>
  %to = linalg.matmul ins(%t, %w : tensor<64x2xf32>, tensor<2x2xf32>) outs(%f2 : tensor<64x2xf32>) -> tensor<64x2xf32>
  return %r, %so, %to : tensor<64x2xf32>, tensor<64x2xf32>, tensor<64x2xf32>
}
