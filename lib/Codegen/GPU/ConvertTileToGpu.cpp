//===- ConvertTileToGpu.cpp - contract T to contract G --------------------===//
//
// Walks a tile program in order and emits contract G. Loads and splats are
// emitted where they are used, in the layout of their user: what a product reads
// goes through shared memory, what arithmetic reads comes straight from global
// memory into the registers that need it.
//
//===----------------------------------------------------------------------===//

#include "LoopsToGpu.h"
#include "TileLayouts.h"

#include "heddle/Codegen/Passes.h"
#include "heddle/Codegen/Tile/KernelBody.h"
#include "heddle/Dialect/Heddle/IR/Heddle.h"
#include "heddle/Dialect/HeddleGpu/IR/HeddleGpu.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

namespace heddle {
#define GEN_PASS_DEF_CONVERTTILETOGPUPASS
#include "heddle/Codegen/Passes.h.inc"
} // namespace heddle

using namespace mlir;
using namespace heddle;
using heddle_gpu::Layout;
using heddle_gpu::Operand;
using heddle_gpu::ProductKind;
using heddle_gpu::SharedAccess;

namespace {
/// A tile in global memory that is not loaded yet.
struct PendingLoad {
  Value buffer; // memref of the gpu.func
  SmallVector<Value> offsets;
  SmallVector<int64_t> dims; // axes of the buffer
  bool ragged = false;
  TypedAttr pad;
};

class GpuEmitter {
public:
  GpuEmitter(func::FuncOp kernel, scf::ForallOp grid, int64_t warps)
      : kernel(kernel), grid(grid), warps(warps), layouts(grid, warps),
        b(kernel.getContext()), loc(kernel.getLoc()) {}

  LogicalResult run();

private:
  LogicalResult emitOp(Operation *op);
  LogicalResult emitBody(Block &block);
  LogicalResult emitFor(scf::ForOp op);
  LogicalResult emitGeneric(linalg::GenericOp op);
  LogicalResult emitReduction(linalg::GenericOp op);
  LogicalResult emitContraction(linalg::GenericOp op);
  LogicalResult emitSlice(tensor::ExtractSliceOp op);
  LogicalResult emitExtract(tensor::ExtractOp op);
  LogicalResult emitStore(TileStoreOp op);

  Value scalar(Value v) { return scalars.lookupOrDefault(v); }
  FailureOr<Value> tile(Value v, const Layout &layout);
  struct Operands {
    ProductKind kind;
    std::optional<Layout> a, b;
    bool transA, transB;
  };
  Operands operandsOf(linalg::GenericOp contraction);
  FailureOr<Value> stage(Value v, const Layout &layout, bool trans);
  Value loadStaged(Value shared, const Layout &layout, bool trans,
                   int64_t depthAt, bool isLeft);
  void barrier();
  LogicalResult prefetch(Value v);
  FailureOr<Value> emitFma(linalg::GenericOp op, const Operands &of, Value acc,
                           bool skipZeros);
  FailureOr<Value> emitMma(linalg::GenericOp op, const Operands &of, Value acc,
                           bool skipZeros);
  Value emitLoad(const PendingLoad &load, RankedTensorType type,
                 const Layout &layout);
  Value convert(Value v, const Layout &layout);
  Value broadcast(Value v, ArrayRef<int64_t> dims, RankedTensorType to);
  Value splat(Value scalar, RankedTensorType type);
  RankedTensorType typeWith(Value v, const Layout &layout) {
    return heddle_gpu::withLayout(cast<RankedTensorType>(v.getType()), layout);
  }
  LogicalResult emitScalarBody(Block &body, ValueRange args,
                               RankedTensorType shape,
                               SmallVector<Value> &results);
  void define(Value v, Value tile) { made[v][tile.getType()] = tile; }

