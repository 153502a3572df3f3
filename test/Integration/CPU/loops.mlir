// Kernels of one op that no tile builder takes: plain loops over the result,
// which several blocks share where there is enough to do.

// RUN: %check %s %t
// RUN: heddle-compile %s -o %t.heddle --report=json > %t.json
// RUN: %python -c "import json,sys; b = {f['name']: [k['blocks'] for k in f['kernels'] if k['family'] == 'loops'] for f in json.load(open(sys.argv[1]))['functions']}; print(b); \
// RUN:   assert all(max(b[n]) > 1 for n in b if n.startswith('blocks_')); \
// RUN:   assert b['small_work_is_one_block'] == [1]" %t.json

//===----------------------------------------------------------------------===//
// 16-bit sums are formed in f32 and rounded once
//===----------------------------------------------------------------------===//

// 1 + 2000 * 2^-10: each step alone would be rounded away in bf16 (2^-8 of
// headroom), and the sum is exact in f32.
// INPUT 0: full(0.0009765625)
// EXPECT 0: [2.953125, 2.953125]
func.func @sum_of_two_axes_bf16(%x: tensor<40x2x50xbf16>) -> tensor<2xbf16> {
  %one = arith.constant dense<1.0> : tensor<2xbf16>
  %y = linalg.reduce { arith.addf } ins(%x : tensor<40x2x50xbf16>) outs(%one : tensor<2xbf16>) dimensions = [0, 2]
  return %y : tensor<2xbf16>
}

// A sum that leaves the range of f16 on the way: 65504 * 3 - 65504 * 2.
// INPUT 0: [[65504.0, 65504.0], [65504.0, -65504.0], [-65504.0, 0.0]]
// EXPECT 0: [65504.0]
func.func @sum_beyond_the_range_of_f16(%x: tensor<3x2xf16>) -> tensor<1xf16> {
  %z = arith.constant dense<0.0> : tensor<1xf16>
  %e = tensor.expand_shape %x [[0], [1, 2]] output_shape [3, 1, 2] : tensor<3x2xf16> into tensor<3x1x2xf16>
  %y = linalg.reduce { arith.addf } ins(%e : tensor<3x1x2xf16>) outs(%z : tensor<1xf16>) dimensions = [0, 2]
  return %y : tensor<1xf16>
}

func.func @contraction_over_two_axes_bf16(%x: tensor<5x20x6xbf16>, %y: tensor<20x6x7xbf16>) -> tensor<5x7xbf16> {
  %z = arith.constant dense<0.0> : tensor<5x7xbf16>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j, k, l) -> (i, k, l)>, affine_map<(i, j, k, l) -> (k, l, j)>, affine_map<(i, j, k, l) -> (i, j)>],
      iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%x, %y : tensor<5x20x6xbf16>, tensor<20x6x7xbf16>) outs(%z : tensor<5x7xbf16>) {
  ^bb0(%a: bf16, %b: bf16, %c: bf16):
    %m = arith.mulf %a, %b : bf16
    %s = arith.addf %c, %m : bf16
    linalg.yield %s : bf16
  } -> tensor<5x7xbf16>
  return %r : tensor<5x7xbf16>
}

func.func @convolution_f16(%x: tensor<2x9x8x3xf16>, %w: tensor<3x3x3x5xf16>) -> tensor<2x7x6x5xf16> {
  %z = arith.constant dense<0.0> : tensor<2x7x6x5xf16>
  %y = linalg.conv_2d_nhwc_hwcf ins(%x, %w : tensor<2x9x8x3xf16>, tensor<3x3x3x5xf16>) outs(%z : tensor<2x7x6x5xf16>) -> tensor<2x7x6x5xf16>
  return %y : tensor<2x7x6x5xf16>
}

// The window of a pooling has a shape and no elements.
func.func @pooling(%x: tensor<2x8x8x3xf32>) -> tensor<2x4x4x3xf32> {
  %w = tensor.empty() : tensor<2x2xf32>
  %z = arith.constant dense<0xFF800000> : tensor<2x4x4x3xf32>
  %y = linalg.pooling_nhwc_max {strides = dense<2> : tensor<2xi64>} ins(%x, %w : tensor<2x8x8x3xf32>, tensor<2x2xf32>) outs(%z : tensor<2x4x4x3xf32>) -> tensor<2x4x4x3xf32>
  return %y : tensor<2x4x4x3xf32>
}

