//===- ArenaPlanner.cpp - offsets for buffers with lifetimes --------------===//

#include "heddle/Analysis/ArenaPlanner.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <tuple>

using namespace heddle;

namespace {
/// Up to so many items a search takes all the steps that it may.
constexpr int64_t kFewItems = 128;
/// With more, a bound that is missed by less than this part of it is as good as
/// met.
constexpr int64_t kSlack = 256;

int64_t alignUp(int64_t n, int64_t a) { return (n + a - 1) / a * a; }

/// A placement under construction; items are placed and taken back in stack
/// order.
class Placement {
public:
  Placement(const std::vector<ArenaItem> &items,
            const std::vector<BorrowedRegion> &regions,
            const std::vector<std::vector<uint32_t>> &candidates,
            int64_t alignment)
      : items(items), regions(regions), alignment(alignment),
        candidates(candidates), placed(regions.size() + 1),
        offsets(items.size(), -1), regionOf(items.size(), -1) {}

  /// Puts item i at the lowest gap of the first region that takes it, else of
  /// the arena.
  void push(size_t i, bool borrow) {
    int64_t size = alignUp(items[i].size, alignment);
    for (uint32_t r : candidates[borrow ? i : items.size()]) {
      int64_t at = lowestGap(placed[r], i, size);
      if (at + items[i].size > regions[r].size)
        continue;
      insert(placed[r], i, at, r);
      return;
    }
    std::vector<size_t> &arena = placed.back();
    int64_t at = lowestGap(arena, i, size);
    insert(arena, i, at, -1);
    bytes.push_back(std::max(bytes.back(), at + size));
  }

  void pop(size_t i) {
    std::vector<size_t> &list =
        regionOf[i] < 0 ? placed.back() : placed[regionOf[i]];
    list.erase(std::find(list.begin(), list.end(), i));
    if (regionOf[i] < 0)
      bytes.pop_back();
    offsets[i] = regionOf[i] = -1;
  }

  int64_t size() const { return bytes.back(); }
  int64_t offset(size_t i) const { return offsets[i]; }
  int64_t region(size_t i) const { return regionOf[i]; }

private:
  /// The lowest offset at which item i overlaps none of `list` that lives with
  /// it.
  int64_t lowestGap(const std::vector<size_t> &list, size_t i,
                    int64_t size) const {
    int64_t at = 0;
    for (size_t j : list) {
      if (items[j].end < items[i].begin || items[i].end < items[j].begin)
        continue;
      if (offsets[j] >= at + size)
        break; // the gap before j is wide enough
      at = std::max(at, offsets[j] + alignUp(items[j].size, alignment));
    }
    return at;
  }

  void insert(std::vector<size_t> &list, size_t i, int64_t at, int64_t region) {
    offsets[i] = at;
    regionOf[i] = region;
    list.insert(std::upper_bound(
                    list.begin(), list.end(), i,
                    [&](size_t x, size_t y) { return offsets[x] < offsets[y]; }),
                i);
  }

  const std::vector<ArenaItem> &items;
  const std::vector<BorrowedRegion> &regions;
  int64_t alignment;
  const std::vector<std::vector<uint32_t>> &candidates;
  std::vector<std::vector<size_t>> placed; // by offset; the last is the arena
  std::vector<int64_t> offsets, regionOf;
  std::vector<int64_t> bytes{0}; // of the arena, after each push into it
};

/// Looks for an order of placement whose arena is smaller. Each branch places
/// one more item at its lowest gap and is left where the arena is no better
/// than the best one. Some order gives the optimum: the one by offsets in it.
/// Narrow searches, which look at the next few items only, come before the full
/// one, since the order handed in is a good one.
class OrderSearch {
public:
  OrderSearch(Placement &placement, std::vector<size_t> &order, bool borrow,
              int64_t best, int64_t bound, int64_t steps)
      : placement(placement), order(order), borrow(borrow), best(best),
        bound(bound), budget(steps) {}

  /// Leaves the best order in `order`.
  void run() {
    for (size_t w : {size_t(2), size_t(4), order.size()}) {
      width = w;
      steps = budget;
      std::vector<size_t> bestOrder = order;
      descend(0, bestOrder);
      order = bestOrder;
    }
  }

private:
  void descend(size_t depth, std::vector<size_t> &bestOrder) {
    if (depth == order.size()) {
      best = placement.size();
      bestOrder = order;
      return;
    }
    size_t end = std::min(order.size() - depth, width);
    for (size_t k = 0; k < end; ++k) {
      if (steps-- <= 0 || best <= bound)
        return;
      std::rotate(order.begin() + depth, order.begin() + depth + k,
                  order.begin() + depth + k + 1);
      size_t item = order[depth];
      placement.push(item, borrow);
      if (placement.size() < best)
        descend(depth + 1, bestOrder);
      placement.pop(item);
      std::rotate(order.begin() + depth, order.begin() + depth + 1,
                  order.begin() + depth + k + 1);
    }
  }

