// RUN: heddle-opt %s -split-input-file -verify-diagnostics

// One case per labelled constraint of products, reductions, scans and layouts.

#a = #heddle_gpu.layout<register = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], repeat = [1, 1]>
#b = #heddle_gpu.layout<register = [[1, 0], [8, 0]], lane = [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]], repeat = [1, 1]>
#c = #heddle_gpu.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], repeat = [1, 1]>
// /*gpu_dot_c1*/
func.func @dot_takes_tiles(%a: tensor<16x16xbf16, #a>, %b: tensor<16x8xbf16>, %c: tensor<16x8xf32, #c>) {
  // expected-error @+1 {{expected b with a layout (#heddle_gpu.layout), got 'tensor<16x8xbf16>'}}
  %0 = heddle_gpu.dot mma %a, %b, %c : tensor<16x16xbf16, #a>, tensor<16x8xbf16>, tensor<16x8xf32, #c>
  return
}

// -----

#a = #heddle_gpu.layout<register = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], repeat = [1, 1]>
#c = #heddle_gpu.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], repeat = [1, 1]>
// /*gpu_dot_c2*/
func.func @dot_shapes_agree(%a: tensor<16x16xbf16, #a>, %c: tensor<16x8xf32, #c>) {
  // expected-error @+1 {{expected shapes m x k, k x n and m x n, got [16, 16], [16, 16] and [16, 8]}}
  %0 = heddle_gpu.dot mma %a, %a, %c : tensor<16x16xbf16, #a>, tensor<16x16xbf16, #a>, tensor<16x8xf32, #c>
  return
}

// -----

#a = #heddle_gpu.layout<register = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], repeat = [1, 1]>
#b = #heddle_gpu.layout<register = [[1, 0], [8, 0]], lane = [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]], repeat = [1, 1]>
#c = #heddle_gpu.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], repeat = [1, 1]>
// /*gpu_dot_c3*/
func.func @dot_types_are_those_of_the_kind(%a: tensor<16x16xbf16, #a>, %b: tensor<16x8xbf16, #b>, %c: tensor<16x8xf32, #c>) {
  // expected-error @+1 {{expected f32 operands of one type and an f32 accumulator for mma_tf32, got 'bf16', 'bf16' and 'f32'}}
  %0 = heddle_gpu.dot mma_tf32 %a, %b, %c : tensor<16x16xbf16, #a>, tensor<16x8xbf16, #b>, tensor<16x8xf32, #c>
  return
}

// -----

#a = #heddle_gpu.layout<register = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], repeat = [1, 1]>
#c = #heddle_gpu.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], repeat = [1, 1]>
// /*gpu_dot_c4*/
func.func @dot_layouts_are_those_of_the_instruction(%a: tensor<16x16xbf16, #a>, %b: tensor<16x8xbf16, #c>, %c: tensor<16x8xf32, #c>) {
  // expected-error @+1 {{expected the lanes of B to be those of the mma fragment}}
  %0 = heddle_gpu.dot mma %a, %b, %c : tensor<16x16xbf16, #a>, tensor<16x8xbf16, #c>, tensor<16x8xf32, #c>
  return
}

// -----

#w = #heddle_gpu.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], repeat = [1, 8]>
!smem = !heddle_gpu.smem<64x64xbf16, #heddle_gpu.shared<row_major>>
// /*gpu_dot_async_c1*/
func.func @dot_async_accumulates_in_a_tile(%s: !smem, %c: tensor<64x64xf32>) {
  // expected-error @+1 {{expected an accumulator with a layout (#heddle_gpu.layout), got 'tensor<64x64xf32>'}}
  %0 = heddle_gpu.dot_async %s, %s, %c : !smem, !smem, tensor<64x64xf32>
  return
}

// -----

#w = #heddle_gpu.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], repeat = [1, 8]>
!a = !heddle_gpu.smem<64x32xbf16, #heddle_gpu.shared<row_major>>
!b = !heddle_gpu.smem<64x32xbf16, #heddle_gpu.shared<row_major>>
// /*gpu_dot_async_c2*/
func.func @dot_async_shapes_agree(%a: !a, %b: !b, %c: tensor<64x64xf32, #w>) {
  // expected-error @+1 {{expected shapes m x k, k x n and m x n, got [64, 32], [64, 32] and [64, 64]}}
  %0 = heddle_gpu.dot_async %a, %b, %c : !a, !b, tensor<64x64xf32, #w>
  return
}

