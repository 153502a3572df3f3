//===- LayoutTest.cpp - distributed layouts against enumeration -----------===//

#include "heddle/Dialect/HeddleGpu/IR/Layout.h"

#include "RandomLayout.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <map>

using namespace heddle_gpu;
using llvm::ArrayRef;
using Held = std::map<Coordinates, std::vector<Position>>;

static Held holders(const Layout &layout) {
  Held result;
  layout.enumerate([&](Position p, ArrayRef<int64_t> c) {
    result[Coordinates(c.begin(), c.end())].push_back(p);
  });
  return result;
}

static int64_t numElements(const Layout &layout) {
  int64_t n = 1;
  for (int64_t side : layout.shape())
    n *= side;
  return n;
}

/// Calls fn with random layouts of rank 0 to 3.
static void forRandomLayouts(unsigned seed, int count,
                             llvm::function_ref<void(const Layout &)> fn) {
  std::mt19937 rng(seed);
  for (int i = 0; i < count; ++i)
    fn(randomLayout(rng, randomSizes(rng, rng() % 4), rng() % 2));
}

TEST(Layout, EveryElementIsHeldInsideTheShape) {
  forRandomLayouts(11, 300, [](const Layout &layout) {
    Held held = holders(layout);
    EXPECT_EQ(static_cast<int64_t>(held.size()), numElements(layout));
    for (auto &[c, positions] : held)
      for (unsigned d = 0; d < layout.rank(); ++d)
        EXPECT_LT(c[d], layout.shape()[d]);
    bool once =
        llvm::all_of(held, [](auto &h) { return h.second.size() == 1; });
    EXPECT_EQ(layout.isInjective(), once);
  });
}

TEST(Layout, OwnerIsTheOneHolderWithoutRedundantBits) {
  forRandomLayouts(12, 200, [](const Layout &layout) {
    Position redundant = layout.redundantBits();
    for (auto &[c, positions] : holders(layout)) {
      std::vector<Position> owners;
      for (Position p : positions)
        if (!(p.reg & redundant.reg) && !(p.lane & redundant.lane) &&
            !(p.warp & redundant.warp))
          owners.push_back(p);
      ASSERT_EQ(owners.size(), 1u);
      EXPECT_TRUE(*layout.ownerOf(c) == owners.front());
    }
  });
}

TEST(Layout, NobodyOwnsWhatLiesOutside) {
  Layout layout = *Layout::get({{1}}, {}, {}, {3});
  EXPECT_EQ(layout.shape(), Coordinates({6}));
  EXPECT_FALSE(layout.ownerOf({6}));
  EXPECT_FALSE(layout.ownerOf({-1}));
  EXPECT_FALSE(layout.ownerOf({0, 0}));
}

TEST(Layout, RegisterOfFindsWhatAThreadHoldsAndNothingElse) {
  forRandomLayouts(13, 100, [](const Layout &layout) {
    for (auto &[c, positions] : holders(layout))
      for (int64_t w = 0; w < layout.numWarps(); ++w)
        for (int64_t l = 0; l < layout.numLanes(); ++l) {
          bool holds = llvm::any_of(positions, [&](const Position &p) {
            return p.lane == l && p.warp == w;
          });
          std::optional<int64_t> reg = layout.registerOf(c, l, w);
          ASSERT_EQ(reg.has_value(), holds);
          if (reg)
            EXPECT_EQ(layout.apply(*reg, l, w), c);
        }
  });
}

TEST(Layout, ThreadsDifferByAnXorOfTheirFirstRegister) {
  forRandomLayouts(14, 100, [](const Layout &layout) {
    auto registers = layout.registerCoordinates();
    layout.enumerate([&](Position p, ArrayRef<int64_t> c) {
      Coordinates thread = layout.apply(0, p.lane, p.warp);
      for (unsigned d = 0; d < layout.rank(); ++d)
        EXPECT_EQ(registers[p.reg][d] ^ thread[d], c[d]);
    });
  });
}

