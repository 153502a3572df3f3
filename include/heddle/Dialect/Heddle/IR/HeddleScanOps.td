//===- HeddleScanOps.td - selective scan, SSD, linear scan ----------------===//

#ifndef HEDDLE_SCAN_OPS_TD
#define HEDDLE_SCAN_OPS_TD

include "heddle/Dialect/Heddle/IR/HeddleBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Heddle_SelectiveScanOp : Heddle_Op<"selective_scan",
    [Pure, AttrSizedOperandSegments, AttrSizedResultSegments]> {
  let summary = "selective state-space scan (Mamba)";
  let description = [{
    For every batch entry and channel `d`, with state `h[n]` over N entries:

    ```
    dt     = delta_t[d] + delta_bias[d]          (softplus of it if delta_softplus)
    h_t[n] = exp(dt * a[d, n]) * h_{t-1}[n] + dt * b_t[n] * u_t[d]
    y_t[d] = sum_n c_t[n] * h_t[n] + d[d] * u_t[d]
    y_t[d] = y_t[d] * z_t[d] * sigmoid(z_t[d])   (if z is given)
    ```

    | value | shape | type |
    |---|---|---|
    | u, delta, z, y | (B, L, D) | float; z and y as u |
    | a | (D, N) | f32 |
    | b, c | (B, L, N) or (B, L, G, N), G divides D | float |
    | d, delta_bias | (D) | float |
    | initial_state, final_state | (B, D, N) | f32 |
    | reset_ids | (B, L) | i32 |
    | chunk_states | (B, ceil(L / chunk) - 1, D, N) | f32 |

    Conventions: softplus(x) = x above 20. Groups are contiguous: channel `d`
    reads group `d floordiv (D / G)`. `reverse` walks from L - 1 to 0; the
    initial state enters at L - 1 and the final state leaves at 0. A reset
    happens at each t whose id differs from the id before it in walking order.
    At a reset, and at the first step where there is no `initial_state`, no state
    comes before: the step has its own term alone, `h = dt * b * u`, whatever its
    decay, an infinite one too. A given initial state is multiplied, one of zeros
    too. L = 0 returns the initial state, or zeros. The state is f32.

    With `chunk = T` the scan leaves the states that its gradient starts from:
    `chunk_states[:, i]` are those after step `(i + 1) * T - 1` in walking order,
    as they are before any reset. They carry no gradient. GPUs alone have them;
    `heddle-keep-scan-states` adds them.

    `heddle-chunk-scans` gives each of C chunks of time an initial state of its
    own, of shape (B, C, D, N) in the order of time; chunks are those of
    `heddle.linear_scan_maps`, the final state is that of the last one walked.
    With `fresh` no state comes before the first step of all; the first chunk has
    zeros then.

    Constraints:

    - /*selective_scan_c1*/ u is float of shape (B, L, D).
    - /*selective_scan_c2*/ delta is float of shape (B, L, D).
    - /*selective_scan_c3*/ a is f32 of shape (D, N).
    - /*selective_scan_c4*/ b and c are float of shape (B, L, N) or (B, L, G, N).
    - /*selective_scan_c5*/ D is divisible by G.
    - /*selective_scan_c6*/ d and delta_bias are float of shape (D).
    - /*selective_scan_c7*/ z has the type of u.
    - /*selective_scan_c8*/ initial_state and final_state are f32 (B, D, N), or
      initial_state is (B, C, D, N) with C > 1 and each of C chunks has a step.
    - /*selective_scan_c9*/ reset_ids is i32 of shape (B, L).
    - /*selective_scan_c10*/ y has the type of u.
    - /*selective_scan_c11*/ chunk_states come exactly with a chunk, which is
      positive, and are f32 (B, max(1, ceil(L / chunk)) - 1, D, N).
    - /*selective_scan_c12*/ fresh needs initial states of chunks.

    Created by model builders; becomes a scan kernel.

    Example:

    ```mlir
    func.func @mamba(%u: tensor<2x64x8xf32>, %dt: tensor<2x64x8xf32>,
                     %a: tensor<8x16xf32>, %b: tensor<2x64x16xf32>,
                     %c: tensor<2x64x16xf32>, %d: tensor<8xf32>)
        -> tensor<2x64x8xf32> {
      %y = heddle.selective_scan %u, %dt, %a, %b, %c d(%d : tensor<8xf32>)
        {delta_softplus}
        : tensor<2x64x8xf32>, tensor<2x64x8xf32>, tensor<8x16xf32>,
          tensor<2x64x16xf32>, tensor<2x64x16xf32> -> tensor<2x64x8xf32>
      return %y : tensor<2x64x8xf32>
    }
    ```
  }];
  let arguments = (ins
    AnyRankedTensor:$u, AnyRankedTensor:$delta, AnyRankedTensor:$a,
    AnyRankedTensor:$b, AnyRankedTensor:$c,
    Optional<AnyRankedTensor>:$d, Optional<AnyRankedTensor>:$z,
    Optional<AnyRankedTensor>:$delta_bias,
    Optional<AnyRankedTensor>:$initial_state,
    Optional<AnyRankedTensor>:$reset_ids,
    UnitAttr:$delta_softplus, UnitAttr:$reverse, OptionalAttr<I64Attr>:$chunk,
    UnitAttr:$fresh
  );
  let results = (outs AnyRankedTensor:$y, Optional<AnyRankedTensor>:$final_state,
    Optional<AnyRankedTensor>:$chunk_states);
  let builders = [
    /// Without chunk_states. Types and values may be null where optional.
    OpBuilder<(ins "::mlir::Type":$y, "::mlir::Type":$final_state,
      "::mlir::Value":$u, "::mlir::Value":$delta, "::mlir::Value":$a,
      "::mlir::Value":$b, "::mlir::Value":$c, "::mlir::Value":$d,
      "::mlir::Value":$z, "::mlir::Value":$delta_bias,
      "::mlir::Value":$initial_state, "::mlir::Value":$reset_ids,
      "bool":$delta_softplus, "bool":$reverse, CArg<"bool", "false">:$fresh), [{
      build($_builder, $_state, y, final_state, /*chunk_states=*/::mlir::Type(),
            u, delta, a, b, c, d, z, delta_bias, initial_state, reset_ids,
            delta_softplus, reverse, /*chunk=*/::mlir::IntegerAttr(), fresh);
    }]>
  ];
  let assemblyFormat = [{
    $u `,` $delta `,` $a `,` $b `,` $c
    oilist(`d` `(` $d `:` type($d) `)` | `z` `(` $z `:` type($z) `)`
      | `delta_bias` `(` $delta_bias `:` type($delta_bias) `)`
      | `initial_state` `(` $initial_state `:` type($initial_state) `)`
      | `reset_ids` `(` $reset_ids `:` type($reset_ids) `)`)
    attr-dict `:` type($u) `,` type($delta) `,` type($a) `,` type($b) `,` type($c)
    `->` type($y) `` custom<SelectiveScanResults>(type($final_state),
      type($chunk_states))
  }];
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
  let extraClassDeclaration = [{
    /// Chunks of time with an initial state of their own.
    int64_t numChunks() {
      return getInitialState() ? scanChunks(getInitialState().getType(), 3) : 1;
    }
  }];
}

