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
  Layout writer =
      loads.contains(v)
          ? heddle_gpu::coalescedLayout(type.getShape(), bytes, warps)
          : layouts.of(v);
  SmallVector<SharedAccess, 0> accesses;
  int64_t vector = 16;
  while (type.getShape()[1] * bytes % vector != 0)
    vector /= 2;
  accesses.push_back(SharedAccess::vector(writer, vector));
  if (heddle_gpu::matchLdmatrix(layout, bytes, trans))
    accesses.push_back(SharedAccess::ldmatrix(layout, trans));
  else
    accesses.push_back(SharedAccess::vector(layout, vector, trans));
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
                             Value depthAt, bool isLeft) {
  Type element = cast<heddle_gpu::SmemType>(shared.getType()).getElementType();
  // The depth is the operand's columns (left) or rows, the other way round in a
  // transpose.
  IntegerAttr axis;
  if (depthAt)
    axis = b.getI64IntegerAttr(isLeft != trans ? 1 : 0);
  return heddle_gpu::SmemLoadOp::create(
      b, loc, heddle_gpu::tileType(element, b.getContext(), layout), shared,
      Value(), DenseI64ArrayAttr(), depthAt, axis, trans);
}

void GpuEmitter::barrier() {
  heddle_gpu::BarrierOp::create(b, loc, IntegerAttr(), IntegerAttr(), false);
}

/// Steps of the depth that a product by multiply-adds holds in registers: rows
/// that are read along the depth come in vectors of four.
static int64_t fmaDepth(const Layout &acc, int64_t depth) {
  constexpr int64_t kOperandRegisters = 64;
  int64_t perStep = heddle_gpu::fmaOperandA(acc, 1).numRegisters() +
                    heddle_gpu::fmaOperandB(acc, 1).numRegisters();
  int64_t step = 1;
  while (depth % (2 * step) == 0 && step < 16 &&
         (step < 4 || 2 * step * perStep <= kOperandRegisters))
    step *= 2;
  return step;
}

/// A TF32 operand whose fragments hold depths 2t and 2t + 1 where the
/// instruction's have t and t + 4: any order of the sum is one.
static Layout pairDepth(const Layout &operand, unsigned dim) {
  auto moved = [&](ArrayRef<Layout::Basis> bases) {
    Layout::Bases result(bases.begin(), bases.end());
    for (Layout::Basis &basis : result) {
      int64_t k = basis[dim];
      basis[dim] = (k & ~7) | (k & 3) << 1 | (k & 4) >> 2;
    }
    return result;
  };
  Layout::Bases reg = moved(operand.getRegister());
  // Neighbours first, as vectors have them.
  auto *unit = llvm::find_if(
      reg, [&](const Layout::Basis &basis) { return basis[dim] == 1; });
  std::rotate(reg.begin(), unit, unit + 1);
  return *Layout::get(reg, moved(operand.getLane()), moved(operand.getWarp()),
                      operand.getRepeat());
}

static bool isStored(Value v) {
  return isa_and_nonnull<tensor::ExtractSliceOp, tensor::PadOp>(
      v.getDefiningOp());
}

/// Looks through the transpose of a tile that lies in memory.
static Value storedOperand(Value v, bool &trans) {
  auto transpose = v.getDefiningOp<linalg::TransposeOp>();
  if (!transpose || !isStored(transpose.getInput()))
    return v;
  trans = !trans;
  return transpose.getInput();
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
  r.left = storedOperand(op.getDpsInputs()[0], r.transA);
  r.right = storedOperand(op.getDpsInputs()[1], r.transB);
  if (r.kind == ProductKind::Fma) {
    // A part of the depth, in the order in which memory has it.
    int64_t step = fmaDepth(accLayout, extents[2]);
    r.a = heddle_gpu::fmaOperandA(accLayout, step, !r.transA);
    r.b = heddle_gpu::fmaOperandB(accLayout, step, r.transB);
    return r;
  }
  int64_t warpsM = 1;
  for (const Layout::Basis &basis : accLayout.getWarp())
    warpsM *= basis[0] ? 2 : 1;
  r.a = heddle_gpu::mmaOperand(r.kind, Operand::A, extents[0], extents[2],
                               warpsM, warps / warpsM);
  r.b = heddle_gpu::mmaOperand(r.kind, Operand::B, extents[2], extents[1],
                               warpsM, warps / warpsM);
  // ldmatrix brings TF32 fragments from rows along the depth. Where it cannot
  // serve both operands, neighbours of the depth meet in one thread: then an
  // accumulator is an A operand as it is, and columns have no bank conflicts.
  bool alongDepth =
      isStored(r.left) && !r.transA && isStored(r.right) && r.transB;
  if (r.kind == ProductKind::MmaTf32 && r.a && r.b && !alongDepth) {
    r.a = pairDepth(*r.a, 1);
    r.b = pairDepth(*r.b, 0);
  }
  return r;
}

