//===- FailuresTest.cpp - what goes wrong on a CUDA device ----------------===//

#include "CudaTestSupport.h"
#include "cuda/DriverApi.h"

using namespace heddle;
using namespace heddle::test;

namespace {

class CudaFailures : public CudaTest {};

} // namespace

TEST_F(CudaFailures, ThePlanIsComparedWithFreeMemoryFirst) {
  Function f = cudaLayers();
  f.plan.arenaBytes = int64_t(600) << 20;
  fake::config().reservedBytes = int64_t(512) << 20;
  EXPECT_EQ(load(f), "the plan of function 'main' needs 600.0 MiB, the device "
                     "has 512.0 MiB free of 1024.0 MiB; free memory on it, use "
                     "a smaller batch or another device");
  EXPECT_EQ(fake::numCalls("cuMemAlloc"), 0);
  EXPECT_EQ(fake::numCalls("cuModuleLoadDataEx"), 0);
  EXPECT_EQ(fake::numCalls("cuLaunchKernel"), 0);
  fake::config().reservedBytes = int64_t(423) << 20;
  EXPECT_EQ(load(f), "");
}

TEST_F(CudaFailures, ConstantsAndTablesBelongToThePlan) {
  Function f = cudaLayers();
  f.plan.arenaBytes = 640;
  f.constants.resize(3 << 20);
  fake::config().reservedBytes = fake::config().totalBytes - (3 << 20);
  EXPECT_PART(load(f), "needs 3.0 MiB, the device has 3.0 MiB free");
}

TEST_F(CudaFailures, BuffersForHostPointersAreComparedWithFreeMemory) {
  ASSERT_EQ(load(cudaLayers()), "");
  fake::config().reservedBytes = fake::config().totalBytes - 1000;
  std::vector<float> x(40), weights(120), y(40);
  const void *args[] = {x.data(), weights.data()};
  void *results[] = {y.data()};
  EXPECT_PART(executable->runHost(args, results).message,
              "arguments and results of function 'main' needs 0.0 MiB, the "
              "device has");
  fake::config().reservedBytes = 0;
  EXPECT_EQ(executable->runHost(args, results).message, "");
}

TEST_F(CudaFailures, AnAllocationThatFailsNamesItsUse) {
  fake::config().fail["cuMemAlloc"] = 2;
  EXPECT_EQ(load(cudaLayers()),
            "cuMemAlloc of 0.0 MiB for the arena: CUDA_ERROR_OUT_OF_MEMORY "
            "(out of memory)");
}

/// Every call that loading and running make fails once; each failure is
/// reported by the call's name, leaks nothing, and leaves nothing current.
TEST_F(CudaFailures, EveryCallThatFailsIsNamedAndLeaksNothing) {
  Function f = cudaLayers();
  f.images[0].kernels[0].sharedBytes = 100000;
  int failed = 0;
  auto attempt = [&](const char *call) {
    fake::reset();
    options.poison = true;
    fake::config().fail[call] = 1;
    std::string error;
    {
      DeviceFloats x(40, 1), weights(120, 5), y(40);
      std::vector<float> host(120);
      const void *hostArgs[] = {host.data(), host.data()};
      void *hostResults[] = {host.data()};
      CudaTiming timing;
      timing.repeats = 1;
      error = load(f);
      if (error.empty())
        error = run({x, weights}, {y}, &timing);
      if (error.empty())
        error = executable->runHost(hostArgs, hostResults).message;
      executable.reset();
    }
    // What could not be given back is left.
    bool gives = std::string(call).find("Destroy") != std::string::npos ||
                 std::string(call) == "cuMemFree" ||
                 std::string(call) == "cuModuleUnload" ||
                 std::string(call) == "cuCtxPopCurrent" ||
                 std::string(call) == "cuDevicePrimaryCtxRelease";
    if (gives)
      return;
    EXPECT_EQ(fake::allocatedBytes(), 0) << call;
    EXPECT_EQ(fake::liveHandles(), 0) << call;
    EXPECT_EQ(fake::contextDepth(), 0) << call;
    EXPECT_EQ(fake::misuses(), std::vector<std::string>()) << call;
    if (!fake::numCalls(call))
      return;
    // An invalid value is what a pointer of the host gives.
    const char *wanted = std::string(call) == "cuPointerGetAttribute"
                             ? "a pointer that the driver does not know"
                             : call;
    EXPECT_NE(error.find(wanted), std::string::npos) << call << ": " << error;
    ++failed;
  };
#define ATTEMPT(name, version, exported, params) attempt(#name);
  HEDDLE_CUDA_FUNCTIONS(ATTEMPT)
#undef ATTEMPT
  EXPECT_GE(failed, 26);
  fake::reset();
}

TEST_F(CudaFailures, AFailedKernelIsAmongThoseNamed) {
  ASSERT_EQ(load(cudaLayers()), "");
  fake::config().failingKernel = "axpy";
  DeviceFloats x(40, 1), weights(120, 5), y(40);
  EXPECT_EQ(run({x, weights}, {y}),
            "cuStreamSynchronize after function 'main' with kernels axpy, "
            "through_scratch: CUDA_ERROR_LAUNCH_FAILED (unspecified launch "
            "failure); run with launches checked (heddle-run "
            "--check-launches) to learn which");
  // The context is lost; later runs say so and nothing crashes.
  EXPECT_PART(run({x, weights}, {y}), "CUDA_ERROR_LAUNCH_FAILED");
}