// -----

#w = #heddle_gpu.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], repeat = [1, 8]>
!a = !heddle_gpu.smem<64x64xbf16, #heddle_gpu.shared<row_major>>
!b = !heddle_gpu.smem<64x64xf16, #heddle_gpu.shared<row_major>>
// /*gpu_dot_async_c3*/
func.func @dot_async_operands_have_one_type(%a: !a, %b: !b, %c: tensor<64x64xf32, #w>) {
  // expected-error @+1 {{expected bf16, f16 or f32 operands of one type and an f32 accumulator, got 'bf16', 'f16' and 'f32'}}
  %0 = heddle_gpu.dot_async %a, %b, %c : !a, !b, tensor<64x64xf32, #w>
  return
}

// -----

#two = #heddle_gpu.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [0, 8]], repeat = [2, 4]>
!smem = !heddle_gpu.smem<64x64xbf16, #heddle_gpu.shared<row_major>>
// /*gpu_dot_async_c4*/
func.func @dot_async_splits_rows_between_four_warps(%s: !smem, %c: tensor<64x64xf32, #two>) {
  // expected-error @+1 {{expected the layouts of an mma product with four warps of each warpgroup along m}}
  %0 = heddle_gpu.dot_async %s, %s, %c : !smem, !smem, tensor<64x64xf32, #two>
  return
}

// -----

#w = #heddle_gpu.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], repeat = [1, 8]>
!smem = !heddle_gpu.smem<64x64xbf16, #heddle_gpu.shared<row_major>, stages = 2>
// /*gpu_dot_async_c5*/
func.func @dot_async_names_the_stage(%s: !smem, %i: index, %c: tensor<64x64xf32, #w>) {
  // expected-error @+1 {{expected a stage index, %tile[%index], for operands of several stages}}
  %0 = heddle_gpu.dot_async %s[%i], %s, %c : !smem, !smem, tensor<64x64xf32, #w>
  return
}

// -----

#w = #heddle_gpu.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], repeat = [1, 8]>
!smem = !heddle_gpu.smem<64x64xbf16, #heddle_gpu.shared<row_major>>
// /*gpu_dot_async_c6*/
func.func @dot_async_is_waited_for(%s: !smem, %c: tensor<64x64xf32, #w>) {
  // expected-error @+1 {{expected a result that is used by dot_wait or as an accumulator of dot_async only}}
  %0 = heddle_gpu.dot_async %s, %s, %c : !smem, !smem, tensor<64x64xf32, #w>
  // expected-note @+1 {{it is used here}}
  %1 = arith.addf %0, %c : tensor<64x64xf32, #w>
  return
}

// -----

#w = #heddle_gpu.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], repeat = [1, 8]>
!smem = !heddle_gpu.smem<64x64xf32, #heddle_gpu.shared<row_major>>
// /*gpu_dot_async_c7*/
func.func @tf32_is_not_transposed(%s: !smem, %c: tensor<64x64xf32, #w>) {
  // expected-error @+1 {{expected f32 operands along k in shared memory: trans_b and no trans_a}}
  %0 = heddle_gpu.dot_async %s, %s, %c : !smem, !smem, tensor<64x64xf32, #w>
  return
}

// -----

#w = #heddle_gpu.layout<lane = [[1], [2], [4], [8], [16]], repeat = [3]>
// /*gpu_dot_wait_c1*/
func.func @dot_wait_counts(%c: tensor<96xf32, #w>) {
  // expected-error @+1 {{expected at least 0 pending, got -2}}
  %0 = heddle_gpu.dot_wait -2, %c : tensor<96xf32, #w>
  return
}

// -----

// /*gpu_reduce_c1*/
func.func @reduce_takes_tiles(%x: tensor<96xf32>) {
  // expected-error @+1 {{expected inputs with one layout, got 'tensor<96xf32>'}}
  %0 = heddle_gpu.reduce add %x axis 0 : tensor<96xf32>
  return
}

// -----

#line = #heddle_gpu.layout<lane = [[1], [2], [4], [8], [16]], repeat = [3]>
// /*gpu_reduce_c2*/
func.func @reduce_along_an_axis(%x: tensor<96xf32, #line>) {
  // expected-error @+1 {{expected an axis below 1, got 1}}
  %0 = heddle_gpu.reduce add %x axis 1 : tensor<96xf32, #line>
  return
}

