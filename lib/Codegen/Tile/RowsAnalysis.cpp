//===- RowsAnalysis.cpp - what can be made row by row ---------------------===//

#include "heddle/Codegen/Tile/RowsAnalysis.h"
#include "heddle/Codegen/Tile/KernelBody.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

#include <set>

using namespace mlir;
using namespace heddle;

static linalg::GenericOp opOf(Value v) {
  if (bufferOf(v))
    return {};
  return v.getDefiningOp<linalg::GenericOp>();
}

/// Whether a generic between v and the kernel's inputs holds.
static bool anyOver(Value v, function_ref<bool(linalg::GenericOp)> holds,
                    DenseSet<Value> &seen) {
  linalg::GenericOp op = opOf(v);
  if (!op || !seen.insert(v).second)
    return false;
  return holds(op) || llvm::any_of(op.getDpsInputs(), [&](Value in) {
           return anyOver(in, holds, seen);
         });
}

bool heddle::hasContraction(Value v) {
  DenseSet<Value> seen;
  return anyOver(v, isRowsContraction, seen);
}

bool heddle::hasReductionOver(Value v) {
  DenseSet<Value> seen;
  return anyOver(
      v, [](linalg::GenericOp op) { return op.getNumReductionLoops() > 0; },
      seen);
}

namespace {
enum class Role { Point, Row, Col };
} // namespace

/// The roles of an operand's axes; nullopt where parts are not single
/// positions.
static std::optional<SmallVector<Role>> project(AffineMap map,
                                                ArrayRef<Role> loops) {
  SmallVector<Role> roles;
  for (AffineExpr e : map.getResults()) {
    OperandAxis axis = *matchOperandAxis(e, map.getNumDims());
    if (axis.part >= 0 && loops[axis.part] != Role::Point)
      return std::nullopt;
    roles.push_back(loops[axis.dim]);
  }
  return roles;
}

namespace {
/// Values that were met with the same roles (or axes) before. Norms of norms
/// meet each value by many paths: without this a walk takes time exponential in
/// their number.
template <typename T>
class Seen {
public:
  /// Whether this is the first time.
  bool insert(Value v, ArrayRef<T> how) {
    return seen.insert({v.getAsOpaquePointer(), how.vec()}).second;
  }

private:
  std::set<std::pair<void *, std::vector<T>>> seen;
};
} // namespace

/// Whether a tile of v with these roles can be made. The first that cannot ends
/// the walk, so that what was seen before can.
static bool feasible(Value v, ArrayRef<Role> roles, Seen<Role> &seen) {
  if (!seen.insert(v, roles))
    return true;
  if (llvm::count(roles, Role::Row) > 1 || llvm::count(roles, Role::Col) > 1)
    return false;
  linalg::GenericOp op = opOf(v);
  if (!op)
    return true;
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  SmallVector<Role> loops(op.getNumLoops(), Role::Point);
  for (auto [i, e] : llvm::enumerate(maps.back().getResults()))
    loops[cast<AffineDimExpr>(e).getPosition()] = roles[i];
  if (std::optional<RowsContraction> c = matchRowsContraction(op)) {
    if (loops[c->m] != Role::Row || loops[c->n] != Role::Col)
      return false;
    loops[c->k] = Role::Col;
    if (!feasible(op.getDpsInputs()[0], *project(maps[0], loops), seen))
      return false;
    loops[c->k] = Role::Row;
    Value right = op.getDpsInputs()[1];
    return !hasReductionOver(right) &&
           feasible(right, *project(maps[1], loops), seen);
  }
  if (op.getNumReductionLoops() > 0) {
    if (llvm::is_contained(loops, Role::Col) ||
        !llvm::is_contained(loops, Role::Row))
      return false;
    loops[innerReduction(op)] = Role::Col;
  }
  for (OpOperand *operand : op.getDpsInputOperands()) {
    auto own = project(op.getMatchingIndexingMap(operand), loops);
    if (!own || !feasible(operand->get(), *own, seen))
      return false;
  }
  return true;
}

static bool feasible(Value v, ArrayRef<Role> roles) {
  Seen<Role> seen;
  return feasible(v, roles, seen);
}

/// The contraction that the result comes from through elementwise ops.
static linalg::GenericOp mainContraction(Value v, DenseSet<Value> &seen) {
  linalg::GenericOp op = opOf(v);
  if (!op || !seen.insert(v).second)
    return {};
  if (isRowsContraction(op))
    return op;
  if (op.getNumReductionLoops() > 0)
    return {};
  for (Value in : op.getDpsInputs())
    if (linalg::GenericOp found = mainContraction(in, seen))
      return found;
  return {};
}