  func::FuncOp kernel;
  scf::ForallOp grid;
  int64_t warps;
  TileLayouts layouts;
  OpBuilder b;
  Location loc;
  gpu::GPUFuncOp gpuFunc;
  gpu::GPUModuleOp gpuModule;
  IRMapping scalars;
  DenseMap<Value, DenseMap<Type, Value>> made; // by type, which has the layout
  DenseMap<Value, PendingLoad> loads;
  DenseMap<Value, TypedAttr> splats;
  DenseMap<std::pair<Value, int>, Value> ahead; // operands, plain and trans
  int64_t numTables = 0;
};
} // namespace

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

Value GpuEmitter::splat(Value value, RankedTensorType type) {
  TypedAttr constant;
  if (matchPattern(value, m_Constant(&constant)))
    return arith::ConstantOp::create(
        b, loc, DenseElementsAttr::get(type, Attribute(constant)));
  return tensor::SplatOp::create(b, loc, type, value);
}

Value GpuEmitter::convert(Value v, const Layout &layout) {
  if (heddle_gpu::getLayout(v.getType()) == layout)
    return v;
  return heddle_gpu::ConvertLayoutOp::create(b, loc, typeWith(v, layout), v);
}

Value GpuEmitter::emitLoad(const PendingLoad &load, RankedTensorType type,
                           const Layout &layout) {
  Value pad;
  if (load.ragged && load.pad)
    pad = arith::ConstantOp::create(b, loc, load.pad);
  Value op = heddle_gpu::LoadOp::create(
      b, loc, heddle_gpu::withLayout(type, layout), load.buffer, load.offsets,
      load.dims, ValueRange(), Value(), pad, !load.ragged);
  return op;
}

/// The tile in a layout, from where it is now.
FailureOr<Value> GpuEmitter::tile(Value v, const Layout &layout) {
  auto type = cast<RankedTensorType>(v.getType());
  auto wanted = heddle_gpu::withLayout(type, layout);
  if (auto it = splats.find(v); it != splats.end())
    return splat(arith::ConstantOp::create(b, loc, it->second), wanted);
  if (auto it = loads.find(v); it != loads.end())
    return emitLoad(it->second, type, layout);
  auto it = made.find(v);
  if (it == made.end()) {
    emitError(v.getLoc()) << "has no form on the GPU";
    return failure();
  }
  if (Value known = it->second.lookup(wanted))
    return known;
  return convert(it->second.begin()->second, layout);
}

/// Puts an operand of a product into shared memory, swizzled for the layout that
/// it is read in (of the transpose with `trans`). The caller waits at a barrier.
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
    at = b.getDenseI64ArrayAttr({inColumns ? 0 : depthAt,
                                 inColumns ? depthAt : 0});
  }
  return heddle_gpu::SmemLoadOp::create(
      b, loc, heddle_gpu::tileType(element, b.getContext(), layout), shared,
      Value(), at, trans);
}

void GpuEmitter::barrier() {
  heddle_gpu::BarrierOp::create(b, loc, IntegerAttr(), IntegerAttr(), false);
}

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

//===----------------------------------------------------------------------===//
// Bodies
//===----------------------------------------------------------------------===//

/// Clones a scalar body onto tiles of the shape and layout of `shape`. What does
/// not depend on the tiles stays scalar.
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
    SmallVector<int64_t> dims = operandDims(op, use);
    Layout own = layout;
    for (int64_t d = shape.getRank() - 1; d >= 0; --d)
      if (!llvm::is_contained(dims, d))
        own = own.slice(d);
    FailureOr<Value> t = tile(use.get(), own);
    if (failed(t))
      return failure();
    args.push_back(broadcast(*t, dims, shape));
  }
  SmallVector<Value> results;
  if (failed(emitScalarBody(op.getRegion().front(), args, shape, results)))
    return failure();
  for (auto [from, to] : llvm::zip(op.getResults(), results))
    define(from, to);
  return success();
}

