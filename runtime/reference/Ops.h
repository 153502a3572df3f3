//===- Ops.h - evaluation of single ops -------------------------*- C++ -*-===//
//
// Each function takes an op's operands in order and appends its results. They
// emit an error at the op when they fail.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_REFERENCE_OPS_H
#define HEDDLE_RUNTIME_REFERENCE_OPS_H

#include "ElementProgram.h"

#include "heddle/Dialect/Heddle/IR/Heddle.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace heddle::reference {

using Operands = llvm::MutableArrayRef<TensorValue>;
using Results = llvm::SmallVectorImpl<TensorValue>;
using Capture = ElementProgram::Capture;

/// Ops of the tensor dialect, see `isTensorOp`.
llvm::LogicalResult evaluateTensorOp(mlir::Operation *op, Operands operands,
                                     const ReferenceOptions &options,
                                     Capture capture, Results &results);
bool isTensorOp(mlir::Operation *op);

llvm::LogicalResult evaluateSoftmax(mlir::linalg::SoftmaxOp op,
                                    Operands operands,
                                    const ReferenceOptions &options,
                                    Results &results);

/// All query rows of the op, or those in `rows` (may be null).
llvm::LogicalResult evaluateAttention(AttentionOp op, Operands operands,
                                      const llvm::SmallVector<int64_t> *rows,
                                      const ReferenceOptions &options,
                                      Capture capture, Results &results);

/// The gradient; with `rows`, the query, d_out, out and statistics hold those
/// positions only, and d_query as well.
llvm::LogicalResult
evaluateAttentionGrad(AttentionGradOp op, Operands operands,
                      const llvm::SmallVector<int64_t> *rows,
                      const ReferenceOptions &options, Capture capture,
                      Results &results);

llvm::LogicalResult evaluateSelectiveScan(SelectiveScanOp op, Operands operands,
                                          const ReferenceOptions &options,
                                          Results &results);
llvm::LogicalResult evaluateSelectiveScanGrad(SelectiveScanGradOp op,
                                              Operands operands,
                                              const ReferenceOptions &options,
                                              Results &results);
llvm::LogicalResult evaluateLinearScanGrad(LinearScanGradOp op,
                                           Operands operands,
                                           const ReferenceOptions &options,
                                           Results &results);
llvm::LogicalResult evaluateSsd(SsdOp op, Operands operands,
                                const ReferenceOptions &options,
                                Results &results);
llvm::LogicalResult evaluateLinearScan(LinearScanOp op, Operands operands,
                                       const ReferenceOptions &options,
                                       Results &results);

llvm::LogicalResult evaluateGather(GatherOp op, Operands operands,
                                   Results &results);
llvm::LogicalResult evaluateScatterAdd(ScatterAddOp op, Operands operands,
                                       const ReferenceOptions &options,
                                       Results &results);
llvm::LogicalResult evaluateRandomBits(RandomBitsOp op, Operands operands,
                                       Results &results);

/// Whether `mask` (null: everything) shows the pair (i, j); written from the
/// table of terms in the dialect's documentation, not from the compiler.
bool maskShows(MaskAttr mask, int64_t i, int64_t j, int64_t sq, int64_t sk);

} // namespace heddle::reference

#endif // HEDDLE_RUNTIME_REFERENCE_OPS_H