static linalg::GenericOp mainContraction(Value v) {
  DenseSet<Value> seen;
  return mainContraction(v, seen);
}

/// Near-equal pieces of at most `most`, a multiple of `unit` where that does
/// not leave a ragged end.
static int64_t evenTile(int64_t extent, int64_t most, int64_t unit) {
  if (extent <= most)
    return extent;
  for (int64_t size = most; size >= most / 2; --size)
    if (extent % size == 0)
      return size;
  int64_t pieces = llvm::divideCeil(extent, most);
  return llvm::alignTo(llvm::divideCeil(extent, pieces), unit);
}

/// Whether functions such as tanh are taken on the way to `v`, from the
/// elements of the main product on, or from the beginning without one.
static bool takesFunctions(Value v, linalg::GenericOp main) {
  linalg::GenericOp op = opOf(v);
  if (!op || op == main)
    return false;
  for (Operation &inner : op.getRegion().front())
    if (isa<math::MathDialect>(inner.getDialect()) &&
        !isa<math::FmaOp, math::AbsFOp>(inner))
      return true;
  return llvm::any_of(op.getDpsInputs(),
                      [&](Value in) { return takesFunctions(in, main); });
}

/// Whether such functions are taken of what the main product reads.
static bool takesFunctionsOfOperands(linalg::GenericOp main) {
  return llvm::any_of(main.getDpsInputs(),
                      [](Value in) { return takesFunctions(in, {}); });
}

/// Tiles of a thread block: sides are powers of two where the extent allows, an
/// accumulator has up to 64 elements to each thread. The larger a product's
/// tile, the fewer bytes of operands each of its elements costs; small results
/// are cut until every multiprocessor has a block.
static void chooseBlockShape(RowsShape &shape, Value root,
                             linalg::GenericOp main, bool wholeRows,
                             int64_t rows, int64_t cols, int64_t points,
                             int64_t multiprocessors) {
  auto upTo = [](int64_t extent, int64_t most) {
    int64_t tile = 1;
    while (tile < extent && tile < most)
      tile *= 2;
    return tile;
  };
  if (main) {
    RowsContraction c = *matchRowsContraction(main);
    int64_t depth = main.getStaticLoopRanges()[c.k];
    int64_t wideTiles =
        points * llvm::divideCeil(rows, 128) * llvm::divideCeil(cols, 128);
    bool wide = rows > 64 && cols > 64 && wideTiles >= multiprocessors &&
                !hasContraction(main.getDpsInputs()[0]);
    auto isNarrow = [](Value v) {
      return getElementTypeOrSelf(v.getType()).getIntOrFloatBitWidth() <= 16;
    };
    bool narrowElements = llvm::all_of(main.getDpsInputs(), isNarrow);
    bool mixed = !narrowElements && llvm::any_of(main.getDpsInputs(), isNarrow);
    int64_t side = wide ? 128 : 64;
    // Rows of 64 bytes in shared memory where tiles are wide, else of 128;
    // functions and conversions need registers of their own for each element.
    int64_t deepest = (wide ? 64 : 128) / (narrowElements ? 2 : 4);
    if (mixed || (narrowElements && takesFunctionsOfOperands(main)))
      deepest /= 2;
    shape.rowTile = std::max<int64_t>(16, upTo(rows, side));
    bool narrow = wide && (takesFunctions(root, main) ||
                           (!narrowElements && takesFunctionsOfOperands(main)));
    shape.colTile = std::max<int64_t>(16, upTo(cols, narrow ? 64 : side));
    shape.depthTile = std::max<int64_t>(16, upTo(depth, deepest));
    if (wide)
      shape.warps = 8;
    if (wide && depth >= 4 * shape.depthTile)
      shape.stages = 3;
    // Four warps share a product in pieces of 16x8.
    int64_t narrowest = 512 / shape.rowTile;
    shape.colTile = std::max(shape.colTile, narrowest);
    shape.hiddenTile =
        std::max(std::max<int64_t>(16, upTo(depth, 64)), narrowest);
  } else if (wholeRows && shape.col < 0) {
    shape.rowTile = upTo(rows, 64);
    // Blocks for all multiprocessors; a warp still reads 128 bytes of a row.
    while (shape.rowTile > 4 &&
           points * llvm::divideCeilSigned(rows, shape.rowTile) <
               multiprocessors)
      shape.rowTile /= 2;
    shape.reduceTile = 4096 / shape.rowTile;
  } else if (wholeRows) {
    int64_t whole = cols;
    if (shape.padColumns)
      whole = llvm::PowerOf2Ceil(static_cast<uint64_t>(cols));
    shape.rowTile =
        upTo(rows, std::max<int64_t>(1, 2048 / std::max<int64_t>(1, whole)));
    shape.colTile = whole;
    // Sixteen elements to each thread: several tiles of a row live at once.
    shape.warps = std::clamp<int64_t>(shape.rowTile * whole / 512, 4, 32);
  } else if (shape.col < 0) {
    shape.rowTile = upTo(rows, 1024);
  } else {
    shape.colTile = upTo(cols, 256);
    shape.rowTile = upTo(rows, 2048 / shape.colTile);
  }
}

