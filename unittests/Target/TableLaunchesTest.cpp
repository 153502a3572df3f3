//===- TableLaunchesTest.cpp - one launch for many buffers ----------------===//

#include "heddle/Pipelines/Pipelines.h"
#include "heddle/Target/CommandList.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <cstring>

using namespace heddle;

namespace {
/// A kernel of one input, one number and one output; what it computes does not
/// matter here.
std::string kernel(const std::string &name) {
  return "func.func private @" + name +
         "(%x: memref<16xf32>, %s: memref<f32>, %y: memref<16xf32>) attributes "
         "{heddle.family = \"elementwise\"} {\n"
         "%t = bufferization.to_tensor %x restrict : memref<16xf32> to "
         "tensor<16xf32>\n"
         "%n = bufferization.to_tensor %s restrict : memref<f32> to "
         "tensor<f32>\n"
         "bufferization.materialize_in_destination %t in restrict writable %y "
         ": (tensor<16xf32>, memref<16xf32>) -> ()\nreturn\n}\n";
}

/// @updates do one thing to each element, @other another.
class Tables : public TableKernels {
public:
  Element elementOf(const KernelInfo &kernel) override {
    if (kernel.name == "other")
      return {};
    return {0, count, {false, true, false}};
  }
  std::string make(const KernelInfo &kernel, int64_t leaves,
                   int64_t blocks) override {
    return kernel.name + "_" + std::to_string(leaves) + "_" +
           std::to_string(blocks);
  }
  int64_t count = 16;
};

/// Launches on the argument x, on the places a to e of the arena, and on the
/// result y; p and q are numbers.
Function write(const std::string &launches, Tables &tables,
               int64_t tableBlocks = 1) {
  mlir::DialectRegistry registry;
  registerCompilerDialects(registry);
  mlir::MLIRContext context(registry);
  std::string text =
      "func.func @main(%0: memref<64xi8>, %1: memref<64xi8>, %2: "
      "memref<512xi8>, %3: memref<64xi8>) attributes {heddle.argument_types = "
      "[tensor<16xf32>], heddle.argument_names = [\"x\"], "
      "heddle.argument_used = [true], heddle.result_types = [tensor<16xf32>], "
      "heddle.arena_bytes = 512 : i64, heddle.constants = [dense<2.0> : "
      "tensor<f32>, dense<3.0> : tensor<f32>], heddle.constant_offsets = "
      "array<i64: 0, 4>} {\n%c0 = arith.constant 0 : index\n%c4 = "
      "arith.constant 4 : index\n"
      "%x = memref.view %0[%c0][] : memref<64xi8> to memref<16xf32>\n"
      "%y = memref.view %1[%c0][] : memref<64xi8> to memref<16xf32>\n"
      "%p = memref.view %3[%c0][] : memref<64xi8> to memref<f32>\n"
      "%q = memref.view %3[%c4][] : memref<64xi8> to memref<f32>\n";
  for (int i = 0; i < 5; ++i) {
    std::string at = std::to_string(64 * i),
                name(1, static_cast<char>('a' + i));
    text += "%o" + at + " = arith.constant " + at + " : index\n%" + name +
            " = memref.view %2[%o" + at +
            "][] : memref<512xi8> to memref<16xf32>\n";
  }
  auto module = mlir::parseSourceString<mlir::ModuleOp>(
      text + launches + "return\n}\n" + kernel("updates") + kernel("other"),
      &context);
  Function function;
  EXPECT_TRUE(module);
  if (!module)
    return function;
  mlir::SymbolTable symbols(*module);
  CommandOptions options;
  options.tables = &tables;
  options.tableBlocks = tableBlocks;
  EXPECT_TRUE(succeeded(writeCommands(
      symbols.lookup<mlir::func::FuncOp>("main"), symbols, function, options)));
  EXPECT_EQ(verifyFunction(function).message, "");
  return function;
}

std::string launch(const std::string &name, char from, char to,
                   char number = 'p') {
  return "heddle.launch @" + name + "(%" + from + ", %" + number + ", %" + to +
         ") : (memref<16xf32>, memref<f32>, memref<16xf32>) -> ()\n";
}

/// Where the blocks of a launch find their elements.
std::vector<int64_t> partsOf(const Function &f, const Command &c) {
  const BufferRef &ref = c.args.back().buffers[0];
  EXPECT_EQ(ref.space, Space::Constants);
  EXPECT_EQ(ref.offset % 64, 0);
  std::vector<int64_t> parts(ref.size / sizeof(int64_t));
  std::memcpy(parts.data(), f.constants.data() + ref.offset, ref.size);
  return parts;
}

std::vector<std::string> kernelsOf(const Function &f) {
  std::vector<std::string> names;
  for (const Command &c : f.commands)
    names.push_back(f.kernels[c.kernel].name);
  return names;
}

using Names = std::vector<std::string>;
using Parts = std::vector<int64_t>;
} // namespace

