// RUN: heddle-opt %s -split-input-file -verify-diagnostics

// One case per labelled constraint of the ops on memory and of barriers.

#line = #heddle_gpu.layout<lane = [[1], [2], [4], [8], [16]], repeat = [3]>

// /*gpu_load_c1*/
func.func @load_has_a_layout(%m: memref<600xf32>, %i: index) {
  // expected-error @+1 {{expected a result with a layout (#heddle_gpu.layout), got 'tensor<96xf32>'}}
  %0 = heddle_gpu.load %m[%i] dims [0] : memref<600xf32> -> tensor<96xf32>
  return
}

// -----

#line = #heddle_gpu.layout<lane = [[1], [2], [4], [8], [16]], repeat = [3]>
// /*gpu_load_c2*/
func.func @load_keeps_the_element_type(%m: memref<600xf32>, %i: index) {
  // expected-error @+1 {{expected one element type, got 'f32' and 'bf16'}}
  %0 = heddle_gpu.load %m[%i] dims [0] : memref<600xf32> -> tensor<96xbf16, #line>
  return
}

// -----

#line = #heddle_gpu.layout<lane = [[1], [2], [4], [8], [16]], repeat = [3]>
// /*gpu_load_c3*/
func.func @load_has_an_offset_per_axis(%m: memref<4x600xf32>, %i: index) {
  // expected-error @+1 {{expected 2 offsets, one for each axis of 'memref<4x600xf32>', got 1}}
  %0 = heddle_gpu.load %m[%i] dims [1] : memref<4x600xf32> -> tensor<96xf32, #line>
  return
}

// -----

#line = #heddle_gpu.layout<lane = [[1], [2], [4], [8], [16]], repeat = [3]>
// /*gpu_load_c4*/
func.func @load_has_a_dim_per_axis_of_the_tile(%m: memref<4x600xf32>, %i: index) {
  // expected-error @+1 {{expected 1 dims, one for each axis of the tile, got 2}}
  %0 = heddle_gpu.load %m[%i, %i] dims [0, 1] : memref<4x600xf32> -> tensor<96xf32, #line>
  return
}

// -----

#line = #heddle_gpu.layout<lane = [[1], [2], [4], [8], [16]], repeat = [3]>
// /*gpu_load_c4*/
func.func @load_dims_are_axes(%m: memref<4x600xf32>, %i: index) {
  // expected-error @+1 {{expected distinct dims below 2, got [2]}}
  %0 = heddle_gpu.load %m[%i, %i] dims [2] : memref<4x600xf32> -> tensor<96xf32, #line>
  return
}

// -----

#line = #heddle_gpu.layout<lane = [[1], [2], [4], [8], [16]], repeat = [3]>
// /*gpu_load_c5*/
func.func @load_has_a_bound_per_axis_of_the_tile(%m: memref<4x600xf32>, %i: index) {
  // expected-error @+1 {{expected no bounds or 1, one for each axis of the tile, got 2}}
  %0 = heddle_gpu.load %m[%i, %i] dims [1] bounds [%i, %i] : memref<4x600xf32> -> tensor<96xf32, #line>
  return
}

// -----

// /*gpu_store_c1*/
func.func @store_has_a_layout(%t: tensor<96xf32>, %m: memref<600xf32>, %i: index) {
  // expected-error @+1 {{expected a tile with a layout (#heddle_gpu.layout), got 'tensor<96xf32>'}}
  heddle_gpu.store %t into %m[%i] dims [0] : tensor<96xf32> into memref<600xf32>
  return
}

// -----

#line = #heddle_gpu.layout<lane = [[1], [2], [4], [8], [16]], repeat = [3]>
// /*gpu_store_c2*/
func.func @store_keeps_the_element_type(%t: tensor<96xf32, #line>, %m: memref<600xbf16>, %i: index) {
  // expected-error @+1 {{expected one element type, got 'f32' and 'bf16'}}
  heddle_gpu.store %t into %m[%i] dims [0] : tensor<96xf32, #line> into memref<600xbf16>
  return
}

// -----

#line = #heddle_gpu.layout<lane = [[1], [2], [4], [8], [16]], repeat = [3]>
// /*gpu_store_c3*/
func.func @store_has_an_offset_per_axis(%t: tensor<96xf32, #line>, %m: memref<4x600xf32>, %i: index) {
  // expected-error @+1 {{expected 2 offsets, one for each axis of 'memref<4x600xf32>', got 1}}
  heddle_gpu.store %t into %m[%i] dims [1] : tensor<96xf32, #line> into memref<4x600xf32>
  return
}

// -----

