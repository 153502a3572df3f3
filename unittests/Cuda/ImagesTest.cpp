//===- ImagesTest.cpp - choosing and loading GPU images -------------------===//

#include "CudaTestSupport.h"

#include <sstream>
#include <thread>

using namespace heddle;
using namespace heddle::test;

namespace {

class CudaImages : public CudaTest {};

/// "ptx for sm_80", or the error, of the images "ptx:sm_80 cubin:sm_90a".
std::string choice(const std::string &images, int sm, int cudaVersion = 12040,
                   uint32_t ptxVersion = 80) {
  Function f = layersFunction();
  std::istringstream words(images);
  std::string word;
  while (words >> word) {
    size_t colon = word.find(':');
    std::string kind = word.substr(0, colon);
    f.images.push_back(fakeImage(f, word.substr(colon + 1),
                                 kind == "ptx"     ? GpuImageKind::Ptx
                                 : kind == "cubin" ? GpuImageKind::Cubin
                                                   : GpuImageKind::Emulator,
                                 ptxVersion));
  }
  const GpuImage *image = nullptr;
  if (Status s = chooseCudaImage(f, sm, cudaVersion, image); !s.ok())
    return s.message;
  return std::string(gpuImageKindName(image->kind)) + " for " + image->target;
}

} // namespace

TEST(CudaImageChoice, MachineCodeOfTheChipGoesFirst) {
  EXPECT_EQ(choice("ptx:sm_80 cubin:sm_80", 80), "cubin for sm_80");
  EXPECT_EQ(choice("cubin:sm_80 ptx:sm_80 cubin:sm_90", 90), "cubin for sm_90");
  EXPECT_EQ(choice("cubin:sm_90 cubin:sm_90a ptx:sm_90a", 90),
            "cubin for sm_90a");
}

TEST(CudaImageChoice, PtxOfAnOlderTargetRunsOnANewerChip) {
  EXPECT_EQ(choice("ptx:sm_80", 86), "ptx for sm_80");
  EXPECT_EQ(choice("ptx:sm_80 ptx:sm_86 ptx:sm_90", 89), "ptx for sm_86");
  EXPECT_EQ(choice("ptx:sm_80", 120), "ptx for sm_80");
  EXPECT_EQ(choice("ptx:sm_90 ptx:sm_90a", 90), "ptx for sm_90a");
  // Text that is compiled for the chip beats machine code of its elder.
  EXPECT_EQ(choice("cubin:sm_80 ptx:sm_80", 86), "ptx for sm_80");
}

TEST(CudaImageChoice, MachineCodeRunsOnLaterMinorVersions) {
  EXPECT_EQ(choice("cubin:sm_80", 86), "cubin for sm_80");
  EXPECT_EQ(choice("cubin:sm_80 cubin:sm_86", 89), "cubin for sm_86");
  EXPECT_EQ(choice("cubin:sm_80", 90),
            "function 'main' has no GPU code for sm_90, only cubin for sm_80; "
            "recompile with --target=sm_90");
}

TEST(CudaImageChoice, CodeForAnotherChipIsNamed) {
  EXPECT_EQ(choice("ptx:sm_90 cubin:sm_90a emulator:sm_80", 80),
            "function 'main' has no GPU code for sm_80, only ptx for sm_90, "
            "cubin for sm_90a, emulator for sm_80; recompile with "
            "--target=sm_80");
  EXPECT_EQ(choice("", 80), "function 'main' has no GPU code for sm_80, it has "
                            "none at all; recompile with --target=sm_80");
  // Code with the suffix runs on its own architecture only.
  EXPECT_PART(choice("ptx:sm_90a cubin:sm_90a", 100), "no GPU code for sm_100");
  // The advice names a target that exists.
  EXPECT_PART(choice("ptx:sm_90a", 100), "; recompile with --target=sm_90");
  EXPECT_EQ(choice("ptx:sm_80", 75),
            "function 'main' has no GPU code for sm_75, only ptx for sm_80; the "
            "device is older than sm_80, the oldest that kernels are compiled "
            "for; use --device=cpu");
}

