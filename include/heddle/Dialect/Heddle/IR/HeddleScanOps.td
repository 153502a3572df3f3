//===- HeddleScanOps.td - selective scan, SSD, linear scan ----------------===//

#ifndef HEDDLE_SCAN_OPS_TD
#define HEDDLE_SCAN_OPS_TD

include "heddle/Dialect/Heddle/IR/HeddleBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Heddle_SelectiveScanOp : Heddle_Op<"selective_scan",
    [Pure, AttrSizedOperandSegments]> {
  let summary = "selective state-space scan (Mamba)";
  let arguments = (ins
    AnyRankedTensor:$u, AnyRankedTensor:$delta, AnyRankedTensor:$a,
    AnyRankedTensor:$b, AnyRankedTensor:$c,
    Optional<AnyRankedTensor>:$d, Optional<AnyRankedTensor>:$z,
    Optional<AnyRankedTensor>:$delta_bias,
    Optional<AnyRankedTensor>:$initial_state,
    Optional<AnyRankedTensor>:$reset_ids,
    UnitAttr:$delta_softplus, UnitAttr:$reverse
  );
  let results = (outs AnyRankedTensor:$y, Optional<AnyRankedTensor>:$final_state);
  let assemblyFormat = [{
    $u `,` $delta `,` $a `,` $b `,` $c
    oilist(`d` `(` $d `:` type($d) `)` | `z` `(` $z `:` type($z) `)`
      | `delta_bias` `(` $delta_bias `:` type($delta_bias) `)`
      | `initial_state` `(` $initial_state `:` type($initial_state) `)`
      | `reset_ids` `(` $reset_ids `:` type($reset_ids) `)`)
    attr-dict `:` type($u) `,` type($delta) `,` type($a) `,` type($b) `,` type($c)
    `->` type(results)
  }];
  let hasVerifier = 1;
}

def Heddle_SsdOp : Heddle_Op<"ssd", [Pure, AttrSizedOperandSegments]> {
  let summary = "state-space duality scan (Mamba-2)";
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
}

def Heddle_LinearScanOp : Heddle_Op<"linear_scan",
    [Pure, AttrSizedOperandSegments, AttrSizedResultSegments]> {
  let summary = "first-order linear recurrence, real or complex (LRU)";
  let arguments = (ins
    AnyRankedTensor:$a, AnyRankedTensor:$b,
    Optional<AnyRankedTensor>:$a_imag, Optional<AnyRankedTensor>:$b_imag,
    Optional<AnyRankedTensor>:$initial_state,
    Optional<AnyRankedTensor>:$initial_state_imag,
    Optional<AnyRankedTensor>:$reset_ids,
    UnitAttr:$reverse
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
    attr-dict `:` type($a) `,` type($b) `->` `(` type($h)
    (`,` `imag` type($h_imag)^)? (`,` `final` type($final_state)^)?
    (`,` `final_imag` type($final_state_imag)^)? `)`
  }];
  let hasVerifier = 1;
}

#endif // HEDDLE_SCAN_OPS_TD
