//===- ScanTest.cpp - running combinations on the emulator ----------------===//
//
// A tile is loaded, scanned and stored; it has to hold what a loop in f64 over
// the axis gives. Values are small integers, so that every order of a sum is
// exact.
//
//===----------------------------------------------------------------------===//

#include "KernelTest.h"

#include "../Dialect/HeddleGpu/RandomLayout.h"
#include "heddle/Codegen/Passes.h"
#include "heddle/Conversion/HeddleGpuToNVVM/HeddleGpuToNVVM.h"
#include "heddle/Dialect/HeddleGpu/IR/HeddleGpu.h"
#include "heddle/Dialect/HeddleGpu/IR/ScanLayout.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Pass/PassManager.h"

#include <cstring>
#include <functional>

using namespace heddle;
using namespace heddle::test;
using namespace heddle_gpu;

namespace {
using Fold = std::function<double(double, double)>;
struct Element {
  const char *name;
  int64_t bytes;
};
constexpr Element kElements[] = {{"f32", 4}, {"bf16", 2}, {"f16", 2},
                                 {"f64", 8}, {"i32", 4},  {"i64", 8},
                                 {"i8", 1},  {"index", 8}};

/// The bytes of v, exactly representable, as an element.
uint64_t encode(double v, const std::string &name) {
  uint64_t bits = 0;
  if (name == "f64") {
    std::memcpy(&bits, &v, 8);
    return bits;
  }
  if (name[0] == 'i')
    return static_cast<uint64_t>(static_cast<int64_t>(v));
  if (name == "f16") {
    _Float16 h = static_cast<_Float16>(v);
    std::memcpy(&bits, &h, 2);
    return bits;
  }
  float f = static_cast<float>(v);
  std::memcpy(&bits, &f, 4);
  return name == "bf16" ? bits >> 16 : bits;
}

struct Combiner {
  std::string text; // kind
  Fold fold;
  double range; // values are in [-range, range]
};

class Scan : public ::testing::Test {
protected:
  Scan() {
    mlir::DialectRegistry registry;
    registerCompilerDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  std::string tile(const Layout &layout, const char *element) {
    std::string text;
    llvm::raw_string_ostream os(text);
    os << tileType(mlir::parseType(element, &context), &context, layout);
    return text;
  }

  /// A kernel that reads `inputs` buffers and writes the last result of `scan`,
  /// in which T stands for the tile.
  std::unique_ptr<EmulatorModule> compile(const Layout &layout,
                                          const char *element, int inputs,
                                          const std::string &scan) {
    std::string buffer = "memref<", zeros, dims, arguments, loads;
    for (size_t d = 0; d < layout.shape().size(); ++d) {
      buffer += std::to_string(layout.shape()[d]) + "x";
      zeros += d ? ", %c0" : "%c0";
      dims += (d ? ", " : "") + std::to_string(d);
    }
    buffer += std::string(element) + ">";
    std::string type = tile(layout, element);
    for (int i = 0; i < inputs; ++i) {
      std::string n = std::to_string(i);
      arguments += "%x" + n + ": " + buffer + ", ";
      loads += "    %t" + n + " = heddle_gpu.load %x" + n + "[" + zeros +
               "] dims [" + dims + "] : " + buffer + " -> " + type + "\n";
    }
    std::string op = scan;
    for (size_t at; (at = op.find("TILE")) != std::string::npos;)
      op.replace(at, 4, type);
    std::string text =
        "gpu.module @m {\n  gpu.func @k(" + arguments + "%y: " + buffer +
        ") kernel attributes {known_block_size = array<i32: " +
        std::to_string(32 * layout.numWarps()) +
        ", 1, 1>, heddle_gpu.warps = " + std::to_string(layout.numWarps()) +
        " : i64} {\n    %c0 = arith.constant 0 : index\n" + loads + op +
        "    heddle_gpu.store %s into %y[" + zeros + "] dims [" + dims +
        "] : " + type + " into " + buffer + "\n    gpu.return\n  }\n}\n";
    auto module = mlir::parseSourceString<mlir::ModuleOp>(
        text, mlir::ParserConfig(&context));
    EXPECT_TRUE(module) << text;
    if (!module)
      return nullptr;
    mlir::PassManager pm(&context);
    mlir::OpPassManager &gpu = pm.nest<mlir::gpu::GPUModuleOp>();
    gpu.addPass(createGpuExpandSharedPass());
    gpu.addPass(createGpuAllocateSharedPass());
    gpu.addPass(createConvertHeddleGpuToLanesPass());
    gpu.addPass(createConvertLanesToNVVMPass());
    EXPECT_TRUE(succeeded(pm.run(*module))) << text;
    std::vector<uint8_t> object;
    EXPECT_TRUE(succeeded(emitEmulatorObject(*module, object))) << text;
    std::unique_ptr<EmulatorModule> loaded;
    if (!object.empty()) {
      Status s = EmulatorModule::load(object.data(), object.size(), loaded);
      EXPECT_TRUE(s.ok()) << s.message;
    }
    return loaded;
  }

  /// Runs it on the values and compares with `wanted`.
  void check(const EmulatorModule *module, const Layout &layout,
             const Element &element, std::vector<std::vector<double>> values,
             const std::vector<double> &wanted) {
    ASSERT_TRUE(module);
    auto bytesOf = [&](const std::vector<double> &v) {
      std::vector<uint8_t> bytes(v.size() * element.bytes);
      for (size_t i = 0; i < v.size(); ++i) {
        uint64_t bits = encode(v[i], element.name);
        std::memcpy(&bytes[i * element.bytes], &bits, element.bytes);
      }
      return bytes;
    };
    Launch launch("k", {1}, {32 * layout.numWarps()});
    std::vector<std::vector<uint8_t>> inputs;
    for (const std::vector<double> &v : values)
      inputs.push_back(bytesOf(v));
    for (auto &input : inputs)
      launch.buffer("x", input);
    std::vector<uint8_t> y(inputs[0].size(), 0xff);
    launch.buffer("y", y, false);
    launch.dynamicSharedBytes = 64 << 10;
    runClean(*module, launch);
    EXPECT_EQ(y, bytesOf(wanted));
  }

  mlir::MLIRContext context;
};

const Combiner kCombiners[] = {
    {"add", [](double x, double y) { return x + y; }, 2},
    {"mul", [](double x, double y) { return x * y; }, 1},
    {"max", [](double x, double y) { return std::max(x, y); }, 9},
    {"min", [](double x, double y) { return std::min(x, y); }, 9}};

std::vector<double> someValues(std::mt19937 &rng, size_t n, double range) {
  std::vector<double> v(n);
  for (double &x : v)
    x = static_cast<double>(rng() % static_cast<unsigned>(2 * range + 1)) -
        range;
  return v;
}

/// Calls fn(from, to) for all neighbours along the axis, in the order of a
/// scan.
void forSteps(const Layout &layout, unsigned axis, bool reverse,
              const std::function<void(int64_t, int64_t)> &fn) {
  Coordinates shape = layout.shape();
  int64_t n = shape[axis], stride = 1, rows = 1;
  for (unsigned d = 0; d < shape.size(); ++d) {
    stride *= d > axis ? shape[d] : 1;
    rows *= d == axis ? 1 : shape[d];
  }
  for (int64_t row = 0; row < rows; ++row) {
    int64_t base = row / stride * stride * n + row % stride;
    for (int64_t t = 1; t < n; ++t) {
      int64_t to = base + (reverse ? n - 1 - t : t) * stride;
      fn(reverse ? to + stride : to - stride, to);
    }
  }
}

int64_t sizeOf(const Layout &layout) {
  int64_t n = 1;
  for (int64_t side : layout.shape())
    n *= side;
  return n;
}
} // namespace

// Axes in registers, lanes, warps and copies, in any order and mixed with other
// dimensions; all kinds, both directions, all element types.
TEST_F(Scan, EveryLayoutAndKindAgreesWithALoop) {
  std::mt19937 rng(11);
  int ordered = 0, moved = 0;
  for (int i = 0; i < 72; ++i) {
    LayoutSizes sizes = randomSizes(rng, 1 + rng() % 2);
    sizes.laneBits = 5;
    sizes.warpBits = rng() % 3;
    Layout layout = randomLayout(rng, sizes, i % 2);
    if (layout.numRegisters() > 32)
      continue;
    unsigned axis = rng() % layout.rank();
    bool reverse = rng() % 2;
    const Element &element = kElements[i % std::size(kElements)];
    const Combiner &kind = kCombiners[rng() % 4];
    bool index = element.name == std::string("index");
    SCOPED_TRACE(tile(layout, element.name) + " " + kind.text + " axis " +
                 std::to_string(axis) + (reverse ? " reverse" : ""));
    ++(isOrderedAlong(layout, axis) ? ordered : moved);
    auto module = compile(layout, element.name, 1,
                          "    %s = heddle_gpu.scan " + kind.text +
                              " %t0 axis " + std::to_string(axis) +
                              (reverse ? " reverse" : "") + " : TILE\n");
    std::vector<double> x = someValues(rng, sizeOf(layout), kind.range);
    if (index) // positions are not negative
      for (double &v : x)
        v = std::abs(v);
    std::vector<double> y = x;
    forSteps(layout, axis, reverse, [&](int64_t from, int64_t to) {
      y[to] = kind.fold(y[from], y[to]);
    });
    check(module.get(), layout, element, {x}, y);
  }
  EXPECT_GT(ordered, 15);
  EXPECT_GT(moved, 15);
}

// The combination of the recurrence h_t = a_t h_(t-1) + b_t does not commute.
TEST_F(Scan, ARecurrenceKeepsTheOrderOfTheAxis) {
  const std::vector<Layout> layouts = {
      *Layout::get({{1}, {2}}, {{4}, {8}, {16}, {32}, {64}}, {}, {1}),
      *Layout::get({{32}, {64}}, {{1}, {2}, {4}, {8}, {16}}, {}, {3}),
      *Layout::get({{4}}, {{1}, {8}, {2}, {16}, {0}}, {}, {5}),
      *Layout::get({{1}}, {{2}, {4}, {8}, {16}, {32}}, {{64}, {128}}, {1}),
      *Layout::get({{0, 1}, {8, 0}}, {{0, 2}, {0, 4}, {1, 0}, {2, 0}, {4, 0}},
                   {{16, 0}}, {1, 3}),
      *Layout::get({{0, 1}}, {{1, 1}, {2, 2}, {0, 4}, {0, 2}, {4, 0}}, {{0, 8}},
                   {1, 1})};
  std::mt19937 rng(3);
  for (const Layout &layout : layouts)
    for (unsigned axis = 0; axis < layout.rank(); ++axis)
      for (bool reverse : {false, true})
        for (const Element &element : {kElements[0], kElements[4]}) {
          bool isFloat = element.name[0] == 'f';
          SCOPED_TRACE(tile(layout, element.name) + " axis " +
                       std::to_string(axis) + (reverse ? " reverse" : ""));
          std::string f = isFloat ? "f" : "i", t = element.name;
          std::string block =
              "    %p, %s = heddle_gpu.scan %t0, %t1 axis " +
              std::to_string(axis) + (reverse ? " reverse" : "") +
              " {\n    ^bb0(%a0: " + t + ", %b0: " + t + ", %a1: " + t +
              ", %b1: " + t + "):\n      %pa = arith.mul" + f +
              " %a0, %a1 : " + t + "\n      %m = arith.mul" + f +
              " %b0, %a1 : " + t + "\n      %hb = arith.add" + f +
              " %m, %b1 : " + t + "\n      heddle_gpu.yield %pa, %hb : " + t +
              ", " + t + "\n    } : TILE, TILE\n";
          auto module = compile(layout, element.name, 2, block);
          std::vector<double> a = someValues(rng, sizeOf(layout), 1);
          std::vector<double> b = someValues(rng, sizeOf(layout), 3), h = b;
          forSteps(layout, axis, reverse,
                   [&](int64_t from, int64_t to) { h[to] += a[to] * h[from]; });
          check(module.get(), layout, element, {a, b}, h);
        }
}
