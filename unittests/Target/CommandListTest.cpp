//===- CommandListTest.cpp - a planned function as runtime data -----------===//

#include "heddle/Target/CommandList.h"
#include "heddle/Pipelines/Pipelines.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <cstring>

using namespace heddle;

namespace {
/// Kernels that the planned functions below launch.
constexpr const char *kKernels = R"(
func.func private @double(%x: memref<4x4xf32>, %y: memref<4x4xf32>)
    attributes {heddle.family = "elementwise"} {
  %t = bufferization.to_tensor %x restrict : memref<4x4xf32> to tensor<4x4xf32>
  %e = tensor.empty() : tensor<4x4xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a, b)>],
      iterator_types = ["parallel", "parallel"]} ins(%t : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %c = arith.constant 1.0 : f32
    %s = arith.addf %a, %a : f32
    %u = arith.mulf %s, %c : f32
    linalg.yield %u : f32
  } -> tensor<4x4xf32>
  bufferization.materialize_in_destination %r in restrict writable %y : (tensor<4x4xf32>, memref<4x4xf32>) -> ()
  return
}
func.func private @attend(%q: memref<2x8x4x16xbf16>, %k: memref<2x10x2x16xbf16>, %v: memref<2x10x2x6xbf16>, %o: memref<2x8x4x6xbf16>)
    attributes {heddle.family = "attention"} {
  %a = bufferization.to_tensor %q restrict : memref<2x8x4x16xbf16> to tensor<2x8x4x16xbf16>
  %b = bufferization.to_tensor %k restrict : memref<2x10x2x16xbf16> to tensor<2x10x2x16xbf16>
  %c = bufferization.to_tensor %v restrict : memref<2x10x2x6xbf16> to tensor<2x10x2x6xbf16>
  %r = heddle.attention %a, %b, %c : tensor<2x8x4x16xbf16>, tensor<2x10x2x16xbf16>, tensor<2x10x2x6xbf16> -> tensor<2x8x4x6xbf16>
  bufferization.materialize_in_destination %r in restrict writable %o : (tensor<2x8x4x6xbf16>, memref<2x8x4x6xbf16>) -> ()
  return
}
)";

/// What writeCommands makes of @main.
struct Written {
  explicit Written(const std::string &text, int64_t alignment = 1) {
    mlir::DialectRegistry registry;
    registerCompilerDialects(registry);
    mlir::MLIRContext context(registry);
    mlir::ScopedDiagnosticHandler handler(
        &context, [this](mlir::Diagnostic &d) { error += d.str(); });
    auto module =
        mlir::parseSourceString<mlir::ModuleOp>(text + kKernels, &context);
    EXPECT_TRUE(module) << error;
    if (!module)
      return;
    mlir::SymbolTable symbols(*module);
    auto entry = symbols.lookup<mlir::func::FuncOp>("main");
    CommandOptions options;
    options.launchAlignment = alignment;
    ok = succeeded(writeCommands(entry, symbols, function, options));
  }
  bool ok = false;
  std::string error;
  Function function;
};

/// One argument and one result of 4x4 f32, `arena` bytes of arena, 64 bytes of
/// constants; %c<n> are offsets.
std::string planned(const std::string &body, const std::string &attributes = {},
                    int arena = 256) {
  return "func.func @main(%x: memref<64xi8>, %y: memref<64xi8>, %arena: "
         "memref<" +
         std::to_string(arena) +
         "xi8>, %constants: memref<64xi8>) attributes {"
         "heddle.argument_types = [tensor<4x4xf32>], heddle.argument_names = "
         "[\"x\"], heddle.argument_used = [true], heddle.result_types = "
         "[tensor<4x4xf32>], heddle.arena_bytes = " +
         std::to_string(arena) +
         " : i64, heddle.max_live_bytes = 128 : i64, heddle.work_bytes = 64 : "
         "i64" +
         attributes +
         "} {\n%c0 = arith.constant 0 : index\n%c64 = arith.constant 64 : "
         "index\n%c128 = arith.constant 128 : index\n" +
         body + "return\n}\n";
}

std::string view(const std::string &name, const std::string &of,
                 const std::string &offset, int bytes) {
  return "%" + name + " = memref.view %" + of + "[%" + offset +
         "][] : memref<" + std::to_string(bytes) + "xi8> to memref<4x4xf32>\n";
}

std::string launch(const std::string &from, const std::string &to) {
  return "heddle.launch @double(%" + from + ", %" + to +
         ") : (memref<4x4xf32>, memref<4x4xf32>) -> ()\n";
}

