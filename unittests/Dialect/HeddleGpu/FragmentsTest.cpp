//===- FragmentsTest.cpp - layouts that instructions ask for --------------===//

#include "heddle/Dialect/HeddleGpu/IR/Fragments.h"

#include "gtest/gtest.h"

#include <set>

using namespace heddle_gpu;

// The formulas of the PTX ISA for element i of a lane's fragment.

TEST(Fragments, M16N8K16IsThatOfThePtxIsa) {
  Layout a = mmaFragment(ProductKind::Mma16, Operand::A);
  Layout b = mmaFragment(ProductKind::Mma16, Operand::B);
  Layout c = mmaFragment(ProductKind::Mma16, Operand::C);
  EXPECT_EQ(a.shape(), Coordinates({16, 16}));
  EXPECT_EQ(b.shape(), Coordinates({16, 8}));
  EXPECT_EQ(c.shape(), Coordinates({16, 8}));
  for (int64_t lane = 0; lane < 32; ++lane) {
    int64_t group = lane >> 2, inGroup = lane % 4;
    for (int64_t i = 0; i < 8; ++i) {
      int64_t row = (i < 2 || (i >= 4 && i < 6)) ? group : group + 8;
      int64_t col = inGroup * 2 + (i & 1) + (i >= 4 ? 8 : 0);
      EXPECT_EQ(a.apply(i, lane, 0), Coordinates({row, col}));
    }
    for (int64_t i = 0; i < 4; ++i) {
      EXPECT_EQ(b.apply(i, lane, 0),
                Coordinates({inGroup * 2 + (i & 1) + (i >= 2 ? 8 : 0), group}));
      EXPECT_EQ(c.apply(i, lane, 0), Coordinates({i < 2 ? group : group + 8,
                                                  inGroup * 2 + (i & 1)}));
    }
  }
}

TEST(Fragments, M16N8K8Tf32IsThatOfThePtxIsa) {
  Layout a = mmaFragment(ProductKind::MmaTf32, Operand::A);
  Layout b = mmaFragment(ProductKind::MmaTf32, Operand::B);
  Layout c = mmaFragment(ProductKind::MmaTf32, Operand::C);
  for (int64_t lane = 0; lane < 32; ++lane) {
    int64_t group = lane >> 2, inGroup = lane % 4;
    for (int64_t i = 0; i < 4; ++i) {
      EXPECT_EQ(a.apply(i, lane, 0),
                Coordinates({i == 0 || i == 2 ? group : group + 8,
                             i < 2 ? inGroup : inGroup + 4}));
      EXPECT_EQ(c.apply(i, lane, 0), Coordinates({i < 2 ? group : group + 8,
                                                  inGroup * 2 + (i & 1)}));
    }
    for (int64_t i = 0; i < 2; ++i)
      EXPECT_EQ(b.apply(i, lane, 0),
                Coordinates({inGroup + (i ? 4 : 0), group}));
  }
}

TEST(Fragments, OperandsCoverTilesThatAreNoPowersOfTwo) {
  for (ProductKind kind : {ProductKind::Mma16, ProductKind::MmaTf32})
    for (int64_t n : {16, 48, 80, 96, 176, 192})
      for (int64_t wn : {1, 2}) {
        std::optional<Layout> c = mmaOperand(kind, Operand::C, 128, n, 4, wn);
        std::optional<Layout> b = mmaOperand(kind, Operand::B, 80, n, 4, wn);
        std::optional<Layout> a = mmaOperand(kind, Operand::A, 128, 80, 4, wn);
        ASSERT_TRUE(a && b && c);
        EXPECT_EQ(c->shape(), Coordinates({128, n}));
        EXPECT_EQ(b->shape(), Coordinates({80, n}));
        EXPECT_EQ(a->shape(), Coordinates({128, 80}));
        EXPECT_TRUE(c->isInjective());
        EXPECT_EQ(productProblem(kind, *a, *b, *c), "");
      }
  EXPECT_FALSE(mmaOperand(ProductKind::Mma16, Operand::C, 64, 40, 4, 2));
  EXPECT_FALSE(mmaOperand(ProductKind::Mma16, Operand::A, 64, 40, 4, 1));
  EXPECT_FALSE(mmaOperand(ProductKind::Mma16, Operand::C, 64, 64, 3, 1));
}

