//===- SharedLayoutTest.cpp - swizzles and bank conflicts -----------------===//

#include "heddle/Dialect/HeddleGpu/IR/SharedLayout.h"

#include "gtest/gtest.h"

#include <set>

using namespace heddle_gpu;

static WarpAccess access(int64_t bytes,
                         llvm::function_ref<int64_t(int64_t)> offset) {
  WarpAccess result{{}, bytes};
  for (int64_t lane = 0; lane < 32; ++lane)
    result.offsets.push_back(offset(lane));
  return result;
}

TEST(Wavefronts, FollowTheBanks) {
  auto count = [](int64_t bytes, llvm::function_ref<int64_t(int64_t)> f) {
    return countWavefronts(access(bytes, f));
  };
  EXPECT_EQ(count(4, [](int64_t l) { return l * 4; }), 1);
  EXPECT_EQ(count(4, [](int64_t l) { return l * 8; }), 2);
  EXPECT_EQ(count(4, [](int64_t l) { return l * 128; }), 32);
  EXPECT_EQ(count(4, [](int64_t) { return 64; }), 1);        // one word for all
  EXPECT_EQ(count(2, [](int64_t l) { return l * 2; }), 1);   // words are shared
  EXPECT_EQ(count(8, [](int64_t l) { return l * 8; }), 2);   // half warps
  EXPECT_EQ(count(16, [](int64_t l) { return l * 16; }), 4); // quarter warps
  EXPECT_EQ(count(16, [](int64_t l) { return l * 128; }), 32);
  EXPECT_EQ(count(4, [](int64_t l) { return l < 8 ? l * 4 : -1; }), 1);
  EXPECT_EQ(count(4, [](int64_t) { return -1; }), 0);
}

TEST(Wavefronts, MinimumCountsWordsNotBanks) {
  WarpAccess column = access(4, [](int64_t l) { return l * 128; });
  EXPECT_EQ(minimalWavefronts(column), 1);
  WarpAccess vectors = access(16, [](int64_t l) { return l * 256; });
  EXPECT_EQ(minimalWavefronts(vectors), 4);
}

TEST(SharedLayout, OffsetsAreAPermutationOfTheTile) {
  for (int64_t cols : {32, 64, 80, 96, 128})
    for (int64_t phases : {1, 2, 4, 8})
      for (int64_t per : {1, 2})
        for (int64_t panel : {0, 64}) {
          SharedLayout layout{16, per, phases, panel};
          int64_t shape[] = {16, cols};
          if (!layout.problemWith(shape, 2).empty())
            continue;
          std::set<int64_t> seen;
          for (int64_t r = 0; r < 16; ++r)
            for (int64_t c = 0; c < cols; ++c) {
              int64_t offset = layout.offsetOf({r, c}, shape, 2);
              EXPECT_LT(offset, 16 * cols * 2);
              EXPECT_EQ(offset % 2, 0);
              EXPECT_TRUE(seen.insert(offset).second);
            }
        }
}

TEST(SharedLayout, NamesWhatDoesNotFit) {
  EXPECT_EQ((SharedLayout{16, 1, 8, 0}.problemWith({64, 80}, 2)),
            "expected phases that divides the chunks of a row, 160 bytes in "
            "chunks of 16, got 8");
  EXPECT_EQ((SharedLayout{16, 1, 1, 96}.problemWith({64, 64}, 2)),
            "expected panel_bytes that divides a row of 128 bytes, got 96");
  EXPECT_EQ((SharedLayout{4, 1, 2, 0}.problemWith({64, 64}, 8)),
            "expected vector_bytes of whole elements of 8 bytes, got 4");
  EXPECT_EQ((SharedLayout{16, 1, 8, 128}.problemWith({64, 128}, 2)), "");
}

/// Rows of 2^k odd chunks fall into 8 / 2^k groups of banks by themselves, and
/// a swizzle with 2^k phases parts the rest: always free.
TEST(Swizzle, FreesCopiesAndLdmatrixOfEveryWidth) {
  for (int64_t cols : {16, 32, 40, 48, 64, 72, 80, 96, 128, 176, 192, 256})
    for (int64_t rows : {16, 64, 128}) {
      if (cols % 16)
        continue;
      int64_t shape[] = {rows, cols};
      SharedAccess accesses[] = {
          SharedAccess::vector(coalescedLayout(shape, 2, 4), 16),
          SharedAccess::ldmatrix(
              *mmaOperand(ProductKind::Mma16, Operand::A, rows, cols, 1, 4)),
          SharedAccess::ldmatrix(
              *mmaOperand(ProductKind::Mma16, Operand::B, cols, rows, 4, 1),
              true),
          SharedAccess::ldmatrix(
              *mmaOperand(ProductKind::Mma16, Operand::B, rows, cols, 4, 1)),
      };
      SharedLayout chosen = chooseSwizzle(accesses, shape, 2);
      EXPECT_EQ(countConflicts(accesses, chosen, shape, 2), 0)
          << rows << "x" << cols;
      EXPECT_EQ(chosen.problemWith(shape, 2), "");
    }
}