#line = #heddle_gpu.layout<lane = [[1], [2], [4], [8], [16]], repeat = [3]>
// /*gpu_store_c4*/
func.func @store_dims_are_axes(%t: tensor<96xf32, #line>, %m: memref<4x600xf32>, %i: index) {
  // expected-error @+1 {{expected distinct dims below 2, got [-1]}}
  heddle_gpu.store %t into %m[%i, %i] dims [-1] : tensor<96xf32, #line> into memref<4x600xf32>
  return
}

// -----

#line = #heddle_gpu.layout<lane = [[1], [2], [4], [8], [16]], repeat = [3]>
// /*gpu_store_c5*/
func.func @store_has_a_bound_per_axis_of_the_tile(%t: tensor<96xf32, #line>, %m: memref<4x600xf32>, %i: index) {
  // expected-error @+1 {{expected no bounds or 1, one for each axis of the tile, got 2}}
  heddle_gpu.store %t into %m[%i, %i] dims [1] bounds [%i, %i] : tensor<96xf32, #line> into memref<4x600xf32>
  return
}

// -----

// /*gpu_table_entry_c1*/
func.func @tables_hold_addresses(%t: memref<4xi32>, %i: index) {
  // expected-error @+1 {{expected a table of addresses such as memref<8xi64>, got 'memref<4xi32>'}}
  %0 = heddle_gpu.table_entry %t[%i] : memref<4xi32> -> memref<?xf32>
  return
}

// -----

// /*gpu_table_entry_c2*/
func.func @entries_have_no_length_of_their_own(%t: memref<4xi64>, %i: index) {
  // expected-error @+1 {{expected a buffer such as memref<?xf32>, got 'memref<16xf32>'}}
  %0 = heddle_gpu.table_entry %t[%i] : memref<4xi64> -> memref<16xf32>
  return
}

// -----

// /*gpu_smem_alloc_c1*/
func.func @allocations_are_aligned() {
  // expected-error @+1 {{expected an offset that is a multiple of 16 bytes and not negative, got 8}}
  %0 = heddle_gpu.smem_alloc offset 8 : !heddle_gpu.smem<96xf32, #heddle_gpu.shared<row_major>>
  return
}

// -----

!smem = !heddle_gpu.smem<96xf32, #heddle_gpu.shared<row_major>>
// /*gpu_smem_load_c1*/
func.func @smem_load_has_a_layout(%s: !smem) {
  // expected-error @+1 {{expected a result with a layout (#heddle_gpu.layout), got 'tensor<96xf32>'}}
  %0 = heddle_gpu.smem_load %s : !smem -> tensor<96xf32>
  return
}

// -----

#line = #heddle_gpu.layout<lane = [[1], [2], [4], [8], [16]], repeat = [3]>
!smem = !heddle_gpu.smem<96xf32, #heddle_gpu.shared<row_major>>
// /*gpu_smem_load_c2*/
func.func @smem_load_keeps_the_element_type(%s: !smem) {
  // expected-error @+1 {{expected one element type, got 'f32' and 'i32'}}
  %0 = heddle_gpu.smem_load %s : !smem -> tensor<96xi32, #line>
  return
}

// -----

#line = #heddle_gpu.layout<lane = [[1], [2], [4], [8], [16]], repeat = [3]>
!smem = !heddle_gpu.smem<128xf32, #heddle_gpu.shared<row_major>>
// /*gpu_smem_load_c3*/
func.func @smem_load_stays_inside(%s: !smem) {
  // expected-error @+1 {{expected a tile inside '!heddle_gpu.smem<128xf32, #heddle_gpu.shared<row_major>>', got 'tensor<96xf32, #heddle_gpu.layout<lane = [[1], [2], [4], [8], [16]], repeat = [3]>>' at [33]}}
  %0 = heddle_gpu.smem_load %s at [33] : !smem -> tensor<96xf32, #line>
  return
}

// -----

#line = #heddle_gpu.layout<lane = [[1], [2], [4], [8], [16]], repeat = [3]>
!smem = !heddle_gpu.smem<96xf32, #heddle_gpu.shared<row_major>>
// /*gpu_smem_load_c4*/
func.func @smem_load_transposes_rank_2(%s: !smem) {
  // expected-error @+1 {{expected trans on tiles of rank 2, got rank 1}}
  %0 = heddle_gpu.smem_load %s trans : !smem -> tensor<96xf32, #line>
  return
}

// -----

#line = #heddle_gpu.layout<lane = [[1], [2], [4], [8], [16]], repeat = [3]>
!smem = !heddle_gpu.smem<96xf32, #heddle_gpu.shared<row_major>, stages = 2>
// /*gpu_smem_load_c5*/
func.func @smem_load_names_the_stage(%s: !smem) {
  // expected-error @+1 {{expected a stage index, %tile[%index], for 2 stages}}
  %0 = heddle_gpu.smem_load %s : !smem -> tensor<96xf32, #line>
  return
}

// -----

