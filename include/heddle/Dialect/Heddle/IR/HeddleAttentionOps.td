//===- HeddleAttentionOps.td - attention ----------------------------------===//

#ifndef HEDDLE_ATTENTION_OPS_TD
#define HEDDLE_ATTENTION_OPS_TD

include "heddle/Dialect/Heddle/IR/HeddleBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Heddle_AttentionOp : Heddle_Op<"attention",
    [Pure, AttrSizedOperandSegments, RecursiveMemoryEffects]> {
  let summary = "softmax attention with masks, bias and a score region";
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
      | `sinks` `(` $sinks `:` type($sinks) `)`)
    (`score` $score^)? attr-dict `:` type($query) `,` type($key) `,` type($value)
    `->` type(results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Sizes by role, whatever the layout is.
    int64_t getBatch();
    int64_t getQueryHeads();
    int64_t getKeyHeads();
    int64_t getQueryLength();
    int64_t getKeyLength();
    int64_t getQueryHeadDim();
    int64_t getValueHeadDim();
    /// The factor on q.k: the `scale` attribute or 1/sqrt(d_qk).
    double getEffectiveScale();
  }];
}

#endif // HEDDLE_ATTENTION_OPS_TD