/// Row reductions: the terms are made as a tile, summed by heddle_gpu.reduce
/// with the body's last op, and combined with the initial value.
LogicalResult GpuEmitter::emitReduction(linalg::GenericOp op) {
  Block &body = op.getRegion().front();
  Value init = op.getDpsInits()[0];
  BlockArgument acc = body.getArguments().back();
  // The op that takes the accumulator, and what it combines it with.
  Operation *last = body.getTerminator()->getOperand(0).getDefiningOp();
  SmallVector<Operation *> users(acc.getUsers().begin(), acc.getUsers().end());
  std::optional<heddle_gpu::CombineKind> kind;
  Value term;
  bool keepsNumbers = false; // max that passes over NaN
  bool byRegion = false;     // by the op itself
  if (last && users.size() == 1 && users[0] == last && last->getNumOperands() == 2) {
    term = last->getOperand(last->getOperand(0) == acc ? 1 : 0);
    if (isa<arith::AddFOp, arith::AddIOp>(last))
      kind = heddle_gpu::CombineKind::Add;
    else if (isa<arith::MulFOp, arith::MulIOp>(last))
      kind = heddle_gpu::CombineKind::Mul;
    else if (isa<arith::MaximumFOp, arith::MaxSIOp>(last))
      kind = heddle_gpu::CombineKind::Max;
    else if (isa<arith::MinimumFOp, arith::MinSIOp>(last))
      kind = heddle_gpu::CombineKind::Min;
    else if (isa<arith::MaxNumFOp>(last))
      keepsNumbers = true;
    else if (isa<arith::MinNumFOp, arith::MaxUIOp, arith::MinUIOp, arith::AndIOp,
                 arith::OrIOp, arith::XOrIOp>(last))
      byRegion = true;
  } else if (auto select = dyn_cast_or_null<arith::SelectOp>(last)) {
    auto compare = select.getCondition().getDefiningOp<arith::CmpFOp>();
    if (compare && compare.getPredicate() == arith::CmpFPredicate::OGT &&
        select.getFalseValue() == acc && compare.getRhs() == acc &&
        select.getTrueValue() == compare.getLhs()) {
      keepsNumbers = true;
      term = compare.getLhs();
    }
  }
  if (!term || (!kind && !keepsNumbers && !byRegion))
    return op.emitOpError("expected a row reduction by add, mul, max, min, and, "
                          "or, xor for the GPU");
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
  auto shape = RankedTensorType::get(
      extents, inputType.getElementType(),
      heddle_gpu::LayoutAttr::get(b.getContext(), full));
  SmallVector<Value> args;
  for (OpOperand *use : op.getDpsInputOperands()) {
    SmallVector<int64_t> dims = operandDims(op, *use);
    Layout own = full;
    for (int64_t d = 1; d >= 0; --d)
      if (!llvm::is_contained(dims, d))
        own = own.slice(d);
    FailureOr<Value> t = tile(use->get(), own);
    if (failed(t))
      return failure();
    args.push_back(broadcast(*t, dims, shape));
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
        b, loc,
        cast<RankedTensorType>(terms.getType()).clone(b.getF32Type()), terms);
  }
  Value reduced;
  Type resultType = heddle_gpu::reducedType(
      cast<RankedTensorType>(terms.getType()), 1);
  if (kind) {
    reduced = heddle_gpu::ReduceOp::create(
                  b, loc, TypeRange(resultType), ValueRange(terms), 1,
                  heddle_gpu::CombineKindAttr::get(b.getContext(), *kind))
                  .getResult(0);
  } else {
    auto reduce = heddle_gpu::ReduceOp::create(
        b, loc, TypeRange(resultType), ValueRange(terms), 1,
        heddle_gpu::CombineKindAttr());
    OpBuilder::InsertionGuard guard(b);
    Type element = getElementTypeOrSelf(terms.getType());
    Block *block = b.createBlock(&reduce.getCombine(), {}, {element, element},
                                 {loc, loc});
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

/// A product by fused multiply-adds: both operands in shared memory, a few steps
/// of the depth at a time in registers.
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
  // The left operand: held ahead, in the registers of an accumulator, or staged.
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
  FailureOr<Value> acc =
      tile(op.getDpsInits()[0], layouts.of(op.getResult(0)));
  if (failed(acc))
    return failure();
  // select(a != 0, acc + a * b, acc)
  bool skipZeros = isa<arith::SelectOp>(op.getRegion()
                                            .front()
                                            .getTerminator()
                                            ->getOperand(0)
                                            .getDefiningOp());
  FailureOr<Value> result = of.kind == ProductKind::Fma
                                ? emitFma(op, of, *acc, skipZeros)
                                : emitMma(op, of, *acc, skipZeros);
  if (failed(result))
    return failure();
  define(op.getResult(0), *result);
  return success();
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

LogicalResult GpuEmitter::emitSlice(tensor::ExtractSliceOp op) {
  PendingLoad load;
  load.buffer = scalar(bufferOf(op.getSource()));
  for (OpFoldResult offset : op.getMixedOffsets())
    load.offsets.push_back(getValueOrCreateConstantIndexOp(b, loc, offset));
  for (Value &offset : load.offsets)
    offset = scalar(offset);
  llvm::SmallBitVector dropped = op.getDroppedDims();
  for (int64_t d = 0; d < op.getSourceType().getRank(); ++d)
    if (!dropped.test(d))
      load.dims.push_back(d);
  loads[op.getResult()] = load;
  return prefetch(op.getResult());
}

/// A scalar from a constant table or from an argument.
LogicalResult GpuEmitter::emitExtract(tensor::ExtractOp op) {
  Value memory;
  auto type = cast<RankedTensorType>(op.getTensor().getType());
  DenseElementsAttr table;
  if (matchPattern(op.getTensor(), m_Constant(&table))) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(gpuModule.getBody());
    std::string name = ("table_" + Twine(numTables++)).str();
    auto memref = MemRefType::get(type.getShape(), type.getElementType());
    memref::GlobalOp::create(b, loc, name, b.getStringAttr("private"), memref,
                             table, /*constant=*/true, IntegerAttr());
    b.setInsertionPointToStart(&gpuFunc.getBody().front());
    memory = memref::GetGlobalOp::create(b, loc, memref, name);
  } else {
    memory = scalar(bufferOf(op.getTensor()));
  }
  if (!memory)
    return op.emitOpError("expected a constant table or an argument");
  SmallVector<Value> indices;
  for (Value i : op.getIndices())
    indices.push_back(scalar(i));
  scalars.map(op.getResult(),
              memref::LoadOp::create(b, loc, memory, indices).getResult());
  return success();
}

