//===- TileRuns.cpp - loops over the tiles that a mask leaves -------------===//

#include "TileRuns.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace heddle;

using Body = function_ref<SmallVector<Value>(Value, ArrayRef<Value>)>;
/// Runs of one kind, as [begin, end).
using Runs = SmallVector<std::pair<int64_t, int64_t>>;

SmallVector<Value> heddle::forRange(TileBuilder &t, Value begin, Value end,
                                    SmallVector<Value> state, Body body) {
  auto loop = scf::ForOp::create(t.b, t.loc, begin, end, t.index(1), state);
  OpBuilder::InsertionGuard guard(t.b);
  if (state.empty())
    t.b.setInsertionPoint(loop.getBody()->getTerminator());
  else
    t.b.setInsertionPointToEnd(loop.getBody());
  SmallVector<Value> carried(loop.getRegionIterArgs());
  SmallVector<Value> next = body(loop.getInductionVar(), carried);
  if (!state.empty())
    scf::YieldOp::create(t.b, t.loc, next);
  return SmallVector<Value>(loop.getResults());
}

/// Per outer tile the runs of one kind.
static SmallVector<Runs> runsOfKind(const TileRuns &runs, TileKind kind) {
  int64_t last = llvm::divideCeil(runs.innerLength, runs.innerTile) - 1;
  bool ragged = runs.innerLength % runs.innerTile != 0;
  SmallVector<Runs> perTile;
  for (const TileIntervals &intervals : runs.perTile) {
    Runs &mine = perTile.emplace_back();
    auto append = [&](int64_t begin, int64_t end) {
      if (begin >= end)
        return;
      if (!mine.empty() && mine.back().second == begin)
        mine.back().second = end;
      else
        mine.push_back({begin, end});
    };
    for (const TileInterval &i : intervals) {
      bool full = i.kind == TileKind::Full && !runs.allMixed;
      int64_t split = full && ragged ? std::min(i.end, last) : i.end;
      if (full == (kind == TileKind::Full))
        append(i.begin, split);
      if (kind == TileKind::Partial && full)
        append(std::max(split, i.begin), i.end);
    }
  }
  return perTile;
}

/// Bounds of the outer tile: visible begin and end, full begin and end.
static std::array<Value, 4> closedForm(TileBuilder &t, Value outer,
                                       const AffineTileBounds &bounds) {
  OpBuilder &b = t.b;
  auto clamp = [&](Value v, Value low, Value high) -> Value {
    v = arith::MaxSIOp::create(b, t.loc, v, low);
    return arith::MinSIOp::create(b, t.loc, v, high);
  };
  auto line = [&](const AffineTileBound &bound) -> Value {
    AffineExpr t0 = b.getAffineDimExpr(0);
    AffineMap map = AffineMap::get(
        1, 0, (t0 * bound.coefficient + bound.offset).floorDiv(bound.divisor));
    Value v = affine::AffineApplyOp::create(b, t.loc, map, outer);
    return clamp(v, t.index(bound.lower), t.index(bound.upper));
  };
  Value begin = line(bounds.begin);
  Value end = arith::MaxSIOp::create(b, t.loc, line(bounds.end), begin);
  Value fullBegin = clamp(line(bounds.fullBegin), begin, end);
  Value fullEnd = clamp(line(bounds.fullEnd), fullBegin, end);
  // Without a full tile everything visible counts as after the full run.
  Value none = arith::CmpIOp::create(b, t.loc, arith::CmpIPredicate::sle,
                                     fullEnd, fullBegin);
  fullBegin = arith::SelectOp::create(b, t.loc, none, begin, fullBegin);
  fullEnd = arith::SelectOp::create(b, t.loc, none, begin, fullEnd);
  return {begin, end, fullBegin, fullEnd};
}