#line = #heddle_gpu.layout<lane = [[1], [2], [4], [8], [16]], repeat = [3]>
!smem = !heddle_gpu.smem<192xf32, #heddle_gpu.shared<row_major>>
// /*gpu_smem_load_c6*/
func.func @smem_load_shifts_by_powers_of_two(%s: !smem, %i: index) {
  // expected-error @+1 {{expected a tile whose side along the shift is a power of two, at 0 there, got side 96 at 0}}
  %0 = heddle_gpu.smem_load %s shift %i along 0 : !smem -> tensor<96xf32, #line>
  return
}

// -----

#line = #heddle_gpu.layout<lane = [[1], [2], [4], [8], [16]], repeat = [1]>
!smem = !heddle_gpu.smem<192xf32, #heddle_gpu.shared<row_major>>
// /*gpu_smem_load_c6*/
func.func @smem_load_shifts_along_its_axes(%s: !smem, %i: index) {
  // expected-error @+1 {{expected a shift along an axis from 0 to 0}}
  %0 = heddle_gpu.smem_load %s shift %i along 1 : !smem -> tensor<32xf32, #line>
  return
}

// -----

!smem = !heddle_gpu.smem<96xf32, #heddle_gpu.shared<row_major>>
// /*gpu_smem_store_c1*/
func.func @smem_store_has_a_layout(%t: tensor<96xf32>, %s: !smem) {
  // expected-error @+1 {{expected a tile with a layout (#heddle_gpu.layout), got 'tensor<96xf32>'}}
  heddle_gpu.smem_store %t, %s : tensor<96xf32>, !smem
  return
}

// -----

#line = #heddle_gpu.layout<lane = [[1], [2], [4], [8], [16]], repeat = [3]>
!smem = !heddle_gpu.smem<96xf32, #heddle_gpu.shared<row_major>>
// /*gpu_smem_store_c2*/
func.func @smem_store_keeps_the_element_type(%t: tensor<96xi32, #line>, %s: !smem) {
  // expected-error @+1 {{expected one element type, got 'i32' and 'f32'}}
  heddle_gpu.smem_store %t, %s : tensor<96xi32, #line>, !smem
  return
}

// -----

#row = #heddle_gpu.layout<register = [[0, 1]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], repeat = [1, 3]>
!smem = !heddle_gpu.smem<8x24xf32, #heddle_gpu.shared<row_major>>
// /*gpu_smem_store_c3*/
func.func @smem_store_stays_inside(%t: tensor<8x24xf32, #row>, %s: !smem) {
  // expected-error @+1 {{, transposed, at [0, 0]}}
  heddle_gpu.smem_store %t, %s trans : tensor<8x24xf32, #row>, !smem
  return
}

// -----

#line = #heddle_gpu.layout<lane = [[1], [2], [4], [8], [16]], repeat = [3]>
!smem = !heddle_gpu.smem<96xf32, #heddle_gpu.shared<row_major>>
// /*gpu_smem_store_c4*/
func.func @smem_store_transposes_rank_2(%t: tensor<96xf32, #line>, %s: !smem) {
  // expected-error @+1 {{expected trans on tiles of rank 2, got rank 1}}
  heddle_gpu.smem_store %t, %s trans : tensor<96xf32, #line>, !smem
  return
}

// -----

#line = #heddle_gpu.layout<lane = [[1], [2], [4], [8], [16]], repeat = [3]>
!smem = !heddle_gpu.smem<96xf32, #heddle_gpu.shared<row_major>, stages = 2>
// /*gpu_smem_store_c5*/
func.func @smem_store_names_the_stage(%t: tensor<96xf32, #line>, %s: !smem) {
  // expected-error @+1 {{expected a stage index, %tile[%index], for 2 stages}}
  heddle_gpu.smem_store %t, %s : tensor<96xf32, #line>, !smem
  return
}

// -----

!smem = !heddle_gpu.smem<96xf32, #heddle_gpu.shared<row_major>>
// /*gpu_async_copy_c1*/
func.func @async_copy_keeps_the_element_type(%m: memref<600xbf16>, %i: index, %s: !smem) {
  // expected-error @+1 {{expected one element type, got 'bf16' and 'f32'}}
  heddle_gpu.async_copy %m[%i] dims [0] into %s : memref<600xbf16> into !smem
  return
}

// -----

!smem = !heddle_gpu.smem<96xf32, #heddle_gpu.shared<row_major>>
// /*gpu_async_copy_c2*/
func.func @async_copy_has_an_offset_per_axis(%m: memref<600xf32>, %i: index, %s: !smem) {
  // expected-error @+1 {{expected 1 offsets, one for each axis of 'memref<600xf32>', got 2}}
  heddle_gpu.async_copy %m[%i, %i] dims [0] into %s : memref<600xf32> into !smem
  return
}

// -----

