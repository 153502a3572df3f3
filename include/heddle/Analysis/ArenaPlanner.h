//===- ArenaPlanner.h - offsets for buffers with lifetimes ------*- C++ -*-===//
//
// Static memory planning of one arena: buffers with known sizes and lifetimes
// get offsets such that no two that live at once overlap. Greedy by several
// orders, the best is kept. Pure functions; no MLIR.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_ANALYSIS_ARENAPLANNER_H
#define HEDDLE_ANALYSIS_ARENAPLANNER_H

#include <cstdint>
#include <vector>

namespace heddle {

/// A buffer of `size` bytes that lives from step `begin` to step `end`, both
/// inclusive.
struct ArenaItem {
  int64_t size = 0;
  int64_t begin = 0, end = 0;
  int64_t offset = -1; // set by the planner; multiple of the alignment
};

struct ArenaResult {
  int64_t bytes = 0;   // size of the arena
  int64_t maxLive = 0; // largest sum of aligned sizes alive at one step
};

/// Gives every item an offset. `alignment` is a power of two.
ArenaResult planArena(std::vector<ArenaItem> &items, int64_t alignment = 64);

} // namespace heddle

#endif // HEDDLE_ANALYSIS_ARENAPLANNER_H
