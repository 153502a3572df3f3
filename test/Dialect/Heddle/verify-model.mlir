// RUN: heddle-opt %s -split-input-file -verify-diagnostics -heddle-verify-model=target=cpu

func.func @plain_models_pass(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = math.exp %x : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// Everything that is unsupported is listed at once.
func.func @all_problems_are_listed(%x: tensor<?xf32>, %t: tensor<1xf32>) -> tensor<1xf32> {
  // expected-error@-1 {{3 unsupported: argument 0 of 'all_problems_are_listed': expected a static shape, got tensor<?xf32>; compile one specialisation per shape}}
  %c = arith.constant 0 : index
  // expected-note@+1 {{unsupported: 'scf.for' is not part of a model}}
  %r = scf.for %i = %c to %c step %c iter_args(%a = %t) -> tensor<1xf32> {
    // expected-note@+1 {{unsupported: 'scf.yield' is not part of a model}}
    scf.yield %a : tensor<1xf32>
  }
  return %r : tensor<1xf32>
}

// -----

func.func @scans_have_a_cpu_kernel(%a: tensor<4xf32>, %b: tensor<1x3x4xf32>) -> tensor<1x3x4xf32> {
  %h = heddle.linear_scan %a, %b : tensor<4xf32>, tensor<1x3x4xf32> -> (tensor<1x3x4xf32>)
  return %h : tensor<1x3x4xf32>
}

// -----

func.func @gather_and_random_bits_have_kernels(%t: tensor<5x2xi32>, %s: tensor<i64>, %o: tensor<i64>) -> tensor<8x2xi32> {
  %r = heddle.random_bits %s, %o : tensor<i64>, tensor<i64> -> tensor<8xi32>
  %g = heddle.gather %t[%r] : tensor<5x2xi32>, tensor<8xi32> -> tensor<8x2xi32>
  return %g : tensor<8x2xi32>
}

// -----

func.func @ssd_has_a_cpu_kernel(%q: tensor<2x5x2x3xf32>, %v: tensor<2x5x4x6xf32>, %a: tensor<2x5x4xf32>, %h: tensor<2x4x3x6xf32>) -> tensor<2x5x4x6xf32> {
  %0:2 = heddle.ssd %q, %q, %v, %a initial_state(%h : tensor<2x4x3x6xf32>)
    : tensor<2x5x2x3xf32>, tensor<2x5x2x3xf32>, tensor<2x5x4x6xf32>, tensor<2x5x4xf32>
    -> tensor<2x5x4x6xf32>, tensor<2x4x3x6xf32>
  return %0#0 : tensor<2x5x4x6xf32>
}

// -----

// The product of the extents is a multiple of 2^64.
// expected-error@+1 {{expected a tensor of at most 128 TiB, got tensor<2147483648x4294967296x4xf32>; use smaller shapes}}
func.func @sizes_do_not_overflow(%a: tensor<2147483648x4294967296x4xf32>) -> tensor<4xf32> {
  %0 = tensor.empty() : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// A reshaped argument is in the same memory.
func.func @donated_argument_is_returned_once(
    // expected-error@+1 {{expected donated argument 0 'p' to be returned once, got it as results 0, 2; return it once, or drop heddle.donated}}
    %p: tensor<2x3xf32> {heddle.donated, heddle.arg_name = "p"},
    %q: tensor<4xf32>, %r: tensor<4xf32> {heddle.donated}) -> (tensor<2x3xf32>, tensor<4xf32>, tensor<6xf32>, tensor<4xf32>, tensor<4xf32>) {
  %f = tensor.collapse_shape %p [[0, 1]] : tensor<2x3xf32> into tensor<6xf32>
  return %p, %q, %f, %q, %r : tensor<2x3xf32>, tensor<4xf32>, tensor<6xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

func.func @chunks_of_time_are_no_model(%a: tensor<8xf32>, %b: tensor<2x64x8xf32>, %h: tensor<2x4x8xf32>) -> tensor<2x64x8xf32> {
  // expected-error@+1 {{2 unsupported: 'heddle.linear_scan_maps' over chunks of time is not part of a model; write the scan, which becomes chunks where a GPU needs them}}
  %0:2 = heddle.linear_scan_maps %a, %b : tensor<8xf32>, tensor<2x64x8xf32> -> (tensor<2x4x8xf32>, tensor<2x4x8xf32>)
  // expected-note@+1 {{unsupported: 'heddle.linear_scan' over chunks of time is not part of a model}}
  %1 = heddle.linear_scan %a, %b initial_state(%h : tensor<2x4x8xf32>) : tensor<8xf32>, tensor<2x64x8xf32> -> (tensor<2x64x8xf32>)
  return %1 : tensor<2x64x8xf32>
}
