//===- EmitBodies.cpp - elementwise ops and reductions in contract G ------===//

#include "GpuEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace heddle;
using heddle_gpu::Layout;

Value GpuEmitter::broadcast(Value v, ArrayRef<int64_t> dims,
                            RankedTensorType to) {
  SmallVector<int64_t> missing;
  for (int64_t d = 0; d < to.getRank(); ++d)
    if (!llvm::is_contained(dims, d))
      missing.push_back(d);
  if (missing.empty())
    return v;
  auto type = RankedTensorType::get(
      to.getShape(), cast<RankedTensorType>(v.getType()).getElementType(),
      to.getEncoding());
  return heddle_gpu::BroadcastOp::create(b, loc, type, v, missing);
}

/// Clones a scalar body onto tiles of the shape and layout of `shape`. What
/// does not depend on the tiles stays scalar.
LogicalResult GpuEmitter::emitScalarBody(Block &body, ValueRange args,
                                         RankedTensorType shape,
                                         SmallVector<Value> &results) {
  IRMapping local;
  for (auto [arg, value] : llvm::zip(body.getArguments(), args))
    if (value)
      local.map(arg, value);
  auto value = [&](Value v) {
    return local.contains(v) ? local.lookup(v) : scalar(v);
  };
  auto isTileValue = [](Value v) { return isa<RankedTensorType>(v.getType()); };
  auto typeOf = [&](Type element) {
    return RankedTensorType::get(shape.getShape(), element,
                                 shape.getEncoding());
  };
  for (Operation &op : body.without_terminator()) {
    if (auto index = dyn_cast<linalg::IndexOp>(op)) {
      local.map(index.getResult(),
                heddle_gpu::IotaOp::create(b, loc, typeOf(b.getIndexType()),
                                           index.getDim(), Value())
                    .getResult());
      continue;
    }
    SmallVector<Value> operands;
    for (Value v : op.getOperands())
      operands.push_back(value(v));
    bool anyTile = llvm::any_of(operands, isTileValue);
    if (auto extract = dyn_cast<tensor::ExtractOp>(op))
      return extract.emitOpError("has no form on the GPU yet in the body of "
                                 "an op; use --target=cpu");
    if (!anyTile) {
      IRMapping mapping;
      for (auto [from, to] : llvm::zip(op.getOperands(), operands))
        mapping.map(from, to);
      Operation *clone = b.clone(op, mapping);
      local.map(op.getResults(), clone->getResults());
      continue;
    }
    for (Value &v : operands)
      if (!isTileValue(v))
        v = splat(v, typeOf(v.getType()));
    SmallVector<Type> types;
    for (Type t : op.getResultTypes())
      types.push_back(typeOf(t));
    OperationState state(loc, op.getName(), operands, types);
    state.propertiesAttr = op.getPropertiesAsAttribute();
    state.attributes = op.getDiscardableAttrDictionary();
    local.map(op.getResults(), b.create(state)->getResults());
  }
  for (Value v : body.getTerminator()->getOperands()) {
    Value r = value(v);
    if (!isTileValue(r))
      r = splat(r, typeOf(r.getType()));
    results.push_back(r);
  }
  return success();
}

Value GpuEmitter::emitInput(linalg::GenericOp op, OpOperand &use,
                            RankedTensorType shape) {
  SmallVector<int64_t> dims = operandDims(op, use);
  Layout own = heddle_gpu::getLayout(shape);
  for (int64_t d = shape.getRank() - 1; d >= 0; --d)
    if (!llvm::is_contained(dims, d))
      own = own.slice(d);
  FailureOr<Value> t = tile(use.get(), own);
  return failed(t) ? Value() : broadcast(*t, dims, shape);
}

