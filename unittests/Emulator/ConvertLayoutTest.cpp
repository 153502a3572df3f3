//===- ConvertLayoutTest.cpp - layouts change as planned ------------------===//
//
// A tile is loaded in one layout, converted and stored in another: it has to
// come out whole, by the means that the plan names.
//
//===----------------------------------------------------------------------===//

#include "KernelTest.h"

#include "../Dialect/HeddleGpu/RandomLayout.h"
#include "heddle/Codegen/Passes.h"
#include "heddle/Conversion/HeddleGpuToNVVM/HeddleGpuToNVVM.h"
#include "heddle/Dialect/HeddleGpu/IR/HeddleGpu.h"
#include "heddle/Dialect/HeddleGpu/IR/LayoutConversion.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Pass/PassManager.h"

#include <algorithm>
#include <cstring>
#include <map>

using namespace heddle;
using namespace heddle::test;
using namespace heddle_gpu;

namespace {
struct Element {
  const char *name;
  int64_t bytes;
  unsigned bits; // as the compiler counts them
};
constexpr Element kElements[] = {
    {"f32", 4, 32}, {"bf16", 2, 16},  {"f16", 2, 16},
    {"i8", 1, 8},   {"i1", 1, 8},     {"i64", 8, 64},
    {"f64", 8, 64}, {"index", 8, 64}, {"i16", 2, 16}};

class ConvertLayout : public ::testing::Test {
protected:
  ConvertLayout() {
    mlir::DialectRegistry registry;
    registerCompilerDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  std::string typeText(const Layout &layout, const Element &element) {
    std::string text;
    llvm::raw_string_ostream os(text);
    os << tileType(mlir::parseType(element.name, &context), &context, layout);
    return text;
  }

  std::unique_ptr<EmulatorModule> compile(const Layout &from, const Layout &to,
                                          const Element &element) {
    std::string buffer = "memref<", zeros, dims;
    for (size_t d = 0; d < to.shape().size(); ++d) {
      buffer += std::to_string(to.shape()[d]) + "x";
      zeros += d ? ", %c0" : "%c0";
      dims += (d ? ", " : "") + std::to_string(d);
    }
    buffer += std::string(element.name) + ">";
    std::string a = typeText(from, element), b = typeText(to, element);
    std::string warps = std::to_string(to.numWarps());
    std::string text =
        "gpu.module @m {\n  gpu.func @k(%x: " + buffer + ", %y: " + buffer +
        ") kernel attributes {known_block_size = array<i32: " +
        std::to_string(32 * to.numWarps()) +
        ", 1, 1>, heddle_gpu.warps = " + warps + " : i64} {\n" +
        "    %c0 = arith.constant 0 : index\n    %t = heddle_gpu.load %x[" +
        zeros + "] dims [" + dims + "] : " + buffer + " -> " + a +
        "\n    %u = heddle_gpu.convert_layout %t : " + a + " -> " + b +
        "\n    heddle_gpu.store %u into %y[" + zeros + "] dims [" + dims +
        "] : " + b + " into " + buffer + "\n    gpu.return\n  }\n}\n";
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

  /// The plan's kind, after checking that it is carried out.
  ConversionKind check(const Layout &from, const Layout &to,
                       const Element &element) {
    Conversion plan = classifyConversion(from, to, element.bits);
    int64_t count = 1;
    for (int64_t side : to.shape())
      count *= side;
    std::vector<uint8_t> x(count * element.bytes + 16), y(x.size());
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = static_cast<uint8_t>(element.name == std::string("i1")
                                      ? (i * 5 + i / 7) % 2
                                      : i * 37 + i / 256 * 11);
    // Quiet numbers only: a NaN may lose its bits on the way.
    if (element.name[0] == 'f' || element.name[0] == 'b')
      for (int64_t i = 0; i < count; ++i)
        x[i * element.bytes + element.bytes - 1] &= 0x3f;
    // Positions of tiles have 31 bits; tensors of wider ones are plain loops.
    if (element.name == std::string("index"))
      for (int64_t i = 0; i < count; ++i) {
        x[8 * i + 3] &= 0x7f;
        std::fill_n(&x[8 * i + 4], 4, uint8_t(0));
      }
    std::unique_ptr<EmulatorModule> module = compile(from, to, element);
    if (!module)
      return plan.kind;
    Launch launch("k", {1}, {32 * to.numWarps()});
    x.resize(count * element.bytes);
    y.resize(count * element.bytes);
    launch.buffer("x", x).buffer("y", y, false);
    launch.dynamicSharedBytes = 2 * plan.sharedBytes;
    LaunchReport report = runClean(*module, launch);
    EXPECT_EQ(x, y);
    const EmulatorCounters &c = report.counters;
    if (plan.kind != ConversionKind::Shared) {
      EXPECT_EQ(c.sharedLoadWavefronts + c.sharedStoreWavefronts, 0u);
      EXPECT_EQ(c.shuffles,
                static_cast<uint64_t>(plan.shuffles * to.numWarps()));
      EXPECT_EQ(c.barriers, 0u);
    }
    return plan.kind;
  }

  mlir::MLIRContext context;
};
} // namespace

TEST_F(ConvertLayout, EveryElementArrives) {
  std::mt19937 rng(5);
  std::map<ConversionKind, int> seen;
  for (int i = 0; i < 90; ++i) {
    LayoutSizes sizes = randomSizes(rng, 1 + rng() % 2);
    sizes.laneBits = 5;
    sizes.warpBits = rng() % 2;
    Layout from = randomLayout(rng, sizes), to = randomLayout(rng, sizes);
    if (rng() % 2) // the same warps, so that shuffles do
      if (auto same = Layout::get(
              {to.getRegister().begin(), to.getRegister().end()},
              {to.getLane().begin(), to.getLane().end()},
              {from.getWarp().begin(), from.getWarp().end()}, to.getRepeat()))
        to = *same;
    if (from.shape() != to.shape() || from.numRegisters() > 64)
      continue;
    ++seen[check(from, to, kElements[i % std::size(kElements)])];
  }
  EXPECT_GT(seen[ConversionKind::Shuffle], 10);
  EXPECT_GT(seen[ConversionKind::Shared], 10);
}

TEST_F(ConvertLayout, AnExchangeOfLanesIsAShuffleForEveryType) {
  Layout a = *Layout::get({{0, 1}}, {{1, 0}, {2, 0}, {4, 0}, {0, 2}, {0, 4}},
                          {{8, 0}}, {1, 1});
  Layout b = *Layout::get({{0, 1}}, {{4, 0}, {1, 0}, {0, 4}, {0, 2}, {2, 0}},
                          {{8, 0}}, {1, 1});
  for (const Element &element : kElements)
    EXPECT_EQ(check(a, b, element), ConversionKind::Shuffle) << element.name;
}