TEST(Fragments, AccumulatorIsRegisterForRegisterTheNextOperandA) {
  for (int64_t m : {16, 64, 128, 192})
    for (int64_t n : {16, 32, 48, 80, 96, 128, 176, 192, 256})
      for (int64_t warps : {1, 4}) {
        std::optional<Layout> c =
            mmaOperand(ProductKind::Mma16, Operand::C, m, n, warps, 1);
        if (!c)
          continue;
        EXPECT_TRUE(accumulatorIsOperandA(*c)) << m << "x" << n;
        std::optional<Layout> a =
            mmaOperand(ProductKind::Mma16, Operand::A, m, n, warps, 1);
        ASSERT_TRUE(a);
        for (int64_t r = 0; r < a->numRegisters(); ++r)
          for (int64_t l = 0; l < 32; ++l)
            EXPECT_EQ(a->apply(r, l, warps - 1), c->apply(r, l, warps - 1));
      }
  // One half of k, warps along n, and another layout are none.
  EXPECT_FALSE(accumulatorIsOperandA(
      *mmaOperand(ProductKind::Mma16, Operand::C, 16, 8, 1, 1)));
  EXPECT_FALSE(accumulatorIsOperandA(
      *mmaOperand(ProductKind::Mma16, Operand::C, 64, 64, 2, 2)));
  EXPECT_FALSE(accumulatorIsOperandA(coalescedLayout({64, 64}, 2, 4)));
}

TEST(Fragments, ProductsRefuseOperandsOfOtherThreads) {
  auto op = [](Operand o, int64_t r, int64_t c, int64_t wm, int64_t wn) {
    return *mmaOperand(ProductKind::Mma16, o, r, c, wm, wn);
  };
  Layout a = op(Operand::A, 64, 32, 2, 2), b = op(Operand::B, 32, 64, 2, 2),
         c = op(Operand::C, 64, 64, 2, 2);
  EXPECT_EQ(productProblem(ProductKind::Mma16, a, b, c), "");
  EXPECT_EQ(
      productProblem(ProductKind::Mma16, op(Operand::A, 64, 32, 4, 1), b, c),
      "expected A to hold the rows of C in each thread, but warp 0 lacks "
      "some");
  EXPECT_EQ(
      productProblem(ProductKind::Mma16, a, op(Operand::B, 32, 64, 1, 4), c),
      "expected B to hold the columns of C in each warp, but warp 0 lacks "
      "column 16");
  EXPECT_EQ(
      productProblem(ProductKind::Mma16, coalescedLayout({64, 32}, 2, 4), b, c),
      "expected the lanes of A to be those of the mma fragment");
  EXPECT_EQ(
      productProblem(ProductKind::Mma16, op(Operand::A, 64, 32, 4, 2), b, c),
      "expected A, B and C over the same threads, got 8, 4 and 4 warps");
  EXPECT_EQ(productProblem(ProductKind::Mma16, b, b, c),
            "expected tiles m x k, k x n and m x n");
}

TEST(Fragments, FmaOperandsHoldWhatTheAccumulatorNeeds) {
  Layout c = *blockedLayout({64, 48}, {4, 4}, {8, 4}, {2, 1}, {1, 0});
  Layout a = fmaOperandA(c, 10), b = fmaOperandB(c, 10);
  EXPECT_EQ(a.shape(), Coordinates({64, 10}));
  EXPECT_EQ(b.shape(), Coordinates({10, 48}));
  EXPECT_EQ(productProblem(ProductKind::Fma, a, b, c), "");
  EXPECT_NE(
      productProblem(ProductKind::Fma, coalescedLayout({64, 10}, 4, 2), b, c),
      "");
}