// Sums of f64 stay in f64.
// INPUT 0: [[1e15, 1.0], [1.0, -1e15]]
// EXPECT 0: [2.0]
// REFERENCE: none
func.func @sum_f64_in_f64(%x: tensor<2x2xf64>) -> tensor<1xf64> {
  %z = arith.constant dense<0.0> : tensor<1xf64>
  %e = tensor.expand_shape %x [[0, 1], [2]] output_shape [1, 2, 2] : tensor<2x2xf64> into tensor<1x2x2xf64>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k, j)>, affine_map<(i, j, k) -> (i)>],
      iterator_types = ["parallel", "reduction", "reduction"]} ins(%e : tensor<1x2x2xf64>) outs(%z : tensor<1xf64>) {
  ^bb0(%a: f64, %c: f64):
    %s = arith.addf %c, %a : f64
    linalg.yield %s : f64
  } -> tensor<1xf64>
  return %y : tensor<1xf64>
}

// A body of several ops rounds at its casts and at the end: the product of
// 16-bit numbers is exact in f32.
func.func @body_with_positions_bf16(%x: tensor<6x40xbf16>) -> tensor<6x40xbf16> {
  %e = tensor.empty() : tensor<6x40xbf16>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]} ins(%x : tensor<6x40xbf16>) outs(%e : tensor<6x40xbf16>) {
  ^bb0(%a: bf16, %o: bf16):
    %j = linalg.index 1 : index
    %k = arith.index_cast %j : index to i32
    %f = arith.sitofp %k : i32 to bf16
    %c = arith.constant 3.000000e+00 : bf16
    %p = arith.mulf %a, %f : bf16
    %q = arith.divf %p, %c : bf16
    %w = arith.extf %q : bf16 to f32
    %t = math.tanh %w : f32
    %n = arith.truncf %t : f32 to bf16
    %s = arith.subf %n, %a : bf16
    linalg.yield %s : bf16
  } -> tensor<6x40xbf16>
  return %y : tensor<6x40xbf16>
}

// Several points of the loops meet in one element: t + k.
func.func @output_map_of_two_loops(%x: tensor<12xbf16>, %w: tensor<4xbf16>, %a: tensor<15xbf16>) -> tensor<15xbf16> {
  %y = linalg.generic {indexing_maps = [affine_map<(t, k) -> (t)>, affine_map<(t, k) -> (k)>, affine_map<(t, k) -> (t + k)>],
      iterator_types = ["reduction", "reduction"]} ins(%x, %w : tensor<12xbf16>, tensor<4xbf16>) outs(%a : tensor<15xbf16>) {
  ^bb0(%l: bf16, %r: bf16, %c: bf16):
    %m = arith.mulf %l, %r : bf16
    %s = arith.addf %c, %m : bf16
    linalg.yield %s : bf16
  } -> tensor<15xbf16>
  return %y : tensor<15xbf16>
}

// A table read inside the body, at positions that an input names.
// INPUT 0: integers(0, 10, 1)
func.func @indexed_load(%i: tensor<7x3xi32>, %t: tensor<10x3xbf16>) -> tensor<7x3xbf16> {
  %e = tensor.empty() : tensor<7x3xbf16>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]} ins(%i : tensor<7x3xi32>) outs(%e : tensor<7x3xbf16>) {
  ^bb0(%p: i32, %o: bf16):
    %j = linalg.index 1 : index
    %r = arith.index_cast %p : i32 to index
    %v = tensor.extract %t[%r, %j] : tensor<10x3xbf16>
    %s = arith.addf %v, %v : bf16
    linalg.yield %s : bf16
  } -> tensor<7x3xbf16>
  return %y : tensor<7x3xbf16>
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

func.func @small_work_is_one_block(%x: tensor<4x5xf64>) -> tensor<4x5xf64> {
  %y = arith.addf %x, %x : tensor<4x5xf64>
  return %y : tensor<4x5xf64>
}

func.func @blocks_share_the_first_axis(%x: tensor<203x50xf64>) -> tensor<203x50xf64> {
  %y = arith.addf %x, %x : tensor<203x50xf64>
  return %y : tensor<203x50xf64>
}

