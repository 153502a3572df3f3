//===- ArenaPlanner.h - offsets for buffers with lifetimes ------*- C++ -*-===//
//
// Static memory planning: buffers with known sizes and lifetimes get offsets
// such that no two that live at once overlap. Greedy by several orders, then a
// search over orders where the best of them misses the lower bound. Pure
// functions; no MLIR; deterministic.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_ANALYSIS_ARENAPLANNER_H
#define HEDDLE_ANALYSIS_ARENAPLANNER_H

#include <cstdint>
#include <utility>
#include <vector>

namespace heddle {

/// A buffer of `size` bytes that lives from step `begin` to step `end`, both
/// inclusive.
struct ArenaItem {
  int64_t size = 0;
  int64_t begin = 0, end = 0;
  int64_t offset = -1; // set by the planner; multiple of the alignment
  int64_t region = -1; // set by the planner: a borrowed region, or the arena
};

/// Memory that exists anyway and may hold items while nobody else needs it: the
/// buffer of a result before it is written, of a donated argument after it was
/// read.
struct BorrowedRegion {
  int64_t size = 0; // bytes
  /// Steps, both ends inclusive, in which its own contents need it.
  std::vector<std::pair<int64_t, int64_t>> busy;
};

struct ArenaResult {
  int64_t bytes = 0;   // size of the arena
  int64_t maxLive = 0; // largest sum of aligned sizes alive at one step
};

/// Gives every item a place, in `regions` or in an arena that is as small as
/// the search finds. `alignment` is a power of two. `searchSteps` bounds the
/// search after the greedy orders (placements that are tried).
ArenaResult planArena(std::vector<ArenaItem> &items, int64_t alignment = 64,
                      const std::vector<BorrowedRegion> &regions = {},
                      int64_t searchSteps = 20000);

} // namespace heddle

#endif // HEDDLE_ANALYSIS_ARENAPLANNER_H
