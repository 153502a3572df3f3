//===- SelectionTest.cpp - --suite, --filter and --set --------------------===//

#include "Selection.h"

#include "gtest/gtest.h"

using namespace heddle;
using namespace heddle::bench;

namespace {

/// Rows of n (1, 2, 3) x flag, or of m (10, 20).
class FakeSuite : public Suite {
public:
  explicit FakeSuite(std::string suiteName) : suiteName(std::move(suiteName)) {}
  std::string name() const override { return suiteName; }
  std::string summary() const override { return "fake"; }
  std::vector<Row> rows() const override {
    std::vector<Row> rows;
    if (suiteName == "first")
      for (int n : {1, 2, 3})
        for (bool flag : {false, true})
          rows.push_back({{"suite", "first"}, {"seq", n}, {"causal", flag}});
    else
      for (int m : {10, 20})
        rows.push_back({{"suite", "second"}, {"tokens", m}, {"layers", 4}});
    return rows;
  }
  std::vector<std::string> settableKeys() const override {
    return suiteName == "first" ? std::vector<std::string>{"seq"}
                                : std::vector<std::string>{"layers", "tokens"};
  }
  Status measure(Row &, Session &) const override { return Status(); }

private:
  std::string suiteName;
};

class SelectionTest : public testing::Test {
protected:
  SelectionTest() {
    suites.push_back(std::make_unique<FakeSuite>("first"));
    suites.push_back(std::make_unique<FakeSuite>("second"));
  }
  /// Number of rows chosen; the error goes to `message`.
  size_t choose(std::vector<std::string> names,
                std::vector<std::string> filters,
                std::vector<std::string> sets = {}) {
    selected.clear();
    message = chooseRows(suites, {names, filters, sets}, selected).message;
    return selected.size();
  }

  std::vector<std::unique_ptr<Suite>> suites;
  std::vector<SelectedRow> selected;
  std::string message;
};

TEST_F(SelectionTest, no_suite_means_every_suite) {
  EXPECT_EQ(choose({}, {}), 8u);
  EXPECT_EQ(choose({"first"}, {}), 6u);
  EXPECT_EQ(choose({"first", "first"}, {}), 6u);
}

TEST_F(SelectionTest, values_of_a_filter_are_alternatives) {
  EXPECT_EQ(choose({"first"}, {"seq=1,3"}), 4u);
}

TEST_F(SelectionTest, several_filters_must_all_hold) {
  EXPECT_EQ(choose({"first"}, {"seq=1,3", "causal=true"}), 2u);
  EXPECT_EQ(choose({"first"}, {"seq=1,3", "seq=3"}), 2u);
}

TEST_F(SelectionTest, booleans_are_also_zero_and_one) {
  EXPECT_EQ(choose({"first"}, {"causal=1"}), 3u);
  EXPECT_EQ(choose({"first"}, {"causal=0,true"}), 6u);
}

TEST_F(SelectionTest, a_key_that_a_suite_lacks_does_not_restrict_it) {
  EXPECT_EQ(choose({}, {"seq=1"}), 2u + 2u);
}

TEST_F(SelectionTest, a_key_that_no_chosen_suite_has_is_an_error) {
  EXPECT_EQ(choose({"first"}, {"tokens=10"}), 0u);
  EXPECT_EQ(message, "expected a filter key of the chosen suites (suite, seq, "
                     "causal), got 'tokens'");
}

TEST_F(SelectionTest, a_value_that_no_row_has_is_an_error) {
  EXPECT_EQ(choose({"first"}, {"seq=1,5"}), 0u);
  EXPECT_EQ(message, "expected seq to be one of 1, 2, 3, got '5'; other values "
                     "go through --set");
}

TEST_F(SelectionTest, filters_that_leave_nothing_are_an_error) {
  EXPECT_EQ(choose({"first"}, {"seq=1", "seq=2"}), 0u);
  EXPECT_EQ(message, "expected at least one row, the filters leave none; see "
                     "--list");
}

TEST_F(SelectionTest, overrides_follow_filters_and_equal_rows_merge) {
  EXPECT_EQ(choose({"first"}, {"causal=0"}, {"seq=7"}), 1u);
  EXPECT_EQ(selected[0].row["seq"], 7);
  EXPECT_EQ(choose({}, {"tokens=10"}, {"layers=24"}), 7u);
  EXPECT_EQ(selected.back().row["layers"], 24);
}

TEST_F(SelectionTest, malformed_options_are_errors) {
  choose({"third"}, {});
  EXPECT_EQ(message, "expected a suite (first, second), got 'third'");
  for (const char *filter : {"seq", "=1", "seq="}) {
    choose({"first"}, {filter});
    EXPECT_EQ(message,
              std::string("expected --filter=KEY=VALUE, got '") + filter + "'");
  }
  for (const char *value :
       {"0", "-1", "x", "1,2", "1.5", "99999999999999999999"}) {
    choose({"first"}, {}, {std::string("seq=") + value});
    EXPECT_EQ(message,
              std::string("expected a positive integer for --set=seq, got '") +
                  value + "'");
  }
  choose({"first"}, {}, {"causal=1"});
  EXPECT_EQ(message,
            "expected a key that --set can override (seq), got 'causal'");
}

} // namespace
