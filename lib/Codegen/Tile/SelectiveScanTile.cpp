//===- SelectiveScanTile.cpp - the tile program of selective scan ---------===//
//
// A block walks over time once with the states of its channels on chip; states
// of all steps exist nowhere. Channels of a block share b and c, so their tile
// does not cross a group.
//
//===----------------------------------------------------------------------===//

#include "ScanBuilder.h"

#include "heddle/Codegen/Tile/KernelBody.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;
using namespace heddle;

static constexpr double kLog2e = 1.4426950408889634;

/// Channels that read the same rows of b and of c; all of them without groups.
static int64_t channelsOfGroup(int64_t channels, Value b, Value c) {
  int64_t size = 0;
  for (Value v : {b, c}) {
    auto type = cast<RankedTensorType>(v.getType());
    size = std::gcd(size, type.getRank() == 4 ? channels / type.getDimSize(2)
                                              : channels);
  }
  return size;
}

/// The largest tile that divides a group, or the whole group where its divisors
/// would leave most lanes empty.
static int64_t selectiveRows(int64_t channels, int64_t group, int64_t lanes) {
  if (group == channels)
    return lanes;
  for (int64_t size = lanes; 2 * size > lanes; --size)
    if (group % size == 0)
      return size;
  return group;
}

LogicalResult heddle::buildSelectiveScan(SelectiveScanOp op,
                                         const TileTarget &target,
                                         OpBuilder &b) {
  Location loc = op.getLoc();
  auto type = op.getU().getType();
  int64_t batch = type.getDimSize(0), channels = type.getDimSize(2);
  int64_t size = selectiveRows(
      channels, channelsOfGroup(channels, op.getB(), op.getC()), target.lanes);
  ScanBuilder s(b, loc, type.getDimSize(1), op.getReverse(),
                bufferOf(op.getResetIds()));
  s.numStates = op.getA().getType().getDimSize(1);
  SmallVector<OpFoldResult> grid = {
      b.getIndexAttr(batch),
      b.getIndexAttr(llvm::divideCeil(channels, size))};
  auto forall = scf::ForallOp::create(b, loc, grid, ValueRange{}, std::nullopt);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(forall.getTerminator());
  s.batch = forall.getInductionVar(0);
  s.rows = AxisRange::tile(s.t.mulAdd(forall.getInductionVar(1), size), size,
                           channels);

  // exp(dt * a) = 2^(dt * (a * log2 e))
  Value rate = s.overStates(
      {s.states(bufferOf(op.getA()))}, {{0, 1}},
      [](Scalars &e, ValueRange v) { return e.mul(v[0], e.number(kLog2e)); });
  Value bias, skip;
  if (Value buffer = bufferOf(op.getDeltaBias()))
    bias = s.channels(buffer);
  if (Value buffer = bufferOf(op.getD()))
    skip = s.channels(buffer);
  Value initial;
  if (Value buffer = bufferOf(op.getInitialState()))
    initial = s.states(buffer);
  else
    initial = s.t.fill({size, s.numStates}, b.getF32Type(), 0.0);

  SmallVector<Value> last = s.loop(
      s.t.index(0), s.t.index(s.length), initial,
      [&](Value step, ValueRange carried) -> SmallVector<Value> {
        Value at = s.position(step), resets = s.startsSegment(step);
        Value u = s.channels(bufferOf(op.getU()), at);
        Value delta = s.channels(bufferOf(op.getDelta()), at);
        Value bRow = s.stateRow(bufferOf(op.getB()), at);
        Value cRow = s.stateRow(bufferOf(op.getC()), at);
        SmallVector<Value> steps = {delta};
        if (bias)
          steps.push_back(bias);
        Value dt = s.overChannels(steps, [&](Scalars &e, ValueRange v) {
          Value sum = v.size() > 1 ? e.add(v[0], v[1]) : v[0];
          return op.getDeltaSoftplus() ? e.softplus(sum) : sum;
        });
        Value input = s.overChannels({dt, u}, [](Scalars &e, ValueRange v) {
          return e.mul(v[0], v[1]);
        });
        Value h = s.overStates(
            {rate, dt, carried[0], input, bRow}, {{0, 1}, {0}, {0, 1}, {0}, {1}},
            [&](Scalars &e, ValueRange v) {
              Value decay = e.exp2(e.mul(v[1], v[0]));
              return e.add(e.mul(v[3], v[4]),
                           e.mul(decay, e.unless(resets, v[2], 0.0)));
            });
        Value y = s.sumStates({h, cRow}, {{0, 1}, {1}},
                              [](Scalars &e, ValueRange v) {
                                return e.mul(v[0], v[1]);
                              });
        SmallVector<Value> parts = {y};
        if (skip)
          parts.append({skip, u});
        if (op.getZ())
          parts.push_back(s.channels(bufferOf(op.getZ()), at));
        y = s.overChannels(
            parts,
            [&](Scalars &e, ValueRange v) {
              Value out = v[0];
              if (skip)
                out = e.add(out, e.mul(v[1], v[2]));
              if (op.getZ())
                out = e.mul(out, e.mul(v.back(), e.sigmoid(v.back())));
              return out;
            },
            type.getElementType());
        s.storeChannels(y, destinationOf(op.getY()), at);
        return {h};
      });
  if (op.getFinalState())
    s.storeStates(last[0], destinationOf(op.getFinalState()));
  return success();
}
