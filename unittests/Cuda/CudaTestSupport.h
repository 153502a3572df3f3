//===- CudaTestSupport.h - programs for the fake CUDA driver ----*- C++ -*-===//

#ifndef HEDDLE_UNITTESTS_CUDA_CUDATESTSUPPORT_H
#define HEDDLE_UNITTESTS_CUDA_CUDATESTSUPPORT_H

#include "../Runtime/TestPrograms.h"
#include "FakeDriver.h"
#include "heddle/Runtime/CudaDevice.h"

#include "gtest/gtest.h"

namespace heddle::test {

/// An image that the fake driver reads, with all kernels of `f`.
inline GpuImage fakeImage(const Function &f, const std::string &target,
                          GpuImageKind kind = GpuImageKind::Ptx,
                          uint32_t ptxVersion = 80) {
  GpuImage image = imageFor(f, kind, target);
  std::string text = "CUBIN " + target;
  if (kind == GpuImageKind::Ptx) {
    image.ptxVersion = ptxVersion;
    text = ".version " + ptxVersionText(ptxVersion) + "\n.target " + target +
           "\n.address_size 64\n";
  }
  for (const KernelInfo &k : f.kernels)
    text += kind == GpuImageKind::Ptx ? ".visible .entry " + k.name + "()\n"
                                      : " " + k.name;
  image.bytes.assign(text.begin(), text.end());
  return image;
}

/// The layers function with PTX for sm_80.
inline Function cudaLayers() {
  Function f = layersFunction();
  f.objects.clear();
  f.images = {fakeImage(f, "sm_80")};
  return f;
}

inline Program cudaProgramOf(std::vector<Function> functions) {
  Program p = programOf(std::move(functions));
  p.target = "cuda";
  p.isa = "sm_80";
  p.isaFeatures.clear();
  return p;
}

/// y of cudaLayers for x and weights.
inline std::vector<float> layersResult(std::vector<float> x,
                                       const std::vector<float> &weights) {
  for (size_t layer = 3; layer-- > 0;)
    for (size_t i = 0; i < 40; ++i)
      x[i] = 2.0f * weights[layer * 40 + i] + x[i];
  return x;
}

/// Floats in the memory of a fake device.
class DeviceFloats {
public:
  explicit DeviceFloats(size_t n, float first = 0, int ordinal = 0) : n(n) {
    memory = static_cast<float *>(
        fake::allocate(ordinal, static_cast<int64_t>(n * sizeof(float))));
    for (size_t i = 0; i < n; ++i)
      memory[i] = first + static_cast<float>(i % 13);
  }
  ~DeviceFloats() { fake::release(memory); }
  DeviceFloats(const DeviceFloats &) = delete;
  operator void *() const { return memory; }
  std::vector<float> values() const { return {memory, memory + n}; }
  float &operator[](size_t i) { return memory[i]; }

private:
  float *memory;
  size_t n;
};

inline std::vector<float> hostFloats(size_t n, float first) {
  std::vector<float> values(n);
  for (size_t i = 0; i < n; ++i)
    values[i] = first + static_cast<float>(i % 13);
  return values;
}

/// Starts from a fresh fake machine, and ends with nothing left on it.
class CudaTest : public ::testing::Test {
protected:
  void SetUp() override {
    fake::reset();
    options.driver = FAKE_DRIVER;
    options.device = 0;
  }
  void TearDown() override {
    executable.reset();
    EXPECT_EQ(fake::misuses(), std::vector<std::string>());
    EXPECT_EQ(fake::contextDepth(), 0);
    EXPECT_EQ(fake::liveHandles(), 0);
    EXPECT_EQ(fake::allocatedBytes(), 0);
  }

  /// The error of loading `f`, "" for success.
  std::string load(const Function &f) {
    executable.reset();
    return CudaExecutable::load(f, cudaProgramOf({}), options, executable)
        .message;
  }
  std::string run(std::vector<void *> args, std::vector<void *> results,
                  CudaTiming *timing = nullptr) {
    return executable->run(args.data(), results.data(), timing).message;
  }

  CudaOptions options;
  std::unique_ptr<CudaExecutable> executable;
};

#define EXPECT_PART(text, part)                                                \
  do {                                                                         \
    std::string found = (text);                                                \
    EXPECT_NE(found.find(part), std::string::npos) << found;                   \
  } while (0)

} // namespace heddle::test

#endif // HEDDLE_UNITTESTS_CUDA_CUDATESTSUPPORT_H
