//===- LoopsGeneric.cpp - loops of linalg.generic -------------------------===//

#include "LoopsBuilder.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/AffineExpr.h"

using namespace mlir;
using namespace heddle;

/// Positions of an operand with map `map` at loop positions `loops`.
SmallVector<Value> LoopsBuilder::at(AffineMap map, ValueRange loops) {
  SmallVector<Value> position;
  for (AffineExpr e : map.getResults()) {
    if (auto dim = dyn_cast<AffineDimExpr>(e))
      position.push_back(loops[dim.getPosition()]);
    else if (auto constant = dyn_cast<AffineConstantExpr>(e))
      position.push_back(index(constant.getValue()));
    else
      position.push_back(affine::AffineApplyOp::create(
          b, loc, AffineMap::get(map.getNumDims(), 0, e), loops));
  }
  return position;
}

Value LoopsBuilder::element(Value tensor, Positions position) {
  if (Value buffer = bufferOf(tensor))
    return loadScalar(b, loc, buffer, position);
  if (tensor.getDefiningOp<tensor::EmptyOp>()) {
    Type type = cast<RankedTensorType>(tensor.getType()).getElementType();
    return computeConstant(b, loc, b.getZeroAttr(computeType(type)));
  }
  return splatElement(b, loc, tensor);
}

bool LoopsBuilder::isReadable(Value tensor) {
  return bufferOf(tensor) || tensor.getDefiningOp<tensor::EmptyOp>() ||
         splatElement(b, loc, tensor);
}

/// One point of the iteration space.
FailureOr<SmallVector<Value>> LoopsBuilder::body(linalg::GenericOp generic,
                                                 ValueRange loops,
                                                 ValueRange accumulators) {
  Block &block = generic.getRegion().front();
  SmallVector<Value> args;
  for (OpOperand *operand : generic.getDpsInputOperands()) {
    Value v = operand->get();
    if (generic.getMatchingBlockArgument(operand).use_empty())
      args.push_back({}); // a window, say, that has a shape only
    else if (Value buffer = bufferOf(v))
      args.push_back(loadScalar(
          b, loc, buffer, at(generic.getMatchingIndexingMap(operand), loops)));
    else if (Value splat = splatElement(b, loc, v))
      args.push_back(splat);
    else
      return generic.emitOpError("expected operands in memory or constant");
  }
  llvm::append_range(args, accumulators);
  return emitScalarBody(b, block, args,
                        [&](unsigned loop) { return loops[loop]; });
}

/// Whether each result has one element per point of the parallel loops.
static bool resultsFollowParallelLoops(linalg::GenericOp generic) {
  unsigned numParallel = generic.getNumParallelLoops();
  for (OpOperand &init : generic.getDpsInitsMutable()) {
    AffineMap map = generic.getMatchingIndexingMap(&init);
    if (map.getNumResults() != numParallel ||
        !map.isProjectedPermutation(/*allowZeroInResults=*/false))
      return false;
    for (AffineExpr e : map.getResults())
      if (generic
              .getIteratorTypesArray()[cast<AffineDimExpr>(e).getPosition()] !=
          utils::IteratorType::parallel)
        return false;
  }
  return true;
}

LogicalResult LoopsBuilder::generic(linalg::GenericOp generic) {
  for (auto [init, result] :
       llvm::zip(generic.getDpsInits(), generic.getResults())) {
    if (!destinationOf(result))
      return generic.emitOpError("expected every result in memory");
    if (!isReadable(init))
      return generic.emitOpError(
          "expected the initial value in memory or constant");
  }
  if (resultsFollowParallelLoops(generic))
    return reduceInto(generic);
  SmallVector<AffineMap> maps = generic.getIndexingMapsArray();
  ArrayRef<AffineMap> results =
      ArrayRef(maps).drop_front(generic.getNumDpsInputs());
  return llvm::all_equal(results) ? meetInElements(generic, results.front())
                                  : inOrder(generic);
}

/// Loops over the result's elements, inside them the reductions, whose values
/// stay in registers.
LogicalResult LoopsBuilder::reduceInto(linalg::GenericOp generic) {
  SmallVector<unsigned> parallel, reduced;
  generic.getParallelDims(parallel);
  generic.getReductionDims(reduced);
  SmallVector<int64_t> ranges = generic.getStaticLoopRanges(), outer, inner;
  for (unsigned d : parallel)
    outer.push_back(ranges[d]);
  for (unsigned d : reduced)
    inner.push_back(ranges[d]);
  openGrid(outer, llvm::product_of(ranges));
  bool failedBody = false;
  overBox(Box::whole(outer), [&](Positions outerIvs) {
    SmallVector<Value> loops(ranges.size()), start;
    for (auto [d, iv] : llvm::zip(parallel, outerIvs))
      loops[d] = iv;
    SmallVector<SmallVector<Value>> positions;
    for (OpOperand &init : generic.getDpsInitsMutable()) {
      positions.push_back(at(generic.getMatchingIndexingMap(&init), loops));
      start.push_back(element(init.get(), positions.back()));
    }
    SmallVector<Value> sums =
        nest(inner, start, [&](Positions innerIvs, ValueRange carried) {
          for (auto [d, iv] : llvm::zip(reduced, innerIvs))
            loops[d] = iv;
          FailureOr<SmallVector<Value>> next = body(generic, loops, carried);
          failedBody |= failed(next);
          return failed(next) ? SmallVector<Value>(carried) : *next;
        });
    for (auto [value, result, position] :
         llvm::zip(sums, generic.getResults(), positions))
      storeScalar(b, loc, value, destinationOf(result), position);
  });
  return failure(failedBody);
}

