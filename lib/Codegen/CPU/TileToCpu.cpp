//===- TileToCpu.cpp - control flow and scratch of the CPU lowering -------===//

#include "heddle/Codegen/CPU/TileToCpu.h"
#include "TileToCpuImpl.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::cpu;

TileToCpu::TileToCpu(func::FuncOp source, const CpuTarget &target)
    : source(source), target(target), b(source.getContext()),
      loc(source.getLoc()) {}

//===----------------------------------------------------------------------===//
// Small emission helpers
//===----------------------------------------------------------------------===//

Value TileToCpu::idx(int64_t value) {
  return arith::ConstantIndexOp::create(b, loc, value);
}
Value TileToCpu::add(Value x, Value y) {
  return arith::AddIOp::create(b, loc, x, y);
}
Value TileToCpu::add(Value x, int64_t y) {
  return y == 0 ? x : add(x, idx(y));
}
Value TileToCpu::mul(Value x, int64_t y) {
  return y == 1 ? x : arith::MulIOp::create(b, loc, x, idx(y)).getResult();
}

/// Emits body(iv) for iv in [begin, end) by step; a single trip needs no loop.
Value TileToCpu::loop(int64_t begin, int64_t end, int64_t step,
                      function_ref<void(Value)> body) {
  if (begin >= end)
    return {};
  if (begin + step >= end) {
    body(idx(begin));
    return {};
  }
  auto forOp =
      scf::ForOp::create(b, loc, idx(begin), idx(end), idx(step));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(forOp.getBody());
  body(forOp.getInductionVar());
  return {};
}

Type TileToCpu::storageType(Type element) {
  if (element.isBF16() || element.isF16())
    return b.getF32Type();
  if (element.isInteger(1))
    return b.getI8Type();
  return element;
}

//===----------------------------------------------------------------------===//
// Layouts
//===----------------------------------------------------------------------===//

static bool isTile(Type type, int64_t rank) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getRank() == rank;
}

/// Values that must lie alike are joined; right operands of contractions make
/// their class plain unless it has left operands or results of contractions;
/// everything else is kept in panels.
void TileToCpu::inferLayouts() {
  // Splats and undefined tiles have no layout: they are shared freely.
  auto hasLayout = [](Value v) {
    return isTile(v.getType(), 2) &&
           !isa_and_nonnull<tensor::EmptyOp, linalg::FillOp>(v.getDefiningOp());
  };
  auto join = [&](Value x, Value y) {
    if (hasLayout(x) && hasLayout(y))
      sameLayout.unionSets(x.getAsOpaquePointer(), y.getAsOpaquePointer());
  };
  SmallVector<Value> plain, panels;
  source.walk([&](Operation *op) {
    for (Value v : op->getResults())
      if (isTile(v.getType(), 2))
        sameLayout.insert(v.getAsOpaquePointer());
    if (auto forOp = dyn_cast<scf::ForOp>(op)) {
      for (auto [init, arg, yield, result] :
           llvm::zip(forOp.getInitArgs(), forOp.getRegionIterArgs(),
                     forOp.getYieldedValues(), forOp.getResults())) {
        join(init, arg);
        join(arg, yield);
        join(arg, result);
      }
    } else if (auto generic = dyn_cast<linalg::GenericOp>(op)) {
      if (isContraction(generic)) {
        bool firstIsLeft = generic.getMatchingIndexingMap(
                                      generic.getDpsInputOperand(0))
                               .isFunctionOfDim(0);
        Value left = generic.getDpsInputs()[firstIsLeft ? 0 : 1];
        Value right = generic.getDpsInputs()[firstIsLeft ? 1 : 0];
        panels.push_back(left);
        panels.push_back(generic.getResult(0));
        plain.push_back(right);
        join(generic.getDpsInits()[0], generic.getResult(0));
        return;
      }
      Value first;
      for (Value v : llvm::concat<Value>(SmallVector<Value>(op->getOperands()),
                                         SmallVector<Value>(op->getResults())))
        if (hasLayout(v)) {
          if (first)
            join(first, v);
          first = v;
        }
    }
  });
  // What is a row tile as well stays one: a product reads single elements of
  // its right operand, which it finds in panels too.
  auto leader = [&](Value v) {
    return sameLayout.getOrInsertLeaderValue(v.getAsOpaquePointer());
  };
  DenseSet<void *> panelLeaders;
  for (Value v : panels)
    panelLeaders.insert(leader(v));
  for (Value v : plain)
    if (v.getDefiningOp() && isTile(v.getType(), 2) &&
        !panelLeaders.contains(leader(v)))
      plainLeaders.insert(leader(v));
}

