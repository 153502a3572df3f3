// Numbers that follow from the op's definition by hand, and the conventions at
// its edges: rows without a visible key, NaN behind a mask, shift invariance.

// RUN: %check %s %t

// Sq 5, Sk 2: i + (2 - 5) - j >= 0 leaves rows 0 to 2 without a key. Row 4 sees
// logits 5 and -5: 10 + 10 / (1 + e^10).
// INPUT 0: [1, 2, 3, 4, 5]
// INPUT 1: [1, -1]
// INPUT 2: [10, 20]
// EXPECT 0: [0, 0, 0, 10, 10.000453978687]
// EXPECT 1: [-inf, -inf, -inf, 4, 5.0000453989]
func.func @lower_right_with_more_queries_than_keys(
    %q: tensor<1x5x1x1xf32>, %k: tensor<1x2x1x1xf32>, %v: tensor<1x2x1x1xf32>)
    -> (tensor<1x5x1x1xf32>, tensor<1x1x5xf32>) {
  %o, %lse = heddle.attention %q, %k, %v {mask = #heddle.mask<causal_lower_right>, scale = 1.0}
    : tensor<1x5x1x1xf32>, tensor<1x2x1x1xf32>, tensor<1x2x1x1xf32> -> tensor<1x5x1x1xf32>, tensor<1x1x5xf32>
  return %o, %lse : tensor<1x5x1x1xf32>, tensor<1x1x5xf32>
}

// Sq 2, Sk 4: row 0 sees keys 0 to 2, row 1 all. Scale 0 averages them.
// EXPECT 0: [2, 2.5]
// INPUT 2: [1, 2, 3, 4]
// EXPECT 1: [1.09861228867, 1.38629436112]
func.func @lower_right_with_more_keys_than_queries(
    %q: tensor<1x2x1x1xf32>, %k: tensor<1x4x1x1xf32>, %v: tensor<1x4x1x1xf32>)
    -> (tensor<1x2x1x1xf32>, tensor<1x1x2xf32>) {
  %o, %lse = heddle.attention %q, %k, %v {mask = #heddle.mask<causal_lower_right>, scale = 0.0}
    : tensor<1x2x1x1xf32>, tensor<1x4x1x1xf32>, tensor<1x4x1x1xf32> -> tensor<1x2x1x1xf32>, tensor<1x1x2xf32>
  return %o, %lse : tensor<1x2x1x1xf32>, tensor<1x1x2xf32>
}

// Logits -300 and -301 after a key tile that is masked whole: no visible key is
// above the running maximum that such a tile might leave behind.
// INPUT 0: full(1.0)
// INPUT 1: full(9.0).put(0, 600, -300.0).put(0, 601, -301.0)
// INPUT 2: full(5.0).put(0, 600, 10.0).put(0, 601, 20.0)
// EXPECT 0: [12.6894142137]
// EXPECT 1: [-299.6867383125] +- 1e-7
func.func @masked_tiles_before_very_negative_logits(
    %q: tensor<1x1x1x1xf32>, %k: tensor<1x700x1x1xf32>, %v: tensor<1x700x1x1xf32>)
    -> (tensor<1x1x1x1xf32>, tensor<1x1x1xf32>) {
  %o, %lse = heddle.attention %q, %k, %v {scale = 1.0,
      mask = #heddle.mask<affine_set<"(i, j) : (j - 600 >= 0, 601 - j >= 0)">>}
    : tensor<1x1x1x1xf32>, tensor<1x700x1x1xf32>, tensor<1x700x1x1xf32> -> tensor<1x1x1x1xf32>, tensor<1x1x1xf32>
  return %o, %lse : tensor<1x1x1x1xf32>, tensor<1x1x1xf32>
}

// The same with the visible keys first.
// INPUT 0: full(1.0)
// INPUT 1: full(9.0).put(0, 0, -300.0).put(0, 1, -301.0)
// INPUT 2: full(5.0).put(0, 0, 10.0).put(0, 1, 20.0)
// INPUT 3: full(False).put(0, 0, 0, 0, True).put(0, 0, 0, 1, True)
// EXPECT 0: [12.6894142137]
// EXPECT 1: [-299.6867383125] +- 1e-7
func.func @masked_tiles_after_very_negative_logits(
    %q: tensor<1x1x1x1xf32>, %k: tensor<1x700x1x1xf32>, %v: tensor<1x700x1x1xf32>,
    %m: tensor<1x1x1x700xi1>) -> (tensor<1x1x1x1xf32>, tensor<1x1x1xf32>) {
  %o, %lse = heddle.attention %q, %k, %v mask_tensor(%m : tensor<1x1x1x700xi1>) {scale = 1.0}
    : tensor<1x1x1x1xf32>, tensor<1x700x1x1xf32>, tensor<1x700x1x1xf32> -> tensor<1x1x1x1xf32>, tensor<1x1x1xf32>
  return %o, %lse : tensor<1x1x1x1xf32>, tensor<1x1x1xf32>
}

// Softmax is shift invariant: logits around -250000, all below what other
// systems use as "minus infinity", give what 0, -1, -2 give. They are exact in
// f32, so the result has to be as good.
// INPUT 0: [1, 1]
// INPUT 1: [[-250000, 0], [-250000, -1], [-250000, -2]]
// INPUT 2: [1, 2, 3]
// EXPECT 0: [1.424789515]
// EXPECT 1: [-249999.592394]
func.func @shift_by_exact_logits(
    %q: tensor<1x1x1x2xf32>, %k: tensor<1x3x1x2xf32>, %v: tensor<1x3x1x1xf32>)
    -> (tensor<1x1x1x1xf32>, tensor<1x1x1xf32>) {
  %o, %lse = heddle.attention %q, %k, %v {scale = 1.0}
    : tensor<1x1x1x2xf32>, tensor<1x3x1x2xf32>, tensor<1x3x1x1xf32> -> tensor<1x1x1x1xf32>, tensor<1x1x1xf32>
  return %o, %lse : tensor<1x1x1x1xf32>, tensor<1x1x1xf32>
}

// Scale -1 turns logits 1, 2, 3 into weights .66524, .24473, .09003.
// INPUT 0: [1]
// INPUT 1: [1, 2, 3]
// INPUT 2: [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
// EXPECT 0: [0.66524095577, 0.24472847105, 0.09003057317]
func.func @negative_scale(
    %q: tensor<1x1x1x1xf32>, %k: tensor<1x3x1x1xf32>, %v: tensor<1x3x1x3xf32>)
    -> tensor<1x1x1x3xf32> {
  %o = heddle.attention %q, %k, %v {scale = -1.0}
    : tensor<1x1x1x1xf32>, tensor<1x3x1x1xf32>, tensor<1x3x1x3xf32> -> tensor<1x1x1x3xf32>
  return %o : tensor<1x1x1x3xf32>
}

// Scale 0 is uniform over the visible keys: prefix means.
// INPUT 2: [1, 2, 3, 4]
// EXPECT 0: [1, 1.5, 2, 2.5]
func.func @zero_scale(
    %q: tensor<1x4x1x3xf32>, %k: tensor<1x4x1x3xf32>, %v: tensor<1x4x1x1xf32>)
    -> tensor<1x4x1x1xf32> {
  %o = heddle.attention %q, %k, %v {scale = 0.0, mask = #heddle.mask<causal>}
    : tensor<1x4x1x3xf32>, tensor<1x4x1x3xf32>, tensor<1x4x1x1xf32> -> tensor<1x4x1x1xf32>
  return %o : tensor<1x4x1x1xf32>
}

// Scale 10000 picks the largest logit and nothing overflows.
// INPUT 0: [1, -1]
// INPUT 1: [1, 2, 3]
// INPUT 2: [10, 20, 30]
// EXPECT 0: [30, 10]
// EXPECT 1: [30000, -10000]
func.func @large_scale(
    %q: tensor<1x2x1x1xf32>, %k: tensor<1x3x1x1xf32>, %v: tensor<1x3x1x1xf32>)
    -> (tensor<1x2x1x1xf32>, tensor<1x1x2xf32>) {
  %o, %lse = heddle.attention %q, %k, %v {scale = 1.0e+04}
    : tensor<1x2x1x1xf32>, tensor<1x3x1x1xf32>, tensor<1x3x1x1xf32> -> tensor<1x2x1x1xf32>, tensor<1x1x2xf32>
  return %o, %lse : tensor<1x2x1x1xf32>, tensor<1x1x2xf32>
}

// A row without a visible key: by a mask tensor, a bias of -inf and a bias of
// the lowest finite number.
// INPUT 3: [False, False, False, True, False, True]
// EXPECT 0: [0, 0, 2, 2] +- 1e-6
// INPUT 2: [[1, 1], [0, 0], [3, 3]]
// EXPECT 1: [-inf, 0.69314718056]
func.func @masked_row_by_mask_tensor(
    %q: tensor<1x2x1x2xf32>, %k: tensor<1x3x1x2xf32>, %v: tensor<1x3x1x2xf32>,
    %m: tensor<1x1x2x3xi1>) -> (tensor<1x2x1x2xf32>, tensor<1x1x2xf32>) {
  %o, %lse = heddle.attention %q, %k, %v mask_tensor(%m : tensor<1x1x2x3xi1>) {scale = 0.0}
    : tensor<1x2x1x2xf32>, tensor<1x3x1x2xf32>, tensor<1x3x1x2xf32> -> tensor<1x2x1x2xf32>, tensor<1x1x2xf32>
  return %o, %lse : tensor<1x2x1x2xf32>, tensor<1x1x2xf32>
}

// INPUT 2: [1, 2, 3]
// INPUT 3: [-inf, -inf, -inf, 0, -inf, 0]
// EXPECT 0: [0, 2]
// EXPECT 1: [-inf, 0.69314718056]
func.func @masked_row_by_infinite_bias(
    %q: tensor<1x2x1x2xf32>, %k: tensor<1x3x1x2xf32>, %v: tensor<1x3x1x1xf32>,
    %b: tensor<1x1x2x3xf32>) -> (tensor<1x2x1x1xf32>, tensor<1x1x2xf32>) {
  %o, %lse = heddle.attention %q, %k, %v bias(%b : tensor<1x1x2x3xf32>) {scale = 0.0}
    : tensor<1x2x1x2xf32>, tensor<1x3x1x2xf32>, tensor<1x3x1x1xf32> -> tensor<1x2x1x1xf32>, tensor<1x1x2xf32>
  return %o, %lse : tensor<1x2x1x1xf32>, tensor<1x1x2xf32>
}

// INPUT 2: [1, 2, 3]
// INPUT 3: [-3.4028234663852886e38] * 3 + [0, -3.4028234663852886e38, 0]
// EXPECT 0: [0, 2]
// EXPECT 1: [-inf, 0.69314718056]
func.func @masked_row_by_lowest_bias(
    %q: tensor<1x2x1x2xf32>, %k: tensor<1x3x1x2xf32>, %v: tensor<1x3x1x1xf32>,
    %b: tensor<1x1x2x3xf32>) -> (tensor<1x2x1x1xf32>, tensor<1x1x2xf32>) {
  %o, %lse = heddle.attention %q, %k, %v bias(%b : tensor<1x1x2x3xf32>) {scale = 0.0}
    : tensor<1x2x1x2xf32>, tensor<1x3x1x2xf32>, tensor<1x3x1x1xf32> -> tensor<1x2x1x1xf32>, tensor<1x1x2xf32>
  return %o, %lse : tensor<1x2x1x1xf32>, tensor<1x1x2xf32>
}

// The lowest number of bf16 is another one than that of f32.
// INPUT 2: [1, 2, 3]
// INPUT 3: [-3.3895313892515355e38] * 3 + [0, -3.3895313892515355e38, 0]
// EXPECT 0: [0, 2]
func.func @masked_row_by_lowest_bf16_bias(
    %q: tensor<1x2x1x2xf32>, %k: tensor<1x3x1x2xf32>, %v: tensor<1x3x1x1xf32>,
    %b: tensor<1x1x2x3xbf16>) -> tensor<1x2x1x1xf32> {
  %o = heddle.attention %q, %k, %v bias(%b : tensor<1x1x2x3xbf16>) {scale = 0.0}
    : tensor<1x2x1x2xf32>, tensor<1x3x1x2xf32>, tensor<1x3x1x1xf32> -> tensor<1x2x1x1xf32>
  return %o : tensor<1x2x1x1xf32>
}

// A mask that leaves nothing at all: no key tile is visited.
// REFERENCE: none
// EXPECT 0: [0] * 40
// EXPECT 1: [-inf] * 20
func.func @empty_mask(
    %q: tensor<1x20x1x2xf32>, %k: tensor<1x20x1x2xf32>, %v: tensor<1x20x1x2xf32>)
    -> (tensor<1x20x1x2xf32>, tensor<1x1x20xf32>) {
  %o, %lse = heddle.attention %q, %k, %v {mask = #heddle.mask<prefix<0>>}
    : tensor<1x20x1x2xf32>, tensor<1x20x1x2xf32>, tensor<1x20x1x2xf32> -> tensor<1x20x1x2xf32>, tensor<1x1x20xf32>
  return %o, %lse : tensor<1x20x1x2xf32>, tensor<1x1x20xf32>
}

// No keys at all.
// REFERENCE: none
// EXPECT 0: [0] * 6
// EXPECT 1: [-inf] * 3
func.func @no_keys(
    %q: tensor<1x3x1x2xf32>, %k: tensor<1x0x1x2xf32>, %v: tensor<1x0x1x2xf32>)
    -> (tensor<1x3x1x2xf32>, tensor<1x1x3xf32>) {
  %o, %lse = heddle.attention %q, %k, %v
    : tensor<1x3x1x2xf32>, tensor<1x0x1x2xf32>, tensor<1x0x1x2xf32> -> tensor<1x3x1x2xf32>, tensor<1x1x3xf32>
  return %o, %lse : tensor<1x3x1x2xf32>, tensor<1x1x3xf32>
}

// A sink joins the denominator only: (1 + 3) / 3; without a visible key the
// output is 0 and lse is the sink.
// INPUT 2: [1, 3]
// INPUT 3: [0]
// INPUT 4: [True, True, False, False]
// EXPECT 0: [1.33333333333, 0]
// EXPECT 1: [1.09861228867, 0]
func.func @sink_with_and_without_keys(
    %q: tensor<1x2x1x1xf32>, %k: tensor<1x2x1x1xf32>, %v: tensor<1x2x1x1xf32>,
    %s: tensor<1xf32>, %m: tensor<1x1x2x2xi1>)
    -> (tensor<1x2x1x1xf32>, tensor<1x1x2xf32>) {
  %o, %lse = heddle.attention %q, %k, %v mask_tensor(%m : tensor<1x1x2x2xi1>)
      sinks(%s : tensor<1xf32>) {scale = 0.0}
    : tensor<1x2x1x1xf32>, tensor<1x2x1x1xf32>, tensor<1x2x1x1xf32> -> tensor<1x2x1x1xf32>, tensor<1x1x2xf32>
  return %o, %lse : tensor<1x2x1x1xf32>, tensor<1x1x2xf32>
}

// A sink far above and far below every logit.
// INPUT 0: full(1.0)
// INPUT 1: full(1.0)
// INPUT 2: full(8.0)
// INPUT 3: [200.0, -200.0]
// EXPECT 0: [0, 8] +- 1e-6
// EXPECT 1: [200, 1]
func.func @sink_decides_the_maximum(
    %q: tensor<1x1x2x1xf32>, %k: tensor<1x1x2x1xf32>, %v: tensor<1x1x2x1xf32>,
    %s: tensor<2xf32>) -> (tensor<1x1x2x1xf32>, tensor<1x2x1xf32>) {
  %o, %lse = heddle.attention %q, %k, %v sinks(%s : tensor<2xf32>) {scale = 1.0}
    : tensor<1x1x2x1xf32>, tensor<1x1x2x1xf32>, tensor<1x1x2x1xf32> -> tensor<1x1x2x1xf32>, tensor<1x2x1xf32>
  return %o, %lse : tensor<1x1x2x1xf32>, tensor<1x2x1xf32>
}

// Values are powers of two: a row's mean over the window says which keys it saw.
// window<2, 1> is inclusive on both sides.
// INPUT 2: [1, 2, 4, 8, 16]
// EXPECT 0: [1.5, 2.33333333333, 3.75, 7.5, 9.33333333333]
func.func @window_bounds_are_inclusive(
    %q: tensor<1x5x1x1xf32>, %k: tensor<1x5x1x1xf32>, %v: tensor<1x5x1x1xf32>)
    -> tensor<1x5x1x1xf32> {
  %o = heddle.attention %q, %k, %v {scale = 0.0, mask = #heddle.mask<window<2, 1>>}
    : tensor<1x5x1x1xf32>, tensor<1x5x1x1xf32>, tensor<1x5x1x1xf32> -> tensor<1x5x1x1xf32>
  return %o : tensor<1x5x1x1xf32>
}

// Key lengths 0, 2 and beyond the end; segment 7 exists among the queries only.
// INPUT 2: [[1, 2, 4]] * 3
// INPUT 3: [0, 2, 9]
// EXPECT 0: [0, 0, 1.5, 1.5, 2.33333333333, 2.33333333333]
func.func @key_lengths(
    %q: tensor<3x2x1x1xf32>, %k: tensor<3x3x1x1xf32>, %v: tensor<3x3x1x1xf32>,
    %n: tensor<3xi32>) -> tensor<3x2x1x1xf32> {
  %o = heddle.attention %q, %k, %v key_lengths(%n : tensor<3xi32>) {scale = 0.0}
    : tensor<3x2x1x1xf32>, tensor<3x3x1x1xf32>, tensor<3x3x1x1xf32> -> tensor<3x2x1x1xf32>
  return %o : tensor<3x2x1x1xf32>
}

// A key length of 0 leaves rows of zeros, in 16 bits too.
// INPUT 2: [[1, 2, 4]] * 2
// INPUT 3: [0, 3]
// EXPECT 0: [0, 0, 2.328125, 2.328125]
// EXPECT 1: [-inf, -inf, 1.09861228867, 1.09861228867]
func.func @key_length_zero_bf16(
    %q: tensor<2x2x1x1xbf16>, %k: tensor<2x3x1x1xbf16>, %v: tensor<2x3x1x1xbf16>,
    %n: tensor<2xi32>) -> (tensor<2x2x1x1xbf16>, tensor<2x1x2xf32>) {
  %o, %lse = heddle.attention %q, %k, %v key_lengths(%n : tensor<2xi32>) {scale = 0.0}
    : tensor<2x2x1x1xbf16>, tensor<2x3x1x1xbf16>, tensor<2x3x1x1xbf16> -> tensor<2x2x1x1xbf16>, tensor<2x1x2xf32>
  return %o, %lse : tensor<2x2x1x1xbf16>, tensor<2x1x2xf32>
}

// INPUT 2: [1, 2, 4, 8]
// INPUT 3: [0, 7, 1]
// INPUT 4: [0, 0, 1, 5]
// EXPECT 0: [1.5, 0, 4]
// EXPECT 1: [0.69314718056, -inf, 0]
func.func @empty_segment(
    %q: tensor<1x3x1x1xf32>, %k: tensor<1x4x1x1xf32>, %v: tensor<1x4x1x1xf32>,
    %a: tensor<1x3xi32>, %b: tensor<1x4xi32>)
    -> (tensor<1x3x1x1xf32>, tensor<1x1x3xf32>) {
  %o, %lse = heddle.attention %q, %k, %v query_segments(%a : tensor<1x3xi32>)
      key_segments(%b : tensor<1x4xi32>) {scale = 0.0}
    : tensor<1x3x1x1xf32>, tensor<1x4x1x1xf32>, tensor<1x4x1x1xf32> -> tensor<1x3x1x1xf32>, tensor<1x1x3xf32>
  return %o, %lse : tensor<1x3x1x1xf32>, tensor<1x1x3xf32>
}

// lse is logsumexp in natural logarithms: ln(e^1 + e^2 + e^3).
// INPUT 0: [1]
// INPUT 1: [1, 2, 3]
// EXPECT 1: [3.40760596444] +- 2e-7
func.func @lse_is_natural(
    %q: tensor<1x1x1x1xf32>, %k: tensor<1x3x1x1xf32>, %v: tensor<1x3x1x1xf32>)
    -> (tensor<1x1x1x1xf32>, tensor<1x1x1xf32>) {
  %o, %lse = heddle.attention %q, %k, %v {scale = 1.0}
    : tensor<1x1x1x1xf32>, tensor<1x3x1x1xf32>, tensor<1x3x1x1xf32> -> tensor<1x1x1x1xf32>, tensor<1x1x1xf32>
  return %o, %lse : tensor<1x1x1x1xf32>, tensor<1x1x1xf32>
}

// Over several key tiles as well: ln 1025, and 700 terms e^-80.
// EXPECT 1: [6.93244789157] +- 2e-7
func.func @lse_of_many_equal_logits(
    %q: tensor<1x1x1x3xf32>, %k: tensor<1x1025x1x3xf32>, %v: tensor<1x1025x1x2xf32>)
    -> (tensor<1x1x1x2xf32>, tensor<1x1x1xf32>) {
  %o, %lse = heddle.attention %q, %k, %v {scale = 0.0}
    : tensor<1x1x1x3xf32>, tensor<1x1025x1x3xf32>, tensor<1x1025x1x2xf32> -> tensor<1x1x1x2xf32>, tensor<1x1x1xf32>
  return %o, %lse : tensor<1x1x1x2xf32>, tensor<1x1x1xf32>
}

// INPUT 0: full(-8.0)
// INPUT 1: full(10.0)
// EXPECT 1: [-73.4489196655] +- 1e-7
func.func @lse_of_very_small_terms(
    %q: tensor<1x1x1x1xf32>, %k: tensor<1x700x1x1xf32>, %v: tensor<1x700x1x1xf32>)
    -> (tensor<1x1x1x1xf32>, tensor<1x1x1xf32>) {
  %o, %lse = heddle.attention %q, %k, %v {scale = 1.0}
    : tensor<1x1x1x1xf32>, tensor<1x700x1x1xf32>, tensor<1x700x1x1xf32> -> tensor<1x1x1x1xf32>, tensor<1x1x1xf32>
  return %o, %lse : tensor<1x1x1x1xf32>, tensor<1x1x1xf32>
}

// The mean of 1025 ones over every head dim is 1 in the last position too.
// REFERENCE: none
// INPUT 2: full(1.0)
// EXPECT 0: [1] * 3
func.func @one_query_of_many_keys(
    %q: tensor<1x1x1x3xf32>, %k: tensor<1x1025x1x3xf32>, %v: tensor<1x1025x1x3xf32>)
    -> tensor<1x1x1x3xf32> {
  %o = heddle.attention %q, %k, %v
    : tensor<1x1x1x3xf32>, tensor<1x1025x1x3xf32>, tensor<1x1025x1x3xf32> -> tensor<1x1x1x3xf32>
  return %o : tensor<1x1x1x3xf32>
}
