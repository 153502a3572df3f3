//===- EmitProducts.cpp - products in contract G --------------------------===//

#include "GpuEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace heddle;
using heddle_gpu::Layout;
using heddle_gpu::Operand;
using heddle_gpu::ProductKind;
using heddle_gpu::SharedAccess;

/// Puts an operand of a product into shared memory, swizzled for the layout
/// that it is read in (of the transpose with `trans`). The caller waits at a
/// barrier.
FailureOr<Value> GpuEmitter::stage(Value v, const Layout &layout, bool trans) {
  auto type = cast<RankedTensorType>(v.getType());
  Type element = type.getElementType();
  int64_t bytes = element.getIntOrFloatBitWidth() / 8;
  Layout writer = heddle_gpu::coalescedLayout(type.getShape(), bytes, warps);
  SmallVector<SharedAccess, 0> accesses;
  int64_t vector = 16;
  while (type.getShape()[1] * bytes % vector != 0)
    vector /= 2;
  accesses.push_back(SharedAccess::vector(writer, vector));
  if (heddle_gpu::matchLdmatrix(layout, bytes, trans))
    accesses.push_back(SharedAccess::ldmatrix(layout, trans));
  else
    accesses.push_back(SharedAccess::vector(layout, bytes, trans));
  heddle_gpu::SharedLayout swizzle =
      heddle_gpu::chooseSwizzle(accesses, type.getShape(), bytes);
  auto smem = heddle_gpu::SmemType::get(
      b.getContext(), type.getShape(), element,
      heddle_gpu::SharedAttr::get(b.getContext(), swizzle), 1);
  Value shared;
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&gpuFunc.getBody().front());
    shared = heddle_gpu::SmemAllocOp::create(b, loc, smem, IntegerAttr());
  }
  barrier(); // readers of the last round are done before it is written again
  if (auto load = loads.find(v); load != loads.end()) {
    const PendingLoad &from = load->second;
    heddle_gpu::AsyncCopyOp::create(b, loc, from.buffer, from.offsets,
                                    from.dims, ValueRange(), shared, Value(),
                                    !from.ragged);
    heddle_gpu::AsyncCommitOp::create(b, loc);
    heddle_gpu::AsyncWaitOp::create(b, loc, 0);
    return shared;
  }
  FailureOr<Value> t = tile(v, layouts.of(v));
  if (failed(t))
    return failure();
  heddle_gpu::SmemStoreOp::create(b, loc, *t, shared, Value(),
                                  DenseI64ArrayAttr(), false);
  return shared;
}

Value GpuEmitter::loadStaged(Value shared, const Layout &layout, bool trans,
                             int64_t depthAt, bool isLeft) {
  Type element = cast<heddle_gpu::SmemType>(shared.getType()).getElementType();
  DenseI64ArrayAttr at;
  if (depthAt != 0) {
    // The depth is the operand's columns (left) or rows, the other way round in
    // a transpose.
    bool inColumns = isLeft != trans;
    at = b.getDenseI64ArrayAttr(
        {inColumns ? 0 : depthAt, inColumns ? depthAt : 0});
  }
  return heddle_gpu::SmemLoadOp::create(
      b, loc, heddle_gpu::tileType(element, b.getContext(), layout), shared,
      Value(), at, trans);
}

void GpuEmitter::barrier() {
  heddle_gpu::BarrierOp::create(b, loc, IntegerAttr(), IntegerAttr(), false);
}

GpuEmitter::Operands GpuEmitter::operandsOf(linalg::GenericOp op) {
  const Layout &accLayout = layouts.of(op.getResult(0));
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  auto position = [](AffineMap map) {
    return cast<AffineDimExpr>(map.getResult(0)).getPosition();
  };
  Operands r;
  r.kind = layouts.kindOf(op);
  r.transA = position(maps[0]) == 2;
  r.transB = position(maps[1]) != 2;
  if (r.kind == ProductKind::Fma) {
    r.a = heddle_gpu::fmaOperandA(accLayout, extents[2]);
    r.b = heddle_gpu::fmaOperandB(accLayout, extents[2]);
    return r;
  }
  int64_t warpsM = 1;
  for (const Layout::Basis &basis : accLayout.getWarp())
    warpsM *= basis[0] ? 2 : 1;
  r.a = heddle_gpu::mmaOperand(r.kind, Operand::A, extents[0], extents[2],
                               warpsM, warps / warpsM);
  r.b = heddle_gpu::mmaOperand(r.kind, Operand::B, extents[2], extents[1],
                               warpsM, warps / warpsM);
  return r;
}

