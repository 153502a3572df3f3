// RUN: heddle-opt %s -split-input-file -convert-elementwise-to-linalg -heddle-fuse-kernels -heddle-plan-memory -cse -heddle-verify-kernels | FileCheck %s

// The kernel reads of the argument, in each block, what it writes.

// CHECK-LABEL: func.func @an_update_is_made_in_place
// CHECK-SAME: heddle.alias = array<i64: 0>
// CHECK-SAME: heddle.arena_bytes = 0
// CHECK-DAG: %[[P:.*]] = memref.view %arg0
// CHECK-DAG: %[[G:.*]] = memref.view %arg1
// CHECK: heddle.launch @{{.*}}(%[[P]], %[[G]], %[[P]])
// CHECK-NOT: memref.copy
// CHECK: return
func.func @an_update_is_made_in_place(%p: tensor<64x64xf32> {heddle.donate = 0 : i64}, %g: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %0 = arith.subf %p, %g : tensor<64x64xf32>
  return %0 : tensor<64x64xf32>
}

// -----

// The gradient's memory would do for the update as well, but the result belongs
// into the argument.

// CHECK-LABEL: func.func @the_argument_comes_before_a_dying_value
// CHECK-SAME: heddle.alias = array<i64: 0>
// CHECK-NOT: memref.copy
// CHECK: return
func.func @the_argument_comes_before_a_dying_value(%p: tensor<64x64xf32> {heddle.donate = 0 : i64}, %x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x64xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<64x64xf32>) -> tensor<64x64xf32>
  %g = linalg.matmul ins(%x, %p : tensor<64x64xf32>, tensor<64x64xf32>) outs(%f : tensor<64x64xf32>) -> tensor<64x64xf32>
  %0 = arith.subf %g, %p : tensor<64x64xf32>
  return %0 : tensor<64x64xf32>
}

// -----

// The product reads all of the argument for each of its blocks: it cannot write
// there, so its result moves in at the end.

// CHECK-LABEL: func.func @an_argument_that_is_still_read_is_copied_to
// CHECK-SAME: heddle.alias = array<i64: 0>
// CHECK-SAME: heddle.arena_bytes = 16384
// CHECK: heddle.launch
// CHECK-NEXT: memref.copy
func.func @an_argument_that_is_still_read_is_copied_to(%p: tensor<64x64xf32> {heddle.donate = 0 : i64}, %x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x64xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<64x64xf32>) -> tensor<64x64xf32>
  %0 = linalg.matmul ins(%x, %p : tensor<64x64xf32>, tensor<64x64xf32>) outs(%f : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %0 : tensor<64x64xf32>
}

// -----

// Each argument goes where the other one was.

// CHECK-LABEL: func.func @arguments_change_places
// CHECK-SAME: heddle.alias = array<i64: 0, 1>
// CHECK-SAME: heddle.arena_bytes = 512
// CHECK-COUNT-4: memref.copy
// CHECK-NOT: memref.copy
func.func @arguments_change_places(%a: tensor<64xf32> {heddle.donate = 0 : i64}, %b: tensor<64xf32> {heddle.donate = 1 : i64}) -> (tensor<64xf32>, tensor<64xf32>) {
  return %b, %a : tensor<64xf32>, tensor<64xf32>
}

// -----

// CHECK-LABEL: func.func @an_unchanged_argument_stays
// CHECK-NOT: memref.copy
// CHECK: return
func.func @an_unchanged_argument_stays(%a: tensor<64xf32> {heddle.donate = 0 : i64}) -> tensor<64xf32> {
  return %a : tensor<64xf32>
}

// -----

// A result of its own takes the old value before it is overwritten.

// CHECK-LABEL: func.func @the_old_value_is_returned_too
// CHECK-SAME: heddle.alias = array<i64: 0, -1>
// CHECK: memref.copy
// CHECK-NEXT: heddle.launch
// CHECK-NOT: memref.copy
// CHECK: return
func.func @the_old_value_is_returned_too(%p: tensor<64xf32> {heddle.donate = 0 : i64}) -> (tensor<64xf32>, tensor<64xf32>) {
  %0 = arith.addf %p, %p : tensor<64xf32>
  return %0, %p : tensor<64xf32>, tensor<64xf32>
}
