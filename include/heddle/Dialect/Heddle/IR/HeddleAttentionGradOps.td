//===- HeddleAttentionGradOps.td - the gradient of attention --------------===//

#ifndef HEDDLE_ATTENTION_GRAD_OPS_TD
#define HEDDLE_ATTENTION_GRAD_OPS_TD

include "heddle/Dialect/Heddle/IR/HeddleBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Heddle_AttentionGradOp : Heddle_Op<"attention_grad",
    [Pure, AttrSizedOperandSegments, AttrSizedResultSegments]> {
  let summary = "gradients of heddle.attention";
  let description = [{
    With the names of `heddle.attention`, and `a[j] = scale * dot(q[i], k[j])`
    the score before the score region:

    ```
    p[j]      = exp(s[j] - lse[i]) where (i, j) is visible, else absent
    dots[i]   = sum_c d_out[i, c] * out[i, c] - d_lse[i]
    ds[j]     = p[j] * (dot(d_out[i], v[j]) - dots[i])
    da[j]     = ds[j] * (d score / d a)[j]
    d_query[i]  = scale * sum_j da[j] * k[j]
    d_key[j]    = scale * sum_i da[j] * q[i]
    d_value[j]  = sum_i p[j] * d_out[i]
    d_bias      = ds, summed over the axes that bias repeats
    d_sinks[h]  = sum_{b, i} -exp(sinks[h] - lse[i]) * dots[i]
    ```

    d_key and d_value sum over the query heads that share a key head. Only the
    results that are named are computed. What the op needs of the forward pass
    is query, key, value, out and lse; no (Sq, Sk) tensor is kept or made but
    bias and d_bias themselves.

    Shapes: d_out and out are those of `heddle.attention`'s out, lse, d_lse and
    row_dots are f32 (B, H, Sq), gradients are like what they belong to. The
    masks, bias, segment ids, key lengths, mask tensor, layout, scale and
    precision are those of the forward op.

    `row_dots` is `dots` above. An op that is given it needs neither out nor
    d_lse; an op that has it as a result leaves it for others.

    Conventions, beside those of `heddle.attention`:

    - A pair that is not visible contributes to no gradient, whatever its query,
      key, value or cotangent hold; a NaN there goes nowhere. The gradients of a
      row without visible keys are 0, and so are those of a key that no query
      sees.
    - Products accumulate in f32. For f16 and bf16 `p` and `da` are rounded to
      that type before their products; `precision = tf32` allows operands of
      f32 products to be rounded to TF32.
    - Sums are formed in one fixed order: results are equal to the bit from run
      to run.

    The optional score region is that of the forward op with a second result: it
    maps (score, b, h, i, j) to the new score and to its derivative with respect
    to the first argument. Values that it captures get no gradient.

    Constraints:

    - /*attention_grad_c1*/ query, key, value, bias, segment ids, key_lengths,
      mask_tensor, sinks, mask and scale are as `heddle.attention` takes them.
    - /*attention_grad_c2*/ d_out, and out where there is one, have the shape of
      the attention's out and the type of query.
    - /*attention_grad_c3*/ lse, d_lse and row_dots are f32 of shape (B, H, Sq).
    - /*attention_grad_c4*/ out or row_dots is given, not both, and d_lse only
      with out.
    - /*attention_grad_c5*/ each result has the type of the operand it belongs
      to, or is f32: a gradient that is not rounded.
    - /*attention_grad_c6*/ d_bias needs bias, d_sinks needs sinks, and the op
      has at least one result.
    - /*attention_grad_c7*/ the score region takes (f32, index, index, index,
      index).
    - /*attention_grad_c8*/ the score region yields two f32.
    - /*attention_grad_c9*/ the score region has no side effects.

    Created by the differentiation of `heddle.attention`.
    `heddle-split-attention-grad` makes one op per kernel of it: d_query with
    row_dots, d_key with d_value, d_bias.

    Example:

    ```mlir
    func.func @causal_gradient(%q: tensor<2x64x8x32xbf16>, %k: tensor<2x64x2x32xbf16>,
                               %v: tensor<2x64x2x16xbf16>, %o: tensor<2x64x8x16xbf16>,
                               %lse: tensor<2x8x64xf32>, %g: tensor<2x64x8x16xbf16>)
        -> (tensor<2x64x8x32xbf16>, tensor<2x64x2x32xbf16>, tensor<2x64x2x16xbf16>) {
      %dq, %dk, %dv = heddle.attention_grad %q, %k, %v, %lse, %g
        out(%o : tensor<2x64x8x16xbf16>) {mask = #heddle.mask<causal>}
        : tensor<2x64x8x32xbf16>, tensor<2x64x2x32xbf16>, tensor<2x64x2x16xbf16>,
          tensor<2x8x64xf32>, tensor<2x64x8x16xbf16>
        -> d_query tensor<2x64x8x32xbf16> d_key tensor<2x64x2x32xbf16>
           d_value tensor<2x64x2x16xbf16>
      return %dq, %dk, %dv : tensor<2x64x8x32xbf16>, tensor<2x64x2x32xbf16>, tensor<2x64x2x16xbf16>
    }
    ```
  }];
  let arguments = (ins
    AnyRankedTensor:$query, AnyRankedTensor:$key, AnyRankedTensor:$value,
    AnyRankedTensor:$lse, AnyRankedTensor:$d_out,
    Optional<AnyRankedTensor>:$out,
    Optional<AnyRankedTensor>:$row_dots,
    Optional<AnyRankedTensor>:$d_lse,
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
  let results = (outs
    Optional<AnyRankedTensor>:$d_query, Optional<AnyRankedTensor>:$d_key,
    Optional<AnyRankedTensor>:$d_value, Optional<AnyRankedTensor>:$d_bias,
    Optional<AnyRankedTensor>:$d_sinks,
    Optional<AnyRankedTensor>:$row_dots_out
  );
  let regions = (region MaxSizedRegion<1>:$score);
  let assemblyFormat = [{
    $query `,` $key `,` $value `,` $lse `,` $d_out
    oilist(`out` `(` $out `:` type($out) `)`
      | `row_dots` `(` $row_dots `:` type($row_dots) `)`
      | `d_lse` `(` $d_lse `:` type($d_lse) `)`
      | `bias` `(` $bias `:` type($bias) `)`
      | `query_segments` `(` $query_segments `:` type($query_segments) `)`
      | `key_segments` `(` $key_segments `:` type($key_segments) `)`
      | `key_lengths` `(` $key_lengths `:` type($key_lengths) `)`
      | `mask_tensor` `(` $mask_tensor `:` type($mask_tensor) `)`
      | `sinks` `(` $sinks `:` type($sinks) `)`
      | `layout` `=` $layout | `precision` `=` $precision)
    (`score` $score^)? attr-dict `:` type($query) `,` type($key) `,`
    type($value) `,` type($lse) `,` type($d_out) `->`
    (`d_query` type($d_query)^)? (`d_key` type($d_key)^)?
    (`d_value` type($d_value)^)? (`d_bias` type($d_bias)^)?
    (`d_sinks` type($d_sinks)^)? (`row_dots` type($row_dots_out)^)?
  }];
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
  }];
}

#endif // HEDDLE_ATTENTION_GRAD_OPS_TD
