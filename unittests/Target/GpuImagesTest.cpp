//===- GpuImagesTest.cpp - kernels of contract N as images ----------------===//

#include "heddle/Target/GpuImages.h"
#include "heddle/Pipelines/Pipelines.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace heddle;

namespace {

/// Kernels @a and @b, each in a module of its own, with a table of the same
/// name and other values.
constexpr const char *kTwoKernels = R"mlir(
module @a {
  gpu.module @a {
    llvm.mlir.global external @heddle_shared() {addr_space = 3 : i32, alignment = 128 : i64} : !llvm.array<0 x i8>
    llvm.mlir.global private constant @table(dense<[11, 12]> : tensor<2xi32>) {addr_space = 1 : i32} : !llvm.array<2 x i32>
    llvm.func @a(%p: !llvm.ptr<1>) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 64, 2, 1>, heddle.grid = 70000 : i64, heddle.tile = "q64", heddle_gpu.shared_bytes = 2048 : i64} {
      %t = llvm.mlir.addressof @table : !llvm.ptr<1>
      %tid = nvvm.read.ptx.sreg.tid.x : i32
      %e = llvm.getelementptr %t[%tid] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
      %v = llvm.load %e : !llvm.ptr<1> -> i32
      llvm.store %v, %p : i32, !llvm.ptr<1>
      llvm.return
    }
  }
}
module @b {
  gpu.module @b {
    llvm.mlir.global external @heddle_shared() {addr_space = 3 : i32, alignment = 128 : i64} : !llvm.array<0 x i8>
    llvm.mlir.global private constant @table(dense<[21, 22]> : tensor<2xi32>) {addr_space = 1 : i32} : !llvm.array<2 x i32>
    llvm.func @b(%p: !llvm.ptr<1>) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32>} {
      %t = llvm.mlir.addressof @table : !llvm.ptr<1>
      %tid = nvvm.read.ptx.sreg.tid.x : i32
      %e = llvm.getelementptr %t[%tid] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
      %v = llvm.load %e : !llvm.ptr<1> -> i32
      llvm.store %v, %p : i32, !llvm.ptr<1>
      llvm.return
    }
  }
}
)mlir";

class GpuImages : public ::testing::Test {
protected:
  GpuImages() : context(registry()) {
    for (const char *name : {"a", "b"}) {
      KernelInfo info;
      info.name = name;
      function.kernels.push_back(info);
    }
    std::string error;
    EXPECT_TRUE(succeeded(GpuTarget::parse("sm_80", target, error)));
    options.findFacts = false;
  }
  static mlir::DialectRegistry registry() {
    mlir::DialectRegistry registry;
    registerCompilerDialects(registry);
    return registry;
  }

  /// The first error, or "".
  std::string append(std::string text) {
    std::string first;
    mlir::ScopedDiagnosticHandler handler(&context,
                                          [&](mlir::Diagnostic &diagnostic) {
                                            if (first.empty())
                                              first = diagnostic.str();
                                            return mlir::success();
                                          });
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    EXPECT_TRUE(module);
    bool ok = module &&
              succeeded(appendGpuImages(*module, *target, options, function));
    EXPECT_EQ(ok, first.empty()) << first;
    return first;
  }
  /// `kTwoKernels` with one text replaced.
  static std::string with(const std::string &from, const std::string &to) {
    std::string text = kTwoKernels;
    text.replace(text.find(from), from.size(), to);
    return text;
  }

  mlir::MLIRContext context;
  Function function;
  const GpuTarget *target = nullptr;
  GpuImageOptions options;
};

