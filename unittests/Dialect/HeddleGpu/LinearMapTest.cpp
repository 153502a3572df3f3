//===- LinearMapTest.cpp - linear maps over GF(2) against enumeration -----===//

#include "heddle/Dialect/HeddleGpu/IR/LinearMap.h"

#include "gtest/gtest.h"

#include <random>
#include <set>

using namespace heddle_gpu;

static LinearMap randomMap(std::mt19937 &rng, unsigned inputs,
                           unsigned outputs) {
  llvm::SmallVector<uint64_t> columns;
  for (unsigned i = 0; i < inputs; ++i)
    columns.push_back(rng() & ((1u << outputs) - 1));
  return LinearMap(outputs, columns);
}

static std::set<uint64_t> image(const LinearMap &map) {
  std::set<uint64_t> result;
  for (uint64_t x = 0; x < uint64_t(1) << map.numInputs(); ++x)
    result.insert(map.apply(x));
  return result;
}

TEST(LinearMap, RankIsTheLogarithmOfTheImage) {
  std::mt19937 rng(1);
  for (int i = 0; i < 500; ++i) {
    LinearMap map = randomMap(rng, rng() % 7, rng() % 7);
    EXPECT_EQ(image(map).size(), size_t(1) << map.rank());
    EXPECT_EQ(map.kernel().size(), map.numInputs() - map.rank());
    for (uint64_t x : map.kernel()) {
      EXPECT_NE(x, 0u);
      EXPECT_EQ(map.apply(x), 0u);
    }
  }
}

TEST(LinearMap, SolveFindsTheInputWithoutRedundantBitsOrNone) {
  std::mt19937 rng(2);
  for (int i = 0; i < 300; ++i) {
    LinearMap map = randomMap(rng, rng() % 7, 1 + rng() % 5);
    std::set<uint64_t> reached = image(map);
    for (uint64_t y = 0; y < uint64_t(1) << map.numOutputs(); ++y) {
      std::optional<uint64_t> x = map.solve(y);
      ASSERT_EQ(x.has_value(), reached.count(y) == 1);
      if (!x)
        continue;
      EXPECT_EQ(map.apply(*x), y);
      EXPECT_EQ(*x & map.redundantInputs(), 0u);
    }
  }
}

TEST(LinearMap, OneInputWithoutRedundantBitsPerOutput) {
  std::mt19937 rng(3);
  for (int i = 0; i < 200; ++i) {
    LinearMap map = randomMap(rng, rng() % 8, rng() % 6);
    std::set<uint64_t> seen;
    for (uint64_t x = 0; x < uint64_t(1) << map.numInputs(); ++x)
      if ((x & map.redundantInputs()) == 0)
        EXPECT_TRUE(seen.insert(map.apply(x)).second);
    EXPECT_EQ(seen, image(map));
  }
}

TEST(LinearMap, RightInverseUndoesSurjectiveMaps) {
  std::mt19937 rng(4);
  int surjective = 0;
  for (int i = 0; i < 300; ++i) {
    LinearMap map = randomMap(rng, 3 + rng() % 5, rng() % 5);
    std::optional<LinearMap> inverse = map.rightInverse();
    ASSERT_EQ(inverse.has_value(), map.isSurjective());
    if (!inverse)
      continue;
    ++surjective;
    EXPECT_EQ(map.compose(*inverse), LinearMap::identity(map.numOutputs()));
  }
  EXPECT_GT(surjective, 50);
}

TEST(LinearMap, ComposeAppliesInnerFirst) {
  std::mt19937 rng(5);
  for (int i = 0; i < 100; ++i) {
    unsigned middle = 1 + rng() % 6;
    LinearMap inner = randomMap(rng, rng() % 6, middle);
    LinearMap outer = randomMap(rng, middle, 1 + rng() % 6);
    LinearMap both = outer.compose(inner);
    for (uint64_t x = 0; x < uint64_t(1) << inner.numInputs(); ++x)
      EXPECT_EQ(both.apply(x), outer.apply(inner.apply(x)));
  }
}

TEST(LinearMap, DivideUndoesDirectSum) {
  std::mt19937 rng(6);
  for (int i = 0; i < 100; ++i) {
    LinearMap low = randomMap(rng, rng() % 5, rng() % 5);
    LinearMap high = randomMap(rng, rng() % 5, rng() % 5);
    LinearMap sum = LinearMap::directSum(low, high);
    std::optional<LinearMap> rest = sum.divide(low);
    ASSERT_TRUE(rest);
    EXPECT_EQ(*rest, high);
  }
}

TEST(LinearMap, DivideRefusesWhatIsNoFactor) {
  LinearMap map(2, {1, 3});
  EXPECT_FALSE(map.divide(LinearMap(1, {1}))); // the rest touches low outputs
  EXPECT_FALSE(map.divide(LinearMap(1, {0})));
  EXPECT_FALSE(map.divide(LinearMap(2, {1, 3, 2})));
}