LogicalResult GpuEmitter::emitStore(TileStoreOp op) {
  auto type = cast<RankedTensorType>(op.getTile().getType());
  Layout layout = layouts.of(op.getTile());
  // Accumulators hold pairs; rows of 16 bytes are whole sectors.
  if (type.getRank() == 2 && type.getElementTypeBitWidth() <= 16)
    layout = heddle_gpu::coalescedLayout(
        type.getShape(),
        llvm::divideCeil(type.getElementTypeBitWidth(), 8u), warps);
  FailureOr<Value> t = tile(op.getTile(), layout);
  if (failed(t))
    return failure();
  SmallVector<Value> offsets;
  for (Value v : op.getOffsets())
    offsets.push_back(scalar(v));
  heddle_gpu::AccumulateAttr accumulate;
  if (op.getAccumulate())
    accumulate = heddle_gpu::AccumulateAttr::get(
        b.getContext(), heddle_gpu::Accumulate::Atomic);
  auto dest = cast<MemRefType>(op.getDest().getType());
  // Threads read what others write over.
  if (kernel->hasAttr(kKernelInPlace))
    barrier();
  bool whole = true;
  for (auto [k, d] : llvm::enumerate(op.getDims()))
    whole &= dest.getDimSize(d) % type.getDimSize(k) == 0;
  heddle_gpu::StoreOp::create(b, loc, *t, scalar(op.getDest()), offsets,
                              op.getDims(), ValueRange(), Value(), accumulate,
                              whole);
  return success();
}

//===----------------------------------------------------------------------===//
// Structure
//===----------------------------------------------------------------------===//

