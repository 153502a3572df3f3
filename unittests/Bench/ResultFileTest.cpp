//===- ResultFileTest.cpp - writing, appending, refusing ------------------===//

#include "ResultFile.h"

#include "gtest/gtest.h"

#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace heddle;
using namespace heddle::bench;

namespace {

class ResultFileTest : public testing::Test {
protected:
  void SetUp() override {
    folder = std::filesystem::temp_directory_path() /
             ("heddle-bench-test-" + std::to_string(getpid()));
    std::filesystem::create_directories(folder);
    path = (folder / "r.json").string();
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  std::filesystem::path folder;
  std::string path;
  Row device = {{"device_kind", "some cpu"}, {"threads", 2}};
  Row run = {{"suites", {"peak"}}};
};

TEST_F(ResultFileTest, every_row_is_on_disk_at_once) {
  ResultFile file;
  ASSERT_TRUE(file.open(path, false, device, run).ok());
  EXPECT_FALSE(std::filesystem::exists(path));
  for (int n = 1; n <= 2; ++n) {
    ASSERT_TRUE(file.add({{"suite", "peak"}, {"n", n}}).ok());
    Row document;
    ASSERT_TRUE(readResultFile(path, document).ok());
    EXPECT_EQ(document["results"].size(), size_t(n));
    EXPECT_EQ(document["device"], device);
    EXPECT_EQ(document["config"]["runs"].size(), 1u);
  }
}

TEST_F(ResultFileTest, append_keeps_rows_and_runs) {
  for (int n = 1; n <= 2; ++n) {
    ResultFile file;
    ASSERT_TRUE(file.open(path, true, device, run).ok());
    ASSERT_TRUE(file.add({{"n", n}}).ok());
  }
  Row document;
  ASSERT_TRUE(readResultFile(path, document).ok());
  EXPECT_EQ(document["results"].size(), 2u);
  EXPECT_EQ(document["config"]["runs"].size(), 2u);
}

TEST_F(ResultFileTest, without_append_the_old_rows_stay_until_the_first_new) {
  std::ofstream(path) << R"({"device": {}, "results": [{"n": 1}]})";
  ResultFile file;
  ASSERT_TRUE(file.open(path, false, device, run).ok());
  Row document;
  ASSERT_TRUE(readResultFile(path, document).ok());
  EXPECT_EQ(document["results"][0]["n"], 1);
}

TEST_F(ResultFileTest, append_refuses_another_device) {
  std::ofstream(path)
      << R"({"device": {"device_kind": "other"}, "results": []})";
  ResultFile file;
  Status status = file.open(path, true, device, run);
  EXPECT_NE(status.message.find("device_kind \"some cpu\"), found \"other\""),
            std::string::npos)
      << status.message;
}

TEST_F(ResultFileTest, foreign_files_are_refused) {
  Row document;
  for (const char *text : {"", "{", "[]", "{}", R"({"results": {}})",
                           R"({"results": [1]})", "\xff\xfe"}) {
    std::ofstream(path) << text;
    Status status = readResultFile(path, document);
    EXPECT_NE(status.message.find("expected a result file"), std::string::npos)
        << text;
  }
  EXPECT_NE(readResultFile(path + ".none", document)
                .message.find("No such file or directory"),
            std::string::npos);
}

TEST_F(ResultFileTest, unwritable_places_are_refused_before_the_run) {
  ResultFile file;
  EXPECT_FALSE(
      file.open(folder.string() + "/no/such/r.json", false, device, run).ok());
  EXPECT_FALSE(file.open(folder.string(), false, device, run).ok());
}

TEST_F(ResultFileTest, devices_are_written_to_and_not_replaced) {
  ResultFile file;
  ASSERT_TRUE(file.open("/dev/null", false, device, run).ok());
  ASSERT_TRUE(file.add({{"n", 1}}).ok());
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

TEST_F(ResultFileTest, text_that_is_no_utf8_does_not_stop_the_run) {
  ResultFile file;
  ASSERT_TRUE(file.open(path, false, device, run).ok());
  EXPECT_TRUE(file.add({{"error", "compile: \xff"}}).ok());
  Row document;
  EXPECT_TRUE(readResultFile(path, document).ok());
}

} // namespace