// -----

#line = #heddle_gpu.layout<lane = [[1], [2], [4], [8], [16]], repeat = [3]>
// /*gpu_reduce_c3*/
func.func @reduce_has_a_kind_or_a_region(%x: tensor<96xf32, #line>) {
  // expected-error @+1 {{expected either a kind, for one input, or a combine region}}
  %0 = heddle_gpu.reduce %x axis 0 : tensor<96xf32, #line>
  return
}

// -----

#line = #heddle_gpu.layout<lane = [[1], [2], [4], [8], [16]], repeat = [3]>
// /*gpu_reduce_c4*/
func.func @reduce_combines_two_scalars_per_input(%x: tensor<96xf32, #line>) {
  // expected-error @+1 {{expected a combine region of one block with arguments ('f32', 'f32')}}
  %0 = heddle_gpu.reduce %x axis 0 {
  ^bb0(%a: f32):
    heddle_gpu.yield %a : f32
  } : tensor<96xf32, #line>
  return
}

// -----

#line = #heddle_gpu.layout<lane = [[1], [2], [4], [8], [16]], repeat = [3]>
// /*gpu_reduce_c4*/
func.func @reduce_yields_one_scalar_per_input(%x: tensor<96xf32, #line>) {
  // expected-error @+1 {{expected the combine region to yield ('f32')}}
  %0 = heddle_gpu.reduce %x axis 0 {
  ^bb0(%a: f32, %b: f32):
    heddle_gpu.yield
  } : tensor<96xf32, #line>
  return
}

// -----

#copies = #heddle_gpu.layout<register = [[1]], lane = [[1], [2], [4], [8], [16]], repeat = [3]>
// /*gpu_reduce_c5*/
func.func @partial_reduce_counts_no_element_twice(%x: tensor<96xf32, #copies>) {
  // expected-error @+1 {{expected threads that each have elements of their own along axis 0 of a partial reduction, got}}
  %0 = heddle_gpu.reduce add %x axis 0 partial : tensor<96xf32, #copies>
  return
}

// -----

#line = #heddle_gpu.layout<lane = [[1], [2], [4], [8], [16]], repeat = [3]>
#other = #heddle_gpu.layout<lane = [[2], [1], [4], [8], [16]], repeat = [3]>
// /*gpu_scan_c1*/
func.func @scan_inputs_share_a_layout(%x: tensor<96xf32, #line>, %y: tensor<96xf32, #other>) {
  // expected-error @+1 {{expected inputs with one layout, got}}
  %0:2 = heddle_gpu.scan %x, %y axis 0 : tensor<96xf32, #line>, tensor<96xf32, #other>
  return
}

// -----

#line = #heddle_gpu.layout<lane = [[1], [2], [4], [8], [16]], repeat = [3]>
// /*gpu_scan_c2*/
func.func @scan_along_an_axis(%x: tensor<96xf32, #line>) {
  // expected-error @+1 {{expected an axis below 1, got -1}}
  %0 = heddle_gpu.scan add %x axis -1 : tensor<96xf32, #line>
  return
}

// -----

#line = #heddle_gpu.layout<lane = [[1], [2], [4], [8], [16]], repeat = [3]>
// /*gpu_scan_c3*/
func.func @scan_with_a_kind_has_one_input(%x: tensor<96xf32, #line>) {
  // expected-error @+1 {{expected either a kind, for one input, or a combine region}}
  %0:2 = heddle_gpu.scan add %x, %x axis 0 : tensor<96xf32, #line>, tensor<96xf32, #line>
  return
}

// -----

#line = #heddle_gpu.layout<lane = [[1], [2], [4], [8], [16]], repeat = [3]>
// /*gpu_scan_c4*/
func.func @scan_combines_scalars_of_its_inputs(%x: tensor<96xf32, #line>) {
  // expected-error @+1 {{expected a combine region of one block with arguments ('f32', 'f32')}}
  %0 = heddle_gpu.scan %x axis 0 {
  ^bb0(%a: i32, %b: i32):
    heddle_gpu.yield %a : i32
  } : tensor<96xf32, #line>
  return
}

// -----

