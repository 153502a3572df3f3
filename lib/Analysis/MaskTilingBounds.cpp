//===- MaskTilingBounds.cpp - closed forms of the intervals of a mask -----===//
//
// Recognises digital straight lines: given integers s(t), is there a line with
// s(t) <= a t / d + b < s(t) + 1 for all t? For a fixed slope the offsets that
// fit form an interval. Where it is empty, the two tightest constraints bound
// the slope from one side, so the slopes tried (always the simplest fraction
// between the bounds so far) close in on the answer.
//
//===----------------------------------------------------------------------===//

#include "heddle/Analysis/MaskTiling.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <numeric>

using namespace heddle;
using llvm::divideFloorSigned;

int64_t AffineTileBound::at(int64_t t) const {
  return std::clamp(divideFloorSigned(coefficient * t + offset, divisor), lower,
                    upper);
}

namespace {
struct Bounds {
  int64_t visibleBegin, visibleEnd, fullBegin, fullEnd;
};
} // namespace

static Bounds boundsAt(const AffineTileBounds &bounds, int64_t t) {
  int64_t vb = bounds.begin.at(t);
  int64_t ve = std::max(bounds.end.at(t), vb);
  int64_t fb = std::clamp(bounds.fullBegin.at(t), vb, ve);
  int64_t fe = std::clamp(bounds.fullEnd.at(t), fb, ve);
  return {vb, ve, fb, fe};
}

TileIntervals AffineTileBounds::at(int64_t t) const {
  auto [vb, ve, fb, fe] = boundsAt(*this, t);
  TileIntervals result;
  auto add = [&](int64_t begin, int64_t end, TileKind kind) {
    if (begin < end)
      result.push_back({begin, end, kind});
  };
  if (fb == fe) {
    add(vb, ve, TileKind::Partial);
    return result;
  }
  add(vb, fb, TileKind::Partial);
  add(fb, fe, TileKind::Full);
  add(fe, ve, TileKind::Partial);
  return result;
}

bool AffineTileBounds::hasLeadingPartial(int64_t numTiles) const {
  for (int64_t t = 0; t < numTiles; ++t) {
    Bounds bounds = boundsAt(*this, t);
    if (bounds.visibleBegin < bounds.fullBegin &&
        bounds.fullBegin < bounds.fullEnd)
      return true;
  }
  return false;
}

bool AffineTileBounds::hasTrailingPartial(int64_t numTiles) const {
  for (int64_t t = 0; t < numTiles; ++t) {
    Bounds bounds = boundsAt(*this, t);
    if (bounds.fullBegin == bounds.fullEnd
            ? bounds.visibleBegin < bounds.visibleEnd
            : bounds.fullEnd < bounds.visibleEnd)
      return true;
  }
  return false;
}

namespace {
/// Absent bounds of a `Wanted`.
constexpr int64_t kFree = std::numeric_limits<int64_t>::max();

/// What one bound must be at one tile: within [least, most]. A value is
/// either given exactly or bounded from one side.
struct Wanted {
  int64_t least, most;
};
/// numerator / denominator, denominator >= 0; 1/0 is infinity.
struct Slope {
  int64_t numerator, denominator;
};
} // namespace

static bool less(const Slope &a, const Slope &b) {
  return static_cast<__int128>(a.numerator) * b.denominator <
         static_cast<__int128>(b.numerator) * a.denominator;
}

/// The fraction of least denominator strictly between `low` and `high`.
static Slope simplestBetween(Slope low, Slope high) {
  // An integer part that lies between is simplest; 0 before all others.
  if (low.denominator == 0 && high.denominator == 0)
    return {0, 1};
  if (low.denominator == 0) {
    int64_t below = -divideFloorSigned(-high.numerator, high.denominator) - 1;
    return {std::min<int64_t>(below, 0), 1};
  }
  if (less(low, {0, 1}) && less({0, 1}, high))
    return {0, 1};
  int64_t whole = divideFloorSigned(low.numerator, low.denominator);
  if (less({whole + 1, 1}, high))
    return {whole + 1, 1};
  // Both lie within [whole, whole + 1]: recurse on the inverse of the rest.
  Slope lowRest{low.numerator - whole * low.denominator, low.denominator};
  Slope highRest{high.numerator - whole * high.denominator, high.denominator};
  Slope inverse = simplestBetween({highRest.denominator, highRest.numerator},
                                  {lowRest.denominator, lowRest.numerator});
  return {inverse.denominator + whole * inverse.numerator, inverse.numerator};
}

