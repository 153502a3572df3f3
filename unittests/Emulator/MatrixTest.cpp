//===- MatrixTest.cpp - mma.sync, ldmatrix, cp.async ----------------------===//
//
// Operands are small integers or fractions of few bits, so that every sum is
// exact in f32 and results are compared for equality.
//
//===----------------------------------------------------------------------===//

#include "KernelTest.h"

#include <cstring>

using namespace heddle;
using namespace heddle::test;

namespace {
class Matrix : public testing::TestWithParam<uint64_t> {
protected:
  static void SetUpTestSuite() {
    module = loadText(readInput("matrix.mlir")).release();
  }
  static void TearDownTestSuite() {
    delete module;
    module = nullptr;
  }
  void SetUp() override { ASSERT_NE(module, nullptr); }
  static EmulatorModule *module;
};
EmulatorModule *Matrix::module = nullptr;

/// Integers from -8 to 8, exact in every format.
std::vector<float> integers(size_t n, uint32_t seed) {
  std::vector<float> v = randomFloats(n, seed);
  for (float &x : v)
    x = std::nearbyint(x * 8);
  return v;
}

std::vector<uint16_t> encode(const std::vector<float> &v, DType type) {
  std::vector<uint16_t> bits(v.size());
  for (size_t i = 0; i < v.size(); ++i)
    storeElement(bits.data(), type, static_cast<int64_t>(i), v[i]);
  return bits;
}

TEST_P(Matrix, MultipliesWithDoubleBuffering) {
  for (size_t k : {16, 32, 80}) {
    std::vector<float> a = integers(16 * k, 1), b = integers(8 * k, 2);
    std::vector<uint16_t> abits = encode(a, DType::BF16),
                          bbits = encode(b, DType::BF16);
    std::vector<float> c(16 * 8);
    Launch launch("gemm_bf16", {1}, {32});
    launch.buffer("a", abits).buffer("b", bbits).buffer("c", c, false);
    launch.i32(static_cast<int32_t>(k));
    launch.dynamicSharedBytes = 2 * 768;
    launch.options.seed = GetParam();
    LaunchReport report = runClean(*module, launch);
    for (size_t i = 0; i < 16; ++i)
      for (size_t j = 0; j < 8; ++j) {
        float sum = 0;
        for (size_t l = 0; l < k; ++l)
          sum += a[i * k + l] * b[j * k + l];
        EXPECT_EQ(c[i * 8 + j], sum) << i << ", " << j;
      }
    const EmulatorCounters &n = report.counters;
    size_t tiles = k / 16;
    EXPECT_EQ(n.mmaInstructions, tiles);
    EXPECT_EQ(n.mmaFlops, tiles * 2 * 16 * 8 * 16);
    EXPECT_EQ(n.mmaByShape.at("m16n8k16.f32.bf16"), tiles);
    EXPECT_EQ(n.asyncCopyRequests, tiles * 2);
    EXPECT_EQ(n.asyncCopyBytes, tiles * (512 + 256));
    EXPECT_EQ(n.asyncCopySectors, tiles * (16 + 8));
    // A tile of 512 dense bytes is written in 4 wavefronts, one of 256 in 2.
    EXPECT_EQ(n.asyncCopyWavefronts, tiles * (4 + 2));
    EXPECT_EQ(n.asyncCopyBankConflicts, 0u);
    // Rows at a pitch of 32 bytes: every other row falls on the same banks.
    EXPECT_EQ(n.matrixLoadRequests, tiles * 2);
    EXPECT_EQ(n.matrixLoadWavefronts, tiles * (8 + 4));
    EXPECT_EQ(n.matrixLoadBankConflicts, tiles * (4 + 2));
    EXPECT_EQ(n.globalStoreSectors, 16u);
  }
}

/// Fragments as the PTX ISA draws them: element e of register r in lane l.
void f16Place(bool isB, size_t r, size_t lane, size_t e, size_t &row,
              size_t &col) {
  size_t group = lane / 4, member = lane % 4;
  if (isB) { // k by n
    row = member * 2 + e + (r == 1 ? 8 : 0);
    col = group;
    return;
  }
  row = group + (r % 2 ? 8 : 0);
  col = member * 2 + e + (r >= 2 ? 8 : 0);
}

TEST_P(Matrix, AccumulatesInF16) {
  std::vector<float> a(256), b(128), c(128), d(128);
  a = integers(256, 3);
  b = integers(128, 4);
  c = integers(128, 5);
  std::vector<float> fa(256), fb(128), fc(128);
  for (size_t lane = 0; lane < 32; ++lane)
    for (size_t e = 0; e < 2; ++e) {
      size_t row, col;
      for (size_t r = 0; r < 4; ++r) {
        f16Place(false, r, lane, e, row, col);
        fa[(32 * r + lane) * 2 + e] = a[row * 16 + col];
      }
      for (size_t r = 0; r < 2; ++r) {
        f16Place(true, r, lane, e, row, col);
        fb[(32 * r + lane) * 2 + e] = b[row * 8 + col];
        f16Place(false, r, lane, e, row, col);
        fc[(32 * r + lane) * 2 + e] = c[row * 8 + col];
      }
    }
  std::vector<uint16_t> ha = encode(fa, DType::F16),
                        hb = encode(fb, DType::F16),
                        hc = encode(fc, DType::F16), hd(128);
  Launch launch("mma_f16", {1}, {32});
  launch.buffer("a", ha).buffer("b", hb).buffer("c", hc).buffer("d", hd, false);
  launch.options.seed = GetParam();
  LaunchReport report = runClean(*module, launch);
  EXPECT_EQ(report.counters.mmaByShape.at("m16n8k16.f16.f16"), 1u);
  for (size_t r = 0; r < 2; ++r)
    for (size_t lane = 0; lane < 32; ++lane)
      for (size_t e = 0; e < 2; ++e) {
        size_t row, col;
        f16Place(false, r, lane, e, row, col);
        float sum = c[row * 8 + col];
        for (size_t k = 0; k < 16; ++k)
          sum += a[row * 16 + k] * b[k * 8 + col];
        EXPECT_EQ(loadElement(hd.data(), DType::F16,
                              static_cast<int64_t>((32 * r + lane) * 2 + e)),
                  sum); // at most 16 * 64 + 8: exact in f16
      }
}

TEST_P(Matrix, IgnoresTheLowBitsOfTf32) {
  std::vector<float> a = integers(16 * 8, 6), b = integers(8 * 8, 7), d(128);
  std::vector<uint32_t> fa(128), fb(64);
  auto dirty = [](float f) {
    uint32_t bits;
    std::memcpy(&bits, &f, 4);
    return bits | 0x1fff;
  };
  for (size_t lane = 0; lane < 32; ++lane) {
    size_t group = lane / 4, member = lane % 4;
    for (size_t r = 0; r < 4; ++r)
      fa[32 * r + lane] =
          dirty(a[(group + r % 2 * 8) * 8 + member + r / 2 * 4]);
    for (size_t r = 0; r < 2; ++r)
      fb[32 * r + lane] = dirty(b[(member + r * 4) * 8 + group]);
  }
  Launch launch("mma_tf32", {1}, {32});
  launch.buffer("a", fa).buffer("b", fb).buffer("d", d, false);
  launch.options.seed = GetParam();
  runClean(*module, launch);
  for (size_t r = 0; r < 4; ++r)
    for (size_t lane = 0; lane < 32; ++lane) {
      size_t row = lane / 4 + r / 2 * 8, col = lane % 4 * 2 + r % 2;
      float sum = 0;
      for (size_t k = 0; k < 8; ++k)
        sum += a[row * 8 + k] * b[k * 8 + col];
      EXPECT_EQ(d[32 * r + lane], sum);
    }
}

TEST_P(Matrix, TransposesWithLdmatrix) {
  std::vector<uint16_t> x(64), y(64);
  for (size_t i = 0; i < 64; ++i)
    x[i] = static_cast<uint16_t>(i * 1000 + 1);
  // Rows 128 bytes apart share their banks; 144 bytes spread them.
  for (int32_t pitch : {16, 128, 144}) {
    Launch launch("transpose8", {1}, {32});
    launch.buffer("x", x).buffer("y", y, false).i32(pitch);
    launch.dynamicSharedBytes = 8 * pitch;
    launch.options.seed = GetParam();
    LaunchReport report = runClean(*module, launch);
    for (size_t i = 0; i < 8; ++i)
      for (size_t j = 0; j < 8; ++j)
        EXPECT_EQ(y[i * 8 + j], x[j * 8 + i]);
    EXPECT_EQ(report.counters.matrixLoadBankConflicts, pitch == 128 ? 7u : 0u);
    EXPECT_EQ(report.counters.matrixStoreBankConflicts, pitch == 128 ? 7u : 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, Matrix, testing::Values(0, 1, 12345));
} // namespace
