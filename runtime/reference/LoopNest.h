//===- LoopNest.h - structured ops as loops over a body ---------*- C++ -*-===//

#ifndef HEDDLE_RUNTIME_REFERENCE_LOOPNEST_H
#define HEDDLE_RUNTIME_REFERENCE_LOOPNEST_H

#include "Access.h"
#include "ElementProgram.h"

#include "mlir/Dialect/Linalg/IR/LinalgInterfaces.h"

namespace heddle::reference {

/// What a structured op needs to run: loop extents, operands (inputs, then
/// outputs) and how each is indexed. Loops whose index is a plain result of
/// every output map are parallel, all others run in order, whatever the op
/// calls them: an output map such as t*2+k is thus summed correctly.
struct LoopNest {
  mlir::Operation *op = nullptr; // for errors
  Shape extents;
  llvm::SmallVector<unsigned> parallel, sequential;
  unsigned numInputs = 0;
  std::vector<TensorValue> operands; // outputs are dense and unshared
  llvm::SmallVector<Access> accesses;
  int threads = 1;

  int64_t parallelPoints() const;
  int64_t sequentialPoints() const;
  bool allLinear() const;
};

/// Evaluates any op with the LinalgOp interface through its own region and
/// indexing maps.
llvm::LogicalResult evaluateLinalg(mlir::linalg::LinalgOp op,
                                   llvm::MutableArrayRef<TensorValue> operands,
                                   const ReferenceOptions &options,
                                   ElementProgram::Capture capture,
                                   llvm::SmallVectorImpl<TensorValue> &results);

/// Runs `program` (one input per operand, one result per output) over the nest.
llvm::LogicalResult runLoops(LoopNest &nest, const ElementProgram &program);

/// A reduction whose body is out = combine(out, value): `program` computes the
/// value from the inputs.
llvm::LogicalResult runFold(LoopNest &nest, const ElementProgram &program,
                            mlir::Operation *combine);

/// Whether the body adds the product of its two inputs to its output.
bool isContractionBody(mlir::Block &block, ReferenceMode mode);
/// Runs a contraction as packed matrix products if its shape is worth it.
bool runContraction(LoopNest &nest);

/// Evaluates an elementwise arith/math op on tensors or scalars.
llvm::LogicalResult
evaluateElementwise(mlir::Operation *op, llvm::ArrayRef<TensorValue> operands,
                    const ReferenceOptions &options,
                    llvm::SmallVectorImpl<TensorValue> &results);

} // namespace heddle::reference

#endif // HEDDLE_RUNTIME_REFERENCE_LOOPNEST_H