TEST(Layout, RegistersOfTheLinearPartVaryFastestThenTheLastRepeat) {
  Layout layout = *Layout::get({{0, 1}}, {}, {}, {3, 5});
  EXPECT_EQ(layout.numRegisters(), 30);
  EXPECT_EQ(layout.apply(1, 0, 0), Coordinates({0, 1}));
  EXPECT_EQ(layout.apply(2, 0, 0), Coordinates({0, 2}));
  EXPECT_EQ(layout.apply(10, 0, 0), Coordinates({1, 0}));
}

TEST(Layout, FactorsOfTwoOfTheFastestRepeatAreRegisterBits) {
  Layout repeated = *Layout::get({{0, 1}}, {}, {}, {1, 12});
  Layout bits = *Layout::get({{0, 1}, {0, 2}, {0, 4}}, {}, {}, {1, 3});
  EXPECT_EQ(repeated, bits);
  EXPECT_EQ(hash_value(repeated), hash_value(bits));
  // The slower repeat follows only after an odd faster one is gone.
  EXPECT_EQ(Layout::get({}, {}, {}, {2, 3})->getRepeat()[0], 2);
  EXPECT_EQ(Layout::get({}, {}, {}, {2, 4})->getRepeat()[0], 1);
}

TEST(Layout, EqualExactlyIfEqualAsFunctions) {
  std::mt19937 rng(15);
  int equal = 0;
  for (int i = 0; i < 4000; ++i) {
    LayoutSizes sizes;
    sizes.sideBits = {static_cast<int64_t>(rng() % 2),
                      static_cast<int64_t>(rng() % 2)};
    sizes.repeat = {static_cast<int64_t>(1 + rng() % 3),
                    static_cast<int64_t>(1 + rng() % 4)};
    sizes.laneBits = 0, sizes.warpBits = 0;
    LayoutSizes other = sizes;
    if (other.sideBits[1] == 1 && rng() % 2)
      other.sideBits[1] = 0, other.repeat[1] *= 2;
    Layout a = randomLayout(rng, sizes, true),
           b = randomLayout(rng, other, true);
    bool same = a.numRegisters() == b.numRegisters() &&
                a.registerCoordinates() == b.registerCoordinates();
    EXPECT_EQ(a == b, same);
    equal += same;
  }
  EXPECT_GT(equal, 500);
}

TEST(Layout, TransposeMovesEveryCoordinate) {
  std::mt19937 rng(16);
  for (int i = 0; i < 100; ++i) {
    Layout layout = randomLayout(rng, randomSizes(rng, 3));
    llvm::SmallVector<int64_t> permutation = {0, 1, 2};
    std::shuffle(permutation.begin(), permutation.end(), rng);
    Layout moved = layout.transpose(permutation);
    for (auto &[c, positions] : holders(layout)) {
      Coordinates target;
      for (int64_t d : permutation)
        target.push_back(c[d]);
      for (Position p : positions)
        EXPECT_TRUE(moved.registerOf(target, p.lane, p.warp));
    }
    EXPECT_EQ(moved.numRegisters(), layout.numRegisters());
  }
}

TEST(Layout, SliceLeavesThreadsWhatTheyHeldAndDropsCopies) {
  std::mt19937 rng(17);
  for (int i = 0; i < 200; ++i) {
    unsigned rank = 1 + rng() % 3, dim = rng() % rank;
    Layout layout = randomLayout(rng, randomSizes(rng, rank));
    Layout sliced = layout.slice(dim);
    using Thread = std::pair<int64_t, int64_t>;
    std::map<Thread, std::set<Coordinates>> wanted, got;
    layout.enumerate([&](Position p, ArrayRef<int64_t> c) {
      Coordinates rest(c.begin(), c.end());
      rest.erase(rest.begin() + dim);
      wanted[{p.lane, p.warp}].insert(rest);
    });
    sliced.enumerate([&](Position p, ArrayRef<int64_t> c) {
      EXPECT_TRUE((got[{p.lane, p.warp}]
                       .insert(Coordinates(c.begin(), c.end()))
                       .second));
    });
    EXPECT_EQ(wanted, got);
    EXPECT_EQ(sliced.expandDims(dim).slice(dim), sliced);
  }
}

