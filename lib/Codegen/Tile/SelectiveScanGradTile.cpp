//===- SelectiveScanGradTile.cpp - the tile program of its gradient -------===//
//
// For each tile of channels: a walk forward keeps the states at the start of
// each chunk; then, chunk by chunk from the last, the states of the chunk are
// made again and kept, and a walk backward uses them. With chunks of about the
// square root of the length both stacks have that many states.
//
// Gradients of b and c are sums over channels: over those of a tile on chip, over
// the tiles of a block in the buffer, which belongs to the block, and over
// blocks by another kernel, as partial_sums says. Nothing is added atomically.
//
//===----------------------------------------------------------------------===//

#include "SelectiveScan.h"

#include "heddle/Codegen/Tile/KernelBody.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace mlir;
using namespace heddle;

static constexpr double kLn2 = 0.6931471805599453;
/// Shorter chunks spend more on loops than they save in stacks.
static constexpr int64_t kMinChunk = 16;

namespace {
class SelectiveScanGrad : public SelectiveScan {
public:
  SelectiveScanGrad(SelectiveScanGradOp op, OpBuilder &b)
      : SelectiveScan(b, op.getLoc(), SelectiveOperands::of(op)), op(op) {}

  LogicalResult build(const TileTarget &target);

private:
  /// What the walk backward carries.
  struct Carried {
    Value g;          // cotangent of the states
    Value da, dd, dbias; // sums so far; null where absent
    SmallVector<Value> all() const;
    Carried with(ValueRange values) const;
  };

  void overTile();
  Value firstOf(Value chunk) { return t.mulAdd(chunk, chunkSize); }
  Value lengthOf(Value chunk);
  Value emptyStack(int64_t count);
  Value push(Value stack, Value at, Value tile);
  Value peek(Value stack, Value at);
  Value statesAtChunks();
  Value statesOfChunk(Value chunk, Value stacks);
  Carried stepBack(const Step &step, Value before, const Carried &carried);
  void clear(Value buffer);
  void addRow(Value row, Value buffer, Value at);

  SelectiveScanGradOp op;
  int64_t chunkSize = 1, numChunks = 1;
  Value part;           // number of this block among those of a batch entry
  bool addsToPart = false; // several tiles write to one part
};
} // namespace

SmallVector<Value> SelectiveScanGrad::Carried::all() const {
  SmallVector<Value> values;
  for (Value v : {g, da, dd, dbias})
    if (v)
      values.push_back(v);
  return values;
}

SelectiveScanGrad::Carried
SelectiveScanGrad::Carried::with(ValueRange values) const {
  Carried other = *this;
  for (Value *v : {&other.g, &other.da, &other.dd, &other.dbias})
    if (*v) {
      *v = values.front();
      values = values.drop_front();
    }
  return other;
}

//===----------------------------------------------------------------------===//
// Chunks and their states
//===----------------------------------------------------------------------===//

/// Steps of a chunk; the last one may be shorter.
Value SelectiveScanGrad::lengthOf(Value chunk) {
  if (length % chunkSize == 0)
    return t.index(chunkSize);
  AffineExpr d0 = b.getAffineDimExpr(0);
  AffineMap map = AffineMap::get(
      1, 0, {b.getAffineConstantExpr(chunkSize), length - d0 * chunkSize},
      b.getContext());
  return affine::AffineMinOp::create(b, loc, map, chunk);
}

Value SelectiveScanGrad::emptyStack(int64_t count) {
  return tensor::EmptyOp::create(
      b, loc, ArrayRef<int64_t>{count, rows.size, numStates}, b.getF32Type());
}

Value SelectiveScanGrad::push(Value stack, Value at, Value tile) {
  OpFoldResult zero = b.getIndexAttr(0), one = b.getIndexAttr(1);
  return tensor::InsertSliceOp::create(
      b, loc, tile, stack, ArrayRef<OpFoldResult>{at, zero, zero},
      ArrayRef<OpFoldResult>{one, b.getIndexAttr(rows.size),
                             b.getIndexAttr(numStates)},
      ArrayRef<OpFoldResult>{one, one, one});
}

Value SelectiveScanGrad::peek(Value stack, Value at) {
  OpFoldResult zero = b.getIndexAttr(0), one = b.getIndexAttr(1);
  return tensor::ExtractSliceOp::create(
      b, loc, RankedTensorType::get({rows.size, numStates}, b.getF32Type()),
      stack, ArrayRef<OpFoldResult>{at, zero, zero},
      ArrayRef<OpFoldResult>{one, b.getIndexAttr(rows.size),
                             b.getIndexAttr(numStates)},
      ArrayRef<OpFoldResult>{one, one, one});
}

