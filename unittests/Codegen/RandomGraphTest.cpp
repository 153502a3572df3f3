//===- RandomGraphTest.cpp - random graphs against the reference device ---===//
//
// Fusion, in-place sharing and the arena decide together which bytes hold which
// value when. Small random graphs of elementwise ops, products, reductions,
// transpositions and views run on poisoned memory and are compared with the
// reference device; every value may have several users, be returned, returned
// twice, or be dead.
//
//===----------------------------------------------------------------------===//

#include "heddle/Pipelines/Pipelines.h"
#include "heddle/Reference/Compare.h"
#include "heddle/Reference/Evaluator.h"
#include "heddle/Runtime/CpuDevice.h"
#include "heddle/Runtime/Random.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

#include <cmath>
#include <random>

using namespace heddle;

namespace {
using Shape = std::vector<int64_t>;

std::string typeOf(const Shape &shape) {
  std::string text = "tensor<";
  for (int64_t d : shape)
    text += std::to_string(d) + "x";
  return text + "f32>";
}

/// Writes one function. All values stay of the order of 1, so that f32 errors
/// do, too.
class Writer {
public:
  explicit Writer(uint64_t seed) : random(seed) {
    static const int64_t known[] = {1, 3, 8, 33, 40};
    // Few sizes make many values that could share a buffer.
    for (int i = 1 + draw(3); i > 0; --i)
      sizes.push_back(known[draw(5)]);
  }

  std::string write() {
    int numArguments = 2 + draw(3);
    for (int i = 0; i < numArguments; ++i)
      values.push_back({"%a" + std::to_string(i), drawShape()});
    std::vector<Value> arguments = values;
    int numOps = 4 + draw(14);
    for (int i = 0; i < numOps; ++i)
      addOp();
    std::string signature, types, returned;
    for (const Value &v : arguments)
      signature +=
          (signature.empty() ? "" : ", ") + v.name + ": " + typeOf(v.shape);
    // The last value and a few others, some of them twice.
    std::vector<Value> results{values.back()};
    for (int i = draw(4); i > 0; --i)
      results.push_back(pick());
    for (const Value &v : results) {
      returned += (returned.empty() ? "" : ", ") + v.name;
      types += (types.empty() ? "" : ", ") + typeOf(v.shape);
    }
    return "func.func @f(" + signature + ") -> (" + types + ") {\n" + body +
           "  return " + returned + " : " + types + "\n}\n";
  }

private:
  struct Value {
    std::string name;
    Shape shape;
  };

  int draw(int n) { return static_cast<int>(random() % n); }
  int64_t drawSize() { return sizes[draw(sizes.size())]; }
  Shape drawShape() {
    Shape shape(1 + draw(3));
    for (int64_t &d : shape)
      d = drawSize();
    return shape;
  }
  /// Recent values more often than old ones.
  Value pick() {
    size_t n = values.size();
    return draw(2) ? values[n - 1 - draw(std::min<int>(n, 3))]
                   : values[draw(n)];
  }
  Value fresh(Shape shape) {
    return {"%v" + std::to_string(++count), std::move(shape)};
  }

  static std::string letters(size_t rank) { return std::string("abcd", rank); }
  static std::string map(const std::string &dims, const std::string &results) {
    auto list = [](const std::string &s) {
      std::string text;
      for (char c : s)
        text += (text.empty() ? "" : ", ") + std::string(1, c);
      return "(" + text + ")";
    };
    return "affine_map<" + list(dims) + " -> " + list(results) + ">";
  }

  std::string filled(const Shape &shape, const std::string &value) {
    std::string id = std::to_string(++count), type = typeOf(shape);
    body +=
        "  %c" + id + " = arith.constant dense<" + value + "> : " + type + "\n";
    return "%c" + id;
  }

  void generic(const std::string &dims, const std::string &reduced,
               const std::vector<Value> &inputs,
               const std::vector<std::string> &maps, const Value &out,
               const std::string &outMap, const std::string &init,
               const std::string &code) {
    std::string mapText, kinds, names, types, block;
    for (size_t i = 0; i < inputs.size(); ++i) {
      mapText += map(dims, maps[i]) + ", ";
      names += (i ? ", " : "") + inputs[i].name;
      types += (i ? ", " : "") + typeOf(inputs[i].shape);
      block += "%x" + std::to_string(i) + ": f32, ";
    }
    for (char c : dims)
      kinds += std::string(kinds.empty() ? "" : ", ") +
               (reduced.find(c) != std::string::npos ? "\"reduction\""
                                                     : "\"parallel\"");
    body += "  " + out.name + " = linalg.generic {indexing_maps = [" + mapText +
            map(dims, outMap) + "], iterator_types = [" + kinds + "]} ins(" +
            names + " : " + types + ") outs(" + init + " : " +
            typeOf(out.shape) + ") {\n  ^bb0(" + block + "%acc: f32):\n" +
            code + "    linalg.yield %y : f32\n  } -> " + typeOf(out.shape) +
            "\n";
    values.push_back(out);
  }

