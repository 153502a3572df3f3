//===- HeddleScanMapOps.td - what chunks of scans do to states ------------===//

#ifndef HEDDLE_SCAN_MAP_OPS_TD
#define HEDDLE_SCAN_MAP_OPS_TD

include "heddle/Dialect/Heddle/IR/HeddleBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Heddle_LinearScanMapsOp : Heddle_Op<"linear_scan_maps",
    [Pure, AttrSizedOperandSegments, AttrSizedResultSegments]> {
  let summary = "what the chunks of a linear scan make of their first state";
  let description = [{
    Time is cut into C chunks of `ceil(L / C)` steps, rounded up to a multiple of
    16, counted in walking order. A chunk makes `decay * h + state` of the state
    `h` that enters it. The entry of a chunk is the map of the one that is walked
    before it, and the identity, decay 1 and state 0, for the first: a
    `heddle.linear_scan` over the entries, the same way round, with `nan_resets`
    and from the initial state, gives the states that enter the chunks. Entries
    are in the order of time, from t = 0 on. The last chunk is not read.

    Where a segment starts in a chunk, (the real part of) its decay is NaN:
    nothing of h is left. Products of decays stop at the largest number of f32, so
    that a state of zero stays zero.

    With `gradient` the walk is that of the `heddle.linear_scan_grad` of a scan
    with this `reverse`, the other way round: b is the cotangent dh, and a step
    makes `conj(a_t) * (g + dh_t)` of g, or 0 where a segment starts.

    Constraints:

    - /*linear_scan_maps_c1*/ b is float of shape (B, L, D); a has the shape
      (B, L, D) or (D) and the type of b.
    - /*linear_scan_maps_c2*/ a_imag and b_imag come together, with the types of
      a, b.
    - /*linear_scan_maps_c3*/ results are f32 of shape (B, C, D), and imaginary
      parts are there exactly when a_imag is.
    - /*linear_scan_maps_c4*/ reset_ids is i32 of shape (B, L).
    - /*linear_scan_maps_c5*/ there are 2 chunks at least, and each has a step.

    Created by `heddle-chunk-scans`; becomes a scan kernel of a GPU.

    Example:

    ```mlir
    func.func @maps(%a: tensor<2x64x8xf32>, %b: tensor<2x64x8xf32>)
        -> (tensor<2x4x8xf32>, tensor<2x4x8xf32>) {
      %decay, %state = heddle.linear_scan_maps %a, %b
        : tensor<2x64x8xf32>, tensor<2x64x8xf32>
        -> (tensor<2x4x8xf32>, tensor<2x4x8xf32>)
      return %decay, %state : tensor<2x4x8xf32>, tensor<2x4x8xf32>
    }
    ```
  }];
  let arguments = (ins
    AnyRankedTensor:$a, AnyRankedTensor:$b,
    Optional<AnyRankedTensor>:$a_imag, Optional<AnyRankedTensor>:$b_imag,
    Optional<AnyRankedTensor>:$reset_ids,
    UnitAttr:$reverse, UnitAttr:$gradient
  );
  let results = (outs AnyRankedTensor:$decay, AnyRankedTensor:$state,
    Optional<AnyRankedTensor>:$decay_imag, Optional<AnyRankedTensor>:$state_imag);
  let assemblyFormat = [{
    $a `,` $b
    oilist(`imag` `(` $a_imag `,` $b_imag `:` type($a_imag) `,` type($b_imag) `)`
      | `reset_ids` `(` $reset_ids `:` type($reset_ids) `)`)
    attr-dict `:` type($a) `,` type($b) `->` `(` type($decay) `,` type($state) ``
    custom<ScanMapResults>(type($decay_imag), type($state_imag)) `)`
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Whether a, b and the results are pairs of real tensors.
    bool isComplex() { return static_cast<bool>(getAImag()); }
    /// Whether `a` does not change over time.
    bool hasConstantDecay() { return getA().getType().getRank() == 1; }
    int64_t numChunks() { return getDecay().getType().getDimSize(1); }
  }];
}

def Heddle_SelectiveScanMapsOp : Heddle_Op<"selective_scan_maps",
    [Pure, AttrSizedOperandSegments]> {
  let summary = "what the chunks of a selective scan make of their first states";
  let description = [{
    What `heddle.linear_scan_maps` is, for each state of the channels of a
    `heddle.selective_scan`: decay is the exponential of a * dt summed over the
    chunk.

    With `gradient` the walk is that of the `heddle.selective_scan_grad` of a scan
    with this `reverse`, the other way round, over the same chunks as the scan: u
    is the cotangent dy, b is c, z the gate, and a step makes
    `exp(dt * a) * (g + c * dy * silu(z))` of g, or 0 where a segment starts.

    Constraints:

    - /*selective_scan_maps_c1*/ operands are those of a `heddle.selective_scan`.
    - /*selective_scan_maps_c2*/ results are f32 of shape (B, C, D, N).
    - /*selective_scan_maps_c3*/ there are 2 chunks at least, and each has a step.
    - /*selective_scan_maps_c4*/ z needs gradient.

    Created by `heddle-chunk-scans`; becomes a scan kernel of a GPU.

    Example:

    ```mlir
    func.func @maps(%u: tensor<2x64x8xf32>, %dt: tensor<2x64x8xf32>,
                    %a: tensor<8x16xf32>, %b: tensor<2x64x16xf32>)
        -> tensor<2x4x8x16xf32> {
      %decay, %state = heddle.selective_scan_maps %u, %dt, %a, %b
        {delta_softplus} : tensor<2x64x8xf32>, tensor<2x64x8xf32>,
          tensor<8x16xf32>, tensor<2x64x16xf32>
        -> tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>
      return %decay : tensor<2x4x8x16xf32>
    }
    ```
  }];
  let arguments = (ins
    AnyRankedTensor:$u, AnyRankedTensor:$delta, AnyRankedTensor:$a,
    AnyRankedTensor:$b, Optional<AnyRankedTensor>:$z,
    Optional<AnyRankedTensor>:$delta_bias, Optional<AnyRankedTensor>:$reset_ids,
    UnitAttr:$delta_softplus, UnitAttr:$reverse, UnitAttr:$gradient
  );
  let results = (outs AnyRankedTensor:$decay, AnyRankedTensor:$state);
  let assemblyFormat = [{
    $u `,` $delta `,` $a `,` $b
    oilist(`z` `(` $z `:` type($z) `)`
      | `delta_bias` `(` $delta_bias `:` type($delta_bias) `)`
      | `reset_ids` `(` $reset_ids `:` type($reset_ids) `)`)
    attr-dict `:` type($u) `,` type($delta) `,` type($a) `,` type($b)
    `->` type($decay) `,` type($state)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    int64_t numChunks() { return getDecay().getType().getDimSize(1); }
  }];
}

#endif // HEDDLE_SCAN_MAP_OPS_TD
