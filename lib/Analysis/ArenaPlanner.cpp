//===- ArenaPlanner.cpp - offsets for buffers with lifetimes --------------===//

#include "heddle/Analysis/ArenaPlanner.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>

using namespace heddle;

namespace {
int64_t alignUp(int64_t n, int64_t a) { return (n + a - 1) / a * a; }

/// Places items in the given order, each at the lowest gap that fits it among
/// the placed ones it overlaps in time. Returns the arena's size.
int64_t place(const std::vector<ArenaItem> &items,
              const std::vector<size_t> &order, int64_t alignment,
              std::vector<int64_t> &offsets) {
  offsets.assign(items.size(), -1);
  std::vector<size_t> placed; // by offset
  int64_t bytes = 0;
  for (size_t i : order) {
    int64_t at = 0, size = alignUp(items[i].size, alignment);
    for (size_t j : placed) {
      bool apart =
          items[j].end < items[i].begin || items[i].end < items[j].begin;
      if (apart)
        continue;
      if (offsets[j] >= at + size)
        break; // the gap before j is wide enough
      at = std::max(at, offsets[j] + alignUp(items[j].size, alignment));
    }
    offsets[i] = at;
    bytes = std::max(bytes, at + size);
    placed.insert(std::upper_bound(placed.begin(), placed.end(), i,
                                   [&](size_t x, size_t y) {
                                     return offsets[x] < offsets[y];
                                   }),
                  i);
  }
  return bytes;
}
} // namespace

ArenaResult heddle::planArena(std::vector<ArenaItem> &items,
                              int64_t alignment) {
  ArenaResult result;
  int64_t last = 0;
  for (const ArenaItem &item : items)
    last = std::max(last, item.end);
  std::vector<int64_t> change(last + 2, 0);
  for (const ArenaItem &item : items) {
    change[item.begin] += alignUp(item.size, alignment);
    change[item.end + 1] -= alignUp(item.size, alignment);
  }
  int64_t live = 0;
  for (int64_t c : change) {
    live += c;
    result.maxLive = std::max(result.maxLive, live);
  }

  using Key = std::function<int64_t(const ArenaItem &)>;
  auto length = [](const ArenaItem &x) { return x.end - x.begin + 1; };
  const Key keys[] = {
      [](const ArenaItem &x) { return -x.size; },
      [&](const ArenaItem &x) { return -length(x); },
      [&](const ArenaItem &x) { return -x.size * length(x); },
      [](const ArenaItem &x) { return x.begin; },
      [](const ArenaItem &x) { return -x.end; },
  };
  int64_t best = std::numeric_limits<int64_t>::max();
  std::vector<int64_t> offsets;
  for (const Key &key : keys) {
    std::vector<size_t> order(items.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](size_t x, size_t y) {
      int64_t kx = key(items[x]), ky = key(items[y]);
      return kx != ky ? kx < ky : items[x].size > items[y].size;
    });
    int64_t bytes = place(items, order, alignment, offsets);
    if (bytes >= best)
      continue;
    best = bytes;
    for (size_t i = 0; i < items.size(); ++i)
      items[i].offset = offsets[i];
    if (best == result.maxLive)
      break;
  }
  result.bytes = items.empty() ? 0 : best;
  return result;
}
