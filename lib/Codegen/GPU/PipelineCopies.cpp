//===- PipelineCopies.cpp - copies ahead of their use ---------------------===//
//
// A loop that copies tiles to shared memory, waits and computes becomes one
// that copies `stages` - 1 rounds ahead:
//
//   rounds 0 .. stages - 2 are copied before the loop, a group each
//   loop: wait until at most stages - 2 groups are under way; barrier
//         copy round i + stages - 1 into the stage that round i - 1 used
//         compute on stage i mod stages
//
// One barrier a round does for all copies: whoever passes it has read what the
// round before used, and has its own part of this round's tiles.
//
// With one stage and `turns` tiles that are used one after the other, such as the
// keys and values of attention, take turns: while one is used the next is on its
// way.
//
//   the first tile of the first round is copied before the loop
//   loop: for each tile: wait for it; barrier
//         copy the next tile (after the last one the first of the next round)
//         compute up to the last use of the tile
//
// As many barriers as tiles, and half the shared memory of two stages.
//
//===----------------------------------------------------------------------===//

#include "heddle/Codegen/Passes.h"
#include "heddle/Codegen/Tile/KernelBody.h"
#include "heddle/Dialect/HeddleGpu/IR/HeddleGpu.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace heddle {
#define GEN_PASS_DEF_GPUPIPELINECOPIESPASS
#include "heddle/Codegen/Passes.h.inc"
} // namespace heddle

using namespace mlir;
using namespace heddle_gpu;

namespace {
/// The copies of one loop.
class LoopPipeline {
public:
  LoopPipeline(scf::ForOp loop, int64_t stages, bool turns)
      : loop(loop), stages(stages), turns(turns), b(loop), loc(loop.getLoc()) {}

  void run() {
    for (auto copy : loop.getBody()->getOps<AsyncCopyOp>())
      if (canMove(copy))
        copies.push_back(copy);
    if (copies.empty())
      return;
    if (stages < 2) {
      if (turns && copies.size() > 1 && inTurn())
        takeTurns();
      return;
    }
    for (AsyncCopyOp copy : copies)
      widen(copy);
    emitAhead();
    emitInLoop();
    removeOld();
  }

private:
  scf::ForOp loop;
  int64_t stages;
  bool turns;
  OpBuilder b;
  Location loc;
  SmallVector<AsyncCopyOp> copies;
  llvm::SetVector<Operation *> address; // what computes offsets, in the body

  /// The tile serves this loop only, and where it comes from is known from the
  /// number of the round.
  bool canMove(AsyncCopyOp copy) {
    auto alloc = copy.getDest().getDefiningOp<SmemAllocOp>();
    if (!alloc || copy.getStage() || alloc.getType().getStages() != 1)
      return false;
    for (Operation *user : alloc->getUsers())
      if (!loop->isProperAncestor(user) ||
          !isa<AsyncCopyOp, SmemLoadOp, AnyNotFiniteOp>(user) ||
          (isa<AsyncCopyOp>(user) && user != copy.getOperation()))
        return false;
    llvm::SetVector<Operation *> slice;
    BackwardSliceOptions options;
    options.inclusive = false;
    options.omitBlockArguments = true;
    options.filter = [&](Operation *op) { return loop->isProperAncestor(op); };
    if (failed(getBackwardSlice(copy.getOperation(), &slice, options)))
      return false;
    auto fromLoop = [&](Value v) {
      auto arg = dyn_cast<BlockArgument>(v);
      return arg && arg.getOwner() == loop.getBody() &&
             arg != loop.getInductionVar();
    };
    if (llvm::any_of(copy->getOperands(), fromLoop))
      return false;
    for (Operation *op : slice)
      if (!isPure(op) || op->getNumRegions() != 0 ||
          llvm::any_of(op->getOperands(), fromLoop))
        return false;
    address.insert(slice.begin(), slice.end());
    return true;
  }

  void widen(AsyncCopyOp copy) {
    auto alloc = copy.getDest().getDefiningOp<SmemAllocOp>();
    SmemType type = alloc.getType();
    alloc.getResult().setType(SmemType::get(type.getContext(), type.getShape(),
                                            type.getElementType(),
                                            type.getLayout(), stages));
  }

  Operation *inBody(Operation *op) {
    return loop.getBody()->findAncestorOpInBlock(*op);
  }

  /// The last op in the body that needs the tile: what computes on loaded
  /// fragments too, so that they need not all be loaded at once.
  Operation *lastUse(AsyncCopyOp copy) {
    Operation *last = copy;
    auto also = [&](Operation *user) {
      if (Operation *at = inBody(user); at && last->isBeforeInBlock(at))
        last = at;
    };
    for (Operation *user : copy.getDest().getUsers()) {
      also(user);
      if (isa<SmemLoadOp>(user))
        for (Operation *computes : user->getUsers())
          also(computes);
    }
    return last;
  }

  /// Whether each tile is read before the next one is, and not afterwards.
  bool inTurn() {
    for (auto [copy, next] : llvm::zip(copies, llvm::drop_begin(copies)))
      for (Operation *user : next.getDest().getUsers())
        if (user != next && !lastUse(copy)->isBeforeInBlock(inBody(user)))
          return false;
    return true;
  }