Layout TileToCpu::layoutOf(Value value) {
  if (!isTile(value.getType(), 2))
    return Layout::Panels;
  return plainLeaders.contains(
             sameLayout.getOrInsertLeaderValue(value.getAsOpaquePointer()))
             ? Layout::Plain
             : Layout::Panels;
}

//===----------------------------------------------------------------------===//
// Scratch
//===----------------------------------------------------------------------===//

Buffer TileToCpu::allocate(RankedTensorType type, Layout layout) {
  Buffer buffer;
  buffer.storage = storageType(type.getElementType());
  buffer.layout = layout;
  buffer.shape.assign(type.getShape().begin(), type.getShape().end());
  int64_t lanes = target.panelLanes;
  SmallVector<int64_t> shape;
  if (type.getRank() == 2 && layout == Layout::Panels) {
    shape = {static_cast<int64_t>(
                 llvm::divideCeil(type.getDimSize(0), lanes)),
             type.getDimSize(1), lanes};
  } else if (type.getRank() == 2) {
    // An odd number of cache lines per row keeps rows in different cache sets.
    int64_t stride = llvm::alignTo(type.getDimSize(1), lanes);
    shape = {type.getDimSize(0), stride + target.vectorLanes};
  } else if (type.getRank() == 3) {
    shape = {type.getDimSize(0),
             static_cast<int64_t>(
                 llvm::divideCeil(type.getDimSize(1), lanes)),
             type.getDimSize(2), lanes};
  } else {
    int64_t n = type.getRank() == 0 ? 1 : type.getDimSize(0);
    shape = {static_cast<int64_t>(llvm::alignTo(n, lanes))};
  }
  auto memType = MemRefType::get(shape, buffer.storage);
  int64_t bytes = memType.getNumElements() *
                  llvm::divideCeil(buffer.storage.getIntOrFloatBitWidth(), 8);
  int64_t offset = top;
  top = llvm::alignTo(top + bytes, 64);
  peak = std::max(peak, top);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(entry);
  buffer.memory =
      memref::ViewOp::create(b, loc, memType, scratch, idx(offset), ValueRange{});
  return buffer;
}

bool TileToCpu::isLastUse(Value value, Operation *op) {
  if (value.getParentBlock() != op->getBlock())
    return false;
  return llvm::all_of(value.getUsers(), [&](Operation *user) {
    Operation *ancestor = op->getBlock()->findAncestorOpInBlock(*user);
    return ancestor && (ancestor == op || ancestor->isBeforeInBlock(op));
  });
}

Value TileToCpu::splatVector(const Buffer &buffer, int64_t lanes) {
  auto type = VectorType::get({lanes}, buffer.storage);
  TypedAttr attr = buffer.splat;
  Attribute element;
  if (auto f = dyn_cast<FloatAttr>(attr)) {
    APFloat v = f.getValue();
    bool lossy;
    v.convert(cast<FloatType>(buffer.storage).getFloatSemantics(),
              APFloat::rmNearestTiesToEven, &lossy);
    element = b.getFloatAttr(buffer.storage, v);
  } else {
    element = b.getIntegerAttr(buffer.storage,
                               cast<IntegerAttr>(attr).getValue().getZExtValue());
  }
  return arith::ConstantOp::create(b, loc, DenseElementsAttr::get(type, element));
}

/// Copies all of a buffer, a row of the underlying memory at a time.
void TileToCpu::copyBuffer(const Buffer &from, const Buffer &to) {
  auto type = cast<MemRefType>(to.memory.getType());
  int64_t lanes = target.panelLanes, rank = type.getRank();
  auto vec = VectorType::get({lanes}, to.storage);
  SmallVector<Value> position;
  std::function<void(int64_t)> nest = [&](int64_t dim) {
    bool last = dim == rank - 1;
    int64_t extent = type.getDimSize(dim);
    if (last)
      extent = extent / lanes * lanes; // plain rows carry padding behind
    loop(0, extent, last ? lanes : 1, [&](Value iv) {
      position.push_back(iv);
      if (last) {
        Value v = from.isSplat()
                      ? splatVector(from, lanes)
                      : vector::LoadOp::create(b, loc, vec, from.memory,
                                               position)
                            .getResult();
        vector::StoreOp::create(b, loc, v, to.memory, position);
      } else {
        nest(dim + 1);
      }
      position.pop_back();
    });
  };
  nest(0);
}