#c = #heddle_gpu.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], repeat = [1, 1]>
// /*gpu_broadcast_c1*/
func.func @broadcast_takes_tiles(%x: tensor<16xf32>) {
  // expected-error @+1 {{expected an input with a layout (#heddle_gpu.layout), got 'tensor<16xf32>'}}
  %0 = heddle_gpu.broadcast %x dims [1] : tensor<16xf32> -> tensor<16x8xf32, #c>
  return
}

// -----

#c = #heddle_gpu.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], repeat = [1, 1]>
#r = #heddle_gpu.layout<register = [[8]], lane = [[0], [0], [1], [2], [4]], repeat = [1]>
// /*gpu_broadcast_c2*/
func.func @broadcast_adds_dims(%x: tensor<16xf32, #r>) {
  // expected-error @+1 {{expected distinct, ascending dims of the result whose removal leaves the shape of the input, got [0]}}
  %0 = heddle_gpu.broadcast %x dims [0] : tensor<16xf32, #r> -> tensor<16x8xf32, #c>
  return
}

// -----

#c = #heddle_gpu.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], repeat = [1, 1]>
#line = #heddle_gpu.layout<lane = [[1], [2], [4], [8], [0]], repeat = [1]>
// /*gpu_broadcast_c3*/
func.func @broadcast_moves_nothing(%x: tensor<16xf32, #line>) {
  // expected-error @+1 {{expected an input with the layout of the result without dims, #heddle_gpu.layout<register = [[8]], lane = [[0], [0], [1], [2], [4]], repeat = [1]>, so that no data moves}}
  %0 = heddle_gpu.broadcast %x dims [1] : tensor<16xf32, #line> -> tensor<16x8xf32, #c>
  return
}

// -----

// /*gpu_trans_c1*/
func.func @trans_takes_tiles(%x: tensor<16x8xf32>) {
  // expected-error @+1 {{expected an input with a layout, got 'tensor<16x8xf32>'}}
  %0 = heddle_gpu.trans %x [1, 0] : tensor<16x8xf32>
  return
}

// -----

#c = #heddle_gpu.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], repeat = [1, 1]>
// /*gpu_trans_c2*/
func.func @trans_permutes(%x: tensor<16x8xf32, #c>) {
  // expected-error @+1 {{expected a permutation of 2 axes}}
  %0 = heddle_gpu.trans %x [1, 1] : tensor<16x8xf32, #c>
  return
}

// -----

#c = #heddle_gpu.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], repeat = [1, 1]>
// /*gpu_convert_layout_c1*/
func.func @convert_gives_a_tile(%x: tensor<16x8xf32, #c>) {
  // expected-error @+1 {{expected a result with a layout (#heddle_gpu.layout), got 'tensor<16x8xf32>'}}
  %0 = heddle_gpu.convert_layout %x : tensor<16x8xf32, #c> -> tensor<16x8xf32>
  return
}

// -----

#c = #heddle_gpu.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], repeat = [1, 1]>
// /*gpu_convert_layout_c2*/
func.func @convert_changes_the_layout_only(%x: tensor<16x8xf32, #c>) {
  // expected-error @+1 {{expected a result that differs in layout only, got}}
  %0 = heddle_gpu.convert_layout %x : tensor<16x8xf32, #c> -> tensor<16x8xbf16, #c>
  return
}

// -----

#one = #heddle_gpu.layout<lane = [[1], [2], [4], [8], [16]], repeat = [2]>
#two = #heddle_gpu.layout<lane = [[1], [2], [4], [8], [16]], warp = [[32]], repeat = [1]>
// /*gpu_convert_layout_c3*/
func.func @convert_keeps_the_warps(%x: tensor<64xf32, #one>) {
  // expected-error @+1 {{expected layouts with equal numbers of warps, got 1 and 2}}
  %0 = heddle_gpu.convert_layout %x : tensor<64xf32, #one> -> tensor<64xf32, #two>
  return
}

// -----

// /*gpu_iota_c1*/
func.func @iota_has_a_layout() {
  // expected-error @+1 {{expected a result with a layout (#heddle_gpu.layout), got 'tensor<96xi32>'}}
  %0 = heddle_gpu.iota axis 0 : tensor<96xi32>
  return
}

// -----

#line = #heddle_gpu.layout<lane = [[1], [2], [4], [8], [16]], repeat = [3]>
// /*gpu_iota_c2*/
func.func @iota_along_an_axis() {
  // expected-error @+1 {{expected an axis below 1, got 2}}
  %0 = heddle_gpu.iota axis 2 : tensor<96xi32, #line>
  return
}