func.func @blocks_share_the_longest_of_short_axes(%x: tensor<1x3x2x4000xi64>) -> tensor<1x3x2xi64> {
  %z = arith.constant dense<0> : tensor<1x3x2xi64>
  %y = linalg.reduce { arith.addi } ins(%x : tensor<1x3x2x4000xi64>) outs(%z : tensor<1x3x2xi64>) dimensions = [3]
  return %y : tensor<1x3x2xi64>
}

func.func @blocks_of_a_transposed_result(%x: tensor<61x3x101xf64>) -> tensor<101x61xf64> {
  %z = arith.constant dense<1.0> : tensor<101x61xf64>
  %y = linalg.generic {indexing_maps = [affine_map<(a, b, c) -> (a, b, c)>, affine_map<(a, b, c) -> (c, a)>],
      iterator_types = ["parallel", "reduction", "parallel"]} ins(%x : tensor<61x3x101xf64>) outs(%z : tensor<101x61xf64>) {
  ^bb0(%v: f64, %s: f64):
    %t = arith.addf %v, %s : f64
    linalg.yield %t : f64
  } -> tensor<101x61xf64>
  return %y : tensor<101x61xf64>
}

func.func @blocks_of_a_strided_slice(%x: tensor<301x90xf32>) -> tensor<150x30xf32> {
  %y = tensor.extract_slice %x[1, 2] [150, 30] [2, 2] : tensor<301x90xf32> to tensor<150x30xf32>
  return %y : tensor<150x30xf32>
}

func.func @blocks_of_a_slice_of_lower_rank(%x: tensor<200x3x70xf32>) -> tensor<200x50xf32> {
  %y = tensor.extract_slice %x[0, 1, 7] [200, 1, 50] [1, 1, 1] : tensor<200x3x70xf32> to tensor<200x50xf32>
  return %y : tensor<200x50xf32>
}

func.func @blocks_of_a_strided_insertion(%x: tensor<301x90xf32>, %y: tensor<97x30xf32>) -> tensor<301x90xf32> {
  %z = tensor.insert_slice %y into %x[5, 1] [97, 30] [3, 2] : tensor<97x30xf32> into tensor<301x90xf32>
  return %z : tensor<301x90xf32>
}

func.func @blocks_of_an_inserted_row(%x: tensor<301x90xf32>, %y: tensor<90xf32>) -> tensor<301x90xf32> {
  %z = tensor.insert_slice %y into %x[299, 0] [1, 90] [1, 1] : tensor<90xf32> into tensor<301x90xf32>
  return %z : tensor<301x90xf32>
}

func.func @blocks_of_a_concatenation(%x: tensor<101x45xbf16>, %y: tensor<3x45xbf16>, %w: tensor<107x45xbf16>) -> tensor<211x45xbf16> {
  %z = tensor.concat dim(0) %x, %y, %w : (tensor<101x45xbf16>, tensor<3x45xbf16>, tensor<107x45xbf16>) -> tensor<211x45xbf16>
  return %z : tensor<211x45xbf16>
}

func.func @blocks_of_columns_side_by_side(%x: tensor<111x45xi8>, %y: tensor<111x3xi8>) -> tensor<111x48xi8> {
  %z = tensor.concat dim(1) %x, %y : (tensor<111x45xi8>, tensor<111x3xi8>) -> tensor<111x48xi8>
  return %z : tensor<111x48xi8>
}

func.func @blocks_of_a_padded_tensor(%x: tensor<100x60xf32>) -> tensor<107x69xf32> {
  %c = arith.constant 2.5 : f32
  %y = tensor.pad %x low[3, 0] high[4, 9] {
  ^bb0(%i: index, %j: index):
    tensor.yield %c : f32
  } : tensor<100x60xf32> to tensor<107x69xf32>
  return %y : tensor<107x69xf32>
}

//===----------------------------------------------------------------------===//
// Elements by position
//===----------------------------------------------------------------------===//

// EXPECT 0: [0, 0, 0, 1, 1, 1]
func.func @generate() -> tensor<2x3xf32> {
  %g = tensor.generate {
  ^bb0(%i: index, %j: index):
    %a = arith.index_cast %i : index to i32
    %b = arith.sitofp %a : i32 to f32
    tensor.yield %b : f32
  } : tensor<2x3xf32>
  return %g : tensor<2x3xf32>
}

