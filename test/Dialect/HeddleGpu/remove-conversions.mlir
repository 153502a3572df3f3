// RUN: heddle-opt %s -heddle-gpu-remove-conversions -canonicalize | FileCheck %s

// #c is the accumulator of a product, #row suits wide accesses: between them data
// crosses warps. #swap has the registers of #row in another order.
#c = #heddle_gpu.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], repeat = [1, 8]>
#row = #heddle_gpu.layout<register = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]], repeat = [4, 1]>
#swap = #heddle_gpu.layout<register = [[16, 0], [32, 0], [0, 1], [0, 2], [0, 4]], lane = [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]], repeat = [1, 1]>
#crow = #heddle_gpu.layout<register = [[8]], lane = [[0], [0], [1], [2], [4]], warp = [[16], [32]], repeat = [1]>
#rowrow = #heddle_gpu.layout<lane = [[0], [0], [0], [1], [2]], warp = [[4], [8]], repeat = [4]>
!smem = !heddle_gpu.smem<64x64xf32, #heddle_gpu.shared<row_major>>

// CHECK-DAG: #[[$C:.+]] = #heddle_gpu.layout<register = {{\[}}[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane
// CHECK-DAG: #[[$ROW:.+]] = #heddle_gpu.layout<register = {{\[}}[0, 1], [0, 2], [0, 4], [16, 0], [32, 0]], lane
// CHECK-DAG: #[[$CROW:.+]] = #heddle_gpu.layout<register = {{\[}}[8]], lane
// CHECK-DAG: #[[$ROWROW:.+]] = #heddle_gpu.layout<register = {{\[}}[16], [32]], lane

// A mask is computed where it is used, whatever it is made of.
// CHECK-LABEL: @positions_cost_nothing
func.func @positions_cost_nothing(%q: i32, %s: f32) -> tensor<64x64xf32, #c> {
  // CHECK-NOT: convert_layout
  // CHECK: arith.select {{.*}} tensor<64x64xf32, #[[$C]]>
  // CHECK-NOT: convert_layout
  %i = heddle_gpu.iota axis 0 from %q : tensor<64x64xi32, #row>
  %j = heddle_gpu.iota axis 1 : tensor<64x64xi32, #row>
  %zero = arith.constant dense<0.0> : tensor<64x64xf32, #row>
  %x = tensor.splat %s : tensor<64x64xf32, #row>
  %m = arith.cmpi sge, %i, %j : tensor<64x64xi32, #row>
  %r = arith.select %m, %x, %zero : tensor<64x64xi1, #row>, tensor<64x64xf32, #row>
  %0 = heddle_gpu.convert_layout %r : tensor<64x64xf32, #row> -> tensor<64x64xf32, #c>
  return %0 : tensor<64x64xf32, #c>
}

// The rounded tile is half as wide.
// CHECK-LABEL: @down_past_a_rounding
func.func @down_past_a_rounding(%x: tensor<64x64xf32, #c>) -> tensor<64x64xbf16, #row> {
  // CHECK-NEXT: %[[T:.+]] = arith.truncf %arg0 : tensor<64x64xf32, #[[$C]]> to tensor<64x64xbf16, #[[$C]]>
  // CHECK-NEXT: %[[Y:.+]] = heddle_gpu.convert_layout %[[T]] : tensor<64x64xbf16, #[[$C]]> -> tensor<64x64xbf16, #[[$ROW]]>
  // CHECK-NEXT: return %[[Y]]
  %0 = heddle_gpu.convert_layout %x : tensor<64x64xf32, #c> -> tensor<64x64xf32, #row>
  %1 = arith.truncf %0 : tensor<64x64xf32, #row> to tensor<64x64xbf16, #row>
  return %1 : tensor<64x64xbf16, #row>
}

// CHECK-LABEL: @up_past_an_extension
func.func @up_past_an_extension(%x: tensor<64x64xbf16, #c>) -> tensor<64x64xf32, #row> {
  // CHECK-NEXT: %[[T:.+]] = heddle_gpu.convert_layout %arg0 : tensor<64x64xbf16, #[[$C]]> -> tensor<64x64xbf16, #[[$ROW]]>
  // CHECK-NEXT: %[[Y:.+]] = arith.extf %[[T]] : tensor<64x64xbf16, #[[$ROW]]> to tensor<64x64xf32, #[[$ROW]]>
  // CHECK-NEXT: return %[[Y]]
  %0 = arith.extf %x : tensor<64x64xbf16, #c> to tensor<64x64xf32, #c>
  %1 = heddle_gpu.convert_layout %0 : tensor<64x64xf32, #c> -> tensor<64x64xf32, #row>
  return %1 : tensor<64x64xf32, #row>
}

