//===- PtxasTest.cpp - reading what ptxas says ----------------------------===//

#include "heddle/Target/Ptxas.h"

#include "gtest/gtest.h"

using namespace heddle;

TEST(PtxasReport, HasAnEntryPerKernel) {
  std::vector<PtxasKernel> kernels;
  std::string error;
  ASSERT_TRUE(succeeded(parsePtxasReport(
      "ptxas info    : 0 bytes gmem, 8 bytes cmem[3]\n"
      "ptxas info    : Compiling entry function 'first' for 'sm_80'\n"
      "ptxas info    : Function properties for first\n"
      "    32 bytes stack frame, 12 bytes spill stores, 16 bytes spill loads\n"
      "ptxas info    : Used 255 registers, used 1 barriers, 32 bytes "
      "cumulative "
      "stack size, 49152 bytes smem, 376 bytes cmem[0]\n"
      "ptxas info    : Compile time = 2.114 ms\n"
      "ptxas info    : Compiling entry function 'second' for 'sm_80'\n"
      "ptxas info    : Function properties for second\n"
      "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 16 registers, 360 bytes cmem[0]\n"
      "ptxas info    : Function properties for helper\n"
      "    64 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads\n",
      kernels, error)))
      << error;
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[0].symbol, "first");
  EXPECT_EQ(kernels[0].registers, 255);
  EXPECT_EQ(kernels[0].stackBytes, 32);
  EXPECT_EQ(kernels[0].spillStores, 12);
  EXPECT_EQ(kernels[0].spillLoads, 16);
  EXPECT_EQ(kernels[0].sharedBytes, 49152);
  EXPECT_EQ(kernels[1].symbol, "second");
  EXPECT_EQ(kernels[1].registers, 16);
  EXPECT_EQ(kernels[1].sharedBytes, 0);
  // A device function's frame is not the kernel's.
  EXPECT_EQ(kernels[1].stackBytes, 0);
  EXPECT_EQ(kernels[1].spillStores, 0);
}

TEST(PtxasReport, IsEmptyForNothing) {
  std::vector<PtxasKernel> kernels(3);
  std::string error;
  ASSERT_TRUE(succeeded(parsePtxasReport("", kernels, error)));
  EXPECT_TRUE(kernels.empty());
}

TEST(PtxasReport, SerialisedWgmmaIsAnError) {
  std::vector<PtxasKernel> kernels;
  std::string error;
  ASSERT_TRUE(failed(parsePtxasReport(
      "ptxas info    : (C7515) Potential Performance Loss: wgmma.mma_async "
      "instructions are serialized due to non wgmma instructions defining "
      "accumulator registers of a wgmma between start and end of the pipeline "
      "stage in the function 'attention'\n",
      kernels, error)));
  EXPECT_EQ(error.find("ptxas serialised wgmma: ptxas info    : (C7515)"), 0u)
      << error;
  EXPECT_NE(error.find("in the function 'attention'"), std::string::npos);
}

TEST(PtxasReport, RegistersThatCannotBeReadAreAnError) {
  std::vector<PtxasKernel> kernels;
  std::string error;
  ASSERT_TRUE(failed(
      parsePtxasReport("ptxas info : Compiling entry function 'k' for 'sm_80'\n"
                       "ptxas info : Used many registers\n",
                       kernels, error)));
  EXPECT_NE(error.find("cannot read the registers"), std::string::npos);
}

TEST(Ptxas, KnowsPtxUpToItsRelease) {
  Ptxas ptxas;
  ptxas.cudaVersion = 12040;
  std::string error;
  EXPECT_TRUE(succeeded(ptxas.checkPtxVersion(84, error)));
  EXPECT_TRUE(failed(ptxas.checkPtxVersion(85, error)));
  EXPECT_EQ(error, "expected PTX that ptxas of CUDA 12.4 knows, up to ISA 8.4, "
                   "got ISA 8.5; pass --ptx-version=8.4 or a newer ptxas as "
                   "--ptxas=FILE");
}

TEST(Ptxas, ReadsTheVersionOfPtx) {
  EXPECT_EQ(ptxVersionOf("//\n.version 8.4\n.target sm_80\n"), 84u);
  EXPECT_EQ(ptxVersionOf("nothing"), 0u);
  EXPECT_EQ(ptxVersionOf(".version x"), 0u);
}

TEST(Ptxas, FactsGoToTheKernelsBySymbol) {
  GpuImage image;
  image.kernels.resize(2);
  image.kernels[0].symbol = "a";
  image.kernels[1].symbol = "b";
  PtxasKernel b;
  b.symbol = "b";
  b.registers = 40;
  b.spillStores = 4;
  b.spillLoads = 8;
  b.stackBytes = 16;
  b.sharedBytes = 1024;
  PtxasKernel other = b;
  other.symbol = "c";
  setKernelFacts({b, other}, image);
  EXPECT_EQ(image.kernels[0].registers, -1);
  EXPECT_EQ(image.kernels[1].registers, 40);
  EXPECT_EQ(image.kernels[1].spillBytes, 12);
  EXPECT_EQ(image.kernels[1].stackBytes, 16);
  EXPECT_EQ(image.kernels[1].staticSharedBytes, 1024);
}
