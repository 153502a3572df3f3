// RUN: heddle-opt %s -split-input-file -verify-diagnostics

// One case per labelled constraint of the attributes and types.

// -----

// /*layout_c1*/
// expected-error @+1 {{expected the bases to reach every element of the 4x1 tile that they span, but some are held by no thread}}
#holes = #heddle_gpu.layout<register = [[2, 0]], lane = [[0, 0], [0, 0], [0, 0], [0, 0], [0, 0]], repeat = [1, 1]>

// -----

// /*layout_c1*/
// expected-error @+1 {{expected 2 coordinates per basis, one for each repeat, got 1 in a lane basis}}
#ragged = #heddle_gpu.layout<lane = [[1], [2], [4], [8], [16]], repeat = [1, 1]>

// -----

// /*layout_c1*/
// expected-error @+1 {{expected repeats from 1 to 1048576, got 0}}
#none = #heddle_gpu.layout<lane = [[1], [2], [4], [8], [16]], repeat = [0]>

// -----

// /*layout_c2*/
// expected-error @+1 {{expected five lane bases, for the 32 lanes of a warp, got 2}}
#lanes = #heddle_gpu.layout<lane = [[1], [2]], repeat = [1]>

// -----

#line = #heddle_gpu.layout<lane = [[1], [2], [4], [8], [16]], repeat = [3]>
// /*layout_c3*/
// expected-error @+1 {{expected a tensor of rank 1 for its layout, got rank 2}}
func.func private @rank(tensor<96x1xf32, #line>)

// -----

#line = #heddle_gpu.layout<lane = [[1], [2], [4], [8], [16]], repeat = [3]>
// /*layout_c4*/
// expected-error @+1 {{expected a tensor of shape 96, which its layout covers, got 64}}
func.func private @shape(tensor<64xf32, #line>)

// -----

#line = #heddle_gpu.layout<lane = [[1], [2], [4], [8], [16]], repeat = [3]>
// expected-error @+1 {{expected a tensor of shape 96, which its layout covers, got -9223372036854775808}}
func.func private @dynamic_shapes_have_no_layout(tensor<?xf32, #line>)

// -----

// /*shared_c1*/
// expected-error @+1 {{expected vector_bytes (at most 16), rows_per_phase and phases to be positive powers of two, got 16, 1 and 3}}
#phases = #heddle_gpu.shared<phases = 3>

// -----

// /*shared_c1*/
// expected-error @+1 {{expected vector_bytes (at most 16), rows_per_phase and phases to be positive powers of two, got 32, 1 and 2}}
#vector = #heddle_gpu.shared<vector_bytes = 32, phases = 2>

// -----

// /*shared_c1*/
// expected-error @+1 {{expected panel_bytes of at least 0, got -128}}
#panel = #heddle_gpu.shared<panel_bytes = -128>

// -----

// expected-error @+1 {{expected row_major, vector_bytes, rows_per_phase, phases or panel_bytes, got 'padding'}}
#field = #heddle_gpu.shared<padding = 8>

// -----

// /*smem_c1*/
// expected-error @+1 {{expected a static shape of rank 1 or 2 without a size of 0, got rank 3}}
func.func private @rank(!heddle_gpu.smem<2x4x8xf32, #heddle_gpu.shared<row_major>>)

// -----

// /*smem_c2*/
// expected-error @+1 {{expected integers or floats of 1, 2, 4 or 8 bytes, got 'i1'}}
func.func private @elements(!heddle_gpu.smem<64xi1, #heddle_gpu.shared<row_major>>)

// -----

// /*smem_c3*/
// expected-error @+1 {{expected phases that divides the chunks of a row, 160 bytes in chunks of 16, got 8}}
func.func private @swizzle(!heddle_gpu.smem<64x80xbf16, #heddle_gpu.shared<phases = 8>>)

// -----

// /*smem_c4*/
// expected-error @+1 {{expected at least one stage, got 0}}
func.func private @stages(!heddle_gpu.smem<64xf32, #heddle_gpu.shared<row_major>, stages = 0>)

// -----

// /*gpu_warps_c1*/
// expected-error @+1 {{expected heddle_gpu.warps to be a positive integer, got 0 : i64}}
func.func private @warps() attributes {heddle_gpu.warps = 0 : i64}

// -----

// expected-error @+1 {{expected no attribute of the heddle_gpu dialect but heddle_gpu.warps and heddle_gpu.shared_bytes, got "heddle_gpu.threads"}}
func.func private @unknown_attribute() attributes {heddle_gpu.threads = 128 : i64}

// -----

// /*gpu_shared_bytes_c1*/
// expected-error @+1 {{expected heddle_gpu.shared_bytes to be an integer that is not negative, got -16 : i64}}
func.func @shared_bytes_are_not_negative() attributes {heddle_gpu.shared_bytes = -16 : i64} {
  return
}
