//===- TypesTest.cpp - layout attributes, tiles and shared memory ---------===//

#include "heddle/Dialect/HeddleGpu/IR/HeddleGpu.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace heddle_gpu;

namespace {
struct Types : testing::Test {
  Types() { context.loadDialect<HeddleGpuDialect>(); }

  SmemType smem(ArrayRef<int64_t> shape, Type element, SharedLayout layout,
                int64_t stages) {
    return SmemType::get(&context, shape, element,
                         SharedAttr::get(&context, layout), stages);
  }

  MLIRContext context;
  Builder b{&context};
};

TEST_F(Types, EqualLayoutsAreEqualAttributes) {
  Layout::Bases lane = {{0, 2}, {0, 4}, {1, 0}, {2, 0}, {4, 0}};
  auto attr = [&](Layout::Bases reg, ArrayRef<int64_t> repeat) {
    return LayoutAttr::get(&context, *Layout::get(reg, lane, {}, repeat));
  };
  EXPECT_EQ(attr({{0, 1}}, {1, 10}), attr({{0, 1}, {0, 8}}, {1, 5}));
  EXPECT_NE(attr({{0, 1}}, {1, 10}), attr({{0, 1}}, {1, 5}));
}

TEST_F(Types, TilesHaveTheShapeOfTheirLayout) {
  Layout c = *mmaOperand(ProductKind::Mma16, Operand::C, 64, 80, 4, 1);
  RankedTensorType tile = tileType(b.getF32Type(), &context, c);
  EXPECT_EQ(tile.getShape(), ArrayRef<int64_t>({64, 80}));
  EXPECT_EQ(getLayout(tile), c);
  EXPECT_EQ(getLayoutAttr(RankedTensorType::get({64, 80}, b.getF32Type())),
            LayoutAttr());
  EXPECT_EQ(getLayoutAttr(b.getF32Type()), LayoutAttr());
  EXPECT_EQ(maskTypeOf(tile), tileType(b.getI1Type(), &context, c));
  EXPECT_EQ(reducedType(tile, 1),
            tileType(b.getF32Type(), &context, c.slice(1)));
  EXPECT_EQ(transposedType(transposedType(tile, {1, 0}), {1, 0}), tile);
  Layout a = coalescedLayout({64, 80}, 4, 4);
  EXPECT_EQ(getLayout(withLayout(tile, a)), a);
}

TEST_F(Types, StagesStartAtMultiplesOf128Bytes) {
  SharedLayout swizzle{16, 4, 2, 0};
  SmemType tiles = smem({60, 80}, b.getBF16Type(), swizzle, 3);
  EXPECT_EQ(tiles.getElementBytes(), 2);
  EXPECT_EQ(tiles.getTileBytes(), 9600);
  EXPECT_EQ(tiles.getStageStride(), 9600);
  EXPECT_EQ(tiles.getBytes(), 3 * 9600);
  EXPECT_EQ(smem({3, 16}, b.getF32Type(), {}, 2).getStageStride(), 256);
  // One plain tile is aligned to a vector only.
  EXPECT_EQ(smem({5}, b.getF32Type(), {}, 1).getBytes(), 32);
}

TEST_F(Types, TilesRefuseOtherShapes) {
  std::string text;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diag) {
    text = diag.str();
    return success();
  });
  LayoutAttr layout =
      LayoutAttr::get(&context, coalescedLayout({64, 80}, 4, 4));
  EXPECT_FALSE(RankedTensorType::getChecked(
      [&] { return emitError(UnknownLoc::get(&context)); },
      ArrayRef<int64_t>({64, 64}), b.getF32Type(), layout));
  EXPECT_EQ(text, "expected a tensor of shape 64x80, which its layout covers, "
                  "got 64x64");
}
} // namespace