TEST(Swizzle, FreesMatricesInRowsOfAnyNumberOfChunks) {
  for (int64_t chunks = 1; chunks <= 32; ++chunks) {
    int64_t shape[] = {32, chunks * 8};
    Layout matrices = *Layout::get(
        {{0, 1}}, {{0, 2}, {0, 4}, {1, 0}, {2, 0}, {4, 0}}, {}, {4, chunks});
    SharedAccess accesses[] = {
        SharedAccess::ldmatrix(matrices),
        SharedAccess::vector(coalescedLayout(shape, 2, 1), 16)};
    SharedLayout chosen = chooseSwizzle(accesses, shape, 2);
    EXPECT_EQ(countConflicts(accesses, chosen, shape, 2), 0) << chunks;
    EXPECT_EQ(chosen.phases, std::min<int64_t>(8, chunks & -chunks)) << chunks;
  }
}

TEST(Swizzle, IsWhatTensorMapsUseForRowsOf128Bytes) {
  int64_t shape[] = {64, 64};
  SharedAccess accesses[] = {
      SharedAccess::vector(coalescedLayout(shape, 2, 4), 16),
      SharedAccess::ldmatrix(
          *mmaOperand(ProductKind::Mma16, Operand::A, 64, 64, 4, 1))};
  EXPECT_EQ(chooseSwizzle(accesses, shape, 2), (SharedLayout{16, 1, 8, 0}));
  EXPECT_GT(countConflicts(accesses, SharedLayout(), shape, 2), 0);
}

TEST(Swizzle, UsesNoPhaseMoreThanItNeeds) {
  int64_t shape[] = {64, 80};
  SharedAccess reader[] = {SharedAccess::ldmatrix(
      *mmaOperand(ProductKind::Mma16, Operand::A, 64, 80, 4, 1))};
  SharedLayout chosen = chooseSwizzle(reader, shape, 2);
  EXPECT_EQ(chosen.phases, 2); // 10 chunks: four groups by themselves
  EXPECT_EQ(chosen.rowsPerPhase, 4);
  // A row-major reader needs none.
  SharedAccess rows[] = {
      SharedAccess::vector(coalescedLayout(shape, 2, 4), 16)};
  EXPECT_EQ(chooseSwizzle(rows, shape, 2).phases, 1);
}

TEST(Swizzle, ServesPlainReadsOfColumns) {
  int64_t shape[] = {32, 32};
  // Each lane reads one row element of f32; a warp reads a column.
  Layout columns = *blockedLayout(shape, {1, 1}, {32, 1}, {1, 1}, {1, 0});
  Layout rows = *blockedLayout(shape, {1, 1}, {1, 32}, {1, 1}, {1, 0});
  SharedAccess accesses[] = {SharedAccess::vector(rows, 4),
                             SharedAccess::vector(columns, 4)};
  EXPECT_EQ(countConflicts(accesses, SharedLayout(), shape, 4), 32 * 31);
  SharedLayout chosen = chooseSwizzle(accesses, shape, 4);
  EXPECT_EQ(countConflicts(accesses, chosen, shape, 4), 0);
  EXPECT_EQ(chosen.vectorBytes, 4);
}

TEST(Swizzle, AccumulatorsAreStoredWithoutConflicts) {
  int64_t shape[] = {64, 64};
  Layout c = *mmaOperand(ProductKind::Mma16, Operand::C, 64, 64, 4, 1);
  SharedAccess accesses[] = {
      SharedAccess::vector(c, 4),
      SharedAccess::vector(coalescedLayout(shape, 2, 4), 16)};
  SharedLayout chosen = chooseSwizzle(accesses, shape, 2);
  EXPECT_EQ(countConflicts(accesses, chosen, shape, 2), 0);
}

TEST(Swizzle, TransposedVectorsReadTheOtherOrder) {
  int64_t shape[] = {16, 64};
  Layout layout = coalescedLayout({64, 16}, 2, 1).transpose({1, 0});
  SharedAccess plain = SharedAccess::vector(layout.transpose({1, 0}), 16, true);
  int64_t bytes = 0;
  for (const WarpAccess &a : warpAccesses(plain, SharedLayout(), shape, 2))
    bytes += a.bytes * 32;
  EXPECT_EQ(bytes, 16 * 64 * 2);
}

TEST(Ldmatrix, NeedsWholeAlignedRowsOf16Bytes) {
  Layout a = *mmaOperand(ProductKind::Mma16, Operand::A, 64, 16, 4, 1);
  auto matches = [&](SharedLayout shared, int64_t cols, int64_t column) {
    return matchLdmatrix(a, shared, {64, cols}, {0, column}, 2, false)
        .has_value();
  };
  EXPECT_TRUE(matches(SharedLayout(), 64, 16));
  EXPECT_TRUE(matches({16, 1, 8, 0}, 64, 48));
  EXPECT_TRUE(matches({16, 1, 8, 128}, 128, 64));
  EXPECT_FALSE(matches({8, 1, 8, 0}, 64, 0)); // chunks of 8 bytes move apart
  EXPECT_FALSE(matches(SharedLayout(), 64, 4));
  EXPECT_FALSE(matches(SharedLayout(), 36, 0)); // rows of 72 bytes
}