TEST(Fragments, FmaOperandsHaveNeighboursInTheDepthTogetherWhereAsked) {
  Layout c = *blockedLayout({64, 64}, {1, 4}, {4, 8}, {4, 1}, {1, 0});
  Layout a = fmaOperandA(c, 8, true), b = fmaOperandB(c, 8, true);
  EXPECT_EQ(a.contiguity(1), 8);
  EXPECT_EQ(b.contiguity(0), 8);
  EXPECT_EQ(productProblem(ProductKind::Fma, a, b, c), "");
  EXPECT_EQ(fmaOperandB(c, 8).contiguity(1), 4);
}

TEST(Fragments, DepthsOfTf32MayBePairedInBothOperands) {
  auto op = [](Operand operand, int64_t rows, int64_t cols) {
    return *mmaOperand(ProductKind::MmaTf32, operand, rows, cols, 4, 1);
  };
  // Lane 4g + t holds depths 2t and 2t + 1 of row g: the accumulator's columns.
  Layout c = op(Operand::C, 64, 32), paired = op(Operand::C, 64, 16);
  Layout b = *Layout::get({{1, 0}, {0, 8}, {0, 16}, {8, 0}},
                          {{2, 0}, {4, 0}, {0, 1}, {0, 2}, {0, 4}},
                          {{0, 0}, {0, 0}}, {1, 1});
  EXPECT_TRUE(hasPairedDepth(paired));
  EXPECT_FALSE(hasPairedDepth(op(Operand::A, 64, 16)));
  EXPECT_EQ(productProblem(ProductKind::MmaTf32, paired, b, c), "");
  EXPECT_NE(
      productProblem(ProductKind::MmaTf32, paired, op(Operand::B, 16, 32), c),
      "");
  EXPECT_EQ(productProblem(ProductKind::MmaTf32, op(Operand::A, 64, 16),
                           op(Operand::B, 16, 32), c),
            "");
}

TEST(Fragments, BlockedCountsLanesAlongTheFastestDimensionFirst) {
  Layout layout = *blockedLayout({64, 64}, {1, 4}, {8, 4}, {2, 2}, {1, 0});
  EXPECT_EQ(layout.apply(3, 0, 0), Coordinates({0, 3}));
  EXPECT_EQ(layout.apply(0, 1, 0), Coordinates({0, 4}));
  EXPECT_EQ(layout.apply(0, 4, 0), Coordinates({1, 0}));
  EXPECT_EQ(layout.apply(0, 0, 1), Coordinates({0, 16}));
  EXPECT_EQ(layout.apply(0, 0, 2), Coordinates({8, 0}));
  EXPECT_EQ(layout.contiguity(1), 4);
  // More lanes than elements hold copies.
  Layout small = *blockedLayout({4}, {1}, {32}, {1}, {0});
  EXPECT_EQ(small.redundantBits().lane, 28);
  EXPECT_FALSE(blockedLayout({80}, {1}, {32}, {1}, {0}));
}

TEST(Fragments, CoalescedExistsForEveryShape) {
  for (int64_t rows : {1, 3, 16, 64, 80})
    for (int64_t cols : {1, 2, 5, 16, 40, 64, 80, 96, 128, 176})
      for (int64_t warps : {1, 4, 8})
        for (int64_t bytes : {1, 2, 4}) {
          Layout layout = coalescedLayout({rows, cols}, bytes, warps);
          EXPECT_EQ(layout.shape(), Coordinates({rows, cols}));
          EXPECT_EQ(layout.numLanes(), 32);
          EXPECT_EQ(layout.numWarps(), warps);
          int64_t vector = std::min<int64_t>(16 / bytes, cols & -cols);
          EXPECT_GE(layout.contiguity(1), vector);
        }
  EXPECT_EQ(coalescedLayout({}, 4, 4).numLanes(), 32);
  EXPECT_EQ(coalescedLayout({100}, 4, 4).shape(), Coordinates({100}));
}