TEST_F(GpuImages, AllKernelsShareAnImageAndKeepTheirTables) {
  ASSERT_EQ(append(kTwoKernels), "");
  ASSERT_EQ(function.images.size(), 1u);
  const GpuImage &image = function.images[0];
  EXPECT_EQ(image.target, "sm_80");
  EXPECT_EQ(image.kind, GpuImageKind::Ptx);
  EXPECT_EQ(image.ptxVersion, 80u);
  std::string ptx(image.bytes.begin(), image.bytes.end());
  for (const char *part :
       {".visible .entry a_q64(", ".visible .entry b(", "{11, 0, 0, 0, 12}",
        "{21, 0, 0, 0, 22}", ".target sm_80"})
    EXPECT_NE(ptx.find(part), std::string::npos) << part << "\n" << ptx;
  ASSERT_EQ(image.kernels.size(), 2u);
  const GpuKernel &a = image.kernels[0], &b = image.kernels[1];
  EXPECT_EQ(a.symbol, "a_q64"); // as profilers show it
  EXPECT_EQ(b.symbol, "b");
  EXPECT_EQ(a.grid, (std::array<uint32_t, 3>{70000, 1, 1}));
  EXPECT_EQ(a.block, (std::array<uint32_t, 3>{64, 2, 1}));
  EXPECT_EQ(a.sharedBytes, 2048);
  EXPECT_EQ(a.tile, "q64");
  EXPECT_EQ(a.registers, -1);
  EXPECT_EQ(b.grid, (std::array<uint32_t, 3>{1, 1, 1}));
  EXPECT_EQ(b.block, (std::array<uint32_t, 3>{32, 1, 1}));
  EXPECT_EQ(b.sharedBytes, 0);
  // The blocks of the report are those of the grid.
  EXPECT_EQ(function.kernels[0].numBlocks, 70000);
  EXPECT_TRUE(verifyFunction(function).ok());
}

TEST_F(GpuImages, TheEmulatorHasAnImageOfItsOwnForTheSameLaunches) {
  options.makeEmulator = true;
  ASSERT_EQ(append(kTwoKernels), "");
  ASSERT_EQ(function.images.size(), 2u);
  EXPECT_EQ(function.images[1].kind, GpuImageKind::Emulator);
  EXPECT_EQ(function.images[1].ptxVersion, 0u);
  EXPECT_EQ(function.images[1].kernels[0].grid[0], 70000u);
  EXPECT_TRUE(verifyFunction(function).ok());
}

TEST_F(GpuImages, AFunctionWithoutKernelsHasNoImages) {
  function.kernels.clear();
  EXPECT_EQ(append("module {}"), "");
  EXPECT_TRUE(function.images.empty());
}

TEST_F(GpuImages, WhatALaunchCannotHaveIsAnError) {
  EXPECT_EQ(append(with("nvvm.reqntid = array<i32: 32>", "test.none")),
            "expected the kernel's block in nvvm.reqntid, found none; give the "
            "gpu.func a known_block_size");
  EXPECT_EQ(append(with("2048", "170000")),
            "expected at most 166912 bytes of shared memory in a block on "
            "sm_80, got 170000 for 'a_q64'; use --target=sm_90, --target=cpu, or "
            "a model with smaller heads or rows");
  EXPECT_EQ(append(with("70000", "2147483648")),
            "expected a grid of at most 2147483647 blocks, got 2147483648; use "
            "a smaller batch");
  EXPECT_EQ(append(with("module @b {\n  gpu.module @b",
                        "module @c {\n  gpu.module @c")),
            "expected the kernel 'b' in a gpu.module of its name, found none");
  EXPECT_TRUE(function.images.empty());
}

TEST_F(GpuImages, OccupancyNeedsKnownRegisters) {
  GpuKernel k;
  k.block = {128, 1, 1};
  k.sharedBytes = 40 * 1024;
  EXPECT_FALSE(kernelOccupancy("sm_80", k));
  k.registers = 32;
  std::optional<Occupancy> o = kernelOccupancy("sm_80", k);
  ASSERT_TRUE(o);
  // 164 KiB hold four blocks of 40 KiB and the 1 KiB that the system takes.
  EXPECT_EQ(o->blocksPerSM, 4);
  EXPECT_EQ(limitName(o->limit), "shared memory");
  EXPECT_FALSE(kernelOccupancy("sm_1", k));
}

} // namespace
