//===- SelectiveScanGradTile.cpp - the tile program of its gradient -------===//
//
// For each tile of channels: a walk forward keeps the states at the start of
// each chunk; then, chunk by chunk from the last, the states of the chunk are
// made again and kept, and a walk backward uses them. With chunks of about the
// square root of the length both stacks have that many states.
//
// Gradients of b and c are sums over channels: over those of a tile on chip,
// over the tiles of a block in the buffer, which belongs to the block, and over
// blocks by another kernel, as partial_sums says. Nothing is added atomically.
//
//===----------------------------------------------------------------------===//

#include "SelectiveScan.h"

#include "heddle/Codegen/Tile/KernelBody.h"

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
    Value g;             // cotangent of the states
    Value da, dd, dbias; // sums so far; null where absent
    SmallVector<Value> all() const;
    Carried with(ValueRange values) const;
  };

  /// What a chunk reads besides what the walk forward does, and the sums over
  /// states that its steps fill in, all over (channels, positions).
  struct Outputs {
    Value dy, z, ds;
  };
  struct Sums {
    Value dx, drate, out; // out: null without a gate
  };

  void overTile();
  Value emptyStack(int64_t count);
  Value push(Value stack, Value at, Value tile);
  Value peek(Value stack, Value at);
  Value statesAtChunks();
  Value statesOfChunk(const Inputs &inputs, Value before);
  Outputs loadOutputs(const Chunk &chunk);
  void stepBack(const Inputs &inputs, const Outputs &outputs, Value at,
                Value before, Carried &carried, Sums &sums);
  void finishChunk(const Inputs &inputs, const Outputs &outputs,
                   const Sums &sums, Carried &carried);
  void clear(Value buffer);
  void addRow(Value row, Value buffer, Value at);

  SelectiveScanGradOp op;
  int64_t chunkSize = 1, numChunks = 1;
  Value part;              // number of this block among those of a batch entry
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

/// The states that each chunk starts from, by number in walking order.
Value SelectiveScanGrad::statesAtChunks() {
  SmallVector<Value> all =
      loop(t.index(0), t.index(numChunks - 1),
           {initialStates(), emptyStack(numChunks)},
           [&](Value walk, ValueRange carried) -> SmallVector<Value> {
             Value stack = push(carried[1], walk, carried[0]);
             Inputs inputs = load(chunkAt(walk, chunkSize));
             SmallVector<Value> end =
                 overColumns(inputs.chunk, /*backwards=*/false, carried[0],
                             [&](Value at, ValueRange h) -> SmallVector<Value> {
                               return {advance(stepAt(inputs, at), h[0])};
                             });
             return {end[0], stack};
           });
  return push(all[1], t.index(numChunks - 1), all[0]);
}

