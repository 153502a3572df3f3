//===- Passes.td - passes on the heddle dialect ---------------------------===//

#ifndef HEDDLE_TRANSFORMS_PASSES_TD
#define HEDDLE_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def DecomposeAttentionPass : Pass<"heddle-decompose-attention"> {
  let summary = "rewrites heddle.attention into plain linalg";
  let description = [{
    Writes attention out as contractions, reductions and elementwise ops over
    the whole score tensor (B, Hk, H/Hk, Sq, Sk). This is the readable form of
    what the op means, for devices and tests that know no attention kernel; it
    needs memory for all scores.

    All masks, operands, layouts and the score region are covered, with the
    conventions of the op: masked scores become -inf by selection, and a
    masked value row is selected away before it is multiplied, so that a NaN in
    it stays where it is; a row without visible keys gives 0 and lse -inf.
    Products accumulate in f32, `p` is rounded to the type of value. `precision =
    tf32` allows rounding and demands none, so products stay IEEE.

    Shapes must be static. Constraint: none of the op's operands may be dynamic.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::math::MathDialect", "::mlir::tensor::TensorDialect"
  ];
}

#endif // HEDDLE_TRANSFORMS_PASSES_TD
