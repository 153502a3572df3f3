//===- KernelCostTest.cpp - work, traffic and roofline of kernels ---------===//

#include "heddle/Target/KernelCost.h"
#include "heddle/Pipelines/Pipelines.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace heddle;

namespace {

/// A parsed function.
class Kernel {
public:
  explicit Kernel(const std::string &text) : context(registry()) {
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  }
  explicit operator bool() const { return bool(module); }
  KernelInfo work() {
    KernelInfo info;
    countWork(function(), info);
    return info;
  }
  /// -1 for unknown.
  int64_t traffic() { return tileTraffic(function()).value_or(-1); }

private:
  static mlir::DialectRegistry registry() {
    mlir::DialectRegistry registry;
    registerCompilerDialects(registry);
    return registry;
  }
  mlir::func::FuncOp function() {
    return *module->getOps<mlir::func::FuncOp>().begin();
  }
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

/// Attention of `queries` on `keys` positions, two heads of 8.
KernelInfo attention(int queries, int keys, const std::string &clauses,
                     const std::string &type = "f32") {
  auto tensor = [&](int n, const char *kind) {
    return std::string(kind) + "<1x" + std::to_string(n) + "x2x8x" + type + ">";
  };
  std::string q = tensor(queries, "tensor"), k = tensor(keys, "tensor");
  std::string qm = tensor(queries, "memref"), km = tensor(keys, "memref");
  Kernel kernel("func.func private @f(%q: " + qm + ", %k: " + km +
                ", %v: " + km + ", %o: " + qm +
                ") {\n"
                "%a = bufferization.to_tensor %q restrict : " +
                qm + " to " + q +
                "\n%b = bufferization.to_tensor %k restrict : " + km + " to " +
                k + "\n%c = bufferization.to_tensor %v restrict : " + km +
                " to " + k + "\n%r = heddle.attention %a, %b, %c " + clauses +
                " : " + q + ", " + k + ", " + k + " -> " + q +
                "\nbufferization.materialize_in_destination %r in restrict "
                "writable %o : (" +
                q + ", " + qm + ") -> ()\nreturn\n}\n");
  EXPECT_TRUE(kernel);
  return kernel ? kernel.work() : KernelInfo();
}

int64_t pairsOf(const KernelInfo &info) { return info.specialOps / 2; }

/// Blocks of 64 rows over 100 rows of 16, the loop's bounds and what it loads
/// as given.
std::string blocks(const std::string &bounds, const std::string &load) {
  return "func.func private @f(%x: memref<100x16xf32>, %n: memref<1xi64>, %y: "
         "memref<100x16xf32>) {\n"
         "%t = bufferization.to_tensor %x restrict : memref<100x16xf32> to "
         "tensor<100x16xf32>\n"
         "%l = bufferization.to_tensor %n restrict : memref<1xi64> to "
         "tensor<1xi64>\n"
         "scf.forall (%b) in (2) {\n"
         "%c0 = arith.constant 0 : index\n%c1 = arith.constant 1 : index\n"
         "%c3 = arith.constant 3 : index\n%c64 = arith.constant 64 : index\n"
         "%r = arith.muli %b, %c64 : index\n"
         "%m = affine.min affine_map<(d0) -> (64, -d0 + 100)>(%r)\n"
         "%e = tensor.extract %l[%c0] : tensor<1xi64>\n"
         "%length = arith.index_cast %e : i64 to index\n"
         "scf.for %i = " +
         bounds + " step %c1 {\n" + load +
         "\n}\n"
         "%z = arith.constant dense<0.0> : tensor<64x16xf32>\n"
         "heddle.tile_store %z into %y[%r, %c0] dims [0, 1] : "
         "tensor<64x16xf32> into memref<100x16xf32>\n"
         "}\nreturn\n}\n";
}
const char *const kRows = "%s = tensor.extract_slice %t[%r, 0] [%m, 16] [1, 1] "
                          ": tensor<100x16xf32> to tensor<?x16xf32>";

} // namespace

TEST(KernelWork, AttentionCountsVisiblePairs) {
  EXPECT_EQ(pairsOf(attention(40, 40, "")), 40 * 40);
  EXPECT_EQ(pairsOf(attention(40, 40, "{mask = #heddle.mask<causal>}")),
            40 * 41 / 2);
  EXPECT_EQ(pairsOf(attention(5, 40, "{mask = #heddle.mask<window<0, 0>>}")),
            5);
  EXPECT_EQ(pairsOf(attention(
                40, 40,
                "{mask = #heddle.mask<affine_set<\"(i, j) : (j mod 4 == "
                "0)\">>}")),
            40 * 10);
  // Long axes are counted in tiles; those on the diagonal count half.
  int64_t n = 5000;
  int64_t exact = n * (n + 1) / 2;
  int64_t found =
      pairsOf(attention(5000, 5000, "{mask = #heddle.mask<causal>}"));
  EXPECT_NEAR(static_cast<double>(found) / static_cast<double>(exact), 1, 1e-3);
  KernelInfo info = attention(40, 40, "{mask = #heddle.mask<causal>}");
  EXPECT_EQ(info.matrixFlops, 2 * 2 * (40 * 41 / 2) * 16);
  EXPECT_EQ(info.minBytes, 4 * 40 * 2 * 8 * 4);
}

TEST(KernelWork, ProductsNameTheTypeOfTheirOperands) {
  EXPECT_EQ(attention(8, 8, "").matrixType, "f32");
  EXPECT_EQ(attention(8, 8, "precision = tf32").matrixType, "tf32");
  EXPECT_EQ(attention(8, 8, "", "bf16").matrixType, "bf16");
}

TEST(TileTraffic, LoadsAndStoresAreClippedAtTheEdge) {
  // 3 loads of all rows, one store of them; the length in each block.
  int64_t rows = 100 * 16 * 4;
  EXPECT_EQ(Kernel(blocks("%c0 to %c3", kRows)).traffic(),
            3 * rows + rows + 2 * 8);
  EXPECT_EQ(Kernel(blocks("%c3 to %c3", kRows)).traffic(), rows + 2 * 8);
}

TEST(TileTraffic, BoundsAndSizesMayDependOnBlockAndIteration) {
  // Block 1 loads its 36 rows once, block 0 nothing.
  EXPECT_EQ(Kernel(blocks("%c0 to %b", kRows)).traffic(),
            36 * 16 * 4 + 100 * 16 * 4 + 2 * 8);
  // 0 + 1 + 2 rows in each block.
  const char *growing = "%s = tensor.extract_slice %t[0, 0] [%i, 16] [1, 1] : "
                        "tensor<100x16xf32> to tensor<?x16xf32>";
  EXPECT_EQ(Kernel(blocks("%c0 to %c3", growing)).traffic(),
            2 * 3 * 16 * 4 + 100 * 16 * 4 + 2 * 8);
}

TEST(TileTraffic, LoopsThatDependOnDataAreUnknown) {
  EXPECT_EQ(Kernel(blocks("%c0 to %length", kRows)).traffic(), -1);
}

TEST(Roofline, TheSlowestPartDecides) {
  const GpuChip *chip = nullptr;
  const GpuTarget *target = nullptr;
  std::string error;
  ASSERT_TRUE(succeeded(findGpuChip("a100", chip, target, error)));
  KernelInfo k;
  k.minBytes = 1555000000;
  Roofline r = computeRoofline(*chip, k);
  EXPECT_EQ(r.limit, "memory");
  EXPECT_NEAR(r.seconds, 1e-3, 1e-9);
  k.flops = k.matrixFlops = 624000000000;
  k.matrixType = "bf16";
  r = computeRoofline(*chip, k);
  EXPECT_EQ(r.limit, "matrix units");
  EXPECT_NEAR(r.seconds, 2e-3, 1e-9);
  k.matrixType = "tf32";
  EXPECT_NEAR(computeRoofline(*chip, k).seconds, 4e-3, 1e-9);
  k.matrixType = "f32"; // and other arithmetic on the same units
  k.flops += 19500000000;
  r = computeRoofline(*chip, k);
  EXPECT_EQ(r.limit, "vector units");
  EXPECT_NEAR(r.seconds, 32e-3 + 2e-3, 1e-9);
  k.specialOps = 2436480000000; // 16 x 108 x 1.41e9 a second
  r = computeRoofline(*chip, k);
  EXPECT_EQ(r.limit, "special functions");
  EXPECT_NEAR(r.seconds, 1, 1e-9);
}

TEST(Roofline, ChipsRunCodeOfEarlierTargets) {
  auto runs = [](const char *target, const char *chip) {
    const GpuChip *c = nullptr;
    const GpuTarget *t = nullptr, *of = nullptr;
    std::string error;
    EXPECT_TRUE(succeeded(findGpuChip(chip, c, of, error)));
    EXPECT_TRUE(succeeded(GpuTarget::parse(target, t, error)));
    return runsOn(*t, *c);
  };
  EXPECT_TRUE(runs("sm_80", "h200"));
  EXPECT_TRUE(runs("sm_90a", "h200"));
  EXPECT_TRUE(runs("sm_86", "rtx3090"));
  EXPECT_FALSE(runs("sm_90", "a100"));
  EXPECT_FALSE(runs("sm_90a", "rtx4090"));
}