LogicalResult GpuEmitter::emitFor(scf::ForOp op) {
  SmallVector<Value> inits;
  for (Value init : op.getInitArgs()) {
    if (!isa<RankedTensorType>(init.getType())) {
      inits.push_back(scalar(init));
      continue;
    }
    FailureOr<Value> t = tile(init, layouts.of(init));
    if (failed(t))
      return failure();
    inits.push_back(*t);
  }
  auto loop = scf::ForOp::create(b, loc, scalar(op.getLowerBound()),
                                 scalar(op.getUpperBound()),
                                 scalar(op.getStep()), inits);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  scalars.map(op.getInductionVar(), loop.getInductionVar());
  for (auto [from, to] :
       llvm::zip(op.getRegionIterArgs(), loop.getRegionIterArgs())) {
    if (isa<RankedTensorType>(from.getType()))
      define(from, to);
    else
      scalars.map(from, to);
  }
  // What the body makes is not there after it.
  auto outer = made;
  if (failed(emitBody(*op.getBody())))
    return failure();
  SmallVector<Value> yields;
  for (auto [v, arg] :
       llvm::zip(op.getYieldedValues(), loop.getRegionIterArgs())) {
    if (!isa<RankedTensorType>(v.getType())) {
      yields.push_back(scalar(v));
      continue;
    }
    FailureOr<Value> t =
        tile(v, heddle_gpu::getLayout(arg.getType()));
    if (failed(t))
      return failure();
    yields.push_back(*t);
  }
  if (!yields.empty())
    scf::YieldOp::create(b, loc, yields);
  made = std::move(outer);
  for (auto [from, to] : llvm::zip(op.getResults(), loop.getResults())) {
    if (isa<RankedTensorType>(from.getType()))
      define(from, to);
    else
      scalars.map(from, to);
  }
  return success();
}

LogicalResult GpuEmitter::emitOp(Operation *op) {
  if (isa<tensor::EmptyOp, bufferization::ToTensorOp, tensor::YieldOp>(op))
    return success();
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return emitFor(loop);
  if (auto generic = dyn_cast<linalg::GenericOp>(op))
    return emitGeneric(generic);
  if (auto fill = dyn_cast<linalg::FillOp>(op)) {
    TypedAttr value;
    if (!matchPattern(fill.getInputs()[0], m_Constant(&value)))
      return op->emitOpError("expected a constant fill");
    splats[fill.getResult(0)] = value;
    return success();
  }
  if (auto transpose = dyn_cast<linalg::TransposeOp>(op)) {
    Value input = transpose.getInput();
    Value result = transpose->getResult(0);
    // The layout whose transpose is the result's.
    Layout from = layouts.of(result).transpose({1, 0});
    FailureOr<Value> t = tile(input, from);
    if (failed(t))
      return failure();
    define(result, heddle_gpu::TransOp::create(
                       b, loc,
                       heddle_gpu::transposedType(
                           cast<RankedTensorType>(t->getType()), {1, 0}),
                       *t, ArrayRef<int64_t>{1, 0}));
    return success();
  }
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
    return emitSlice(slice);
  if (auto pad = dyn_cast<tensor::PadOp>(op)) {
    PendingLoad load = loads.lookup(pad.getSource());
    load.ragged = true;
    matchPattern(pad.getConstantPaddingValue(), m_Constant(&load.pad));
    loads[pad.getResult()] = load;
    return prefetch(pad.getResult());
  }
  if (auto extract = dyn_cast<tensor::ExtractOp>(op))
    return emitExtract(extract);
  if (auto store = dyn_cast<TileStoreOp>(op))
    return emitStore(store);
  if (auto constant = dyn_cast<arith::ConstantOp>(op);
      constant && isa<RankedTensorType>(constant.getType())) {
    if (auto dense = dyn_cast<SplatElementsAttr>(constant.getValue()))
      splats[constant.getResult()] =
          cast<TypedAttr>(dense.getSplatValue<Attribute>());
    return success();
  }
  // Plain loops store scalars, which every thread would do.
  bool scalarOnly =
      op->getNumRegions() == 0 && !isa<memref::StoreOp>(op) &&
      llvm::none_of(op->getResultTypes(), llvm::IsaPred<TensorType>) &&
      llvm::none_of(op->getOperandTypes(), llvm::IsaPred<TensorType>);
  if (!scalarOnly)
    return op->emitOpError("is not part of contract T on the GPU");
  b.clone(*op, scalars);
  return success();
}