TEST(CudaImageChoice, PtxNewerThanTheDriverIsNamedWithBothVersions) {
  EXPECT_EQ(choice("ptx:sm_80", 80, 12040, 87),
            "function 'main' has PTX of ISA version 8.7 for sm_80, the driver "
            "for CUDA 12.4 takes versions up to 8.4; update the driver or "
            "recompile with --ptx-version=8.4");
  EXPECT_EQ(choice("ptx:sm_80", 80, 12080, 87), "ptx for sm_80");
  // The oldest driver reads no version that has sm_89.
  EXPECT_EQ(choice("ptx:sm_89", 89, 11040, 80),
            "function 'main' has PTX of ISA version 8.0 for sm_89, the driver "
            "for CUDA 11.4 takes versions up to 7.4; update the driver or "
            "recompile with --target=sm_86 --ptx-version=7.4");
  EXPECT_EQ(choice("ptx:sm_80", 86, 11040, 80),
            "function 'main' has PTX of ISA version 8.0 for sm_80, the driver "
            "for CUDA 11.4 takes versions up to 7.4; update the driver or "
            "recompile with --ptx-version=7.4");
  EXPECT_EQ(choice("ptx:sm_80", 80, 11040, 74), "ptx for sm_80");
  // Machine code does not ask for a version.
  EXPECT_EQ(choice("ptx:sm_80 cubin:sm_80", 86, 12040, 87), "cubin for sm_80");
}

TEST(CudaImageChoice, VersionsFollowTheReleases) {
  EXPECT_EQ(newestPtxOfCuda(11030), 73u);
  EXPECT_EQ(newestPtxOfCuda(12000), 80u);
  EXPECT_EQ(newestPtxOfCuda(12060), 85u);
  EXPECT_EQ(newestPtxOfCuda(12090), 88u);
  EXPECT_EQ(newestPtxOfCuda(13000), 90u);
  EXPECT_EQ(newestPtxOfCuda(99000), newestPtxOfCuda(13010));
  EXPECT_EQ(newestPtxOfCuda(10020), 0u);
  EXPECT_EQ(cudaVersionText(12040), "12.4");
  EXPECT_EQ(ptxVersionText(84), "8.4");
}

TEST(CudaImageChoice, TargetsAreParsedWhole) {
  GpuArch arch;
  ASSERT_TRUE(parseGpuArch("sm_90a", arch));
  EXPECT_EQ(arch.sm, 90);
  EXPECT_EQ(arch.specific, 'a');
  ASSERT_TRUE(parseGpuArch("sm_120", arch));
  EXPECT_EQ(arch.sm, 120);
  EXPECT_EQ(arch.specific, 0);
  for (const char *bad : {"", "sm_", "sm_8", "sm_1234", "sm_80b", "sm_90aa",
                          "sm80", "SM_80", "compute_80", "sm_80 ", "sm_-80"})
    EXPECT_FALSE(parseGpuArch(bad, arch)) << bad;
}

TEST_F(CudaImages, LoadedImagesAreShared) {
  options.modules = std::make_shared<CudaModuleCache>();
  ASSERT_EQ(load(cudaLayers()), "");
  std::unique_ptr<CudaExecutable> others[2];
  for (auto &other : others)
    ASSERT_TRUE(
        CudaExecutable::load(cudaLayers(), cudaProgramOf({}), options, other)
            .ok());
  EXPECT_EQ(fake::numCalls("cuModuleLoadDataEx"), 1);
  executable.reset();
  others[0].reset();
  EXPECT_EQ(fake::numCalls("cuModuleUnload"), 0);
  DeviceFloats x(40, 1), weights(120, 5), y(40);
  void *args[] = {x, weights}, *results[] = {y};
  ASSERT_TRUE(others[1]->run(args, results).ok());
  EXPECT_EQ(y.values(), layersResult(x.values(), weights.values()));
  others[1].reset();
  EXPECT_EQ(fake::numCalls("cuModuleUnload"), 1);
  // Another image and another device are other modules.
  ASSERT_EQ(load(cudaLayers()), "");
  Function f = cudaLayers();
  f.images[0].bytes.push_back('\n');
  ASSERT_TRUE(
      CudaExecutable::load(f, cudaProgramOf({}), options, others[0]).ok());
  fake::config().sm = {80, 80};
  options.device = 1;
  ASSERT_TRUE(
      CudaExecutable::load(cudaLayers(), cudaProgramOf({}), options, others[1])
          .ok());
  EXPECT_EQ(fake::numCalls("cuModuleLoadDataEx"), 4);
}