LogicalResult GpuEmitter::emitGeneric(linalg::GenericOp op) {
  if (isTileContraction(op))
    return emitContraction(op);
  if (op.getNumReductionLoops() > 0)
    return emitReduction(op);
  const Layout &layout = layouts.of(op.getResult(0));
  RankedTensorType shape = typeWith(op.getResult(0), layout);
  SmallVector<Value> args;
  for (OpOperand &use : op->getOpOperands()) {
    if (op.isDpsInit(&use) && !op.payloadUsesValueFromOperand(&use)) {
      args.push_back(Value());
      continue;
    }
    if (!isa<RankedTensorType>(use.get().getType())) {
      args.push_back(scalar(use.get()));
      continue;
    }
    args.push_back(emitInput(op, use, shape));
    if (!args.back())
      return failure();
  }
  SmallVector<Value> results;
  if (failed(emitScalarBody(op.getRegion().front(), args, shape, results)))
    return failure();
  for (auto [from, to] : llvm::zip(op.getResults(), results))
    define(from, to);
  return success();
}

namespace {
/// How the body of a reduction takes in a term.
struct Combination {
  Operation *last = nullptr; // the op that takes the accumulator
  Value term;                // what it combines it with
  std::optional<heddle_gpu::CombineKind> kind;
  bool keepsNumbers = false; // max that passes over NaN
  bool byRegion = false;     // by the op itself
};
} // namespace

static std::optional<Combination> findCombination(linalg::GenericOp op) {
  Block &body = op.getRegion().front();
  BlockArgument acc = body.getArguments().back();
  Combination c;
  c.last = body.getTerminator()->getOperand(0).getDefiningOp();
  if (!c.last)
    return std::nullopt;
  if (acc.hasOneUse() && *acc.getUsers().begin() == c.last &&
      c.last->getNumOperands() == 2) {
    c.term = c.last->getOperand(c.last->getOperand(0) == acc ? 1 : 0);
    if (isa<arith::AddFOp, arith::AddIOp>(c.last))
      c.kind = heddle_gpu::CombineKind::Add;
    else if (isa<arith::MulFOp, arith::MulIOp>(c.last))
      c.kind = heddle_gpu::CombineKind::Mul;
    else if (isa<arith::MaximumFOp, arith::MaxSIOp>(c.last))
      c.kind = heddle_gpu::CombineKind::Max;
    else if (isa<arith::MinimumFOp, arith::MinSIOp>(c.last))
      c.kind = heddle_gpu::CombineKind::Min;
    else if (isa<arith::MaxNumFOp>(c.last))
      c.keepsNumbers = true;
    else if (isa<arith::MinNumFOp, arith::MaxUIOp, arith::MinUIOp,
                 arith::AndIOp, arith::OrIOp, arith::XOrIOp>(c.last))
      c.byRegion = true;
    else
      return std::nullopt;
    return c;
  }
  auto select = dyn_cast<arith::SelectOp>(c.last);
  if (!select)
    return std::nullopt;
  auto compare = select.getCondition().getDefiningOp<arith::CmpFOp>();
  if (!compare || compare.getPredicate() != arith::CmpFPredicate::OGT ||
      select.getFalseValue() != acc || compare.getRhs() != acc ||
      select.getTrueValue() != compare.getLhs())
    return std::nullopt;
  c.keepsNumbers = true;
  c.term = compare.getLhs();
  return c;
}