/// The states that each chunk starts from.
Value SelectiveScanGrad::statesAtChunks() {
  Value h = initialStates();
  SmallVector<Value> all = loop(
      t.index(0), t.index(numChunks - 1), {h, emptyStack(numChunks)},
      [&](Value chunk, ValueRange carried) -> SmallVector<Value> {
        Value stack = push(carried[1], chunk, carried[0]);
        Value first = firstOf(chunk);
        SmallVector<Value> end = loop(
            t.index(0), t.index(chunkSize), carried[0],
            [&](Value i, ValueRange h) -> SmallVector<Value> {
              Step step = load(arith::AddIOp::create(b, loc, first, i));
              return {advance(step, h[0])};
            });
        return {end[0], stack};
      });
  return push(all[1], t.index(numChunks - 1), all[0]);
}

/// The states that each step of a chunk starts from.
Value SelectiveScanGrad::statesOfChunk(Value chunk, Value stacks) {
  Value first = firstOf(chunk);
  return loop(t.index(0), lengthOf(chunk),
              {peek(stacks, chunk), emptyStack(chunkSize)},
              [&](Value i, ValueRange carried) -> SmallVector<Value> {
                Value stack = push(carried[1], i, carried[0]);
                Step step = load(arith::AddIOp::create(b, loc, first, i));
                return {advance(step, carried[0]), stack};
              })[1];
}

//===----------------------------------------------------------------------===//
// The walk backward
//===----------------------------------------------------------------------===//

/// Adds a row of a sum over this tile's channels to the block's part.
void SelectiveScanGrad::addRow(Value row, Value buffer, Value at) {
  auto type = cast<MemRefType>(buffer.getType()); // (S, B, L, [G,] N)
  SmallVector<Value> offsets = {part, batch, at};
  if (type.getRank() == 5)
    offsets.push_back(arith::DivUIOp::create(
        b, loc, rows.offset, t.index(rows.extent / type.getDimSize(3))));
  offsets.push_back(t.index(0));
  TileStoreOp::create(b, loc, row, buffer, offsets,
                      ArrayRef<int64_t>{type.getRank() - 1}, addsToPart);
}

/// Zeros the block's part of a sum over channels.
void SelectiveScanGrad::clear(Value buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  int64_t groups = type.getRank() == 5 ? type.getDimSize(3) : 1;
  loop(t.index(0), t.index(length), {},
       [&](Value at, ValueRange) -> SmallVector<Value> {
         loop(t.index(0), t.index(groups), {},
              [&](Value group, ValueRange) -> SmallVector<Value> {
                SmallVector<Value> offsets = {part, batch, at};
                if (type.getRank() == 5)
                  offsets.push_back(group);
                offsets.push_back(t.index(0));
                TileStoreOp::create(
                    b, loc, t.fill({numStates}, b.getF32Type(), 0.0), buffer,
                    offsets, ArrayRef<int64_t>{type.getRank() - 1},
                    /*accumulate=*/false);
                return {};
              });
         return {};
       });
}

