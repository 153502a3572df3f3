//===- CApiTest.cpp - the C interface -------------------------------------===//

#include "TestPrograms.h"
#include "heddle-c/heddle.h"

#include "gtest/gtest.h"

#include <cstdio>
#include <thread>
#include <unistd.h>

using namespace heddle;
using namespace heddle::test;

extern "C" int use_c_api(const char *path);

namespace {

/// Takes the message of a status and frees it.
std::string take(HeddleStatus status) {
  std::string message = heddleStatusMessage(status);
  heddleStatusFree(status);
  return message;
}

bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

HeddleProgram *loadLayers() {
  std::vector<uint8_t> bytes = serializeProgram(programOf({layersFunction()}));
  HeddleProgram *program = nullptr;
  EXPECT_EQ(take(heddleProgramLoadMemory(bytes.data(), bytes.size(), &program)),
            "");
  return program;
}

} // namespace

TEST(CApi, WorksFromC) {
  Function wide = layersFunction();
  wide.arguments[0].type.shape = {2, 20};
  char path[] = "/tmp/heddle-c-test-XXXXXX";
  int fd = mkstemp(path);
  ASSERT_GE(fd, 0);
  close(fd);
  ASSERT_TRUE(writeProgramFile(path, programOf({layersFunction(), wide})).ok());
  EXPECT_EQ(use_c_api(path), 0) << "line of Inputs/use-c-api.c";
  std::remove(path);
}

TEST(CApi, ElementTypesHaveTheRuntimesNumbers) {
  EXPECT_EQ(static_cast<int>(HEDDLE_F32), static_cast<int>(DType::F32));
  EXPECT_EQ(static_cast<int>(HEDDLE_BF16), static_cast<int>(DType::BF16));
  EXPECT_EQ(static_cast<int>(HEDDLE_I1), static_cast<int>(DType::I1));
  EXPECT_EQ(static_cast<int>(HEDDLE_I64), static_cast<int>(DType::I64));
}

TEST(CApi, RefusesOtherDevices) {
  HeddleProgram *program = loadLayers();
  HeddleSession *session = nullptr;
  EXPECT_EQ(take(heddleSessionCreate(program, 0, "tpu", nullptr, &session)),
            "expected one of the devices of this build (cpu, cuda, cuda:N, "
            "emulator), got 'tpu'");
  for (const char *device : {"cuda:", "cuda:x", "cuda:1x", "cuda:12345", "cud",
                             "cuda1", "cuda 1", ""})
    EXPECT_TRUE(contains(
        take(heddleSessionCreate(program, 0, device, nullptr, &session)),
        "expected one of the devices of this build"))
        << device;
  EXPECT_TRUE(contains(
      take(heddleSessionCreate(program, 0, "cuda", nullptr, &session)),
      "the bundle is compiled for target 'cpu', this device is 'cuda'"));
  EXPECT_TRUE(contains(
      take(heddleSessionCreate(program, 0, nullptr, nullptr, &session)),
      "got null"));
  EXPECT_TRUE(contains(
      take(heddleSessionCreate(program, 0, "emulator", nullptr, &session)),
      "the bundle is compiled for target 'cpu', this device is 'emulator'"));
  EXPECT_EQ(session, nullptr);
  EXPECT_TRUE(contains(heddleDeviceDescription("emulator"), "GPU kernels on "));
  EXPECT_STREQ(heddleDeviceNames()[0], "cpu");
  EXPECT_STREQ(heddleDeviceNames()[1], "cuda");
  EXPECT_STREQ(heddleDeviceNames()[2], "emulator");
  EXPECT_EQ(heddleDeviceNames()[3], nullptr);
  EXPECT_NE(heddleDeviceDescription("cpu"), nullptr);
  EXPECT_EQ(heddleDeviceDescription("tpu"), nullptr);
  heddleProgramFree(program);
}

