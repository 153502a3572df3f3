//===- ChunkScans.cpp - chunks of time that feed a GPU --------------------===//
//
// Reduce, scan, scan (Merrill and Grimshaw, "Parallel Scan for Stream
// Architectures", 2009) over time: the map of each chunk, the states between
// chunks, the chunks.
//
//===----------------------------------------------------------------------===//

#include "ScanStates.h"

#include "heddle/Codegen/GPU/ScanThreads.h"
#include "heddle/Codegen/Tile/TileBuilder.h"
#include "heddle/Dialect/Heddle/IR/Heddle.h"
#include "heddle/Dialect/Heddle/IR/ScanChunks.h"
#include "heddle/Dialect/Heddle/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

namespace heddle {
#define GEN_PASS_DEF_CHUNKSCANSPASS
#include "heddle/Dialect/Heddle/Transforms/Passes.h.inc"
} // namespace heddle

using namespace mlir;
using namespace heddle;

static Type typeOf(Value v) { return v ? v.getType() : Type(); }

namespace {
/// A number, or the two parts of a complex one.
struct Parts {
  Value re, im;
};

class Chunker {
public:
  /// `known`: the states that enter the chunks, null: they are to be found.
  Chunker(OpBuilder &b, Location loc, int64_t chunks, Value known)
      : b(b), loc(loc), chunks(chunks), known(known) {}

  /// What replaces the results of the op.
  SmallVector<Value> chunk(LinearScanOp op);
  SmallVector<Value> chunk(LinearScanGradOp op);
  SmallVector<Value> chunk(SelectiveScanOp op);
  SmallVector<Value> chunk(SelectiveScanGradOp op);

private:
  RankedTensorType entries(ArrayRef<int64_t> shape) {
    SmallVector<int64_t> all(shape);
    all.insert(all.begin() + 1, chunks);
    return RankedTensorType::get(all, b.getF32Type());
  }
  Parts entering(LinearScanMapsOp maps, Parts initial, bool reverse);
  Value entering(SelectiveScanMapsOp maps, Value initial, bool reverse);
  template <typename OpTy> Value statesBefore(OpTy op);

  OpBuilder &b;
  Location loc;
  int64_t chunks;
  Value known;
};
} // namespace

/// The states that enter the chunks of a walk.
Parts Chunker::entering(LinearScanMapsOp maps, Parts initial, bool reverse) {
  auto scan = LinearScanOp::create(
      b, loc, maps.getState().getType(), typeOf(maps.getStateImag()),
      /*final_state=*/Type(), /*final_state_imag=*/Type(), maps.getDecay(),
      maps.getState(), maps.getDecayImag(), maps.getStateImag(), initial.re,
      initial.im, /*reset_ids=*/Value(), reverse,
      /*nan_resets=*/static_cast<bool>(maps.getResetIds()));
  return {scan.getH(), scan.getHImag()};
}

SmallVector<Value> Chunker::chunk(LinearScanOp op) {
  ArrayRef<int64_t> shape = op.getB().getType().getShape();
  RankedTensorType entry = entries({shape[0], shape[2]});
  Type imag = op.isComplex() ? entry : Type();
  auto maps = LinearScanMapsOp::create(
      b, loc, entry, entry, imag, imag, op.getA(), op.getB(), op.getAImag(),
      op.getBImag(), op.getResetIds(), op.getReverse(), /*gradient=*/false);
  Parts states = entering(
      maps, {op.getInitialState(), op.getInitialStateImag()}, op.getReverse());
  auto scan = LinearScanOp::create(
      b, loc, op.getH().getType(), typeOf(op.getHImag()),
      typeOf(op.getFinalState()), typeOf(op.getFinalStateImag()), op.getA(),
      op.getB(), op.getAImag(), op.getBImag(), states.re, states.im,
      op.getResetIds(), op.getReverse(), /*nan_resets=*/false,
      /*fresh=*/!op.getInitialState());
  return SmallVector<Value>(scan->getResults());
}

