//===- PeerCompareTest.cpp - which rows did the same work -----------------===//

#include "PeerCompare.h"
#include "ResultFile.h"
#include "Table.h"

#include "gtest/gtest.h"

#include <sstream>

using namespace heddle;
using namespace heddle::bench;

namespace {

std::vector<Row> readRows(const char *path) {
  Row document;
  EXPECT_TRUE(readResultFile(path, document).ok());
  return document["results"].get<std::vector<Row>>();
}

/// The implementations among `rows` that did the work of `row`.
std::set<std::string> matches(const Row &row, const std::vector<Row> &rows) {
  std::set<std::string> impls;
  for (const Row &other : rows)
    if (workKey(other) == workKey(row))
      impls.insert(implName(other));
  return impls;
}

Row transformerRow(const char *attention) {
  return {
      {"suite", "transformer"}, {"impl", "heddle"}, {"attention", attention},
      {"dtype", "float32"},     {"tokens", 1024},   {"batch", 8},
      {"model_dim", 256},       {"layers", 4},      {"heads", 8},
      {"op", "forward"}};
}

TEST(WorkKey, published_rows_without_layers_and_heads_mean_the_defaults) {
  std::vector<Row> rows = readRows(HEDDLE_REFERENCE_DIR "/nn_rtx3090.json");
  EXPECT_EQ(
      matches(transformerRow("heddle"), rows),
      (std::set<std::string>{"probjax_default", "probjax_flex", "jax_xla"}));
  Row deeper = transformerRow("heddle");
  deeper["layers"] = 24;
  EXPECT_TRUE(matches(deeper, rows).empty());
}

TEST(WorkKey, no_attention_is_work_of_its_own) {
  std::vector<Row> rows = readRows(HEDDLE_REFERENCE_DIR "/nn_rtx3090.json");
  EXPECT_EQ(matches(transformerRow("no_attention"), rows),
            std::set<std::string>{"no_attention"});
  Row peer = transformerRow("no_attention");
  peer["impl"] = "jax_xla_cpu";
  EXPECT_EQ(workKey(peer), workKey(transformerRow("no_attention")));
  EXPECT_NE(workKey(peer), workKey(transformerRow("heddle")));
}

TEST(WorkKey, attention_rows_without_a_suite_are_attention) {
  std::vector<Row> rows = readRows(HEDDLE_REFERENCE_DIR "/attention_h100.json");
  Row row = {{"suite", "attention"}, {"impl", "heddle"}, {"dtype", "bfloat16"},
             {"head_dim", 64},       {"seq", 600},       {"causal", true},
             {"mode", "fwd"},        {"batch", 4},       {"heads", 8}};
  EXPECT_EQ(matches(row, rows).count("torch_flash"), 1u);
  row["batch"] = 1;
  EXPECT_TRUE(matches(row, rows).empty());
}

TEST(WorkKey, allocator_peaks_match_nothing) {
  EXPECT_EQ(workKey({{"suite", "transformer"}, {"measure", "device_peak"}}),
            "");
}

TEST(Comparison, prints_ratios_and_geometric_means) {
  Row ours = {{"suite", "attention"}, {"impl", "heddle"}, {"head_dim", 64},
              {"seq", 128},           {"median_ms", 2.0}, {"temp_mb", 1.0},
              {"arg_mb", 3.0},        {"out_mb", 1.0}};
  Row theirs = {{"impl", "peer"},   {"head_dim", 64},     {"seq", 128},
                {"median_ms", 8.0}, {"xla_temp_mb", 4.0}, {"xla_arg_mb", 3.0},
                {"xla_out_mb", 1.0}};
  Row oursLonger = ours, theirsLonger = theirs;
  oursLonger["seq"] = theirsLonger["seq"] = 256;
  theirsLonger["median_ms"] = 2.0;
  std::ostringstream out;
  EXPECT_EQ(
      printComparison(out, "title", {ours, oursLonger}, {theirs, theirsLonger}),
      2);
  EXPECT_NE(out.str().find("attention beside peer: time 2x (1 to 4, 2 rows), "
                           "temp 0.25x (0.25 to 0.25, 2 rows), arg and out "
                           "equal in 4 of 4"),
            std::string::npos)
      << out.str();
}

TEST(Comparison, a_failed_peer_is_named_and_not_averaged) {
  Row ours = {{"suite", "attention"},
              {"head_dim", 64},
              {"seq", 128},
              {"median_ms", 2.0}};
  Row failed = {{"impl", "peer"},
                {"head_dim", 64},
                {"seq", 128},
                {"error", "out of memory"}};
  std::ostringstream out;
  EXPECT_EQ(printComparison(out, "title", {ours}, {failed}), 1);
  EXPECT_NE(out.str().find("failed"), std::string::npos);
  EXPECT_NE(out.str().find("time -, temp -"), std::string::npos) << out.str();
}

TEST(Comparison, says_so_when_nothing_matches) {
  std::ostringstream out;
  EXPECT_EQ(printComparison(out, "title", {}, {}), 0);
  EXPECT_NE(out.str().find("no row of the same work"), std::string::npos);
}

TEST(Numbers, have_three_digits) {
  EXPECT_EQ(formatNumber(0), "0");
  EXPECT_EQ(formatNumber(0.12345), "0.123");
  EXPECT_EQ(formatNumber(1234.5), "1234");
  EXPECT_EQ(formatNumber(1.5e-6), "1.50e-06");
}

} // namespace
