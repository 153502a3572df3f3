//===- InterfacesTest.cpp - the CUDA device from C and heddle-run ---------===//

#include "CudaTestSupport.h"
#include "heddle-c/heddle.h"

#include <cstdio>
#include <cstdlib>
#include <sys/wait.h>
#include <unistd.h>

using namespace heddle;
using namespace heddle::test;

namespace {

class CudaInterfaces : public CudaTest {
protected:
  void SetUp() override {
    CudaTest::SetUp();
    setenv("HEDDLE_CUDA_DRIVER", FAKE_DRIVER, 1);
    char name[] = "/tmp/heddle-cuda-test-XXXXXX";
    int fd = mkstemp(name);
    ASSERT_GE(fd, 0);
    close(fd);
    bundle = name;
    Status s = writeProgramFile(bundle, cudaProgramOf({cudaLayers()}));
    ASSERT_TRUE(s.ok()) << s.message;
  }
  void TearDown() override {
    std::remove(bundle.c_str());
    unsetenv("HEDDLE_CUDA_DRIVER");
    CudaTest::TearDown();
  }

  /// What heddle-run prints, both streams, and its exit status.
  std::string heddleRun(const std::string &arguments, int *exit = nullptr) {
    std::string command = HEDDLE_RUN " " + arguments + " 2>&1", text;
    FILE *pipe = popen(command.c_str(), "r");
    char block[4096];
    for (size_t n; (n = fread(block, 1, sizeof block, pipe)) > 0;)
      text.append(block, n);
    int status = pclose(pipe);
    if (exit)
      *exit = WEXITSTATUS(status);
    return text;
  }

  std::string bundle;
};

std::string take(HeddleStatus status) {
  std::string message = heddleStatusMessage(status);
  heddleStatusFree(status);
  return message;
}

} // namespace

TEST_F(CudaInterfaces, CRunsOnHostPointers) {
  HeddleProgram *program = nullptr;
  ASSERT_EQ(take(heddleProgramLoadFile(bundle.c_str(), &program)), "");
  HeddleSession *session = nullptr;
  ASSERT_EQ(take(heddleSessionCreate(program, 0, "cuda", nullptr, &session)),
            "");
  heddleProgramFree(program);
  EXPECT_EQ(heddleSessionNumThreads(session), 0);
  std::vector<float> x = hostFloats(40, 1), weights = hostFloats(120, 5), y(40);
  void *args[] = {x.data(), weights.data()}, *results[] = {y.data()};
  EXPECT_EQ(take(heddleSessionRun(session, args, 2, results, 1)), "");
  EXPECT_EQ(y, layersResult(x, weights));
  EXPECT_EQ(take(heddleSessionRun(session, args, 1, results, 1)),
            "expected 2 arguments, got 1");
  heddleSessionFree(session);
}

TEST_F(CudaInterfaces, CRunsOnTheCallersContextAndStream) {
  fake::config().sm = {80, 90};
  HeddleProgram *program = nullptr;
  ASSERT_EQ(take(heddleProgramLoadFile(bundle.c_str(), &program)), "");
  HeddleSessionOptions options = {};
  options.structSize = sizeof(options);
  options.devicePointers = 1;
  options.context = fake::callerContext(1);
  options.stream = fake::callerStream(1);
  HeddleSession *session = nullptr;
  ASSERT_EQ(take(heddleSessionCreate(program, 0, "cuda", &options, &session)),
            "");
  DeviceFloats x(40, 1, 1), weights(120, 5, 1), y(40, 0, 1);
  void *args[] = {x, weights}, *results[] = {y};
  EXPECT_EQ(take(heddleSessionRun(session, args, 2, results, 1)), "");
  EXPECT_EQ(y.values(), layersResult(x.values(), weights.values()));
  heddleSessionFree(session);
  // The short form of the options is that of the CPU.
  HeddleSessionOptions brief = {};
  brief.structSize = offsetof(HeddleSessionOptions, devicePointers);
  brief.devicePointers = 77; // not read
  session = nullptr;
  EXPECT_EQ(take(heddleSessionCreate(program, 0, "cuda:0", &brief, &session)),
            "");
  heddleSessionFree(session);
  EXPECT_PART(take(heddleSessionCreate(program, 0, "cuda:2", &brief, &session)),
              "expected a CUDA device from 0 to 1, got 2");
  heddleProgramFree(program);
}

