// RUN: heddle-opt %s -split-input-file -heddle-fuse-kernels -heddle-plan-memory -cse -heddle-verify-kernels | FileCheck %s

// The result's memory holds the values that the last kernel writes over: no
// arena is needed for a chain.

// CHECK-LABEL: func.func @chain_lives_in_the_result
// CHECK-SAME: memref<16384xi8>
// CHECK-SAME: memref<0xi8>
// CHECK-SAME: heddle.arena_bytes = 0
// CHECK-DAG: %[[X:.*]] = memref.view %arg0
// CHECK-DAG: %[[R:.*]] = memref.view %arg2
// CHECK: heddle.launch @[[K:.*]](%[[X]], %{{.*}}, %[[R]])
// CHECK: heddle.launch @[[K]](%[[R]], %{{.*}}, %[[R]])
// CHECK-LABEL: func.func private @
// CHECK: bufferization.to_tensor %arg0
// CHECK: bufferization.materialize_in_destination %{{.*}} in restrict writable %arg2
func.func @chain_lives_in_the_result(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x64xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<64x64xf32>) -> tensor<64x64xf32>
  %0 = linalg.matmul ins(%x, %w : tensor<64x64xf32>, tensor<64x64xf32>) outs(%f : tensor<64x64xf32>) -> tensor<64x64xf32>
  %c = tensor.cast %0 : tensor<64x64xf32> to tensor<64x64xf32>
  %1 = linalg.matmul ins(%c, %w : tensor<64x64xf32>, tensor<64x64xf32>) outs(%f : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %1 : tensor<64x64xf32>
}

// -----

// A value that is read again later keeps its own place in the arena.

// CHECK-LABEL: func.func @value_read_later_is_not_overwritten
// CHECK-SAME: heddle.arena_bytes = 1024
// CHECK-SAME: heddle.work_bytes = 1024
func.func @value_read_later_is_not_overwritten(%x: tensor<16x16xf32>, %w: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16x16xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<16x16xf32>) -> tensor<16x16xf32>
  %0 = linalg.matmul ins(%x, %w : tensor<16x16xf32>, tensor<16x16xf32>) outs(%f : tensor<16x16xf32>) -> tensor<16x16xf32>
  %1 = linalg.matmul ins(%w, %0 : tensor<16x16xf32>, tensor<16x16xf32>) outs(%f : tensor<16x16xf32>) -> tensor<16x16xf32>
  return %1 : tensor<16x16xf32>
}

// -----

// An argument that is returned, and a value returned twice, are copied.

// CHECK-LABEL: func.func @returned_argument_is_copied
// CHECK: memref.copy
func.func @returned_argument_is_copied(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// Constants that are no splat lie in the constant section.

// CHECK-LABEL: func.func @constants_have_bytes
// CHECK-SAME: heddle.constant_offsets = array<i64: 0>
func.func @constants_have_bytes() -> tensor<2xf32> {
  %c = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
  return %c : tensor<2xf32>
}

// -----

// A temporary lies in a result that is written later: no arena, but work.

// CHECK-LABEL: func.func @temporary_borrows_an_unwritten_result
// CHECK-SAME: heddle.arena_bytes = 0
// CHECK-SAME: heddle.work_bytes = 1024
func.func @temporary_borrows_an_unwritten_result(%x: tensor<16x16xf32>, %w: tensor<16x16xf32>) -> (tensor<16x16xf32>, tensor<16x16xf32>) {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16x16xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<16x16xf32>) -> tensor<16x16xf32>
  %0 = linalg.matmul ins(%x, %w : tensor<16x16xf32>, tensor<16x16xf32>) outs(%f : tensor<16x16xf32>) -> tensor<16x16xf32>
  %1 = linalg.matmul ins(%w, %0 : tensor<16x16xf32>, tensor<16x16xf32>) outs(%f : tensor<16x16xf32>) -> tensor<16x16xf32>
  %2 = linalg.matmul ins(%w, %1 : tensor<16x16xf32>, tensor<16x16xf32>) outs(%f : tensor<16x16xf32>) -> tensor<16x16xf32>
  return %1, %2 : tensor<16x16xf32>, tensor<16x16xf32>
}

// -----

// An update in place: the result takes the donated argument's memory and the
// kernel writes over it.

// CHECK-LABEL: func.func @update_writes_over_the_donated_parameter
// CHECK-SAME: heddle.aliases = array<i64: 0>
// CHECK-SAME: heddle.donated_arguments = array<i1: true, false>
// CHECK-DAG: %[[P:.*]] = memref.view %arg0
// CHECK-DAG: %[[G:.*]] = memref.view %arg1
// CHECK: heddle.launch @{{.*}}(%[[P]], %[[G]], %[[P]])
// CHECK-NEXT: return
func.func @update_writes_over_the_donated_parameter(%p: tensor<16x16xf32> {heddle.donated}, %g: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %0 = arith.subf %p, %g : tensor<16x16xf32>
  %e = tensor.empty() : tensor<16x16xf32>
  %1 = linalg.sub ins(%p, %g : tensor<16x16xf32>, tensor<16x16xf32>) outs(%e : tensor<16x16xf32>) -> tensor<16x16xf32>
  return %1 : tensor<16x16xf32>
}

// -----

// Results that come in another order than the donated arguments stay where they
// are: each takes the memory of the argument that it is.

// CHECK-LABEL: func.func @swapped_arguments_need_no_copy
// CHECK-SAME: heddle.aliases = array<i64: 1, 0>
// CHECK-NOT: memref.copy
// CHECK: return
func.func @swapped_arguments_need_no_copy(%a: tensor<4xf32> {heddle.donated}, %b: tensor<4xf32> {heddle.donated}) -> (tensor<4xf32>, tensor<4xf32>) {
  return %b, %a : tensor<4xf32>, tensor<4xf32>
}

// -----

// The argument is read by the launch that makes the result and cannot be
// written over there: the value is copied at the end.

// CHECK-LABEL: func.func @donated_operand_of_a_product_is_copied_to_at_the_end
// CHECK-SAME: heddle.aliases = array<i64: 0>
// CHECK-SAME: heddle.arena_bytes = 1024
// CHECK: %[[P:.*]] = memref.view %arg0
// CHECK: %[[NEW:.*]] = memref.view %arg2
// CHECK: heddle.launch @{{.*}}(%[[P]], %[[NEW]])
// CHECK: memref.copy %[[NEW]], %[[P]]
func.func @donated_operand_of_a_product_is_copied_to_at_the_end(%p: tensor<16x16xf32> {heddle.donated}) -> tensor<16x16xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16x16xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<16x16xf32>) -> tensor<16x16xf32>
  %0 = linalg.matmul ins(%p, %p : tensor<16x16xf32>, tensor<16x16xf32>) outs(%f : tensor<16x16xf32>) -> tensor<16x16xf32>
  return %0 : tensor<16x16xf32>
}

// -----

// A donated argument that is returned twice: the second result is a copy.

// CHECK-LABEL: func.func @donated_argument_returned_twice
// CHECK-SAME: heddle.aliases = array<i64: 0, -1>
// CHECK: memref.copy
func.func @donated_argument_returned_twice(%a: tensor<4xf32> {heddle.donated}) -> (tensor<4xf32>, tensor<4xf32>) {
  return %a, %a : tensor<4xf32>, tensor<4xf32>
}