//===----------------------------------------------------------------------===//
// Several points meet in one element (an output map such as t * 2 + k)
//===----------------------------------------------------------------------===//

namespace {
/// One coordinate of an output map: a sum of loops, which the last of them is
/// solved for; or anything else, which is compared.
struct OutputCoordinate {
  AffineExpr expr;
  SmallVector<int64_t> factors; // of the loops, then a constant; empty: no sum
  int solved = -1;              // loop number
};
} // namespace

/// A loop is solved for by the coordinate it is the last loop of. Every loop it
/// follows from comes before it, so that the points of an element are visited
/// in the order of the loops.
static SmallVector<OutputCoordinate> solveFor(AffineMap map) {
  SmallVector<OutputCoordinate> coordinates;
  llvm::SmallBitVector taken(map.getNumDims());
  for (AffineExpr e : map.getResults()) {
    OutputCoordinate &c = coordinates.emplace_back();
    c.expr = e;
    SmallVector<int64_t> flat;
    if (failed(getFlattenedAffineExpr(e, map.getNumDims(), 0, &flat)) ||
        flat.size() != map.getNumDims() + 1)
      continue;
    c.factors = flat;
    int last = map.getNumDims() - 1;
    while (last >= 0 && flat[last] == 0)
      --last;
    if (last < 0 || taken[last])
      continue;
    taken.set(last);
    c.solved = last;
  }
  return coordinates;
}

/// Elements of the result, and for each the points that meet in it.
LogicalResult LoopsBuilder::meetInElements(linalg::GenericOp generic,
                                           AffineMap map) {
  SmallVector<OutputCoordinate> coordinates = solveFor(map);
  SmallVector<int64_t> ranges = generic.getStaticLoopRanges();
  SmallVector<unsigned>
      bySolved; // coordinates, by the loop they are solved for
  for (auto [i, c] : llvm::enumerate(coordinates))
    if (c.solved >= 0)
      bySolved.push_back(i);
  llvm::sort(bySolved, [&](unsigned x, unsigned y) {
    return coordinates[x].solved < coordinates[y].solved;
  });
  SmallVector<unsigned> free;
  for (unsigned d = 0; d < ranges.size(); ++d)
    if (llvm::none_of(coordinates, [&](const OutputCoordinate &c) {
          return c.solved == static_cast<int>(d);
        }))
      free.push_back(d);
  auto type = cast<RankedTensorType>(generic.getResult(0).getType());
  openGrid(type.getShape(), llvm::product_of(ranges));
  bool failedBody = false;

  auto plus = [&](Value v, int64_t add) -> Value {
    return add == 0 ? v
                    : arith::AddIOp::create(b, loc, v, index(add)).getResult();
  };
  // The part of a free loop in which a sum of it and a solved loop can be o.
  auto boundsOf = [&](unsigned d, Positions o) -> std::pair<Value, Value> {
    for (auto [i, c] : llvm::enumerate(coordinates)) {
      if (c.solved < 0 || c.factors[d] <= 0 || c.factors[c.solved] <= 0 ||
          ranges.size() + 1 - llvm::count(c.factors, 0) -
                  (c.factors.back() != 0) !=
              2)
        continue;
      int64_t reach = c.factors[c.solved] * (ranges[c.solved] - 1);
      Value low = plus(o[i], -c.factors.back() - reach);
      Value high = plus(o[i], -c.factors.back());
      if (c.factors[d] != 1) {
        Value factor = index(c.factors[d]);
        low = arith::CeilDivSIOp::create(b, loc, low, factor);
        high = arith::FloorDivSIOp::create(b, loc, high, factor);
      }
      high = plus(high, 1);
      return {arith::MaxSIOp::create(b, loc, low, index(0)),
              arith::MinSIOp::create(b, loc, high, index(ranges[d]))};
    }
    return {index(0), index(ranges[d])};
  };
  // Whether the loops' positions are a point of o; sets the solved ones.
  auto solve = [&](SmallVectorImpl<Value> &loops, Positions o) {
    Value valid;
    for (unsigned i : bySolved) {
      const OutputCoordinate &c = coordinates[i];
      Value rest = plus(o[i], -c.factors.back());
      for (int d = 0; d < c.solved; ++d) {
        if (c.factors[d] == 0)
          continue;
        Value part = loops[d];
        if (c.factors[d] != 1)
          part = arith::MulIOp::create(b, loc, part, index(c.factors[d]));
        rest = arith::SubIOp::create(b, loc, rest, part);
      }
      Value factor = index(c.factors[c.solved]);
      if (c.factors[c.solved] != 1) {
        valid =
            both(valid, compare(arith::CmpIPredicate::eq,
                                arith::RemSIOp::create(b, loc, rest, factor),
                                index(0)));
        rest = arith::DivSIOp::create(b, loc, rest, factor);
      }
      valid = both(valid, compare(arith::CmpIPredicate::ult, rest,
                                  index(ranges[c.solved])));
      loops[c.solved] = rest;
    }
    for (auto [i, c] : llvm::enumerate(coordinates))
      if (c.solved < 0)
        valid = both(
            valid,
            compare(arith::CmpIPredicate::eq,
                    at(AffineMap::get(map.getNumDims(), 0, c.expr), loops)[0],
                    o[i]));
    return valid;
  };

  overBox(Box::whole(type.getShape()), [&](Positions o) {
    SmallVector<Value> start, lower, upper;
    for (Value init : generic.getDpsInits())
      start.push_back(element(init, o));
    for (unsigned d : free) {
      auto [low, high] = boundsOf(d, o);
      lower.push_back(low);
      upper.push_back(high);
    }
    SmallVector<int64_t> ones(free.size(), 1);
    scf::LoopNest loops = scf::buildLoopNest(
        b, loc, lower, upper, indices(ones), start,
        [&](OpBuilder &, Location, ValueRange ivs, ValueRange carried) {
          SmallVector<Value> point(ranges.size());
          for (auto [d, iv] : llvm::zip(free, ivs))
            point[d] = iv;
          Value valid = solve(point, o);
          auto next = [&] {
            FailureOr<SmallVector<Value>> values =
                body(generic, point, carried);
            failedBody |= failed(values);
            return failed(values) ? SmallVector<Value>(carried) : *values;
          };
          if (!valid) {
            SmallVector<Value> values = next();
            return scf::ValueVector(values.begin(), values.end());
          }
          auto branch = scf::IfOp::create(b, loc, carried.getTypes(), valid,
                                          /*withElseRegion=*/true);
          OpBuilder::InsertionGuard guard(b);
          b.setInsertionPointToStart(branch.thenBlock());
          scf::YieldOp::create(b, loc, next());
          b.setInsertionPointToStart(branch.elseBlock());
          scf::YieldOp::create(b, loc, carried);
          return scf::ValueVector(branch.result_begin(), branch.result_end());
        });
    for (auto [value, result] : llvm::zip(loops.results, generic.getResults()))
      storeScalar(b, loc, value, destinationOf(result), o);
  });
  return failure(failedBody);
}