//===----------------------------------------------------------------------===//
// Walking the program
//===----------------------------------------------------------------------===//

FailureOr<func::FuncOp> TileToCpu::run() {
  auto forall = dyn_cast<scf::ForallOp>(*llvm::find_if(
      source.getBody().front(),
      [](Operation &op) { return isa<scf::ForallOp>(op); }));
  inferLayouts();

  b.setInsertionPoint(source);
  // i1 buffers hold one byte per element; vectors of i1 would be packed bits.
  SmallVector<Type> types;
  for (Type t : source.getArgumentTypes()) {
    auto memref = cast<MemRefType>(t);
    Type element = memref.getElementType();
    // An empty buffer is never accessed, and has no strides in LLVM's sense.
    SmallVector<int64_t> shape(memref.getShape());
    for (int64_t &d : shape)
      d = std::max<int64_t>(d, 1);
    types.push_back(MemRefType::get(
        shape, element.isInteger(1) ? Type(b.getI8Type()) : element));
  }
  types.push_back(b.getIndexType());
  types.push_back(MemRefType::get({ShapedType::kDynamic}, b.getI8Type()));
  // The scratch size is known only at the end; bare pointers need it static.
  lowered = func::FuncOp::create(b, loc, source.getName(),
                                 b.getFunctionType(types, {}));
  lowered.setPrivate();
  entry = lowered.addEntryBlock();
  for (auto [from, to] :
       llvm::zip(source.getArguments(), entry->getArguments()))
    map.map(from, to);
  Value block = entry->getArgument(types.size() - 2);
  scratch = entry->getArgument(types.size() - 1);

  b.setInsertionPointToEnd(entry);
  auto end = func::ReturnOp::create(b, loc);
  b.setInsertionPoint(end);

  // Everything before the forall is scalar setup or whole-buffer tensors.
  int64_t numBlocks = 1;
  for (Operation &op : source.getBody().front()) {
    if (&op != forall.getOperation()) {
      if (isa<bufferization::ToTensorOp, func::ReturnOp>(op))
        continue;
      if (failed(emitOp(&op)))
        return failure();
      continue;
    }
    // The last grid axis varies fastest.
    SmallVector<int64_t> extents;
    for (auto [lo, hi, step] :
         llvm::zip(forall.getMixedLowerBound(), forall.getMixedUpperBound(),
                   forall.getMixedStep())) {
      std::optional<int64_t> l = getConstantIntValue(lo),
                             h = getConstantIntValue(hi),
                             s = getConstantIntValue(step);
      if (!l || !h || !s || *l != 0 || *s != 1)
        return forall.emitOpError("expected a static grid from 0 by 1");
      extents.push_back(*h);
      numBlocks *= *h;
    }
    Value rest = block;
    for (int64_t i = extents.size() - 1; i >= 0; --i) {
      Value iv = rest;
      if (i > 0) {
        iv = arith::RemUIOp::create(b, loc, rest, idx(extents[i]));
        rest = arith::DivUIOp::create(b, loc, rest, idx(extents[i]));
      }
      map.map(forall.getInductionVars()[i], iv);
    }
    if (failed(emitBlock(*forall.getBody())))
      return failure();
  }

  auto scratchType = MemRefType::get({std::max<int64_t>(peak, 64)}, b.getI8Type());
  scratch.setType(scratchType);
  types.back() = scratchType;
  lowered.setFunctionType(b.getFunctionType(types, {}));
  for (NamedAttribute attr : source->getDiscardableAttrs())
    lowered->setDiscardableAttr(attr.getName(), attr.getValue());
  lowered->setDiscardableAttr("heddle.num_blocks", b.getI64IntegerAttr(numBlocks));
  lowered->setDiscardableAttr("heddle.scratch_bytes",
                              b.getI64IntegerAttr(scratchType.getDimSize(0)));
  return lowered;
}