void expectRef(const BufferRef &ref, Space space, int64_t offset,
               int64_t size) {
  EXPECT_EQ(static_cast<int>(ref.space), static_cast<int>(space));
  EXPECT_EQ(ref.index, 0u);
  EXPECT_EQ(ref.offset, offset);
  EXPECT_EQ(ref.size, size);
  EXPECT_TRUE(ref.strides.empty());
}

const std::string kViews = view("a", "x", "c0", 64) + view("r", "y", "c0", 64) +
                           view("t", "arena", "c128", 256) +
                           view("k", "constants", "c0", 64);
} // namespace

TEST(CommandList, LaunchesKeepTheirOrderAndNameKernelsOnce) {
  Written w(planned(kViews + launch("a", "t") + launch("t", "r")));
  ASSERT_TRUE(w.ok) << w.error;
  ASSERT_EQ(w.function.commands.size(), 2u);
  ASSERT_EQ(w.function.kernels.size(), 1u);
  EXPECT_EQ(w.function.kernels[0].name, "double");
  EXPECT_EQ(w.function.kernels[0].family, "elementwise");
  for (const Command &c : w.function.commands) {
    EXPECT_EQ(static_cast<int>(c.kind),
              static_cast<int>(Command::Kind::Launch));
    EXPECT_EQ(c.kernel, 0u);
    ASSERT_EQ(c.args.size(), 2u);
  }
  expectRef(w.function.commands[0].args[0].buffers[0], Space::Argument, 0, 64);
  expectRef(w.function.commands[0].args[1].buffers[0], Space::Arena, 128, 64);
  expectRef(w.function.commands[1].args[0].buffers[0], Space::Arena, 128, 64);
  expectRef(w.function.commands[1].args[1].buffers[0], Space::Result, 0, 64);
}

TEST(CommandList, AKernelThatWritesOverItsInputGetsOneBufferTwice) {
  Written w(planned(kViews + launch("a", "r") + launch("r", "r")));
  ASSERT_TRUE(w.ok) << w.error;
  const Command &inPlace = w.function.commands[1];
  expectRef(inPlace.args[0].buffers[0], Space::Result, 0, 64);
  expectRef(inPlace.args[1].buffers[0], Space::Result, 0, 64);
  EXPECT_EQ(verifyFunction(w.function).message, "");
}

TEST(CommandList, CopiesHaveSourceAndDestination) {
  Written w(planned(kViews + "memref.copy %k, %r : memref<4x4xf32> to "
                             "memref<4x4xf32>\n"));
  ASSERT_TRUE(w.ok) << w.error;
  ASSERT_EQ(w.function.commands.size(), 1u);
  const Command &copy = w.function.commands[0];
  EXPECT_EQ(static_cast<int>(copy.kind), static_cast<int>(Command::Kind::Copy));
  expectRef(copy.source, Space::Constants, 0, 64);
  expectRef(copy.dest, Space::Result, 0, 64);
}

TEST(CommandList, ArgumentsAndResultsAreNumberedApart) {
  Written w(
      "func.func @main(%x: memref<64xi8>, %y: memref<128xi8>, %r: "
      "memref<64xi8>, %s: memref<64xi8>, %arena: memref<0xi8>, %constants: "
      "memref<0xi8>) attributes {heddle.argument_types = [tensor<4x4xf32>, "
      "tensor<2x4x4xf32>], heddle.argument_names = [\"\", \"w\"], "
      "heddle.argument_used = [false, true], heddle.result_types = "
      "[tensor<4x4xf32>, tensor<16xf32>], heddle.bundle_name = \"f\"} {\n"
      "%c0 = arith.constant 0 : index\n%c64 = arith.constant 64 : index\n" +
      view("a", "y", "c64", 128) + view("b", "s", "c0", 64) + launch("a", "b") +
      "return\n}\n");
  ASSERT_TRUE(w.ok) << w.error;
  const Function &f = w.function;
  EXPECT_EQ(signatureOf(f), "f(float32[4,4], w: float32[2,4,4]) -> "
                            "(float32[4,4], float32[16])");
  EXPECT_FALSE(f.arguments[0].used);
  EXPECT_TRUE(f.arguments[1].used);
  // Arguments that nothing reads do not count.
  EXPECT_EQ(f.plan.argBytes, 128);
  EXPECT_EQ(f.plan.outBytes, 128);
  EXPECT_EQ(f.plan.arenaBytes, 0);
  const BufferRef &from = f.commands[0].args[0].buffers[0];
  EXPECT_EQ(from.index, 1u);
  EXPECT_EQ(from.offset, 64);
  const BufferRef &to = f.commands[0].args[1].buffers[0];
  EXPECT_EQ(static_cast<int>(to.space), static_cast<int>(Space::Result));
  EXPECT_EQ(to.index, 1u);
}

