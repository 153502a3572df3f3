//===- Passes.td - passes on the heddle dialect ---------------------------===//

#ifndef HEDDLE_TRANSFORMS_PASSES_TD
#define HEDDLE_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def DecomposeAttentionPass : Pass<"heddle-decompose-attention"> {
  let summary = "rewrites heddle.attention into plain linalg";
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::math::MathDialect", "::mlir::tensor::TensorDialect"
  ];
}

#endif // HEDDLE_TRANSFORMS_PASSES_TD