  Placement &placement;
  std::vector<size_t> &order;
  bool borrow;
  int64_t best, bound, budget, steps = 0;
  size_t width = 0;
};

/// By item, the regions that are free while it lives and large enough; none for
/// one item more, which stands for all that may not borrow.
std::vector<std::vector<uint32_t>>
findCandidates(const std::vector<ArenaItem> &items,
               const std::vector<BorrowedRegion> &regions) {
  std::vector<std::vector<uint32_t>> candidates(items.size() + 1);
  for (size_t i = 0; i < items.size(); ++i)
    for (size_t r = 0; r < regions.size(); ++r) {
      const ArenaItem &item = items[i];
      bool fits = item.size <= regions[r].size &&
                  std::none_of(regions[r].busy.begin(), regions[r].busy.end(),
                               [&](const auto &interval) {
                                 return interval.first <= item.end &&
                                        item.begin <= interval.second;
                               });
      if (fits)
        candidates[i].push_back(r);
    }
  return candidates;
}

/// The largest sum of aligned sizes alive at one step, of the items that `counts`.
template <typename Predicate>
int64_t largestLiveSum(const std::vector<ArenaItem> &items, int64_t alignment,
                       Predicate counts) {
  int64_t last = 0;
  for (const ArenaItem &item : items)
    last = std::max(last, item.end);
  std::vector<int64_t> change(last + 2, 0);
  for (size_t i = 0; i < items.size(); ++i) {
    if (!counts(i))
      continue;
    int64_t size = alignUp(items[i].size, alignment);
    change[items[i].begin] += size;
    change[items[i].end + 1] -= size;
  }
  int64_t live = 0, most = 0;
  for (int64_t c : change) {
    live += c;
    most = std::max(most, live);
  }
  return most;
}

/// All items placed in one order.
struct Plan {
  int64_t bytes = std::numeric_limits<int64_t>::max();
  std::vector<size_t> order;
  bool borrow = false;
};
} // namespace

ArenaResult heddle::planArena(std::vector<ArenaItem> &items, int64_t alignment,
                              const std::vector<BorrowedRegion> &regions,
                              int64_t searchSteps) {
  ArenaResult result;
  result.maxLive =
      largestLiveSum(items, alignment, [](size_t) { return true; });
  if (items.empty())
    return result;

  using Key = std::function<int64_t(const ArenaItem &)>;
  auto length = [](const ArenaItem &x) { return x.end - x.begin + 1; };
  const Key keys[] = {
      [](const ArenaItem &x) { return -x.size; },
      [&](const ArenaItem &x) { return -length(x); },
      [&](const ArenaItem &x) { return -x.size * length(x); },
      [](const ArenaItem &x) { return x.begin; },
      [](const ArenaItem &x) { return -x.end; },
  };
  std::vector<std::vector<uint32_t>> candidates = findCandidates(items, regions);
  // The arena cannot be below what lives at once of that which fits no region.
  int64_t bound = largestLiveSum(
      items, alignment, [&](size_t i) { return candidates[i].empty(); });
  auto placeAll = [&](const Plan &plan) {
    Placement placement(items, regions, candidates, alignment);
    for (size_t i : plan.order)
      placement.push(i, plan.borrow);
    return placement;
  };
  Plan best;
  for (const Key &key : keys) {
    Plan plan;
    plan.order.resize(items.size());
    std::iota(plan.order.begin(), plan.order.end(), 0);
    std::sort(plan.order.begin(), plan.order.end(), [&](size_t x, size_t y) {
      auto rank = [&](size_t i) {
        return std::make_tuple(key(items[i]), -items[i].size, i);
      };
      return rank(x) < rank(y);
    });
    for (bool borrow : {true, false}) {
      if (borrow && regions.empty())
        continue;
      plan.borrow = borrow;
      plan.bytes = placeAll(plan).size();
      if (plan.bytes < best.bytes)
        best = plan;
    }
    if (best.bytes <= bound)
      break;
  }
  bool isFew = items.size() <= kFewItems;
  if (best.bytes > bound + (isFew ? 0 : bound / kSlack)) {
    Placement placement(items, regions, candidates, alignment);
    // A step looks at what is placed: as many items, as few steps.
    int64_t steps = searchSteps * kFewItems /
                    std::max<int64_t>(kFewItems, items.size());
    OrderSearch search(placement, best.order, best.borrow, best.bytes, bound,
                       steps);
    search.run();
  }
  Placement placement = placeAll(best);
  result.bytes = placement.size();
  for (size_t i = 0; i < items.size(); ++i) {
    items[i].offset = placement.offset(i);
    items[i].region = placement.region(i);
  }
  return result;
}
