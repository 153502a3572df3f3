//===- ModelGradients.h - judges the gradients of a function ----*- C++ -*-===//
//
// Each function of a file of models is made a loss: the sum of its results
// times random weights. Gradients of the loss are judged by central differences
// of the loss itself on the reference device, in f64, and the compiled step on
// the CPU is judged by the reference device.
//
// Attributes of a function: `test.no_cpu` (the CPU has no kernel for it),
// `test.first_order` (no second derivatives). Of an argument: `test.low`,
// `test.high` (range of its values, else -1 to 1), `test.values` (of an integer
// argument, repeated), `test.constant` (not differentiated), `test.zero` (its
// gradient is zero).
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_UNITTESTS_DIFFERENTIATION_MODELGRADIENTS_H
#define HEDDLE_UNITTESTS_DIFFERENTIATION_MODELGRADIENTS_H

#include "heddle/Reference/Evaluator.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <string>
#include <vector>

namespace heddle::test {

/// The loss of one function and what is needed to differentiate it.
class ModelGradients {
public:
  ModelGradients(mlir::func::FuncOp function);

  /// Gradients of the loss against central differences, of `most` elements of
  /// each argument spread over it.
  void checkAgainstDifferences(size_t most = SIZE_MAX);
  /// Gradients of the sum of random multiples of the gradients.
  void checkSecondOrder();
  /// The step compiled for the CPU against the reference device.
  void checkOnCpu();

private:
  mlir::func::FuncOp addLoss(mlir::func::FuncOp model);
  mlir::func::FuncOp addStep(mlir::func::FuncOp loss, llvm::StringRef name);
  mlir::func::FuncOp addDirectional(mlir::func::FuncOp loss);
  void drawInputs(mlir::func::FuncOp of);
  void check(mlir::func::FuncOp loss, mlir::func::FuncOp step, size_t most);

  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp model, loss, step;
  std::vector<int64_t> wrt;
  std::vector<HostTensor> inputs;
};

} // namespace heddle::test

#endif // HEDDLE_UNITTESTS_DIFFERENTIATION_MODELGRADIENTS_H
