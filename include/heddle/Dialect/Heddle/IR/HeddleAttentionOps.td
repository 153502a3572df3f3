//===- HeddleAttentionOps.td - attention ----------------------------------===//

#ifndef HEDDLE_ATTENTION_OPS_TD
#define HEDDLE_ATTENTION_OPS_TD

include "heddle/Dialect/Heddle/IR/HeddleBase.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/TilingInterface.td"

def Heddle_AttentionOp : Heddle_Op<"attention",
    [Pure, AttrSizedOperandSegments,
     DeclareOpInterfaceMethods<ReifyRankedShapedTypeOpInterface,
       ["reifyResultShapes"]>,
     DeclareOpInterfaceMethods<TilingInterface,
       ["getLoopIteratorTypes", "getIterationDomain", "getTiledImplementation",
        "getResultTilePosition"]>]> {
  let summary = "softmax attention with masks, bias and a score region";
  let description = [{
    For every batch entry `b`, query head `h` and query position `i`:

    ```
    s[j]   = score(scale * dot(q[i], k[j]), b, h, i, j) + bias[b, h, i, j]
    s[j]   = -inf where (i, j) is masked
    m      = max(max_j s[j], sink[h])
    p[j]   = exp(s[j] - m)
    z      = sum_j p[j] + exp(sink[h] - m)
    out[i] = sum_j p[j] * v[j] / z
    lse[i] = m + ln(z)
    ```

    Shapes, with `layout = bshd` (the default); `bhsd` swaps axes 1 and 2 of
    query, key, value and out, of nothing else:

    | value | shape | type |
    |---|---|---|
    | query | (B, Sq, H, d_qk) | float, equal for q, k, v, out |
    | key | (B, Sk, Hk, d_qk) | |
    | value | (B, Sk, Hk, d_v) | |
    | out | (B, Sq, H, d_v) | |
    | lse | (B, H, Sq) | f32, optional |
    | bias | (B or 1, H or 1, Sq or 1, Sk or 1) | float |
    | query_segments, key_segments | (B, Sq), (B, Sk) | i32, both or none |
    | key_lengths | (B) | i32 |
    | mask_tensor | (B or 1, H or 1, Sq or 1, Sk or 1) | i1, true is visible |
    | sinks | (H) | f32 |

    Conventions:

    - `scale` defaults to 1/sqrt(d_qk). The order is: scale, score region, bias,
      mask.
    - H is a multiple of Hk. Groups are contiguous: query head `h` reads
      key head `h floordiv (H / Hk)`.
    - A pair (i, j) is visible when the static `mask` holds, the segment ids are
      equal, `j < key_lengths[b]`, and `mask_tensor` is true, and the bias is
      above the lowest finite number of its type: graphs spell masks that way.
    - Masking selects, it never multiplies: a NaN in a masked key or value does
      not reach the output, a NaN in a visible one does.
    - A row with no visible key gives output 0 and zero gradients. Its lse is
      -inf, or the sink of its head where there are sinks. A row whose scores
      are all -inf counts as such a row.
    - `sinks` is an extra logit per head that only joins the denominator.
    - lse is a natural logarithm.
    - Products accumulate in f32. For f16 and bf16 `p` is rounded to that type
      before the product with v. `precision = tf32` allows q, k, p and v of f32
      attention to be rounded to TF32; the default is IEEE.

    The optional score region maps one f32 score and the positions (b, h, i, j)
    to an f32 score. It has no side effects and may capture values, such as a
    table of slopes that it reads with `tensor.extract`.

    Constraints:

    - /*attention_c1*/ query, key and value are rank 4 with one float element
      type.
    - /*attention_c2*/ key has the batch size of query and its d_qk.
    - /*attention_c3*/ value has the batch size, the length and the heads of key.
    - /*attention_c4*/ d_qk, d_v, H and Hk are at least 1.
    - /*attention_c5*/ H is divisible by Hk.
    - /*attention_c6*/ out has the shape above and the type of query.
    - /*attention_c7*/ lse is f32 of shape (B, H, Sq).
    - /*attention_c8*/ bias is a float tensor that broadcasts to (B, H, Sq, Sk).
    - /*attention_c9*/ segment ids come in pairs, i32, of shapes (B, Sq), (B, Sk).
    - /*attention_c10*/ key_lengths is i32 of shape (B).
    - /*attention_c11*/ mask_tensor is i1 and broadcasts to (B, H, Sq, Sk).
    - /*attention_c12*/ sinks is f32 of shape (H).
    - /*attention_c13*/ a mask with bare `causal` needs Sq = Sk.
    - /*attention_c14*/ the score region takes (f32, index, index, index, index).
    - /*attention_c15*/ the score region yields one f32.
    - /*attention_c16*/ the score region has no side effects.
    - /*attention_c17*/ scale is finite.

    Created by model builders; kept whole by fusion, which
    makes it a kernel; `heddle-decompose-attention` rewrites it to linalg.

    Tiling: the op implements `TilingInterface` over (B, H, Sq). Tiles of
    query rows need a mask without row positions (`prefix` or none), because a
    sliced op counts its rows from 0; tiles of heads need H = Hk, or Hk = 1, or a
    constant aligned offset.

    Example:

    ```mlir
    func.func @softcapped(%q: tensor<2x64x8x32xbf16>, %k: tensor<2x96x2x32xbf16>,
                          %v: tensor<2x96x2x16xbf16>, %len: tensor<2xi32>)
        -> (tensor<2x64x8x16xbf16>, tensor<2x8x64xf32>) {
      %out, %lse = heddle.attention %q, %k, %v key_lengths(%len : tensor<2xi32>)
        score {
        ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
          %cap = arith.constant 5.0e+01 : f32
          %x = arith.divf %s, %cap : f32
          %t = math.tanh %x : f32
          %y = arith.mulf %t, %cap : f32
          heddle.yield %y : f32
        }
        {mask = #heddle.mask<intersection<causal_lower_right, window<32, 0>>>}
        : tensor<2x64x8x32xbf16>, tensor<2x96x2x32xbf16>, tensor<2x96x2x16xbf16>
        -> tensor<2x64x8x16xbf16>, tensor<2x8x64xf32>
      return %out, %lse : tensor<2x64x8x16xbf16>, tensor<2x8x64xf32>
    }
    ```
  }];
  let arguments = (ins
    AnyRankedTensor:$query, AnyRankedTensor:$key, AnyRankedTensor:$value,
    Optional<AnyRankedTensor>:$bias,
    Optional<AnyRankedTensor>:$query_segments,
    Optional<AnyRankedTensor>:$key_segments,
    Optional<AnyRankedTensor>:$key_lengths,
    Optional<AnyRankedTensor>:$mask_tensor,
    Optional<AnyRankedTensor>:$sinks,
    DefaultValuedAttr<Heddle_AttentionLayout, "::heddle::AttentionLayout::BSHD">:$layout,
    OptionalAttr<F64Attr>:$scale,
    OptionalAttr<Heddle_MaskAttr>:$mask,
    DefaultValuedAttr<Heddle_Precision, "::heddle::Precision::IEEE">:$precision
  );
  let results = (outs AnyRankedTensor:$out, Optional<AnyRankedTensor>:$lse);
  let regions = (region MaxSizedRegion<1>:$score);
  let assemblyFormat = [{
    $query `,` $key `,` $value
    oilist(`bias` `(` $bias `:` type($bias) `)`
      | `query_segments` `(` $query_segments `:` type($query_segments) `)`
      | `key_segments` `(` $key_segments `:` type($key_segments) `)`
      | `key_lengths` `(` $key_lengths `:` type($key_lengths) `)`
      | `mask_tensor` `(` $mask_tensor `:` type($mask_tensor) `)`
      | `sinks` `(` $sinks `:` type($sinks) `)`
      | `layout` `=` $layout | `precision` `=` $precision)
    (`score` $score^)? attr-dict `:` type($query) `,` type($key) `,` type($value)
    `->` type(results)
  }];
  let builders = [
    // q, k, v and a mask (or null); result types follow.
    OpBuilder<(ins "::mlir::Value":$query, "::mlir::Value":$key,
      "::mlir::Value":$value, CArg<"::heddle::MaskAttr", "{}">:$mask,
      CArg<"bool", "false">:$withLse,
      CArg<"::heddle::AttentionLayout", "::heddle::AttentionLayout::BSHD">:$layout)>
  ];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let hasCanonicalizer = 1;
  let extraClassDeclaration = [{
    /// Sizes by role, whatever the layout is.
    int64_t getBatch();
    int64_t getQueryHeads();
    int64_t getKeyHeads();
    int64_t getQueryLength();
    int64_t getKeyLength();
    int64_t getQueryHeadDim();
    int64_t getValueHeadDim();
    /// Query heads that share one key head.
    int64_t getGroupSize() { return getQueryHeads() / getKeyHeads(); }
    /// The factor on q.k: the `scale` attribute or 1/sqrt(d_qk).
    double getEffectiveScale();
    /// Types of out and lse for these operands.
    static ::mlir::RankedTensorType inferOutType(::mlir::Type query,
        ::mlir::Type value);
    static ::mlir::RankedTensorType inferLseType(::mlir::Type query,
        ::heddle::AttentionLayout layout);
  }];
}

#endif // HEDDLE_ATTENTION_OPS_TD
