//===- TestModule.h - evaluate MLIR text in a test --------------*- C++ -*-===//

#ifndef HEDDLE_UNITTESTS_REFERENCE_TESTMODULE_H
#define HEDDLE_UNITTESTS_REFERENCE_TESTMODULE_H

#include "heddle/Reference/Evaluator.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include <string>
#include <vector>

namespace heddle::test {

/// A module parsed from text, with its diagnostics collected as text.
class TestModule {
public:
  explicit TestModule(const std::string &text);

  bool parsed() const { return static_cast<bool>(module); }
  mlir::func::FuncOp function(llvm::StringRef name = "f");

  /// Evaluates @f; empty on failure.
  std::vector<ReferenceTensor> run(const std::vector<HostTensor> &inputs,
                                   ReferenceMode mode = ReferenceMode::Exact,
                                   int threads = 2);

  /// The messages so far, one a line, notes included.
  std::string diagnostics;

private:
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

/// A tensor with the given elements, rounded to `dtype`.
HostTensor tensor(DType dtype, std::vector<int64_t> shape,
                  const std::vector<double> &elements);
HostTensor f32(std::vector<int64_t> shape, const std::vector<double> &elements);
HostTensor i32(std::vector<int64_t> shape, const std::vector<double> &elements);
/// Elements of a fixed pseudo-random sequence in [-1, 1).
HostTensor noise(DType dtype, std::vector<int64_t> shape, uint64_t seed);

/// One evaluation that must succeed.
std::vector<ReferenceTensor>
evaluateText(const std::string &text, const std::vector<HostTensor> &inputs,
             ReferenceMode mode = ReferenceMode::Exact);

/// Expects the elements of `actual` within `tolerance`; infinities and NaN must
/// stand where `expected` has them.
void expectNear(const ReferenceTensor &actual,
                const std::vector<double> &expected, double tolerance = 1e-12);

} // namespace heddle::test

#endif // HEDDLE_UNITTESTS_REFERENCE_TESTMODULE_H
