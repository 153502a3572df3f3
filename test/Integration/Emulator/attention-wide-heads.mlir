// Heads wider than 128: ragged lengths, masks, grouped heads, values of another
// width, and NaN and infinity behind a mask and before it.

// RUN: %check %s %t

func.func @causal_192_bf16(%q: tensor<1x70x1x192xbf16>, %k: tensor<1x70x1x192xbf16>, %v: tensor<1x70x1x192xbf16>) -> tensor<1x70x1x192xbf16> {
  %o = heddle.attention %q, %k, %v {mask = #heddle.mask<causal>}
    : tensor<1x70x1x192xbf16>, tensor<1x70x1x192xbf16>, tensor<1x70x1x192xbf16> -> tensor<1x70x1x192xbf16>
  return %o : tensor<1x70x1x192xbf16>
}

func.func @causal_192_f16(%q: tensor<1x70x1x192xf16>, %k: tensor<1x70x1x192xf16>, %v: tensor<1x70x1x192xf16>) -> tensor<1x70x1x192xf16> {
  %o = heddle.attention %q, %k, %v {mask = #heddle.mask<causal>}
    : tensor<1x70x1x192xf16>, tensor<1x70x1x192xf16>, tensor<1x70x1x192xf16> -> tensor<1x70x1x192xf16>
  return %o : tensor<1x70x1x192xf16>
}

func.func @causal_192_tf32(%q: tensor<1x70x1x192xf32>, %k: tensor<1x70x1x192xf32>, %v: tensor<1x70x1x192xf32>) -> tensor<1x70x1x192xf32> {
  %o = heddle.attention %q, %k, %v precision = tf32 {mask = #heddle.mask<causal>}
    : tensor<1x70x1x192xf32>, tensor<1x70x1x192xf32>, tensor<1x70x1x192xf32> -> tensor<1x70x1x192xf32>
  return %o : tensor<1x70x1x192xf32>
}

func.func @causal_192_f32(%q: tensor<1x70x1x192xf32>, %k: tensor<1x70x1x192xf32>, %v: tensor<1x70x1x192xf32>) -> tensor<1x70x1x192xf32> {
  %o = heddle.attention %q, %k, %v {mask = #heddle.mask<causal>}
    : tensor<1x70x1x192xf32>, tensor<1x70x1x192xf32>, tensor<1x70x1x192xf32> -> tensor<1x70x1x192xf32>
  return %o : tensor<1x70x1x192xf32>
}

// INPUT 1: normal(1).put(0, range(50, 70), nan)
// INPUT 2: normal(2).put(0, range(50, 70), inf)
func.func @nan_and_inf_in_the_future_192_bf16(%q: tensor<1x70x1x192xbf16>, %k: tensor<1x70x1x192xbf16>, %v: tensor<1x70x1x192xbf16>) -> tensor<1x70x1x192xbf16> {
  %o = heddle.attention %q, %k, %v {mask = #heddle.mask<causal>}
    : tensor<1x70x1x192xbf16>, tensor<1x70x1x192xbf16>, tensor<1x70x1x192xbf16> -> tensor<1x70x1x192xbf16>
  return %o : tensor<1x70x1x192xbf16>
}

// INPUT 2: normal(2).put(0, 40, 0, 3, nan).put(0, 41, 0, 185, -inf).put(0, 60, 0, 100, inf).put(0, 65, 0, 100, -inf)
func.func @nan_and_inf_in_visible_values_192_bf16(%q: tensor<1x70x1x192xbf16>, %k: tensor<1x70x1x192xbf16>, %v: tensor<1x70x1x192xbf16>) -> tensor<1x70x1x192xbf16> {
  %o = heddle.attention %q, %k, %v {mask = #heddle.mask<causal>}
    : tensor<1x70x1x192xbf16>, tensor<1x70x1x192xbf16>, tensor<1x70x1x192xbf16> -> tensor<1x70x1x192xbf16>
  return %o : tensor<1x70x1x192xbf16>
}

// INPUT 1: normal(1).put(0, range(50, 70), nan)
// INPUT 2: normal(2).put(0, range(50, 70), inf)
func.func @nan_and_inf_in_the_future_192_tf32(%q: tensor<1x70x1x192xf32>, %k: tensor<1x70x1x192xf32>, %v: tensor<1x70x1x192xf32>) -> tensor<1x70x1x192xf32> {
  %o = heddle.attention %q, %k, %v precision = tf32 {mask = #heddle.mask<causal>}
    : tensor<1x70x1x192xf32>, tensor<1x70x1x192xf32>, tensor<1x70x1x192xf32> -> tensor<1x70x1x192xf32>
  return %o : tensor<1x70x1x192xf32>
}

// INPUT 2: normal(2).put(0, 40, 0, 3, nan).put(0, 41, 0, 185, -inf).put(0, 60, 0, 100, inf).put(0, 65, 0, 100, -inf)
func.func @nan_and_inf_in_visible_values_192_tf32(%q: tensor<1x70x1x192xf32>, %k: tensor<1x70x1x192xf32>, %v: tensor<1x70x1x192xf32>) -> tensor<1x70x1x192xf32> {
  %o = heddle.attention %q, %k, %v precision = tf32 {mask = #heddle.mask<causal>}
    : tensor<1x70x1x192xf32>, tensor<1x70x1x192xf32>, tensor<1x70x1x192xf32> -> tensor<1x70x1x192xf32>
  return %o : tensor<1x70x1x192xf32>
}

func.func @causal_256_bf16(%q: tensor<1x70x1x256xbf16>, %k: tensor<1x70x1x256xbf16>, %v: tensor<1x70x1x256xbf16>) -> tensor<1x70x1x256xbf16> {
  %o = heddle.attention %q, %k, %v {mask = #heddle.mask<causal>}
    : tensor<1x70x1x256xbf16>, tensor<1x70x1x256xbf16>, tensor<1x70x1x256xbf16> -> tensor<1x70x1x256xbf16>
  return %o : tensor<1x70x1x256xbf16>
}

func.func @causal_256_f16(%q: tensor<1x70x1x256xf16>, %k: tensor<1x70x1x256xf16>, %v: tensor<1x70x1x256xf16>) -> tensor<1x70x1x256xf16> {
  %o = heddle.attention %q, %k, %v {mask = #heddle.mask<causal>}
    : tensor<1x70x1x256xf16>, tensor<1x70x1x256xf16>, tensor<1x70x1x256xf16> -> tensor<1x70x1x256xf16>
  return %o : tensor<1x70x1x256xf16>
}

func.func @causal_256_tf32(%q: tensor<1x70x1x256xf32>, %k: tensor<1x70x1x256xf32>, %v: tensor<1x70x1x256xf32>) -> tensor<1x70x1x256xf32> {
  %o = heddle.attention %q, %k, %v precision = tf32 {mask = #heddle.mask<causal>}
    : tensor<1x70x1x256xf32>, tensor<1x70x1x256xf32>, tensor<1x70x1x256xf32> -> tensor<1x70x1x256xf32>
  return %o : tensor<1x70x1x256xf32>
}

func.func @causal_256_f32(%q: tensor<1x70x1x256xf32>, %k: tensor<1x70x1x256xf32>, %v: tensor<1x70x1x256xf32>) -> tensor<1x70x1x256xf32> {
  %o = heddle.attention %q, %k, %v {mask = #heddle.mask<causal>}
    : tensor<1x70x1x256xf32>, tensor<1x70x1x256xf32>, tensor<1x70x1x256xf32> -> tensor<1x70x1x256xf32>
  return %o : tensor<1x70x1x256xf32>
}

// INPUT 1: normal(1).put(0, range(50, 70), nan)
// INPUT 2: normal(2).put(0, range(50, 70), inf)
func.func @nan_and_inf_in_the_future_256_bf16(%q: tensor<1x70x1x256xbf16>, %k: tensor<1x70x1x256xbf16>, %v: tensor<1x70x1x256xbf16>) -> tensor<1x70x1x256xbf16> {
  %o = heddle.attention %q, %k, %v {mask = #heddle.mask<causal>}
    : tensor<1x70x1x256xbf16>, tensor<1x70x1x256xbf16>, tensor<1x70x1x256xbf16> -> tensor<1x70x1x256xbf16>
  return %o : tensor<1x70x1x256xbf16>
}

// INPUT 2: normal(2).put(0, 40, 0, 3, nan).put(0, 41, 0, 249, -inf).put(0, 60, 0, 100, inf).put(0, 65, 0, 100, -inf)
func.func @nan_and_inf_in_visible_values_256_bf16(%q: tensor<1x70x1x256xbf16>, %k: tensor<1x70x1x256xbf16>, %v: tensor<1x70x1x256xbf16>) -> tensor<1x70x1x256xbf16> {
  %o = heddle.attention %q, %k, %v {mask = #heddle.mask<causal>}
    : tensor<1x70x1x256xbf16>, tensor<1x70x1x256xbf16>, tensor<1x70x1x256xbf16> -> tensor<1x70x1x256xbf16>
  return %o : tensor<1x70x1x256xbf16>
}

// INPUT 1: normal(1).put(0, range(50, 70), nan)
// INPUT 2: normal(2).put(0, range(50, 70), inf)
func.func @nan_and_inf_in_the_future_256_tf32(%q: tensor<1x70x1x256xf32>, %k: tensor<1x70x1x256xf32>, %v: tensor<1x70x1x256xf32>) -> tensor<1x70x1x256xf32> {
  %o = heddle.attention %q, %k, %v precision = tf32 {mask = #heddle.mask<causal>}
    : tensor<1x70x1x256xf32>, tensor<1x70x1x256xf32>, tensor<1x70x1x256xf32> -> tensor<1x70x1x256xf32>
  return %o : tensor<1x70x1x256xf32>
}

// INPUT 2: normal(2).put(0, 40, 0, 3, nan).put(0, 41, 0, 249, -inf).put(0, 60, 0, 100, inf).put(0, 65, 0, 100, -inf)
func.func @nan_and_inf_in_visible_values_256_tf32(%q: tensor<1x70x1x256xf32>, %k: tensor<1x70x1x256xf32>, %v: tensor<1x70x1x256xf32>) -> tensor<1x70x1x256xf32> {
  %o = heddle.attention %q, %k, %v precision = tf32 {mask = #heddle.mask<causal>}
    : tensor<1x70x1x256xf32>, tensor<1x70x1x256xf32>, tensor<1x70x1x256xf32> -> tensor<1x70x1x256xf32>
  return %o : tensor<1x70x1x256xf32>
}

func.func @grouped_192_128_bf16(%q: tensor<1x2x70x192xbf16>, %k: tensor<1x1x90x192xbf16>, %v: tensor<1x1x90x128xbf16>) -> tensor<1x2x70x128xbf16> {
  %o = heddle.attention %q, %k, %v layout = bhsd {mask = #heddle.mask<causal_lower_right>}
    : tensor<1x2x70x192xbf16>, tensor<1x1x90x192xbf16>, tensor<1x1x90x128xbf16> -> tensor<1x2x70x128xbf16>
  return %o : tensor<1x2x70x128xbf16>
}

func.func @grouped_192_128_f16(%q: tensor<1x2x70x192xf16>, %k: tensor<1x1x90x192xf16>, %v: tensor<1x1x90x128xf16>) -> tensor<1x2x70x128xf16> {
  %o = heddle.attention %q, %k, %v layout = bhsd {mask = #heddle.mask<causal_lower_right>}
    : tensor<1x2x70x192xf16>, tensor<1x1x90x192xf16>, tensor<1x1x90x128xf16> -> tensor<1x2x70x128xf16>
  return %o : tensor<1x2x70x128xf16>
}

func.func @grouped_192_128_tf32(%q: tensor<1x2x70x192xf32>, %k: tensor<1x1x90x192xf32>, %v: tensor<1x1x90x128xf32>) -> tensor<1x2x70x128xf32> {
  %o = heddle.attention %q, %k, %v layout = bhsd precision = tf32 {mask = #heddle.mask<causal_lower_right>}
    : tensor<1x2x70x192xf32>, tensor<1x1x90x192xf32>, tensor<1x1x90x128xf32> -> tensor<1x2x70x128xf32>
  return %o : tensor<1x2x70x128xf32>
}

func.func @full_160_bf16(%q: tensor<1x70x1x160xbf16>, %k: tensor<1x70x1x160xbf16>, %v: tensor<1x70x1x160xbf16>) -> tensor<1x70x1x160xbf16> {
  %o = heddle.attention %q, %k, %v
    : tensor<1x70x1x160xbf16>, tensor<1x70x1x160xbf16>, tensor<1x70x1x160xbf16> -> tensor<1x70x1x160xbf16>
  return %o : tensor<1x70x1x160xbf16>
}

func.func @full_129_bf16(%q: tensor<1x40x1x129xbf16>, %k: tensor<1x70x1x129xbf16>, %v: tensor<1x70x1x129xbf16>) -> tensor<1x40x1x129xbf16> {
  %o = heddle.attention %q, %k, %v
    : tensor<1x40x1x129xbf16>, tensor<1x70x1x129xbf16>, tensor<1x70x1x129xbf16> -> tensor<1x40x1x129xbf16>
  return %o : tensor<1x40x1x129xbf16>
}

func.func @window_64_256_bf16(%q: tensor<1x70x1x64xbf16>, %k: tensor<1x70x1x64xbf16>, %v: tensor<1x70x1x256xbf16>) -> tensor<1x70x1x256xbf16> {
  %o = heddle.attention %q, %k, %v {mask = #heddle.mask<window<20, 3>>}
    : tensor<1x70x1x64xbf16>, tensor<1x70x1x64xbf16>, tensor<1x70x1x256xbf16> -> tensor<1x70x1x256xbf16>
  return %o : tensor<1x70x1x256xbf16>
}
