//===- ChunkScans.cpp - chunks of time that feed a GPU --------------------===//
//
// Reduce, scan, scan (Merrill and Grimshaw, "Parallel Scan for Stream
// Architectures", 2009) over time: the map of each chunk, the states between
// chunks, the chunks.
//
//===----------------------------------------------------------------------===//

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
  Chunker(OpBuilder &b, Location loc, int64_t chunks)
      : b(b), loc(loc), chunks(chunks) {}

  Operation *chunk(LinearScanOp op);
  Operation *chunk(LinearScanGradOp op);
  Operation *chunk(SelectiveScanOp op);

private:
  RankedTensorType entries(ArrayRef<int64_t> shape) {
    SmallVector<int64_t> all(shape);
    all.insert(all.begin() + 1, chunks);
    return RankedTensorType::get(all, b.getF32Type());
  }
  Parts entering(LinearScanMapsOp maps, Parts initial);

  OpBuilder &b;
  Location loc;
  int64_t chunks;
};
} // namespace

/// The states that enter the chunks.
Parts Chunker::entering(LinearScanMapsOp maps, Parts initial) {
  auto scan = LinearScanOp::create(
      b, loc, maps.getState().getType(), typeOf(maps.getStateImag()),
      /*final_state=*/Type(), /*final_state_imag=*/Type(), maps.getDecay(),
      maps.getState(), maps.getDecayImag(), maps.getStateImag(), initial.re,
      initial.im, /*reset_ids=*/Value(), /*reverse=*/false,
      /*nan_resets=*/static_cast<bool>(maps.getResetIds()));
  return {scan.getH(), scan.getHImag()};
}

Operation *Chunker::chunk(LinearScanOp op) {
  ArrayRef<int64_t> shape = op.getB().getType().getShape();
  RankedTensorType entry = entries({shape[0], shape[2]});
  Type imag = op.isComplex() ? entry : Type();
  auto maps = LinearScanMapsOp::create(
      b, loc, entry, entry, imag, imag, op.getA(), op.getB(), op.getAImag(),
      op.getBImag(), op.getResetIds(), op.getReverse(), /*gradient=*/false);
  Parts states =
      entering(maps, {op.getInitialState(), op.getInitialStateImag()});
  return LinearScanOp::create(
      b, loc, op.getH().getType(), typeOf(op.getHImag()),
      typeOf(op.getFinalState()), typeOf(op.getFinalStateImag()), op.getA(),
      op.getB(), op.getAImag(), op.getBImag(), states.re, states.im,
      op.getResetIds(), op.getReverse());
}

Operation *Chunker::chunk(LinearScanGradOp op) {
  ArrayRef<int64_t> shape = op.getH().getType().getShape();
  RankedTensorType entry = entries({shape[0], shape[2]});
  Type imag = op.isComplex() ? entry : Type();
  auto maps = LinearScanMapsOp::create(
      b, loc, entry, entry, imag, imag, op.getA(), op.getDh(), op.getAImag(),
      op.getDhImag(), op.getResetIds(), op.getReverse(), /*gradient=*/true);
  Parts states = entering(maps, {op.getDfinalState(), op.getDfinalStateImag()});
  return LinearScanGradOp::create(
      b, loc, op.getDa().getType(), op.getDb().getType(),
      typeOf(op.getDaImag()), typeOf(op.getDbImag()),
      typeOf(op.getDinitialState()), typeOf(op.getDinitialStateImag()),
      op.getA(), op.getH(), op.getDh(), op.getAImag(), op.getHImag(),
      op.getDhImag(), op.getInitialState(), op.getInitialStateImag(), states.re,
      states.im, op.getResetIds(), op.getReverse(),
      /*partial_sums=*/false);
}

Operation *Chunker::chunk(SelectiveScanOp op) {
  ArrayRef<int64_t> shape = op.getU().getType().getShape();
  int64_t states = op.getA().getType().getDimSize(1);
  RankedTensorType entry = entries({shape[0], shape[2], states}),
                   flat = entries({shape[0], shape[2] * states});
  auto maps = SelectiveScanMapsOp::create(
      b, loc, entry, entry, op.getU(), op.getDelta(), op.getA(), op.getB(),
      op.getDeltaBias(), op.getResetIds(), op.getDeltaSoftplus(),
      op.getReverse());
  // Each state is a channel of a linear scan.
  SmallVector<ReassociationIndices> merge = {{0}, {1}, {2, 3}};
  auto collapse = [&](Value v) -> Value {
    return tensor::CollapseShapeOp::create(b, loc, flat, v, merge);
  };
  Value initial = op.getInitialState();
  if (initial)
    initial = tensor::CollapseShapeOp::create(
        b, loc,
        RankedTensorType::get({shape[0], flat.getDimSize(2)}, b.getF32Type()),
        initial, SmallVector<ReassociationIndices>{{0}, {1, 2}});
  auto scan = LinearScanOp::create(
      b, loc, flat, /*h_imag=*/Type(), /*final_state=*/Type(),
      /*final_state_imag=*/Type(), collapse(maps.getDecay()),
      collapse(maps.getState()), /*a_imag=*/Value(), /*b_imag=*/Value(),
      initial, /*initial_state_imag=*/Value(), /*reset_ids=*/Value(),
      /*reverse=*/false, /*nan_resets=*/static_cast<bool>(op.getResetIds()));
  Value first =
      tensor::ExpandShapeOp::create(b, loc, entry, scan.getH(), merge);
  return SelectiveScanOp::create(
      b, loc, op.getY().getType(), typeOf(op.getFinalState()), op.getU(),
      op.getDelta(), op.getA(), op.getB(), op.getC(), op.getD(), op.getZ(),
      op.getDeltaBias(), first, op.getResetIds(), op.getDeltaSoftplus(),
      op.getReverse());
}

/// The sequence (B, L, D) that a scan walks over; null: it is not cut.
static Value sequenceOf(Operation *op) {
  if (isScanOverChunks(op))
    return {};
  if (auto scan = dyn_cast<LinearScanOp>(op))
    return scan.getB();
  if (auto scan = dyn_cast<LinearScanGradOp>(op))
    return scan.getPartialSums() ? Value() : scan.getH();
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
    for (auto [op, count] : ops) {
      rewriter.setInsertionPoint(op);
      Chunker chunker(rewriter, op->getLoc(), count);
      Operation *chunked =
          TypeSwitch<Operation *, Operation *>(op)
              .Case<LinearScanOp, LinearScanGradOp, SelectiveScanOp>(
                  [&](auto scan) { return chunker.chunk(scan); });
      rewriter.replaceOp(op, chunked->getResults());
    }
  }
};
} // namespace