!smem = !heddle_gpu.smem<8x96xf32, #heddle_gpu.shared<row_major>>
// /*gpu_async_copy_c3*/
func.func @async_copy_dims_are_distinct(%m: memref<600x96xf32>, %i: index, %s: !smem) {
  // expected-error @+1 {{expected distinct dims below 2, got [1, 1]}}
  heddle_gpu.async_copy %m[%i, %i] dims [1, 1] into %s : memref<600x96xf32> into !smem
  return
}

// -----

!smem = !heddle_gpu.smem<8x96xf32, #heddle_gpu.shared<row_major>>
// /*gpu_async_copy_c4*/
func.func @async_copy_has_a_bound_per_axis(%m: memref<600x96xf32>, %i: index, %s: !smem) {
  // expected-error @+1 {{expected no bounds or 2, one for each axis of the tile, got 1}}
  heddle_gpu.async_copy %m[%i, %i] dims [0, 1] bounds [%i] into %s : memref<600x96xf32> into !smem
  return
}

// -----

!smem = !heddle_gpu.smem<96xf32, #heddle_gpu.shared<row_major>, stages = 4>
// /*gpu_async_copy_c5*/
func.func @async_copy_names_the_stage(%m: memref<600xf32>, %i: index, %s: !smem) {
  // expected-error @+1 {{expected a stage index, %tile[%index], for 4 stages}}
  heddle_gpu.async_copy %m[%i] dims [0] into %s : memref<600xf32> into !smem
  return
}

// -----

// /*gpu_async_wait_c1*/
func.func @pending_is_not_negative() {
  // expected-error @+1 {{expected at least 0 pending, got -1}}
  heddle_gpu.async_wait -1
  return
}

// -----

// /*gpu_barrier_c1*/
func.func @barrier_0_is_the_blocks() {
  // expected-error @+1 {{expected an id from 1 to 15, got 0}}
  heddle_gpu.barrier id 0 warps 4
  return
}

// -----

// /*gpu_barrier_c2*/
func.func @named_barriers_count_warps() {
  // expected-error @+1 {{expected id and warps together}}
  heddle_gpu.barrier id 1
  return
}

// -----

// /*gpu_barrier_c2*/
func.func @a_block_has_32_warps_at_most() {
  // expected-error @+1 {{expected from 1 to 32 warps, got 33}}
  heddle_gpu.barrier id 1 warps 33
  return
}

// -----

// /*gpu_barrier_c3*/
func.func @who_arrives_names_the_barrier() {
  // expected-error @+1 {{expected an id where warps arrive without waiting}}
  heddle_gpu.barrier arrive
  return
}

// -----

// /*gpu_warp_role_c1*/
func.func @roles_are_powers_of_two() {
  // expected-error @+1 {{expected a power of two of warps below 32, got 3 from 0}}
  heddle_gpu.warp_role "three" first 0 warps 3 {
  }
  return
}

// -----

// /*gpu_warp_role_c1*/
func.func @roles_are_warps_of_the_block() {
  // expected-error @+1 {{expected a power of two of warps below 32, got 8 from 28}}
  heddle_gpu.warp_role "late" first 28 warps 8 {
  }
  return
}

// -----

// /*gpu_warp_role_c2*/
func.func @registers_come_in_eights() {
  // expected-error @+1 {{expected registers to be a multiple of 8 from 24 to 256, got 20}}
  heddle_gpu.warp_role "few" first 0 warps 4 registers 20 {
  }
  return
}

// -----

#line = #heddle_gpu.layout<lane = [[1], [2], [4], [8], [16]], repeat = [3]>
// /*gpu_warp_role_c3*/
// expected-note @+1 {{the tile is defined here}}
func.func @tiles_stay_outside(%t: tensor<96xf32, #line>, %m: memref<600xf32>, %i: index) {
  heddle_gpu.warp_role "consumer" first 0 warps 1 {
    // expected-error @+1 {{expected no tile from outside in the body of a warp role; pass it through shared memory}}
    heddle_gpu.store %t into %m[%i] dims [0] : tensor<96xf32, #line> into memref<600xf32>
  }
  return
}

// -----

!smem = !heddle_gpu.smem<96xi32, #heddle_gpu.shared<row_major>>
// /*gpu_any_not_finite_c1*/
func.func @any_not_finite_looks_at_floats(%s: !smem) {
  // expected-error @+1 {{expected floats of 2 or 4 bytes, got 'i32'}}
  %0 = heddle_gpu.any_not_finite %s : !smem
  return
}

// -----

!smem = !heddle_gpu.smem<96xf32, #heddle_gpu.shared<row_major>, stages = 2>
// /*gpu_any_not_finite_c2*/
func.func @any_not_finite_names_the_stage(%s: !smem) {
  // expected-error @+1 {{expected a stage index, %tile[%index], for 2 stages}}
  %0 = heddle_gpu.any_not_finite %s : !smem
  return
}