TEST(CommandList, PlanFiguresAreThoseOfThePlanner) {
  Written w(planned(kViews + launch("a", "r")));
  ASSERT_TRUE(w.ok) << w.error;
  EXPECT_EQ(w.function.plan.arenaBytes, 256);
  EXPECT_EQ(w.function.plan.maxLiveBytes, 128);
  EXPECT_EQ(w.function.plan.workBytes, 64);
}

TEST(CommandList, ThePlanHashChangesWhenABufferMoves) {
  auto hash = [](const std::string &offset, int arena) {
    Written w(planned(view("a", "x", "c0", 64) + view("r", "y", "c0", 64) +
                          view("t", "arena", offset, arena) + launch("a", "t") +
                          launch("t", "r"),
                      "", arena));
    EXPECT_TRUE(w.ok) << w.error;
    return w.function.plan.planHash;
  };
  EXPECT_EQ(hash("c64", 256), hash("c64", 256));
  EXPECT_NE(hash("c64", 256), hash("c128", 256));
  EXPECT_NE(hash("c64", 256), hash("c64", 320));
}

TEST(CommandList, KernelsCountOperationsAndBytes) {
  Written w(planned(kViews + launch("a", "r")));
  ASSERT_TRUE(w.ok) << w.error;
  EXPECT_EQ(w.function.kernels[0].flops, 2 * 16); // constants are free
  EXPECT_EQ(w.function.kernels[0].minBytes, 64 + 64);

  Written attention(
      "func.func @main(%q: memref<2048xi8>, %k: memref<1280xi8>, %v: "
      "memref<480xi8>, %r: memref<768xi8>, %arena: memref<0xi8>, %constants: "
      "memref<0xi8>) attributes {heddle.argument_types = "
      "[tensor<2x8x4x16xbf16>, tensor<2x10x2x16xbf16>, tensor<2x10x2x6xbf16>], "
      "heddle.argument_names = [\"\", \"\", \"\"], heddle.argument_used = "
      "[true, true, true], heddle.result_types = [tensor<2x8x4x6xbf16>]} {\n"
      "%c0 = arith.constant 0 : index\n"
      "%a = memref.view %q[%c0][] : memref<2048xi8> to memref<2x8x4x16xbf16>\n"
      "%b = memref.view %k[%c0][] : memref<1280xi8> to memref<2x10x2x16xbf16>\n"
      "%c = memref.view %v[%c0][] : memref<480xi8> to memref<2x10x2x6xbf16>\n"
      "%o = memref.view %r[%c0][] : memref<768xi8> to memref<2x8x4x6xbf16>\n"
      "heddle.launch @attend(%a, %b, %c, %o) : (memref<2x8x4x16xbf16>, "
      "memref<2x10x2x16xbf16>, memref<2x10x2x6xbf16>, memref<2x8x4x6xbf16>) -> "
      "()\nreturn\n}\n");
  ASSERT_TRUE(attention.ok) << attention.error;
  // 2 * batch * heads * Sq * Sk * (d_qk + d_v).
  EXPECT_EQ(attention.function.kernels[0].flops, 2 * 2 * 4 * 8 * 10 * (16 + 6));
  EXPECT_EQ(attention.function.kernels[0].minBytes, 2048 + 1280 + 480 + 768);
  EXPECT_EQ(attention.function.kernels[0].matrixFlops,
            attention.function.kernels[0].flops);
  EXPECT_EQ(attention.function.kernels[0].matrixType, "bf16");
  EXPECT_EQ(attention.function.kernels[0].specialOps, 2 * 4 * 8 * 10);
}

TEST(CommandList, ConstantsStandAtTheirOffsets) {
  Written w(planned(
      kViews + launch("k", "r"),
      ", heddle.constants = [dense<[1.0, -2.0]> : tensor<2xf32>, dense<[true, "
      "false, true]> : tensor<3xi1>, dense<1.0> : tensor<3xbf16>, dense<[-1, "
      "5000000000]> : tensor<2xi64>, dense<[7, 9]> : tensor<2xindex>], "
      "heddle.constant_offsets = array<i64: 0, 64, 128, 192, 256>"));
  ASSERT_TRUE(w.ok) << w.error;
  const std::vector<uint8_t> &bytes = w.function.constants;
  ASSERT_EQ(bytes.size(), 320u); // whole lines of 64 bytes
  auto at = [&](size_t offset, auto value) {
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
  };
  EXPECT_EQ(at(0, 0.0f), 1.0f);
  EXPECT_EQ(at(4, 0.0f), -2.0f);
  EXPECT_EQ(bytes[64], 1);
  EXPECT_EQ(bytes[65], 0);
  EXPECT_EQ(bytes[66], 1);
  for (size_t i = 0; i < 3; ++i)
    EXPECT_EQ(at(128 + 2 * i, uint16_t()), 0x3f80);
  EXPECT_EQ(at(192, int64_t()), -1);
  EXPECT_EQ(at(200, int64_t()), 5000000000);
  EXPECT_EQ(at(256, int64_t()), 7);
  EXPECT_EQ(at(264, int64_t()), 9);
  EXPECT_EQ(bytes[319], 0);
}