LogicalResult TileToCpu::emitBlock(Block &block) {
  for (auto it = block.begin(), end = block.end(); it != end;) {
    auto generic = dyn_cast<linalg::GenericOp>(*it);
    if (!generic || isContraction(generic)) {
      if (failed(emitOp(&*it)))
        return failure();
      ++it;
      continue;
    }
    // Gather the generics that can share one loop nest. What stands between
    // them and needs none of their results (loads, index arithmetic) goes
    // first.
    SmallVector<linalg::GenericOp> group{generic};
    DenseSet<Value> reduced;
    auto note = [&](linalg::GenericOp g) {
      if (g.getNumReductionLoops() > 0)
        reduced.insert(g->getResults().begin(), g->getResults().end());
    };
    note(generic);
    SmallVector<int64_t> domain = generic.getStaticLoopRanges();
    Layout layout = Layout::Panels;
    auto layoutOfGeneric = [&](linalg::GenericOp g) {
      return g.getNumLoops() == 2 && isTile(g.getResult(0).getType(), 2)
                 ? layoutOf(g.getResult(0))
                 : Layout::Panels;
    };
    layout = layoutOfGeneric(generic);
    auto next = std::next(it);
    for (; next != end; ++next) {
      if (auto g = dyn_cast<linalg::GenericOp>(*next)) {
        if (isContraction(g) || g.getStaticLoopRanges() != domain ||
            layoutOfGeneric(g) != layout ||
            llvm::any_of(g->getOperands(),
                         [&](Value v) { return reduced.contains(v); }))
          break;
        group.push_back(g);
        note(g);
        continue;
      }
      bool independent =
          !isa<scf::ForOp, scf::YieldOp, scf::InParallelOp, TileStoreOp,
               tensor::InsertSliceOp>(*next);
      if (!independent)
        break;
      if (failed(emitOp(&*next)))
        return failure();
    }
    if (failed(emitGroup(group)))
      return failure();
    it = next;
  }
  return success();
}

LogicalResult TileToCpu::emitOp(Operation *op) {
  if (auto fill = dyn_cast<linalg::FillOp>(op)) {
    TypedAttr value;
    if (!matchPattern(fill.getInputs()[0], m_Constant(&value)))
      return op->emitOpError("expected a constant fill value");
    Buffer buffer;
    auto type = cast<RankedTensorType>(fill.getResult(0).getType());
    buffer.splat = value;
    buffer.storage = storageType(type.getElementType());
    buffer.shape.assign(type.getShape().begin(), type.getShape().end());
    buffer.layout = layoutOf(fill.getResult(0));
    buffers[fill.getResult(0)] = buffer;
    return success();
  }
  if (isa<tensor::EmptyOp, scf::InParallelOp, scf::YieldOp,
          bufferization::ToTensorOp>(op))
    return success();
  if (auto insert = dyn_cast<tensor::InsertSliceOp>(op))
    return emitPartWrite(insert);
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op)) {
    if (!slice.getSource().getDefiningOp<bufferization::ToTensorOp>())
      return emitPartRead(slice);
    notePending(slice);
    return isLoadEnd(slice) ? emitLoad(slice) : success();
  }
  if (auto pad = dyn_cast<tensor::PadOp>(op)) {
    notePad(pad);
    return isLoadEnd(pad) ? emitLoad(pad) : success();
  }
  if (auto transpose = dyn_cast<linalg::TransposeOp>(op)) {
    if (!pending.contains(transpose.getInput()))
      return op->emitOpError("expected the transposition of a load");
    noteTranspose(transpose);
    return isLoadEnd(transpose->getResult(0))
               ? emitLoad(transpose->getResult(0))
               : success();
  }
  if (auto constant = dyn_cast<arith::ConstantOp>(op);
      constant && isa<TensorType>(constant.getType())) {
    emitTable(constant);
    return success();
  }
  if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
    if (Value table = tables.lookup(extract.getTensor())) {
      map.map(extract.getResult(),
              memref::LoadOp::create(b, loc, table,
                                     scalar(extract.getIndices()[0]))
                  .getResult());
      return success();
    }
    auto whole = extract.getTensor().getDefiningOp<bufferization::ToTensorOp>();
    if (!whole)
      return op->emitOpError("expected an indexed load from an argument");
    SmallVector<Value> indices;
    for (Value i : extract.getIndices())
      indices.push_back(scalar(i));
    Value v =
        memref::LoadOp::create(b, loc, scalar(whole.getBuffer()), indices);
    if (extract.getType().isInteger(1)) // stored as a byte
      v = arith::TruncIOp::create(b, loc, extract.getType(), v);
    map.map(extract.getResult(), v);
    return success();
  }
  if (auto forOp = dyn_cast<scf::ForOp>(op))
    return emitFor(forOp);
  if (auto store = dyn_cast<TileStoreOp>(op))
    return emitStore(store);
  if (auto generic = dyn_cast<linalg::GenericOp>(op))
    return isContraction(generic) ? emitContraction(generic)
                                  : emitGroup({generic});
  bool scalarOnly =
      llvm::none_of(op->getResultTypes(), llvm::IsaPred<TensorType>) &&
      llvm::none_of(op->getOperandTypes(), llvm::IsaPred<TensorType>);
  if (!scalarOnly || op->getNumRegions() != 0)
    return op->emitOpError("is not part of contract T on the CPU");
  b.clone(*op, map);
  return success();
}