  void addOp() {
    switch (draw(8)) {
    case 0:
      return unary();
    case 1:
    case 2:
      return binary();
    case 3:
      return reduction();
    case 4:
      return transposition();
    case 5:
      return product();
    case 6:
      return view();
    default:
      return joinOrSlice();
    }
  }

  void unary() {
    Value x = pick(), y = fresh(x.shape);
    std::string m = letters(x.shape.size());
    static const char *const code[] = {
        "    %y = math.tanh %x0 : f32\n",
        "    %y = arith.negf %x0 : f32\n",
        ("    %t = math.absf %x0 : f32\n    %o = arith.constant 1.0 : f32\n"
         "    %s = arith.addf %t, %o : f32\n    %y = arith.divf %x0, %s : "
         "f32\n"),
    };
    generic(m, "", {x}, {m}, y, m, filled(x.shape, "0.0"), code[draw(3)]);
  }

  /// The second operand is a value of the pool that fits some of the axes.
  void binary() {
    Value x = pick();
    size_t rank = x.shape.size();
    std::string m = letters(rank);
    for (int attempt = 0; attempt < 8; ++attempt) {
      Value z = pick();
      std::string used;
      size_t axis = 0;
      for (int64_t d : z.shape) {
        while (axis < rank && x.shape[axis] != d)
          ++axis;
        if (axis == rank)
          break;
        used += m[axis++];
      }
      if (used.size() != z.shape.size())
        continue;
      const char *code = draw(2) ? "    %y = arith.subf %x0, %x1 : f32\n"
                                 : "    %t = math.tanh %x1 : f32\n"
                                   "    %y = arith.mulf %x0, %t : f32\n";
      Value y = fresh(x.shape);
      generic(m, "", {x, z}, {m, used}, y, m, filled(x.shape, "0.0"), code);
      return;
    }
  }

  /// The mean over an axis.
  void reduction() {
    Value x = pick();
    size_t rank = x.shape.size();
    if (rank < 2)
      return;
    std::string m = letters(rank), keep = m;
    size_t axis = draw(rank);
    keep.erase(axis, 1);
    Shape shape = x.shape;
    shape.erase(shape.begin() + axis);
    Value y = fresh(shape);
    generic(m, std::string(1, m[axis]), {x}, {m}, y, keep, filled(shape, "0.0"),
            "    %s = arith.constant " +
                std::to_string(1.0 / static_cast<double>(x.shape[axis])) +
                " : f32\n    %p = arith.mulf %x0, %s : f32\n"
                "    %y = arith.addf %acc, %p : f32\n");
  }

  void transposition() {
    Value x = pick();
    std::string m = letters(x.shape.size()), out = m;
    std::shuffle(out.begin(), out.end(), random);
    Shape shape;
    for (char c : out)
      shape.push_back(x.shape[c - 'a']);
    Value y = fresh(shape);
    generic(m, "", {x}, {m}, y, out, filled(shape, "0.0"),
            "    %y = arith.addf %x0, %x0 : f32\n");
  }

  /// tanh of a product with a weight of the pool, scaled so that results stay
  /// of the order of the left operand.
  void product() {
    Value x = pick();
    if (x.shape.size() < 2)
      return;
    int64_t k = x.shape.back();
    for (int attempt = 0; attempt < 8; ++attempt) {
      Value w = pick();
      if (w.shape.size() != 2 || (w.shape[0] != k && w.shape[1] != k))
        continue;
      bool transposed = w.shape[0] != k;
      std::string rows = letters(x.shape.size() - 1);
      Shape shape = x.shape;
      shape.back() = w.shape[transposed ? 0 : 1];
      Value scaled = fresh(w.shape), y = fresh(shape), z = fresh(shape);
      generic("ab", "", {w}, {"ab"}, scaled, "ab", filled(w.shape, "0.0"),
              "    %s = arith.constant " +
                  std::to_string(1.0 / std::sqrt(static_cast<double>(k))) +
                  " : f32\n    %y = arith.mulf %x0, %s : f32\n");
      generic(rows + "nk", "k", {x, scaled},
              {rows + "k", transposed ? "nk" : "kn"}, y, rows + "n",
              filled(shape, "0.0"),
              "    %p = arith.mulf %x0, %x1 : f32\n"
              "    %y = arith.addf %acc, %p : f32\n");
      std::string m = letters(shape.size());
      generic(m, "", {y}, {m}, z, m, filled(shape, "0.0"),
              "    %y = math.tanh %x0 : f32\n");
      return;
    }
  }