SmallVector<Value> Chunker::chunk(LinearScanGradOp op) {
  ArrayRef<int64_t> shape = op.getH().getType().getShape();
  RankedTensorType entry = entries({shape[0], shape[2]});
  Type imag = op.isComplex() ? entry : Type();
  auto maps = LinearScanMapsOp::create(
      b, loc, entry, entry, imag, imag, op.getA(), op.getDh(), op.getAImag(),
      op.getDhImag(), op.getResetIds(), op.getReverse(), /*gradient=*/true);
  Parts states = entering(maps, {op.getDfinalState(), op.getDfinalStateImag()},
                          !op.getReverse());
  auto grad = LinearScanGradOp::create(
      b, loc, op.getDa().getType(), op.getDb().getType(),
      typeOf(op.getDaImag()), typeOf(op.getDbImag()),
      typeOf(op.getDinitialState()), typeOf(op.getDinitialStateImag()),
      op.getA(), op.getH(), op.getDh(), op.getAImag(), op.getHImag(),
      op.getDhImag(), op.getInitialState(), op.getInitialStateImag(), states.re,
      states.im, op.getResetIds(), op.getReverse(),
      /*partial_sums=*/false);
  return SmallVector<Value>(grad->getResults());
}

/// The same for the states of a selective scan, each a channel of a linear one.
Value Chunker::entering(SelectiveScanMapsOp maps, Value initial, bool reverse) {
  RankedTensorType type = maps.getState().getType();
  int64_t channels = type.getDimSize(2) * type.getDimSize(3);
  RankedTensorType flat = entries({type.getDimSize(0), channels});
  SmallVector<ReassociationIndices> merge = {{0}, {1}, {2, 3}};
  auto collapse = [&](Value v) -> Value {
    return tensor::CollapseShapeOp::create(b, loc, flat, v, merge);
  };
  if (initial)
    initial = tensor::CollapseShapeOp::create(
        b, loc,
        RankedTensorType::get({type.getDimSize(0), channels}, b.getF32Type()),
        initial, SmallVector<ReassociationIndices>{{0}, {1, 2}});
  auto scan = LinearScanOp::create(
      b, loc, flat, /*h_imag=*/Type(), /*final_state=*/Type(),
      /*final_state_imag=*/Type(), collapse(maps.getDecay()),
      collapse(maps.getState()), /*a_imag=*/Value(), /*b_imag=*/Value(),
      initial, /*initial_state_imag=*/Value(), /*reset_ids=*/Value(), reverse,
      /*nan_resets=*/static_cast<bool>(maps.getResetIds()));
  return tensor::ExpandShapeOp::create(b, loc, type, scan.getH(), merge);
}

/// The states that enter the chunks of a selective scan, or of that whose
/// gradient this is.
template <typename OpTy> Value Chunker::statesBefore(OpTy op) {
  ArrayRef<int64_t> shape = op.getU().getType().getShape();
  RankedTensorType entry =
      entries({shape[0], shape[2], op.getA().getType().getDimSize(1)});
  auto maps = SelectiveScanMapsOp::create(
      b, loc, entry, entry, op.getU(), op.getDelta(), op.getA(), op.getB(),
      /*z=*/Value(), op.getDeltaBias(), op.getResetIds(), op.getDeltaSoftplus(),
      op.getReverse());
  return entering(maps, op.getInitialState(), op.getReverse());
}

SmallVector<Value> Chunker::chunk(SelectiveScanOp op) {
  auto scan = SelectiveScanOp::create(
      b, loc, op.getY().getType(), typeOf(op.getFinalState()), op.getU(),
      op.getDelta(), op.getA(), op.getB(), op.getC(), op.getD(), op.getZ(),
      op.getDeltaBias(), statesBefore(op), op.getResetIds(),
      op.getDeltaSoftplus(), op.getReverse(),
      /*fresh=*/!op.getInitialState());
  return SmallVector<Value>(scan->getResults());
}

