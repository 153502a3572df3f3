//===- MaskTilingSets.cpp - masks as integer sets -------------------------===//
//
// The visible pairs of positions and the existing pairs that are not visible,
// as unions of conjunctions. The Presburger library says which of them hold a
// position at all. It cannot be interrupted, so the work is cut into steps, one
// conjunction at a time, and none begins after the deadline.
//
//===----------------------------------------------------------------------===//

#include "MaskTilingDetail.h"

#include <algorithm>

using namespace heddle;
using namespace heddle::detail;
using Clock = std::chrono::steady_clock;

/// Sets with more conjunctions than this cost more than the rows do.
static constexpr size_t kMaxConjunctions = 256;

/// The set of a term without children.
static std::optional<QuasiAffine> leafSet(MaskAttr mask, const TileGrid &grid) {
  int64_t far = grid.queryLength + grid.keyLength;
  llvm::ArrayRef<int64_t> values = mask.getValues();
  QuasiAffine set;
  switch (mask.getKind()) {
  case MaskKind::Causal:
  case MaskKind::CausalUpperLeft:
    set.addConstraint({1, -1, 0}, /*isEquality=*/false);
    return set;
  case MaskKind::CausalLowerRight:
    set.addConstraint({1, -1, grid.keyLength - grid.queryLength}, false);
    return set;
  case MaskKind::Window:
    set.addConstraint({-1, 1, std::clamp(values[0], -far, far)}, false);
    set.addConstraint({1, -1, std::clamp(values[1], -far, far)}, false);
    return set;
  case MaskKind::Prefix:
    set.addConstraint({0, -1, std::min(values[0], far) - 1}, false);
    return set;
  case MaskKind::BlockDiagonal: {
    int64_t size = std::min(values[0], far);
    unsigned block = set.addDivision({1, 0, 0}, size);
    QuasiAffine::Row first(block + 1, 0), last(block + 1, 0);
    first[1] = 1; // j - size * block >= 0
    first[block] = -size;
    last[1] = -1; // size * block + size - 1 - j >= 0
    last[2] = size - 1;
    last[block] = size;
    set.addConstraint(first, false);
    set.addConstraint(last, false);
    return set;
  }
  default:
    return QuasiAffine::fromIntegerSet(mask.getSet());
  }
}

namespace {
class SetBuilder {
public:
  SetBuilder(const TileGrid &grid, Clock::time_point deadline)
      : grid(grid), deadline(deadline) {}

  /// Each of these returns false when it gives up; `outcome` says why.
  bool visibleSets(MaskAttr mask, PositionSets &result);
  bool complement(const PositionSets &sets, PositionSets &result);

  SetOutcome outcome = SetOutcome::Done;

private:
  bool add(QuasiAffine set, PositionSets &result);
  bool intersect(const PositionSets &a, llvm::ArrayRef<QuasiAffine> b,
                 PositionSets &result);

  const TileGrid &grid;
  Clock::time_point deadline;
};
} // namespace

/// Adds `set` to `result` if it holds a position that exists.
bool SetBuilder::add(QuasiAffine set, PositionSets &result) {
  if (Clock::now() >= deadline)
    outcome = SetOutcome::TimedOut;
  else if (result.size() >= kMaxConjunctions ||
           !set.fitsIn64Bits(grid.queryLength, grid.keyLength))
    outcome = SetOutcome::Unsupported;
  if (outcome != SetOutcome::Done)
    return false;
  set.dropUnusedDivisions();
  if (!set.toPolyhedron(grid.queryLength, grid.keyLength).isIntegerEmpty())
    result.push_back(std::move(set));
  return true;
}

bool SetBuilder::intersect(const PositionSets &a, llvm::ArrayRef<QuasiAffine> b,
                           PositionSets &result) {
  for (const QuasiAffine &left : a)
    for (const QuasiAffine &right : b) {
      QuasiAffine both = left;
      both.intersect(right);
      if (!add(std::move(both), result))
        return false;
    }
  return true;
}

bool SetBuilder::visibleSets(MaskAttr mask, PositionSets &result) {
  if (!mask)
    return add(QuasiAffine(), result);
  if (mask.getKind() == MaskKind::Union)
    return llvm::all_of(mask.getTerms(), [&](MaskAttr term) {
      return visibleSets(term, result);
    });
  if (mask.getKind() == MaskKind::Intersection) {
    PositionSets all = {QuasiAffine()};
    for (MaskAttr term : mask.getTerms()) {
      PositionSets next, both;
      if (!visibleSets(term, next) || !intersect(all, next, both))
        return false;
      all = std::move(both);
    }
    return llvm::all_of(
        all, [&](const QuasiAffine &set) { return add(set, result); });
  }
  std::optional<QuasiAffine> leaf = leafSet(mask, grid);
  if (!leaf) {
    outcome = SetOutcome::Unsupported;
    return false;
  }
  return add(std::move(*leaf), result);
}

bool SetBuilder::complement(const PositionSets &sets, PositionSets &result) {
  PositionSets rest;
  if (!add(QuasiAffine(), rest))
    return false;
  for (const QuasiAffine &set : sets) {
    PositionSets next;
    if (!intersect(rest, set.complement(), next))
      return false;
    rest = std::move(next);
  }
  result = std::move(rest);
  return true;
}

SetOutcome heddle::detail::positionSets(MaskAttr mask, const TileGrid &grid,
                                        Clock::time_point deadline,
                                        PositionSets &visible,
                                        PositionSets &hidden) {
  SetBuilder builder(grid, deadline);
  if (builder.visibleSets(mask, visible))
    builder.complement(visible, hidden);
  return builder.outcome;
}