TEST(CommandList, SlicesThatAreNotAlignedAreCopiedForLaunches) {
  // Bytes 4 to 68 of the arena: 64 is aligned to 16, 4 is not.
  std::string text = planned("%c4 = arith.constant 4 : index\n" +
                                 view("b", "arena", "c4", 128) +
                                 view("r", "y", "c0", 64) + launch("b", "r"),
                             "", 128);
  Written plain(text), aligned(text, 16);
  ASSERT_TRUE(plain.ok && aligned.ok) << plain.error << aligned.error;
  ASSERT_EQ(plain.function.commands.size(), 1u);
  EXPECT_EQ(plain.function.plan.arenaBytes, 128);
  const std::vector<Command> &commands = aligned.function.commands;
  ASSERT_EQ(commands.size(), 2u);
  EXPECT_EQ(commands[0].kind, Command::Kind::Copy);
  EXPECT_EQ(commands[0].source.offset, 4);
  EXPECT_EQ(commands[0].dest.space, Space::Arena);
  EXPECT_EQ(commands[0].dest.offset, 256);
  EXPECT_EQ(commands[1].args[0].buffers[0].offset, 256);
  EXPECT_EQ(commands[1].args[1].buffers[0].space, Space::Result);
  EXPECT_EQ(aligned.function.plan.arenaBytes, 512);
}

TEST(CommandList, AFunctionWithoutAPlanIsRefused) {
  Written w("func.func @main() {\nreturn\n}\n");
  EXPECT_FALSE(w.ok);
  EXPECT_EQ(w.error, "expected a planned function; run heddle-plan-memory "
                     "first");
}

TEST(CommandList, BuffersMustBeViewsAtConstantOffsets) {
  Written computed(planned(kViews +
                           "%d = memref.dim %x, %c0 : memref<64xi8>\n" +
                           "%m = arith.subi %d, %c64 : index\n" +
                           view("b", "x", "m", 64) + launch("b", "r")));
  EXPECT_FALSE(computed.ok);
  EXPECT_EQ(computed.error, "expected a constant offset into an argument");

  Written allocated(planned(kViews + "%b = memref.alloc() : memref<4x4xf32>\n" +
                            launch("b", "r")));
  EXPECT_FALSE(allocated.ok);
  EXPECT_EQ(allocated.error, "expected a view of a buffer");
}

TEST(CommandList, ElementTypesOfTheRuntime) {
  mlir::MLIRContext context;
  std::string error;
  mlir::ScopedDiagnosticHandler handler(
      &context, [&](mlir::Diagnostic &d) { error += d.str(); });
  mlir::Builder b(&context);
  auto loc = b.getUnknownLoc();
  auto of = [&](mlir::Type element) {
    return runtimeType(mlir::RankedTensorType::get({2, 3}, element), loc);
  };
  const std::pair<mlir::Type, DType> known[] = {
      {b.getF32Type(), DType::F32}, {b.getF64Type(), DType::F64},
      {b.getF16Type(), DType::F16}, {b.getBF16Type(), DType::BF16},
      {b.getI1Type(), DType::I1},   {b.getI8Type(), DType::I8},
      {b.getI16Type(), DType::I16}, {b.getI32Type(), DType::I32},
      {b.getI64Type(), DType::I64}, {b.getIndexType(), DType::I64}};
  for (auto [type, dtype] : known) {
    auto result = of(type);
    ASSERT_TRUE(succeeded(result));
    EXPECT_EQ(dtypeName(result->dtype), dtypeName(dtype));
    EXPECT_EQ(result->shape, (std::vector<int64_t>{2, 3}));
  }
  EXPECT_TRUE(error.empty()) << error;
  EXPECT_TRUE(failed(of(b.getIntegerType(4))));
  EXPECT_NE(error.find("got 'tensor<2x3xi4>'"), std::string::npos) << error;
  error.clear();
  EXPECT_TRUE(failed(runtimeType(
      mlir::RankedTensorType::get({mlir::ShapedType::kDynamic}, b.getF32Type()),
      loc)));
  EXPECT_EQ(error, "expected a static tensor, got 'tensor<?xf32>'");
  EXPECT_TRUE(failed(runtimeType(b.getF32Type(), loc)));
}
