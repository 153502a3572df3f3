//===- Evaluator.h - the reference device -----------------------*- C++ -*-===//
//
// Evaluates a contract M function op by op with naive loops in f64. It shares
// no lowering code with the compiler: it is what results are judged by.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_REFERENCE_EVALUATOR_H
#define HEDDLE_REFERENCE_EVALUATOR_H

#include "heddle/Runtime/DType.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/LogicalResult.h"

namespace heddle {

/// How the reference device rounds.
enum class ReferenceMode {
  Exact,    // every value in f64, nothing rounded (inputs are as given)
  Declared, // rounds at every truncf, and P and dS of attention to the input
            // dtype (to TF32 products where precision = tf32)
};

/// Options of an evaluation.
struct ReferenceOptions {
  ReferenceMode mode = ReferenceMode::Exact;
  int threads = 0; // 0: all cores
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
/// op and fails on an op outside contract M or on inputs of another type.
llvm::LogicalResult evaluate(mlir::func::FuncOp function,
                             llvm::ArrayRef<HostTensor> inputs,
                             const ReferenceOptions &options,
                             llvm::SmallVectorImpl<ReferenceTensor> &results);

} // namespace heddle

#endif // HEDDLE_REFERENCE_EVALUATOR_H