/// Whether every reduction on the way to v has a neutral element.
static bool allCombine(Value v) {
  DenseSet<Value> seen;
  SmallVector<Value> work{v};
  while (!work.empty()) {
    linalg::GenericOp op = opOf(work.back());
    if (!seen.insert(work.pop_back_val()).second || !op)
      continue;
    if (op.getNumReductionLoops() > 0 && !isRowsContraction(op) &&
        !matchCombiner(op))
      return false;
    llvm::append_range(work, op.getDpsInputs());
  }
  return true;
}

std::optional<RowsShape> heddle::chooseRowsShape(Value root,
                                                 const TileTarget &target) {
  auto type = dyn_cast<RankedTensorType>(root.getType());
  if (!type || type.getRank() == 0 || !opOf(root))
    return std::nullopt;
  int64_t rank = type.getRank();
  linalg::GenericOp main = mainContraction(root);
  bool reductions = hasReductionOver(root);

  SmallVector<std::pair<int64_t, int64_t>> candidates;
  if (main) {
    RowsContraction c = *matchRowsContraction(main);
    AffineMap out = main.getIndexingMapsArray().back();
    std::pair<int64_t, int64_t> rc{-1, -1};
    for (auto [i, e] : llvm::enumerate(out.getResults())) {
      if (cast<AffineDimExpr>(e).getPosition() == c.m)
        rc.first = i;
      if (cast<AffineDimExpr>(e).getPosition() == c.n)
        rc.second = i;
    }
    candidates.push_back(rc);
  } else if (reductions) {
    for (int64_t col = rank - 1; col >= -1; --col)
      for (int64_t row = rank - 1; row >= 0; --row)
        if (row != col)
          candidates.push_back({row, col});
  } else {
    int64_t other = -1;
    for (int64_t d = 0; d + 1 < rank; ++d)
      if (other < 0 || type.getDimSize(d) >= type.getDimSize(other))
        other = d;
    // What lies side by side in memory: the lanes of a vector are rows, those
    // of a warp columns.
    if (target.matrixUnits && other >= 0)
      candidates.push_back({other, rank - 1});
    else
      candidates.push_back({rank - 1, other});
  }
  RowsShape shape;
  bool found = false;
  for (auto [row, col] : candidates) {
    SmallVector<Role> roles(rank, Role::Point);
    if (row >= 0)
      roles[row] = Role::Row;
    if (col >= 0)
      roles[col] = Role::Col;
    if (!feasible(root, roles))
      continue;
    shape.row = row;
    shape.col = col;
    found = true;
    break;
  }
  if (!found)
    return std::nullopt;

  int64_t rows = type.getDimSize(shape.row);
  int64_t cols = shape.col >= 0 ? type.getDimSize(shape.col) : 1;
  int64_t points = type.getNumElements() / std::max<int64_t>(1, rows * cols);
  // Of rows that long, only statistics that were made before are reduced here.
  bool wholeRows = reductions && cols <= kMaxRowLength;
  if (target.matrixUnits) {
    shape.padColumns = reductions && allCombine(root);
    chooseBlockShape(shape, root, main, wholeRows, rows, cols, points,
                     target.threads);
    return shape;
  }
  int64_t lanes = target.lanes;
  auto rowTileUpTo = [&](int64_t most) {
    most = std::max(lanes, most / lanes * lanes);
    int64_t best = lanes, bestCost = std::numeric_limits<int64_t>::max();
    for (int64_t tile = lanes; tile <= most; tile += lanes) {
      int64_t tiles = llvm::divideCeil(rows, tile) * points;
      // Rows that the busiest worker computes; small tiles cost repacking of
      // the right operand.
      int64_t cost = llvm::divideCeil(tiles, target.threads) * (tile + 6);
      if (cost <= bestCost) {
        bestCost = cost;
        best = tile;
      }
    }
    return best;
  };
  if (main) {
    Value left = main.getDpsInputs()[0];
    RowsContraction c = *matchRowsContraction(main);
    int64_t depth = main.getStaticLoopRanges()[c.k];
    shape.rowTile = rowTileUpTo(128);
    shape.depthTile = evenTile(depth, 256, 16);
    shape.hiddenTile = evenTile(depth, 128, 16);
    bool single = hasContraction(left);
    shape.colTile = single || cols <= 384 ? cols : evenTile(cols, 288, 16);
    // Row statistics are made once per row block, where those are enough to
    // feed all workers.
    int64_t rowBlocks = points * llvm::divideCeil(rows, shape.rowTile);
    shape.colsInside = hasReductionOver(left) && !hasContraction(left) &&
                       rowBlocks >= target.threads;
  } else if (wholeRows) {
    int64_t widest = cols;
    shape.rowTile = rowTileUpTo(std::max<int64_t>(
        lanes, (128 * 1024 / 4) / std::max<int64_t>(1, widest)));
    shape.rowTile = std::min<int64_t>(shape.rowTile, 128);
    shape.colTile = cols;
    // Short pieces, each summed on its own: rounding errors stay small.
    if (shape.col < 0)
      shape.reduceTile = std::clamp<int64_t>(8192 / shape.rowTile, 64, 256);
  } else {
    shape.rowTile = std::min<int64_t>(llvm::alignTo(rows, lanes), 16 * lanes);
    shape.colTile =
        evenTile(cols, std::max<int64_t>(1, 8192 / shape.rowTile), 1);
  }
  return shape;
}

