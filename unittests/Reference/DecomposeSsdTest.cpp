//===- DecomposeSsdTest.cpp - the chunked form is the recurrence ----------===//
//
// The reference device evaluates ssd step by step. Evaluated in f64, what the op
// decomposes into has to give the same for every length, chunk and option.
//
//===----------------------------------------------------------------------===//

#include "TestModule.h"

#include "heddle/Dialect/Heddle/Transforms/Passes.h"
#include "heddle/Reference/Compare.h"

#include "mlir/Pass/PassManager.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace heddle;
using namespace heddle::test;

namespace {

struct Case {
  int64_t length = 9, chunk = 4, groups = 1, heads = 2;
  bool initial = true, resets = false, reverse = false;
  DType dtype = DType::F32;
  double logScale = 1, logOffset = 0;
};

constexpr int64_t kBatch = 2, kKeyDim = 3, kValueDim = 5;

std::string shaped(std::vector<int64_t> shape, const std::string &element) {
  std::string text = "tensor<";
  for (int64_t d : shape)
    text += std::to_string(d) + "x";
  return text + element + ">";
}

std::string textOf(const Case &c) {
  std::string e = c.dtype == DType::BF16 ? "bf16"
                  : c.dtype == DType::F16 ? "f16"
                                          : "f32";
  std::string q = shaped({kBatch, c.length, c.groups, kKeyDim}, e),
              v = shaped({kBatch, c.length, c.heads, kValueDim}, e),
              a = shaped({kBatch, c.length, c.heads}, "f32"),
              s = shaped({kBatch, c.heads, kKeyDim, kValueDim}, "f32"),
              r = shaped({kBatch, c.length}, "i32");
  std::string args = "%q: " + q + ", %k: " + q + ", %v: " + v + ", %a: " + a;
  std::string extra;
  if (c.initial) {
    args += ", %i: " + s;
    extra += " initial_state(%i : " + s + ")";
  }
  if (c.resets) {
    args += ", %r: " + r;
    extra += " reset_ids(%r : " + r + ")";
  }
  std::string attr = c.reverse ? " {reverse}" : "";
  return "func.func @f(" + args + ") -> (" + v + ", " + s + ") {\n" +
         "%o, %f = heddle.ssd %q, %k, %v, %a" + extra + attr + " : " + q + ", " +
         q + ", " + v + ", " + a + " -> " + v + ", " + s +
         "\nreturn %o, %f : " + v + ", " + s + "\n}";
}

std::vector<HostTensor> inputsOf(const Case &c) {
  std::vector<HostTensor> inputs = {
      noise(c.dtype, {kBatch, c.length, c.groups, kKeyDim}, 1),
      noise(c.dtype, {kBatch, c.length, c.groups, kKeyDim}, 2),
      noise(c.dtype, {kBatch, c.length, c.heads, kValueDim}, 3),
      noise(DType::F32, {kBatch, c.length, c.heads}, 4)};
  auto *logs = reinterpret_cast<float *>(inputs[3].bytes.data());
  for (int64_t i = 0; i < inputs[3].type.numElements(); ++i)
    logs[i] = static_cast<float>(logs[i] * c.logScale + c.logOffset);
  if (c.initial)
    inputs.push_back(noise(DType::F32, {kBatch, c.heads, kKeyDim, kValueDim}, 5));
  if (c.resets) {
    // Sequences of 1, 2, 3, ... positions, some ids used again.
    std::vector<double> ids;
    for (int64_t b = 0; b < kBatch; ++b)
      for (int64_t t = 0, id = 0, left = 1 + b; t < c.length; ++t) {
        ids.push_back(id % 2);
        if (--left == 0)
          left = 1 + (++id + b) % 5;
      }
    inputs.push_back(i32({kBatch, c.length}, ids));
  }
  return inputs;
}

void expectSame(const Case &c, double tolerance = 1e-11) {
  std::vector<HostTensor> inputs = inputsOf(c);
  TestModule stepwise(textOf(c)), chunked(textOf(c));
  ASSERT_TRUE(stepwise.parsed()) << stepwise.diagnostics;
  mlir::PassManager passes(chunked.function().getContext());
  DecomposeSsdPassOptions options;
  options.chunk = c.chunk;
  passes.addPass(createDecomposeSsdPass(options));
  ASSERT_TRUE(mlir::succeeded(
      passes.run(chunked.function()->getParentOfType<mlir::ModuleOp>())))
      << chunked.diagnostics;
  chunked.function().walk([](SsdOp op) { ADD_FAILURE() << "an ssd is left"; });
  auto wanted = stepwise.run(inputs), found = chunked.run(inputs);
  ASSERT_EQ(wanted.size(), 2u) << stepwise.diagnostics;
  ASSERT_EQ(found.size(), 2u) << chunked.diagnostics;
  for (int i : {0, 1}) {
    double largest = 0;
    for (double x : wanted[i].real)
      largest = std::max(largest, std::abs(x));
    expectNear(found[i], wanted[i].real, tolerance * std::max(largest, 1.0));
  }
}

TEST(DecomposeSsd, any_length_and_chunk) {
  for (int64_t length : {0, 1, 2, 3, 4, 5, 8, 19})
    for (int64_t chunk : {1, 4, 128})
      for (bool reverse : {false, true}) {
        SCOPED_TRACE(testing::Message() << length << " by " << chunk
                                        << (reverse ? " reversed" : ""));
        Case c;
        c.length = length;
        c.chunk = chunk;
        c.reverse = reverse;
        expectSame(c);
        c.initial = false;
        expectSame(c);
      }
}

TEST(DecomposeSsd, groups_are_contiguous) {
  for (auto [groups, heads] : {std::pair{1, 1}, {2, 2}, {2, 6}, {3, 3}}) {
    Case c;
    c.groups = groups;
    c.heads = heads;
    expectSame(c);
  }
}

TEST(DecomposeSsd, a_reset_starts_at_the_sequence_and_not_at_the_chunk) {
  for (int64_t length : {1, 2, 4, 5, 8, 19})
    for (int64_t chunk : {1, 4, 5, 128})
      for (bool reverse : {false, true}) {
        SCOPED_TRACE(testing::Message() << length << " by " << chunk
                                        << (reverse ? " reversed" : ""));
        Case c;
        c.length = length;
        c.chunk = chunk;
        c.reverse = reverse;
        c.resets = true;
        expectSame(c);
        c.initial = false;
        expectSame(c);
      }
}

TEST(DecomposeSsd, logs_of_any_sign_and_size) {
  for (auto [scale, offset] :
       {std::pair{5.0, 0.0}, {1.0, -100.0}, {0.05, 0.0}, {40.0, -1000.0},
        {0.0, 0.0}, {0.0, -1e30}}) {
    SCOPED_TRACE(testing::Message() << scale << " " << offset);
    Case c;
    c.length = 19;
    c.logScale = scale;
    c.logOffset = offset;
    expectSame(c);
    c.resets = true;
    expectSame(c);
  }
}

TEST(DecomposeSsd, minus_infinity_forgets_everything) {
  Case c;
  c.logScale = 0;
  c.logOffset = -std::numeric_limits<double>::infinity();
  std::vector<HostTensor> inputs = inputsOf(c);
  expectSame(c);
}

TEST(DecomposeSsd, sixteen_bit_inputs_keep_an_f32_state) {
  for (DType dtype : {DType::BF16, DType::F16}) {
    Case c;
    c.length = 19;
    c.dtype = dtype;
    expectSame(c);
  }
}

} // namespace