  void takeTurns() {
    b.setInsertionPoint(loop);
    // The bytes may have been those of tiles that are read until here.
    barrier();
    emitRound({copies.front()}, loop.getLowerBound(), Value());
    SmallVector<Operation *> points;
    for (AsyncCopyOp copy : copies)
      points.push_back(lastUse(copy));
    for (auto [i, copy] : llvm::enumerate(copies)) {
      if (i == 0)
        b.setInsertionPointToStart(loop.getBody());
      else
        b.setInsertionPointAfter(points[i - 1]);
      AsyncWaitOp::create(b, loc, 0);
      kept.insert(barrier());
      if (i + 1 < copies.size()) {
        emitRound({copies[i + 1]}, loop.getInductionVar(), Value());
        continue;
      }
      emitRound(
          {copies.front()},
          arith::AddIOp::create(b, loc, loop.getInductionVar(), loop.getStep()),
          Value());
    }
    removeOld();
  }

  Value index(int64_t v) { return arith::ConstantIndexOp::create(b, loc, v); }

  /// Copies of the round with induction value `iv`, if there is one, as a
  /// group.
  void emitRound(ArrayRef<AsyncCopyOp> which, Value iv, Value stage) {
    OpBuilder::InsertionGuard guard(b);
    if (iv != loop.getInductionVar()) {
      Value inside = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt,
                                           iv, loop.getUpperBound());
      auto branch = scf::IfOp::create(b, loc, inside, false);
      AsyncCommitOp::create(b, loc);
      b.setInsertionPointToStart(branch.thenBlock());
    } else {
      b.setInsertionPoint(AsyncCommitOp::create(b, loc));
    }
    IRMapping mapping;
    mapping.map(loop.getInductionVar(), iv);
    for (Operation &op : *loop.getBody())
      if (address.contains(&op))
        b.clone(op, mapping);
    for (AsyncCopyOp copy : which) {
      auto clone = cast<AsyncCopyOp>(b.clone(*copy, mapping));
      if (stage)
        clone.getStageMutable().assign(stage);
      made.insert(clone);
    }
  }

  void emitAhead() {
    b.setInsertionPoint(loop);
    // The bytes may have been those of tiles that are read until here.
    barrier();
    for (int64_t s = 0; s + 1 < stages; ++s) {
      Value iv = loop.getLowerBound();
      if (s > 0) {
        Value by = arith::MulIOp::create(b, loc, loop.getStep(), index(s));
        iv = arith::AddIOp::create(b, loc, iv, by);
      }
      emitRound(copies, iv, index(s));
    }
  }

  void emitInLoop() {
    b.setInsertionPointToStart(loop.getBody());
    Value iv = loop.getInductionVar();
    Value round = arith::SubIOp::create(b, loc, iv, loop.getLowerBound());
    round = arith::DivUIOp::create(b, loc, round, loop.getStep());
    auto stageOf = [&](Value r) -> Value {
      return arith::RemUIOp::create(b, loc, r, index(stages));
    };
    Value stage = stageOf(round);
    AsyncWaitOp::create(b, loc, stages - 2);
    kept.insert(barrier());
    Value by = arith::MulIOp::create(b, loc, loop.getStep(), index(stages - 1));
    Value ahead = arith::AddIOp::create(b, loc, iv, by);
    Value next =
        stageOf(arith::AddIOp::create(b, loc, round, index(stages - 1)));
    emitRound(copies, ahead, next);
    for (AsyncCopyOp copy : copies) {
      SmallVector<Operation *> users(copy.getDest().getUsers());
      for (Operation *user : users) {
        if (auto load = dyn_cast<SmemLoadOp>(user))
          load.getStageMutable().assign(stage);
        else if (auto check = dyn_cast<AnyNotFiniteOp>(user))
          check.getStageMutable().assign(stage);
      }
    }
  }

  /// The copies with the barrier before them and their group and wait; other
  /// barriers too where nothing in the loop writes shared memory by itself.
  void removeOld() {
    for (AsyncCopyOp copy : copies) {
      auto *commit = copy->getNextNode();
      auto *wait = commit ? commit->getNextNode() : nullptr;
      auto *before = copy->getPrevNode();
      if (isa_and_nonnull<AsyncWaitOp>(wait))
        wait->erase();
      if (isa_and_nonnull<AsyncCommitOp>(commit))
        commit->erase();
      if (isa_and_nonnull<BarrierOp>(before) && !kept.contains(before))
        before->erase();
      copy.erase();
    }
    bool writes = false, otherCopies = false;
    loop.walk([&](Operation *op) {
      writes |= isa<SmemStoreOp>(op);
      if (auto copy = dyn_cast<AsyncCopyOp>(op))
        otherCopies |= !made.contains(copy);
    });
    if (writes || otherCopies)
      return;
    SmallVector<BarrierOp> barriers;
    loop.walk([&](BarrierOp op) {
      if (!kept.contains(op) && !op.getId())
        barriers.push_back(op);
    });
    for (BarrierOp op : barriers)
      op.erase();
  }

  Operation *barrier() {
    return BarrierOp::create(b, loc, IntegerAttr(), IntegerAttr(), false);
  }

  llvm::SmallPtrSet<Operation *, 4> kept, made; // barriers, copies
};

struct GpuPipelineCopies
    : heddle::impl::GpuPipelineCopiesPassBase<GpuPipelineCopies> {
  using GpuPipelineCopiesPassBase::GpuPipelineCopiesPassBase;

  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<gpu::GPUFuncOp>()) {
      int64_t count = stages;
      if (auto wanted =
              kernel->getAttrOfType<IntegerAttr>(heddle::kKernelStages))
        count = wanted.getInt();
      bool inTurns = turns || kernel->hasAttr(heddle::kKernelTurns);
      SmallVector<scf::ForOp> loops;
      kernel.walk([&](scf::ForOp loop) { loops.push_back(loop); });
      for (scf::ForOp loop : loops)
        LoopPipeline(loop, count, inTurns).run();
    }
  }
};
} // namespace