def Heddle_SsdOp : Heddle_Op<"ssd", [Pure, AttrSizedOperandSegments]> {
  let summary = "state-space duality scan (Mamba-2)";
  let description = [{
    For every batch entry and head `h`, with a matrix state H of dk x dv:

    ```
    H_t   = exp(log_decay_t[h]) * H_{t-1} + k_t v_t^T
    out_t = q_t H_t
    ```

    | value | shape | type |
    |---|---|---|
    | query, key | (B, L, G, dk), G divides H | float, equal for q, k, v, out |
    | value, out | (B, L, H, dv) | |
    | log_decay | (B, L, H) | float |
    | initial_state, final_state | (B, H, dk, dv) | f32 |
    | reset_ids | (B, L) | i32 |

    Conventions: groups are contiguous, head `h` reads group
    `h floordiv (H / G)`. Decay is applied as differences of summed logs, never
    as a ratio of exponentials; with `log_decay_nonpositive` the caller promises
    log_decay <= 0 and such differences are clamped at 0, without it never.
    `reverse`, resets and L = 0 are as in `heddle.selective_scan`.

    Constraints:

    - /*ssd_c1*/ query, key and value are rank 4 with one float element type.
    - /*ssd_c2*/ key has the type of query.
    - /*ssd_c3*/ value has the batch size and the length of query.
    - /*ssd_c4*/ H is divisible by G.
    - /*ssd_c5*/ log_decay is float of shape (B, L, H).
    - /*ssd_c6*/ initial_state and final_state are f32 (B, H, dk, dv).
    - /*ssd_c7*/ reset_ids is i32 of shape (B, L).
    - /*ssd_c8*/ out has the type of value.

    Created by model builders; becomes a scan kernel that
    works chunk by chunk on matrix units.

    Example:

    ```mlir
    func.func @ssd(%q: tensor<2x64x1x16xf32>, %k: tensor<2x64x1x16xf32>,
                   %v: tensor<2x64x4x32xf32>, %a: tensor<2x64x4xf32>)
        -> (tensor<2x64x4x32xf32>, tensor<2x4x16x32xf32>) {
      %out, %state = heddle.ssd %q, %k, %v, %a {log_decay_nonpositive}
        : tensor<2x64x1x16xf32>, tensor<2x64x1x16xf32>, tensor<2x64x4x32xf32>,
          tensor<2x64x4xf32> -> tensor<2x64x4x32xf32>, tensor<2x4x16x32xf32>
      return %out, %state : tensor<2x64x4x32xf32>, tensor<2x4x16x32xf32>
    }
    ```
  }];
  let arguments = (ins
    AnyRankedTensor:$query, AnyRankedTensor:$key, AnyRankedTensor:$value,
    AnyRankedTensor:$log_decay,
    Optional<AnyRankedTensor>:$initial_state,
    Optional<AnyRankedTensor>:$reset_ids,
    UnitAttr:$log_decay_nonpositive, UnitAttr:$reverse
  );
  let results = (outs AnyRankedTensor:$out, Optional<AnyRankedTensor>:$final_state);
  let assemblyFormat = [{
    $query `,` $key `,` $value `,` $log_decay
    oilist(`initial_state` `(` $initial_state `:` type($initial_state) `)`
      | `reset_ids` `(` $reset_ids `:` type($reset_ids) `)`)
    attr-dict `:` type($query) `,` type($key) `,` type($value) `,` type($log_decay)
    `->` type(results)
  }];
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
}