// CHECK-LABEL: @there_and_back_around_arithmetic
func.func @there_and_back_around_arithmetic(%x: tensor<64x64xf32, #c>) -> tensor<64x64xf32, #c> {
  // CHECK-NEXT: %[[E:.+]] = math.exp2 %arg0 : tensor<64x64xf32, #[[$C]]>
  // CHECK-NEXT: %[[N:.+]] = arith.negf %[[E]] : tensor<64x64xf32, #[[$C]]>
  // CHECK-NEXT: return %[[N]]
  %0 = heddle_gpu.convert_layout %x : tensor<64x64xf32, #c> -> tensor<64x64xf32, #row>
  %1 = math.exp2 %0 : tensor<64x64xf32, #row>
  %2 = arith.negf %1 : tensor<64x64xf32, #row>
  %3 = heddle_gpu.convert_layout %2 : tensor<64x64xf32, #row> -> tensor<64x64xf32, #c>
  return %3 : tensor<64x64xf32, #c>
}

// Two operands, one conversion.
// CHECK-LABEL: @sums_are_converted_once
func.func @sums_are_converted_once(%x: tensor<64x64xf32, #c>, %y: tensor<64x64xf32, #c>) -> tensor<64x64xf32, #row> {
  // CHECK-NEXT: %[[S:.+]] = arith.addf %arg0, %arg1 : tensor<64x64xf32, #[[$C]]>
  // CHECK-NEXT: heddle_gpu.convert_layout %[[S]]
  %0 = heddle_gpu.convert_layout %x : tensor<64x64xf32, #c> -> tensor<64x64xf32, #row>
  %1 = heddle_gpu.convert_layout %y : tensor<64x64xf32, #c> -> tensor<64x64xf32, #row>
  %2 = arith.addf %0, %1 : tensor<64x64xf32, #row>
  return %2 : tensor<64x64xf32, #row>
}

// Moving it up would make two of one.
// CHECK-LABEL: @conversions_do_not_multiply
func.func @conversions_do_not_multiply(%x: tensor<64x64xf32, #c>, %y: tensor<64x64xf32, #c>) -> tensor<64x64xf32, #row> {
  // CHECK-NEXT: arith.addf %arg0, %arg1 : tensor<64x64xf32, #[[$C]]>
  // CHECK-NEXT: heddle_gpu.convert_layout
  // CHECK-NEXT: return
  %0 = arith.addf %x, %y : tensor<64x64xf32, #c>
  %1 = heddle_gpu.convert_layout %0 : tensor<64x64xf32, #c> -> tensor<64x64xf32, #row>
  return %1 : tensor<64x64xf32, #row>
}

// CHECK-LABEL: @values_with_other_uses_are_not_computed_twice
func.func @values_with_other_uses_are_not_computed_twice(%x: tensor<64x64xbf16, #c>) -> (tensor<64x64xf32, #row>, tensor<64x64xf32, #c>) {
  // CHECK-NEXT: %[[E:.+]] = arith.extf
  // CHECK-NEXT: heddle_gpu.convert_layout %[[E]]
  // CHECK-NOT: arith.extf
  // CHECK: return
  %0 = arith.extf %x : tensor<64x64xbf16, #c> to tensor<64x64xf32, #c>
  %1 = heddle_gpu.convert_layout %0 : tensor<64x64xf32, #c> -> tensor<64x64xf32, #row>
  return %1, %0 : tensor<64x64xf32, #row>, tensor<64x64xf32, #c>
}

// A renaming of registers costs nothing and stays where it is.
// CHECK-LABEL: @free_conversions_stay
func.func @free_conversions_stay(%x: tensor<64x64xbf16, #row>) -> tensor<64x64xf32, #swap> {
  // CHECK-NEXT: arith.extf
  // CHECK-NEXT: heddle_gpu.convert_layout
  %0 = arith.extf %x : tensor<64x64xbf16, #row> to tensor<64x64xf32, #row>
  %1 = heddle_gpu.convert_layout %0 : tensor<64x64xf32, #row> -> tensor<64x64xf32, #swap>
  return %1 : tensor<64x64xf32, #swap>
}

// A row is converted in place of a tile.
// CHECK-LABEL: @rows_are_smaller_than_tiles
func.func @rows_are_smaller_than_tiles(%m: tensor<64xf32, #crow>, %x: tensor<64x64xf32, #c>) -> (tensor<64x64xf32, #row>, tensor<64xf32, #rowrow>) {
  // CHECK-DAG: %[[M:.+]] = heddle_gpu.convert_layout %arg0 : tensor<64xf32, #[[$CROW]]> -> tensor<64xf32, #[[$ROWROW]]>
  // CHECK-DAG: %[[B:.+]] = heddle_gpu.broadcast %[[M]] dims [1] : tensor<64xf32, #[[$ROWROW]]> -> tensor<64x64xf32, #[[$ROW]]>
  // CHECK-DAG: %[[R:.+]] = heddle_gpu.reduce add %arg1 axis 1 : tensor<64x64xf32, #[[$C]]>
  // CHECK-DAG: %[[S:.+]] = heddle_gpu.convert_layout %[[R]] : tensor<64xf32, #[[$CROW]]> -> tensor<64xf32, #[[$ROWROW]]>
  // CHECK: return %[[B]], %[[S]]
  %0 = heddle_gpu.broadcast %m dims [1] : tensor<64xf32, #crow> -> tensor<64x64xf32, #c>
  %1 = heddle_gpu.convert_layout %0 : tensor<64x64xf32, #c> -> tensor<64x64xf32, #row>
  %2 = heddle_gpu.convert_layout %x : tensor<64x64xf32, #c> -> tensor<64x64xf32, #row>
  %3 = heddle_gpu.reduce add %2 axis 1 : tensor<64x64xf32, #row>
  return %1, %3 : tensor<64x64xf32, #row>, tensor<64xf32, #rowrow>
}