SmallVector<Value> heddle::forTiles(TileBuilder &t, const TileRuns &runs,
                                    Value outer, TileKind kind,
                                    SmallVector<Value> state, Body body) {
  OpBuilder &b = t.b;
  SmallVector<Runs> perTile = runsOfKind(runs, kind);
  size_t most = 0;
  for (const Runs &mine : perTile)
    most = std::max(most, mine.size());
  if (most == 0)
    return state;
  if (llvm::all_equal(perTile)) {
    for (auto [begin, end] : perTile.front())
      state = forRange(t, t.index(begin), t.index(end), state, body);
    return state;
  }
  if (runs.innerLength % runs.innerTile == 0 && !runs.allMixed)
    if (std::optional<AffineTileBounds> bounds =
            findAffineBounds(runs.perTile, runs.outerTile, runs.innerTile)) {
      auto [begin, end, fullBegin, fullEnd] = closedForm(t, outer, *bounds);
      int64_t count = runs.perTile.size();
      if (kind == TileKind::Full)
        return forRange(t, fullBegin, fullEnd, state, body);
      if (bounds->hasLeadingPartial(count))
        state = forRange(t, begin, fullBegin, state, body);
      if (bounds->hasTrailingPartial(count))
        state = forRange(t, fullEnd, end, state, body);
      return state;
    }
  SmallVector<int64_t> table;
  for (const Runs &mine : perTile)
    for (size_t i = 0; i < most; ++i) {
      table.push_back(i < mine.size() ? mine[i].first : 0);
      table.push_back(i < mine.size() ? mine[i].second : 0);
    }
  auto type = RankedTensorType::get({static_cast<int64_t>(table.size())},
                                    b.getI64Type());
  Value bounds = arith::ConstantOp::create(
      b, t.loc, DenseElementsAttr::get(type, ArrayRef<int64_t>(table)));
  auto entry = [&](Value run, int64_t which) -> Value {
    Value at = t.mulAdd(outer, most * 2);
    at = arith::AddIOp::create(b, t.loc, at, t.mulAdd(run, 2, which));
    Value v = tensor::ExtractOp::create(b, t.loc, bounds, at);
    return arith::IndexCastOp::create(b, t.loc, b.getIndexType(), v);
  };
  if (most == 1) {
    Value zero = t.index(0);
    return forRange(t, entry(zero, 0), entry(zero, 1), state, body);
  }
  return forRange(t, t.index(0), t.index(most), state,
                  [&](Value run, ArrayRef<Value> carried) {
                    return forRange(t, entry(run, 0), entry(run, 1),
                                    SmallVector<Value>(carried), body);
                  });
}

//===----------------------------------------------------------------------===//
// Masks as code
//===----------------------------------------------------------------------===//

bool heddle::needsIndex(MaskAttr mask) {
  return mask && (mask.getKind() == MaskKind::AffineSet ||
                  llvm::any_of(mask.getTerms(), needsIndex));
}

Value heddle::emitMaskTerm(OpBuilder &b, Location loc, MaskAttr mask, Value i,
                           Value j, int64_t queryLength, int64_t keyLength) {
  auto constant = [&](int64_t v) -> Value {
    return arith::ConstantOp::create(b, loc, b.getIntegerAttr(i.getType(), v));
  };
  auto compare = [&](arith::CmpIPredicate p, Value x, Value y) -> Value {
    return arith::CmpIOp::create(b, loc, p, x, y);
  };
  auto plus = [&](Value x, int64_t y) -> Value {
    return arith::AddIOp::create(b, loc, x, constant(y));
  };
  ArrayRef<int64_t> v = mask.getValues();
  Value all;
  switch (mask.getKind()) {
  case MaskKind::Causal:
  case MaskKind::CausalUpperLeft:
    return compare(arith::CmpIPredicate::sge, i, j);
  case MaskKind::CausalLowerRight:
    return compare(arith::CmpIPredicate::sge, plus(i, keyLength - queryLength),
                   j);
  case MaskKind::Window: {
    Value low = compare(arith::CmpIPredicate::sge, j, plus(i, -v[0]));
    Value high = compare(arith::CmpIPredicate::sle, j, plus(i, v[1]));
    return arith::AndIOp::create(b, loc, low, high);
  }
  case MaskKind::Prefix:
    return compare(arith::CmpIPredicate::slt, j, constant(v[0]));
  case MaskKind::BlockDiagonal:
    // Positions are never negative.
    return compare(arith::CmpIPredicate::eq,
                   arith::DivUIOp::create(b, loc, i, constant(v[0])),
                   arith::DivUIOp::create(b, loc, j, constant(v[0])));
  case MaskKind::Union:
  case MaskKind::Intersection:
    for (MaskAttr term : mask.getTerms()) {
      Value one = emitMaskTerm(b, loc, term, i, j, queryLength, keyLength);
      if (!all)
        all = one;
      else if (mask.getKind() == MaskKind::Union)
        all = arith::OrIOp::create(b, loc, all, one);
      else
        all = arith::AndIOp::create(b, loc, all, one);
    }
    return all;
  case MaskKind::AffineSet:
    break;
  }
  IntegerSet set = mask.getSet();
  for (unsigned c = 0; c < set.getNumConstraints(); ++c) {
    Value e =
        affine::expandAffineExpr(b, loc, set.getConstraint(c), {i, j}, {});
    Value holds = compare(set.isEq(c) ? arith::CmpIPredicate::eq
                                      : arith::CmpIPredicate::sge,
                          e, constant(0));
    all = all ? arith::AndIOp::create(b, loc, all, holds).getResult() : holds;
  }
  if (!all)
    all = arith::ConstantOp::create(b, loc, b.getBoolAttr(true));
  return all;
}