//===----------------------------------------------------------------------===//
// ldmatrix
//===----------------------------------------------------------------------===//

/// Carries ldmatrix out by its definition: element j of register i of a lane is
/// element (lane / 4, lane % 4 * perRegister + j) of matrix i; (row, column)
/// are swapped for .trans.
static void checkLdmatrix(const Layout &wanted, int64_t elementBytes,
                          bool transposed, bool wantTrans) {
  std::optional<LdmatrixMatch> match =
      matchLdmatrix(wanted, elementBytes, transposed);
  ASSERT_TRUE(match);
  EXPECT_EQ(match->transposed, wantTrans);
  EXPECT_EQ(match->matrices * match->instructions * match->registers,
            wanted.numRegisters());
  for (int64_t w = 0; w < wanted.numWarps(); ++w)
    for (int64_t i = 0; i < match->instructions; ++i)
      for (int64_t m = 0; m < match->matrices; ++m)
        for (int64_t lane = 0; lane < 32; ++lane)
          for (int64_t j = 0; j < match->registers; ++j) {
            int64_t row = lane / 4, col = lane % 4 * match->registers + j;
            if (match->transposed)
              std::swap(row, col);
            Coordinates got =
                ldmatrixRow(*match, wanted, transposed, i, 8 * m + row, w);
            got[1] += col;
            int64_t reg = (i * match->matrices + m) * match->registers + j;
            Coordinates want = wanted.apply(reg, lane, w);
            if (transposed)
              std::swap(want[0], want[1]);
            EXPECT_EQ(got, want);
          }
}

TEST(Ldmatrix, LoadsOperandsFromEitherOrder) {
  for (int64_t k : {16, 64, 80})
    for (int64_t n : {8, 64, 176}) {
      Layout a = *mmaOperand(ProductKind::Mma16, Operand::A, 64, k, 2, 2);
      Layout b = *mmaOperand(ProductKind::Mma16, Operand::B, k, n, 4, 1);
      checkLdmatrix(a, 2, false, false); // A lies m x k
      checkLdmatrix(a, 2, true, true);   // A lies k x m
      checkLdmatrix(b, 2, true, false);  // B lies n x k: keys
      checkLdmatrix(b, 2, false, true);  // B lies k x n: values
    }
}

TEST(Ldmatrix, LoadsTf32AndByteElementsInThePlainFormOnly) {
  Layout a = *mmaOperand(ProductKind::MmaTf32, Operand::A, 64, 48, 4, 1);
  Layout b = *mmaOperand(ProductKind::MmaTf32, Operand::B, 48, 40, 4, 1);
  checkLdmatrix(a, 4, false, false);
  checkLdmatrix(b, 4, true, false);
  EXPECT_FALSE(matchLdmatrix(b, 4, false));
  EXPECT_FALSE(matchLdmatrix(a, 4, true));
}

TEST(Ldmatrix, TakesAsManyMatricesAsDivideTheTile) {
  auto matrices = [](int64_t m, int64_t k) {
    return matchLdmatrix(
               *mmaOperand(ProductKind::Mma16, Operand::B, k, m, 1, 1), 2, true)
        ->matrices;
  };
  EXPECT_EQ(matrices(16, 16), 4);
  EXPECT_EQ(matrices(8, 16), 2);
  Layout one = *Layout::get({{0, 1}}, {{0, 2}, {0, 4}, {1, 0}, {2, 0}, {4, 0}},
                            {}, {1, 1});
  EXPECT_EQ(matchLdmatrix(one, 2, false)->matrices, 1);
}

TEST(Ldmatrix, MatchesNothingElse) {
  EXPECT_FALSE(matchLdmatrix(coalescedLayout({64, 64}, 2, 4), 2, false));
  EXPECT_FALSE(matchLdmatrix(coalescedLayout({64}, 2, 4), 2, false));
  Layout c = mmaFragment(ProductKind::Mma16, Operand::C);
  EXPECT_FALSE(matchLdmatrix(c, 8, false));
}