func.func @blocks_generate_from_a_table(%t: tensor<40xbf16>) -> tensor<111x40xbf16> {
  %c3 = arith.constant 3.0 : bf16
  %g = tensor.generate {
  ^bb0(%i: index, %j: index):
    %v = tensor.extract %t[%j] : tensor<40xbf16>
    %a = arith.index_cast %i : index to i32
    %b = arith.sitofp %a : i32 to bf16
    %p = arith.mulf %v, %b : bf16
    %q = arith.divf %p, %c3 : bf16
    tensor.yield %q : bf16
  } : tensor<111x40xbf16>
  return %g : tensor<111x40xbf16>
}

func.func @generate_of_a_computed_table(%x: tensor<5xf32>) -> tensor<3x5xf32> {
  %t = math.exp %x : tensor<5xf32>
  %g = tensor.generate {
  ^bb0(%i: index, %j: index):
    %v = tensor.extract %t[%j] : tensor<5xf32>
    tensor.yield %v : f32
  } : tensor<3x5xf32>
  %y = arith.mulf %g, %g : tensor<3x5xf32>
  return %y : tensor<3x5xf32>
}

func.func @generate_positions_and_truths() -> (tensor<4xi64>, tensor<3x3xi1>, tensor<i32>) {
  %a = tensor.generate {
  ^bb0(%i: index):
    %v = arith.index_cast %i : index to i64
    tensor.yield %v : i64
  } : tensor<4xi64>
  %b = tensor.generate {
  ^bb0(%i: index, %j: index):
    %v = arith.cmpi sge, %i, %j : index
    tensor.yield %v : i1
  } : tensor<3x3xi1>
  %c = tensor.generate {
    %v = arith.constant 7 : i32
    tensor.yield %v : i32
  } : tensor<i32>
  return %a, %b, %c : tensor<4xi64>, tensor<3x3xi1>, tensor<i32>
}

// INPUT 0: [10, 20, 30]
// EXPECT 0: [0, 1, 10, 20, 30, 5]
func.func @pad_by_positions(%x: tensor<3xf32>) -> tensor<6xf32> {
  %y = tensor.pad %x low[2] high[1] {
  ^bb0(%i: index):
    %a = arith.index_cast %i : index to i32
    %b = arith.sitofp %a : i32 to f32
    tensor.yield %b : f32
  } : tensor<3xf32> to tensor<6xf32>
  return %y : tensor<6xf32>
}

// Padding at the edge's value.
func.func @blocks_pad_from_the_source(%x: tensor<90x50xbf16>) -> tensor<95x57xbf16> {
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %zero = arith.constant 0 : index
  %c89 = arith.constant 89 : index
  %c49 = arith.constant 49 : index
  %y = tensor.pad %x low[2, 3] high[3, 4] {
  ^bb0(%i: index, %j: index):
    %a = arith.subi %i, %c2 : index
    %b = arith.subi %j, %c3 : index
    %c = arith.maxsi %a, %zero : index
    %d = arith.maxsi %b, %zero : index
    %e = arith.minsi %c, %c89 : index
    %f = arith.minsi %d, %c49 : index
    %v = tensor.extract %x[%e, %f] : tensor<90x50xbf16>
    tensor.yield %v : bf16
  } : tensor<90x50xbf16> to tensor<95x57xbf16>
  return %y : tensor<95x57xbf16>
}

//===----------------------------------------------------------------------===//
// Several points of the loops meet in one element
//===----------------------------------------------------------------------===//

// The gradient of a strided convolution: 2 t + k + 1, and gaps between.
func.func @output_map_with_a_stride(%x: tensor<12xf32>, %w: tensor<3xf32>, %a: tensor<30xf32>) -> tensor<30xf32> {
  %y = linalg.generic {indexing_maps = [affine_map<(t, k) -> (t)>, affine_map<(t, k) -> (k)>, affine_map<(t, k) -> (2 * t + k + 1)>],
      iterator_types = ["reduction", "reduction"]} ins(%x, %w : tensor<12xf32>, tensor<3xf32>) outs(%a : tensor<30xf32>) {
  ^bb0(%l: f32, %r: f32, %c: f32):
    %m = arith.mulf %l, %r : f32
    %s = arith.addf %c, %m : f32
    linalg.yield %s : f32
  } -> tensor<30xf32>
  return %y : tensor<30xf32>
}

