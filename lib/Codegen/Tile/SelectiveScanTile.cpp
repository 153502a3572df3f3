//===- SelectiveScanTile.cpp - the tile program of selective scan ---------===//
//
// A block walks over time once with the states of its channels on chip; states
// of all steps exist nowhere. Channels of a block share b and c, so their tile
// does not cross a group.
//
//===----------------------------------------------------------------------===//

#include "SelectiveScan.h"

#include "heddle/Codegen/Tile/KernelBody.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace heddle;

static constexpr double kLog2e = 1.4426950408889634;
/// Steps to a chunk: enough for the step sizes to be made side by side, few
/// enough to leave the first cache to the states.
static constexpr int64_t kChunk = 16;

int64_t heddle::selectiveRows(RankedTensorType u, RankedTensorType b,
                              RankedTensorType c, int64_t lanes) {
  int64_t channels = u.getDimSize(2), group = selectiveGroup(channels, b, c);
  if (group == channels)
    return lanes;
  for (int64_t size = lanes; 2 * size > lanes; --size)
    if (group % size == 0)
      return size;
  return group;
}

//===----------------------------------------------------------------------===//
// The walk forward
//===----------------------------------------------------------------------===//

void SelectiveScan::loadConstants() {
  rate = overStates({states(in.a)}, {{0, 1}}, [](Scalars &e, ValueRange v) {
    return e.mul(v[0], e.number(kLog2e));
  });
  if (in.deltaBias)
    bias = channels(in.deltaBias);
  if (in.d)
    skip = channels(in.d);
}

Value SelectiveScan::initialStates() {
  if (in.initialState)
    return states(in.initialState);
  return t.fill({rows.size, numStates}, b.getF32Type(), 0.0);
}

void SelectiveScan::rawInputs(Value delta, SmallVector<Value> &inputs,
                              SmallVector<Dims> &dims) {
  inputs.push_back(delta);
  dims.push_back({0, 1});
  if (!bias)
    return;
  inputs.push_back(bias);
  dims.push_back({0});
}

SelectiveScan::Inputs SelectiveScan::load(const Chunk &chunk) {
  Inputs s{chunk, channels(in.u, chunk), channels(in.delta, chunk), {}, {}};
  SmallVector<Value> inputs;
  SmallVector<Dims> dims;
  rawInputs(s.delta, inputs, dims);
  s.dt = overTime(chunk, inputs, dims, [&](Scalars &e, ValueRange v) {
    return in.softplus ? e.softplus(raw(e, v)) : raw(e, v);
  });
  s.x = overTime(chunk, {s.dt, s.u}, {{0, 1}, {0, 1}},
                 [](Scalars &e, ValueRange v) { return e.mul(v[0], v[1]); });
  return s;
}

SelectiveScan::Step SelectiveScan::stepAt(const Inputs &inputs, Value at) {
  Step s;
  s.at = arith::AddIOp::create(b, loc, inputs.chunk.first, at);
  s.resets = startsSegment(s.at);
  s.dt = column(inputs.dt, at);
  s.x = column(inputs.x, at);
  s.b = stateRow(in.b, s.at);
  // An infinite decay would make NaN of a state of zero.
  s.growth = s.dt;
  if (Value starts = startsScan(s.at, s.resets, bool(in.initialState)))
    s.growth = overChannels({s.dt}, [&](Scalars &e, ValueRange v) {
      return e.unless(starts, v[0], 0.0);
    });
  return s;
}

Value SelectiveScan::advance(const Step &step, Value states) {
  return overStates(
      {rate, step.growth, states, step.x, step.b},
      {{0, 1}, {0}, {0, 1}, {0}, {1}}, [&](Scalars &e, ValueRange v) {
        Value decay = e.exp2(e.mul(v[1], v[0]));
        return e.add(e.mul(v[3], v[4]),
                     e.mul(decay, e.unless(step.resets, v[2], 0.0)));
      });
}

LogicalResult heddle::buildSelectiveScan(SelectiveScanOp op,
                                         const TileTarget &target,
                                         OpBuilder &b) {
  if (op.getChunkStates())
    return op.emitOpError("expected no chunk_states on a CPU, got chunk = ")
           << *op.getChunk() << "; use --target=sm_80 or another GPU";
  SelectiveScan s(b, op.getLoc(), SelectiveOperands::of(op));
  int64_t size = selectiveRows(op.getU().getType(), op.getB().getType(),
                               op.getC().getType(), target.lanes);
  SmallVector<OpFoldResult> grid = {
      b.getIndexAttr(s.in.batch),
      b.getIndexAttr(llvm::divideCeil(s.in.channels, size))};
  auto forall =
      scf::ForallOp::create(b, op.getLoc(), grid, ValueRange{}, std::nullopt);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(forall.getTerminator());
  s.batch = forall.getInductionVar(0);
  s.rows = AxisRange::tile(s.t.mulAdd(forall.getInductionVar(1), size), size,
                           s.in.channels);
  s.loadConstants();
  int64_t chunkSize = std::clamp<int64_t>(s.length, 1, kChunk);
  Value last = s.loop(
      s.t.index(0), s.t.index(llvm::divideCeil(s.length, chunkSize)),
      s.initialStates(),
      [&](Value walk, ValueRange carried) -> SmallVector<Value> {
        SelectiveScan::Inputs inputs = s.load(s.chunkAt(walk, chunkSize));
        const SelectiveScan::Chunk &chunk = inputs.chunk;
        SmallVector<Value> end = s.overColumns(
            chunk, /*backwards=*/false,
            {carried[0], s.undefined({size, chunkSize})},
            [&](Value at, ValueRange values) -> SmallVector<Value> {
              SelectiveScan::Step step = s.stepAt(inputs, at);
              Value c = s.stateRow(s.in.c, step.at);
              Value h = s.advance(step, values[0]);
              Value y = s.sumStates(
                  {h, c}, {{0, 1}, {1}},
                  [](Scalars &e, ValueRange v) { return e.mul(v[0], v[1]); });
              return {h, s.withColumn(values[1], at, y)};
            });
        const ScanBuilder::Dims both = {0, 1}, row = {0};
        SmallVector<Value> parts = {end[1]};
        SmallVector<ScanBuilder::Dims> dims = {both};
        if (s.skip) {
          parts.append({s.skip, inputs.u});
          dims.append({row, both});
        }
        if (s.in.z) {
          parts.push_back(s.channels(s.in.z, chunk));
          dims.push_back(both);
        }
        Value y = s.overTime(
            chunk, parts, dims,
            [&](Scalars &e, ValueRange v) {
              Value out = v[0];
              if (s.skip)
                out = e.add(out, e.mul(v[1], v[2]));
              if (s.in.z)
                out = e.mul(out, e.mul(v.back(), e.sigmoid(v.back())));
              return out;
            },
            op.getU().getType().getElementType());
        s.storeChannels(y, destinationOf(op.getY()), chunk);
        return {end[0]};
      })[0];
  if (op.getFinalState())
    s.storeStates(last, destinationOf(op.getFinalState()));
  return success();
}
