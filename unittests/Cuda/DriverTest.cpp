//===- DriverTest.cpp - finding the driver library and its devices --------===//

#include "CudaTestSupport.h"
#include "cuda/DriverApi.h"

#include <cstdlib>

using namespace heddle;
using namespace heddle::test;

namespace {

class CudaDriver : public CudaTest {
protected:
  std::string driverError() {
    std::shared_ptr<const cuda::Driver> driver;
    return cuda::Driver::load(FAKE_DRIVER, driver).message;
  }
};

} // namespace

TEST_F(CudaDriver, AMissingLibraryIsNamed) {
  options.driver = "/no/such/libcuda.so.1";
  std::string error = load(cudaLayers());
  EXPECT_PART(error,
              "expected the NVIDIA driver library /no/such/libcuda.so.1, "
              "found none (");
  EXPECT_PART(error, "install the NVIDIA driver, or use --device=cpu");
  std::vector<CudaDeviceInfo> devices(3);
  EXPECT_PART(listCudaDevices(devices, "/no/such/libcuda.so.1").message,
              "expected the NVIDIA driver library");
  EXPECT_EQ(devices.size(), 3u);
}

TEST_F(CudaDriver, TheEnvironmentNamesTheLibrary) {
  setenv("HEDDLE_CUDA_DRIVER", "/no/libcuda", 1);
  std::vector<CudaDeviceInfo> devices;
  EXPECT_PART(listCudaDevices(devices).message,
              "expected the NVIDIA driver library /no/libcuda");
  setenv("HEDDLE_CUDA_DRIVER", FAKE_DRIVER, 1);
  EXPECT_EQ(listCudaDevices(devices).message, "");
  EXPECT_EQ(devices.size(), 1u);
  // An explicit path goes first.
  EXPECT_PART(listCudaDevices(devices, "/no/other").message, "/no/other");
  unsetenv("HEDDLE_CUDA_DRIVER");
}

TEST_F(CudaDriver, ALibraryOfSomethingElseIsRefused) {
  std::shared_ptr<const cuda::Driver> driver;
  EXPECT_PART(cuda::Driver::load("libm.so.6", driver).message,
              "got 'libm.so.6' without a working cuDriverGetVersion");
}

TEST_F(CudaDriver, AnOldDriverIsNamedBeforeWhatItLacks) {
  fake::config().driverVersion = 11020;
  fake::config().missing = {"cuGraphInstantiateWithFlags"};
  EXPECT_EQ(driverError(), "expected an NVIDIA driver for CUDA 11.4 or later, "
                           "got one for CUDA 11.2; update the driver");
  fake::config().driverVersion = 11040;
  fake::config().missing.clear();
  EXPECT_EQ(driverError(), "");
}

TEST_F(CudaDriver, EveryFunctionIsNeeded) {
#define CHECK_MISSING(name, version, exported, params)                         \
  fake::config().missing = {#name};                                            \
  EXPECT_EQ(driverError(),                                                     \
            "expected the function " #name                                     \
            " in the NVIDIA driver library '" FAKE_DRIVER                      \
            "' for CUDA 12.4, found none; reinstall the driver");
  HEDDLE_CUDA_FUNCTIONS(CHECK_MISSING)
#undef CHECK_MISSING
  // But for one that has a replacement.
  fake::config().missing = {"cuGraphExecUpdate"};
  EXPECT_EQ(driverError(), "");
}

TEST_F(CudaDriver, FailuresOfInitialisationHaveTheDriversWords) {
  fake::config().initResult = 100;
  EXPECT_EQ(driverError(), "cuInit: CUDA_ERROR_NO_DEVICE (no CUDA-capable "
                           "device is detected)");
  fake::config().initResult = 12345;
  EXPECT_EQ(driverError(), "cuInit: CUDA error 12345");
}

TEST_F(CudaDriver, LibrariesWithoutProcAddressAreReadByName) {
  options.driver = FAKE_DRIVER_BY_NAME; // a machine of its own
  ASSERT_EQ(load(cudaLayers()), "");
  std::vector<float> x = hostFloats(40, 1), weights = hostFloats(120, 5), y(40);
  const void *args[] = {x.data(), weights.data()};
  void *results[] = {y.data()};
  Status s = executable->runHost(args, results);
  ASSERT_TRUE(s.ok()) << s.message;
  EXPECT_EQ(y, layersResult(x, weights));
  EXPECT_EQ(fake::calls(), std::vector<std::string>());
}

TEST_F(CudaDriver, DevicesAreDescribed) {
  fake::config().sm = {80, 90};
  fake::config().totalBytes = int64_t(40) << 30;
  std::vector<CudaDeviceInfo> devices;
  ASSERT_EQ(listCudaDevices(devices, FAKE_DRIVER).message, "");
  ASSERT_EQ(devices.size(), 2u);
  EXPECT_EQ(describeCudaDevice(devices[1]),
            "Fake GPU 1 (sm_90), 108 multiprocessors, 40.0 GiB");
  EXPECT_EQ(devices[0].maxSharedBytes, 166912);
  fake::config().sm.clear();
  ASSERT_EQ(listCudaDevices(devices, FAKE_DRIVER).message, "");
  EXPECT_TRUE(devices.empty());
}

TEST_F(CudaDriver, TheDeviceIsChosenByOrdinalContextOrBuffers) {
  fake::config().sm = {80, 86, 90};
  options.device = 3;
  EXPECT_PART(load(cudaLayers()),
              "expected a CUDA device from 0 to 2, got 3; heddle-run "
              "--list-devices lists them");
  options.device = -2;
  EXPECT_PART(load(cudaLayers()), "expected a CUDA device from 0, or -1");

  options.device = 1;
  ASSERT_EQ(load(cudaLayers()), "");
  EXPECT_EQ(executable->device(), 1);

  options.context = fake::callerContext(2);
  EXPECT_EQ(load(cudaLayers()),
            "expected a context of device 1, got one of device 2");
  options.device = -1;
  ASSERT_EQ(load(cudaLayers()), "");
  EXPECT_EQ(executable->device(), 2);

  options.context = nullptr;
  options.stream = fake::callerStream(2);
  EXPECT_PART(load(cudaLayers()),
              "expected the context of the caller's stream");
  options.stream = nullptr;
  ASSERT_EQ(load(cudaLayers()), "");
  EXPECT_EQ(executable->device(), -1);
  EXPECT_EQ(executable->image(), "");
  EXPECT_EQ(fake::numCalls("cuDevicePrimaryCtxRetain"), 1);
  DeviceFloats x(40, 1, 1), weights(120, 5, 1), y(40, 0, 1), other(40, 0, 2);
  ASSERT_EQ(run({x, weights}, {y}), "");
  EXPECT_EQ(executable->device(), 1);
  EXPECT_EQ(y.values(), layersResult(x.values(), weights.values()));
  // From then on it stays there.
  EXPECT_EQ(run({x, weights}, {other}),
            "expected result 0 'y' on device 1 where the session is, got "
            "memory of device 2; create a session for each device");
}