TEST(CApi, ReportsMisuse) {
  HeddleProgram *program = nullptr;
  EXPECT_EQ(take(heddleProgramLoadMemory(nullptr, 0, &program)),
            "expected a heddle bundle, got an empty file; recompile with "
            "heddle-compile");
  EXPECT_TRUE(contains(take(heddleProgramLoadMemory(nullptr, 3, &program)),
                       "expected data, got null"));
  EXPECT_TRUE(contains(take(heddleProgramLoadFile(nullptr, &program)),
                       "expected a path, got null"));
  EXPECT_TRUE(contains(take(heddleProgramLoadFile("/no/such", &program)),
                       "cannot read '/no/such'"));
  EXPECT_EQ(program, nullptr);
  EXPECT_EQ(heddleProgramNumFunctions(nullptr), 0);

  program = loadLayers();
  HeddleValueInfo info;
  EXPECT_EQ(take(heddleFunctionArgument(program, 1, 0, &info)),
            "function 1 does not exist, the bundle has 1");
  EXPECT_EQ(take(heddleFunctionArgument(program, 0, 2, &info)),
            "argument 2 does not exist, the function has 2");
  EXPECT_EQ(take(heddleFunctionArgument(program, 0, -1, &info)),
            "argument -1 does not exist, the function has 2");
  HeddlePlan plan;
  EXPECT_TRUE(
      contains(take(heddleFunctionPlan(program, 0, -1, &plan)), "got -1"));
  int32_t function = 0;
  std::string error =
      take(heddleProgramFindFunction(program, "other", nullptr, 0, &function));
  EXPECT_EQ(error, "expected function 'other', the bundle has main(x: "
                   "float32[40], weights: float32[3,40]) -> (y: float32[40])");
  HeddleTensorType bad = {77, 0, nullptr};
  EXPECT_TRUE(contains(
      take(heddleProgramFindFunction(program, nullptr, &bad, 1, &function)),
      "unknown element type"));
  HeddleSession *session = nullptr;
  HeddleSessionOptions options = {};
  options.structSize = 3;
  EXPECT_TRUE(
      contains(take(heddleSessionCreate(program, 0, "cpu", &options, &session)),
               "set structSize"));
  EXPECT_TRUE(contains(take(heddleSessionRun(nullptr, nullptr, 0, nullptr, 0)),
                       "expected a session, got null"));
  heddleProgramFree(program);
  heddleSessionFree(nullptr);
  heddleStatusFree(nullptr);
  EXPECT_STREQ(heddleVersion(), "0.1.0");
}

TEST(CApi, SessionsRunAtTheSameTimeAndOneWaits) {
  HeddleProgram *program = loadLayers();
  HeddleSession *sessions[2] = {};
  HeddleSessionOptions options = {};
  options.structSize = sizeof(options);
  options.threads = 2;
  for (HeddleSession *&s : sessions)
    ASSERT_EQ(take(heddleSessionCreate(program, 0, "cpu", &options, &s)), "");
  std::vector<std::thread> callers;
  std::atomic<int> wrong{0};
  for (int caller = 0; caller < 4; ++caller)
    callers.emplace_back([&, caller] {
      std::vector<float> x(40, static_cast<float>(caller)), w(120, 1.0f), y(40);
      void *args[] = {x.data(), w.data()}, *results[] = {y.data()};
      for (int i = 0; i < 200; ++i) {
        HeddleStatus s =
            heddleSessionRun(sessions[caller % 2], args, 2, results, 1);
        wrong += s != nullptr || y[39] != static_cast<float>(caller) + 6.0f;
        heddleStatusFree(s);
      }
    });
  for (std::thread &t : callers)
    t.join();
  EXPECT_EQ(wrong.load(), 0);
  for (HeddleSession *s : sessions)
    heddleSessionFree(s);
  heddleProgramFree(program);
}

TEST(CApi, StreamsRunStepsOnBatchesFromTheHost) {
  HeddleProgram *program = loadLayers();
  HeddleSession *session = nullptr;
  ASSERT_EQ(take(heddleSessionCreate(program, 0, "cpu", nullptr, &session)),
            "");
  std::vector<float> w(120, 1.0f), y(40);
  void *args[] = {nullptr, w.data()}, *results[] = {y.data()};
  int32_t streamed[] = {0, 5};
  HeddleStream *stream = nullptr;
  EXPECT_EQ(take(heddleStreamCreate(nullptr, args, 2, results, 1, streamed, 1,
                                    &stream)),
            "expected a session, got null");
  EXPECT_NE(take(heddleStreamCreate(session, args, 1, results, 1, streamed, 1,
                                    &stream)),
            "");
  EXPECT_EQ(take(heddleStreamCreate(session, args, 2, results, 1, streamed, 2,
                                    &stream)),
            "expected streamed arguments below 2, got argument 5");
  ASSERT_EQ(take(heddleStreamCreate(session, args, 2, results, 1, streamed, 1,
                                    &stream)),
            "");
  std::vector<std::vector<float>> outputs(10, std::vector<float>(40));
  for (int n = 0; n < 10; ++n) {
    std::vector<float> x(40, static_cast<float>(n));
    const void *batch[] = {x.data()};
    void *output[] = {outputs[n].data()};
    ASSERT_EQ(take(heddleStreamPush(stream, batch, output)), "");
  }
  EXPECT_EQ(take(heddleStreamPush(stream, nullptr, nullptr)),
            "expected a batch, got null");
  ASSERT_EQ(take(heddleStreamWait(stream)), "");
  for (int n = 0; n < 10; ++n)
    EXPECT_EQ(outputs[n][39], static_cast<float>(n) + 6.0f);
  EXPECT_EQ(y, outputs.back());
  heddleStreamFree(stream);
  heddleStreamFree(nullptr);
  heddleSessionFree(session);
  heddleProgramFree(program);
}