LogicalResult GpuEmitter::emitBody(Block &block) {
  for (Operation &op : block.without_terminator())
    if (failed(emitOp(&op)))
      return failure();
  return success();
}

LogicalResult GpuEmitter::run() {
  if (failed(layouts.run()))
    return failure();
  b.setInsertionPoint(kernel);
  gpuModule = gpu::GPUModuleOp::create(b, loc, kernel.getName());
  b.setInsertionPointToEnd(gpuModule.getBody());
  gpuFunc = gpu::GPUFuncOp::create(b, loc, kernel.getName(),
                                   kernel.getFunctionType());
  gpuFunc->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), b.getUnitAttr());
  gpuFunc.setKnownBlockSizeAttr(b.getDenseI32ArrayAttr(
      {static_cast<int32_t>(32 * warps), 1, 1}));
  for (NamedAttribute attr : kernel->getDiscardableAttrs())
    gpuFunc->setDiscardableAttr(attr.getName(), attr.getValue());
  gpuFunc->setAttr(heddle_gpu::HeddleGpuDialect::kWarpsAttrName,
                   b.getI64IntegerAttr(warps));
  b.setInsertionPointToStart(&gpuFunc.getBody().front());
  for (auto [from, to] :
       llvm::zip(kernel.getArguments(), gpuFunc.getArguments()))
    scalars.map(from, to);
  for (Operation &op : kernel.getBody().front().without_terminator())
    if (&op != grid.getOperation() && failed(emitOp(&op)))
      return failure();
  // One grid axis, the last dimension of the tile grid fastest.
  SmallVector<int64_t> sizes;
  int64_t blocks = 1;
  for (OpFoldResult size : grid.getMixedUpperBound()) {
    sizes.push_back(*getConstantIntValue(size));
    blocks *= sizes.back();
  }
  gpuFunc->setAttr("heddle.grid", b.getI64IntegerAttr(blocks));
  Value rest = gpu::BlockIdOp::create(b, loc, gpu::Dimension::x);
  for (int64_t d = sizes.size() - 1; d >= 0; --d) {
    Value size = arith::ConstantIndexOp::create(b, loc, sizes[d]);
    Value i = d == 0 ? rest
                     : arith::RemUIOp::create(b, loc, rest, size).getResult();
    if (d > 0)
      rest = arith::DivUIOp::create(b, loc, rest, size);
    scalars.map(grid.getInductionVar(d), i);
  }
  if (failed(emitBody(*grid.getBody())))
    return failure();
  gpu::ReturnOp::create(b, loc);
  kernel.erase();
  return success();
}

namespace {
struct ConvertTileToGpu
    : heddle::impl::ConvertTileToGpuPassBase<ConvertTileToGpu> {
  using ConvertTileToGpuPassBase::ConvertTileToGpuPassBase;

  void runOnOperation() override {
    for (auto kernel :
         llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>())) {
      auto family = kernel->getAttrOfType<StringAttr>(kKernelFamily);
      if (!family)
        continue;
      if (family.getValue() == "loops") {
        if (failed(lowerLoopsToGpu(kernel)))
          return signalPassFailure();
        continue;
      }
      auto grids = kernel.getOps<scf::ForallOp>();
      if (!llvm::hasSingleElement(grids)) {
        kernel.emitError("expected a tile program with one grid");
        return signalPassFailure();
      }
      int64_t count = warps;
      if (auto wanted = kernel->getAttrOfType<IntegerAttr>(kKernelWarps))
        count = wanted.getInt();
      if (failed(GpuEmitter(kernel, *grids.begin(), count).run()))
        return signalPassFailure();
    }
  }
};
} // namespace
