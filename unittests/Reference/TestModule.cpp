//===- TestModule.cpp - evaluate MLIR text in a test ----------------------===//

#include "TestModule.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace mlir;

namespace heddle::test {

TestModule::TestModule(const std::string &text) {
  context.loadDialect<HeddleDialect, arith::ArithDialect, func::FuncDialect,
                      linalg::LinalgDialect, math::MathDialect, scf::SCFDialect,
                      tensor::TensorDialect>();
  context.getDiagEngine().registerHandler([this](Diagnostic &diagnostic) {
    diagnostics += diagnostic.str() + "\n";
    for (Diagnostic &note : diagnostic.getNotes())
      diagnostics += note.str() + "\n";
    return success();
  });
  module = parseSourceString<ModuleOp>(text, &context);
}

func::FuncOp TestModule::function(StringRef name) {
  return module ? module->lookupSymbol<func::FuncOp>(name) : func::FuncOp();
}

std::vector<ReferenceTensor>
TestModule::run(const std::vector<HostTensor> &inputs, ReferenceMode mode,
                int threads) {
  ReferenceOptions options;
  options.mode = mode;
  options.threads = threads;
  SmallVector<ReferenceTensor> results;
  func::FuncOp f = function();
  if (!f || failed(evaluate(f, inputs, options, results)))
    return {};
  return {results.begin(), results.end()};
}

HostTensor tensor(DType dtype, std::vector<int64_t> shape,
                  const std::vector<double> &elements) {
  HostTensor result(TensorType{dtype, std::move(shape)});
  EXPECT_EQ(result.type.numElements(), static_cast<int64_t>(elements.size()));
  for (size_t i = 0; i < elements.size(); ++i)
    storeElement(result.bytes.data(), dtype, i, elements[i]);
  return result;
}

HostTensor f32(std::vector<int64_t> shape,
               const std::vector<double> &elements) {
  return tensor(DType::F32, std::move(shape), elements);
}
HostTensor i32(std::vector<int64_t> shape,
               const std::vector<double> &elements) {
  return tensor(DType::I32, std::move(shape), elements);
}

HostTensor noise(DType dtype, std::vector<int64_t> shape, uint64_t seed) {
  HostTensor result(TensorType{dtype, std::move(shape)});
  uint64_t state = seed * 0x9E3779B97F4A7C15ull + 1;
  for (int64_t i = 0, n = result.type.numElements(); i < n; ++i) {
    state ^= state << 13; // xorshift64
    state ^= state >> 7;
    state ^= state << 17;
    storeElement(result.bytes.data(), dtype, i,
                 static_cast<double>(state >> 11) * 0x1p-52 - 1.0);
  }
  return result;
}

std::vector<ReferenceTensor> evaluateText(const std::string &text,
                                          const std::vector<HostTensor> &inputs,
                                          ReferenceMode mode) {
  TestModule module(text);
  std::vector<ReferenceTensor> results = module.run(inputs, mode);
  EXPECT_TRUE(module.diagnostics.empty()) << module.diagnostics;
  EXPECT_FALSE(results.empty());
  if (results.empty())
    results.resize(8);
  return results;
}

void expectNear(const ReferenceTensor &actual,
                const std::vector<double> &expected, double tolerance) {
  size_t n = actual.isInteger ? actual.integer.size() : actual.real.size();
  ASSERT_EQ(n, expected.size());
  for (size_t i = 0; i < n; ++i) {
    double value =
        actual.isInteger ? double(actual.integer[i]) : actual.real[i];
    if (std::isnan(expected[i]))
      EXPECT_TRUE(std::isnan(value)) << "element " << i << " is " << value;
    else if (std::isinf(expected[i]))
      EXPECT_EQ(value, expected[i]) << "element " << i;
    else
      EXPECT_NEAR(value, expected[i], tolerance) << "element " << i;
  }
}

} // namespace heddle::test