TEST_F(CudaFailures, CheckedLaunchesNameTheKernelAndTheCommand) {
  options.checkLaunches = true;
  ASSERT_EQ(load(cudaLayers()), "");
  fake::config().failingKernel = "axpy";
  DeviceFloats x(40, 1), weights(120, 5), y(40);
  EXPECT_EQ(run({x, weights}, {y}),
            "cuStreamSynchronize after a run of kernel 'axpy' (function "
            "'main', command 2.1): CUDA_ERROR_LAUNCH_FAILED (unspecified "
            "launch failure)");
}

TEST_F(CudaFailures, ALaunchThatIsRefusedNamesTheKernel) {
  ASSERT_EQ(load(cudaLayers()), "");
  fake::config().fail["cuLaunchKernel"] = 1;
  DeviceFloats x(40, 1), weights(120, 5), y(40);
  EXPECT_EQ(run({x, weights}, {y}),
            "cuLaunchKernel of kernel 'axpy' (function 'main', command 2.1): "
            "CUDA_ERROR_INVALID_VALUE (invalid argument)");
  // The capture has ended: the session works once launches do.
  fake::config().fail.clear();
  EXPECT_EQ(run({x, weights}, {y}), "");
  EXPECT_EQ(y.values(), layersResult(x.values(), weights.values()));
}

TEST_F(CudaFailures, PointersAreChecked) {
  ASSERT_EQ(load(cudaLayers()), "");
  DeviceFloats x(40, 1), weights(120, 5), y(40);
  std::vector<float> host(120);
  EXPECT_EQ(run({x, nullptr}, {y}),
            "expected a pointer to float32[3,40] for argument 1 'weights', got "
            "null");
  EXPECT_EQ(run({x, weights}, {nullptr}),
            "expected a pointer to float32[40] for result 0 'y', got null");
  EXPECT_PART(executable->run(nullptr, nullptr).message, "argument 0 'x'");
  EXPECT_EQ(run({x, host.data()}, {y}),
            "expected device memory for argument 1 'weights', got a pointer "
            "that the driver does not know; pass device memory, or host memory "
            "to runHost");
  EXPECT_EQ(fake::numCalls("cuLaunchKernel"), 0);
  // Equal pointers are asked for once.
  ASSERT_EQ(run({x, weights}, {y}), "");
  fake::clearCalls();
  ASSERT_EQ(run({x, weights}, {y}), "");
  EXPECT_EQ(fake::numCalls("cuPointerGetAttribute"), 0);

  options.device = -1;
  ASSERT_EQ(load(cudaLayers()), "");
  EXPECT_PART(run({host.data(), host.data()}, {host.data()}),
              "expected buffers in device memory to find the device");
}

TEST_F(CudaFailures, PointersAreAligned) {
  ASSERT_EQ(load(cudaLayers()), "");
  DeviceFloats x(40, 1), weights(121, 5), y(40);
  EXPECT_EQ(run({x, static_cast<float *>(static_cast<void *>(weights)) + 1}, {y}),
            "expected argument 1 'weights' at a multiple of 16 bytes, as "
            "accesses of the kernels need; pass an aligned buffer");
  EXPECT_EQ(fake::numCalls("cuLaunchKernel"), 0);
}

TEST_F(CudaFailures, UnusedArgumentsMayBeNull) {
  Function f = cudaLayers();
  f.arguments.push_back(floats("unused", 8));
  f.arguments.back().used = false;
  ASSERT_EQ(load(f), "");
  DeviceFloats x(40, 1), weights(120, 5), y(40);
  EXPECT_EQ(run({x, weights, nullptr}, {y}), "");
  EXPECT_EQ(y.values(), layersResult(x.values(), weights.values()));
  std::vector<float> hx(40), hw(120), hy(40);
  const void *args[] = {hx.data(), hw.data(), nullptr};
  void *results[] = {hy.data()};
  EXPECT_EQ(executable->runHost(args, results).message, "");
}

TEST_F(CudaFailures, ProgramsForTheCpuAreRefused) {
  Function f = cudaLayers();
  Status s = CudaExecutable::load(f, programOf({}), options, executable);
  EXPECT_EQ(s.message, "the bundle is compiled for target 'cpu', this device "
                       "is 'cuda'; recompile with --target=sm_80 or the like");
  f.commands[0].source.offset = 4;
  EXPECT_PART(load(f), "leaves its space");
  f = cudaLayers();
  f.images[0].kernels[0].block = {2048, 1, 1};
  EXPECT_PART(load(f),
              "blocks of 2048 threads along x, possible are 1 to 1024");
}

TEST_F(CudaFailures, DamagedBundlesNeverReachTheDevice) {
  Function f = cudaLayers();
  f.images.push_back(fakeImage(f, "sm_90a", GpuImageKind::Cubin));
  std::vector<uint8_t> bytes = serializeProgram(cudaProgramOf({f}));
  Program p;
  ASSERT_TRUE(deserializeProgram(bytes.data(), bytes.size(), p).ok());
  for (size_t n = 0; n < bytes.size(); ++n) {
    std::vector<uint8_t> part(bytes.begin(), bytes.begin() + n);
    Program q;
    ASSERT_FALSE(deserializeProgram(part.data(), part.size(), q).ok()) << n;
  }
  // The whole one runs.
  Status s = CudaExecutable::load(p.functions[0], p, options, executable);
  ASSERT_TRUE(s.ok()) << s.message;
  DeviceFloats x(40, 1), weights(120, 5), y(40);
  ASSERT_EQ(run({x, weights}, {y}), "");
  EXPECT_EQ(y.values(), layersResult(x.values(), weights.values()));
}

TEST_F(CudaFailures, TablesBeyondReasonAreRefused) {
  Function f = cudaLayers();
  Command c = launch(1, {tableArg({buffer(Space::Arena, 0, 0, 8)})});
  f.commands = {repeat(1 << 30, {c})};
  EXPECT_PART(load(f), "pointer tables of 1073741824 entries");
}