/// The states that each step of a chunk starts from, by column.
Value SelectiveScanGrad::statesOfChunk(const Inputs &inputs, Value before) {
  return overColumns(inputs.chunk, /*backwards=*/false,
                     {before, emptyStack(chunkSize)},
                     [&](Value at, ValueRange carried) -> SmallVector<Value> {
                       Value stack = push(carried[1], at, carried[0]);
                       return {advance(stepAt(inputs, at), carried[0]), stack};
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

SelectiveScanGrad::Outputs SelectiveScanGrad::loadOutputs(const Chunk &chunk) {
  Outputs o{channels(bufferOf(op.getDy()), chunk), {}, {}};
  const Dims both = {0, 1};
  if (!in.z) {
    o.ds = overTime(chunk, {o.dy}, {both},
                    [](Scalars &, ValueRange v) { return v[0]; });
    return o;
  }
  o.z = channels(in.z, chunk);
  o.ds =
      overTime(chunk, {o.dy, o.z}, {both, both}, [](Scalars &e, ValueRange v) {
        return e.mul(v[0], e.mul(v[1], e.sigmoid(v[1])));
      });
  return o;
}

void SelectiveScanGrad::stepBack(const Inputs &inputs, const Outputs &outputs,
                                 Value at, Value before, Carried &carried,
                                 Sums &sums) {
  Step step = stepAt(inputs, at);
  Value c = stateRow(in.c, step.at), ds = column(outputs.ds, at);
  const Dims both = {0, 1}, row = {0}, col = {1};
  auto product = [](Scalars &e, ValueRange v) { return e.mul(v[0], v[1]); };
  auto productAndSum = [](Scalars &e, ValueRange v) {
    return e.add(v[0], e.mul(v[1], v[2]));
  };
  Value decay = overStates(
      {rate, step.growth}, {both, row},
      [](Scalars &e, ValueRange v) { return e.exp2(e.mul(v[1], v[0])); });
  Value kept =
      overStates({decay, before}, {both, both}, [&](Scalars &e, ValueRange v) {
        return e.unless(step.resets, e.mul(v[0], v[1]), 0.0);
      });
  Value q = overStates({carried.g, c, ds}, {both, col, row}, productAndSum);
  Value qk = overStates({q, kept}, {both, both}, product);
  Value h = overStates({kept, step.x, step.b}, {both, row, col}, productAndSum);
  // q once more: the result goes where carried.g lies.
  Value g = overStates({carried.g, decay, c, ds}, {both, both, col, row},
                       [&](Scalars &e, ValueRange v) {
                         Value q = e.add(v[0], e.mul(v[2], v[3]));
                         return e.unless(step.resets, e.mul(v[1], q), 0.0);
                       });
  Value da =
      overStates({carried.da, qk, step.dt}, {both, both, row}, productAndSum);
  Value dx = sumStates({q, step.b}, {both, col}, product);
  Value drate = sumStates({qk, rate}, {both, both}, product);
  Value out = sums.out ? sumStates({h, c}, {both, col}, product) : Value();
  Value db = sumChannels({q, step.x}, {both, row}, product);
  Value dc = sumChannels({h, ds}, {both, row}, product);
  carried.g = g;
  carried.da = da;
  sums.dx = withColumn(sums.dx, at, dx);
  sums.drate = withColumn(sums.drate, at, drate);
  if (out)
    sums.out = withColumn(sums.out, at, out);
  addRow(db, destinationOf(op.getDb()), step.at);
  addRow(dc, destinationOf(op.getDc()), step.at);
}

/// What follows from the sums over states, for all steps of a chunk at once.
void SelectiveScanGrad::finishChunk(const Inputs &inputs,
                                    const Outputs &outputs, const Sums &sums,
                                    Carried &carried) {
  const Chunk &chunk = inputs.chunk;
  const Dims both = {0, 1}, row = {0};
  auto elementOf = [](Value v) {
    return cast<RankedTensorType>(v.getType()).getElementType();
  };
  SmallVector<Value> parts = {sums.dx, inputs.dt};
  SmallVector<Dims> dims = {both, both};
  if (skip) {
    parts.append({skip, outputs.ds});
    dims.append({row, both});
  }
  Value du = overTime(
      chunk, parts, dims,
      [&](Scalars &e, ValueRange v) {
        Value r = e.mul(v[0], v[1]);
        return skip ? e.add(r, e.mul(v[2], v[3])) : r;
      },
      elementOf(op.getDu()));
  parts = {sums.dx, inputs.u, sums.drate};
  dims = {both, both, both};
  rawInputs(inputs.delta, parts, dims);
  // drate has the factor log2 e of the rate.
  Value ddelta = overTime(chunk, parts, dims, [&](Scalars &e, ValueRange v) {
    Value ddt = e.add(e.mul(v[0], v[1]), e.mul(v[2], e.number(kLn2)));
    return in.softplus ? e.mul(ddt, e.softplusSlope(raw(e, v.drop_front(3))))
                       : ddt;
  });
  auto sum = [](Scalars &e, ValueRange v) { return e.add(v[0], v[1]); };
  if (carried.dbias) {
    Value more = sumTime(chunk, {ddelta}, {both},
                         [](Scalars &, ValueRange v) { return v[0]; });
    carried.dbias = overChannels({carried.dbias, more}, sum);
  }
  if (carried.dd) {
    Value more =
        sumTime(chunk, {outputs.ds, inputs.u}, {both, both},
                [](Scalars &e, ValueRange v) { return e.mul(v[0], v[1]); });
    carried.dd = overChannels({carried.dd, more}, sum);
  }
  Value dz;
  if (in.z) {
    parts = {outputs.dy, outputs.z, sums.out};
    dims = {both, both, both};
    if (skip) {
      parts.append({skip, inputs.u});
      dims.append({row, both});
    }
    dz = overTime(
        chunk, parts, dims,
        [&](Scalars &e, ValueRange v) {
          Value s = skip ? e.add(v[2], e.mul(v[3], v[4])) : v[2];
          // silu'(z) = sigmoid + z sigmoid (1 - sigmoid)
          Value half = e.sigmoid(v[1]);
          Value slope =
              e.add(half, e.mul(e.mul(v[1], half), e.sub(e.number(1.0), half)));
          return e.mul(e.mul(v[0], s), slope);
        },
        elementOf(op.getDz()));
  }
  Type deltaType = elementOf(op.getDdelta());
  if (!deltaType.isF32())
    ddelta = overTime(
        chunk, {ddelta}, {both}, [](Scalars &, ValueRange v) { return v[0]; },
        deltaType);
  storeChannels(du, destinationOf(op.getDu()), chunk);
  storeChannels(ddelta, destinationOf(op.getDdelta()), chunk);
  if (dz)
    storeChannels(dz, destinationOf(op.getDz()), chunk);
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
  SmallVector<Value> end = loop(
      t.index(0), t.index(numChunks), start.all(),
      [&](Value i, ValueRange values) {
        Carried carried = start.with(values);
        Value walk = arith::SubIOp::create(b, loc, t.index(numChunks - 1), i);
        Inputs inputs = load(chunkAt(walk, chunkSize));
        Value before = statesOfChunk(inputs, peek(stacks, walk));
        Outputs outputs = loadOutputs(inputs.chunk);
        // Two carried states, then the sums. Those of da start anew in each
        // chunk, as long sums round more.
        Value none = t.fill({rows.size, numStates}, b.getF32Type(), 0.0);
        SmallVector<Value> inits = {carried.g, none};
        for (int sum = 0; sum < (in.z ? 3 : 2); ++sum)
          inits.push_back(undefined({rows.size, chunkSize}));
        SmallVector<Value> filled = overColumns(
            inputs.chunk, /*backwards=*/true, inits,
            [&](Value at, ValueRange v) -> SmallVector<Value> {
              Carried next{v[0], v[1], {}, {}};
              Sums sums{v[2], v[3], in.z ? v[4] : Value()};
              stepBack(inputs, outputs, at, peek(before, at), next, sums);
              SmallVector<Value> all = {next.g, next.da, sums.dx, sums.drate};
              if (sums.out)
                all.push_back(sums.out);
              return all;
            });
        carried.g = filled[0];
        carried.da = overStates(
            {carried.da, filled[1]}, {Dims{0, 1}, Dims{0, 1}},
            [](Scalars &e, ValueRange v) { return e.add(v[0], v[1]); });
        finishChunk(inputs, outputs,
                    {filled[2], filled[3], in.z ? filled[4] : Value()},
                    carried);
        return carried.all();
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
    return op.emitOpError(
        "expected partial_sums; run heddle-split-scans first");
  int64_t size = selectiveRows(op.getU().getType(), op.getB().getType(),
                               op.getC().getType(), target.lanes);
  int64_t tiles = llvm::divideCeil(in.channels, size);
  int64_t tilesOfPart = std::max<int64_t>(1, llvm::divideCeil(tiles, *parts));
  chunkSize = std::max<int64_t>(kMinChunk, std::ceil(std::sqrt(length)));
  chunkSize = std::max<int64_t>(1, std::min(chunkSize, length));
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
  // Without channels the sums over them are zero.
  addsToPart = tiles == 0 || tilesOfPart > 1 || isGrouped(op.getB()) ||
               isGrouped(op.getC());
  if (addsToPart) {
    clear(destinationOf(op.getDb()));
    clear(destinationOf(op.getDc()));
  }
  if (tiles == 0)
    return success();
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
  int64_t tiles = llvm::divideCeil(op.getU().getType().getDimSize(2), size);
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