/// Operands that a loop reads again and again are staged ahead of it, and held
/// in registers where a matrix unit takes them.
LogicalResult GpuEmitter::prefetch(Value v) {
  for (OpOperand &use : v.getUses()) {
    auto op = dyn_cast<linalg::GenericOp>(use.getOwner());
    if (!op || !isTileContraction(op) || op->getBlock() == v.getParentBlock())
      continue;
    Operands wanted = operandsOf(op);
    bool isLeft = use.getOperandNumber() == 0;
    const std::optional<Layout> &layout = isLeft ? wanted.a : wanted.b;
    if (!layout)
      continue;
    bool trans = isLeft ? wanted.transA : wanted.transB;
    Value &known = ahead[{v, trans}];
    if (known)
      continue;
    FailureOr<Value> shared = stage(v, *layout, trans);
    if (failed(shared))
      return failure();
    barrier();
    ahead[{v, trans}] = wanted.kind == ProductKind::Fma
                            ? *shared
                            : loadStaged(*shared, *layout, trans, 0, isLeft);
  }
  return success();
}

/// A product by fused multiply-adds: both operands in shared memory, a few
/// steps of the depth at a time in registers.
FailureOr<Value> GpuEmitter::emitFma(linalg::GenericOp op, const Operands &of,
                                     Value acc, bool skipZeros) {
  int64_t depth = op.getStaticLoopRanges()[2], step = 8;
  while (depth % step != 0)
    step /= 2;
  SmallVector<Value> staged;
  for (bool isLeft : {true, false}) {
    Value v = op.getDpsInputs()[isLeft ? 0 : 1];
    bool trans = isLeft ? of.transA : of.transB;
    if (Value known = ahead.lookup({v, trans})) {
      staged.push_back(known);
      continue;
    }
    FailureOr<Value> shared = stage(v, isLeft ? *of.a : *of.b, trans);
    if (failed(shared))
      return failure();
    staged.push_back(*shared);
  }
  barrier();
  const Layout &accLayout = heddle_gpu::getLayout(acc.getType());
  Layout la = heddle_gpu::fmaOperandA(accLayout, step);
  Layout lb = heddle_gpu::fmaOperandB(accLayout, step);
  for (int64_t k = 0; k < depth; k += step)
    acc = heddle_gpu::DotOp::create(
        b, loc, acc.getType(), heddle_gpu::DotKind::Fma,
        loadStaged(staged[0], la, of.transA, k, true),
        loadStaged(staged[1], lb, of.transB, k, false), acc, skipZeros);
  return acc;
}

FailureOr<Value> GpuEmitter::emitMma(linalg::GenericOp op, const Operands &of,
                                     Value acc, bool skipZeros) {
  Value left = op.getDpsInputs()[0], right = op.getDpsInputs()[1];
  // The left operand: held ahead, in the registers of an accumulator, or
  // staged.
  Value a = ahead.lookup({left, of.transA});
  if (!a && !loads.contains(left) && !of.transA) {
    FailureOr<Value> t = tile(left, layouts.of(left));
    if (failed(t))
      return failure();
    a = convert(*t, *of.a);
  }
  Value sharedA;
  if (!a) {
    FailureOr<Value> shared = stage(left, *of.a, of.transA);
    if (failed(shared))
      return failure();
    sharedA = *shared;
  }
  Value bTile = ahead.lookup({right, of.transB});
  Value sharedB;
  if (!bTile) {
    FailureOr<Value> shared = stage(right, *of.b, of.transB);
    if (failed(shared))
      return failure();
    sharedB = *shared;
  }
  Value special;
  if (skipZeros && sharedB) {
    // Threads look at what they copied themselves; registers went to the places
    // of their own layout.
    if (!loads.contains(right))
      barrier();
    special = heddle_gpu::AnyNotFiniteOp::create(b, loc, sharedB, Value());
  } else if (sharedA || sharedB)
    barrier();
  if (sharedA)
    a = loadStaged(sharedA, *of.a, of.transA, 0, true);
  auto product = [&](bool skip) -> Value {
    Value r = bTile ? bTile : loadStaged(sharedB, *of.b, of.transB, 0, false);
    return heddle_gpu::DotOp::create(b, loc, acc.getType(),
                                     heddle_gpu::DotKind::Mma, a, r, acc, skip);
  };
  if (!special)
    return product(skipZeros);
  // Only where the tile holds a NaN or an infinity do zeros need care.
  auto branch = scf::IfOp::create(b, loc, acc.getType(), special, true);
  for (bool skip : {true, false}) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(skip ? branch.thenBlock() : branch.elseBlock());
    scf::YieldOp::create(b, loc, product(skip));
  }
  return branch.getResult(0);
}

LogicalResult GpuEmitter::emitContraction(linalg::GenericOp op) {
  Operands of = operandsOf(op);
  if (!of.a || !of.b)
    return op.emitOpError("expected a depth that m16n8k16 divides, got ")
           << op.getStaticLoopRanges()[2];
  FailureOr<Value> acc = tile(op.getDpsInits()[0], layouts.of(op.getResult(0)));
  if (failed(acc))
    return failure();
  // select(a != 0, acc + a * b, acc)
  bool skipZeros = isa<arith::SelectOp>(
      op.getRegion().front().getTerminator()->getOperand(0).getDefiningOp());
  FailureOr<Value> result = of.kind == ProductKind::Fma
                                ? emitFma(op, of, *acc, skipZeros)
                                : emitMma(op, of, *acc, skipZeros);
  if (failed(result))
    return failure();
  define(op.getResult(0), *result);
  return success();
}