/// The product that reads a tile, as it is or transposed, in another block.
static std::pair<linalg::GenericOp, bool> productInLoop(OpOperand &use,
                                                        Block *block) {
  Operation *user = use.getOwner();
  if (auto op = dyn_cast<linalg::GenericOp>(user))
    return isTileContraction(op) && op->getBlock() != block &&
                   !op.isDpsInit(&use)
               ? std::pair(op, use.getOperandNumber() == 0)
               : std::pair(linalg::GenericOp(), false);
  if (auto transpose = dyn_cast<linalg::TransposeOp>(user))
    for (OpOperand &further : transpose->getResult(0).getUses())
      if (auto [op, isLeft] = productInLoop(further, block); op)
        return {op, isLeft};
  return {};
}

/// Operands that a loop reads again and again are staged ahead of it, and held
/// in registers where a matrix unit takes them and not too many are needed.
LogicalResult GpuEmitter::prefetch(Value v) {
  // With the largest accumulator of the loop, and with the two largest.
  constexpr int64_t kHeldWithOne = 120, kHeldWithTwo = 160;
  for (OpOperand &use : v.getUses()) {
    auto [op, isLeft] = productInLoop(use, v.getParentBlock());
    if (!op)
      continue;
    Operands wanted = operandsOf(op);
    if ((isLeft ? wanted.left : wanted.right) != v)
      continue;
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
    int64_t bits = getElementTypeOrSelf(v.getType()).getIntOrFloatBitWidth();
    int64_t largest = 0, second = 0;
    for (auto product : op->getBlock()->getOps<linalg::GenericOp>()) {
      if (!isTileContraction(product))
        continue;
      int64_t n = layouts.of(product.getResult(0)).numRegisters();
      second = std::max(second, std::min(n, largest));
      largest = std::max(largest, n);
    }
    int64_t own = layout->numRegisters() * bits / 32;
    bool hold = wanted.kind != ProductKind::Fma &&
                own + largest <= kHeldWithOne &&
                own + largest + second <= kHeldWithTwo;
    ahead[{v, trans}] =
        hold ? loadStaged(*shared, *layout, trans, {}, isLeft) : *shared;
  }
  return success();
}

/// Sums products over parts of the depth in a loop of the kernel: unrolled, the
/// loads of all parts would run ahead and take registers.
Value GpuEmitter::inDepthSteps(
    int64_t depth, int64_t step, Value acc,
    llvm::function_ref<Value(Value depthAt, Value acc)> product) {
  if (step == depth)
    return product({}, acc);
  auto index = [&](int64_t v) -> Value {
    return arith::ConstantIndexOp::create(b, loc, v);
  };
  auto loop = scf::ForOp::create(b, loc, index(0), index(depth), index(step),
                                 ValueRange(acc));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  scf::YieldOp::create(
      b, loc, product(loop.getInductionVar(), loop.getRegionIterArg(0)));
  return loop.getResult(0);
}