  void view() {
    Value x = pick();
    if (x.shape.size() >= 2) {
      Shape shape(x.shape.begin() + 1, x.shape.end());
      shape[0] *= x.shape[0];
      std::string groups = "[0, 1]";
      for (size_t d = 2; d < x.shape.size(); ++d)
        groups += ", [" + std::to_string(d) + "]";
      Value y = fresh(shape);
      body += "  " + y.name + " = tensor.collapse_shape " + x.name + " [" +
              groups + "] : " + typeOf(x.shape) + " into " + typeOf(shape) +
              "\n";
      values.push_back(y);
      return;
    }
    if (x.shape[0] % 3 != 0)
      return;
    Shape shape{3, x.shape[0] / 3};
    Value y = fresh(shape);
    body += "  " + y.name + " = tensor.expand_shape " + x.name +
            " [[0, 1]] output_shape [3, " + std::to_string(shape[1]) +
            "] : " + typeOf(x.shape) + " into " + typeOf(shape) + "\n";
    values.push_back(y);
  }

  void joinOrSlice() {
    Value x = pick();
    int64_t axis = draw(x.shape.size());
    Value y = fresh(x.shape);
    if (draw(2)) {
      y.shape[axis] *= 2;
      std::string type = typeOf(x.shape);
      body += "  " + y.name + " = tensor.concat dim(" + std::to_string(axis) +
              ") " + x.name + ", " + x.name + " : (" + type + ", " + type +
              ") -> " + typeOf(y.shape) + "\n";
    } else {
      int64_t size = 1 + draw(x.shape[axis]),
              begin = draw(x.shape[axis] - size + 1);
      y.shape[axis] = size;
      std::string offsets, sizes, strides;
      for (size_t d = 0; d < x.shape.size(); ++d) {
        const char *comma = d ? ", " : "";
        bool here = static_cast<int64_t>(d) == axis;
        offsets += comma + std::to_string(here ? begin : 0);
        sizes += comma + std::to_string(y.shape[d]);
        strides += comma + std::string("1");
      }
      body += "  " + y.name + " = tensor.extract_slice " + x.name + "[" +
              offsets + "] [" + sizes + "] [" + strides +
              "] : " + typeOf(x.shape) + " to " + typeOf(y.shape) + "\n";
    }
    values.push_back(y);
  }

  std::mt19937_64 random;
  std::vector<int64_t> sizes;
  std::vector<Value> values;
  std::string body;
  int count = 0;
};

class RandomGraphs : public testing::TestWithParam<int> {};

void runGraph(mlir::MLIRContext &context, uint64_t seed) {
  std::string text = Writer(seed).write();
  SCOPED_TRACE("graph " + std::to_string(seed) + "\n" + text);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  auto original = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  ASSERT_TRUE(module && original);
  Program program;
  ASSERT_TRUE(succeeded(compileModule(*module, {}, program)));
  const heddle::Function &function = program.functions.front();
  CpuOptions options;
  options.threads = 2;
  options.poison = true;
  std::unique_ptr<CpuExecutable> executable;
  Status status = CpuExecutable::load(function, program, options, executable);
  ASSERT_TRUE(status.ok()) << status.message;

  std::vector<HostTensor> inputs, results;
  std::vector<void *> in, out;
  for (const NamedTensorType &type : function.arguments) {
    RandomFill fill;
    fill.seed = seed * 16 + inputs.size();
    fillRandom(inputs.emplace_back(type.type), fill);
  }
  for (const NamedTensorType &type : function.results)
    results.emplace_back(type.type);
  std::vector<HostTensor> before = inputs;
  for (HostTensor &t : inputs)
    in.push_back(t.bytes.data());
  for (HostTensor &t : results)
    out.push_back(t.bytes.data());
  status = executable->run(in.data(), out.data());
  ASSERT_TRUE(status.ok()) << status.message;
  for (size_t i = 0; i < inputs.size(); ++i)
    EXPECT_EQ(inputs[i].bytes, before[i].bytes) << "argument " << i;

  llvm::SmallVector<ReferenceTensor> expected;
  auto f = original->lookupSymbol<mlir::func::FuncOp>("f");
  ASSERT_TRUE(succeeded(evaluate(f, before, {}, expected)));
  for (size_t i = 0; i < results.size(); ++i) {
    CompareOptions compare;
    compare.allowZeroReference = true;
    CompareResult result =
        compareWithReference(results[i], expected[i], nullptr, compare);
    // A value passes through up to 30 roundings of f32 and means cancel; a
    // wrong byte is off by the order of 1.
    EXPECT_TRUE(result.finite) << "result " << i << ": " << result.failure;
    EXPECT_LE(result.maxAbsError, 1e-4 * std::max(result.maxAbsReference, 1.0))
        << "result " << i << ": " << result.failure;
  }
}

TEST_P(RandomGraphs, AgreeWithTheReferenceDevice) {
  mlir::DialectRegistry registry;
  registerCompilerDialects(registry);
  mlir::MLIRContext context(registry);
  for (int i = 0; i < 25; ++i)
    runGraph(context, GetParam() * 25 + i);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomGraphs, testing::Range(0, 8));
} // namespace