SelectiveScanGrad::Carried
SelectiveScanGrad::stepBack(const Step &step, Value before,
                            const Carried &carried) {
  Value c = stateRow(in.c, step.at);
  Value dy = channels(bufferOf(op.getDy()), step.at);
  Value z = in.z ? channels(in.z, step.at) : Value();
  // The cotangent of the output ahead of the gate.
  SmallVector<Value> outputs = {dy};
  if (z)
    outputs.push_back(z);
  Value ds = overChannels(outputs, [&](Scalars &e, ValueRange v) {
    return z ? e.mul(v[0], e.mul(v[1], e.sigmoid(v[1]))) : v[0];
  });

  const Dims both = {0, 1}, row = {0}, col = {1};
  Value decay = overStates(
      {rate, step.dt}, {both, row},
      [](Scalars &e, ValueRange v) { return e.exp2(e.mul(v[1], v[0])); });
  Value kept = overStates({decay, before}, {both, both},
                          [&](Scalars &e, ValueRange v) {
                            return e.unless(step.resets, e.mul(v[0], v[1]), 0.0);
                          });
  Value q = overStates(
      {carried.g, c, ds}, {both, col, row},
      [](Scalars &e, ValueRange v) { return e.add(v[0], e.mul(v[1], v[2])); });
  Value qk = overStates({q, kept}, {both, both}, [](Scalars &e, ValueRange v) {
    return e.mul(v[0], v[1]);
  });
  Value h = overStates(
      {kept, step.input, step.b}, {both, row, col},
      [](Scalars &e, ValueRange v) { return e.add(v[0], e.mul(v[1], v[2])); });
  Carried next = carried;
  // q once more: the result goes where carried.g lies.
  next.g = overStates(
      {carried.g, decay, c, ds}, {both, both, col, row},
      [&](Scalars &e, ValueRange v) {
        Value q = e.add(v[0], e.mul(v[2], v[3]));
        return e.unless(step.resets, e.mul(v[1], q), 0.0);
      });
  next.da = overStates(
      {carried.da, qk, step.dt}, {both, both, row},
      [](Scalars &e, ValueRange v) { return e.add(v[0], e.mul(v[1], v[2])); });
  auto product = [](Scalars &e, ValueRange v) { return e.mul(v[0], v[1]); };
  Value dx = sumStates({q, step.b}, {both, col}, product);
  Value drate = sumStates({qk, rate}, {both, both}, product);
  Value db = sumChannels({q, step.input}, {both, row}, product);
  Value dc = sumChannels({h, ds}, {both, row}, product);
  Value out = z ? sumStates({h, c}, {both, col}, product) : Value();
  addRow(db, destinationOf(op.getDb()), step.at);
  addRow(dc, destinationOf(op.getDc()), step.at);

  SmallVector<Value> ofU = {dx, step.dt};
  if (skip)
    ofU.append({skip, ds});
  auto elementOf = [](Value v) {
    return cast<RankedTensorType>(v.getType()).getElementType();
  };
  Value du = overChannels(
      ofU,
      [&](Scalars &e, ValueRange v) {
        Value r = e.mul(v[0], v[1]);
        return skip ? e.add(r, e.mul(v[2], v[3])) : r;
      },
      elementOf(op.getDu()));
  SmallVector<Value> ofDelta = {dx, step.u, drate};
  ofDelta.append(rawStepInputs(step.delta));
  auto ddelta = [&](Scalars &e, ValueRange v) {
    // drate has the factor log2 e of the rate.
    Value ddt = e.add(e.mul(v[0], v[1]), e.mul(v[2], e.number(kLn2)));
    return in.softplus
               ? e.mul(ddt, e.softplusSlope(rawStep(e, v.drop_front(3))))
               : ddt;
  };
  Value dstep = overChannels(ofDelta, ddelta);
  if (carried.dbias)
    next.dbias =
        overChannels({carried.dbias, dstep}, [](Scalars &e, ValueRange v) {
          return e.add(v[0], v[1]);
        });
  if (carried.dd)
    next.dd = overChannels({carried.dd, ds, step.u},
                           [](Scalars &e, ValueRange v) {
                             return e.add(v[0], e.mul(v[1], v[2]));
                           });
  Value dz;
  if (z) {
    SmallVector<Value> ofZ = {dy, z, out};
    if (skip)
      ofZ.append({skip, step.u});
    dz = overChannels(
        ofZ,
        [&](Scalars &e, ValueRange v) {
          Value s = skip ? e.add(v[2], e.mul(v[3], v[4])) : v[2];
          // silu'(z) = sigmoid + z sigmoid (1 - sigmoid)
          Value half = e.sigmoid(v[1]);
          Value slope = e.add(
              half, e.mul(e.mul(v[1], half), e.sub(e.number(1.0), half)));
          return e.mul(e.mul(v[0], s), slope);
        },
        elementOf(op.getDz()));
  }
  Type deltaType = elementOf(op.getDdelta());
  if (!deltaType.isF32())
    dstep = overChannels(
        {dstep}, [](Scalars &, ValueRange v) { return v[0]; }, deltaType);
  storeChannels(du, destinationOf(op.getDu()), step.at);
  storeChannels(dstep, destinationOf(op.getDdelta()), step.at);
  if (z)
    storeChannels(dz, destinationOf(op.getDz()), step.at);
  return next;
}