/// A product by fused multiply-adds: both operands in shared memory, a few
/// steps of the depth at a time in registers.
FailureOr<Value> GpuEmitter::emitFma(linalg::GenericOp op, const Operands &of,
                                     Value acc, bool skipZeros) {
  SmallVector<Value> staged;
  for (bool isLeft : {true, false}) {
    Value v = isLeft ? of.left : of.right;
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
  Value special;
  if (skipZeros) {
    if (!loads.contains(of.right))
      barrier();
    special = heddle_gpu::AnyNotFiniteOp::create(b, loc, staged[1], Value());
  } else {
    barrier();
  }
  auto product = [&](bool skip) {
    return inDepthSteps(op.getStaticLoopRanges()[2], of.a->shape()[1], acc,
                        [&](Value k, Value sum) -> Value {
                          return heddle_gpu::DotOp::create(
                              b, loc, acc.getType(), heddle_gpu::DotKind::Fma,
                              loadStaged(staged[0], *of.a, of.transA, k, true),
                              loadStaged(staged[1], *of.b, of.transB, k, false),
                              sum, skip);
                        });
  };
  return skipZeros ? guarded(special, acc.getType(), product) : product(false);
}

/// Only where a tile holds a NaN or an infinity do zeros need care.
Value GpuEmitter::guarded(Value special, Type type,
                          llvm::function_ref<Value(bool)> product) {
  auto branch = scf::IfOp::create(b, loc, type, special, true);
  for (bool skip : {true, false}) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(skip ? branch.thenBlock() : branch.elseBlock());
    scf::YieldOp::create(b, loc, product(skip));
  }
  return branch.getResult(0);
}

FailureOr<Value> GpuEmitter::emitMma(linalg::GenericOp op, const Operands &of,
                                     Value acc, bool skipZeros) {
  auto isShared = [](Value v) {
    return v && isa<heddle_gpu::SmemType>(v.getType());
  };
  // The left operand: held ahead, in the registers of an accumulator, or
  // staged.
  Value left = ahead.lookup({of.left, of.transA});
  if (!left && !loads.contains(of.left) && !of.transA) {
    FailureOr<Value> t = tile(of.left, layouts.of(of.left));
    if (failed(t))
      return failure();
    left = convert(*t, *of.a);
  }
  bool staged = false;
  auto orStaged = [&](Value known, Value v, const Layout &layout,
                      bool trans) -> FailureOr<Value> {
    if (known)
      return known;
    staged = true;
    return stage(v, layout, trans);
  };
  FailureOr<Value> a = orStaged(left, of.left, *of.a, of.transA);
  if (failed(a))
    return failure();
  Value right = ahead.lookup({of.right, of.transB});
  if (!right && splats.contains(of.right)) {
    FailureOr<Value> t = tile(of.right, *of.b);
    if (failed(t))
      return failure();
    right = *t;
  }
  FailureOr<Value> r = orStaged(right, of.right, *of.b, of.transB);
  if (failed(r))
    return failure();
  Value special;
  if (skipZeros && isShared(*r)) {
    // Threads look at what they copied themselves; registers went to the places
    // of their own layout.
    if (!loads.contains(of.right))
      barrier();
    special = heddle_gpu::AnyNotFiniteOp::create(b, loc, *r, Value());
  } else if (staged) {
    barrier();
  }
  // Deep operands in shared memory are read a part at a time, at most so many
  // 32-bit words of a row at once.
  constexpr int64_t kDepthStep = 64;
  int64_t depth = op.getStaticLoopRanges()[2], step = depth;
  int64_t words = depth * getElementTypeOrSelf(of.left.getType())
                              .getIntOrFloatBitWidth() / 32;
  if (isShared(*a) && isShared(*r) && words > kDepthStep &&
      depth % kDepthStep == 0)
    step = kDepthStep;
  heddle_gpu::DotKind kind = of.kind == ProductKind::MmaTf32
                                 ? heddle_gpu::DotKind::MmaTf32
                                 : heddle_gpu::DotKind::Mma;
  Layout la = heddle_gpu::leadingPart(*of.a, 1, step);
  Layout lb = heddle_gpu::leadingPart(*of.b, 0, step);
  // Outside the branch, which would load it twice.
  if (isShared(*a) && step == depth)
    a = loadStaged(*a, la, of.transA, {}, true);
  auto product = [&](bool skip) {
    return inDepthSteps(depth, step, acc, [&](Value k, Value sum) -> Value {
      Value x = isShared(*a) ? loadStaged(*a, la, of.transA, k, true) : *a;
      Value y = isShared(*r) ? loadStaged(*r, lb, of.transB, k, false) : *r;
      return heddle_gpu::DotOp::create(b, loc, acc.getType(), kind, x, y, sum,
                                       skip);
    });
  };
  return special ? guarded(special, acc.getType(), product)
                 : product(skipZeros);
}

LogicalResult GpuEmitter::emitContraction(linalg::GenericOp op) {
  Operands of = operandsOf(op);
  if (!of.a || !of.b)
    return op.emitOpError("expected a depth that the matrix unit divides, got ")
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