/// A constant table becomes read-only data of the object code.
void TileToCpu::emitTable(arith::ConstantOp op) {
  auto type = cast<RankedTensorType>(op.getType());
  auto memref = MemRefType::get(type.getShape(), type.getElementType());
  SymbolTable symbols(source->getParentOfType<ModuleOp>());
  OpBuilder::InsertionGuard guard(b);
  OpBuilder::InsertPoint here = b.saveInsertionPoint();
  b.setInsertionPoint(lowered);
  auto global = memref::GlobalOp::create(
      b, loc, (source.getName() + "_table").str(), b.getStringAttr("private"),
      memref, op.getValue(), /*constant=*/true, /*alignment=*/IntegerAttr());
  symbols.insert(global);
  b.restoreInsertionPoint(here);
  tables[op] =
      memref::GetGlobalOp::create(b, loc, memref, global.getSymName());
}

LogicalResult TileToCpu::emitFor(scf::ForOp op) {
  SmallVector<Value> scalarInits;
  SmallVector<Buffer> carried(op.getInitArgs().size());
  for (auto [i, init] : llvm::enumerate(op.getInitArgs())) {
    auto type = dyn_cast<RankedTensorType>(init.getType());
    if (!type) {
      scalarInits.push_back(scalar(init));
      continue;
    }
    Buffer from = bufferFor(init);
    if (init.getDefiningOp<tensor::EmptyOp>()) {
      carried[i] = allocate(type, layoutOf(op.getRegionIterArgs()[i]));
    } else if (!from.isSplat() && !from.borrowed && isLastUse(init, op)) {
      carried[i] = from;
    } else {
      carried[i] = allocate(type, layoutOf(op.getRegionIterArgs()[i]));
      copyBuffer(from, carried[i]);
    }
    buffers[op.getRegionIterArgs()[i]] = carried[i];
    buffers[op.getResult(i)] = carried[i];
  }
  auto newFor = scf::ForOp::create(b, loc, scalar(op.getLowerBound()),
                                   scalar(op.getUpperBound()),
                                   scalar(op.getStep()), scalarInits);
  map.map(op.getInductionVar(), newFor.getInductionVar());
  unsigned next = 0;
  for (auto [i, arg] : llvm::enumerate(op.getRegionIterArgs()))
    if (!isa<RankedTensorType>(arg.getType())) {
      map.map(arg, newFor.getRegionIterArg(next));
      map.map(op.getResult(i), newFor.getResult(next));
      ++next;
    }

  int64_t scope = top;
  OpBuilder::InsertionGuard guard(b);
  if (scalarInits.empty())
    b.setInsertionPoint(newFor.getBody()->getTerminator());
  else
    b.setInsertionPointToEnd(newFor.getBody());
  auto yield = cast<scf::YieldOp>(op.getBody()->getTerminator());
  if (failed(emitBlock(*op.getBody())))
    return failure();
  // The yield becomes copies. A value that was computed in the buffer of
  // another carried value is moved out of the way first.
  SmallVector<Buffer> yielded;
  for (auto [i, value] : llvm::enumerate(yield.getResults())) {
    Buffer from = bufferFor(value);
    bool clobbered = false;
    for (size_t other = 0; other < carried.size(); ++other)
      clobbered |= other != i && from.memory &&
                   carried[other].memory == from.memory;
    if (clobbered) {
      Buffer aside =
          allocate(cast<RankedTensorType>(value.getType()), from.layout);
      copyBuffer(from, aside);
      from = aside;
    }
    yielded.push_back(from);
  }
  SmallVector<Value> scalars;
  for (auto [i, value] : llvm::enumerate(yield.getResults())) {
    if (!isa<RankedTensorType>(value.getType())) {
      scalars.push_back(scalar(value));
      continue;
    }
    if (yielded[i].memory != carried[i].memory)
      copyBuffer(yielded[i], carried[i]);
  }
  if (!scalars.empty())
    scf::YieldOp::create(b, loc, scalars);
  top = scope;
  return success();
}

namespace heddle {
FailureOr<func::FuncOp> lowerTileToCpu(func::FuncOp kernel,
                                       const CpuTarget &target) {
  return TileToCpu(kernel, target).run();
}
} // namespace heddle