TEST_F(CudaImages, SessionsOfSeveralThreadsLoadAnImageOnce) {
  options.modules = std::make_shared<CudaModuleCache>();
  std::unique_ptr<CudaExecutable> loaded[4];
  std::vector<std::thread> threads;
  for (auto &one : loaded)
    threads.emplace_back([&] {
      Status s =
          CudaExecutable::load(cudaLayers(), cudaProgramOf({}), options, one);
      EXPECT_EQ(s.message, "");
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(fake::numCalls("cuModuleLoadDataEx"), 1);
}

TEST_F(CudaImages, ErrorsOfTheDriversCompilerAreReported) {
  Function f = cudaLayers();
  std::string text = ".version 8.0\n.target sm_80\noops\n";
  f.images[0].bytes.assign(text.begin(), text.end());
  EXPECT_EQ(load(f),
            "cuModuleLoadDataEx of ptx for sm_80 on Fake GPU 0 (sm_80): "
            "CUDA_ERROR_INVALID_PTX (a PTX JIT compilation failed); log: ptxas "
            "application ptx input, line 4; fatal   : Parsing error near "
            "'oops': syntax error; ptxas fatal   : Ptx assembly aborted due to "
            "errors");
}

TEST_F(CudaImages, PtxThatTheDriverRefusesForItsVersionIsExplained) {
  // The text asks for more than the bundle says.
  Function f = cudaLayers();
  f.images[0] = fakeImage(f, "sm_80", GpuImageKind::Ptx, 90);
  f.images[0].ptxVersion = 80;
  std::string error = load(f);
  EXPECT_PART(error, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION");
  EXPECT_PART(error, "the driver is for CUDA 12.4; update the driver or "
                     "recompile with a lower --ptx-version");
}

TEST_F(CudaImages, ABundleForAnotherChipIsRefused) {
  Function f = layersFunction();
  f.images = {fakeImage(f, "sm_90"),
              fakeImage(f, "sm_90a", GpuImageKind::Cubin)};
  EXPECT_EQ(load(f), "function 'main' has no GPU code for sm_80, only ptx for "
                     "sm_90, cubin for sm_90a; recompile with --target=sm_80");
  EXPECT_EQ(fake::numCalls("cuModuleLoadDataEx"), 0);
  // An image that says it is for the chip and is not.
  f.images = {fakeImage(f, "sm_90", GpuImageKind::Cubin)};
  f.images[0].target = "sm_80";
  EXPECT_PART(load(f), "CUDA_ERROR_NO_BINARY_FOR_GPU");
}

TEST_F(CudaImages, AKernelThatTheImageLacksIsNamed) {
  Function f = cudaLayers();
  f.images[0].kernels[1].symbol = "other";
  EXPECT_EQ(load(f), "cuModuleGetFunction of kernel 'through_scratch' (other): "
                     "CUDA_ERROR_NOT_FOUND (named symbol not found)");
}

TEST_F(CudaImages, MoreSharedMemoryThanUsualIsAskedFor) {
  Function f = cudaLayers();
  f.images[0].kernels[0].sharedBytes = 48 * 1024;
  ASSERT_EQ(load(f), "");
  EXPECT_EQ(fake::numCalls("cuFuncSetAttribute"), 0);
  f.images[0].kernels[0].sharedBytes = 100000;
  ASSERT_EQ(load(f), "");
  EXPECT_EQ(fake::numCalls("cuFuncSetAttribute"), 1);
  DeviceFloats x(40, 1), weights(120, 5), y(40);
  ASSERT_EQ(run({x, weights}, {y}), "");

  // Static shared memory counts.
  fake::config().limits["axpy"].staticShared = 70000;
  EXPECT_EQ(load(f), "kernel 'axpy' needs 170000 bytes of shared memory in a "
                     "block, Fake GPU 0 (sm_80) has 166912; recompile for this "
                     "chip");
}

TEST_F(CudaImages, ASharedKernelKeepsTheLargerAllowance) {
  options.modules = std::make_shared<CudaModuleCache>();
  Function large = cudaLayers(), small = cudaLayers();
  large.images[0].kernels[0].sharedBytes = 100000;
  small.images[0].kernels[0].sharedBytes = 60000;
  ASSERT_EQ(load(large), "");
  std::unique_ptr<CudaExecutable> other;
  ASSERT_TRUE(
      CudaExecutable::load(small, cudaProgramOf({}), options, other).ok());
  DeviceFloats x(40, 1), weights(120, 5), y(40);
  EXPECT_EQ(run({x, weights}, {y}), "");
}

TEST_F(CudaImages, BlocksLargerThanTheCodeAllowsAreRefused) {
  fake::config().limits["axpy"].maxThreads = 255;
  EXPECT_EQ(load(cudaLayers()),
            "kernel 'axpy' has blocks of 256 threads, its code on Fake GPU 0 "
            "allows 255; recompile with a smaller tile");
}