void SelectiveScanGrad::overTile() {
  loadConstants();
  Value stacks = statesAtChunks();
  Carried start;
  Value zeros = t.fill({rows.size}, b.getF32Type(), 0.0);
  if (Value buffer = bufferOf(op.getDfinalState()))
    start.g = states(buffer);
  else
    start.g = t.fill({rows.size, numStates}, b.getF32Type(), 0.0);
  start.da = t.fill({rows.size, numStates}, b.getF32Type(), 0.0);
  if (skip)
    start.dd = zeros;
  if (bias)
    start.dbias = zeros;
  auto reversed = [&](Value extent, Value i) -> Value {
    Value last = arith::SubIOp::create(b, loc, extent, t.index(1));
    return arith::SubIOp::create(b, loc, last, i);
  };
  SmallVector<Value> end = loop(
      t.index(0), t.index(numChunks), start.all(),
      [&](Value i, ValueRange carried) {
        Value chunk = reversed(t.index(numChunks), i);
        Value before = statesOfChunk(chunk, stacks);
        Value first = firstOf(chunk), steps = lengthOf(chunk);
        return loop(t.index(0), steps, carried,
                    [&](Value j, ValueRange values) {
                      Value at = reversed(steps, j);
                      Step step =
                          load(arith::AddIOp::create(b, loc, first, at));
                      return stepBack(step, peek(before, at),
                                      start.with(values))
                          .all();
                    });
      });
  Carried last = start.with(end);
  storeStates(last.da, destinationOf(op.getDa()));
  if (skip)
    storeChannels(last.dd, destinationOf(op.getDd()));
  if (bias)
    storeChannels(last.dbias, destinationOf(op.getDdeltaBias()));
  if (op.getDinitialState())
    storeStates(last.g, destinationOf(op.getDinitialState()));
}

LogicalResult SelectiveScanGrad::build(const TileTarget &target) {
  std::optional<int64_t> parts = op.getPartialSums();
  if (!parts)
    return op.emitOpError("expected partial_sums; run heddle-split-scans first");
  int64_t size = selectiveRows(op.getU().getType(), op.getB().getType(),
                               op.getC().getType(), target.lanes);
  int64_t tiles = llvm::divideCeil(in.channels, size);
  int64_t tilesOfPart = llvm::divideCeil(tiles, *parts);
  chunkSize = std::max<int64_t>(kMinChunk, std::ceil(std::sqrt(length)));
  chunkSize = std::min(chunkSize, length);
  numChunks = llvm::divideCeil(length, chunkSize);
  SmallVector<OpFoldResult> grid = {b.getIndexAttr(in.batch),
                                    b.getIndexAttr(*parts)};
  auto forall = scf::ForallOp::create(b, loc, grid, ValueRange{}, std::nullopt);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(forall.getTerminator());
  batch = forall.getInductionVar(0);
  part = forall.getInductionVar(1);
  auto isGrouped = [](Value v) {
    return cast<RankedTensorType>(v.getType()).getRank() == 4;
  };
  addsToPart = tilesOfPart > 1 || isGrouped(op.getB()) || isGrouped(op.getC());
  if (addsToPart) {
    clear(destinationOf(op.getDb()));
    clear(destinationOf(op.getDc()));
  }
  auto onTile = [&](Value tile) {
    rows = AxisRange::tile(t.mulAdd(tile, size), size, in.channels);
    overTile();
  };
  if (tilesOfPart == 1) {
    onTile(part);
    return success();
  }
  Value begin = t.mulAdd(part, tilesOfPart);
  Value end = t.mulAdd(part, tilesOfPart, tilesOfPart);
  if (tiles % tilesOfPart != 0)
    end = arith::MinSIOp::create(b, loc, end, t.index(tiles));
  loop(begin, end, {}, [&](Value tile, ValueRange) -> SmallVector<Value> {
    onTile(tile);
    return {};
  });
  return success();
}

int64_t heddle::selectiveScanParts(SelectiveScanGradOp op,
                                   const TileTarget &target) {
  int64_t batch = std::max<int64_t>(1, op.getU().getType().getDimSize(0));
  int64_t size = selectiveRows(op.getU().getType(), op.getB().getType(),
                               op.getC().getType(), target.lanes);
  int64_t tiles =
      llvm::divideCeil(op.getU().getType().getDimSize(2), size);
  int64_t wanted = llvm::divideCeil(2 * target.threads, batch);
  int64_t parts = std::clamp<int64_t>(wanted, 1, std::max<int64_t>(tiles, 1));
  // Parts of equal size, none of them empty.
  int64_t tilesOfPart = llvm::divideCeil(tiles, parts);
  return std::max<int64_t>(
      1, llvm::divideCeil(tiles, std::max<int64_t>(tilesOfPart, 1)));
}

LogicalResult heddle::buildSelectiveScanGrad(SelectiveScanGradOp op,
                                             const TileTarget &target,
                                             OpBuilder &b) {
  return SelectiveScanGrad(op, b).build(target);
}
