//===- Passes.h - passes on the heddle dialect ------------------*- C++ -*-===//

#ifndef HEDDLE_DIALECT_HEDDLE_TRANSFORMS_PASSES_H
#define HEDDLE_DIALECT_HEDDLE_TRANSFORMS_PASSES_H

#include "heddle/Dialect/Heddle/IR/Heddle.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Pass/Pass.h"

namespace heddle {

#define GEN_PASS_DECL
#include "heddle/Dialect/Heddle/Transforms/Passes.h.inc"

/// Replaces the linalg.softmax ops of a function by reductions and elementwise
/// ops.
llvm::LogicalResult decomposeSoftmax(mlir::RewriterBase &rewriter,
                                     mlir::func::FuncOp function);

/// Rewrites one attention op of static shape into linalg, tensor, arith and
/// math. Emits an error at the op and fails on dynamic shapes.
llvm::LogicalResult decomposeAttention(mlir::RewriterBase &rewriter,
                                       AttentionOp op);

/// Rewrites one ssd op of static shape into chunks of `chunk` positions: linalg,
/// tensor, arith, math and heddle.linear_scan. Emits an error at the op and
/// fails on dynamic shapes and chunk < 1.
llvm::LogicalResult decomposeSsd(mlir::RewriterBase &rewriter, SsdOp op,
                                 int64_t chunk = 128);

/// Rewrites the gradient of a linear scan, of static shape, into a scan the
/// other way round and structured ops. Emits an error at the op and fails on
/// dynamic shapes.
llvm::LogicalResult decomposeLinearScanGrad(mlir::RewriterBase &rewriter,
                                            LinearScanGradOp op);

/// Rewrites one selective scan of static shape into a linear scan over all
/// states, which are in memory then: (B, L, D, N). Emits an error at the op and
/// fails on dynamic shapes.
llvm::LogicalResult decomposeSelectiveScan(mlir::RewriterBase &rewriter,
                                           SelectiveScanOp op);

/// Replaces a checkpoint by its body.
void inlineCheckpoint(CheckpointOp op);

/// Runs heddle-differentiate on `module`, for users without a pass manager.
llvm::LogicalResult differentiate(mlir::ModuleOp module);

/// Registers every pass of this header with MLIR's global registry:
/// registerHeddlePasses().
#define GEN_PASS_REGISTRATION
#include "heddle/Dialect/Heddle/Transforms/Passes.h.inc"

} // namespace heddle

#endif // HEDDLE_DIALECT_HEDDLE_TRANSFORMS_PASSES_H