// Shared memory is read in the wanted layout, at the place of the read; global
// memory is not.
// CHECK-LABEL: @reads_of_shared_memory_choose_their_layout
func.func @reads_of_shared_memory_choose_their_layout(%s: !smem, %m: memref<64x64xf32>) -> (tensor<64x64xf32, #c>, tensor<64x64xf32, #c>) {
  // CHECK: heddle_gpu.smem_load {{.*}} -> tensor<64x64xf32, #[[$C]]>
  // CHECK-NEXT: heddle_gpu.barrier
  // CHECK: heddle_gpu.load {{.*}} -> tensor<64x64xf32, #[[$ROW]]>
  // CHECK-NEXT: heddle_gpu.convert_layout
  // CHECK-NOT: heddle_gpu.convert_layout
  %c0 = arith.constant 0 : index
  %0 = heddle_gpu.smem_load %s : !smem -> tensor<64x64xf32, #row>
  heddle_gpu.barrier
  %1 = heddle_gpu.convert_layout %0 : tensor<64x64xf32, #row> -> tensor<64x64xf32, #c>
  %2 = heddle_gpu.load %m[%c0, %c0] dims [0, 1] : memref<64x64xf32> -> tensor<64x64xf32, #row>
  %3 = heddle_gpu.convert_layout %2 : tensor<64x64xf32, #row> -> tensor<64x64xf32, #c>
  return %1, %3 : tensor<64x64xf32, #c>, tensor<64x64xf32, #c>
}

// CHECK-LABEL: @loops_carry_the_layout_of_their_body
func.func @loops_carry_the_layout_of_their_body(%x: tensor<64x64xf32, #row>, %n: index) -> tensor<64x64xf32, #row> {
  // CHECK: %[[INIT:.+]] = heddle_gpu.convert_layout %arg0 : tensor<64x64xf32, #[[$ROW]]> -> tensor<64x64xf32, #[[$C]]>
  // CHECK: %[[F:.+]] = scf.for {{.*}} iter_args(%[[A:.+]] = %[[INIT]]) -> (tensor<64x64xf32, #[[$C]]>) {
  // CHECK-NEXT: %[[E:.+]] = heddle_gpu.scan add %[[A]]
  // CHECK-NEXT: scf.yield %[[E]]
  // CHECK: %[[Y:.+]] = heddle_gpu.convert_layout %[[F]] : tensor<64x64xf32, #[[$C]]> -> tensor<64x64xf32, #[[$ROW]]>
  // CHECK: return %[[Y]]
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %x) -> tensor<64x64xf32, #row> {
    %0 = heddle_gpu.convert_layout %acc : tensor<64x64xf32, #row> -> tensor<64x64xf32, #c>
    %1 = heddle_gpu.scan add %0 axis 1 : tensor<64x64xf32, #c>
    %2 = heddle_gpu.convert_layout %1 : tensor<64x64xf32, #c> -> tensor<64x64xf32, #row>
    scf.yield %2 : tensor<64x64xf32, #row>
  }
  return %y : tensor<64x64xf32, #row>
}

// One conversion before the loop is cheaper than one in each iteration.
// CHECK-LABEL: @conversions_do_not_enter_loops
func.func @conversions_do_not_enter_loops(%x: tensor<64x64xf32, #c>, %z: tensor<64x64xbf16, #row>, %n: index) -> tensor<64x64xbf16, #row> {
  // CHECK: heddle_gpu.convert_layout
  // CHECK: scf.for
  // CHECK-NOT: heddle_gpu.convert_layout
  // CHECK: return
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = heddle_gpu.convert_layout %x : tensor<64x64xf32, #c> -> tensor<64x64xf32, #row>
  %y = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %z) -> tensor<64x64xbf16, #row> {
    %1 = arith.truncf %0 : tensor<64x64xf32, #row> to tensor<64x64xbf16, #row>
    %2 = arith.addf %acc, %1 : tensor<64x64xbf16, #row>
    scf.yield %2 : tensor<64x64xbf16, #row>
  }
  return %y : tensor<64x64xbf16, #row>
}