TEST(Layout, DivideUndoesProduct) {
  std::mt19937 rng(18);
  for (int i = 0; i < 200; ++i) {
    LayoutSizes sizes = randomSizes(rng, 2), outerSizes = randomSizes(rng, 2);
    sizes.repeat = {1, 1};
    Layout inner = randomLayout(rng, sizes),
           outer = randomLayout(rng, outerSizes);
    std::optional<Layout> product = Layout::product(inner, outer);
    ASSERT_TRUE(product);
    Coordinates in = inner.shape(), out = outer.shape();
    EXPECT_EQ(product->shape(), Coordinates({in[0] * out[0], in[1] * out[1]}));
    std::optional<Layout> rest = product->divide(inner);
    ASSERT_TRUE(rest);
    EXPECT_EQ(*rest, outer);
  }
  EXPECT_FALSE(Layout::product(*Layout::get({}, {}, {}, {3}),
                               *Layout::get({{1}}, {}, {}, {1})));
  EXPECT_FALSE(Layout::get({{2}, {1}}, {}, {}, {1})
                   ->divide(*Layout::get({{1}}, {}, {}, {1})));
}

TEST(Layout, LinearMapRoundTrip) {
  forRandomLayouts(19, 100, [](const Layout &layout) {
    std::optional<Layout> again = Layout::fromLinearMap(
        layout.toLinearMap(), layout.getRegister().size(),
        layout.getLane().size(), layout.linearShape(), layout.getRepeat());
    ASSERT_TRUE(again);
    EXPECT_EQ(*again, layout);
  });
}

TEST(Layout, ContiguityIsTheRunThatVectorsCanUse) {
  forRandomLayouts(20, 400, [](const Layout &layout) {
    for (unsigned dim = 0; dim < layout.rank(); ++dim) {
      int64_t run = layout.contiguity(dim);
      ASSERT_EQ(layout.numRegisters() % run, 0);
      layout.enumerate([&](Position p, ArrayRef<int64_t> c) {
        Coordinates first = layout.apply(p.reg - p.reg % run, p.lane, p.warp);
        EXPECT_EQ(first[dim] % (run & -run), 0);
        first[dim] += p.reg % run;
        EXPECT_EQ(first, Coordinates(c.begin(), c.end()));
      });
    }
  });
  EXPECT_EQ(Layout::get({{1}, {2}}, {{4}}, {}, {3})->contiguity(0), 4);
  EXPECT_EQ(Layout::get({{1}, {2}}, {}, {}, {3})->contiguity(0), 12);
  EXPECT_EQ(Layout::get({{0, 1}}, {}, {}, {3, 5})->contiguity(1), 10);
  EXPECT_EQ(Layout::get({{1, 0}}, {}, {}, {3, 5})->contiguity(0), 2);
}

TEST(Layout, EqualUpToRegistersComparesWhatThreadsHold) {
  Layout a = *Layout::get({{1}, {2}}, {{4}}, {}, {1});
  Layout b = *Layout::get({{2}, {1}}, {{4}}, {}, {1});
  Layout c = *Layout::get({{4}, {1}}, {{2}}, {}, {1});
  EXPECT_NE(a, b);
  EXPECT_TRUE(a.equalUpToRegisters(b));
  EXPECT_FALSE(a.equalUpToRegisters(c));
}

TEST(Layout, RefusesWhatBreaksItsRules) {
  auto problem = [](Layout::Bases reg, ArrayRef<int64_t> repeat) {
    std::string text;
    EXPECT_FALSE(Layout::get(reg, {}, {}, repeat, &text));
    return text;
  };
  EXPECT_EQ(problem({{2}}, {1}),
            "expected the bases to reach every element of the 4 tile that they "
            "span, but some are held by no thread");
  EXPECT_EQ(problem({{1}}, {0}), "expected repeats from 1 to 1048576, got 0");
  EXPECT_EQ(problem({{1, 2}}, {1}),
            "expected 1 coordinates per basis, one for each repeat, got 2 in a "
            "register basis");
  EXPECT_EQ(problem({{-1}}, {1}),
            "expected coordinates from 0 to 1048576 in a register basis");
  EXPECT_EQ(problem({}, {1 << 20}),
            "expected at most 65536 registers per lane");
  EXPECT_EQ(problem(Layout::Bases(17, {1}), {1}),
            "expected at most 16 register bases, got 17");
}
