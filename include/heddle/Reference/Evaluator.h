//===- Evaluator.h - the reference device -----------------------*- C++ -*-===//
//
// Evaluates a contract M function op by op with naive loops in f64. It shares
// no lowering code with the compiler: it is what results are judged by. See
// docs/reference-device.md for the ops and the conventions.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_REFERENCE_EVALUATOR_H
#define HEDDLE_REFERENCE_EVALUATOR_H

#include "heddle/Dialect/Heddle/IR/Heddle.h"
#include "heddle/Runtime/DType.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/LogicalResult.h"

namespace heddle {

/// How the reference device rounds.
enum class ReferenceMode {
  Exact,    // every value in f64, nothing rounded (inputs are as given)
  Declared, // rounds at every truncf and wherever a 16-bit tensor is stored,
            // and P and dS of attention to the input dtype (q, k, P and v to
            // TF32 where precision = tf32); values of f32 stay in f64
};

/// Options of an evaluation.
struct ReferenceOptions {
  ReferenceMode mode = ReferenceMode::Exact;
  int threads = 0; // 0: all cores
  /// Declared mode, 16-bit formats and TF32. 0: rounds to nearest even; else
  /// stochastically, each number another draw, to learn how large the errors of
  /// rounding are (twice the variance of rounding to nearest).
  uint32_t draw = 0;
};

/// A value on the reference device: doubles (or exact integers as int64).
struct ReferenceTensor {
  std::vector<int64_t> shape;
  bool isInteger = false;
  std::vector<double> real;     // when !isInteger
  std::vector<int64_t> integer; // when isInteger
  int64_t numElements() const {
    int64_t n = 1;
    for (int64_t d : shape)
      n *= d;
    return n;
  }
};

/// Evaluates `function` on `inputs` (one per argument). Emits an error at the
/// op and fails on inputs of another number or type. Ops outside contract M are
/// listed all at once, in one error at the function with a note per op, before
/// anything is evaluated.
llvm::LogicalResult evaluate(mlir::func::FuncOp function,
                             llvm::ArrayRef<HostTensor> inputs,
                             const ReferenceOptions &options,
                             llvm::SmallVectorImpl<ReferenceTensor> &results);

/// Evaluates the query rows `rows` of `op` for every batch and head. `inputs`
/// are the operands of `op` in order; `outputs` receives the result and, where
/// the op has one, the lse, with the query axis cut down to `rows`. Fails with
/// an error at `op` on inputs of another type and on rows beyond Sq. A score
/// region must not use tensors from outside.
llvm::LogicalResult
evaluateAttentionRows(AttentionOp op, llvm::ArrayRef<HostTensor> inputs,
                      llvm::ArrayRef<int64_t> rows,
                      const ReferenceOptions &options,
                      llvm::SmallVectorImpl<ReferenceTensor> &outputs);

/// Evaluates d_query of the query rows `rows` for every batch and head, from
/// the attention op `forward`, which has an lse and operands query, key and
/// value only, and its gradient `op`. `inputs` are query, key, value and the
/// cotangent of out, which declared mode rounds to the type of out. Errors as
/// above.
llvm::LogicalResult evaluateAttentionGradRows(AttentionOp forward,
                                              AttentionGradOp op,
                                              llvm::ArrayRef<HostTensor> inputs,
                                              llvm::ArrayRef<int64_t> rows,
                                              const ReferenceOptions &options,
                                              ReferenceTensor &dQuery);

} // namespace heddle

#endif // HEDDLE_REFERENCE_EVALUATOR_H
