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

#include <numeric>

using namespace mlir;
using namespace heddle;

static constexpr double kLog2e = 1.4426950408889634;

template <typename OpTy> SelectiveOperands SelectiveOperands::of(OpTy op) {
  auto u = cast<RankedTensorType>(op.getU().getType());
  return {bufferOf(op.getU()),
          bufferOf(op.getDelta()),
          bufferOf(op.getA()),
          bufferOf(op.getB()),
          bufferOf(op.getC()),
          bufferOf(op.getD()),
          bufferOf(op.getZ()),
          bufferOf(op.getDeltaBias()),
          bufferOf(op.getInitialState()),
          bufferOf(op.getResetIds()),
          op.getDeltaSoftplus(),
          op.getReverse(),
          u.getDimSize(0),
          u.getDimSize(1),
          u.getDimSize(2),
          cast<RankedTensorType>(op.getA().getType()).getDimSize(1)};
}
template SelectiveOperands SelectiveOperands::of(SelectiveScanOp op);
template SelectiveOperands SelectiveOperands::of(SelectiveScanGradOp op);

int64_t heddle::selectiveRows(RankedTensorType u, RankedTensorType b,
                              RankedTensorType c, int64_t lanes) {
  int64_t channels = u.getDimSize(2), group = 0;
  for (RankedTensorType type : {b, c})
    group = std::gcd(group, type.getRank() == 4
                                ? channels / type.getDimSize(2)
                                : channels);
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

SelectiveScan::Step SelectiveScan::load(Value step) {
  Step s;
  s.at = position(step);
  s.resets = startsSegment(step);
  s.u = channels(in.u, s.at);
  s.delta = channels(in.delta, s.at);
  s.b = stateRow(in.b, s.at);
  s.dt = overChannels(rawStepInputs(s.delta), [&](Scalars &e, ValueRange v) {
    Value raw = rawStep(e, v);
    return in.softplus ? e.softplus(raw) : raw;
  });
  s.input = overChannels({s.dt, s.u}, [](Scalars &e, ValueRange v) {
    return e.mul(v[0], v[1]);
  });
  return s;
}

Value SelectiveScan::advance(const Step &step, Value states) {
  return overStates(
      {rate, step.dt, states, step.input, step.b},
      {{0, 1}, {0}, {0, 1}, {0}, {1}}, [&](Scalars &e, ValueRange v) {
        Value decay = e.exp2(e.mul(v[1], v[0]));
        return e.add(e.mul(v[3], v[4]),
                     e.mul(decay, e.unless(step.resets, v[2], 0.0)));
      });
}

LogicalResult heddle::buildSelectiveScan(SelectiveScanOp op,
                                         const TileTarget &target,
                                         OpBuilder &b) {
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
  SmallVector<Value> last = s.loop(
      s.t.index(0), s.t.index(s.length), s.initialStates(),
      [&](Value number, ValueRange carried) -> SmallVector<Value> {
        SelectiveScan::Step step = s.load(number);
        Value c = s.stateRow(s.in.c, step.at);
        Value h = s.advance(step, carried[0]);
        SmallVector<Value> parts = {s.sumStates(
            {h, c}, {{0, 1}, {1}},
            [](Scalars &e, ValueRange v) { return e.mul(v[0], v[1]); })};
        if (s.skip)
          parts.append({s.skip, step.u});
        if (s.in.z)
          parts.push_back(s.channels(s.in.z, step.at));
        Value y = s.overChannels(
            parts,
            [&](Scalars &e, ValueRange v) {
              Value out = v[0];
              if (s.skip)
                out = e.add(out, e.mul(v[1], v[2]));
              if (s.in.z)
                out = e.mul(out, e.mul(v.back(), e.sigmoid(v.back())));
              return out;
            },
            op.getU().getType().getElementType());
        s.storeChannels(y, destinationOf(op.getY()), step.at);
        return {h};
      });
  if (op.getFinalState())
    s.storeStates(last[0], destinationOf(op.getFinalState()));
  return success();
}
