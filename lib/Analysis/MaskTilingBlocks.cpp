//===- MaskTilingBlocks.cpp - tiles by splitting blocks of them -----------===//
//
// Whether a block of tiles holds a visible (a hidden) position is a question
// of integer emptiness, which the Presburger library answers exactly, with a
// sample. A block with no visible (hidden) position is empty (full) as a whole;
// one with both is split, down to single tiles, which are then partial. A child
// that holds a sample of its parent, or one that a look at its middle row
// finds, needs no question.
//
//===----------------------------------------------------------------------===//

#include "MaskTilingDetail.h"

#include <algorithm>

using namespace heddle;
using namespace heddle::detail;
using namespace mlir::presburger;
using llvm::SmallVector;
using Clock = std::chrono::steady_clock;

namespace {
/// Tiles [queryBegin, queryEnd) x [keyBegin, keyEnd).
struct Block {
  int64_t queryBegin, queryEnd, keyBegin, keyEnd;
  bool isTile() const {
    return queryEnd - queryBegin == 1 && keyEnd - keyBegin == 1;
  }
};

struct Position {
  int64_t i, j;
};

/// What is known of one side within a block: the conjunctions that may hold a
/// position of it, and one such position.
struct Knowledge {
  SmallVector<unsigned, 4> candidates;
  std::optional<Position> sample;
};

class BlockSplitter {
public:
  BlockSplitter(const PositionSets &visible, const PositionSets &hidden,
                const TileGrid &grid, Clock::time_point deadline)
      : visible(visible), hidden(hidden), grid(grid), deadline(deadline),
        numKeyTiles(grid.numKeyTiles()),
        kinds(grid.numQueryTiles() * numKeyTiles, TileKind::Empty) {}

  /// False after the deadline.
  bool split(const Block &block, Knowledge seen, Knowledge unseen);
  bool run();

  TileIntervals intervalsOf(int64_t queryTile) const {
    IntervalBuilder result;
    for (int64_t u = 0; u < numKeyTiles; ++u)
      result.add(u, u + 1, kinds[queryTile * numKeyTiles + u]);
    return result.take();
  }

private:
  void look(const PositionSets &side, const Block &block,
            Knowledge &knowledge) const;
  void fill(const Block &block, TileKind kind) {
    for (int64_t t = block.queryBegin; t < block.queryEnd; ++t)
      std::fill(&kinds[t * numKeyTiles] + block.keyBegin,
                &kinds[t * numKeyTiles] + block.keyEnd, kind);
  }
  Range queriesOf(const Block &block) const {
    return {block.queryBegin * grid.queryTile,
            std::min(block.queryEnd * grid.queryTile, grid.queryLength)};
  }
  Range keysOf(const Block &block) const {
    return {block.keyBegin * grid.keyTile,
            std::min(block.keyEnd * grid.keyTile, grid.keyLength)};
  }

  const PositionSets &visible, &hidden;
  const TileGrid &grid;
  Clock::time_point deadline;
  int64_t numKeyTiles;
  std::vector<TileKind> kinds;
};
} // namespace

/// Finds a position of `side` in `block`, or that there is none: then no
/// candidate is left.
void BlockSplitter::look(const PositionSets &side, const Block &block,
                         Knowledge &knowledge) const {
  Range queries = queriesOf(block), keys = keysOf(block);
  if (knowledge.sample && knowledge.sample->i >= queries.begin &&
      knowledge.sample->i < queries.end && knowledge.sample->j >= keys.begin &&
      knowledge.sample->j < keys.end)
    return;
  knowledge.sample.reset();
  // Sets with fine structure show it in a few pieces of any row.
  constexpr int kMaxPieces = 16;
  int64_t last = queries.end - 1 - queries.begin;
  for (int64_t i : {queries.begin + last / 2, queries.begin, queries.end - 1,
                    queries.begin + last / 4, queries.begin + last * 3 / 4})
    for (unsigned candidate : knowledge.candidates)
      if (std::optional<int64_t> j =
              side[candidate].probe(i, keys.begin, keys.end, kMaxPieces)) {
        knowledge.sample = {i, *j};
        return;
      }
  while (!knowledge.candidates.empty()) {
    IntegerPolyhedron set =
        side[knowledge.candidates.back()].toPolyhedron(queries.end, keys.end);
    set.addBound(BoundType::LB, 0, queries.begin);
    set.addBound(BoundType::LB, 1, keys.begin);
    if (auto sample = set.findIntegerSample()) {
      knowledge.sample = {static_cast<int64_t>((*sample)[0]),
                          static_cast<int64_t>((*sample)[1])};
      return;
    }
    knowledge.candidates.pop_back();
  }
}

bool BlockSplitter::split(const Block &block, Knowledge seen,
                          Knowledge unseen) {
  if (Clock::now() >= deadline)
    return false;
  look(visible, block, seen);
  if (!seen.sample)
    return true; // empty, as all tiles are at first
  look(hidden, block, unseen);
  if (!unseen.sample || block.isTile()) {
    fill(block, unseen.sample ? TileKind::Partial : TileKind::Full);
    return true;
  }
  Block first = block, second = block;
  if (block.queryEnd - block.queryBegin >= block.keyEnd - block.keyBegin)
    first.queryEnd = second.queryBegin =
        (block.queryBegin + block.queryEnd) / 2;
  else
    first.keyEnd = second.keyBegin = (block.keyBegin + block.keyEnd) / 2;
  return split(first, seen, unseen) &&
         split(second, std::move(seen), std::move(unseen));
}

bool BlockSplitter::run() {
  Knowledge seen, unseen;
  for (unsigned c = 0; c < visible.size(); ++c)
    seen.candidates.push_back(c);
  for (unsigned c = 0; c < hidden.size(); ++c)
    unseen.candidates.push_back(c);
  Block all{0, grid.numQueryTiles(), 0, numKeyTiles};
  return split(all, std::move(seen), std::move(unseen));
}

SetOutcome heddle::detail::tileByBlocks(
    const PositionSets &visible, const PositionSets &hidden,
    const TileGrid &grid, Clock::time_point deadline,
    llvm::SmallVectorImpl<TileIntervals> &perQueryTile) {
  BlockSplitter splitter(visible, hidden, grid, deadline);
  if (grid.numKeyTiles() > 0 && grid.numQueryTiles() > 0 && !splitter.run())
    return SetOutcome::TimedOut;
  perQueryTile.clear();
  for (int64_t tile = 0, e = grid.numQueryTiles(); tile < e; ++tile)
    perQueryTile.push_back(splitter.intervalsOf(tile));
  return SetOutcome::Done;
}