TEST_F(CudaInterfaces, CDescribesDevicesAndTheirAbsence) {
  fake::config().sm = {80, 90};
  EXPECT_STREQ(heddleDeviceDescription("cuda"),
               "Fake GPU 0 (sm_80), 108 multiprocessors, 1.0 GiB; Fake GPU 1 "
               "(sm_90), 108 multiprocessors, 1.0 GiB");
  EXPECT_STREQ(heddleDeviceDescription("cuda:1"),
               "Fake GPU 1 (sm_90), 108 multiprocessors, 1.0 GiB");
  EXPECT_STREQ(heddleDeviceDescription("cuda:7"),
               "unavailable: the driver lists 2 devices");
  setenv("HEDDLE_CUDA_DRIVER", "/no/libcuda", 1);
  EXPECT_PART(heddleDeviceDescription("cuda"),
              "unavailable: expected the NVIDIA driver library /no/libcuda");
  HeddleProgram *program = nullptr;
  ASSERT_EQ(take(heddleProgramLoadFile(bundle.c_str(), &program)), "");
  HeddleSession *session = nullptr;
  EXPECT_PART(take(heddleSessionCreate(program, 0, "cuda", nullptr, &session)),
              "expected the NVIDIA driver library /no/libcuda");
  EXPECT_EQ(session, nullptr);
  heddleProgramFree(program);
}

TEST_F(CudaInterfaces, HeddleRunRunsAndTimes) {
  int exit = -1;
  std::string text = heddleRun(bundle + " --device=cuda", &exit);
  EXPECT_EQ(exit, 0) << text;
  EXPECT_PART(text, "result 0 y: float32[40]");
  EXPECT_PART(text, "all finite");
  text =
      heddleRun(bundle + " --device=cuda:0 --repeats=3 --report=json", &exit);
  EXPECT_EQ(exit, 0) << text;
  // Eight commands of a fake millisecond each.
  EXPECT_PART(text, "\"median_ms\": 8.0");
  EXPECT_PART(text, "\"device\": \"cuda\"");
  EXPECT_PART(text, "\"device_name\": \"Fake GPU 0 (sm_80)");
  text = heddleRun(bundle + " --device=cuda --check-launches", &exit);
  EXPECT_EQ(exit, 0) << text;
}

TEST_F(CudaInterfaces, HeddleRunNamesWhatIsWrong) {
  int exit = -1;
  std::string text = heddleRun("--list-devices", &exit);
  EXPECT_EQ(exit, 0);
  EXPECT_PART(text, "cuda:0     Fake GPU 0 (sm_80), 108 multiprocessors");
  text = heddleRun(bundle + " --device=cuda:3", &exit);
  EXPECT_EQ(exit, 1);
  EXPECT_PART(text, "heddle-run: error: expected a CUDA device from 0 to 0, "
                    "got 3; heddle-run --list-devices lists them\n");
  for (const char *bad : {"cuda:", "cuda:x", "cuda:1x", "cuda:-1", "gpu"})
    EXPECT_PART(heddleRun(bundle + " --device=" + bad, &exit),
                "expected --device to be cpu, cuda, cuda:N, emulator or reference");
  EXPECT_PART(heddleRun(bundle + " --check-launches", &exit),
              "expected --device=cuda with --check-launches, got 'cpu'");
  EXPECT_PART(heddleRun(bundle, &exit),
              "the bundle is compiled for target 'cuda', this device is 'cpu'");
  setenv("HEDDLE_CUDA_DRIVER", "/no/libcuda", 1);
  text = heddleRun("--list-devices", &exit);
  EXPECT_EQ(exit, 0);
  EXPECT_PART(text,
              "cuda       unavailable: expected the NVIDIA driver library "
              "/no/libcuda");
  text = heddleRun(bundle + " --device=cuda", &exit);
  EXPECT_EQ(exit, 1);
  EXPECT_PART(text, "heddle-run: error: expected the NVIDIA driver library");
}
