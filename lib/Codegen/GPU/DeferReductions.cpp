//===- DeferReductions.cpp - sums across lanes after the loop -------------===//
//
// A loop that carries  sum = sum * factor + reduce(tile)  needs the whole sum
// only after its last round. Until then each lane keeps the sum of what it
// holds itself, and the shuffles of every round become those of one reduction.
//
//===----------------------------------------------------------------------===//

#include "heddle/Codegen/Passes.h"
#include "heddle/Dialect/HeddleGpu/IR/HeddleGpu.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

namespace heddle {
#define GEN_PASS_DEF_GPUDEFERREDUCTIONSPASS
#include "heddle/Codegen/Passes.h.inc"
} // namespace heddle

using namespace mlir;
using namespace heddle_gpu;

namespace {
/// sum * factor + reduce(tile), of a carried sum.
struct CarriedSum {
  unsigned number; // of the iteration argument
  math::FmaOp update;
  ReduceOp reduce;
  Value factor;
  RankedTensorType partial;
};
} // namespace

static std::optional<CarriedSum> matchSum(scf::ForOp loop, unsigned i) {
  BlockArgument arg = loop.getRegionIterArg(i);
  auto update = loop.getYieldedValues()[i].getDefiningOp<math::FmaOp>();
  if (!update || !update->hasOneUse() || !arg.hasOneUse() ||
      update->getBlock() != loop.getBody())
    return std::nullopt;
  CarriedSum sum{i, update, update.getC().getDefiningOp<ReduceOp>(),
                 update.getA() == arg ? update.getB() : update.getA(),
                 RankedTensorType()};
  if (update.getA() != arg && update.getB() != arg)
    return std::nullopt;
  ReduceOp reduce = sum.reduce;
  if (!reduce || reduce.getKind() != CombineKind::Add || reduce.getPartial() ||
      !reduce->getResult(0).hasOneUse())
    return std::nullopt;
  sum.partial =
      partialType(cast<RankedTensorType>(reduce.getInputs()[0].getType()),
                  reduce.getAxis());
  if (!sum.partial || sum.partial.getDimSize(reduce.getAxis()) == 1)
    return std::nullopt;
  return sum;
}

/// The sum so far as the first lane's part.
static Value spread(OpBuilder &b, Location loc, Value v, RankedTensorType type,
                    int64_t axis) {
  Value zero = arith::ConstantOp::create(
      b, loc,
      SplatElementsAttr::get(type, b.getZeroAttr(type.getElementType())));
  if (matchPattern(v, m_AnyZeroFloat()))
    return zero;
  Value all = BroadcastOp::create(b, loc, type, v, ArrayRef<int64_t>{axis});
  auto positions = RankedTensorType::get(type.getShape(), b.getI32Type(),
                                         type.getEncoding());
  Value at = IotaOp::create(b, loc, positions, axis, Value());
  Value first = arith::CmpIOp::create(
      b, loc, arith::CmpIPredicate::eq, at,
      arith::ConstantOp::create(
          b, loc, SplatElementsAttr::get(positions, b.getI32IntegerAttr(0))));
  return arith::SelectOp::create(b, loc, first, all, zero);
}

static void defer(scf::ForOp loop, const CarriedSum &sum) {
  OpBuilder b(loop);
  Location loc = loop.getLoc();
  ReduceOp reduce = sum.reduce;
  int64_t axis = reduce.getAxis();
  loop.getInitArgsMutable()[sum.number].set(
      spread(b, loc, loop.getInitArgs()[sum.number], sum.partial, axis));
  loop.getRegionIterArg(sum.number).setType(sum.partial);

  b.setInsertionPoint(sum.update);
  Value part = ReduceOp::create(b, reduce.getLoc(), TypeRange(sum.partial),
                                reduce.getInputs(), reduce.getAxisAttr(),
                                reduce.getKindAttr(), b.getUnitAttr())
                   .getResult(0);
  Value factor = BroadcastOp::create(b, loc, sum.partial, sum.factor,
                                     ArrayRef<int64_t>{axis});
  math::FmaOp update = sum.update;
  Value next = math::FmaOp::create(
      b, update.getLoc(), loop.getRegionIterArg(sum.number), factor, part);
  update.replaceAllUsesWith(next);
  update.erase();
  reduce.erase();

  b.setInsertionPointAfter(loop);
  Value result = loop.getResult(sum.number);
  auto whole = cast<RankedTensorType>(result.getType());
  result.setType(sum.partial);
  auto all = ReduceOp::create(
      b, loc, TypeRange(whole), ValueRange(result), b.getI64IntegerAttr(axis),
      CombineKindAttr::get(b.getContext(), CombineKind::Add), UnitAttr());
  result.replaceAllUsesExcept(all.getResult(0), all);
}

namespace {
struct GpuDeferReductions
    : heddle::impl::GpuDeferReductionsPassBase<GpuDeferReductions> {
  void runOnOperation() override {
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) { loops.push_back(loop); });
    for (scf::ForOp loop : loops)
      for (unsigned i = 0; i < loop.getNumRegionIterArgs(); ++i)
        if (std::optional<CarriedSum> sum = matchSum(loop, i))
          defer(loop, *sum);
  }
};
} // namespace