/// A clamped line through `wanted`, or nullopt where none exists; the highest
/// or the lowest of those with its slope. `guess` is the first slope tried.
static std::optional<AffineTileBound>
fitLine(llvm::ArrayRef<Wanted> wanted, bool highest,
        std::optional<Slope> guess = std::nullopt) {
  AffineTileBound bound;
  // The tightest useful clamps: the range of the values that are asked for.
  int64_t lower = kFree, upper = -kFree;
  for (const Wanted &w : wanted) {
    if (w.most != kFree)
      lower = std::min(lower, w.most);
    if (w.least != -kFree)
      upper = std::max(upper, w.least);
  }
  if (lower == kFree && upper == -kFree)
    return bound;
  if (lower == kFree)
    lower = upper;
  if (upper == -kFree)
    upper = lower;
  bound.lower = std::min(lower, upper);
  bound.upper = std::max(lower, upper);

  // A line a t + b over d must reach least where the clamp does not lift it,
  // and stay below most + 1 where the clamp does not cut it.
  Slope low{-1, 0}, high{1, 0};
  while (true) {
    Slope slope = guess ? *guess : simplestBetween(low, high);
    guess.reset();
    int64_t a = slope.numerator, d = slope.denominator;
    // b >= atLeast and b < below.
    int64_t atLeast = -kFree, below = kFree, lowTile = 0, highTile = 0;
    for (int64_t t = 0, e = wanted.size(); t < e; ++t) {
      if (wanted[t].least > bound.lower &&
          wanted[t].least * d - a * t > atLeast) {
        atLeast = wanted[t].least * d - a * t;
        lowTile = t;
      }
      if (wanted[t].most < bound.upper &&
          (wanted[t].most + 1) * d - a * t < below) {
        below = (wanted[t].most + 1) * d - a * t;
        highTile = t;
      }
    }
    if (atLeast < below) {
      bound.coefficient = a;
      bound.divisor = d;
      if (below != kFree && (highest || atLeast == -kFree))
        bound.offset = below - 1;
      else
        bound.offset = atLeast != -kFree ? atLeast : bound.lower * d;
      return bound;
    }
    if (lowTile == highTile)
      return std::nullopt;
    // least(lowTile) - s lowTile < most(highTile) + 1 - s highTile.
    int64_t rise = wanted[highTile].most + 1 - wanted[lowTile].least;
    int64_t run = highTile - lowTile;
    if (run > 0) {
      high = {rise, run};
    } else {
      low = {-rise, -run};
    }
    if (!less(low, high))
      return std::nullopt;
  }
}

/// How much there is to a bound; less is simpler.
static int64_t complexity(const AffineTileBound &bound) {
  return std::abs(bound.coefficient) + bound.divisor;
}

/// Begin and end of a run. Tiles without the run (least = most) only ask for
/// end <= begin: one bound is fitted first, free or out of the way in those
/// tiles, and the other keeps clear of it. The simplest result is taken.
/// `guesses` are the slopes to begin with; nullopt for the simplest.
static bool fitRun(llvm::ArrayRef<Wanted> runs, AffineTileBound &begin,
                   AffineTileBound &end,
                   llvm::ArrayRef<std::optional<Slope>> guesses) {
  auto isEmpty = [](const Wanted &run) { return run.least >= run.most; };
  int64_t numTiles = runs.size(), firstTile = numTiles;
  int64_t leastBegin = kFree, mostEnd = -kFree;
  for (auto [t, run] : llvm::enumerate(runs))
    if (!isEmpty(run)) {
      firstTile = std::min<int64_t>(firstTile, t);
      leastBegin = std::min(leastBegin, run.least);
      mostEnd = std::max(mostEnd, run.most);
    }
  if (firstTile == numTiles) {
    begin = end = AffineTileBound();
    return true;
  }

  bool found = false;
  // Bits: which bound comes first, and whether it gets out of the way in the
  // empty tiles before and after the first tile with a run.
  for (unsigned choice = 0, e = 8 * guesses.size(); choice < e; ++choice) {
    std::optional<Slope> guess = guesses[choice / 8];
    bool beginFirst = choice & 1;
    llvm::SmallVector<Wanted> wanted;
    for (auto [t, run] : llvm::enumerate(runs)) {
      bool away = choice & (static_cast<int64_t>(t) < firstTile ? 2 : 4);
      int64_t value = beginFirst ? run.least : run.most;
      if (!isEmpty(run))
        wanted.push_back({value, value});
      else
        wanted.push_back({away && beginFirst ? mostEnd : -kFree,
                          away && !beginFirst ? leastBegin : kFree});
    }
    std::optional<AffineTileBound> first = fitLine(wanted, beginFirst, guess);
    if (!first)
      continue;
    for (auto [t, run] : llvm::enumerate(runs)) {
      int64_t value = beginFirst ? run.most : run.least;
      wanted[t] = {value, value};
      if (isEmpty(run))
        wanted[t] = beginFirst ? Wanted{-kFree, first->at(t)}
                               : Wanted{first->at(t), kFree};
    }
    std::optional<AffineTileBound> second = fitLine(wanted, !beginFirst, guess);
    if (!second || (found && complexity(*first) + complexity(*second) >=
                                 complexity(begin) + complexity(end)))
      continue;
    begin = beginFirst ? *first : *second;
    end = beginFirst ? *second : *first;
    found = true;
  }
  return found;
}

std::optional<AffineTileBounds>
heddle::findAffineBounds(llvm::ArrayRef<TileIntervals> tiles, int64_t tile,
                         int64_t otherTile) {
  llvm::SmallVector<Wanted> visible, full;
  for (const TileIntervals &intervals : tiles) {
    Wanted run{0, 0}, inner{0, 0};
    for (const TileInterval &interval : intervals) {
      if (run.least < run.most && interval.begin != run.most)
        return std::nullopt;
      if (run.least == run.most)
        run.least = interval.begin;
      run.most = interval.end;
      if (interval.kind != TileKind::Full)
        continue;
      if (inner.least < inner.most)
        return std::nullopt;
      inner = {interval.begin, interval.end};
    }
    visible.push_back(run);
    full.push_back(inner);
  }
  AffineTileBounds bounds;
  // Where runs come and go from tile to tile, any slope that fits them may not
  // fit the tiles between; that of the diagonal does.
  tile = std::max<int64_t>(tile, 1);
  otherTile = std::max<int64_t>(otherTile, 1);
  int64_t divisor = std::gcd(tile, otherTile);
  std::optional<Slope> guesses[] = {std::nullopt,
                                    Slope{tile / divisor, otherTile / divisor}};
  if (!fitRun(visible, bounds.begin, bounds.end, guesses) ||
      !fitRun(full, bounds.fullBegin, bounds.fullEnd, guesses))
    return std::nullopt;
  // The fit is exact by construction; the table is the judge.
  for (auto [t, intervals] : llvm::enumerate(tiles))
    if (bounds.at(t) != intervals)
      return std::nullopt;
  return bounds;
}
