//===- HeddleScanGradOps.td - gradients of the scans ----------------------===//

#ifndef HEDDLE_SCAN_GRAD_OPS_TD
#define HEDDLE_SCAN_GRAD_OPS_TD

include "heddle/Dialect/Heddle/IR/HeddleBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Heddle_SelectiveScanGradOp : Heddle_Op<"selective_scan_grad",
    [Pure, AttrSizedOperandSegments, AttrSizedResultSegments]> {
  let summary = "gradients of a selective scan";
  let description = [{
    Operands and attributes of a `heddle.selective_scan`, the cotangent `dy` of
    its y and, where its final state is used, `dfinal_state`. With the decay
    `e_t[n] = exp(dt_t * a[n])`, `x_t = dt_t * u_t`, `h_t` the state after step t,
    `s_t` the output before the gate and `ds_t` its cotangent, backwards in
    walking order from `g = dfinal_state` (zero without it):

    ```
    ds       = dy * silu(z)             dz += dy * s * silu'(z)
    q[n]     = g[n] + c[n] * ds         dc[n] += ds * h_t[n]
    dx       = sum_n q[n] * b[n]        db[n] += q[n] * x
    k[n]     = e[n] * h_{t-1}[n]        (0 where a segment starts)
    da[n]   += q[n] * k[n] * dt
    du       = dx * dt + d * ds         dd += ds * u
    ddt      = dx * u + sum_n q[n] * k[n] * a[n]
    ddelta   = ddt * softplus'(..)      ddelta_bias += ddelta
    g[n]     = e[n] * q[n]              (0 where a segment starts)
    ```

    The last `g` is the gradient of the initial state. Sums run over all that
    shares an operand: b and c over the channels of a group, a, d and delta_bias
    over batch and time. softplus' is 1 above 20. L = 0 returns dfinal_state as
    the gradient of the initial state and zeros.

    Only states at the boundaries of chunks are kept; those of a chunk are made
    again. With `chunk = T` the ones at the boundaries are `chunk_states`, as a
    `heddle.selective_scan` of the same operands leaves them; the gradients are
    the same. With `partial_sums = S` the sums over channels and over the batch are
    left to other kernels: db and dc have a leading axis of S parts of the
    channels, da, dd and ddelta_bias a leading axis B, all f32. A single part of
    db and dc may have the type of b instead. `scratch` is memory for the blocks
    of a GPU, f32, with no meaning afterwards.

    `heddle-chunk-scans` gives each of C chunks of time its own initial state and
    the cotangent of its own final state, both (B, C, D, N) in the order of time;
    chunks are those of `heddle.linear_scan_maps`, as the scan walks. The gradient
    of the initial state is that of the first chunk walked, (B, D, N), and the
    leading axis of da, dd and ddelta_bias is B * C. `fresh` is as in
    `heddle.selective_scan`.

    Constraints:

    - /*selective_scan_grad_c1*/ the operands are those of a
      `heddle.selective_scan`, and dy has the type of its y.
    - /*selective_scan_grad_c2*/ dfinal_state is f32 (B, D, N), or of the shape of
      initial states of chunks, exactly with these.
    - /*selective_scan_grad_c3*/ gradients of d, z, delta_bias and initial_state
      are there exactly when these are.
    - /*selective_scan_grad_c4*/ gradients have the types of their operands.
    - /*selective_scan_grad_c5*/ partial_sums is positive, and gradients of
      shared operands are f32 with a leading axis then; db and dc of one part
      are f32 or of the type of b.
    - /*selective_scan_grad_c6*/ chunk_states come exactly with a chunk, which is
      positive, and are f32 (B, max(1, ceil(L / chunk)) - 1, D, N).
    - /*selective_scan_grad_c7*/ scratch is f32 of rank 2 and needs partial_sums.
    - /*selective_scan_grad_c8*/ C is at least 2, each of C chunks has a step,
      and chunks go without chunk_states.

    Created by differentiation; becomes a scan kernel. `heddle-split-scans` adds
    `partial_sums`.

    Example:

    ```mlir
    func.func @mamba_grad(%u: tensor<2x64x8xf32>, %dt: tensor<2x64x8xf32>,
                          %a: tensor<8x16xf32>, %b: tensor<2x64x16xf32>,
                          %c: tensor<2x64x16xf32>, %d: tensor<8xf32>,
                          %dy: tensor<2x64x8xf32>)
        -> (tensor<8x16xf32>, tensor<8xf32>) {
      %du, %ddt, %da, %db, %dc, %dd =
        heddle.selective_scan_grad %u, %dt, %a, %b, %c, %dy d(%d : tensor<8xf32>)
        {delta_softplus}
        : tensor<2x64x8xf32>, tensor<2x64x8xf32>, tensor<8x16xf32>,
          tensor<2x64x16xf32>, tensor<2x64x16xf32>, tensor<2x64x8xf32>
        -> (tensor<2x64x8xf32>, tensor<2x64x8xf32>, tensor<8x16xf32>,
            tensor<2x64x16xf32>, tensor<2x64x16xf32>, d tensor<8xf32>)
      return %da, %dd : tensor<8x16xf32>, tensor<8xf32>
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
    AnyRankedTensor:$dy, Optional<AnyRankedTensor>:$dfinal_state,
    Optional<AnyRankedTensor>:$chunk_states,
    UnitAttr:$delta_softplus, UnitAttr:$reverse,
    OptionalAttr<I64Attr>:$chunk, OptionalAttr<I64Attr>:$partial_sums,
    UnitAttr:$fresh
  );
  let results = (outs
    AnyRankedTensor:$du, AnyRankedTensor:$ddelta, AnyRankedTensor:$da,
    AnyRankedTensor:$db, AnyRankedTensor:$dc,
    Optional<AnyRankedTensor>:$dd, Optional<AnyRankedTensor>:$dz,
    Optional<AnyRankedTensor>:$ddelta_bias,
    Optional<AnyRankedTensor>:$dinitial_state,
    Optional<AnyRankedTensor>:$scratch
  );
  let assemblyFormat = [{
    $u `,` $delta `,` $a `,` $b `,` $c `,` $dy
    oilist(`d` `(` $d `:` type($d) `)` | `z` `(` $z `:` type($z) `)`
      | `delta_bias` `(` $delta_bias `:` type($delta_bias) `)`
      | `initial_state` `(` $initial_state `:` type($initial_state) `)`
      | `reset_ids` `(` $reset_ids `:` type($reset_ids) `)`
      | `dfinal_state` `(` $dfinal_state `:` type($dfinal_state) `)`
      | `chunk_states` `(` $chunk_states `:` type($chunk_states) `)`)
    attr-dict `:` type($u) `,` type($delta) `,` type($a) `,` type($b) `,` type($c)
    `,` type($dy) `->` `(` type($du) `,` type($ddelta) `,` type($da) `,` type($db)
    `,` type($dc) `` custom<ScanGradResults>(type($dd), type($dz),
      type($ddelta_bias), type($dinitial_state), type($scratch)) `)`
  }];
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
  let extraClassDeclaration = [{
    /// Chunks of time with states of their own.
    int64_t numChunks() {
      return getInitialState() ? scanChunks(getInitialState().getType(), 3) : 1;
    }
  }];
}

def Heddle_LinearScanGradOp : Heddle_Op<"linear_scan_grad",
    [Pure, AttrSizedOperandSegments, AttrSizedResultSegments]> {
  let summary = "gradients of a linear scan";
  let description = [{
    `a`, the states `h` that a `heddle.linear_scan` gave, the cotangents `dh` of
    these and, where its final state is used, `dfinal_state`. Backwards in
    walking order, from `g = dfinal_state` (zero without it):

    ```
    db_t = dh_t + g
    da_t = db_t * conj(h_{t-1})   (0 where a segment starts)
    g    = conj(a_t) * db_t       (0 where a segment starts)
    ```

    `h_{t-1}` of the first step is the initial state, and the last `g` is its
    gradient. The gradient of a complex value is the pair of the derivatives by
    its real and by its imaginary part. `da` of an `a` that is constant over time
    is summed over batch and time; with `partial_sums` it is left as f32 sums per
    batch entry, (B, D). L = 0 returns dfinal_state as the gradient of the
    initial state and zeros.

    `heddle-chunk-scans` gives each of C chunks of time the cotangent of its own
    final state: dfinal_state is (B, C, D) in the order of time, chunks are those
    of `heddle.linear_scan_maps`. Sums of da are per chunk then, (B * C, D).

    Constraints:

    - /*linear_scan_grad_c1*/ h is float of shape (B, L, D), dh has its type.
    - /*linear_scan_grad_c2*/ a has the shape (B, L, D) or (D) and the type of h.
    - /*linear_scan_grad_c3*/ a_imag, h_imag and dh_imag come together, with the
      types of their real parts.
    - /*linear_scan_grad_c4*/ states are f32 of shape (B, D), dfinal_state also
      (B, C, D); the imaginary part is there exactly when the scan is complex and
      the real part is there.
    - /*linear_scan_grad_c5*/ reset_ids is i32 of shape (B, L).
    - /*linear_scan_grad_c6*/ db has the type of h, gradients of a and of the
      initial state have its type, and imaginary parts are there exactly when
      those of the operands are.
    - /*linear_scan_grad_c7*/ partial_sums needs an `a` that is constant over
      time; da is f32 (B, D), or (B * C, D), then.
    - /*linear_scan_grad_c8*/ C is at least 2, and each of C chunks has a step.

    Created by differentiation; a second derivative goes through
    `heddle-decompose-scan-grad`. Becomes a scan kernel; `heddle-split-scans`
    adds `partial_sums`.

    Example:

    ```mlir
    func.func @lru_grad(%a: tensor<8xf32>, %ai: tensor<8xf32>,
                        %h: tensor<2x64x8xf32>, %hi: tensor<2x64x8xf32>,
                        %dh: tensor<2x64x8xf32>, %dhi: tensor<2x64x8xf32>)
        -> (tensor<8xf32>, tensor<8xf32>) {
      %da, %db, %dai, %dbi = heddle.linear_scan_grad %a, %h, %dh
        imag(%ai, %hi, %dhi : tensor<8xf32>, tensor<2x64x8xf32>, tensor<2x64x8xf32>)
        : tensor<8xf32>, tensor<2x64x8xf32>, tensor<2x64x8xf32>
        -> (tensor<8xf32>, tensor<2x64x8xf32>, a_imag tensor<8xf32>,
            b_imag tensor<2x64x8xf32>)
      return %da, %dai : tensor<8xf32>, tensor<8xf32>
    }
    ```
  }];
  let arguments = (ins
    AnyRankedTensor:$a, AnyRankedTensor:$h, AnyRankedTensor:$dh,
    Optional<AnyRankedTensor>:$a_imag, Optional<AnyRankedTensor>:$h_imag,
    Optional<AnyRankedTensor>:$dh_imag,
    Optional<AnyRankedTensor>:$initial_state,
    Optional<AnyRankedTensor>:$initial_state_imag,
    Optional<AnyRankedTensor>:$dfinal_state,
    Optional<AnyRankedTensor>:$dfinal_state_imag,
    Optional<AnyRankedTensor>:$reset_ids,
    UnitAttr:$reverse, UnitAttr:$partial_sums
  );
  let results = (outs
    AnyRankedTensor:$da, AnyRankedTensor:$db,
    Optional<AnyRankedTensor>:$da_imag, Optional<AnyRankedTensor>:$db_imag,
    Optional<AnyRankedTensor>:$dinitial_state,
    Optional<AnyRankedTensor>:$dinitial_state_imag
  );
  let assemblyFormat = [{
    $a `,` $h `,` $dh
    oilist(`imag` `(` $a_imag `,` $h_imag `,` $dh_imag `:` type($a_imag) `,`
        type($h_imag) `,` type($dh_imag) `)`
      | `initial_state` `(` $initial_state `:` type($initial_state) `)`
      | `initial_state_imag` `(` $initial_state_imag `:` type($initial_state_imag) `)`
      | `dfinal_state` `(` $dfinal_state `:` type($dfinal_state) `)`
      | `dfinal_state_imag` `(` $dfinal_state_imag `:` type($dfinal_state_imag) `)`
      | `reset_ids` `(` $reset_ids `:` type($reset_ids) `)`)
    attr-dict `:` type($a) `,` type($h) `,` type($dh) `->` `(` type($da) `,`
    type($db) `` custom<LinearScanGradResults>(type($da_imag), type($db_imag),
      type($dinitial_state), type($dinitial_state_imag)) `)`
  }];
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
  let extraClassDeclaration = [{
    /// Whether a, h and their gradients are pairs of real tensors.
    bool isComplex() { return static_cast<bool>(getAImag()); }
    /// Whether `a` does not change over time.
    bool hasConstantDecay() { return getA().getType().getRank() == 1; }
    /// Chunks of time with a cotangent of their own final state.
    int64_t numChunks() {
      return getDfinalState() ? scanChunks(getDfinalState().getType(), 2) : 1;
    }
  }];
}

#endif // HEDDLE_SCAN_GRAD_OPS_TD