TEST(TableLaunches, LaunchesSideBySideBecomeOne) {
  Tables tables;
  Function f = write(launch("updates", 'x', 'a') + launch("updates", 'b', 'c') +
                         launch("updates", 'd', 'y'),
                     tables);
  ASSERT_EQ(kernelsOf(f), (Names{"updates_3_3"}));
  EXPECT_EQ(f.kernels.size(), 1u);
  EXPECT_EQ(f.kernels[0].minBytes, 3 * (64 + 4 + 64));
  const Command &c = f.commands[0];
  EXPECT_FALSE(c.together);
  ASSERT_EQ(c.args.size(), 4u);
  EXPECT_EQ(c.args[0].kind, LaunchArg::Kind::PointerTable);
  ASSERT_EQ(c.args[0].buffers.size(), 3u);
  EXPECT_EQ(c.args[0].buffers[0].space, Space::Argument);
  EXPECT_EQ(c.args[0].buffers[1].offset, 64);
  EXPECT_EQ(c.args[0].buffers[2].offset, 192);
  EXPECT_EQ(c.args[1].kind, LaunchArg::Kind::Buffer);
  ASSERT_EQ(c.args[1].buffers.size(), 1u);
  ASSERT_EQ(c.args[2].buffers.size(), 3u);
  EXPECT_EQ(c.args[2].buffers[2].space, Space::Result);
  EXPECT_EQ(partsOf(f, c), (Parts{0, 0, 16, 1, 0, 16, 2, 0, 16}));
  // The function's own constants stay.
  float number = 0;
  std::memcpy(&number, f.constants.data() + 4, sizeof number);
  EXPECT_EQ(number, 3.0f);
}

TEST(TableLaunches, LongBuffersHaveSeveralBlocks) {
  Tables tables;
  tables.count = 3000;
  std::string two = launch("updates", 'x', 'a') + launch("updates", 'b', 'c');
  Function f = write(two, tables, 4);
  ASSERT_EQ(kernelsOf(f), (Names{"updates_2_4"}));
  EXPECT_EQ(partsOf(f, f.commands[0]),
            (Parts{0, 0, 2048, 0, 2048, 3000, 1, 0, 2048, 1, 2048, 3000}));
  f = write(two, tables, 1000);
  EXPECT_EQ(kernelsOf(f), (Names{"updates_2_6"})); // 1024 elements at least
  f = write(two, tables, 1);
  EXPECT_EQ(kernelsOf(f), (Names{"updates_2_2"})); // a block to a buffer
}

TEST(TableLaunches, NumbersForAllElementsHaveToBeTheSame) {
  Tables tables;
  Function f = write(
      launch("updates", 'x', 'a', 'p') + launch("updates", 'x', 'b', 'q') +
          launch("updates", 'x', 'c', 'p') + launch("updates", 'x', 'd', 'q'),
      tables);
  EXPECT_EQ(kernelsOf(f), (Names{"updates_2_2", "updates_2_2"}));
  EXPECT_EQ(f.commands[0].args[1].buffers[0].offset, 0);
  EXPECT_EQ(f.commands[1].args[1].buffers[0].offset, 4);
  EXPECT_FALSE(f.commands[0].together);
  EXPECT_TRUE(f.commands[1].together);
}

TEST(TableLaunches, OneAfterTheOtherStayApart) {
  Tables tables;
  Function f =
      write(launch("updates", 'x', 'a') + launch("updates", 'a', 'y'), tables);
  EXPECT_EQ(kernelsOf(f), (Names{"updates", "updates"}));
  f = write(launch("other", 'x', 'a') + launch("other", 'x', 'y'), tables);
  EXPECT_EQ(kernelsOf(f), (Names{"other", "other"}));
}

TEST(TableLaunches, WaitForTheLastOfTheirKind) {
  Tables tables;
  Function f = write(launch("updates", 'x', 'a') + launch("other", 'x', 'b') +
                         launch("updates", 'b', 'y'),
                     tables);
  EXPECT_EQ(kernelsOf(f), (Names{"other", "updates_2_2"}));
  EXPECT_FALSE(f.commands[0].together || f.commands[1].together);
}

TEST(TableLaunches, DoNotWaitWhereTheirResultsOrOperandsAreNeeded) {
  Tables tables;
  // b is made of a.
  Function f = write(launch("updates", 'x', 'a') + launch("other", 'a', 'b') +
                         launch("updates", 'b', 'y'),
                     tables);
  EXPECT_EQ(kernelsOf(f), (Names{"updates", "other", "updates"}));
  // a is written again before the last.
  f = write(launch("updates", 'a', 'c') + launch("other", 'x', 'a') +
                launch("other", 'a', 'b') + launch("updates", 'b', 'y'),
            tables);
  EXPECT_EQ(kernelsOf(f), (Names{"updates", "other", "other", "updates"}));
}