/// Row reductions: the terms are made as a tile, summed by heddle_gpu.reduce
/// with the body's last op, and combined with the initial value.
LogicalResult GpuEmitter::emitReduction(linalg::GenericOp op) {
  std::optional<Combination> combination = findCombination(op);
  if (!combination)
    return op.emitOpError(
        "expected a row reduction by add, mul, max, min, and, "
        "or, xor for the GPU");
  auto [last, term, kind, keepsNumbers, byRegion] = *combination;
  Block &body = op.getRegion().front();
  Value init = op.getDpsInits()[0];
  BlockArgument acc = body.getArguments().back();
  SmallVector<Operation *> users(acc.getUsers().begin(), acc.getUsers().end());
  // Everything but the combination, over the whole tile.
  auto inputType = cast<RankedTensorType>(op.getDpsInputs()[0].getType());
  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  Layout full = [&] {
    for (OpOperand *use : op.getDpsInputOperands())
      if (operandDims(op, *use).size() == 2)
        return layouts.of(use->get());
    return layouts.rowsLayout(
        RankedTensorType::get(extents, inputType.getElementType()));
  }();
  auto shape =
      RankedTensorType::get(extents, inputType.getElementType(),
                            heddle_gpu::LayoutAttr::get(b.getContext(), full));
  SmallVector<Value> args;
  for (OpOperand *use : op.getDpsInputOperands()) {
    args.push_back(emitInput(op, *use, shape));
    if (!args.back())
      return failure();
  }
  args.push_back(Value());
  Value terms;
  {
    SmallVector<Value> results;
    // A body that ends with the term.
    Block part;
    IRMapping mapping;
    for (BlockArgument a : body.getArguments())
      mapping.map(a, part.addArgument(a.getType(), loc));
    OpBuilder pb(b.getContext());
    pb.setInsertionPointToEnd(&part);
    for (Operation &inner : body.without_terminator())
      if (!llvm::is_contained(users, &inner) && &inner != last)
        pb.clone(inner, mapping);
    linalg::YieldOp::create(pb, loc, mapping.lookupOrDefault(term));
    if (failed(emitScalarBody(part, args, shape, results)))
      return failure();
    terms = results[0];
  }
  // Sums of 16-bit elements are f32 until the end.
  Type narrow;
  if (auto f = dyn_cast<FloatType>(getElementTypeOrSelf(terms.getType()));
      f && f.getWidth() < 32 && kind &&
      (*kind == heddle_gpu::CombineKind::Add ||
       *kind == heddle_gpu::CombineKind::Mul)) {
    narrow = f;
    terms = arith::ExtFOp::create(
        b, loc, cast<RankedTensorType>(terms.getType()).clone(b.getF32Type()),
        terms);
  }
  Value reduced;
  Type resultType =
      heddle_gpu::reducedType(cast<RankedTensorType>(terms.getType()), 1);
  if (kind) {
    reduced = heddle_gpu::ReduceOp::create(
                  b, loc, TypeRange(resultType), ValueRange(terms), 1,
                  heddle_gpu::CombineKindAttr::get(b.getContext(), *kind))
                  .getResult(0);
  } else {
    auto reduce = heddle_gpu::ReduceOp::create(b, loc, TypeRange(resultType),
                                               ValueRange(terms), 1,
                                               heddle_gpu::CombineKindAttr());
    OpBuilder::InsertionGuard guard(b);
    Type element = getElementTypeOrSelf(terms.getType());
    Block *block =
        b.createBlock(&reduce.getCombine(), {}, {element, element}, {loc, loc});
    Value both;
    if (byRegion) {
      OperationState state(loc, last->getName(), block->getArguments(),
                           {element});
      both = b.create(state)->getResult(0);
    } else {
      both = arith::MaxNumFOp::create(b, loc, block->getArgument(0),
                                      block->getArgument(1));
    }
    heddle_gpu::YieldOp::create(b, loc, both);
    reduced = reduce.getResult(0);
  }
  const Layout &layout = layouts.of(op.getResult(0));
  reduced = convert(reduced, layout);
  FailureOr<Value> start = tile(init, layout);
  if (failed(start))
    return failure();
  Type type = reduced.getType();
  if (narrow)
    start = Value(arith::ExtFOp::create(b, loc, type, *start));
  Value result;
  if (keepsNumbers) {
    result = arith::MaxNumFOp::create(b, loc, reduced, *start);
  } else {
    OperationState state(loc, last->getName(), {*start, reduced}, {type});
    result = b.create(state)->getResult(0);
  }
  if (narrow)
    result = arith::TruncFOp::create(
        b, loc, cast<RankedTensorType>(type).clone(narrow), result);
  define(op.getResult(0), result);
  return success();
}