/// Results of different maps, each of which may depend on the other's values so
/// far: one block in the order of the loops, sums of narrow types in a wider
/// buffer.
LogicalResult LoopsBuilder::inOrder(linalg::GenericOp generic) {
  openSingle();
  SmallVector<Value> accumulators;
  for (auto [init, result] :
       llvm::zip(generic.getDpsInits(), generic.getResults())) {
    auto type = cast<RankedTensorType>(result.getType());
    Type element = type.getElementType(), wide = computeType(element);
    Value start = init, acc = destinationOf(result);
    if (wide != element && isGpu())
      return generic.emitOpError("expected results of one indexing map or of "
                                 "32 bits and more on a GPU, got ")
             << type << "; split the op or use --target=cpu";
    if (wide != element)
      acc = memref::AllocOp::create(b, loc,
                                    MemRefType::get(type.getShape(), wide));
    accumulators.push_back(acc);
    nest(type.getShape(), [&](Positions position) {
      storeScalar(b, loc, this->element(start, position), acc, position);
    });
  }
  bool failedBody = false;
  nest(generic.getStaticLoopRanges(), [&](Positions loops) {
    SmallVector<Value> before;
    SmallVector<SmallVector<Value>> positions;
    for (auto [init, acc] :
         llvm::zip(generic.getDpsInitsMutable(), accumulators)) {
      positions.push_back(at(generic.getMatchingIndexingMap(&init), loops));
      before.push_back(loadScalar(b, loc, acc, positions.back()));
    }
    FailureOr<SmallVector<Value>> next = body(generic, loops, before);
    failedBody |= failed(next);
    if (failed(next))
      return;
    for (auto [value, acc, position] :
         llvm::zip(*next, accumulators, positions))
      storeScalar(b, loc, value, acc, position);
  });
  for (auto [result, acc] : llvm::zip(generic.getResults(), accumulators)) {
    Value from = acc, dest = destinationOf(result);
    if (from == dest)
      continue;
    nest(cast<RankedTensorType>(result.getType()).getShape(),
         [&](Positions position) {
           storeScalar(b, loc, loadScalar(b, loc, from, position), dest,
                       position);
         });
  }
  return failure(failedBody);
}
