//===- ScanTile.cpp - the tile programs of scans --------------------------===//

#include "ScanBuilder.h"

#include "heddle/Codegen/Tile/KernelBody.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace heddle;

/// Channels to a block of a linear scan: long runs of memory, as long as the
/// grid feeds the workers. States and inputs of a step stay in the first cache.
static int64_t linearRows(int64_t batch, int64_t channels,
                          const TileTarget &target) {
  int64_t rows = 1024, wanted = 2 * target.threads;
  auto blocks = [&] {
    return batch * static_cast<int64_t>(llvm::divideCeil(channels, rows));
  };
  while (rows > target.lanes && (rows / 2 >= channels || blocks() < wanted))
    rows /= 2;
  return std::max(rows, target.lanes);
}

LogicalResult heddle::buildLinearScan(LinearScanOp op,
                                      const TileTarget &target, OpBuilder &b) {
  Location loc = op.getLoc();
  auto type = op.getB().getType();
  int64_t batch = type.getDimSize(0), channels = type.getDimSize(2);
  int64_t size = linearRows(batch, channels, target);
  ScanBuilder s(b, loc, type.getDimSize(1), op.getReverse(),
                bufferOf(op.getResetIds()));
  SmallVector<OpFoldResult> grid = {
      b.getIndexAttr(batch),
      b.getIndexAttr(llvm::divideCeil(channels, size))};
  auto forall = scf::ForallOp::create(b, loc, grid, ValueRange{}, std::nullopt);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(forall.getTerminator());
  s.batch = forall.getInductionVar(0);
  s.rows = AxisRange::tile(s.t.mulAdd(forall.getInductionVar(1), size), size,
                           channels);

  bool complex = op.isComplex(), constant = op.hasConstantDecay();
  auto initial = [&](Value state) {
    Value buffer = bufferOf(state);
    return buffer ? s.channels(buffer) : s.t.fill({size}, b.getF32Type(), 0.0);
  };
  SmallVector<Value> carried = {initial(op.getInitialState())};
  if (complex)
    carried.push_back(initial(op.getInitialStateImag()));
  Value a = bufferOf(op.getA()), aImag = bufferOf(op.getAImag());
  Value decay, decayImag;
  if (constant) {
    decay = s.channels(a);
    if (complex)
      decayImag = s.channels(aImag);
  }
  Type element = type.getElementType();
  auto store = [&](Value h, Value to, Value at) {
    if (!element.isF32())
      h = s.overChannels(
          {h}, [](Scalars &, ValueRange v) { return v[0]; }, element);
    s.storeChannels(h, destinationOf(to), at);
  };

  SmallVector<Value> last = s.loop(
      s.t.index(0), s.t.index(s.length), carried,
      [&](Value step, ValueRange h) -> SmallVector<Value> {
        Value at = s.position(step), resets = s.startsSegment(step);
        Value ar = constant ? decay : s.channels(a, at);
        Value br = s.channels(bufferOf(op.getB()), at);
        if (!complex) {
          Value next =
              s.overChannels({h[0], ar, br}, [&](Scalars &e, ValueRange v) {
                return e.add(v[2], e.mul(v[1], e.unless(resets, v[0], 0.0)));
              });
          store(next, op.getH(), at);
          return {next};
        }
        Value ai = constant ? decayImag : s.channels(aImag, at);
        Value bi = s.channels(bufferOf(op.getBImag()), at);
        // (ar + i ai) (hr + i hi) + br + i bi
        Value re = s.overChannels(
            {h[0], h[1], ar, ai, br}, [&](Scalars &e, ValueRange v) {
              Value hr = e.unless(resets, v[0], 0.0);
              Value hi = e.unless(resets, v[1], 0.0);
              return e.add(e.sub(v[4], e.mul(v[3], hi)), e.mul(v[2], hr));
            });
        Value im = s.overChannels(
            {h[0], h[1], ar, ai, bi}, [&](Scalars &e, ValueRange v) {
              Value hr = e.unless(resets, v[0], 0.0);
              Value hi = e.unless(resets, v[1], 0.0);
              return e.add(e.add(v[4], e.mul(v[3], hr)), e.mul(v[2], hi));
            });
        store(re, op.getH(), at);
        store(im, op.getHImag(), at);
        return {re, im};
      });
  if (op.getFinalState())
    s.storeChannels(last[0], destinationOf(op.getFinalState()));
  if (op.getFinalStateImag())
    s.storeChannels(last[1], destinationOf(op.getFinalStateImag()));
  return success();
}

LogicalResult heddle::buildScanTile(func::FuncOp kernel,
                                    const TileTarget &target) {
  OpBuilder b(kernel.getBody().front().getTerminator());
  for (Operation &op : kernel.getBody().front()) {
    if (auto scan = dyn_cast<LinearScanOp>(op))
      return buildLinearScan(scan, target, b);
    if (auto scan = dyn_cast<SelectiveScanOp>(op))
      return buildSelectiveScan(scan, target, b);
    if (auto scan = dyn_cast<SelectiveScanGradOp>(op))
      return buildSelectiveScanGrad(scan, target, b);
  }
  return kernel.emitError("expected a scan in a kernel of family scan");
}