def Heddle_LinearScanOp : Heddle_Op<"linear_scan",
    [Pure, AttrSizedOperandSegments, AttrSizedResultSegments]> {
  let summary = "first-order linear recurrence, real or complex (LRU)";
  let description = [{
    For every batch entry and channel: `h_t = a_t * h_{t-1} + b_t`.

    | value | shape | type |
    |---|---|---|
    | b, h | (B, L, D) | float |
    | a | (B, L, D), or (D): constant over time | as b |
    | a_imag, b_imag, h_imag | as their real parts | as b |
    | initial_state, final_state, and their imag parts | (B, D) | f32 |
    | reset_ids | (B, L) | i32 |

    Complex values are pairs of real tensors: with `imag` operands a, b and h are
    complex, `h_imag` is present, and so are the imaginary parts of the states
    that are present. `reverse`, resets and L = 0 are as in
    `heddle.selective_scan`. The gradient of a linear scan is a reversed one.

    `heddle-chunk-scans` gives each of C chunks of time an initial state of its
    own, of shape (B, C, D) in the order of time; chunks are those of
    `heddle.linear_scan_maps`, the final state is that of the last one walked,
    `fresh` is as in `heddle.selective_scan`. With `nan_resets` a NaN as (the real
    part of) a decay that varies starts a segment.

    Constraints:

    - /*linear_scan_c1*/ b is float of shape (B, L, D).
    - /*linear_scan_c2*/ a has the shape (B, L, D) or (D) and the type of b.
    - /*linear_scan_c3*/ a_imag and b_imag come together, with the types of a, b.
    - /*linear_scan_c4*/ h has the type of b.
    - /*linear_scan_c5*/ h_imag is there exactly when a_imag is, with the type of
      b.
    - /*linear_scan_c6*/ states are f32 of shape (B, D), initial states also
      (B, C, D).
    - /*linear_scan_c7*/ the imaginary part of a state is there exactly when the
      scan is complex and the state's real part is there.
    - /*linear_scan_c8*/ reset_ids is i32 of shape (B, L).
    - /*linear_scan_c9*/ C is at least 2, and each of C chunks has a step.
    - /*linear_scan_c10*/ nan_resets needs an `a` that varies over time.
    - /*linear_scan_c11*/ fresh needs initial states of chunks.

    Created by model builders and by differentiation; becomes
    a scan kernel.

    Example:

    ```mlir
    func.func @lru(%a: tensor<8xf32>, %ai: tensor<8xf32>,
                   %b: tensor<2x64x8xf32>, %bi: tensor<2x64x8xf32>)
        -> (tensor<2x64x8xf32>, tensor<2x64x8xf32>) {
      %h, %hi = heddle.linear_scan %a, %b imag(%ai, %bi : tensor<8xf32>, tensor<2x64x8xf32>)
        {reverse} : tensor<8xf32>, tensor<2x64x8xf32>
        -> (tensor<2x64x8xf32>, imag tensor<2x64x8xf32>)
      return %h, %hi : tensor<2x64x8xf32>, tensor<2x64x8xf32>
    }
    ```
  }];
  let arguments = (ins
    AnyRankedTensor:$a, AnyRankedTensor:$b,
    Optional<AnyRankedTensor>:$a_imag, Optional<AnyRankedTensor>:$b_imag,
    Optional<AnyRankedTensor>:$initial_state,
    Optional<AnyRankedTensor>:$initial_state_imag,
    Optional<AnyRankedTensor>:$reset_ids,
    UnitAttr:$reverse, UnitAttr:$nan_resets, UnitAttr:$fresh
  );
  let results = (outs AnyRankedTensor:$h, Optional<AnyRankedTensor>:$h_imag,
    Optional<AnyRankedTensor>:$final_state,
    Optional<AnyRankedTensor>:$final_state_imag);
  let assemblyFormat = [{
    $a `,` $b
    oilist(`imag` `(` $a_imag `,` $b_imag `:` type($a_imag) `,` type($b_imag) `)`
      | `initial_state` `(` $initial_state `:` type($initial_state) `)`
      | `initial_state_imag` `(` $initial_state_imag `:` type($initial_state_imag) `)`
      | `reset_ids` `(` $reset_ids `:` type($reset_ids) `)`)
    attr-dict `:` type($a) `,` type($b) `->` `(`
    custom<LinearScanResults>(type($h), type($h_imag), type($final_state),
                              type($final_state_imag)) `)`
  }];
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
  let extraClassDeclaration = [{
    /// Whether a, b and h are pairs of real tensors.
    bool isComplex() { return static_cast<bool>(getAImag()); }
    /// Whether `a` does not change over time.
    bool hasConstantDecay() { return getA().getType().getRank() == 1; }
    /// Chunks of time with an initial state of their own.
    int64_t numChunks() {
      return getInitialState() ? scanChunks(getInitialState().getType(), 2) : 1;
    }
  }];
}

#endif // HEDDLE_SCAN_OPS_TD
