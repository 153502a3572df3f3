//===- RowsAnalysisTest.cpp - what can be made row by row -----------------===//

#include "heddle/Codegen/Tile/RowsAnalysis.h"
#include "heddle/Pipelines/Pipelines.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace heddle;
using mlir::linalg::GenericOp;

namespace {
/// An operand: its type, and which of the loops a, b, c, d index it ("ac").
struct Operand {
  std::string type, loops;
};

constexpr const char *kProduct = "%m = arith.mulf %0, %1 : f32\n"
                                 "%y = arith.addf %o, %m : f32\n";
constexpr const char *kSum = "%y = arith.addf %o, %0 : f32\n";

/// A function under construction; values are named %v0, %v1, ...
class Graph {
public:
  std::string argument(const std::string &type) {
    arguments += (arguments.empty() ? "" : ", ") + next() + ": " + type;
    return name();
  }

  /// A generic over `numLoops` loops of which `reductions` ("c") are reduced.
  /// Body arguments are %0, %1, ... and %o; the body defines %y.
  std::string
  generic(int numLoops, const std::string &reductions,
          const std::vector<std::pair<std::string, Operand>> &inputs,
          const Operand &output, const std::string &body) {
    std::string maps, kinds, names, types, blockArguments;
    for (const auto &[value, operand] : inputs) {
      maps += map(numLoops, operand.loops) + ", ";
      names += (names.empty() ? "" : ", ") + value;
      types += (types.empty() ? "" : ", ") + operand.type;
    }
    for (size_t i = 0; i < inputs.size(); ++i)
      blockArguments += "%" + std::to_string(i) + ": " +
                        elementOf(inputs[i].second.type) + ", ";
    for (int i = 0; i < numLoops; ++i)
      kinds +=
          std::string(i ? ", " : "") +
          (reductions.find('a' + i) == std::string::npos ? "\"parallel\""
                                                         : "\"reduction\"");
    std::string init = argument(output.type);
    std::string element = elementOf(output.type);
    text += next() + " = linalg.generic {indexing_maps = [" + maps +
            map(numLoops, output.loops) + "], iterator_types = [" + kinds +
            "]} ins(" + names + " : " + types + ") outs(" + init + " : " +
            output.type + ") {\n^bb0(" + blockArguments + "%o: " + element +
            "):\n" + body + "linalg.yield %y : " + element + "\n} -> " +
            output.type + "\n";
    resultType = output.type;
    return name();
  }

  /// The value that was made last; the graph is complete from then on.
  mlir::Value root() {
    if (!module) {
      std::string function = "func.func @f(" + arguments + ") -> " +
                             resultType + " {\n" + text + "return " + name() +
                             " : " + resultType + "\n}\n";
      registerCompilerDialects(registry);
      context = std::make_unique<mlir::MLIRContext>(registry);
      module = mlir::parseSourceString<mlir::ModuleOp>(function, context.get());
      EXPECT_TRUE(module) << function;
    }
    auto f = *module->getOps<mlir::func::FuncOp>().begin();
    return f.getBody().front().getTerminator()->getOperand(0);
  }
  GenericOp rootOp() { return root().getDefiningOp<GenericOp>(); }
  mlir::Value argumentValue(unsigned number) {
    auto f = *module->getOps<mlir::func::FuncOp>().begin();
    return f.getArgument(number);
  }

private:
  std::string next() { return "%v" + std::to_string(++count); }
  std::string name() const { return "%v" + std::to_string(count); }

  static std::string elementOf(const std::string &type) {
    if (type.rfind("tensor<", 0) != 0)
      return type;
    std::string inner = type.substr(7, type.size() - 8);
    size_t x = inner.rfind('x');
    return x == std::string::npos ? inner : inner.substr(x + 1);
  }

  static std::string map(int numLoops, const std::string &loops) {
    std::string from, to;
    for (int i = 0; i < numLoops; ++i)
      from += std::string(i ? ", " : "") + static_cast<char>('a' + i);
    for (char c : loops)
      to += std::string(to.empty() ? "" : ", ") + c;
    return "affine_map<(" + from + ") -> (" + to + ")>";
  }