SmallVector<Value> Chunker::chunk(SelectiveScanGradOp op) {
  Value first = known ? known : statesBefore(op);
  auto type = cast<RankedTensorType>(first.getType());
  auto maps = SelectiveScanMapsOp::create(
      b, loc, type, type, op.getDy(), op.getDelta(), op.getA(), op.getC(),
      op.getZ(), op.getDeltaBias(), op.getResetIds(), op.getDeltaSoftplus(),
      op.getReverse(), /*gradient=*/true);
  Value last = entering(maps, op.getDfinalState(), !op.getReverse());
  Type initial = RankedTensorType::get(
      {type.getDimSize(0), type.getDimSize(2), type.getDimSize(3)},
      b.getF32Type());
  auto grad = SelectiveScanGradOp::create(
      b, loc, op.getDu().getType(), op.getDdelta().getType(),
      op.getDa().getType(), op.getDb().getType(), op.getDc().getType(),
      typeOf(op.getDd()), typeOf(op.getDz()), typeOf(op.getDdeltaBias()),
      initial, /*scratch=*/Type(), op.getU(), op.getDelta(), op.getA(),
      op.getB(), op.getC(), op.getD(), op.getZ(), op.getDeltaBias(), first,
      op.getResetIds(), op.getDy(), last, /*chunk_states=*/Value(),
      op.getDeltaSoftplusAttr(), op.getReverseAttr(), /*chunk=*/IntegerAttr(),
      /*partial_sums=*/IntegerAttr(),
      op.getInitialState() ? UnitAttr() : b.getUnitAttr());
  SmallVector<Value> results(grad->getResults());
  // Without an initial state nobody asks for its gradient.
  if (!op.getInitialState())
    results.pop_back();
  return results;
}

/// The sequence (B, L, D) that a scan walks over; null: it is not cut.
static Value sequenceOf(Operation *op) {
  if (isScanOverChunks(op))
    return {};
  if (auto scan = dyn_cast<LinearScanOp>(op))
    return scan.getB();
  if (auto scan = dyn_cast<LinearScanGradOp>(op))
    return scan.getPartialSums() ? Value() : scan.getH();
  if (auto scan = dyn_cast<SelectiveScanGradOp>(op)) {
    bool whole = !scan.getPartialSums() && !scan.getChunkStates();
    return whole && scan.getA().getType().getDimSize(1) != 0 ? scan.getU()
                                                             : Value();
  }
  auto scan = dyn_cast<SelectiveScanOp>(op);
  // Nothing but y and the final state has a form for chunks.
  if (!scan || scan->getNumResults() != (scan.getFinalState() ? 2 : 1) ||
      scan.getA().getType().getDimSize(1) == 0)
    return {};
  return scan.getU();
}

namespace {
struct ChunkScans : heddle::impl::ChunkScansPassBase<ChunkScans> {
  using ChunkScansPassBase::ChunkScansPassBase;

  int64_t chunksOf(Operation *op, int64_t length) {
    TileTarget target;
    target.threads = threads;
    int64_t wanted = chunks ? chunks : scanTimeChunks(op, target);
    if (wanted <= 1)
      return 1;
    // All chunks have the same length, so that there may be fewer of them.
    return llvm::divideCeil(length, scanChunkSteps(length, wanted));
  }

  void runOnOperation() override {
    SmallVector<std::pair<Operation *, int64_t>> ops;
    getOperation().walk([&](Operation *op) {
      Value sequence = sequenceOf(op);
      if (!sequence)
        return;
      auto type = cast<RankedTensorType>(sequence.getType());
      if (!type.hasStaticShape() || type.getNumElements() == 0)
        return;
      int64_t count = chunksOf(op, type.getDimSize(1));
      if (count > 1)
        ops.push_back({op, count});
    });
    IRRewriter rewriter(&getContext());
    // With the initial states from before.
    SmallVector<std::pair<SelectiveScanOp, Value>> chunked;
    for (auto [op, count] : ops) {
      rewriter.setInsertionPoint(op);
      // The scan before a gradient has found the states already.
      Value known;
      if (auto grad = dyn_cast<SelectiveScanGradOp>(op))
        for (auto [scan, initial] : chunked)
          if (hasStatesOf(scan, initial, grad)) {
            known = scan.getInitialState();
            count = scan.numChunks();
          }
      Chunker chunker(rewriter, op->getLoc(), count, known);
      SmallVector<Value> results =
          TypeSwitch<Operation *, SmallVector<Value>>(op)
              .Case<LinearScanOp, LinearScanGradOp, SelectiveScanOp,
                    SelectiveScanGradOp>(
                  [&](auto scan) { return chunker.chunk(scan); });
      if (auto scan = dyn_cast<SelectiveScanOp>(op))
        chunked.push_back({results[0].getDefiningOp<SelectiveScanOp>(),
                           scan.getInitialState()});
      rewriter.replaceOp(op, results);
    }
  }
};
} // namespace