/// Walks from the result to `input`; `axis[d]` is the result's axis that axis d
/// of the value follows, or -1.
static bool readsLocally(Value v, Value input, ArrayRef<int64_t> axis,
                         const RowsShape &shape, bool singleColTile,
                         Seen<int64_t> &seen) {
  if (!seen.insert(v, axis))
    return true;
  if (v == input) {
    for (auto [d, a] : llvm::enumerate(axis))
      if (a != static_cast<int64_t>(d) &&
          !(singleColTile && static_cast<int64_t>(d) == shape.col && a < 0))
        return false;
    return true;
  }
  linalg::GenericOp op = opOf(v);
  if (!op)
    return true;
  SmallVector<int64_t> loops(op.getNumLoops(), -1);
  for (auto [i, e] :
       llvm::enumerate(op.getIndexingMapsArray().back().getResults()))
    loops[cast<AffineDimExpr>(e).getPosition()] = axis[i];
  for (OpOperand &operand : op->getOpOperands()) {
    SmallVector<int64_t> mine;
    AffineMap map = op.getMatchingIndexingMap(&operand);
    for (AffineExpr e : map.getResults()) {
      OperandAxis a = *matchOperandAxis(e, map.getNumDims());
      mine.push_back(a.isPlain() ? loops[a.dim] : -1);
    }
    if (!readsLocally(operand.get(), input, mine, shape, singleColTile, seen))
      return false;
  }
  return true;
}

bool heddle::mayWriteOver(Value root, Value input, const TileTarget &target) {
  return mayWriteOver(root, root, input, target);
}

bool heddle::mayWriteOver(ArrayRef<Value> roots, Value root, Value input,
                          const TileTarget &target) {
  if (root.getType() != input.getType())
    return false;
  std::optional<RowsShape> shape = chooseRowsShape(roots.front(), target);
  if (!shape)
    return false;
  auto type = cast<RankedTensorType>(root.getType());
  // Tiles of products on a GPU depend on the chip, of which there may be
  // several.
  bool single = shape->col >= 0 &&
                shape->colTile >= type.getDimSize(shape->col) &&
                !(target.matrixUnits && mainContraction(root));
  SmallVector<int64_t> axis;
  for (int64_t d = 0; d < type.getRank(); ++d)
    axis.push_back(d);
  Seen<int64_t> seen;
  return llvm::all_of(roots, [&](Value r) {
    return readsLocally(r, input, axis, *shape, single, seen);
  });
}