  int count = 0;
  std::string arguments, text, resultType;
  mlir::DialectRegistry registry;
  std::unique_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

/// y = x * w of the given maps over loops (a, b, c), c reduced.
GenericOp product(Graph &g, const Operand &left, const Operand &right,
                  const Operand &out, const std::string &body = kProduct,
                  int numLoops = 3, const std::string &reductions = "c") {
  std::string x = g.argument(left.type), w = g.argument(right.type);
  g.generic(numLoops, reductions, {{x, left}, {w, right}}, out, body);
  return g.rootOp();
}

std::string matrix(int64_t rows, int64_t cols, const std::string &e = "f32") {
  return "tensor<" + std::to_string(rows) + "x" + std::to_string(cols) + "x" +
         e + ">";
}

std::string addMatrices(Graph &g, const std::string &x, const Operand &mine,
                        const std::string &type) {
  return g.generic(2, "", {{x, mine}}, {type, "ab"},
                   "%y = arith.addf %0, %0 : f32\n");
}
} // namespace

//===----------------------------------------------------------------------===//
// Contractions
//===----------------------------------------------------------------------===//

TEST(RowsContraction, LoopsAreNamedByTheOperandsThatHaveThem) {
  Graph g;
  auto c = matchRowsContraction(product(
      g, {matrix(4, 6), "ac"}, {matrix(6, 5), "cb"}, {matrix(4, 5), "ab"}));
  ASSERT_TRUE(c);
  EXPECT_EQ(c->m, 0u);
  EXPECT_EQ(c->n, 1u);
  EXPECT_EQ(c->k, 2u);
}

TEST(RowsContraction, AnyOperandMayBeTransposed) {
  Graph g;
  auto c = matchRowsContraction(product(
      g, {matrix(6, 4), "ca"}, {matrix(5, 6), "bc"}, {matrix(5, 4), "ba"}));
  ASSERT_TRUE(c);
  EXPECT_EQ(c->m, 0u);
  EXPECT_EQ(c->n, 1u);
}

TEST(RowsContraction, TheLastLoopOfTheLeftOperandAloneIsTheRow) {
  Graph g;
  auto c = matchRowsContraction(
      product(g, {"tensor<3x4x6xf32>", "abd"}, {matrix(6, 5), "dc"},
              {"tensor<3x4x5xf32>", "abc"}, kProduct, 4, "d"));
  ASSERT_TRUE(c);
  EXPECT_EQ(c->m, 1u);
  EXPECT_EQ(c->n, 2u);
  EXPECT_EQ(c->k, 3u);
}

TEST(RowsContraction, ABatchLoopIsInAllOperands) {
  Graph g;
  auto c = matchRowsContraction(
      product(g, {"tensor<3x4x6xf32>", "abd"}, {"tensor<3x6x5xf32>", "adc"},
              {"tensor<3x4x5xf32>", "abc"}, kProduct, 4, "d"));
  ASSERT_TRUE(c);
  EXPECT_EQ(c->m, 1u);
}

TEST(RowsContraction, FurtherReductionsGoRoundTheLastOne) {
  Graph g;
  auto c = matchRowsContraction(
      product(g, {"tensor<2x6x4xf32>", "cda"}, {"tensor<2x6x5xf32>", "cdb"},
              {matrix(4, 5), "ab"}, kProduct, 4, "cd"));
  ASSERT_TRUE(c);
  EXPECT_EQ(c->k, 3u);
  ASSERT_EQ(c->outer.size(), 1u);
  EXPECT_EQ(c->outer[0], 2u);
}

TEST(RowsContraction, ExtensionsAndTheOrderOfFactorsAndTermsDoNotMatter) {
  Graph g;
  EXPECT_TRUE(isRowsContraction(product(
      g, {matrix(4, 6, "bf16"), "ac"}, {matrix(6, 5, "bf16"), "cb"},
      {matrix(4, 5), "ab"},
      "%l = arith.extf %0 : bf16 to f32\n%r = arith.extf %1 : bf16 to f32\n"
      "%m = arith.mulf %r, %l : f32\n%y = arith.addf %m, %o : f32\n")));
}

TEST(RowsContraction, SixteenBitSumsMatch) {
  for (std::string e : {"bf16", "f16"}) {
    Graph g;
    EXPECT_TRUE(isRowsContraction(
        product(g, {matrix(4, 6, e), "ac"}, {matrix(6, 5, e), "cb"},
                {matrix(4, 5, e), "ab"},
                "%m = arith.mulf %0, %1 : " + e +
                    "\n%y = arith.addf %o, %m : " + e + "\n")))
        << e;
  }
}

TEST(RowsContraction, RefusesWhatHasAnotherForm) {
  struct Case {
    const char *why;
    Operand left, right, out;
    std::string body = kProduct;
    int numLoops = 3;
    std::string reductions = "c";
  };
  const Case cases[] = {
      {"f64",
       {matrix(4, 6, "f64"), "ac"},
       {matrix(6, 5, "f64"), "cb"},
       {matrix(4, 5, "f64"), "ab"},
       "%m = arith.mulf %0, %1 : f64\n%y = arith.addf %o, %m : f64\n"},
      {"integers",
       {matrix(4, 6, "i32"), "ac"},
       {matrix(6, 5, "i32"), "cb"},
       {matrix(4, 5, "i32"), "ab"},
       "%m = arith.muli %0, %1 : i32\n%y = arith.addi %o, %m : i32\n"},
      {"a maximum of products",
       {matrix(4, 6), "ac"},
       {matrix(6, 5), "cb"},
       {matrix(4, 5), "ab"},
       "%m = arith.mulf %0, %1 : f32\n%y = arith.maximumf %o, %m : f32\n"},
      {"a sum of sums",
       {matrix(4, 6), "ac"},
       {matrix(6, 5), "cb"},
       {matrix(4, 5), "ab"},
       "%m = arith.addf %0, %1 : f32\n%y = arith.addf %o, %m : f32\n"},
      {"a square of one factor",
       {matrix(4, 6), "ac"},
       {matrix(6, 5), "cb"},
       {matrix(4, 5), "ab"},
       "%m = arith.mulf %0, %0 : f32\n%y = arith.addf %o, %m : f32\n"},
      {"a matrix times a vector: no column",
       {matrix(4, 6), "ab"},
       {"tensor<6xf32>", "b"},
       {"tensor<4xf32>", "a"},
       kProduct,
       2,
       "b"},
      {"a vector times a matrix: no row",
       {"tensor<6xf32>", "b"},
       {matrix(6, 5), "ba"},
       {"tensor<5xf32>", "a"},
       kProduct,
       2,
       "b"},
      {"two loops of the right operand alone",
       {matrix(4, 6), "ad"},
       {"tensor<6x5x2xf32>", "dbc"},
       {"tensor<4x5x2xf32>", "abc"},
       kProduct,
       4,
       "d"},
      {"a reduction of one operand",
       {matrix(4, 6), "ac"},
       {"tensor<5xf32>", "b"},
       {matrix(4, 5), "ab"}},
  };
  for (const Case &c : cases) {
    Graph g;
    EXPECT_FALSE(isRowsContraction(
        product(g, c.left, c.right, c.out, c.body, c.numLoops, c.reductions)))
        << c.why;
  }
}

TEST(RowsContraction, FurtherReductionsGoRoundTheInnerOne) {
  Graph g;
  std::optional<RowsContraction> c = matchRowsContraction(
      product(g, {"tensor<4x6x7xf32>", "acd"}, {"tensor<6x7x5xf32>", "cdb"},
              {matrix(4, 5), "ab"}, kProduct, 4, "cd"));
  ASSERT_TRUE(c);
  EXPECT_EQ(c->m, 0u);
  EXPECT_EQ(c->n, 1u);
  EXPECT_EQ(c->k, 3u);
  EXPECT_EQ(llvm::ArrayRef<unsigned>(c->outer), llvm::ArrayRef<unsigned>({2u}));
}

TEST(RowsContraction, NothingIsNoContraction) {
  EXPECT_FALSE(isRowsContraction(GenericOp()));
  EXPECT_FALSE(isRowsGeneric(GenericOp()));
}

//===----------------------------------------------------------------------===//
// Elementwise ops and row reductions
//===----------------------------------------------------------------------===//

TEST(RowsGeneric, TakesElementwiseOpsAndReductions) {
  {
    Graph g;
    std::string x = g.argument("tensor<4x5x6xf32>");
    g.generic(3, "bc", {{x, {"tensor<4x5x6xf32>", "abc"}}},
              {"tensor<4xf32>", "a"}, kSum);
    EXPECT_TRUE(isRowsGeneric(g.rootOp()));
    EXPECT_EQ(innerReduction(g.rootOp()), 2u);
    EXPECT_TRUE(matchCombiner(g.rootOp()));
  }
  {
    Graph g;
    std::string x = g.argument(matrix(4, 5)), v = g.argument("tensor<5xf32>");
    g.generic(2, "", {{x, {matrix(4, 5), "ab"}}, {v, {"tensor<5xf32>", "b"}}},
              {matrix(5, 4), "ba"}, "%y = arith.addf %0, %1 : f32\n");
    EXPECT_TRUE(isRowsGeneric(g.rootOp()));
  }
  {
    Graph g;
    std::string x = g.argument(matrix(4, 5));
    g.generic(2, "a", {{x, {matrix(4, 5), "ab"}}}, {"tensor<5xf32>", "b"},
              kSum);
    EXPECT_TRUE(isRowsGeneric(g.rootOp()));
    EXPECT_TRUE(hasReductionOver(g.root()));
    EXPECT_FALSE(hasContraction(g.root()));
  }
}

TEST(RowsGeneric, TakesSeveralReductions) {
  Graph g;
  std::string x = g.argument("tensor<4x5x6xf32>");
  g.generic(3, "bc", {{x, {"tensor<4x5x6xf32>", "abc"}}}, {"tensor<4xf32>", "a"},
            kSum);
  EXPECT_TRUE(isRowsGeneric(g.rootOp()));
}

TEST(RowsGeneric, RefusesWhatTilesCannotHold) {
  struct Case {
    const char *why;
    Operand in, out;
    std::string body;
    int numLoops = 2;
    std::string reductions = {};
  };
  const Case cases[] = {
      {"f64",
       {matrix(4, 5, "f64"), "ab"},
       {matrix(4, 5, "f64"), "ab"},
       "%y = arith.negf %0 : f64\n"},
      {"i64",
       {matrix(4, 5, "i64"), "ab"},
       {matrix(4, 5, "i64"), "ab"},
       "%y = arith.addi %0, %0 : i64\n"},
      {"f64 on the way in",
       {matrix(4, 5, "f64"), "ab"},
       {matrix(4, 5), "ab"},
       "%y = arith.truncf %0 : f64 to f32\n"},
      {"a result of rank 0",
       {"tensor<4xf32>", "a"},
       {"tensor<f32>", ""},
       kSum,
       1,
       "a"},
      {"positions",
       {matrix(4, 5), "ab"},
       {matrix(4, 5), "ab"},
       "%i = linalg.index 0 : index\n%j = arith.index_cast %i : index to i32\n"
       "%y = arith.sitofp %j : i32 to f32\n"},
      {"a diagonal",
       {matrix(4, 4), "aa"},
       {"tensor<4xf32>", "a"},
       "%y = arith.negf %0 : f32\n",
       1},
      {"a scalar operand",
       {"f32", ""},
       {matrix(4, 5), "ab"},
       "%y = arith.negf %0 : f32\n"},
  };
  for (const Case &c : cases) {
    Graph g;
    std::string x = g.argument(c.in.type);
    g.generic(c.numLoops, c.reductions, {{x, c.in}}, c.out, c.body);
    EXPECT_FALSE(isRowsGeneric(g.rootOp())) << c.why;
  }
}

TEST(RowsGeneric, AContractionIsFoundThroughElementwiseOps) {
  Graph g;
  std::string x = g.argument(matrix(4, 6)), w = g.argument(matrix(6, 5));
  std::string p =
      g.generic(3, "c", {{x, {matrix(4, 6), "ac"}}, {w, {matrix(6, 5), "cb"}}},
                {matrix(4, 5), "ab"}, kProduct);
  addMatrices(g, p, {matrix(4, 5), "ab"}, matrix(4, 5));
  mlir::Value root = g.root();
  EXPECT_TRUE(hasContraction(root));
  EXPECT_TRUE(hasReductionOver(root));
  EXPECT_FALSE(hasContraction(g.argumentValue(0)));
}

//===----------------------------------------------------------------------===//
// Axes and tile sizes
//===----------------------------------------------------------------------===//

static std::optional<RowsShape> shapeOfProduct(int64_t m, int64_t k, int64_t n,
                                               int64_t threads = 2) {
  Graph g;
  product(g, {matrix(m, k), "ac"}, {matrix(k, n), "cb"}, {matrix(m, n), "ab"});
  TileTarget target;
  target.threads = threads;
  return chooseRowsShape(g.root(), target);
}

TEST(RowsShape, AProductHasItsRowsInPanelsAndItsColumnsWhole) {
  std::optional<RowsShape> shape = shapeOfProduct(256, 64, 24);
  ASSERT_TRUE(shape);
  EXPECT_EQ(shape->row, 0);
  EXPECT_EQ(shape->col, 1);
  EXPECT_EQ(shape->rowTile, 128); // two tiles for two workers
  EXPECT_EQ(shape->colTile, 24);
  EXPECT_EQ(shape->depthTile, 64);
  EXPECT_FALSE(shape->colsInside);
}

TEST(RowsShape, RowTilesAreWholePanelsAndFeedTheWorkers) {
  for (int64_t rows : {1, 31, 32, 33, 127, 128, 500, 1025})
    for (int64_t threads : {1, 2, 7, 64}) {
      std::optional<RowsShape> shape = shapeOfProduct(rows, 64, 24, threads);
      ASSERT_TRUE(shape);
      EXPECT_EQ(shape->rowTile % 32, 0) << rows << " rows";
      EXPECT_LE(shape->rowTile, 128) << rows << " rows";
      EXPECT_GE(shape->rowTile, 32) << rows << " rows";
    }
  EXPECT_EQ(shapeOfProduct(256, 64, 24, 8)->rowTile, 32);
}

TEST(RowsShape, DepthAndColumnsAreCutIntoEvenPieces) {
  EXPECT_EQ(shapeOfProduct(64, 1000, 24)->depthTile, 250);
  EXPECT_EQ(shapeOfProduct(64, 1021, 24)->depthTile, 256);
  EXPECT_EQ(shapeOfProduct(64, 64, 384)->colTile, 384);
  EXPECT_EQ(shapeOfProduct(64, 64, 1000)->colTile, 250);
}

TEST(RowsShape, ProductsThatFillAGpuHaveTilesOf128ForEightWarps) {
  auto shapeOn = [](int64_t multiprocessors) {
    Graph g;
    product(g, {matrix(1024, 256), "ac"}, {matrix(256, 1024), "cb"},
            {matrix(1024, 1024), "ab"});
    TileTarget target;
    target.threads = multiprocessors;
    target.matrixUnits = true;
    return *chooseRowsShape(g.root(), target);
  };
  RowsShape wide = shapeOn(64), small = shapeOn(65);
  EXPECT_EQ(wide.rowTile, 128);
  EXPECT_EQ(wide.colTile, 128);
  EXPECT_EQ(wide.warps, 8);
  EXPECT_EQ(wide.stages, 3);
  EXPECT_EQ(small.rowTile, 64);
  EXPECT_EQ(small.colTile, 64);
  EXPECT_EQ(small.warps, 0);
}

TEST(RowsShape, TheColumnsOfASecondProductAreOneTile) {
  Graph g;
  std::string x = g.argument(matrix(64, 32)), w = g.argument(matrix(32, 96)),
              u = g.argument(matrix(96, 500));
  std::string h = g.generic(
      3, "c", {{x, {matrix(64, 32), "ac"}}, {w, {matrix(32, 96), "cb"}}},
      {matrix(64, 96), "ab"}, kProduct);
  g.generic(3, "c", {{h, {matrix(64, 96), "ac"}}, {u, {matrix(96, 500), "cb"}}},
            {matrix(64, 500), "ab"}, kProduct);
  std::optional<RowsShape> shape = chooseRowsShape(g.root(), TileTarget());
  ASSERT_TRUE(shape);
  EXPECT_EQ(shape->colTile, 500);
  EXPECT_EQ(shape->hiddenTile, 96);
}

TEST(RowsShape, ABlockMakesAllColumnsOfRowsWithStatistics) {
  auto shapeFor = [](int64_t rows) {
    Graph g;
    std::string x = g.argument(matrix(rows, 64)),
                w = g.argument(matrix(64, 40));
    std::string type = "tensor<" + std::to_string(rows) + "xf32>";
    std::string s =
        g.generic(2, "b", {{x, {matrix(rows, 64), "ab"}}}, {type, "a"}, kSum);
    std::string n =
        g.generic(2, "", {{x, {matrix(rows, 64), "ab"}}, {s, {type, "a"}}},
                  {matrix(rows, 64), "ab"}, "%y = arith.subf %0, %1 : f32\n");
    g.generic(3, "c",
              {{n, {matrix(rows, 64), "ac"}}, {w, {matrix(64, 40), "cb"}}},
              {matrix(rows, 40), "ab"}, kProduct);
    return chooseRowsShape(g.root(), TileTarget());
  };
  ASSERT_TRUE(shapeFor(256));
  EXPECT_TRUE(shapeFor(256)->colsInside);
  // One row block would leave the second worker idle.
  EXPECT_FALSE(shapeFor(8)->colsInside);
}

TEST(RowsShape, ReductionsOverTheRightOperandAreRefused) {
  Graph g;
  std::string x = g.argument(matrix(64, 32)),
              t = g.argument("tensor<32x40x8xf32>");
  std::string w = g.generic(3, "c", {{t, {"tensor<32x40x8xf32>", "abc"}}},
                            {matrix(32, 40), "ab"}, kSum);
  g.generic(3, "c", {{x, {matrix(64, 32), "ac"}}, {w, {matrix(32, 40), "cb"}}},
            {matrix(64, 40), "ab"}, kProduct);
  EXPECT_FALSE(chooseRowsShape(g.root(), TileTarget()));
}

TEST(RowsShape, ASumOverTheRowsOfAProductIsRefusedAndOverItsColumnsIsNot) {
  for (bool overRows : {true, false}) {
    Graph g;
    std::string x = g.argument(matrix(64, 32)), w = g.argument(matrix(32, 40));
    std::string p = g.generic(
        3, "c", {{x, {matrix(64, 32), "ac"}}, {w, {matrix(32, 40), "cb"}}},
        {matrix(64, 40), "ab"}, kProduct);
    g.generic(
        2, overRows ? "a" : "b", {{p, {matrix(64, 40), "ab"}}},
        {overRows ? "tensor<40xf32>" : "tensor<64xf32>", overRows ? "b" : "a"},
        kSum);
    EXPECT_EQ(chooseRowsShape(g.root(), TileTarget()).has_value(), !overRows);
  }
}

TEST(RowsShape, ARowReductionHasRowsOnly) {
  for (bool last : {true, false}) {
    Graph g;
    std::string x = g.argument(matrix(40, 50));
    g.generic(2, last ? "b" : "a", {{x, {matrix(40, 50), "ab"}}},
              {last ? "tensor<40xf32>" : "tensor<50xf32>", last ? "a" : "b"},
              kSum);
    std::optional<RowsShape> shape = chooseRowsShape(g.root(), TileTarget());
    ASSERT_TRUE(shape);
    EXPECT_EQ(shape->row, 0);
    EXPECT_EQ(shape->col, -1);
    EXPECT_EQ(shape->rowTile, 32);
  }
}

TEST(RowsShape, AnOpOnRowStatisticsHasWholeRowsAsColumns) {
  Graph g;
  std::string x = g.argument(matrix(40, 50));
  std::string s = g.generic(2, "b", {{x, {matrix(40, 50), "ab"}}},
                            {"tensor<40xf32>", "a"}, kSum);
  g.generic(2, "", {{x, {matrix(40, 50), "ab"}}, {s, {"tensor<40xf32>", "a"}}},
            {matrix(40, 50), "ab"}, "%y = arith.subf %0, %1 : f32\n");
  mlir::Value root = g.root();
  std::optional<RowsShape> shape = chooseRowsShape(root, TileTarget());
  ASSERT_TRUE(shape);
  EXPECT_EQ(shape->row, 0);
  EXPECT_EQ(shape->col, 1);
  EXPECT_EQ(shape->colTile, 50);
  // A block has read its whole rows when it writes them.
  EXPECT_TRUE(mayWriteOver(root, g.argumentValue(0), TileTarget()));
}

TEST(RowsShape, ElementwiseOpsHaveTheirLastAxisInPanels) {
  Graph g;
  std::string type = "tensor<3x5x70xf32>", x = g.argument(type);
  g.generic(3, "", {{x, {type, "abc"}}}, {type, "abc"},
            "%y = arith.negf %0 : f32\n");
  std::optional<RowsShape> shape = chooseRowsShape(g.root(), TileTarget());
  ASSERT_TRUE(shape);
  EXPECT_EQ(shape->row, 2);
  EXPECT_EQ(shape->col, 1);
  EXPECT_EQ(shape->rowTile, 96); // 70 rounded up to panels of 32
  EXPECT_EQ(shape->colTile, 5);
}

TEST(RowsShape, ArgumentsAndTensorsOfRank0HaveNone) {
  Graph g;
  std::string x = g.argument("tensor<f32>");
  g.generic(0, "", {{x, {"tensor<f32>", ""}}}, {"tensor<f32>", ""},
            "%y = arith.negf %0 : f32\n");
  EXPECT_FALSE(chooseRowsShape(g.root(), TileTarget()));
  EXPECT_FALSE(chooseRowsShape(g.argumentValue(0), TileTarget()));
}

//===----------------------------------------------------------------------===//
// Writing over an input
//===----------------------------------------------------------------------===//

TEST(MayWriteOver, ElementwiseInputsAtTheSamePosition) {
  Graph g;
  addMatrices(g, g.argument(matrix(50, 50)), {matrix(50, 50), "ab"},
              matrix(50, 50));
  mlir::Value root = g.root();
  EXPECT_TRUE(mayWriteOver(root, g.argumentValue(0), TileTarget()));
}

TEST(MayWriteOver, NotWhatIsReadTransposed) {
  Graph g;
  addMatrices(g, g.argument(matrix(50, 50)), {matrix(50, 50), "ba"},
              matrix(50, 50));
  mlir::Value root = g.root();
  EXPECT_FALSE(mayWriteOver(root, g.argumentValue(0), TileTarget()));
}

TEST(MayWriteOver, NotWhatHasAnotherType) {
  Graph g;
  std::string x = g.argument(matrix(50, 40, "bf16"));
  g.generic(2, "", {{x, {matrix(50, 40, "bf16"), "ab"}}},
            {matrix(50, 40), "ab"}, "%y = arith.extf %0 : bf16 to f32\n");
  mlir::Value root = g.root();
  EXPECT_FALSE(mayWriteOver(root, g.argumentValue(0), TileTarget()));
}

TEST(MayWriteOver, TheLeftOperandOfAProductWhoseBlockMakesWholeRows) {
  for (int64_t n : {64, 1000}) {
    Graph g;
    product(g, {matrix(n, n), "ac"}, {matrix(n, n), "cb"},
            {matrix(n, n), "ab"});
    mlir::Value root = g.root();
    EXPECT_EQ(mayWriteOver(root, g.argumentValue(0), TileTarget()), n == 64);
    // Every block reads all of the right operand.
    EXPECT_FALSE(mayWriteOver(root, g.argumentValue(1), TileTarget()));
    // The accumulator's initial value is read where the result is written.
    EXPECT_TRUE(mayWriteOver(root, g.argumentValue(2), TileTarget()));
  }
}