// In the order of the loops: the last point stays. Strides of the inner loop.
func.func @output_map_keeps_the_order(%x: tensor<5x6xi32>, %a: tensor<23xi32>) -> tensor<23xi32> {
  %y = linalg.generic {indexing_maps = [affine_map<(t, k) -> (t, k)>, affine_map<(t, k) -> (3 * t + 2 * k)>],
      iterator_types = ["reduction", "reduction"]} ins(%x : tensor<5x6xi32>) outs(%a : tensor<23xi32>) {
  ^bb0(%v: i32, %c: i32):
    %two = arith.constant 2 : i32
    %d = arith.muli %c, %two : i32
    %s = arith.addi %d, %v : i32
    linalg.yield %s : i32
  } -> tensor<23xi32>
  return %y : tensor<23xi32>
}

// Two coordinates that share loops, a diagonal, a constant, a quotient.
func.func @output_map_of_two_sums(%x: tensor<3x4x5xf32>, %a: tensor<6x8xf32>) -> tensor<6x8xf32> {
  %y = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (i + j, j + k)>],
      iterator_types = ["reduction", "reduction", "reduction"]} ins(%x : tensor<3x4x5xf32>) outs(%a : tensor<6x8xf32>) {
  ^bb0(%v: f32, %c: f32):
    %s = arith.addf %c, %v : f32
    linalg.yield %s : f32
  } -> tensor<6x8xf32>
  return %y : tensor<6x8xf32>
}

func.func @output_map_of_a_diagonal(%x: tensor<5xf32>, %a: tensor<5x2x5xf32>) -> tensor<5x2x5xf32> {
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i, 1, i)>],
      iterator_types = ["reduction"]} ins(%x : tensor<5xf32>) outs(%a : tensor<5x2x5xf32>) {
  ^bb0(%v: f32, %c: f32):
    %s = arith.addf %c, %v : f32
    linalg.yield %s : f32
  } -> tensor<5x2x5xf32>
  return %y : tensor<5x2x5xf32>
}

func.func @output_map_of_a_quotient(%x: tensor<12x3xf32>, %a: tensor<4x3xf32>) -> tensor<4x3xf32> {
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i floordiv 3, j)>],
      iterator_types = ["reduction", "reduction"]} ins(%x : tensor<12x3xf32>) outs(%a : tensor<4x3xf32>) {
  ^bb0(%v: f32, %c: f32):
    %s = arith.addf %c, %v : f32
    linalg.yield %s : f32
  } -> tensor<4x3xf32>
  return %y : tensor<4x3xf32>
}

// Each result reads what the other has so far.
func.func @results_of_two_maps(%x: tensor<6x4xf32>, %a: tensor<9xf32>, %b: tensor<6xf32>) -> (tensor<9xf32>, tensor<6xf32>) {
  %y, %z = linalg.generic {indexing_maps = [affine_map<(t, k) -> (t, k)>, affine_map<(t, k) -> (t + k)>, affine_map<(t, k) -> (t)>],
      iterator_types = ["reduction", "reduction"]} ins(%x : tensor<6x4xf32>) outs(%a, %b : tensor<9xf32>, tensor<6xf32>) {
  ^bb0(%v: f32, %s: f32, %r: f32):
    %p = arith.addf %s, %v : f32
    %q = arith.addf %r, %s : f32
    linalg.yield %p, %q : f32, f32
  } -> (tensor<9xf32>, tensor<6xf32>)
  return %y, %z : tensor<9xf32>, tensor<6xf32>
}

// An index beyond 32 bits.
// EXPECT 0: [0, 4294967296, 8589934592]
// REFERENCE: none
func.func @wide_positions() -> tensor<3xindex> {
  %y = tensor.generate {
  ^bb0(%i: index):
    %c = arith.constant 4294967296 : index
    %v = arith.muli %i, %c : index
    tensor.yield %v : index
  } : tensor<3xindex>
  return %y : tensor<3xindex>
}

func.func @whole_insertion_and_slice_of_a_slice(%x: tensor<4x5xf32>, %y: tensor<2x5xf32>) -> tensor<4x5xf32> {
  %e = tensor.empty() : tensor<4x5xf32>
  %z = tensor.insert_slice %x into %e[0, 0] [4, 5] [1, 1] : tensor<4x5xf32> into tensor<4x5xf32>
  %w = tensor.insert_slice %y into %z[0, 0] [2, 5] [3, 1] : tensor<2x5xf32> into tensor<4x5xf32>
  return %w : tensor<4x5xf32>
}
